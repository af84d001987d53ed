"""KernelSVC against scikit-learn's SVC, and what it reads of a lazy Gram matrix."""

import tracemalloc
import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from marks import with_slow
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError, InputTypeError, MemoryLimitError, SampleError
from distkern.core.rankings import Rankings
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners import base, memory
from distkern.learners.multiclass import BinaryProblems, sigmoid
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.operators import base as matrix_base
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.solvers.working_set import vector_bytes


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
    """To the digits of single precision, in which libsvm holds kernel values."""
    X, y = cohort(classes)
    train, test = np.arange(0, 40), np.arange(40, 60)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 40) if weighted else None
    K = Gaussian(sigma=2.0)(X)
    options = {"tol": 1e-8, **options}
    theirs = SVC(kernel="precomputed", **options).fit(K[np.ix_(train, train)], y[train], weights)
    pairs = SVC(kernel="precomputed", decision_function_shape="ovo", **options)
    pairs.fit(K[np.ix_(train, train)], y[train], weights)
    block = K[np.ix_(test, train)]
    gram = ArrayGram(K)
    for model, new in (
        (KernelSVC(**options).fit(K[np.ix_(train, train)], y[train], weights), block),
        (KernelSVC(**options).fit(gram[np.ix_(train, train)], y[train], weights), gram[np.ix_(test, train)]),
        (KernelSVC(kernel=Gaussian(sigma=2.0), **options).fit(X[train], y[train], weights), X[test]),
    ):
        np.testing.assert_allclose(model.decision_function(new), theirs.decision_function(block), atol=2e-6)
        np.testing.assert_array_equal(model.predict(new), theirs.predict(block))
        for name in ("classes_", "support_", "n_support_", "class_weight_", "fit_status_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(theirs, name))
        np.testing.assert_allclose(model.dual_coef_, theirs.dual_coef_, atol=1e-5)
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=2e-6)
        assert model.score(new, y[test]) == theirs.score(block, y[test])
        model.set_params(decision_function_shape="ovo")
        np.testing.assert_allclose(model.decision_function(new), pairs.decision_function(block), atol=2e-6)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_objective_equals_libsvm_at_the_default_tolerance(C):
    X, y = cohort(count=400)
    K = Gaussian(sigma=2.0)(X)
    theirs = SVC(kernel="precomputed", C=C).fit(K, y)
    c = np.zeros(400)
    c[theirs.support_] = theirs.dual_coef_[0]
    ours = KernelSVC(C=C).fit(K, y)
    assert ours.objective_ == pytest.approx(0.5 * c @ K @ c - np.abs(c).sum(), rel=1e-6)
    slack = np.maximum(0, 1 - np.where(y == "beta", 1, -1) * ours.decision_function(K)).sum()
    c[:] = 0
    c[ours.support_] = ours.dual_coef_[0]
    assert ours.duality_gap_ == pytest.approx(0.5 * c @ K @ c + C * slack + ours.objective_, rel=1e-6, abs=1e-9)
    assert 0 <= ours.duality_gap_ <= 1e-3 * C * 400


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


def test_weight_zero_removes_a_sample():
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


# One class against the rest, and probabilities ------------------------------------------------------------------------


def test_one_against_the_rest_equals_scikit_learn():
    X, y = cohort(4, count=120)
    K = Gaussian(sigma=2.0)(X)
    model = KernelSVC(multi_class="ovr", tol=1e-8, C=3.0).fit(K, y)
    expected = np.empty((120, 4))
    for column, label in enumerate(model.classes_):
        one = SVC(kernel="precomputed", tol=1e-8, C=3.0).fit(K, y == label)
        expected[:, column] = one.decision_function(K)
    np.testing.assert_allclose(model.decision_function(K), expected, atol=1e-5)
    np.testing.assert_array_equal(model.predict(K), model.classes_[expected.argmax(axis=1)])
    assert model.dual_coef_.shape == (4, len(model.support_))
    two = KernelSVC(multi_class="ovr").fit(K[:, y < "c"][y < "c"], y[y < "c"])
    assert two.intercept_.shape == (1,)


