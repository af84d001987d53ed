"""The fuzz script notices wrong answers, raw errors and cases that do not end; distkern passes it in small."""

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def fuzzers(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import fuzz
    from fuzzers import judge

    return fuzz, judge


def raw():
    return float("a word")


def ours():
    from distkern import Gaussian

    Gaussian(sigma=-1.0)


def library():
    from sklearn.utils import check_array

    check_array([[np.nan]])


def python():
    return object() + 1


def bug():
    raise ValueError("this is a bug in distkern: report it")


def short():
    raise ValueError("no")


def escape():
    raise ValueError("the sample \x1b[31m has no value")


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (ours, None),
        (library, None),
        (python, None),
        (lambda: None, None),
        (raw, "ValueError is raw: could not convert"),
        (lambda: {}["key"], "raised KeyError: 'key'"),
        (bug, "ValueError says that it is a bug"),
        (short, "ValueError is no sentence"),
        (escape, "ValueError holds control characters"),
    ],
)
def test_only_errors_that_are_sentences_are_accepted(fuzzers, act, problem):
    _, judge = fuzzers
    found = judge.problem_of(judge.Case("case", act))
    assert found is None if problem is None else found.startswith(problem)


def test_an_answer_is_compared_entry_by_entry(fuzzers):
    _, judge = fuzzers
    judge.require_close([1.0, np.nan, np.inf], [1.0 + 1e-12, np.nan, np.inf])
    for wrong in ([1.1, np.nan, np.inf], [1.0, 0.0, np.inf], [1.0, np.nan, 5.0], [1.0, np.nan]):
        with pytest.raises(judge.Wrong):
            judge.require_close(wrong, [1.0, np.nan, np.inf])
    case = judge.Case("case", lambda: judge.require_close(2.0, 1.0))
    assert judge.problem_of(case) == "wrong: np.float64(2.0) instead of np.float64(1.0) at ()"


@pytest.mark.slow
def test_a_case_that_does_not_end_is_stopped(fuzzers, monkeypatch):
    _, judge = fuzzers
    monkeypatch.setattr(judge, "SECONDS", 1)

    def endless():
        while True:
            pass

    assert judge.problem_of(judge.Case("case", endless)) == "does not end in 1 s"


@pytest.mark.slow
def test_a_case_is_repeated_by_its_number(fuzzers, tmp_path):
    fuzz, _ = fuzzers
    for kind in fuzz.KINDS:
        whats = set()
        for name in ("first", "second"):
            (tmp_path / kind / name).mkdir(parents=True)
            whats.add(fuzz.drawn(kind, 3, 0, tmp_path / kind / name).what.replace(name, ""))
        assert len(whats) == 1
        (tmp_path / kind / "other").mkdir()
        assert fuzz.drawn(kind, 4, 0, tmp_path / kind / "other").what not in whats


def test_a_finding_is_printed_with_what_repeats_it(fuzzers, monkeypatch, capsys):
    fuzz, judge = fuzzers
    draw = lambda rng, folder: judge.Case("float of a word", raw)  # noqa: E731
    monkeypatch.setattr(fuzz, "KINDS", {"calls": (draw, 2)})
    found = fuzz.main(["--seed", "5"])
    assert [finding.name for finding in found] == ["calls:0", "calls:1"]
    printed = capsys.readouterr().out
    assert "calls:0: float of a word\n    ValueError is raw" in printed
    assert "repeat one with: python benchmarks/fuzz.py --seed 5 --case calls:0" in printed
    with pytest.raises(ValueError, match="could not convert"):
        fuzz.main(["--case", "calls:0"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["calls", "damage", "tables"])
def test_every_answer_is_right_or_says_what_was_wrong(fuzzers, kind, capsys):
    fuzz, _ = fuzzers
    found = fuzz.main(["--small", "--only", kind])
    sys.stdout.write(capsys.readouterr().out)
    assert found == []
