"""KernelSVC against scikit-learn's SVC, and what it reads of a lazy Gram matrix."""

import tracemalloc

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from distkern.core.errors import InputError, InputTypeError, MemoryLimitError, SampleError
from distkern.core.rankings import Rankings
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners import checks, svm
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.matrix import base as matrix_base
from distkern.matrix.array import ArrayGram


class CountingGram(ArrayGram):
    """Remembers every block and every product that was asked of it."""

    def __init__(self, values, **options):
        super().__init__(values, **options)
        self.blocks, self.products = [], 0

    def _block(self, rows, cols):
        self.blocks.append((rows, cols))
        return super()._block(rows, cols)

    def _product(self, V, rows=None, cols=None):
        self.products += rows is None
        return super()._product(V, rows, cols)


def cohort(classes=2, count=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % classes
    X = rng.normal(size=(count, 6))
    X[np.arange(count), y] += 1.2
    return X, np.array(["alpha", "beta", "gamma", "delta"])[y]


# Equal to scikit-learn -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("options", [{}, {"C": 0.05}, {"C": 100.0, "class_weight": "balanced"}])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(classes, options, weighted):
    X, y = cohort(classes)
    train, test = np.arange(0, 40), np.arange(40, 60)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 40) if weighted else None
    K = Gaussian(sigma=2.0)(X)
    theirs = SVC(kernel="precomputed", **options).fit(K[np.ix_(train, train)], y[train], weights)
    block = K[np.ix_(test, train)]
    gram = ArrayGram(K)
    for model, new in (
        (KernelSVC(**options).fit(K[np.ix_(train, train)], y[train], weights), block),
        (KernelSVC(**options).fit(gram[np.ix_(train, train)], y[train], weights), gram[np.ix_(test, train)]),
        (KernelSVC(kernel=Gaussian(sigma=2.0), **options).fit(X[train], y[train], weights), X[test]),
    ):
        np.testing.assert_allclose(model.decision_function(new), theirs.decision_function(block), atol=1e-10)
        np.testing.assert_array_equal(model.predict(new), theirs.predict(block))
        for name in ("classes_", "support_", "n_support_", "n_iter_", "class_weight_", "fit_status_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(theirs, name))
        np.testing.assert_allclose(model.dual_coef_, theirs.dual_coef_, atol=1e-10)
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-10)
        assert model.score(new, y[test]) == theirs.score(block, y[test])


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_equal_scores_are_decided_as_scikit_learn_does(classes):
    """All kernel values zero: every pair's score is its intercept, every vote a tie or a sweep."""
    y = np.arange(12) % classes
    K, block = np.eye(12), np.zeros((3, 12))
    theirs = SVC(kernel="precomputed").fit(K, y)
    ours = KernelSVC().fit(K, y)
    for new in (block, K):
        np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
        np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-10)


def test_exact_ties_of_votes_and_scores():
    ours, theirs = KernelSVC(), SVC(kernel="precomputed")
    K, y = np.eye(9), np.repeat([0, 1, 2], 3)
    for model in (ours, theirs):
        model.fit(K, y)
    ours.intercept_[:] = 0.0
    theirs._intercept_[:] = 0.0  # the fitted state that its predictions use
    np.testing.assert_array_equal(ours.predict(np.zeros((2, 9))), theirs.predict(np.zeros((2, 9))))
    np.testing.assert_array_equal(ours.decision_function(np.zeros((2, 9))), theirs.decision_function(np.zeros((2, 9))))


def test_objective_of_a_problem_solved_by_hand():
    """x = ∓1 with the linear kernel: α = ½ each, f(x) = x, objective ½ · 1 − 1 = −½."""
    samples = np.array([-1.0, 1.0])
    model = KernelSVC(C=10.0, tol=1e-10).fit(np.outer(samples, samples), [0, 1])
    np.testing.assert_allclose(model.dual_coef_, [[-0.5, 0.5]], atol=1e-9)
    assert model.objective_ == pytest.approx(-0.5, abs=1e-9)
    np.testing.assert_allclose(model.decision_function(np.outer([0.0, 3.0], samples)), [0.0, 3.0], atol=1e-8)