@pytest.mark.parametrize(
    ("classes", "multi_class"),
    with_slow([(2, "ovo")], [(4, "ovr"), (2, "ovr"), (4, "ovo")]),
)
def test_probabilities_are_calibrated(classes, multi_class):
    """Better than the class frequencies, near those of samples drawn alike, and one for all forms of X."""
    X, y = cohort(classes, count=600)
    kernel = Gaussian(sigma=2.0)
    train, test = np.arange(300), np.arange(300, 600)
    options = {"probability": True, "multi_class": multi_class}
    gram = ArrayGram(kernel(X))
    model = KernelSVC(**options).fit(gram[np.ix_(train, train)], y[train])
    found = model.predict_proba(gram[np.ix_(test, train)])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found >= 0).all()
    assert log_loss(y[test], found) < 0.9 * np.log(classes)
    for column, label in enumerate(model.classes_):  # what is said likely happens about as often as is said
        likely = found[:, column] > np.quantile(found[:, column], 0.6)
        assert np.mean(y[test][likely] == label) == pytest.approx(found[likely, column].mean(), abs=0.12)
    raw = KernelSVC(kernel=kernel, **options).fit(X[train], y[train])
    np.testing.assert_allclose(raw.predict_proba(X[test]), found, atol=1e-6)
    binary = BinaryProblems(classes, multi_class == "ovr")
    size = 300 if multi_class == "ovr" or classes == 2 else 150
    limit = vector_bytes(300, size, 6 * len(binary.pairs)) + 100_000
    held = KernelSVC(memory_limit=limit, **options).fit(gram[np.ix_(train, train)], y[train])
    np.testing.assert_allclose(held.predict_proba(gram[np.ix_(test, train)]), found, atol=5e-3)


def test_a_sigmoid_is_that_of_platt():
    """Against logistic regression on both outcomes of every sample, weighted by his targets."""
    rng = np.random.default_rng(0)
    scores = 1e3 * rng.normal(size=200)
    positive = rng.random(200) < 1 / (1 + np.exp(-scores / 700 - 0.5))
    weights = rng.uniform(0.5, 2, 200)
    target = np.where(
        positive, (weights[positive].sum() + 1) / (weights[positive].sum() + 2), 1 / (weights[~positive].sum() + 2)
    )
    by_sklearn = LogisticRegression(C=np.inf, tol=1e-10).fit(
        np.concatenate([scores, scores])[:, None] / 1e3,
        np.repeat([1, 0], 200),
        np.concatenate([weights * target, weights * (1 - target)]),
    )
    A, B = sigmoid(scores, positive, weights)
    assert -A * 1e3 == pytest.approx(by_sklearn.coef_.item(), rel=1e-4)
    assert pytest.approx(by_sklearn.intercept_.item(), rel=1e-4) == -B


def test_pairwise_coupling_recovers_consistent_probabilities():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=20)
    binary = BinaryProblems(4)
    pairs = np.column_stack([p[:, i] / (p[:, i] + p[:, j]) for i, j in binary.pairs])
    found = binary.probabilities(np.log(pairs / (1 - pairs)), -np.ones(6), np.zeros(6))
    np.testing.assert_allclose(found, p, atol=1e-6)


def test_probabilities_require_the_parameter():
    K, y = np.eye(12), [0, 1] * 6
    assert not hasattr(KernelSVC().fit(K, y), "predict_proba")
    with pytest.raises(InputError, match="class 1 has 1 sample, too few to calibrate"):
        KernelSVC(probability=True).fit(np.eye(4), [0, 0, 0, 1])


# What it reads -------------------------------------------------------------------------------------------------------


def test_predicting_reads_only_support_columns_in_bounded_blocks(monkeypatch):
    X, y = cohort()
    gram = CountingGram(X @ X.T)
    train, test = np.arange(0, 40), np.arange(40, 60)
    model = KernelSVC(C=0.1, tol=1e-8).fit(gram[np.ix_(train, train)], y[train])
    monkeypatch.setattr(matrix_base, "PASS_BYTES", 7 * 8 * len(model.support_))
    gram.blocks.clear()
    theirs = SVC(C=0.1, kernel="precomputed", tol=1e-8).fit((X @ X.T)[:40, :40], y[train])
    expected = theirs.decision_function((X @ X.T)[40:, :40])
    np.testing.assert_allclose(model.decision_function(gram[np.ix_(test, train)]), expected, atol=1e-5)
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


def test_a_stored_matrix_that_does_not_fit_gives_the_same_model(tmp_path):
    X, y = cohort(3, count=240)
    K = Kendall("b")(X)
    stored = compute_gram(Kendall("b"), X, store=tmp_path / "gram.zarr", tile=40, progress=False)
    held = KernelSVC(tol=1e-6, C=5.0).fit(K, y)
    for gram, whole in ((stored, K), (stored.centered().unit_norm(), ArrayGram(K).centered().unit_norm().to_numpy())):
        held = KernelSVC(tol=1e-6, C=5.0).fit(whole, y)
        before = stored.bytes_read()
        model = KernelSVC(tol=1e-6, C=5.0, memory_limit=vector_bytes(240, 160, 3) + 150_000).fit(gram, y)
        assert model.n_passes_ > 1
        assert 0 < model.bytes_read_ <= stored.bytes_read() - before
        np.testing.assert_allclose(model.objective_, held.objective_, rtol=1e-6)
        np.testing.assert_allclose(model.decision_function(gram), held.decision_function(whole), atol=1e-4)
        assert (model.duality_gap_ <= 1e-4 * np.abs(model.objective_)).all()
    assert held.n_passes_ == 1


