"""Kernels compared: the questions, the table, and what the page says of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from distkern.reproduce import TABLES, kernel_settings, kernels_compared
from distkern.reproduce.comparison import held_out, scores
from distkern.reproduce.kernels_compared import APART, METHODS, REPEATS, every_fifth, questions, shifted, t_cells
from distkern.reproduce.tables import REPEATED, read_rows

DOCS = Path(__file__).parents[2] / "docs"
COMPARED = DOCS / "figures" / "kernels-compared.csv"
SETTINGS = DOCS / "figures" / "kernel-settings.csv"

QUESTIONS = {
    "colon": ("within", 62, 40, 2000),
    "NKI, metastasis": ("within", 123, 41, 712),
    "NKI, receptor": ("within", 150, 112, 712),
    "VDX, metastasis": ("within", 135, 45, 966),
    "VDX, receptor": ("within", 150, 85, 966),
    "T cells": ("within", 300, 150, 686),
    "DHFR": ("within", 361, 180, 70),
    "COX2": ("within", 282, 139, 74),
    "NKI → VDX, metastasis": ("across", 135, 45, 205),
    "NKI → VDX, receptor": ("across", 150, 85, 205),
    "VDX → NKI, metastasis": ("across", 123, 41, 205),
    "VDX → NKI, receptor": ("across", 150, 112, 205),
    "without the logarithm": ("changed", 150, 85, 966),
    "genes shifted by 0.3": ("changed", 150, 85, 966),
    "genes shifted by 1": ("changed", 150, 85, 966),
    "medulloblastoma": ("within", 60, 21, 7129),
}
"""Setting, tested samples, positive ones among them, and features."""


def stored(path):
    """Rows of a committed table by question and method, or by question and setting."""
    rows = read_rows(path)
    return {(row["question"], row.get("method") or (row["parameter"], row["value"])): row for row in rows}


def name_of(method):
    return method.name


# The questions -------------------------------------------------------------------------------------------------------


def test_the_questions_are_those_of_the_page():
    found = {question.name: question for question in questions(1, 0)}
    described = {}
    for name, question in found.items():
        truth = question.y[question.tested]
        described[name] = (question.setting, len(truth), int(truth.sum()), question.X.shape[1])
        assert np.isfinite(question.X).all()
    assert described == QUESTIONS
    for name in QUESTIONS:
        if name.startswith("genes shifted"):
            question = found[name]
            moved = question.X[question.tested] - question.X[: len(question.tested)]
            np.testing.assert_allclose(moved, np.broadcast_to(moved[0], moved.shape), atol=1e-9)  # alike in all tumours
    assert set(kernel_settings.ASKED) < set(QUESTIONS)


def test_a_shift_has_the_size_that_it_says():
    X = np.random.default_rng(0).normal(scale=2.0, size=(5, 4000))
    assert (shifted(0.5, 1)(X) - X)[0].std() == pytest.approx(0.5 * 2.0, rel=0.05)


def test_cells_are_of_two_types_on_genes_that_are_seen():
    X, y = t_cells()
    assert np.bincount(y).tolist() == [150, 150]
    assert ((X > 0).mean(axis=0) >= kernels_compared.SEEN).all()
    assert X.min() == 0


# The tables ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_questions(monkeypatch):
    """Two small questions, of both kinds."""
    kept = [question for question in questions(1, 0) if question.name in ("COX2", "VDX → NKI, receptor")]
    for module in (kernels_compared, kernel_settings):
        monkeypatch.setattr(module, "questions", lambda repeats, seed: iter(kept))
    monkeypatch.setattr(kernel_settings, "ASKED", ("VDX → NKI, receptor",))


@pytest.mark.slow
def test_a_small_table_has_all_methods_and_their_cost(few_questions):
    events = []
    rows = list(TABLES["kernels-compared"].rows(quick=True, on_event=events.append))
    names = [*map(name_of, METHODS), *map(name_of, METHODS), APART.name]
    assert [row["method"] for row in rows] == names
    assert [row["question"] for row in rows] == ["COX2"] * len(METHODS) + ["VDX → NKI, receptor"] * (len(METHODS) + 1)
    assert (events[-1].done, events[-1].total) == (len(rows), len(rows))
    for row in rows:
        assert row["features"] == {"COX2": 15, "VDX → NKI, receptor": 41}[row["question"]]
        assert row["balanced_low"] <= row["balanced"] <= row["balanced_high"]
        assert row["auc_low"] <= row["auc"] <= row["auc_high"]
        assert row["seconds"] > 0
        assert (row["gain"] is None) == (row["method"] == METHODS[0].name)
    by_linear = rows[0]["balanced"]
    assert rows[3]["gain"] == pytest.approx(rows[3]["balanced"] - by_linear)


def test_a_small_table_of_settings_has_all_of_them(few_questions):
    rows = list(TABLES["kernel-settings"].rows(quick=True))
    assert [(row["parameter"], row["value"]) for row in rows] == [
        (parameter, value) for parameter, value, _ in kernel_settings.settings()
    ]
    assert rows[0]["gain"] is None
    for row in rows[1:]:
        assert row["gain"] == pytest.approx(row["balanced"] - rows[0]["balanced"])
    narrow = next(row for row in rows if (row["parameter"], row["value"]) == ("λ", "0.1"))
    assert abs(narrow["gain"]) < 0.05  # nearly linear in Kendall's kernel


def test_the_committed_tables_are_complete():
    compared, settings = stored(COMPARED), stored(SETTINGS)
    expected = [
        (name, method.name)
        for name, (setting, *_) in QUESTIONS.items()
        for method in (METHODS if setting == "within" else (*METHODS, APART))
    ]
    assert list(compared) == expected
    tried = [(parameter, value) for parameter, value, _ in kernel_settings.settings()]
    asked = [name for name in QUESTIONS if name in kernel_settings.ASKED]
    assert list(settings) == [(name, setting) for name in asked for setting in tried]
    for row in (*compared.values(), *settings.values()):
        setting, *counts = QUESTIONS[row["question"]]
        assert row["setting"] == setting
        assert [int(row[name]) for name in ("samples", "positive", "features")] == counts
        repeated = [float(row[f"{REPEATED}{n}"]) for n in range(1, REPEATS + 1) if row[f"{REPEATED}{n}"]]
        assert len(repeated) == (0 if setting == "across" else REPEATS)
        if repeated:
            assert float(row["balanced"]) == pytest.approx(np.mean(repeated), abs=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_some_cells_of_the_committed_tables_are_reproduced():
    compared, settings = stored(COMPARED), stored(SETTINGS)
    question = next(question for question in questions(REPEATS, 0) if question.name == "VDX → NKI, receptor")
    for method in METHODS[0], METHODS[3], METHODS[6]:
        row = scores(held_out(question, method.start(question.X, question.y)), 0)
        for name in ("balanced", "auc"):  # other machines may choose another C
            assert row[name] == pytest.approx(float(compared[question.name, method.name][name]), abs=0.02)
    for name in kernel_settings.ASKED:  # tau-b is the same method in both
        assert settings[name, ("ties", "b")]["balanced"] == compared[name, "Kendall"]["balanced"]


def test_every_fifth_feature_is_kept():
    question = replace(next(questions(1, 0)), X=np.arange(62.0 * 11).reshape(62, 11))
    assert every_fifth(question).X[0].tolist() == [0.0, 5.0, 10.0]


# The page ------------------------------------------------------------------------------------------------------------


def tables(heading):
    """Tables of a section of the page: the cells of each line but the rule."""
    section = (DOCS / "when-it-helps.md").read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = [[]]
    for line in section.splitlines():
        if not line.startswith("|"):
            found += [[]] if found[-1] else []
        elif not line.startswith("|---"):
            found[-1].append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return [table for table in found if table]


def percent(row):
    value, low, high = (100 * float(row[name]) for name in ("balanced", "balanced_low", "balanced_high"))
    return f"{value:.0f} ({low:.0f}–{high:.0f})"


def gained(row):
    if not row["gain"]:
        return percent(row)
    value, low, high = (100 * float(row[name]) for name in ("gain", "gain_low", "gain_high"))
    return f"{value:+.0f} ({low:+.0f} to {high:+.0f})".replace("-", "−")


def area(row):
    return f"{100 * float(row['auc']):.0f}"


def cost(row):
    return f"{float(row['seconds']):.2g}"


@pytest.mark.parametrize(
    ("heading", "setting", "place", "cell"),
    [
        ("Within a cohort", "within", 0, percent),
        ("Across platforms", "across", 0, percent),
        ("Across platforms", "across", 1, area),
        ("Known changes", "changed", 0, percent),
        ("Known changes", "changed", 1, area),
        ("What it costs", "within", 0, cost),
    ],
)
def test_the_page_prints_the_numbers_of_the_comparison(heading, setting, place, cell):
    header, *lines = tables(heading)[place]
    compared = stored(COMPARED)
    methods = [method.name for method in (METHODS if setting == "within" else (*METHODS, APART))]
    assert header[1:] == methods
    assert {line[0] for line in lines} == {name for name, about in QUESTIONS.items() if about[0] == setting}
    for name, *cells in lines:
        assert cells == [cell(compared[name, method]) for method in methods]


def test_the_page_prints_the_numbers_of_the_settings():
    ((header, *lines),) = tables("Which λ, window and ties, and why")
    settings = stored(SETTINGS)
    asked = [name for name in QUESTIONS if name in kernel_settings.ASKED]
    assert header[1:] == asked
    tried = [(parameter, value) for parameter, value, _ in kernel_settings.settings()]
    assert [line[0] for line in lines] == [f"{parameter} {value}" for parameter, value in tried]
    for line, setting in zip(lines, tried, strict=True):
        assert line[1:] == [gained(settings[name, setting]) for name in asked]


def test_what_the_page_says_holds_in_the_tables():
    compared = {
        key: {name: float(row[name] or "nan") for name in row if name.startswith(("bal", "auc", "gain"))}
        for key, row in stored(COMPARED).items()
    }
    of = {
        setting: [name for name, about in QUESTIONS.items() if about[0] == setting] for setting in ("within", "across")
    }
    gains = {name: compared[name, "Kendall"] for name in of["within"]}
    assert {name for name, row in gains.items() if row["gain_low"] > 0} == {"colon", "DHFR"}
    assert {name for name, row in gains.items() if row["gain_high"] < 0} == {"medulloblastoma"}
    outcome = {method.name: compared["medulloblastoma", method.name]["balanced_low"] for method in METHODS}
    assert [name for name, low in outcome.items() if low > 0.5] == ["smoothed Kendall"]
    on_values = [method.name for method in METHODS[:3]]
    on_orders = [method.name for method in METHODS[3:]]
    for name in of["across"]:
        assert all(compared[name, method]["balanced"] == 0.5 for method in on_values)
        if name.endswith("receptor"):
            assert all(compared[name, method]["gain_low"] > 0.15 for method in on_orders)
            assert compared[name, "linear, z-scores"]["auc"] > 0.9
            apart = compared[name, APART.name]["balanced"]
            assert all(apart > compared[name, method]["balanced"] for method in on_orders)
    for method in ("Kendall", "Spearman", "top-scoring pairs"):  # the orders are the same
        for name in ("balanced", "auc"):
            assert compared["without the logarithm", method][name] == compared["VDX, receptor", method][name]
    assert compared["without the logarithm", "linear, z-scores"]["balanced"] < 0.7
    for method in ("Kendall", "Spearman"):  # shifts of genes harm orders more than a linear machine
        assert compared["genes shifted by 1", method]["gain_high"] < 0
