"""The Cox model against published software and reference values."""

import naive
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from distkern import (
    ArrayGram,
    Dask,
    Gaussian,
    InputError,
    Kendall,
    KernelCox,
    MemoryLimitError,
    Serial,
    Threads,
    compute_gram,
    concordance_index,
    datasets,
    load_model,
    open_gram,
    save_model,
    survival_y,
)

RNG = np.random.default_rng(0)
M = 90
X = RNG.normal(size=(M, 6))
TIME = np.round(RNG.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1])) * 20) / 2 + 0.5
EVENT = RNG.random(M) < 0.7
Y = survival_y(TIME, EVENT)
STRATA = np.array(["left", "right"])[np.arange(M) % 2]
TRAIN, TEST = np.arange(60), np.arange(60, M)
SQUARE, OBLONG = np.ix_(TRAIN, TRAIN), np.ix_(TEST, TRAIN)
K = Gaussian(2.0)(X)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return compute_gram(Gaussian(2.0), X, store=tmp_path_factory.mktemp("cox") / "g.zarr", tile=17, progress=False)


# Other software ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_equals_scikit_survival_on_a_linear_kernel(ties, lam):
    linear_model = pytest.importorskip("sksurv.linear_model")
    theirs = linear_model.CoxPHSurvivalAnalysis(alpha=lam * M, ties=ties, tol=1e-14, n_iter=200).fit(X, Y)
    ours = KernelCox(lam, ties=ties, tol=1e-10).fit(X @ X.T, Y)
    np.testing.assert_allclose(X.T @ ours.dual_coef_, theirs.coef_, atol=1e-7)
    new = RNG.normal(size=(5, 6))
    np.testing.assert_allclose(ours.predict(new @ X.T), theirs.predict(new), atol=1e-6)
    times = np.unique(TIME)
    np.testing.assert_array_equal(ours.baseline_times_, times)
    expected = np.stack([curve(times) for curve in theirs.predict_survival_function(new)])
    np.testing.assert_allclose(ours.predict_survival_function(new @ X.T, times), expected, atol=1e-6)
    np.testing.assert_allclose(ours.baseline_hazard_, theirs.cum_baseline_hazard_.y, rtol=1e-6)
    assert ours.score(X @ X.T, Y) == pytest.approx(theirs.score(X, Y), rel=1e-12)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_with_little_penalty_it_is_the_model_of_statsmodels(ties):
    regression = pytest.importorskip("statsmodels.duration.hazard_regression")
    theirs = regression.PHReg(TIME, X, status=EVENT.astype(int), ties=ties, strata=STRATA).fit()
    ours = KernelCox(1e-9, ties=ties, strata=STRATA, tol=1e-8).fit(X @ X.T, Y)
    np.testing.assert_allclose(X.T @ ours.dual_coef_, theirs.params, atol=1e-5)


REFERENCE = [
    ("nki", "vdx", (146, 53), (150, 47), 0.01, 1.534727, 0.8746, 0.5823),
    ("nki", "vdx", (146, 53), (150, 47), 0.1, 1.631039, 0.7581, 0.5842),
    ("nki", "vdx", (146, 53), (150, 47), 1.0, 1.654134, 0.7360, 0.5859),
    ("vdx", "nki", (150, 47), (146, 53), 0.01, 1.463634, 0.8862, 0.6485),
    ("vdx", "nki", (150, 47), (146, 53), 0.1, 1.505888, 0.7411, 0.6761),
    ("vdx", "nki", (150, 47), (146, 53), 1.0, 1.511306, 0.7108, 0.6805),
]
"""Objective and concordance of models of one breast cancer cohort in both, computed by other code (NumPy, dense)."""


@pytest.fixture(scope="module")
def cohorts():
    """Both cohorts with their common genes: values, times and events of distant metastasis."""
    tables = {name: datasets.load_breast(name) for name in ("nki", "vdx")}
    genes = sorted(set(tables["nki"].var_names) & set(tables["vdx"].var_names))
    found = {}
    for name, table in tables.items():
        values = table[:, genes].to_df()
        known = table.obs["t.dmfs"].notna() & table.obs["e.dmfs"].notna()
        filled = values.fillna(values.median())[known]
        found[name] = filled.to_numpy(), table.obs["t.dmfs"][known].to_numpy(), table.obs["e.dmfs"][known].to_numpy()
    assert len(genes) == 254
    return found


@pytest.mark.parametrize(("train", "test", "size", "test_size", "lam", "objective", "own", "other"), REFERENCE)
def test_reference_values_of_two_cohorts(cohorts, train, test, size, test_size, lam, objective, own, other):
    values, time, event = cohorts[train]
    new, new_time, new_event = cohorts[test]
    assert (len(time), event.sum(), len(new_time), new_event.sum()) == (*size, *test_size)
    model = KernelCox(lam, kernel=Kendall(ties="b")).fit(values, survival_y(time, event))
    assert round(model.objective_, 6) == objective
    assert model.n_iter_ <= 5
    assert round(concordance_index(time, event, model.predict(values)), 4) == own
    assert round(concordance_index(new_time, new_event, model.predict(new)), 4) == other