@pytest.mark.parametrize(
    "options", [{"max_iter": 3}, {"max_passes": 2, "memory_limit": vector_bytes(300, 300, 1) + 60_000}]
)
def test_model_without_convergence_warns(options):
    X, y = cohort(count=300)
    gram = ArrayGram(Gaussian(sigma=2.0)(X))[:][:]
    with pytest.warns(ConvergenceWarning, match=r"the solver stopped early: .* more than tol=0.001; raise max_iter"):
        model = KernelSVC(C=100.0, **options).fit(gram, y)
    assert model.fit_status_ == 1


def test_raw_prediction_in_blocks(monkeypatch):
    X, y = cohort()
    model = KernelSVC(kernel=Kendall()).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr(base, "row_blocks", lambda rows, cols: (slice(i, min(i + 9, rows)) for i in range(0, rows, 9)))
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
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_allclose(model.decision_function(csr_array(X)), expected, atol=1e-10)
    np.testing.assert_allclose(KernelSVC(kernel=Linear()).fit(X.tolist(), y).decision_function(X), expected, atol=1e-10)
    np.testing.assert_array_equal(model.decision_function(frame[list("fedcba")]), model.decision_function(frame))
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
def test_invalid_matrices_are_refused(wrap, matrix, message):
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


def test_gram_of_different_rows_and_columns_is_refused():
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
def test_invalid_labels_are_refused(labels, message):
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
def test_invalid_weights_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        KernelSVC().fit(np.eye(4), [0, 1, 0, 1], weights)


def test_invalid_parameters_are_refused():
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
    least = vector_bytes(20, 20, 1) + int(4 * 20**2 / 0.75)
    with pytest.raises(MemoryLimitError, match=rf"training on 20 samples needs {least:,} bytes .* 1,000 are allowed"):
        KernelSVC(memory_limit="1kB").fit(gram[:][:], [0, 1] * 10)
    assert gram.blocks == []
    with pytest.raises(MemoryLimitError, match="the kernel between 20 and 20 samples"):
        KernelSVC(kernel=Linear(), memory_limit=4000).fit(np.eye(20), [0, 1] * 10)
    KernelSVC(memory_limit=least + 1).fit(gram[:][:], [0, 1] * 10)


CASES = {
    "array": lambda K: K,
    "Fortran order": np.asfortranarray,
    "Gram": lambda K: ArrayGram(K)[:][:],
    "view": lambda K: ArrayGram(K).centered().unit_norm(),
    "slice": lambda K: ArrayGram(K)[np.ix_(np.arange(1200), np.arange(1200))].centered().unit_norm(),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("share", with_slow([0.7], [2.0, 0.2]))
def test_peak_memory_of_training_stays_below_the_limit(case, share):
    """Of a matrix that is not an array it holds no more than was asked for, beside blocks of a view on their way."""
    X, y = cohort(3, 1500)
    K = CASES[case](X @ X.T)
    m = len(K)
    limit = int(share * 8 * m**2)
    options = {"memory_limit": limit, "max_iter": 10, "max_passes": 4}
    with warnings.catch_warnings(action="ignore"):
        KernelSVC(**options).fit(K, y[:m])  # what is compiled once stays
        tracemalloc.start()
        try:
            KernelSVC(**options).fit(K, y[:m])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    on_their_way = memory.block_bytes(m, m, memory.BLOCKS_OF_VIEW, None)
    assert peak <= on_their_way + (limit if isinstance(K, BaseGram) else 0)


def test_the_memory_of_a_container_is_what_counts(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2000)
    with pytest.raises(MemoryLimitError, match="1,000 are allowed"):
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
def test_features_are_found_by_name(fitted_on, new):
    X, y = cohort()
    names = list("abcdef")
    model = KernelSVC(kernel=Kendall()).fit(fitted_on(X, names), y)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.predict(new(X, names)), KernelSVC(kernel=Kendall()).fit(X, y).predict(X))
    np.testing.assert_array_equal(model.predict(new(X[:, ::-1].copy(), names[::-1])), model.predict(new(X, names)))
    with pytest.raises(InputError, match="none of the 6 features that are needed"):
        model.predict(new(X, list("ghijkl")))


def test_features_without_names_are_matched_by_position():
    X, y = cohort()
    model = KernelSVC(kernel=Kendall()).fit(as_anndata(X, list("abcdef")), y)
    for nameless in (csr_array(X), as_rankings(X, None)):
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            model.predict(nameless)
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
        *("n_iter_", "fit_status_", "n_features_in_", "duality_gap_", "n_passes_", "bytes_read_"),
    }
    assert all(isinstance(value, (np.ndarray, int, float)) for value in state.values())