def test_objective_of_each_pair():
    X, y = cohort(3)
    model = KernelSVC(tol=1e-8).fit(X @ X.T, y)
    pairs = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        part = X[np.isin(y, model.classes_[[first, second]])]
        pairs.append(KernelSVC(tol=1e-8).fit(part @ part.T, y[np.isin(y, model.classes_[[first, second]])]).objective_)
    np.testing.assert_allclose(model.objective_, pairs, rtol=1e-6)


def test_weight_zero_counts_as_absent():
    """scikit-learn's own SVC numbers its support vectors wrong here (scikit-learn pull request 27763)."""
    X, y = cohort(3)
    weights = np.random.default_rng(2).integers(0, 3, len(X))
    K = X @ X.T
    weighted = KernelSVC(tol=1e-10).fit(K, y, weights)
    repeated = np.repeat(np.arange(len(X)), weights)
    model = KernelSVC(tol=1e-10).fit(K[np.ix_(repeated, repeated)], y[repeated])
    np.testing.assert_allclose(weighted.decision_function(K), model.decision_function(K[:, repeated]), atol=1e-6)
    assert (weights[weighted.support_] > 0).all()
    np.testing.assert_array_equal(
        KernelSVC(C=2.0).fit(K, y).dual_coef_, KernelSVC().fit(K, y, sample_weight=2.0).dual_coef_
    )
    raw = KernelSVC(kernel=Linear(), tol=1e-10).fit(X, y, weights)
    np.testing.assert_allclose(raw.decision_function(X), weighted.decision_function(K), atol=1e-6)


# What it reads -------------------------------------------------------------------------------------------------------


def test_predicting_reads_only_support_columns_in_bounded_blocks(monkeypatch):
    X, y = cohort()
    gram = CountingGram(X @ X.T)
    train, test = np.arange(0, 40), np.arange(40, 60)
    model = KernelSVC(C=0.1).fit(gram[np.ix_(train, train)], y[train])
    monkeypatch.setattr(matrix_base, "PASS_BYTES", 7 * 8 * len(model.support_))
    gram.blocks.clear()
    whole = SVC(C=0.1, kernel="precomputed").fit((X @ X.T)[:40, :40], y[train]).decision_function((X @ X.T)[40:, :40])
    np.testing.assert_allclose(model.decision_function(gram[np.ix_(test, train)]), whole, atol=1e-10)
    assert [len(rows) for rows, _ in gram.blocks] == [7, 7, 6]
    assert all(np.array_equal(cols, train[model.support_]) for _, cols in gram.blocks)
    assert gram.products == 0


def test_cross_validation_stays_lazy_and_equals_the_array():
    X, y = cohort(count=50)
    K = Kendall("b")(X)
    gram = CountingGram(K)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    lazy = cross_val_score(make_pipeline(KernelStandardizer(), KernelSVC()), gram, y, cv=folds)
    plain = cross_val_score(make_pipeline(KernelStandardizer(diagonal=1.0), KernelSVC()), K, y, cv=folds)
    np.testing.assert_array_equal(lazy, plain)
    splits = list(folds.split(X, y))
    for rows, cols in gram.blocks:  # a large part is read by passes over the tiles of the whole
        assert len(rows) == len(cols) == 50 or any(
            set(cols) <= set(train) and set(rows) <= {*train, *test} for train, test in splits
        )
    assert gram.products == 5  # a pass for the means of each training part; those of test parts come from blocks


def test_grid_search_on_a_gram_equals_the_array():
    X, y = cohort(classes=3, count=45)
    K = Kendall("b")(X)
    grid = {"kernelsvc__C": [0.1, 1.0, 10.0]}
    lazy = GridSearchCV(make_pipeline(KernelStandardizer(), KernelSVC()), grid, cv=3).fit(ArrayGram(K), y)
    plain = GridSearchCV(make_pipeline(KernelStandardizer(diagonal=1.0), KernelSVC()), grid, cv=3).fit(K, y)
    np.testing.assert_array_equal(lazy.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(lazy.predict(ArrayGram(K)), plain.predict(K))


def test_raw_prediction_in_blocks(monkeypatch):
    X, y = cohort()
    model = KernelSVC(kernel=Kendall()).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr(svm, "row_blocks", lambda rows, cols: (slice(i, min(i + 9, rows)) for i in range(0, rows, 9)))
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)
    with pytest.raises(SampleError, match="sample '11'"):
        model.predict(np.where(np.arange(60)[:, None] == 11, np.nan, X))


