from __future__ import annotations

import subprocess
import sys

import pytest

import distkern

COMMANDS = (
    "demo",
    "bags",
    "plan",
    "gram",
    "append",
    "status",
    "info",
    "verify",
    "evaluate",
    "pairs",
    "cluster",
    "compare",
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


def test_help_imports_no_heavy_package():
    heavy = "{'numpy', 'numba', 'sklearn', 'pandas', 'anndata', 'zarr', 'dask', 'distributed', 'matplotlib'}"
    code = (
        "import sys; from distkern.cli.main import main\n"
        "helps = [[name, '-h'] for name in ('gram', 'evaluate', 'pairs', 'cluster', 'demo')]\n"
        "helps += [['-h'], ['reproduce', '--list']]\n"
        "for words in helps:\n"
        "    main(words, standalone_mode=False)\n"
        f"sys.exit(', '.join({heavy} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_version_is_printed_by_the_module():
    done = subprocess.run([sys.executable, "-m", "distkern", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout == f"distkern, version {distkern.__version__}\n"


def test_unknown_commands_and_options_are_wrong_usage(run):
    assert run("gramm").exit_code == 2
    assert run("info", "x.zarr", "--jsn").exit_code == 2
    assert run("gram", "only-input.csv", "--kernel", "kendall").exit_code == 2