# Our own containers --------------------------------------------------------------------------------------------------


def test_samples_arrays_and_stores_give_the_same_risks(stored, tmp_path):
    model = KernelCox(0.05, strata=STRATA[TRAIN], ties="efron")
    expected = model.fit(K[SQUARE], Y[TRAIN]).predict(K[OBLONG])
    curves = model.predict_survival_function(K[OBLONG], [1.0, 5.0], STRATA[TEST])
    assert concordance_index(TIME[TEST], EVENT[TEST], expected) > 0.7
    for gram in (stored, ArrayGram(K)):
        np.testing.assert_allclose(model.fit(gram[SQUARE], Y[TRAIN]).predict(gram[OBLONG]), expected, atol=1e-6)
    raw = KernelCox(0.05, strata=STRATA[TRAIN], ties="efron", kernel=Gaussian(2.0)).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(raw.predict(X[TEST]), expected, atol=1e-6)
    loaded = load_model(save_model(raw, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(X[TEST]), raw.predict(X[TEST]))
    found = loaded.predict_survival_function(X[TEST], [1.0, 5.0], STRATA[TEST])
    np.testing.assert_allclose(found, curves, atol=1e-6)


def test_serial_threads_and_a_cluster_give_the_same_bits(stored, client):
    found = [
        KernelCox(0.1).fit(open_gram(stored.path, executor=pool), Y).dual_coef_
        for pool in (Serial(), Threads(2), Dask(client))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_nystrom_approximation_is_solved_by_small_hessians(tmp_path):
    gram = compute_gram(Gaussian(2.0), X, store=tmp_path / "n.zarr", landmarks=20, progress=False)
    expected = KernelCox(0.02, tol=1e-9).fit(gram.to_numpy(), Y)
    found = KernelCox(0.02, tol=1e-9).fit(gram, Y)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_allclose(found.predict(gram), expected.predict(gram.to_numpy()), atol=1e-6)
    assert found.n_passes_ == found.n_iter_ + 1


def test_a_path_shares_the_passes(stored):
    lams = [0.01, 0.1, 1.0]
    path = KernelCox(tol=1e-9).fit_path(stored, Y, lams)
    alone = [KernelCox(lam, tol=1e-9).fit(stored, Y) for lam in lams]
    for one, other, lam in zip(path, alone, lams, strict=True):
        assert one.lam == lam
        np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
        np.testing.assert_array_equal(one.baseline_hazard_, other.baseline_hazard_)
        np.testing.assert_array_equal(one.predict(stored), other.predict(stored))
    assert path[0].bytes_read_ == alone[0].bytes_read_


def test_a_path_forgets_an_earlier_fit():
    model = KernelCox(0.1, strata=STRATA).fit(K, Y).set_params(strata=None)
    for one in model.fit_path(K, Y, [0.1, 1.0]):
        assert not hasattr(one, "baseline_strata_")
        assert one.predict_survival_function(K[:1], [1.0]).shape == (1, 1)
    assert model.lam == 0.1
    with pytest.raises(InputError, match="lam must be a positive"):
        model.fit_path(K, Y, [0.0])


# Strata --------------------------------------------------------------------------------------------------------------


def test_strata_have_their_own_risk_sets_and_baselines():
    model = KernelCox(0.1, strata=STRATA, tol=1e-10).fit(K, Y)
    f = K @ model.dual_coef_
    expected = naive.cox_loss(TIME, EVENT, f, "breslow", STRATA) + 0.05 * model.dual_coef_ @ f
    assert model.objective_ == pytest.approx(expected, rel=1e-12)
    for label in ("left", "right"):
        own = STRATA == label
        assert abs(model.dual_coef_[own].sum()) < 1e-7
        hazard = model.baseline_hazard_[model.baseline_strata_ == label]
        times = model.baseline_times_[model.baseline_strata_ == label]
        at = times[3]
        terms = [
            1 / np.exp(f[own & (TIME >= t)]).sum() for t, e in zip(TIME[own], EVENT[own], strict=True) if e and t <= at
        ]
        assert hazard[3] == pytest.approx(sum(terms), rel=1e-9)
        curve = model.predict_survival_function(K[:1], [at], [label])
        assert curve[0, 0] == pytest.approx(np.exp(-sum(terms) * np.exp(f[0])), rel=1e-9)
    shifted = survival_y(TIME + 1000.0 * (STRATA == "left"), EVENT)
    np.testing.assert_array_equal(KernelCox(0.1, tol=1e-10).fit(K, shifted, strata=STRATA).dual_coef_, model.dual_coef_)
    assert model.score(K, Y, strata=STRATA) == concordance_index(TIME, EVENT, f, strata=STRATA)
    again = model.set_params(strata=None).fit(K, Y)
    assert not hasattr(again, "baseline_strata_")


def test_scikit_learn_splits_strata_with_the_samples():
    search = GridSearchCV(KernelCox(), {"lam": [0.01, 1.0]}, cv=3).fit(ArrayGram(K), Y, strata=STRATA)
    assert 0.5 < search.best_score_ < 1
    assert set(search.best_estimator_.baseline_strata_) == {"left", "right"}


def test_a_stratum_without_an_event_is_reported():
    strata = np.where(np.arange(M) < 4, "idle", "busy")
    event = EVENT & (strata == "busy")
    with pytest.warns(UserWarning, match=r"1 of 2 strata have no event \('idle'\)"):
        model = KernelCox(0.1, strata=strata).fit(K, survival_y(TIME, event))
    np.testing.assert_array_equal(model.dual_coef_[:4], 0)
    assert model.predict_survival_function(K[:1], [0.5], ["idle"])[0, 0] == 1


# Survival functions --------------------------------------------------------------------------------------------------


def test_survival_functions_are_steps_up_to_the_last_time():
    model = KernelCox(0.1).fit(K, Y)
    last = TIME.max()
    found = model.predict_survival_function(K[:3], [0.0, 1.0, last, last + 1])
    np.testing.assert_array_equal(found[:, 0], 1)
    assert (np.diff(found[:, :3], axis=1) < 0).all()
    assert np.isnan(found[:, 3]).all()


def test_a_baseline_beyond_floating_point_is_reported():
    far = np.hstack([X, np.full((M, 1), 1e3)])
    far[:, 6] += 0.5 * np.log(TIME)
    with pytest.warns(UserWarning, match="the baseline hazard is beyond what float64 holds"):
        model = KernelCox(0.01, tol=1e-4).fit(far @ far.T, Y)
    assert np.isnan(model.predict_survival_function(far[:2] @ far.T, [1.0])).all()
    assert model.score(far @ far.T, Y) > 0.7


# Mistakes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (KernelCox(0.0), Y, "lam must be a positive"),
        (KernelCox(ties="exact"), Y, "ties must be one of breslow, efron"),
        (KernelCox(tol=0.0), Y, "tol must be a positive"),
        (KernelCox(max_iter=0), Y, "max_iter must be a whole number"),
        (KernelCox(), TIME, "y must be a structured array"),
        (KernelCox(), None, "requires y to be passed"),
        (KernelCox(), survival_y(TIME, np.zeros(M)), "there is no event"),
        (KernelCox(), Y[:5], r"got time of shape \(5,\) for 90 samples"),
        (KernelCox(strata=[1, 2]), Y, r"got strata of shape \(2,\) for 90 samples"),
        (KernelCox(), np.array([(True, -1.0)] * M, dtype=Y.dtype), "sample 0 has -1"),
        (KernelCox(memory_limit=1000), Y, "memory"),
    ],
)
def test_mistakes_are_refused(model, y, message):
    with pytest.raises((InputError, MemoryLimitError), match=message):
        model.fit(K, y)


