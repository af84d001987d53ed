"""The files in `deploy/`: equal to the output of `distkern deploy`, and valid by the schemas of their formats."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import socket
import subprocess
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from processes import GRAM, dask, distkern, started, surroundings, tiles, wait_for, written

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
REFERENCE = ROOT / "tests" / "reference"

PRINTED = {
    "slurm/cluster.py": ("slurm",),
    "slurm/srun.sh": ("slurm", "--srun"),
    "kubernetes/job.yaml": ("kubernetes",),
    "kubernetes/cluster.yaml": ("kubernetes", "--cluster"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_committed_recipe_equals_the_output_of_the_command(run, name, tmp_path):
    printed = run("deploy", *PRINTED[name])
    assert printed.exit_code == 0
    assert (DEPLOY / name).read_text() == printed.stdout
    written = run("deploy", *PRINTED[name], "--out", tmp_path / "file")
    assert (written.exit_code, written.stdout) == (0, "")
    assert (tmp_path / "file").read_text() == printed.stdout
    assert run("deploy", *PRINTED[name], "--out", tmp_path / "file").exit_code == 3


@pytest.mark.parametrize("script", sorted(DEPLOY.rglob("*.sh")), ids=lambda path: path.name)
def test_scripts_have_no_errors(script):
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", "-e", "SC2206", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


# Kubernetes --------------------------------------------------------------------------------------------------------


def strict(schema):
    """Refuse fields that a schema does not define, which a cluster would ignore silently."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if "properties" in schema and "additionalProperties" not in schema else {}
    return {key: strict(part) for key, part in schema.items()} | closed


@pytest.fixture(scope="module")
def job_schema():
    schema = json.loads(gzip.decompress((REFERENCE / "dask-operator-job.json.gz").read_bytes()))
    return strict(schema)["properties"]["spec"]


def validator_of(schema):
    """A validator that does not check the schema itself, which takes seconds."""
    return jsonschema.validators.validator_for(schema)(schema)


def manifests(text):
    return {manifest["kind"]: manifest for manifest in yaml.safe_load_all(text)}


@pytest.mark.parametrize("kind", ["DaskJob", "DaskCluster"])
def test_manifests_match_the_schemas_of_the_operator(run, job_schema, kind):
    words = ("--name", "genes", "--image", "registry.example/distkern:1", "--workers", 7, "--memory", "2GiB")
    cluster = ("--cluster",) if kind == "DaskCluster" else ("gram", "/data/X.npy", "/data/X.zarr", "--kernel", "linear")
    found = manifests(run("deploy", "kubernetes", *words, *cluster).stdout)
    assert set(found) == {"PersistentVolumeClaim", kind}
    assert found[kind]["apiVersion"] == "kubernetes.dask.org/v1"
    assert found[kind]["metadata"] == {"name": "genes"}
    spec = found[kind]["spec"]
    schema = job_schema if kind == "DaskJob" else job_schema["properties"]["cluster"]["properties"]["spec"]
    validator_of(schema).validate(spec)
    parts = spec if kind == "DaskCluster" else spec["cluster"]["spec"]
    assert parts["worker"]["replicas"] == 7
    (worker,) = parts["worker"]["spec"]["containers"]
    assert worker["image"] == "registry.example/distkern:1"
    assert worker["resources"]["limits"]["memory"] == "2048Mi"
    assert worker["args"][worker["args"].index("--memory-limit") + 1] == "2048MiB"
    if kind == "DaskJob":
        (job,) = spec["job"]["spec"]["containers"]
        assert job["args"] == ["distkern", *cluster]
    claim = found["PersistentVolumeClaim"]
    mounted = [v["persistentVolumeClaim"]["claimName"] for v in parts["worker"]["spec"]["volumes"] if "secret" not in v]
    assert mounted == [claim["metadata"]["name"]] == ["genes-data"]


def test_a_misspelt_field_of_a_manifest_is_found(run, job_schema):
    spec = manifests(run("deploy", "kubernetes").stdout)["DaskJob"]["spec"]
    spec["cluster"]["spec"]["worker"]["spec"]["containers"][0]["enviroment"] = []
    with pytest.raises(jsonschema.ValidationError, match="enviroment"):
        validator_of(job_schema).validate(spec)


