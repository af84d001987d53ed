"""Digits as sets of pixels: the drawn pixels, errors that equal those of single machines, and the committed tables."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from distkern import Gaussian, KernelIGV
from distkern.datasets import load_mnist
from distkern.reproduce import semigroup
from distkern.reproduce.semigroup import CURVE, ETA, NAMES, PIXELS, PUBLISHED, SIGMA, SIGMAS, balanced, drawn, errors
from distkern.reproduce.tables import read_rows

FIGURES = Path(__file__).parents[2] / "docs" / "figures"


@pytest.fixture(scope="module")
def few():
    return balanced(*load_mnist(), each=6)


def test_the_number_of_drawn_pixels(few):
    images, digits = few
    for of, threshold in semigroup.THRESHOLDS.items():
        sample = drawn(images, digits, 40, 0, of)
        np.testing.assert_array_equal(sample.bags.sizes, np.minimum(40, (images > threshold).sum(axis=(1, 2))))
        np.testing.assert_array_equal(sample.vectors.sum(axis=1), sample.bags.sizes)
        assert (images.reshape(len(images), -1)[sample.vectors > 0] > threshold).all()
        np.testing.assert_allclose(sample.samples("Gaussian").sum(axis=1), 1)
    assert not np.array_equal(drawn(images, digits, 40, 1).vectors, drawn(images, digits, 40, 0).vectors)
    assert set(drawn(images, digits, semigroup.FEW, 0).bags.sizes) == {25, 26, 27, 28, 29, 30}


def test_errors_equal_those_of_machines_fitted_one_by_one(few):
    sample = drawn(*few, 30, 0)
    K, labels = KernelIGV(Gaussian(SIGMA), ETA)(sample.bags), sample.labels
    wrong = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=4).split(K, labels):
        scores = [
            SVC(kernel="precomputed", C=1e6, tol=1e-6)
            .fit(K[np.ix_(train, train)], labels[train] == digit)
            .decision_function(K[np.ix_(test, train)])
            for digit in np.unique(labels)
        ]
        wrong.append(100 * np.mean(np.argmax(scores, axis=0) != labels[test]))
    assert errors(K, labels, repeats=1, seed=4)[0] == pytest.approx(np.mean(wrong), abs=100 / len(labels))


@pytest.mark.slow
def test_table_surface_and_curve_of_a_few_images(few, monkeypatch):
    monkeypatch.setattr(semigroup, "RANK", 5)
    monkeypatch.setattr(semigroup, "EACH", 3)
    told = []
    rows = list(semigroup.table(*few, pixels=(20,), samplings=1, repeats=1, on_event=told.append))
    assert [(row["drawn_of"], row["images"]) for row in rows] == [("inked", 60)] * 6 + [("inked", 30)] * 4 + [
        ("black", 60)
    ] * 4
    assert told[-1].done == told[-1].total == 3
    (cell,) = semigroup.surface(drawn(*few, 20, 0), sigmas=(0.2,), etas=(0.05,), repeats=1, seed=0)
    assert (cell["sigma"], cell["eta"]) == (0.2, 0.05)
    assert [row["kernel"] for row in semigroup.curve(*few, (20,), repeats=1, seed=0)] == ["k-IGV", "Gaussian"]


def test_the_committed_table_agrees_with_the_documentation():
    found = {
        (row["drawn_of"], int(row["images"]), int(row["pixels"]), row["kernel"], row["how"]): float(row["ours"])
        for row in read_rows(FIGURES / "k-igv.csv")
    }
    low, all_of = f"rank {semigroup.RANK}", {(1000, d) for d in PIXELS}
    assert all_of <= {(images, d) for _, images, d, *_ in found}
    for d in PIXELS:
        for name, r, how in zip(NAMES, ("", "", ", r = 4", ""), ("exact", "exact", "exact", low), strict=True):
            assert abs(found["inked", 500, d, name + r, how] - PUBLISHED[d, name]) < 2
        assert found["inked", 1000, d, "k-IGV", low] < found["inked", 1000, d, "Bhattacharyya, r = 4", "exact"]
    for (of, images, d, name, how), error in found.items():
        if of == "black":  # all errors are below the published ones
            assert error < PUBLISHED[d, name.partition(",")[0]]
        elif how == low and images == 1000:  # landmarks hardly change the error
            assert abs(found[of, images, d, name, "exact"] - error) < 0.5


def test_some_rows_of_the_committed_table_are_reproduced():
    images, digits = load_mnist()
    row = next(
        row for row in read_rows(FIGURES / "k-igv.csv") if row["kernel"] == "Gaussian" and row["drawn_of"] == "inked"
    )
    sample = drawn(images, digits, int(row["pixels"]), 0)
    now = errors(Gaussian(SIGMA)(sample.samples("Gaussian")), digits, repeats=1)
    assert now[0] == pytest.approx(float(row["repeat_1"]), abs=0.2)


def test_the_committed_figures_agree_with_the_paper():
    surface = semigroup.read_surface(FIGURES / "k-igv-surface.csv")
    best = np.unravel_index(np.argmin(surface), surface.shape)
    assert SIGMAS[best[0]] in (0.1, 0.12, 0.15)
    assert surface.min() == pytest.approx(19.5, abs=2)
    curve = read_rows(FIGURES / "k-igv-curve.csv")
    assert [int(row["pixels"]) for row in curve[::2]] == list(CURVE)
    igv, gaussian = (np.array([float(row["error"]) for row in curve[start::2]]) for start in (0, 1))
    assert (igv < gaussian).all()
