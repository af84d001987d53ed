"""The simulation of the slides on SUQUAN: its data by SciPy's distributions, and what it finds."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import cauchy, expon, norm, uniform

from distkern import SUQUANClassifier
from distkern.reproduce import TABLES, suquan_simulation
from distkern.reproduce.suquan_simulation import (
    QUICK,
    REFERENCE,
    REPEATS,
    STARTS,
    TRUTHS,
    Point,
    Size,
    draw,
    evaluate,
    methods,
    models,
    points,
    quantiles,
    read_points,
)
from distkern.reproduce.tables import write_rows

COMMITTED = Path(__file__).parents[2] / "docs" / "figures" / "suquan-simulation.csv"
SMALL = Size(20, 150, 400)


def mixture(u):
    return brentq(lambda x: (norm.cdf(x, -3) + norm.cdf(x, 3)) / 2 - u, -12, 12, xtol=1e-13)


# The data -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STARTS)
def test_quantiles_are_those_of_their_distributions(name):
    u = np.arange(1, 31) / 31
    inverse = {"normal": norm.ppf, "cauchy": cauchy.ppf, "exponential": expon.ppf, "uniform": uniform.ppf}
    expected = np.array([inverse.get(name, mixture)(one) for one in u])
    expected = (expected - expected.mean()) / expected.std()
    np.testing.assert_allclose(quantiles(name, 30), expected, atol=1e-9)


def test_samples_are_permutations_of_the_truth_and_labels_follow_the_logistic_model():
    seed, size = [3, 1], Size(15, 4_000, 10)
    drawn = draw("exponential", size, np.random.default_rng(seed))
    store, y = drawn.train
    assert (np.sort(store.ranks, axis=1) == np.arange(15)).all()
    assert [len(part[1]) for part in (drawn.train, drawn.validation, drawn.test)] == [4_000, 4_000, 10]
    w = np.random.default_rng(seed).normal(size=15)
    chances = expit(drawn.truth[store.ranks] @ w)
    for values in (np.ones(4_000), chances):  # as many positives as expected, and where they are expected
        excess = values @ (y - chances) / np.sqrt(values**2 @ (chances * (1 - chances)))
        assert abs(excess) < 4
    assert 0.4 < y.mean() < 0.6  # the exponential truth is centred


def test_draws_differ_and_depend_on_the_seed():
    first, second = (next(points("normal", SMALL, repeats=2, seed=seed)) for seed in (0, 1))
    assert len(set(first.repeats + second.repeats)) > 2
    assert first == next(points("normal", SMALL, repeats=2, seed=0))


# The accuracies -------------------------------------------------------------------------------------------------------


class Fake:
    """A model of known accuracy on the validation and the test samples."""

    def __init__(self, validated, tested, target):
        self.scores, self.target_ = [validated, tested], target

    def fit(self, X, y):
        return self

    def score(self, X, y):
        return self.scores.pop(0)


def test_the_validation_samples_choose_and_the_test_samples_do_not(monkeypatch):
    drawn = draw("normal", SMALL, np.random.default_rng(0))
    fakes = [Fake(0.7, 0.5, drawn.truth), Fake(0.8, 0.75, -drawn.truth), Fake(0.8, 1.0, drawn.truth)]
    monkeypatch.setattr(suquan_simulation, "models", lambda *asked: fakes)
    assert evaluate(drawn, "bnd", None) == (75.0, 100.0, pytest.approx(-1.0))


def test_models_start_from_the_corrupted_target_and_only_spav_has_gamma():
    first = quantiles("cauchy", 8)
    for method, start in methods("normal", ["cauchy"]):
        for model in models(method, None if method == "svd" else first):
            assert model.n_iter == 1
            assert model.constraint == ("fixed" if method == "known" else method)
            assert (model.gamma is None) == (method != "spav")
            assert model.target is first or method == "svd"
        assert (start == "") == (method in ("known", "svd"))
    assert ("fixed", "normal") not in methods("normal")
    assert len(methods("bimodal")) == 2 + 3 * (len(STARTS) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_target_is_recovered_from_a_cauchy_start(truth):
    found = {point.method: point for point in points(truth, QUICK, STARTS[:1], repeats=2)}
    known, svd, fixed, spav = (found[name] for name in ("known", "svd", "fixed", "spav"))
    assert spav.accuracy > fixed.accuracy + 10
    assert known.accuracy > spav.accuracy - 1
    assert min(spav.correlations) > 0.9
    assert max(fixed.correlations) < 0.8
    assert svd.accuracy < spav.accuracy


def test_one_iteration_of_bnd_does_not_suffice_from_a_cauchy_start():
    drawn, start = draw("bimodal", Size(), np.random.default_rng(0)), quantiles("cauchy", Size().p)
    one, three = (SUQUANClassifier("bnd", start, lam=0.03, n_iter=n).fit(*drawn.train) for n in (1, 3))
    assert three.score(*drawn.test) > one.score(*drawn.test) + 0.1
    assert np.corrcoef(three.target_, drawn.truth)[0, 1] > 0.95 > np.corrcoef(one.target_, drawn.truth)[0, 1]


# The table ------------------------------------------------------------------------------------------------------------


def test_points_are_read_back_from_their_file(tmp_path):
    written = [
        Point("normal", "spav", "cauchy", (80.5, 81.0), (82.0, 81.0), (0.5, 0.75)),
        Point("bimodal", "known", "", (80.0, 79.0), (80.0, 79.5), (1.0, 1.0)),
    ]
    write_rows(tmp_path / "points.csv", [point.row() for point in written], ["how it was made"])
    assert read_points(tmp_path / "points.csv") == written
    assert [point.row()["reference"] for point in written] == [pytest.approx(87.2), None]


def test_the_quick_table_is_smaller(monkeypatch):
    asked = []

    def one(truth, size, starts, **options):
        asked.append((truth, size, tuple(starts), options))
        yield Point(truth, "known", "", (80.0,), (81.0,), (1.0,))

    monkeypatch.setattr(suquan_simulation, "points", one)
    assert len(list(TABLES["suquan-simulation"].rows(quick=True, repeats=2, seed=3))) == 3
    assert asked == [(truth, QUICK, ("cauchy",), {"repeats": 2, "seed": 3}) for truth in TRUTHS]


def test_the_committed_table_says_what_the_page_says():
    kept = read_points(COMMITTED)
    assert [(point.truth, point.method, point.start) for point in kept] == [
        (truth, *row) for truth in TRUTHS for row in methods(truth)
    ]
    assert {len(point.repeats) for point in kept} == {REPEATS}
    found = {(point.truth, point.method, point.start): point for point in kept}
    for (method, start), reference in REFERENCE.items():  # one draw of an experiment from outside
        point = found["normal", method, start]
        spread = np.std(point.optimistic, ddof=1)
        assert abs(np.mean(point.optimistic) - 100 * reference) < 3 * spread
    for truth, method, start in found:
        if method == "spav":
            fixed, bnd, spav = (found[truth, name, start] for name in ("fixed", "bnd", "spav"))
            assert spav.accuracy > fixed.accuracy
            assert bnd.accuracy > fixed.accuracy
            assert min(spav.correlations) > 0.95
            assert spav.accuracy > found[truth, "known", ""].accuracy - 4
    for truth in TRUTHS:
        fixed, spav = (found[truth, method, "cauchy"] for method in ("fixed", "spav"))
        assert spav.accuracy > fixed.accuracy + 20
        assert found[truth, "svd", ""].accuracy < 70


@pytest.mark.slow
def test_a_draw_of_the_committed_table_is_reproduced():
    for truth in ("normal", "bimodal"):
        rows = [point for point in read_points(COMMITTED) if point.truth == truth]
        kept = {(point.method, point.start): point for point in rows}
        drawn = draw(truth, Size(), np.random.default_rng([0, TRUTHS.index(truth), 0]))
        accuracy, _, correlation = evaluate(drawn, "spav", quantiles("cauchy", Size().p))
        assert accuracy == pytest.approx(kept["spav", "cauchy"].repeats[0], abs=1)  # other machines round otherwise
        assert correlation == pytest.approx(kept["spav", "cauchy"].correlations[0], abs=0.02)
