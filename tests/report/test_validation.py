"""The part of the page on samples that were not trained on: each thing once, with its numbers."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from figure_data import held_out
from pages import Page, assert_self_contained

import distkern as dk
from distkern.learners.evaluation import Evaluation, PermutationTest
from distkern.learners.selection import cross_validate_gram
from distkern.report import write_report

FIGURES = ("roc", "precision", "calibration", "decision", "null", "confusion0", "confusion1")


def evaluation_of(found, other=None, test=None, **settings):
    """An evaluation of two folds whose held-out predictions are given."""
    columns = ([0, 0], [0, 1], [60, 60], [0.8, 0.7], [0.75, 0.65], [0.9, 0.8], [1.0, 1.0])
    kept = {"held_out": found, "external": other, "permutation_test": test}
    return Evaluation(*map(np.array, columns), classes=found.classes, settings=settings, seconds=0.1, **kept)


def page_of(tmp_path, evaluation, m=120, **given):
    path = write_report(tmp_path / "page.html", gram=np.eye(m), evaluation=evaluation, overwrite=True, **given)
    text = path.read_text(encoding="utf-8")
    return Page(text), text


def figures(page):
    """Names of the figures of the validation that are on the page, from the ids in them."""
    names = {attrs["id"].partition("-")[0] for _, attrs in page.tags if "id" in attrs}
    return sorted(name for name in names if name in FIGURES)


TEST = PermutationTest(0.7, 0.02, np.linspace(0.3, 0.71, 99), "balanced_accuracy", {"outer": 5, "inner": 5}, 1.0)


def test_every_score_is_there_with_its_interval(tmp_path):
    found, other = held_out(), held_out(m=50, seed=1, repeats=1)
    page, text = page_of(tmp_path, evaluation_of(found, other, TEST, external="other.csv"))
    assert_self_contained(page, text)
    tables = [part.scores().set_index("score") for part in (found, other)]
    names = {"auc": "Area under the ROC curve"}
    for score in tables[0].index:
        plain = score in ("auc", "average precision", "Brier score", "log loss")
        cells = []
        for row in (table.loc[score] for table in tables):
            value, low, high = (
                f"{x:.3f}" if plain else f"{100 * x:.1f}" for x in (row["value"], row["low"], row["high"])
            )
            cells.append(f"{value}{'' if plain else ' %'} ({low} to {high})")
        said = f"{names.get(score, score[0].upper() + score[1:])} {' '.join(cells)}"
        assert page.text.count(said) == 1, said
    assert "Score Held out (120 samples) other.csv (50 samples)" in page.text
    assert figures(page) == sorted(FIGURES)
    assert "Sensitivity is the share of “well” that is found, and specificity that of “ill”" in page.text


def test_each_part_is_there_once(tmp_path):
    page, _ = page_of(tmp_path, evaluation_of(held_out(), held_out(seed=1), TEST, external="other.csv"))
    for words in (
        "Scores on samples that were not trained on",
        "What they say, and what they do not",
        "Could it be chance?",
        "Scores of the folds on samples",
        "None of these numbers promises anything for another platform",
        "They do not cover what other training samples would change",
        "A model of all 120 samples predicted other.csv, one sample at a time.",
        "Net benefit of treating",
        "Points: bins of equal numbers of samples",
        "Calls by class, held out: number of samples, mean over the repetitions,",
        "Calls by class, other.csv:",
    ):
        assert page.text.count(words) == 1, words
    assert len(page.all("figcaption")) == len(page.all("svg")) == 11


def test_the_p_value_is_told_in_a_sentence(tmp_path):
    page, _ = page_of(tmp_path, evaluation_of(held_out(), test=TEST))
    reached = int(np.sum(TEST.null >= 0.7))
    said = f"p = 0.02: {reached} of 99 permutations of the labels had a balanced accuracy of at least 70.0 %"
    assert page.text.count(said) == 1
    assert "0.02 p-value: 99 permutations of the labels" in page.text
    none = dataclasses.replace(TEST, score=0.95, scoring="auc")
    said = "none of 99 permutations of the labels had an area under the ROC curve of at least 0.950"
    assert said in page_of(tmp_path, evaluation_of(held_out(), test=none))[0].text


def test_an_evaluation_of_an_earlier_version_has_its_page(tmp_path):
    kept = evaluation_of(held_out()).to_dict()
    for name in ("held_out", "permutation_test", "external"):
        del kept[name]
    page, text = page_of(tmp_path, Evaluation.from_dict(json.loads(json.dumps(kept))))
    assert_self_contained(page, text)
    assert not figures(page)
    assert "75.0" in page.text
    assert "interval" not in page.text
    kept = evaluation_of(held_out()).to_dict()
    del kept["held_out"]["groups"]
    again, _ = page_of(tmp_path, Evaluation.from_dict(json.loads(json.dumps(kept))))
    assert "drawn within each class" in again.text


def test_a_page_of_the_file_is_that_of_the_result(tmp_path):
    found = dataclasses.replace(held_out(), groups=np.array([f"patient {k // 3}" for k in range(120)]))
    result = evaluation_of(found, held_out(seed=1), TEST)
    again = Evaluation.from_dict(json.loads(json.dumps(result.to_dict())))
    pages = [page_of(tmp_path, each)[0].text.partition("Made by")[0] for each in (result, again)]
    assert pages[0] == pages[1]
    assert "drawn as whole groups" in pages[0]


def test_without_probabilities_there_is_no_calibration(tmp_path):
    page, _ = page_of(tmp_path, evaluation_of(held_out(probabilities=False), held_out(seed=1), external="new.csv"))
    assert "There are no probabilities (held out), and so no calibration and no decision curve." in page.text
    assert re.search(r"Log loss – \d", page.text)
    assert figures(page) == ["calibration", "confusion0", "confusion1", "decision", "precision", "roc"]
    page, _ = page_of(tmp_path, evaluation_of(held_out(probabilities=False)))
    assert "Log loss" not in page.text
    assert figures(page) == ["confusion0", "precision", "roc"]


def test_several_classes_of_which_the_other_cohort_lacks_one(tmp_path):
    kinds = ("<b>a</b>", "b & c", "$d$")
    found, whole = held_out(classes=kinds), held_out(classes=kinds, seed=1, repeats=1)
    other = whole.of_samples(np.flatnonzero(whole.truth != 1))
    page, text = page_of(tmp_path, evaluation_of(found, other, external="other.csv"))
    assert_self_contained(page, text)
    assert "other.csv: no sample is of class “b & c”" in page.text
    assert "mean over the classes, each against all others" in page.text
    assert "Sensitivity is" not in page.text
    assert "<b>a</b>" in page.text
    assert not page.all("b")
    assert figures(page) == ["calibration", "confusion0", "confusion1", "decision", "precision", "roc"]


def test_another_cohort_of_one_class(tmp_path):
    whole = held_out(seed=1, repeats=1)
    other = whole.of_samples(np.flatnonzero(whole.truth == 0))
    page, _ = page_of(tmp_path, evaluation_of(held_out(), other, external="controls.csv"))
    assert "controls.csv: no sample is of class “well”" in page.text
    assert re.search(r"Sensitivity [\d.]+ % \([\d. to]+\) –", page.text)
    assert "confusion1" in figures(page)


def test_more_classes_than_colours(tmp_path):
    page, text = page_of(tmp_path, evaluation_of(held_out(m=240, classes=tuple(f"{k:02d}" for k in range(12)))), m=240)
    assert_self_contained(page, text)
    assert "samples of 12 classes by class and call" in text


@pytest.mark.slow
def test_cohorts_that_were_left_out_have_a_row_each(tmp_path):
    rng = np.random.default_rng(0)
    y, site = np.arange(60) % 2, np.repeat(["north", "south", "west"], 20)
    X = rng.normal(size=(60, 6)) + y[:, None] * [1.5, 0, 0, 0, 0, 0]
    gram, labels = dk.ArrayGram(dk.Kendall()(X)), np.array(["ill", "well"])[y]
    found = cross_validate_gram(None, gram, labels, cohorts=site, C=[1.0, 10.0], inner=2)
    page, _ = page_of(tmp_path, Evaluation.from_dict(json.loads(json.dumps(found.to_dict()))), m=60)
    frame = pd.DataFrame({"y": y, "call": found.held_out.predicted[0], "site": site})
    for name, own in frame.groupby("site"):
        sensitivity = own.call[own.y == 1].mean()
        specificity = 1 - own.call[own.y == 0].mean()
        row = re.search(rf"{name} 20 ([\d.]+) % \(\S+ to \S+\) ([\d.]+) % \(\S+ to \S+\) ([\d.]+) %", page.text)
        expected = [50 * (sensitivity + specificity), 100 * sensitivity, 100 * specificity]
        np.testing.assert_allclose([float(number) for number in row.groups()], expected, atol=0.051)
    assert "over 3 cohorts, each predicted by a model of the others" in page.text
    assert "dk.cross_validate_gram(None, gram, y, C=[1.0, 10.0], inner=2, seed=0, cohorts=cohorts)" in page.text


def test_the_parameter_that_was_chosen_is_named(tmp_path):
    settings = {"C": [0.1, 1.0], "parameter": "lam", "outer": 2, "inner": 2, "repeats": 1, "seed": 0}
    page, _ = page_of(tmp_path, evaluation_of(held_out(), test=TEST, **settings))
    assert "lam chosen in its folds" in page.text
    assert "The lam that the inner cross-validation chose" in page.text
    assert "y, lam=[0.1, 1.0], outer=2, inner=2, repeats=1, seed=0)" in page.text
    assert "dk.permutation_test(model, gram, y, permutations=99, scoring='balanced_accuracy', outer=5" in page.text