def test_containers_use_tls_and_do_not_run_as_root():
    for path in (DEPLOY / "kubernetes").iterdir():
        kind = path.read_text().split("kind: Dask")[1].splitlines()[0]
        spec = manifests(path.read_text())[f"Dask{kind}"]["spec"]
        parts = spec if kind == "Cluster" else spec["cluster"]["spec"]
        pods = [parts["scheduler"]["spec"], parts["worker"]["spec"], *([spec["job"]["spec"]] if "job" in spec else [])]
        for pod in pods:
            assert pod["securityContext"]["runAsNonRoot"] is True
            (container,) = pod["containers"]
            env = {variable["name"]: variable["value"] for variable in container.get("env", [])}
            assert env.get("DASK_SCHEDULER_ADDRESS", "tls://").startswith("tls://")
            assert "/tls/key.pem" in [*container["args"], *env.values()]
        assert "127.0.0.1:8787" in parts["scheduler"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize("name", ["Genes", "-genes", "a b", "x\ny", "n" * 41])
def test_a_name_that_kubernetes_does_not_accept_is_refused(run, name):
    result = run("deploy", "kubernetes", "--name", name)
    assert result.exit_code == 3
    assert "is not a valid Kubernetes name" in result.stderr


# Containers --------------------------------------------------------------------------------------------------------


def test_the_compose_file_matches_its_specification():
    schema = json.loads((REFERENCE / "compose-spec.json").read_text())
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    jsonschema.Draft7Validator(schema).validate(compose)
    broken = {**compose, "services": {"job": {**compose["services"]["job"], "comand": []}}}
    assert not jsonschema.Draft7Validator(schema).is_valid(broken)
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services)
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(compose["volumes"])
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
    build = services["worker"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"


def test_the_image_copies_existing_files_that_are_not_ignored():
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "")
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M) for word in line.split()[:-1]]
    assert copied
    let_in = re.findall(r"^!(.*)$", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.M)
    assert set(copied) == set(let_in)
    assert all((ROOT / source).exists() for source in copied)
    assert not re.search(r"^# *syntax=", text, re.M)  # another image, by a tag
    assert text.rindex("USER distkern") > text.rindex("RUN ")
    assert "ENTRYPOINT" not in text
    checks = re.search(r"^HEALTHCHECK .*?CMD (\[.*\])$", text, re.M)
    program = json.loads(checks[1])[2]
    compile(program, "healthcheck", "exec")


def images_by_tag(dockerfile):
    """Images that a Dockerfile starts from by a tag only, which can be moved to another image."""
    arguments = dict(re.findall(r"^ARG (\w+)=(\S+)$", dockerfile, re.M))
    stages = {stage for _, stage in re.findall(r"^FROM (\S+) AS (\w+)$", dockerfile, re.M)}
    used = [name.format_map(arguments) for name in re.findall(r"^FROM (\S+)", dockerfile.replace("${", "{"), re.M)]
    assert used
    return [name for name in used if name not in stages and not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", name)]


def test_the_image_starts_from_an_image_by_its_digest():
    text = (DEPLOY / "Dockerfile").read_text()
    assert images_by_tag(text) == []
    tag = re.sub("@sha256:[0-9a-f]+", "", text)
    assert images_by_tag(tag) == ["python:3.11.13-slim-bookworm"] * 2
    assert images_by_tag(text.replace("${PYTHON}", "3.11")) == ["python:3.11"] * 2


def pins_of(lock):
    """Versions and hashes of a list of packages, by name."""
    entries = re.sub(r"^#.*\n", "", lock, flags=re.M).replace("\\\n", " ").splitlines()
    return {name: (version, hashes) for name, version, hashes in map(pin_of, entries)}


def pin_of(entry):
    (pin, *hashes) = entry.split()
    name, version = pin.split("==")
    assert hashes, f"{name} has no hash"
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", found) for found in hashes), name
    return name, version, hashes


def test_every_package_of_the_image_is_pinned_to_an_allowed_version_and_has_hashes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [line.split("#")[0].strip() for line in (DEPLOY / "constraints.in").read_text().splitlines()]
    package, *others = filter(None, lines)
    extras = re.fullmatch(r"\.\[(.*)\]", package)[1].split(",")
    assert "bokeh" in others  # without it the dashboard is one page that says so
    assert "cloud" in extras
    pins = pins_of((DEPLOY / "constraints.txt").read_text())
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for extra in extras for line in optional[extra]), *others]
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)][0]), requirement


def test_the_image_installs_nothing_without_a_hash():
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "")
    installs = re.findall(r"pip install ([^&\n]*)", text)
    assert len(installs) == 2
    assert "--require-hashes -r deploy/constraints.txt" in installs[0]
    assert {"--no-index", "--no-deps", "--no-build-isolation"} <= set(installs[1].split())


def test_a_list_without_a_hash_is_noticed():
    lock = (DEPLOY / "constraints.txt").read_text()
    with pytest.raises(AssertionError, match="anndata has no hash"):
        pins_of(re.sub(r"(anndata==\S+) .*(\n    --hash.*)+", r"\1", lock))


# Conda -------------------------------------------------------------------------------------------------------------

