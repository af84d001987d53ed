"""Cross-validation of learned targets in shared passes: equal to a plain loop of fits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, StratifiedGroupKFold, StratifiedKFold

import distkern as dk
from distkern.core.errors import InputError, InputTypeError
from distkern.learners import suquan_search as module
from distkern.solvers import target_gram

RNG = np.random.default_rng(0)
M, P = 60, 8
X = RNG.normal(size=(M, P)).round(1)
SCORE = X @ RNG.normal(size=P) + RNG.normal(size=M)
Y = np.where(SCORE > 0, "well", "ill")
THREE = np.array(["a", "b", "c"])[np.digitize(SCORE, [-1.5, 1.5])]
GROUPS = RNG.integers(0, 12, M)
WEIGHTS = RNG.integers(0, 3, M).astype(float)
LAMS, GAMMAS = [0.01, 0.3], [0.05, 5.0]


def loop(make, folds, measure, X=X, y=Y, weights=None):
    """Scores of models that are fitted one by one: (folds, lams, gammas)."""
    scores = []
    for train, test in folds:
        row = []
        for lam in LAMS:
            for gamma in GAMMAS:
                own = None if weights is None else weights[train]
                model = make(lam, gamma).fit(X[train], y[train], own)
                row.append(measure(model, X[test], y[test], None if weights is None else weights[test]))
        scores.append(row)
    return np.array(scores).reshape(len(scores), len(LAMS), len(GAMMAS))


def accuracy(model, X, y, weights):
    return model.score(X, y, weights)


def loss(model, X, y, weights):
    return -log_loss(y, model.predict_proba(X), sample_weight=weights, labels=model.classes_)


def area(model, X, y, weights):
    return roc_auc_score(y, model.decision_function(X), sample_weight=weights)


def single(tol=1e-6, **given):
    def make(lam, gamma):
        smooth = {"gamma": gamma} if given.get("constraint", "spav") == "spav" else {}
        return dk.SUQUANClassifier(lam=lam, tol=tol, **smooth, **given)

    return make


def search(tol=1e-6, **given):
    smooth = {"gammas": GAMMAS} if given.get("constraint", "spav") == "spav" else {}
    return dk.SUQUANClassifierCV(lams=LAMS, tol=tol, **smooth, **given)


@pytest.mark.parametrize("constraint", ["spav", "bnd", "ridge", "svd", "fixed"])
def test_scores_equal_a_loop_of_fits(constraint):
    """The target is the median of each training part: one of all samples would give other scores."""
    folds = list(StratifiedKFold(3).split(X, Y))
    expected = loop(single(constraint=constraint), folds, loss)
    found = search(constraint=constraint, cv=3, scoring="neg_log_loss").fit(X, Y)
    shown = expected if constraint == "spav" else expected[:, :, :1]
    np.testing.assert_allclose(found.scores_, shown, atol=1e-4)
    means = shown.mean(axis=0)
    assert found.best_score_ == pytest.approx(means.max(), abs=1e-4)
    best = np.unravel_index(means.argmax(), means.shape)
    assert found.lam_ == LAMS[best[0]]
    assert found.gamma_ == (GAMMAS[best[1]] if constraint == "spav" else None)
    alone = single(constraint=constraint)(found.lam_, found.gamma_).fit(X, Y)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    np.testing.assert_array_equal(found.target_, alone.target_)
    np.testing.assert_array_equal(found.predict_proba(X), alone.predict_proba(X))
    assert found.n_passes_ > alone.n_passes_


def test_a_learned_target_sees_no_held_out_sample():
    other = X.copy()
    train, test = next(StratifiedKFold(3).split(X, Y))
    other[test] = np.exp(3 * X[test])  # the same ranks: only the values, which the target of this fold must not see
    one, two = (
        search(constraint="fixed", cv=[(train, test)], scoring="neg_log_loss").fit(samples, Y) for samples in (X, other)
    )
    np.testing.assert_array_equal(one.scores_, two.scores_)
    assert not np.allclose(one.target_, two.target_)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_weights_and_weights_of_classes_equal_a_loop_of_fits(weights):
    folds = list(StratifiedKFold(3).split(X, Y))
    given = {"class_weight": "balanced", "target": "normal", "ties": "mid"}
    expected = loop(single(**given), folds, loss, weights=weights)
    found = search(cv=folds, scoring="neg_log_loss", **given).fit(X, Y, weights)
    np.testing.assert_allclose(found.scores_, expected, atol=1e-4)


@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
def test_several_classes_equal_a_loop_of_fits(name):
    folds = list(StratifiedKFold(3).split(X, THREE))
    expected = loop(single(loss=name, target="uniform"), folds, accuracy, y=THREE)
    found = search(loss=name, target="uniform", cv=3).fit(X, THREE)
    np.testing.assert_allclose(found.scores_, expected)
    assert hasattr(found, "predict_proba") == (name == "logistic")


def test_groups_are_not_split():
    folds = list(StratifiedGroupKFold(3).split(X, Y, GROUPS))
    expected = loop(single(), folds, area)
    found = search(cv=3, scoring="roc_auc").fit(X, Y, groups=GROUPS)
    np.testing.assert_allclose(found.scores_, expected, atol=1e-3)
    named = pd.Series(GROUPS, index=[f"s{i}" for i in range(M)])
    frame = pd.DataFrame(X, index=named.index)
    again = search(cv=GroupKFold(3), scoring="roc_auc").fit(frame, pd.Series(Y, named.index), groups=named)
    assert again.scores_.shape == (3, 2, 2)
    with pytest.raises(InputError, match="groups"):
        search(cv=3).fit(frame, pd.Series(Y, named.index), groups=named[::-1])


def test_missing_values_and_stores_of_ranks(tmp_path, monkeypatch):
    gaps = np.where(RNG.random((M, P)) < 0.1, np.nan, X)
    gaps[:, 0] = X[:, 0]
    given = {"target": "normal", "missing": "interpolate", "cv": 3, "scoring": "neg_log_loss"}
    one = search(**given).fit(gaps, Y)
    expected = loop(single(target="normal", missing="interpolate"), list(StratifiedKFold(3).split(X, Y)), loss, X=gaps)
    np.testing.assert_allclose(one.scores_, expected, atol=1e-4)
    store = dk.RankStore.write(gaps, tmp_path / "ranks", "interpolate")
    monkeypatch.setattr(module, "MOST_COLUMNS", 2)  # some models at a time: the same results in more passes
    two = search(**given).fit(dk.RankStore.open(tmp_path / "ranks"), Y)
    np.testing.assert_array_equal(two.scores_, one.scores_)
    np.testing.assert_array_equal(two.decision_function(store), one.decision_function(gaps))
    assert two.n_passes_ > one.n_passes_
    with pytest.raises(InputError, match="store of ranks has none"):
        search(missing="interpolate").fit(store, Y)


@pytest.mark.parametrize("constraint", ["spav", "svd", "fixed"])
def test_few_samples_give_the_same_on_the_gram_matrix(constraint, monkeypatch):
    wide = RNG.normal(size=(40, 90))
    y = np.where(wide[:, :9].sum(axis=1) > 0, "ill", "well")
    found = []
    for worth in (1000, 0):
        monkeypatch.setattr(target_gram, "WORTH", worth)
        given = {"constraint": constraint, "target": "mean", "cv": 3, "scoring": "neg_log_loss"}
        model = search(**given, tol=1e-7).fit(wide, y)
        regressor = dk.SUQUANRegressor("fixed", lam=0.1, tol=1e-8).fit(wide, wide[:, 0])
        found.append((model, regressor))
    (one, first), (other, second) = found
    np.testing.assert_allclose(one.scores_, other.scores_, atol=1e-4)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3 * np.abs(other.coef_).max())
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-6)
    assert one.n_passes_ < other.n_passes_
    assert first.n_passes_ == 0 < second.n_passes_


def test_passes_are_shared():
    found = search(cv=3, target="normal").fit(X, Y)
    alone = [
        single(target="normal")(lam, gamma).fit(X[train], Y[train]).n_passes_
        for train, _ in StratifiedKFold(3).split(X, Y)
        for lam in LAMS
        for gamma in GAMMAS
    ]
    last = single(target="normal")(found.lam_, found.gamma_).fit(X, Y).n_passes_
    assert found.n_passes_ - last <= 2 * max(alone) < sum(alone) / 3


def test_results_in_a_table():
    found = search(cv=3).fit(X, Y)
    table = pd.DataFrame(found.cv_results_)
    assert table["param_lam"].tolist() == [0.01, 0.01, 0.3, 0.3]
    assert table["param_gamma"].tolist() == [0.05, 5.0, 0.05, 5.0]
    splits = table[[f"split{k}_test_score" for k in range(3)]].to_numpy()
    np.testing.assert_array_equal(splits.T, found.scores_.reshape(3, -1))
    np.testing.assert_allclose(table["mean_test_score"], splits.mean(axis=1))
    np.testing.assert_allclose(table["std_test_score"], splits.std(axis=1))
    np.testing.assert_array_equal(
        table["rank_test_score"], table["mean_test_score"].rank(ascending=False, method="min")
    )


def test_ties_go_to_the_larger_candidates():
    found = search(cv=2, scoring=lambda estimator, X, y: 0.5).fit(X, Y)
    assert (found.lam_, found.gamma_, found.best_score_) == (0.3, 5.0, 0.5)


def test_a_saved_search_predicts_as_before(tmp_path):
    found = search(cv=2, target="normal").fit(X, Y)
    loaded = dk.load_model(dk.save_model(found, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict_proba(X), found.predict_proba(X))
    assert loaded.lam_ == found.lam_


def test_what_is_refused():
    with pytest.raises(InputError, match="trace has no λ"):
        dk.SUQUANClassifierCV("trace").fit(X, Y)
    with pytest.raises(InputError, match="leave them out of bnd"):
        dk.SUQUANClassifierCV("bnd", gammas=[1.0]).fit(X, Y)
    with pytest.raises(InputError, match="lams must be"):
        dk.SUQUANClassifierCV(lams=[0.0]).fit(X, Y)
    with pytest.raises(InputTypeError, match=r"write \[0.1\]"):
        dk.SUQUANClassifierCV(lams=0.1).fit(X, Y)
    with pytest.raises(InputError, match="no λ or no γ"):
        dk.SUQUANClassifierCV(gammas=[]).fit(X, Y)
    with pytest.raises(InputError, match="n_splits=100"):
        dk.SUQUANClassifierCV(cv=100).fit(X, Y)
    with pytest.raises(InputError, match="fold 0 of cv trains on no sample of class 'ill'"):
        search(cv=[(np.flatnonzero(Y == "well"), np.flatnonzero(Y == "ill"))]).fit(X, Y)
    with pytest.raises(InputError, match="fold 0 of cv tests no sample"):
        search(cv=[(np.arange(M), np.array([], dtype=int))]).fit(X, Y)
    with pytest.raises(InputError, match="no split"):
        search(cv=[]).fit(X, Y)
    with pytest.raises(InputError, match="groups"):
        search(cv=LeaveOneGroupOut()).fit(X, Y)
    with pytest.raises(InputError, match=r"scikit-learn knows.*'nonsense'"):
        search(scoring="nonsense").fit(X, Y)
    with pytest.raises(InputError, match="no score"):
        search(cv=2, scoring=lambda estimator, X, y: np.nan).fit(X, Y)
    with pytest.raises(InputError, match="predict_proba"):
        search(cv=2, loss="squared_hinge", scoring="neg_log_loss").fit(X, Y)


@pytest.mark.filterwarnings("ignore:the model has not converged")
def test_models_that_have_not_converged_are_counted():
    with pytest.warns(ConvergenceWarning, match="8 of 8 models of the search have not converged"):
        search(cv=2, max_iter=1).fit(X, Y)
