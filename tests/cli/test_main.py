from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

import distkern
from distkern.cli.main import main
from distkern.core.errors import MemoryLimitError, MissingExtraError, StoreError, TaskError

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
    "cluster",
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


def test_help_is_light():
    heavy = "{'numpy', 'numba', 'sklearn', 'pandas', 'anndata', 'zarr', 'dask', 'distributed', 'matplotlib'}"
    code = (
        "import sys; from distkern.cli.main import main\n"
        "helps = [[name, '-h'] for name in ('gram', 'evaluate', 'cluster', 'demo')]\n"
        "helps += [['-h'], ['reproduce', '--list']]\n"
        "for words in helps:\n"
        "    main(words, standalone_mode=False)\n"
        f"sys.exit(', '.join({heavy} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_version_as_a_module():
    done = subprocess.run([sys.executable, "-m", "distkern", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout == f"distkern, version {distkern.__version__}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreError("it is damaged"), 3),
        (MemoryLimitError("it is too large"), 3),
        (MissingExtraError.of("this", "io"), 3),
        (PermissionError(13, "Permission denied", "x.csv"), 3),
        (MemoryError(), 3),
        (TaskError("a task failed"), 4),
        (TimeoutError("no answer"), 4),
        (KeyboardInterrupt(), 5),
        (ZeroDivisionError("division by zero"), 1),
    ],
)
def test_every_error_is_one_line_with_its_exit_code(run, monkeypatch, error, code):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr("distkern.cli.info.open_store", fail)
    result = run("info", "x.zarr")
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


def test_a_bug_shows_its_traceback_on_request(run, monkeypatch):
    monkeypatch.setattr("distkern.cli.info.open_store", lambda store: 1 // 0)
    assert "`distkern --debug ...` shows the traceback" in run("info", "x.zarr").stderr
    result = CliRunner().invoke(main, ["--debug", "info", "x.zarr"])
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "ZeroDivisionError" in result.stderr


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(run, monkeypatch):
    def warn(store):
        warnings.warn("features look like\ndates", UserWarning, stacklevel=1)
        raise StoreError("stop")

    monkeypatch.setattr("distkern.cli.info.open_store", warn)
    assert run("info", "x.zarr").stderr == "Warning: features look like dates\nError: stop\n"


def test_unknown_commands_and_options_are_wrong_usage(run):
    assert run("gramm").exit_code == 2
    assert run("info", "x.zarr", "--jsn").exit_code == 2
    assert run("gram", "only-input.csv", "--kernel", "kendall").exit_code == 2


def test_no_colour_and_no_bar_off_a_terminal(cohort):
    words = ["gram", str(cohort / "X.npy"), str(cohort / "x.zarr"), "--kernel", "linear", "--threads", "1"]
    done = subprocess.run([sys.executable, "-m", "distkern", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert not {"\x1b", "\r"} & set(done.stdout + done.stderr)
    assert Path(cohort / "x.zarr").is_dir()
