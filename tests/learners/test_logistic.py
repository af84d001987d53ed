"""Kernel logistic regression against scikit-learn, and in all containers."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from distkern import (
    ArrayGram,
    Dask,
    Gaussian,
    InputError,
    KernelLogistic,
    MemoryLimitError,
    Serial,
    Threads,
    compute_gram,
    cross_validate_gram,
    load_model,
    open_gram,
    save_model,
)

RNG = np.random.default_rng(2)
M = 90
X = RNG.normal(size=(M, 6))
TWO = np.where(X[:, 0] + RNG.normal(size=M) > 0.5, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + RNG.normal(size=(M, 3)), axis=1)]
LABELS = {"two": TWO, "three": THREE}
K = Gaussian(2.0)(X)
TRAIN, TEST = np.arange(60), np.arange(60, M)
SQUARE, OBLONG = np.ix_(TRAIN, TRAIN), np.ix_(TEST, TRAIN)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return compute_gram(Gaussian(2.0), X, store=tmp_path_factory.mktemp("log") / "g.zarr", tile=17, progress=False)


def by_scikit_learn(lam, y, weights=None, **options):
    total = M if weights is None else weights.sum()
    model = LogisticRegression(C=1 / (lam * total), tol=1e-12, max_iter=10_000, **options)
    return model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("lam", [1e-3, 0.1])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn_on_a_linear_kernel(kind, lam, class_weight, weighted):
    y = LABELS[kind]
    weights = RNG.uniform(0.2, 2.0, M) * (np.arange(M) % 7 > 0) if weighted else None
    if weighted and class_weight:  # scikit-learn's class sizes are sums of weights: give its weights as numbers
        labels, counts = np.unique(y[weights > 0], return_counts=True)
        class_weight = {
            label.item(): (weights > 0).sum() / (len(labels) * count)
            for label, count in zip(labels, counts, strict=True)
        }
    theirs = by_scikit_learn(lam, y, weights, class_weight=class_weight)
    ours = KernelLogistic(lam, class_weight=class_weight, tol=1e-8).fit(X @ X.T, y, weights)
    new = RNG.normal(size=(7, 6))
    np.testing.assert_allclose(ours.predict_proba(new @ X.T), theirs.predict_proba(new), atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(new @ X.T), theirs.decision_function(new), atol=1e-5)
    np.testing.assert_allclose(np.ravel(ours.intercept_), theirs.intercept_, atol=1e-5)
    np.testing.assert_array_equal(ours.predict(new @ X.T), theirs.predict(new))
    np.testing.assert_allclose(ours.dual_coef_.sum(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose(ours.predict_log_proba(new @ X.T), theirs.predict_log_proba(new), atol=1e-5)


def test_the_objective_is_that_of_scikit_learn():
    theirs = by_scikit_learn(0.1, THREE)
    p = theirs.predict_proba(X)[np.arange(M), np.searchsorted(theirs.classes_, THREE)]
    expected = -np.log(p).mean() + 0.05 * (theirs.coef_**2).sum()
    assert KernelLogistic(0.1).fit(X @ X.T, THREE).objective_ == pytest.approx(expected, rel=1e-9)


def test_one_against_the_rest():
    theirs = OneVsRestClassifier(LogisticRegression(C=1 / (0.05 * M), tol=1e-12, max_iter=10_000)).fit(X, THREE)
    ours = KernelLogistic(0.05, multi_class="ovr", tol=1e-8).fit(X @ X.T, THREE)
    np.testing.assert_allclose(ours.decision_function(X @ X.T), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X @ X.T), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
def test_samples_arrays_stores_and_landmarks_give_the_same_probabilities(kind, multi_class, stored, tmp_path):
    y = LABELS[kind]
    model = KernelLogistic(0.01, multi_class=multi_class, tol=1e-9)
    expected = model.fit(K[SQUARE], y[TRAIN]).predict_proba(K[OBLONG])
    assert model.score(K[OBLONG], y[TEST]) > 0.55
    for gram in (stored, ArrayGram(K)):
        np.testing.assert_allclose(model.fit(gram[SQUARE], y[TRAIN]).predict_proba(gram[OBLONG]), expected, atol=1e-6)
    raw = KernelLogistic(0.01, multi_class=multi_class, tol=1e-9, kernel=Gaussian(2.0)).fit(X[TRAIN], y[TRAIN])
    np.testing.assert_allclose(raw.predict_proba(X[TEST]), expected, atol=1e-6)
    loaded = load_model(save_model(raw, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict_proba(X[TEST]), raw.predict_proba(X[TEST]))
    gram = compute_gram(Gaussian(2.0), X, store=tmp_path / "n.zarr", landmarks=15, progress=False)
    near, exact = model.fit(gram, y).predict_proba(gram), model.fit(gram.to_numpy(), y).predict_proba(gram.to_numpy())
    np.testing.assert_allclose(near, exact, atol=1e-6)
    assert model.fit(gram, y).n_passes_ == model.n_iter_ + 1


def test_serial_threads_and_a_cluster_give_the_same_bits(stored, client):
    found = [
        KernelLogistic(0.1).fit(open_gram(stored.path, executor=pool), THREE).dual_coef_
        for pool in (Serial(), Threads(2), Dask(client))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_path_shares_the_passes(stored):
    lams = [0.01, 0.1, 1.0]
    path = KernelLogistic().fit_path(stored, THREE, lams)
    for one, lam in zip(path, lams, strict=True):
        alone = KernelLogistic(lam).fit(stored, THREE)
        assert one.lam == lam
        np.testing.assert_array_equal(one.dual_coef_, alone.dual_coef_)
        np.testing.assert_array_equal(one.predict(stored), alone.predict(stored))
    assert KernelLogistic().fit_path(stored, THREE, []) == []


def test_nested_cross_validation_takes_it():
    found = cross_validate_gram(KernelLogistic(0.01), ArrayGram(K), TWO, C=None, repeats=1)
    assert found.mean("auc") > 0.6


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (KernelLogistic(0.0), TWO, "lam must be a positive"),
        (KernelLogistic(multi_class="ovo"), TWO, "multi_class must be one of multinomial, ovr"),
        (KernelLogistic(class_weight={"yes": 0.0}), TWO, "class_weight must hold positive"),
        (KernelLogistic(), np.ones(M), "got 1 class"),
        (KernelLogistic(), None, "requires y to be passed"),
        (KernelLogistic(memory_limit=1000), TWO, "memory"),
    ],
)
def test_mistakes_are_refused(model, y, message):
    with pytest.raises((InputError, MemoryLimitError), match=message):
        model.fit(K, y)


def test_other_mistakes():
    with pytest.raises(InputError, match="not positive semidefinite"):
        KernelLogistic().fit(-K, TWO)
    with pytest.warns(ConvergenceWarning, match="KernelLogistic stopped after 1 Newton steps") as caught:
        KernelLogistic(1e-6, max_iter=1).fit(K, TWO)
    assert caught[0].filename == __file__
