"""CI workflows, pre-commit hooks and the citation are valid, and they run what developers run."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="needs the repository")


def python(*words):
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def check(schema, path):
    return python("-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path))


def load(path):
    return yaml.load(path.read_text(), Loader=yaml.BaseLoader)  # "on" stays a text


def steps():
    for path in WORKFLOWS:
        for name, job in load(path)["jobs"].items():
            for step in job.get("steps", []):
                yield f"{path.stem}.{name}", job, step


def targets():
    """Targets of the Makefile that the workflows run."""
    found = set()
    for _, job, step in steps():
        matrix = job.get("strategy", {}).get("matrix", {})
        of_matrix = {*matrix.get("target", ()), *(one["target"] for one in matrix.get("include", ()))}
        for target in re.findall(r"make (\S+|\$\{\{.*?\}\})", step.get("run", "")):
            found |= of_matrix if "matrix" in target or target.startswith("$") else {target}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_follows_the_schema(path):
    code, output = check("github-workflows", path)
    assert code == 0, output


@pytest.mark.slow
def test_schema_check_refuses_a_wrong_workflow(tmp_path):
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "runs_on:"))
    code, output = check("github-workflows", wrong)
    assert code != 0
    assert "runs_on" in output or "runs-on" in output


def test_actions_are_pinned_by_a_commit_and_name_its_version():
    used = [line.strip() for path in WORKFLOWS for line in path.read_text().splitlines() if "- uses:" in line]
    assert len(used) == len([step for _, _, step in steps() if "uses" in step]) > 0
    assert [line for line in used if not re.fullmatch(r"- uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_tools_that_are_not_of_this_project_are_pinned_and_audit_what_the_image_installs():
    makefile = (ROOT / "Makefile").read_text()
    assert re.findall(r"^(UV|PIP_AUDIT) := [a-z-]+==\d+\.\d+\.\d+$", makefile, re.MULTILINE) == ["UV", "PIP_AUDIT"]
    audit = makefile.partition("\naudit:")[2].partition("\n\n")[0]
    assert "pip-audit" in audit
    assert "--require-hashes --requirement deploy/constraints.txt" in audit


def test_only_the_job_that_publishes_may_do_more_than_read_and_every_job_has_a_time_limit():
    allowed = {}
    for path in WORKFLOWS:
        workflow = load(path)
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            if "uses" in job:  # the jobs of another workflow, which is in this list too
                assert (ROOT / job["uses"]).resolve() in WORKFLOWS
            else:
                assert "timeout-minutes" in job
            if "permissions" in job:
                allowed[path.stem, name] = job["permissions"]
    assert allowed == {("release", "publish"): {"id-token": "write"}}


def test_a_release_publishes_what_was_tested_without_a_token():
    workflow = load(ROOT / ".github" / "workflows" / "release.yml")
    jobs = workflow["jobs"]
    assert workflow["on"] == {"push": {"tags": ["v[0-9]*"]}}
    assert (jobs["ci"]["uses"], jobs["check"]["needs"], jobs["publish"]["needs"]) == (
        "./.github/workflows/ci.yml",
        "ci",
        "check",
    )
    assert jobs["publish"]["environment"] == "pypi"
    downloaded, published = jobs["publish"]["steps"]  # and nothing of the repository is run
    assert downloaded["uses"].startswith("actions/download-artifact@")
    assert published["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert "with" not in published
    assert "secrets" not in (ROOT / ".github" / "workflows" / "release.yml").read_text()
    built = load(ROOT / ".github" / "workflows" / "ci.yml")
    assert "workflow_call" in built["on"]
    (uploaded,) = [step for step in built["jobs"]["dist"]["steps"] if "upload-artifact" in step.get("uses", "")]
    assert (uploaded["with"]["name"], uploaded["with"]["path"]) == ("dist", "dist/")
    assert downloaded["with"] == {"name": "dist", "path": "dist/"}


def test_workflows_run_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    assert targets() >= {
        "lint",
        "dist",
        "test-wheel",
        "docs",
        "test-slow",
        "test-faults",
        "demo",
        "audit",
        "check-release",
        "outer-links",
    }
    assert [target for target in targets() if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_one_script_runs_the_targets_of_all_workflows():
    script = (ROOT / ".ci" / "run").read_text()
    run_by = {"lint": "test", "test-docs": "test"}
    # a new vulnerability, or a lost page, says nothing about a change
    changes_by_the_day = {"audit", "outer-links", "test-oldest", "test-newest"}
    wanted = {run_by.get(target, target) for target in targets() - changes_by_the_day - {"check-release"}}
    assert wanted <= set(re.findall(r"^(?:make|run) ([a-z-]+)", script, re.MULTILINE))


def test_wheel_is_tested_on_each_python_of_the_classifiers_and_on_both_systems():
    matrix = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["wheel"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {match[1] for line in project["classifiers"] if (match := re.search(r"Python :: (3\.\d+)$", line))}
    assert named <= set(matrix["python"])
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos"}


@pytest.mark.slow
def test_pre_commit_configuration_is_valid():
    code, output = python("-m", "pre_commit", "validate-config", ".pre-commit-config.yaml")
    assert code == 0, output


def test_local_hooks_run_tools_of_the_environment_on_tracked_kinds_of_files():
    config = load(ROOT / ".pre-commit-config.yaml")
    (local,) = [repo["hooks"] for repo in config["repos"] if repo["repo"] == "local"]
    tools = [Path(hook["entry"].split()[0]) for hook in local]
    assert [tool.name for tool in tools] == [
        "ruff",
        "ruff",
        "mypy",
        "lint-imports",
        "check-jsonschema",
        "check-jsonschema",
    ]
    assert {tool.parent.as_posix() for tool in tools} == {".venv/bin"}
    assert [tool.name for tool in tools if not Path(sys.executable).with_name(tool.name).exists()] == []


@pytest.mark.slow
def test_citation_follows_the_schema_and_names_the_next_release():
    code, output = check("citation-file-format", ROOT / "CITATION.cff")
    assert code == 0, output
    citation = load(ROOT / "CITATION.cff")
    assert len(citation["references"]) == 5
    assert f'"{citation["version"]}.dev0"' in (ROOT / "distkern" / "_version.py").read_text()
