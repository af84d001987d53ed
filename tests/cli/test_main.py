from __future__ import annotations

import os
import subprocess
import sys

import pytest

import distkern

COMMANDS = (
    "demo",
    "completion",
    "bags",
    "plan",
    "gram",
    "append",
    "status",
    "info",
    "verify",
    "train",
    "predict",
    "evaluate",
    "pairs",
    "cluster",
    "compare",
    "consensus",
    "explain",
    "markers",
    "score-sets",
    "normalize",
    "tau",
    "report",
    "reproduce",
    "deploy",
)


def test_help_names_all_commands_and_exit_codes(run):
    result = run("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in result.stdout
    for line in ("0  done", "2  wrong usage", "3  bad input", "4  tasks failed", "5  interrupted"):
        assert line in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(run, command):
    short, long = run(command, "-h"), run(command, "--help")
    assert short.exit_code == 0
    assert short.stdout == long.stdout
    assert f"Examples:\n    distkern {command}" in short.stdout


HEAVY = {"numpy", "numba", "scipy", "sklearn", "pandas", "anndata", "zarr", "dask", "distributed", "matplotlib", "tqdm"}
"""Packages that help, completion and wrong usage do without."""


def loaded_by(*lines, **variables):
    """Modules that are loaded after lines of Python that run the command."""
    code = ["import sys", "from distkern.cli.main import main", *lines, "print(*sys.modules, file=sys.stderr)"]
    words = [sys.executable, "-c", "\n".join(code)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | variables)
    return set(done.stderr.split())


def test_help_imports_no_heavy_package():
    helps = [[name, "-h"] for name in ("gram", "evaluate", "pairs", "cluster", "demo")]
    helps += [["-h"], ["reproduce", "--list"], ["completion", "fish"]]
    loaded = loaded_by(*(f"main({words}, standalone_mode=False)" for words in helps))
    assert not HEAVY & loaded
    assert not {"rich", "rich_click"} & loaded


def test_the_list_of_commands_loads_none_of_them():
    loaded = loaded_by('main(["--help"], standalone_mode=False)')
    assert not HEAVY & loaded
    assert not {f"distkern.cli.{name.replace('-', '_')}" for name in COMMANDS} & loaded
    assert len(loaded) < 400  # a quarter of them were loaded before Python ran a line of ours


def test_a_command_loads_no_other_command():
    loaded = loaded_by('main(["info", "-h"], standalone_mode=False)')
    assert {name for name in COMMANDS if f"distkern.cli.{name}" in loaded} == {"info", "bags"}  # it describes both


def test_completion_imports_no_heavy_package():
    env = {"_DISTKERN_COMPLETE": "bash_complete", "COMP_WORDS": "distkern gram --kernel ken", "COMP_CWORD": "3"}
    lines = ["try:", '    main([], prog_name="distkern")', "except SystemExit:", "    pass"]
    assert not HEAVY & loaded_by(*lines, **env)


def test_version_is_printed_by_the_module():
    done = subprocess.run([sys.executable, "-m", "distkern", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout == f"distkern, version {distkern.__version__}\n"


def test_unknown_commands_and_options_are_wrong_usage(run):
    assert run("gramm").exit_code == 2
    assert run("info", "x.zarr", "--jsn").exit_code == 2
    assert run("gram", "only-input.csv", "--kernel", "kendall").exit_code == 2


def test_an_unknown_command_is_answered_with_a_similar_one(run):
    assert "Did you mean" in run("evalute", "x.zarr").stderr