def test_mistakes_in_prediction_are_refused():
    plain, split = KernelCox(0.1).fit(K, Y), KernelCox(0.1, strata=STRATA).fit(K, Y)
    with pytest.raises(InputError, match="fitted without strata"):
        plain.predict_survival_function(K[:1], [1.0], ["left"])
    with pytest.raises(InputError, match="fitted with strata"):
        split.predict_survival_function(K[:1], [1.0])
    with pytest.raises(
        InputError, match="the stratum 'middle' has no baseline: the model was fitted on 'left', 'right'"
    ):
        split.predict_survival_function(K[:2], [1.0], ["left", "middle"])
    with pytest.raises(InputError, match="times must be numbers of 0 or more"):
        plain.predict_survival_function(K[:1], [-1.0])
    with pytest.raises(InputError, match="not positive semidefinite"):
        KernelCox().fit(-K, Y)
    with pytest.warns(ConvergenceWarning, match="KernelCox stopped after 1 Newton steps") as caught:
        KernelCox(1e-3, max_iter=1).fit(K, Y)
    assert caught[0].filename == __file__


def test_names_of_samples_decide(tmp_path):
    names = [f"s{k}" for k in range(M)]
    gram = ArrayGram(K, row_ids=names)
    y = pd.DataFrame({"dead": EVENT, "days": TIME}, index=names)
    np.testing.assert_array_equal(KernelCox().fit(gram, y).dual_coef_, KernelCox().fit(gram, Y).dual_coef_)
    with pytest.raises(InputError, match="in another order"):
        KernelCox().fit(gram, y[::-1])
    with pytest.raises(InputError, match="strata has the samples of the matrix in another order"):
        KernelCox().fit(gram, Y, strata=pd.Series(STRATA, index=names[::-1]))
