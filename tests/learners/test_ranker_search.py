"""The search over kernels, weights and λ against training on every fold."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, cross_val_predict

from distkern import (
    ArrayGram,
    Gaussian,
    InputError,
    Linear,
    MemoryLimitError,
    MLSRRanker,
    MLSRRankerCV,
    load_model,
    mean_squared_difference,
    ranking_error,
    save_model,
)
from distkern.learners.ranker_search import WIDTHS, paper_kernel
from distkern.solvers.holdout import holdout_bytes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = X[:, 0] + np.sin(4 * X[:, 1]) + 0.2 * RNG.normal(size=30) + 3
KERNELS = [Gaussian(0.5), Gaussian(3.0), Linear()]


@pytest.mark.parametrize("cv", [KFold(5, shuffle=True, random_state=1), 4])
@pytest.mark.parametrize(
    ("scoring", "measure"),
    [("ranking_error", ranking_error), ("mean_squared_difference", mean_squared_difference), (np.ptp, None)],
)
def test_every_score_is_that_of_training_on_each_fold(cv, scoring, measure):
    if measure is None:
        scoring = measure = lambda y, f: float(np.abs((y - f) - (y - f).mean()).max())
    search = MLSRRankerCV(KERNELS, ratios=[0.5, 2.0], lams=[1e-3, 1e-1], cv=cv, scoring=scoring).fit(X, Y)
    results = search.cv_results_
    assert len(results["score"]) == 2 * (3 + 3 * 2)
    splits = list((KFold(cv) if isinstance(cv, int) else cv).split(X))
    for chosen, weights, lam, score in zip(*results.values(), strict=True):
        model = MLSRRanker([KERNELS[t] for t in chosen], weights, lam)
        expected = [measure(Y[test], model.fit(X[train], Y[train]).predict(X[test])) for train, test in splits]
        assert score == pytest.approx(np.mean(expected), rel=1e-6, abs=1e-12)
    assert search.best_score_ == min(results["score"])
    again = MLSRRanker(
        [KERNELS[t] for t in search.best_params_["kernels"]], search.best_params_["weights"], search.best_params_["lam"]
    ).fit(X, Y)
    np.testing.assert_allclose(search.predict(X), again.predict(X), atol=1e-10)
    assert search.score(X, Y) == again.score(X, Y)


class WithMean(MLSRRanker):
    """Adds the intercept that makes the mean error zero: samples left out alone are compared with each other."""

    def fit(self, X, y):
        super().fit(X, y)
        self.offset_ = np.mean(y) - super().predict(X).mean()
        return self

    def predict(self, X):
        return super().predict(X) + self.offset_


def test_leaving_each_sample_out_alone_is_scored_on_all_of_them():
    search = MLSRRankerCV(KERNELS, n_kernels=1, lams=[1e-2]).fit(X, Y)
    left_out = [cross_val_predict(WithMean([kernel], None, 1e-2), X, Y, cv=LeaveOneOut()) for kernel in KERNELS]
    np.testing.assert_allclose(search.cv_results_["score"], [ranking_error(Y, f) for f in left_out], rtol=1e-9)


def test_samples_matrices_and_groups_give_the_same_choice(tmp_path):
    options = {"lams": [1e-3, 1e-1], "cv": GroupKFold(4)}
    groups = np.arange(30) // 2
    raw = MLSRRankerCV(KERNELS, **options).fit(X, Y, groups=groups)
    arrays = [kernel(X) for kernel in KERNELS]
    for parts in (arrays, [ArrayGram(values) for values in arrays]):
        search = MLSRRankerCV("precomputed", **options).fit(parts, Y, groups=groups)
        assert search.best_params_ == raw.best_params_
        np.testing.assert_allclose(search.predict(parts), raw.predict(X), atol=1e-9)
        with pytest.raises(InputError, match="X holds 2 matrices and there were 3 candidates"):
            search.predict(parts[:2])
    loaded = load_model(save_model(MLSRRankerCV(KERNELS, lams=[0.1]).fit(X, Y), tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(X), MLSRRankerCV(KERNELS, lams=[0.1]).fit(X, Y).predict(X))


def test_the_defaults_are_the_papers_grid():
    search = MLSRRankerCV().fit(X[:12], Y[:12])
    assert len(search.cv_results_["score"]) == 7 * (7 + 21 * 3)
    assert (WIDTHS[0], WIDTHS[-1]) == (1 / 64, 64)
    value = paper_kernel(16.0)([[0.0]], [[2.0]])[0, 0]
    assert value == pytest.approx(np.exp(-4 / 16))
    assert min(search.cv_results_["lam"]) == pytest.approx(1e-5)
    assert max(search.cv_results_["lam"]) == pytest.approx(10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lams": []}, "lams must be positive finite numbers"),
        ({"ratios": [0.0]}, "ratios must be positive finite numbers"),
        ({"n_kernels": 0}, "n_kernels must be a whole number"),
        ({"scoring": "r2"}, "scoring must be one of ranking_error"),
        ({"kernels": []}, "kernels must be 'precomputed' or kernels"),
        ({"kernels": "linear"}, "kernels must be 'precomputed' or kernels"),
        ({"cv": ShuffleSplit(3, test_size=0.3, random_state=0)}, "test sets of cv overlap"),
        ({"cv": ShuffleSplit(3, test_size=3, train_size=5, random_state=0)}, "both its training and its test set"),
        ({"cv": [(np.array([0]), np.arange(1, 30))]}, "fewer than two samples to train on"),
    ],
)
def test_unusable_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        MLSRRankerCV(**({"kernels": KERNELS} | options)).fit(X, Y)


def test_other_mistakes():
    with pytest.raises(InputError, match="got 2 samples"):
        MLSRRankerCV(KERNELS).fit(X[:2], Y[:2])
    with pytest.raises(InputError, match="all targets are"):
        MLSRRankerCV(KERNELS).fit(X, np.ones(30))
    with pytest.raises(InputError, match="unlike sizes"):
        MLSRRankerCV("precomputed").fit([np.eye(3), np.eye(4)], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="not positive semidefinite"):
        MLSRRankerCV("precomputed").fit([np.diag([1.0, -5.0, 1.0])], [1.0, 2.0, 3.0])
    with pytest.raises(MemoryLimitError, match="a search over 3 kernels"):
        MLSRRankerCV(KERNELS, memory_limit=1000).fit(X, Y)
    needed = 8 * 3 * 30**2 + holdout_bytes(30, 30)  # the matrices of all kernels, and the folds
    with pytest.raises(MemoryLimitError, match="a search over 3 kernels"):
        MLSRRankerCV(KERNELS, memory_limit=needed - 1).fit(X, Y)
