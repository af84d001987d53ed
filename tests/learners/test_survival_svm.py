"""The survival support vector machine against scikit-survival, and in all containers."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from distkern import (
    ArrayGram,
    Gaussian,
    InputError,
    SurvivalSVM,
    compute_gram,
    concordance_index,
    load_model,
    save_model,
    survival_y,
)

RNG = np.random.default_rng(1)
M = 80
X = RNG.normal(size=(M, 5))
TIME = RNG.permutation(np.arange(1, M + 1)).astype(float) * np.exp(-0.3 * X[:, 0])
EVENT = RNG.random(M) < 0.6
Y = survival_y(TIME, EVENT)
K = Gaussian(2.0)(X)
TRAIN, TEST = np.arange(55), np.arange(55, M)
SQUARE, OBLONG = np.ix_(TRAIN, TRAIN), np.ix_(TEST, TRAIN)


def theirs(lam, ratio, pairs):
    """Parameters of scikit-survival for the same minimum."""
    ranked, fitted = ratio / (lam * pairs), (1 - ratio) / (lam * M)
    return {"alpha": ranked + fitted, "rank_ratio": ranked / (ranked + fitted), "fit_intercept": ratio < 1}


@pytest.mark.filterwarnings("ignore:Optimization did not converge")  # theirs, at its last digits
@pytest.mark.parametrize("ratio", [1.0, 0.6, 0.0])
@pytest.mark.parametrize("lam", [0.01, 0.3])
def test_equals_scikit_survival_on_a_linear_kernel(ratio, lam):
    svm = pytest.importorskip("sksurv.svm")
    ours = SurvivalSVM(lam, ratio, tol=1e-7).fit(X @ X.T, Y)
    pairs = sum(int((TIME > t).sum()) for t, e in zip(TIME, EVENT, strict=True) if e)
    assert ours.n_pairs_ == (pairs if ratio else 0)
    other = svm.FastSurvivalSVM(**theirs(lam, ratio, pairs), tol=1e-12, max_iter=2000, random_state=0).fit(X, Y)
    expected = -other.coef_  # their function grows with the time
    np.testing.assert_allclose(X.T @ ours.dual_coef_, expected, atol=2e-4 * np.abs(expected).max())
    assert ours.intercept_ == pytest.approx(getattr(other, "intercept_", 0.0), abs=1e-3)


@pytest.mark.filterwarnings("ignore:Optimization did not converge")
def test_equals_scikit_survival_on_a_kernel():
    svm = pytest.importorskip("sksurv.svm")
    ours = SurvivalSVM(0.05, tol=1e-7).fit(K, Y)
    options = theirs(0.05, 1.0, ours.n_pairs_)
    other = svm.FastKernelSurvivalSVM(**options, kernel="precomputed", tol=1e-12, max_iter=2000, random_state=0)
    np.testing.assert_allclose(ours.predict(K), other.fit(K, Y).predict(K), atol=1e-3)


@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.0])
def test_samples_arrays_stores_and_landmarks_give_the_same_risks(ratio, tmp_path):
    stored = compute_gram(Gaussian(2.0), X, store=tmp_path / "g.zarr", tile=17, progress=False)
    model = SurvivalSVM(0.01, ratio, tol=1e-7)
    expected = model.fit(K[SQUARE], Y[TRAIN]).predict(K[OBLONG])
    assert concordance_index(TIME[TRAIN], EVENT[TRAIN], model.predict(K[SQUARE])) > 0.75
    assert model.score(K[SQUARE], Y[TRAIN]) > 0.75
    for gram in (stored, ArrayGram(K)):
        np.testing.assert_allclose(model.fit(gram[SQUARE], Y[TRAIN]).predict(gram[OBLONG]), expected, atol=1e-5)
    raw = SurvivalSVM(0.01, ratio, tol=1e-7, kernel=Gaussian(2.0)).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(raw.predict(X[TEST]), expected, atol=1e-5)
    loaded = load_model(save_model(raw, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(X[TEST]), raw.predict(X[TEST]))
    gram = compute_gram(Gaussian(2.0), X, store=tmp_path / "n.zarr", landmarks=15, progress=False)
    near, exact = model.fit(gram, Y).predict(gram), model.fit(gram.to_numpy(), Y).predict(gram.to_numpy())
    np.testing.assert_allclose(near, exact, atol=1e-5)


def test_times_are_predicted_if_they_were_fitted():
    model = SurvivalSVM(1e-3, 0.3).fit(K, Y)
    found = model.predict_time(K)
    np.testing.assert_allclose(np.log(found), model.intercept_ - model.predict(K))
    assert np.corrcoef(np.log(found[EVENT]), np.log(TIME[EVENT]))[0, 1] > 0.5
    assert not hasattr(SurvivalSVM(), "predict_time")


def test_a_path_shares_the_passes():
    path = SurvivalSVM().fit_path(ArrayGram(K), Y, [0.01, 1.0])
    for one, lam in zip(path, (0.01, 1.0), strict=True):
        np.testing.assert_array_equal(one.dual_coef_, SurvivalSVM(lam).fit(ArrayGram(K), Y).dual_coef_)
        assert one.n_pairs_ > 0


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (SurvivalSVM(-1.0), Y, "lam must be a positive"),
        (SurvivalSVM(rank_ratio=1.5), Y, "rank_ratio must be a fraction"),
        (SurvivalSVM(), TIME, "y must be a structured array"),
        (SurvivalSVM(), survival_y(TIME, np.zeros(M)), "there is no event"),
        (SurvivalSVM(rank_ratio=0.0), survival_y(TIME, np.zeros(M)), "there is no event"),
        (SurvivalSVM(), survival_y(TIME, TIME == TIME.max()), "there is no comparable pair among 80 samples"),
        (SurvivalSVM(rank_ratio=0.5), survival_y(TIME * (np.arange(M) != 3), EVENT), "the time of sample 3 is 0"),
    ],
)
def test_mistakes_are_refused(model, y, message):
    with pytest.raises(InputError, match=message):
        model.fit(K, y)


def test_an_early_stop_is_reported():
    with pytest.warns(ConvergenceWarning, match="SurvivalSVM stopped after 1 Newton steps"):
        SurvivalSVM(1e-4, max_iter=1).fit(K, Y)