CONDA_NAMES = {"dask": "dask-core", "matplotlib": "matplotlib-base"}
"""Names of packages that conda-forge calls otherwise: the part without what distkern does not import."""


def by_conda(requirements):
    """Requirements of pyproject.toml as conda writes them."""
    parsed = map(Requirement, requirements)
    return {f"{CONDA_NAMES.get(found.name, found.name)} {found.specifier}" for found in parsed}


def test_the_conda_package_needs_what_the_wheel_needs():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, optional = pyproject["project"], pyproject["project"]["optional-dependencies"]
    recipe = yaml.safe_load((DEPLOY / "conda" / "recipe.yaml").read_text())
    python = f"python {project['requires-python']}"
    assert set(recipe["requirements"]["run"]) == by_conda(project["dependencies"]) | {python, "__unix"}
    assert set(recipe["requirements"]["host"]) == by_conda(pyproject["build-system"]["requires"]) | {python, "pip"}
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert dict([entry.split(" = ")]) == project["scripts"]
    demo = recipe["tests"][1]
    assert set(demo["requirements"]["run"]) <= by_conda(optional["io"] + optional["report"])
    assert recipe["about"]["license"] == project["license"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert recipe["context"]["version"] == citation["version"]


# The chart ---------------------------------------------------------------------------------------------------------


def variables(part, tls, rename):
    """Environment variables of a container, with secrets read from a folder as Kubernetes provides them."""
    found = {}
    for variable in part["env"]:
        source = variable.get("valueFrom", {}).get("secretKeyRef")
        text = (tls / source["key"]).read_text() if source else rename(variable["value"])
        found[variable["name"]] = text
    return found


@pytest.mark.slow
def test_the_values_of_the_chart_start_a_cluster(cohort, expected, tmp_path, certificates):
    """The commands and variables of the chart; the certificates of the scheduler are in variables only."""
    values = yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text())
    tls, file = certificates.ca.parent, tmp_path / "scheduler.json"
    scheduler, worker = values["scheduler"], values["worker"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tls://127.0.0.1:{server.getsockname()[1]}"

    def rename(text):
        return text.replace("/tls/", f"{tls}/").replace(worker["custom_scheduler_url"], address)

    def words(part):
        return [re.sub(r":\d+$", ":0", rename(word)) for word in part["extraArgs"]]

    own = variables(worker, tls, rename)
    assert "PRIVATE KEY" in "".join(variables(scheduler, tls, rename).values())
    starts = dask("scheduler", f"--port={address.rpartition(':')[2]}", "--dashboard-address=127.0.0.1:0")
    joins = dask("worker", rename(worker["custom_scheduler_url"]), "--nthreads", "1", "--no-dashboard", *words(worker))
    with (tmp_path / "log").open("wb") as log:
        out = {"stdout": log, "stderr": log}
        env = surroundings(**variables(scheduler, tls, rename))
        with started([*starts, *words(scheduler), "--scheduler-file", file], env=env, **out) as (process,):
            wait_for(lambda: written(file), "no scheduler file", process)
            assert json.loads(file.read_text())["address"].startswith("tls://")
            with started(joins, env=surroundings(**own), cwd=tmp_path, **out):
                done = subprocess.run(
                    distkern("gram", cohort, tmp_path / "k.zarr", *GRAM), env=surroundings() | own,
                    capture_output=True, text=True, timeout=60, check=False,
                )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert tiles(tmp_path / "k.zarr") == expected


# Documentation and options -----------------------------------------------------------------------------------------


def test_every_recipe_is_documented_with_its_needs_and_its_proof():
    text = (DEPLOY / "README.md").read_text()
    sections = {part.splitlines()[0]: part for part in text.split("\n## ")[1:]}
    files = {path.relative_to(DEPLOY) for path in DEPLOY.rglob("*") if path.is_file() and path.name != "README.md"}
    for file in files:
        assert f"({file})" in text, file
    for title, part in sections.items():
        if title != "What was run where":
            assert "**Needs**" in part, title
            assert "**Proof**" in part, title


def test_options_after_the_inner_command_belong_to_it(run, tmp_path):
    """Options after the name of the inner command are not options of `deploy kubernetes`."""
    printed = run(
        "deploy", "kubernetes", "--image", "own:1", "gram", "--out", "/data/demo", "--workers", "3", "--name", "zz"
    )
    assert printed.exit_code == 0
    (job,) = [part for part in yaml.safe_load_all(printed.stdout) if part["kind"] == "DaskJob"]
    assert job["spec"]["job"]["spec"]["containers"][0]["args"][-6:] == [
        "--out",
        "/data/demo",
        "--workers",
        "3",
        "--name",
        "zz",
    ]
    assert job["metadata"]["name"] == "distkern"
    assert job["spec"]["job"]["spec"]["restartPolicy"] == "Never"
