"""RankSVM and the stochastic baseline as estimators."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from distkern import (
    ArrayGram,
    Dask,
    Gaussian,
    InputError,
    LSRRanker,
    MemoryLimitError,
    RankSVM,
    Serial,
    SGDRanker,
    Threads,
    compute_gram,
    load_model,
    open_gram,
    ranking_error,
    save_model,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.05 * RNG.normal(size=60)
K = Gaussian(2.0)(X)
TRAIN, TEST = np.arange(45), np.arange(45, 60)
SQUARE, OBLONG = np.ix_(TRAIN, TRAIN), np.ix_(TEST, TRAIN)
MODELS = [RankSVM(30.0), RankSVM(30.0, loss="squared_hinge"), SGDRanker(1e-3, random_state=0)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return compute_gram(Gaussian(2.0), X, store=tmp_path_factory.mktemp("svm") / "g.zarr", tile=17, progress=False)


@pytest.mark.parametrize("model", MODELS, ids=["hinge", "squared", "sgd"])
def test_samples_arrays_and_stores_give_the_same_scores(model, stored, tmp_path):
    expected = model.fit(K[SQUARE], Y[TRAIN]).predict(K[OBLONG])
    assert ranking_error(Y[TEST], expected) < ranking_error(Y[TEST], np.zeros(15)) / 2
    for gram in (stored, ArrayGram(K)):
        np.testing.assert_allclose(model.fit(gram[SQUARE], Y[TRAIN]).predict(gram[OBLONG]), expected, atol=1e-6)
    raw = type(model)(**(model.get_params() | {"kernel": Gaussian(2.0)})).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(raw.predict(X[TEST]), expected, atol=1e-6)
    loaded = load_model(save_model(raw, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(X[TEST]), raw.predict(X[TEST]))
    assert cross_val_score(model, ArrayGram(K), Y, cv=3).mean() < 0


def test_serial_threads_and_a_cluster_give_the_same_bits(stored, client):
    found = [
        RankSVM(10.0).fit(open_gram(stored.path, executor=pool), Y).dual_coef_
        for pool in (Serial(), Threads(2), Dask(client))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_only_the_order_within_a_group_counts():
    groups = np.arange(60) % 3
    shifted = np.exp(Y) + 100.0 * groups
    first, second = RankSVM(10.0).fit(K, Y, groups=groups), RankSVM(10.0).fit(K, shifted, groups=groups)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert first.n_pairs_ == 3 * 20 * 19 // 2
    assert RankSVM(10.0).fit(K, Y).n_pairs_ == 60 * 59 // 2
    assert first.duality_gap_ <= 1e-3 * first.objective_
    assert RankSVM(10.0, loss="squared_hinge").fit(K, Y).residual_ <= 1e-3


def test_stochastic_gradients_come_near_least_squares():
    exact = LSRRanker(0.05).fit(K, Y)
    near = SGDRanker(0.05, epochs=400, random_state=0).fit(K, Y)
    far = SGDRanker(0.05, epochs=2, random_state=0).fit(K, Y)
    assert exact.objective_ <= near.objective_ < far.objective_
    assert near.objective_ < 1.3 * exact.objective_
    assert np.corrcoef(near.predict(K), exact.predict(K))[0, 1] > 0.99
    assert near.n_iter_ == 400 * 30


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (RankSVM(0.0), Y, "C must be a positive"),
        (RankSVM(loss="logistic"), Y, "loss must be one of hinge, squared_hinge"),
        (RankSVM(max_iter=0), Y, "max_iter must be a whole number"),
        (RankSVM(), np.ones(60), "all targets are 1"),
        (RankSVM(), np.where(np.arange(60) == 7, np.nan, Y), "target of sample 7 is missing"),
        (SGDRanker(0.0), Y, "lam must be a positive"),
        (SGDRanker(power=1.0), Y, "power must be"),
        (SGDRanker(epochs=0), Y, "epochs must be"),
        (SGDRanker(epochs=2**63), Y, "epochs must be at most 2,147,483,647; got 9223372036854775808"),
        (SGDRanker(eta0=-1.0), Y, "eta0 must be a positive"),
        (SGDRanker(), np.ones(60), "all targets are 1"),
    ],
)
def test_targets_that_cannot_be_ranked_are_refused(model, y, message):
    with pytest.raises(InputError, match=message):
        model.fit(K, y)


def test_other_mistakes():
    with pytest.raises(InputError, match=r"got groups of shape \(2,\) for 60 samples"):
        RankSVM().fit(K, Y, groups=[1, 2])
    with pytest.raises(InputError, match="no pair to rank"):
        RankSVM().fit(K, Y, groups=np.arange(60))
    with pytest.raises(InputError, match="not positive semidefinite"):
        RankSVM().fit(-K, Y)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(InputError, match="the scores diverged"):
        SGDRanker(eta0=1e3, power=0.0).fit(K, Y)
    for model in (RankSVM(memory_limit=1000), SGDRanker(memory_limit=1000)):
        with pytest.raises(MemoryLimitError, match="ranking 60 samples"):
            model.fit(ArrayGram(K), Y)
    with pytest.warns(ConvergenceWarning, match="RankSVM stopped after 2 steps") as caught:
        RankSVM(1e4, max_iter=2).fit(K, Y)
    assert caught[0].filename == __file__  # the line of the user
