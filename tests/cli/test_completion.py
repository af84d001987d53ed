"""Completion of commands, options and values, by the protocol of click and in a shell."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from distkern.cli.kernels import NAMES
from distkern.cli.main import ABOUT, main
from distkern.kernels.registry import our_kernels


def completed(shell, *words):
    """What a shell is told where the last word is incomplete."""
    line = " ".join(("distkern", *words))
    env = {"_DISTKERN_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    if shell == "fish":
        env |= {"COMP_WORDS": " ".join(("distkern", *words[:-1])), "COMP_CWORD": words[-1]}
    result = CliRunner().invoke(main, [], env=env, prog_name="distkern")
    assert result.exit_code == 0
    if shell == "zsh":
        return result.stdout.split("\n")[1::3]
    return [line.partition(",")[2].partition("\t")[0] for line in result.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_options_and_values_are_completed(shell):
    assert completed(shell, "sco") == ["score-sets"]
    assert completed(shell, "pl") == ["plan"]
    assert completed(shell, "gram", "--land") == ["--landmarks", "--landmark-choice", "--landmark-seed"]
    assert completed(shell, "gram", "--landmark-choice", "k") == ["kmeans++"]
    assert completed(shell, "gram", "--kernel", "ken") == ["kendall"]
    assert completed(shell, "cluster", "--consensus", "b") == ["borda"]
    assert completed(shell, "deploy", "ku") == ["kubernetes"]
    assert completed(shell, "--de") == ["--debug"]


def test_all_commands_are_offered_with_what_they_do():
    env = {"_DISTKERN_COMPLETE": "zsh_complete", "COMP_WORDS": "distkern ", "COMP_CWORD": "1"}
    lines = CliRunner().invoke(main, [], env=env, prog_name="distkern").stdout.split("\n")
    assert dict(zip(lines[1::3], lines[2::3], strict=True)) == ABOUT


def test_the_kernels_that_are_offered_are_all_that_have_a_name_of_their_own():
    joined = {"normalized", "power", "product", "scaled", "sum"}
    assert set(NAMES) <= set(our_kernels())
    assert set(our_kernels()) - set(NAMES) - joined <= {"anchored", "concordance"}


@pytest.mark.parametrize(
    ("shell", "beginning"), [("bash", "_distkern_completion()"), ("zsh", "#compdef"), ("fish", "function _distkern")]
)
def test_the_script_is_printed(run, shell, beginning):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert result.stdout.startswith(beginning)
    assert "_DISTKERN_COMPLETE" in result.stdout
    assert run("completion", "tcsh").exit_code == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_with_the_script(run, tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash").stdout)
    program = tmp_path / "distkern"
    program.write_text(f"#!{sys.executable}\nfrom distkern.cli.main import main\nmain()\n")
    program.chmod(0o755)
    code = f'. {script}; COMP_WORDS=(distkern gram --kernel ken); COMP_CWORD=3; _distkern_completion "{program}"'
    line = f'{code}; echo "${{COMPREPLY[@]}}"; complete -p distkern'
    done = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["kendall", "complete -o nosort -F _distkern_completion distkern"], done.stderr