# Input ---------------------------------------------------------------------------------------------------------------


def test_raw_samples_in_other_containers():
    X, y = cohort()
    expected = KernelSVC(kernel=Linear()).fit(X, y).decision_function(X)
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(60)], columns=list("abcdef"))
    model = KernelSVC(kernel=Linear()).fit(frame, pd.Series(y, dtype="category"))
    np.testing.assert_allclose(model.decision_function(frame), expected, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(csr_array(X)), expected, atol=1e-10)
    np.testing.assert_allclose(KernelSVC(kernel=Linear()).fit(X.tolist(), y).decision_function(X), expected, atol=1e-10)
    with pytest.raises(InputError, match="feature names"):
        model.predict(frame[list("fedcba")])
    with pytest.raises(InputError, match="3 features, but KernelSVC is expecting 6"):
        model.predict(csr_array(X[:, :3]))


def test_wrong_width_at_predict_of_case_9():
    model = KernelSVC().fit(np.eye(6), [0, 1] * 3)
    for wrong in (np.ones((1, 1)), np.ones((2, 5)), ArrayGram(np.ones((1, 7)))):
        with pytest.raises(InputError, match="expecting 6 features"):
            model.predict(wrong)


@pytest.mark.parametrize("wrap", [np.asarray, ArrayGram])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.arange(16.0).reshape(4, 4), "not symmetric"),
        (np.where(np.eye(4) == 1, np.nan, 0.0), "NaN"),
        (np.where(np.eye(4) == 1, np.inf, 0.0), "inf"),
    ],
)
def test_unfit_matrices_are_refused(wrap, matrix, message):
    with pytest.raises(InputError, match=message):
        KernelSVC().fit(wrap(matrix), [0, 1] * (len(matrix) // 2))


def test_a_lazy_view_with_values_that_are_not_finite_is_refused():
    gram = ArrayGram(np.eye(4))
    model = KernelSVC().fit(gram, [0, 1, 0, 1])
    gram._values[0, 0] = np.nan
    with pytest.raises(InputError, match="finite"):
        KernelSVC().fit(gram, [0, 1, 0, 1])
    with pytest.raises(InputError, match="finite"):
        model.predict(gram)


def test_a_gram_of_different_rows_and_columns_cannot_train():
    with pytest.raises(InputError, match="same samples"):
        KernelSVC().fit(ArrayGram(np.eye(4))[np.ix_([0, 1, 2, 3], [3, 2, 1, 0])], [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 1, 1, 1], "got 1 class, 1"),
        (["a", "b", None, "a"], "sample 2 is missing"),
        ([0.0, 1.0, 0.0, np.nan], "sample 3 is missing"),
        (pd.Series(["a", pd.NA, "b", "a"], dtype="object"), "sample 1 is missing"),
        ([0.5, 1.25, 2.5, 0.1], "continuous"),
        ([0, 1, 0], "4 samples"),
        (None, "requires y"),
    ],
)
def test_unfit_labels_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        KernelSVC().fit(np.eye(4), labels)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0, 0, 0, 0], "weight is zero"),
        ([1, 0, 1, 0], "1 class"),
        ([1, -1, 1, 1], "negative"),
        ([1, np.nan, 1, 1], "finite"),
        ([1, 1], "4 samples"),
    ],
)
def test_unfit_weights_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        KernelSVC().fit(np.eye(4), [0, 1, 0, 1], weights)


def test_unfit_parameters_are_refused():
    for C in (0, -1.0, np.inf, "1"):
        with pytest.raises(InputError, match="C must be"):
            KernelSVC(C=C).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(InputError, match="tol"):
        KernelSVC(tol=-1.0).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(InputError, match="kernel must be"):
        KernelSVC(kernel="rbf").fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(InputTypeError, match="takes samples"):
        KernelSVC(kernel=Linear()).fit(ArrayGram(np.eye(4)), [0, 1, 0, 1])


