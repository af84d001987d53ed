"""How commands end: at most four lines on stderr, and every command in them runs as it is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

SAMPLES = ("--samples", "rows")
OWN = ("--label", "relapse")
LABELS = ("--labels", "the labels.csv", "--label", "relapse")


@pytest.fixture
def folder(cohort, store, monkeypatch):
    """The working folder, with files whose names a shell would take apart."""
    monkeypatch.chdir(cohort.folder)
    cohort.folder.joinpath("rows.csv").rename("it's a cohort.csv")
    cohort.folder.joinpath("clinical.csv").rename("the labels.csv")
    store.rename("my $tore.zarr")
    cells = [["a"] * 5 + ["b"] * 5, range(10), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]]
    lines = zip(*cells, strict=True)
    Path("cells.csv").write_text("who,x,y\n" + "".join(",".join(map(str, line)) + "\n" for line in lines))
    Path("sets.gmt").write_text("one\tnote\tg1\tg2\tg3\n")
    Path("ballots.csv").write_text("id,x,y,z\n" + "".join(f"v{n},{n % 3},{(n + 1) % 3},1\n" for n in range(9)))
    return cohort.folder


def ending(result):
    """Lines of the end: what was written, and what comes next."""
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith(("written to ", "next: ")))
    return lines[begin:]


def commands(lines):
    """The commands that a user may copy as they are."""
    then = [line[6:] for line in lines if line.startswith(("next: ", "      "))]
    assert then, lines
    assert all(" FILE" in line for line in then if not line.startswith(("distkern ", "python ")))
    return [line for line in then if line.startswith("distkern ")]


COHORT, STORE = "it's a cohort.csv", "my $tore.zarr"
CASES = {
    "gram": ("gram", COHORT, "new store.zarr", *SAMPLES, "--kernel", "kendall", *LABELS),
    "gram of labels in the file": ("gram", "columns.csv", "c.zarr", "--samples", "columns", "--kernel", "linear", *OWN),
    "gram without labels": ("gram", COHORT, "new.zarr", *SAMPLES, "--kernel", "kendall", "--ties", "b"),
    "gram against": ("gram", COHORT, "n.zarr", "--against", COHORT, *SAMPLES, "--kernel", "kendall"),
    "gram by landmarks": ("gram", COHORT, "l.zarr", *SAMPLES, "--kernel", "linear", "--landmarks", 8),
    "plan": ("plan", COHORT, *SAMPLES, "--kernel", "mallows", "--param", "lam=2", "--memory-limit", "1GiB"),
    "dry run": ("gram", COHORT, "d.zarr", *SAMPLES, "--kernel", "kendall", "--dry-run"),
    "bags": ("bags", "cells.csv", "the bags.zarr", "--by", "who"),
    "evaluate": ("evaluate", STORE, *LABELS, "--repeats", 1, "--C", 1, "--C", 10),
    "evaluate out": ("evaluate", STORE, *LABELS, "--repeats", 1, "--out", "my result.json"),
    "train": ("train", COHORT, *SAMPLES, *LABELS, "--repeats", 1, "--C", 1, "--out", "my.model"),
    "pairs": ("pairs", COHORT, *SAMPLES, *LABELS, "-k", "3-5"),
    "cluster": ("cluster", STORE, "-k", "2-4", "--starts", 3),
    "cluster out": ("cluster", COHORT, *SAMPLES, "--kernel", "kendall", "-k", 2, "--out", "a.csv"),
    "compare": ("compare", STORE, *LABELS, "--permutations", 99),
    "consensus": ("consensus", "ballots.csv", *SAMPLES, "--values", "scores"),
    "markers": ("markers", COHORT, *SAMPLES, *LABELS, "--top", 2),
    "score-sets": ("score-sets", COHORT, "sets.gmt", *SAMPLES),
    "normalize": ("normalize", COHORT, *SAMPLES, "--out", "out.csv", "--save-target", "t.npz"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_commands_that_follow_run_as_they_are(folder, run, case):
    lines = ending(run(*CASES[case]))
    assert len(lines) <= 4
    for command in commands(lines):
        done = run(*shlex.split(command)[1:])
        assert done.exit_code == 0, f"{command}: {done.output}"


def test_models_are_followed_to_predictions_and_reasons(folder, run):
    train = ("train", COHORT, *SAMPLES, *LABELS, "--repeats", 1, "--C", 1)
    lines = ending(run(*train, "--out", "my.model", "--report", "page.html"))
    assert lines == [
        "written to my.model, page.html",
        "next: for new samples in FILE: distkern predict my.model FILE --samples rows",
        "      distkern explain my.model",
        "      python -m webbrowser page.html",
    ]
    first = ending(run("predict", "my.model", COHORT, *SAMPLES))
    words = shlex.join(["my.model", COHORT, "--out", "it's a cohort-calls.csv"])
    assert first == [f"next: distkern predict {words} --samples rows"]
    (again,) = commands(first)
    second = ending(run(*shlex.split(again)[1:]))
    (why,) = commands(second)
    done = run(*shlex.split(why)[1:])
    assert done.exit_code == 0, done.output
    assert Path("why.csv").exists()


def test_rules_are_followed_to_predictions(folder, run):
    lines = ending(run("pairs", COHORT, *SAMPLES, *LABELS, "-k", 3, "--model", "rules.json", "--table", "t.csv"))
    assert lines == [
        "written to rules.json, t.csv",
        "next: for new samples in FILE: distkern predict rules.json FILE --samples rows",
    ]
    (predict,) = commands(ending(run("pairs", COHORT, *SAMPLES, "--apply", "rules.json")))
    assert run(*shlex.split(predict)[1:]).exit_code == 0


def test_nothing_is_said_to_programs_or_if_quiet(folder, run):
    words = ("compare", STORE, *LABELS, "--permutations", 99, "--out")
    assert run(*words, "a.json", "-q").stderr == ""
    assert "next: " not in (said := run(*words, "b.json", "--json").stderr)
    assert "written to" not in said
    assert Path("a.json").exists()
    assert Path("b.json").exists()


def test_files_that_exist_are_not_named_again(folder, run):
    Path("my $tore-relapse.json").write_text("precious")
    (line,) = commands(ending(run("compare", STORE, *LABELS, "--permutations", 99)))
    assert shlex.split(line)[-1] != "my $tore-relapse.json"
    assert run(*shlex.split(line)[1:]).exit_code == 0
    assert Path("my $tore-relapse.json").read_text() == "precious"