def test_memory_is_refused_before_anything_is_read():
    gram = CountingGram(np.eye(20))
    with pytest.raises(MemoryLimitError, match=r"53,184 bytes .* 1,000 are allowed"):
        KernelSVC(memory_limit="1kB").fit(gram, [0, 1] * 10)
    assert gram.blocks == []
    with pytest.raises(MemoryLimitError, match="training on 20 samples"):
        KernelSVC(kernel=Linear(), memory_limit=4000).fit(np.eye(20), [0, 1] * 10)
    KernelSVC(memory_limit=53184).fit(gram, [0, 1] * 10)


CASES = {
    "array": lambda K: K,
    "Fortran order": np.asfortranarray,
    "Gram": ArrayGram,
    "view": lambda K: ArrayGram(K).centered().unit_norm(),
    "slice": lambda K: ArrayGram(K)[np.ix_(np.arange(1200), np.arange(1200))].centered().unit_norm(),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_training_keeps_its_promise_of_memory(monkeypatch, case, weighted):
    """What NumPy holds at most and the solver's cache of single-precision rows fit into what was asked for."""
    X, y = cohort(3, 1500)
    K = CASES[case](X @ X.T)
    weights = np.arange(len(K)) % 5 > 0 if weighted else np.ones(len(K), dtype=bool)
    asked = []
    monkeypatch.setattr(svm, "require_memory", lambda needed, limit, what: asked.append(needed))
    tracemalloc.start()
    try:
        KernelSVC().fit(K, y[: len(K)], weights)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    kept = int(weights.sum())
    cache = min(200 * 2**20, 4 * kept**2)
    assert peak + cache <= asked[0]
    assert asked[0] <= 8 * len(K) ** 2 * (4 if isinstance(K, np.ndarray) else 10)


def test_the_objective_is_summed_in_blocks(monkeypatch):
    X, y = cohort(3)
    K = X @ X.T
    whole = KernelSVC().fit(K, y)
    blocks = []

    def seven(rows, cols):
        for start in range(0, rows, 7):
            blocks.append((min(start + 7, rows) - start, cols))
            yield slice(start, min(start + 7, rows))

    monkeypatch.setattr(svm, "row_blocks", seven)
    np.testing.assert_allclose(KernelSVC().fit(K, y).objective_, whole.objective_, rtol=1e-12)
    support = len(whole.support_)
    assert [height for height, _ in blocks] == [7] * (support // 7) + [support % 7] * (support % 7 > 0)
    assert {width for _, width in blocks} == {support}


def test_the_memory_of_a_container_is_what_counts(monkeypatch):
    monkeypatch.setattr(checks, "available_memory", lambda: 2000)
    with pytest.raises(MemoryLimitError, match=r"1,000 are allowed \(50% of the memory available now\)"):
        KernelSVC().fit(np.eye(20), [0, 1] * 10)


# The training samples again ------------------------------------------------------------------------------------------


def named(K, ids):
    return ArrayGram(K, row_ids=ids)


@pytest.mark.parametrize("model", [KernelSVC(), make_pipeline(KernelStandardizer(), KernelSVC())])
def test_columns_that_are_other_samples_are_refused(model):
    X, y = cohort(count=40)
    gram = named(Kendall("b")(X), [f"p{i}" for i in range(40)])
    train = np.arange(40) % 4 < 2
    train, test = np.flatnonzero(train), np.flatnonzero(~train)
    model.fit(gram[np.ix_(train, train)], y[train])
    model.predict(gram[np.ix_(test, train)])
    for other in (gram[np.ix_(test, test)], gram[np.ix_(test, train[::-1])], gram[np.ix_(train, test)]):
        with pytest.raises(InputError, match=r"number 0 is 'p\d+', not 'p0'; give kernel values with the training"):
            model.predict(other)
    values = Kendall("b")(X[test], X[train])  # its columns have no names
    model.predict(ArrayGram(values, row_diag=np.ones(20), col_diag=np.ones(20)))


@pytest.mark.parametrize("train", [np.arange(20), np.arange(20, 40)])
def test_numbered_samples_of_another_square_are_refused(train):
    X, y = cohort(count=40)
    gram = ArrayGram(Kendall("b")(X))
    test = np.setdiff1d(np.arange(40), train)
    model = KernelSVC().fit(gram[np.ix_(train, train)], y[train])
    model.predict(gram[np.ix_(test, train)])
    with pytest.raises(InputError, match="are not the samples that the model was fitted on"):
        model.predict(gram[np.ix_(test, test)])
    again = ArrayGram(Kendall("b")(X[test], X[train]), row_diag=np.ones(20), col_diag=np.ones(20))  # numbered anew
    np.testing.assert_array_equal(model.predict(again), model.predict(gram[np.ix_(test, train)]))


def test_a_model_without_names_takes_every_matrix_of_its_width():
    X, y = cohort(count=40)
    gram = named(X @ X.T, [f"p{i}" for i in range(40)])
    model = KernelSVC().fit(gram[:20, :20], y[:20])
    model.fit((X @ X.T)[:20, :20], y[:20])  # an array forgets the names
    model.predict(gram[20:, :20])
    model.predict(gram[20:, 20:])


# The features again --------------------------------------------------------------------------------------------------


def as_anndata(X, names):
    return anndata.AnnData(X, var=pd.DataFrame(index=names), obs=pd.DataFrame(index=[f"s{i}" for i in range(len(X))]))


def as_rankings(X, names):
    return Rankings.from_ranks(X, items=names)


def as_frame(X, names):
    return pd.DataFrame(X, columns=names)


@pytest.mark.parametrize("fitted_on", [as_anndata, as_rankings, as_frame])
@pytest.mark.parametrize("new", [as_anndata, as_rankings, as_frame])
def test_features_in_another_order_are_refused(fitted_on, new):
    X, y = cohort()
    names = list("abcdef")
    model = KernelSVC(kernel=Kendall()).fit(fitted_on(X, names), y)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.predict(new(X, names)), KernelSVC(kernel=Kendall()).fit(X, y).predict(X))
    for wrong in (names[::-1], list("ghijkl")):
        with pytest.raises(InputError, match="feature"):
            model.predict(new(X, wrong))


def test_features_without_names_are_taken_as_they_stand():
    X, y = cohort()
    model = KernelSVC(kernel=Kendall()).fit(as_anndata(X, list("abcdef")), y)
    model.predict(csr_array(X))
    model.predict(as_rankings(X, None))
    model.fit(csr_array(X), y)
    assert not hasattr(model, "feature_names_in_")
    model.predict(as_anndata(X, list("fedcba")))


# Parameters ----------------------------------------------------------------------------------------------------------


def test_grid_search_over_parameters_of_the_kernel():
    X, y = cohort()
    search = GridSearchCV(KernelSVC(kernel=Gaussian(sigma=1.0)), {"kernel__sigma": [0.5, 2.0], "C": [1.0]}, cv=3)
    search.fit(X, y)
    assert search.best_estimator_.kernel_ == Gaussian(sigma=search.best_params_["kernel__sigma"])
    copy = clone(search.best_estimator_)
    assert copy.get_params() == search.best_estimator_.get_params()


def test_the_median_bandwidth_is_settled_on_the_training_samples():
    X, y = cohort()
    model = KernelSVC(kernel=Gaussian("median")).fit(X[:40], y[:40])
    assert model.kernel == Gaussian("median")
    expected = KernelSVC(kernel=model.kernel_).fit(X[:40], y[:40])
    np.testing.assert_array_equal(model.decision_function(X[40:]), expected.decision_function(X[40:]))


def test_fitted_state_is_plain_arrays():
    X, y = cohort(3)
    state = {name: value for name, value in vars(KernelSVC().fit(X @ X.T, y)).items() if name.endswith("_")}
    assert set(state) == {
        *("classes_", "support_", "n_support_", "dual_coef_", "intercept_", "objective_", "class_weight_"),
        *("n_iter_", "fit_status_", "n_features_in_"),
    }
    assert all(isinstance(value, (np.ndarray, int, float)) for value in state.values())
