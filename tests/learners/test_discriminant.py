"""KernelFisherDiscriminant against its formula, against scikit-learn's LDA, and the same for every form of X."""

import tracemalloc

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import cg
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError, MemoryLimitError
from distkern.gram.open import open_gram
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.discriminant import VECTORS_OF_CG, KernelFisherDiscriminant
from distkern.learners.persist import load_model, save_model
from distkern.learners.predictor import CohortPredictor
from distkern.learners.selection import cross_validate_gram
from distkern.learners.standardizer import KernelStandardizer
from distkern.operators.array import ArrayGram
from distkern.solvers.fisher import solve_by_products, solve_directly

TRAIN, TEST = np.arange(60), np.arange(60, 80)


def cohort(classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.minimum(np.arange(80) % (classes + 1), classes - 1)  # the last class is twice as large
    X = rng.normal(size=(80, 8))
    X[np.arange(80), y] += 1.5
    return X, np.array(["alpha", "beta", "gamma", "omega"])[y]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("fisher") / "cohort.zarr"
    compute_gram(Kendall(), cohort(3)[0], store=path, tile=16, progress=False)
    return path


# The formula ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["direct", "cg"])
@given(data=st.data())
def test_equals_the_formula(solver, data):
    m, seed = data.draw(st.integers(3, 9)), data.draw(st.integers(0, 999))
    mu = data.draw(st.sampled_from([1e-3, 0.1, 10.0]))
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.integers(0, 2, m - 2)]
    K = Gaussian(sigma=1.0)(rng.normal(size=(m, 2)))
    K = ArrayGram(K).centered().to_numpy() if data.draw(st.booleans()) else K
    model = KernelFisherDiscriminant(mu=mu, threshold=0.0, solver=solver, tol=1e-12).fit(K, y)
    alpha = np.array(naive.fisher(K.tolist(), y.tolist(), mu))
    np.testing.assert_allclose(model.dual_coef_, alpha, atol=1e-7 * np.abs(alpha).max())
    np.testing.assert_allclose(model.decision_function(K), K @ alpha, atol=1e-7 * np.abs(alpha).max())
    assert model.residual_ < 1e-9


def test_equals_the_formula_of_the_authors_in_matrices():
    """α = solve(N + μ I, M₂ − M₁) with N = Σ_c K_c (I − 1/m_c) K_cᵀ on a centred, scaled matrix; threshold 0."""
    X, y = cohort()
    K = ArrayGram(Kendall("b")(X))[np.ix_(TRAIN, TRAIN)].centered().unit_norm().to_numpy()
    N = np.zeros_like(K)
    for label in ("alpha", "beta"):
        part = K[:, y[TRAIN] == label]
        size = part.shape[1]
        N += part @ (np.eye(size) - np.full((size, size), 1 / size)) @ part.T
    means = [K[:, y[TRAIN] == label].mean(axis=1) for label in ("alpha", "beta")]
    alpha = np.linalg.solve(N + 1e-3 * np.eye(60), means[1] - means[0])
    model = KernelFisherDiscriminant(threshold=0.0).fit(K, y[TRAIN])
    np.testing.assert_allclose(model.dual_coef_, alpha, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(K), np.where(K @ alpha > 0, "beta", "alpha"))


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_with_little_regularisation_the_linear_kernel_gives_linear_discriminant_analysis(classes):
    """With the linear kernel Xα is S⁻¹(m₂ − m₁) as μ → 0; the scores, with priors, and the discriminants are LDA's."""
    X, y = cohort(classes)
    priors = np.r_[np.ones(classes - 1), 2.0] / (classes + 1)  # the fractions: LDA weights covariances by its priors
    theirs = LinearDiscriminantAnalysis(solver="eigen", priors=priors).fit(X[TRAIN], y[TRAIN])
    ours = KernelFisherDiscriminant(kernel=Linear(), priors=priors, mu=1e-9).fit(X[TRAIN], y[TRAIN])
    expected, scores = (
        theirs.decision_function(X[TEST]),
        60 * ours.decision_function(X[TEST]),
    )  # its covariance is N / m
    np.testing.assert_allclose(among_classes(scores), among_classes(expected), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X[TEST]), theirs.predict(X[TEST]))
    found, wanted = ours.transform(X[TEST]), theirs.transform(X[TEST])
    assert found.shape == (20, classes - 1)
    for column in range(classes - 1):  # each but for its scale and sign
        assert abs(np.corrcoef(found[:, column], wanted[:, column])[0, 1]) == pytest.approx(1, abs=1e-6)


def among_classes(scores):
    """Scores that mean something: two classes have one, and of more only the differences count."""
    return scores if scores.ndim == 1 else scores - scores.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 3])
def test_equal_priors_equal_no_priors(classes):
    X, y = cohort(classes)
    scores = [
        KernelFisherDiscriminant(kernel=Linear(), priors=priors).fit(X[TRAIN], y[TRAIN]).decision_function(X[TEST])
        for priors in (None, np.full(classes, 1 / classes))
    ]
    np.testing.assert_allclose(among_classes(scores[0]), among_classes(scores[1]), atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_discriminants_separate_as_documented(classes):
    X, y = cohort(classes)
    K = Gaussian(sigma=3.0)(X)[np.ix_(TRAIN, TRAIN)]
    model = KernelFisherDiscriminant(mu=0.1).fit(K, y[TRAIN])
    Z = model.transform(K)
    N, _ = naive.fisher_system(K.tolist(), y[TRAIN].tolist(), 0.1)
    np.testing.assert_allclose(model.scalings_.T @ np.array(N) @ model.scalings_, np.eye(classes - 1), atol=1e-9)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    assert (Z[y[TRAIN] == model.classes_[-1]].mean(axis=0) > 0).all()
    assert model.get_feature_names_out()[0] == "kernelfisherdiscriminant0"
    if classes == 2:  # one direction, α's
        ratio = Z[:, 0] / (model.decision_function(K) - model.decision_function(K).mean())
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-7)
        assert ratio[0] > 0


def test_the_threshold_without_centring():
    """Zero presumes a centred kernel; the midpoint does not, and is half way between the classes."""
    X, y = cohort()
    K = Linear()(X + 5.0)
    train, block = K[np.ix_(TRAIN, TRAIN)], K[np.ix_(TEST, TRAIN)]
    zero, middle = (KernelFisherDiscriminant(threshold=t).fit(train, y[TRAIN]) for t in (0.0, "midpoint"))
    assert (zero.predict(block) == y[TEST]).mean() < 0.7 < (middle.predict(block) == y[TEST]).mean()
    scores = middle.decision_function(train)
    centres = [scores[y[TRAIN] == label].mean() for label in ("alpha", "beta")]
    assert centres[0] == pytest.approx(-centres[1])
    moved = KernelFisherDiscriminant(threshold=0.25).fit(train, y[TRAIN])
    np.testing.assert_allclose(moved.decision_function(block), zero.decision_function(block) - 0.25)


@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("classes", [2, 3])
def test_weight_is_equivalent_to_equal_samples(solver, classes):
    X, y = cohort(classes)
    weights = np.random.default_rng(2).integers(0, 3, 80)
    repeated = np.repeat(np.arange(80), weights)
    K = Gaussian(sigma=3.0)(X)
    options = {"mu": 0.1, "solver": solver, "tol": 1e-12}
    weighted = KernelFisherDiscriminant(**options).fit(K, y, weights)
    expected = KernelFisherDiscriminant(**options).fit(K[np.ix_(repeated, repeated)], y[repeated])
    np.testing.assert_allclose(weighted.decision_function(K), expected.decision_function(K[:, repeated]), atol=1e-8)
    np.testing.assert_allclose(weighted.transform(K), expected.transform(K[:, repeated]), atol=1e-7)
    assert (weighted.dual_coef_[weights == 0] == 0).all()


# Wherever the values lie ---------------------------------------------------------------------------------------------


OUT_OF_CORE = 8 * 60 * 60 + 8 * 60 * VECTORS_OF_CG * 3
"""Bytes that hold conjugate gradients for 60 samples, and the matrix but no room to read it."""


@pytest.mark.parametrize(
    "options", [{"solver": "direct"}, {"solver": "cg"}, {"solver": "cg", "memory_limit": OUT_OF_CORE}]
)
def test_stored_arrays_and_raw_samples_give_the_same(store, options):
    (X, y), gram, K = cohort(3), open_gram(store), Kendall()(cohort(3)[0])
    expected = KernelFisherDiscriminant(mu=2.0).fit(K[np.ix_(TRAIN, TRAIN)], y[TRAIN])
    for extra, old, block in (
        ({}, gram[np.ix_(TRAIN, TRAIN)], gram[np.ix_(TEST, TRAIN)]),
        ({}, K[np.ix_(TRAIN, TRAIN)], K[np.ix_(TEST, TRAIN)]),
        ({"kernel": Kendall(), "memory_limit": None}, X[TRAIN], X[TEST]),
    ):
        model = KernelFisherDiscriminant(**({"mu": 2.0, "tol": 1e-11} | options | extra)).fit(old, y[TRAIN])
        new = expected.decision_function(K[np.ix_(TEST, TRAIN)])
        np.testing.assert_allclose(model.decision_function(block), new, atol=1e-8)
        np.testing.assert_array_equal(model.predict(block), expected.predict(K[np.ix_(TEST, TRAIN)]))
        np.testing.assert_allclose(model.transform(block), expected.transform(K[np.ix_(TEST, TRAIN)]), atol=1e-7)


@pytest.mark.slow
def test_every_executor_gives_the_same_bits_out_of_core(store, client):
    y = cohort(3)[1]

    def fitted(executor):
        part = open_gram(store, executor=executor)[np.ix_(TRAIN, TRAIN)].centered()
        return KernelFisherDiscriminant(solver="cg", mu=5.0, memory_limit=OUT_OF_CORE).fit(part, y[TRAIN])

    serial = fitted("serial")
    assert serial.n_passes_ == 2 * serial.n_iter_ + 3  # one for the means, two for the true residual
    for executor in (2, client):
        np.testing.assert_array_equal(fitted(executor).dual_coef_, serial.dual_coef_)


class Counted(ArrayGram):
    """Counts its products, and is not read."""

    products = 0

    def _product(self, V, rows=None, cols=None):
        self.products += 1
        return super()._product(V, rows, cols)


def test_a_pass_advances_the_systems_of_all_classes():
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 7
    X = rng.normal(size=(120, 4)) + rng.normal(size=(7, 4))[codes]
    K = Gaussian(sigma=2.0)(X)
    gram = Counted(K)
    found = solve_by_products(gram, codes, np.ones(120), 0.1, tol=1e-8)
    scatter = sum(
        (K[:, codes == c] - K[:, codes == c].mean(axis=1, keepdims=True)) @ K[:, codes == c].T for c in range(7)
    )
    means = np.column_stack([K[:, codes == c].mean(axis=1) for c in range(7)])
    wanted = means[:, 1:] - means[:, :1]
    steps = []
    for column in wanted.T:
        cg(scatter + 0.1 * np.eye(120), column, rtol=1e-8, callback=lambda x: steps.append(0))
    assert found.converged
    assert gram.products == found.passes == 2 * found.iterations + 3  # the means, and the true residual
    assert 4 * found.iterations < len(steps)  # six systems, one after the other
    truth = np.linalg.solve(scatter + 0.1 * np.eye(120), wanted)
    np.testing.assert_allclose(found.directions, truth, atol=1e-6 * abs(truth).max())


def test_conjugate_gradients_keep_to_their_vectors():
    K, codes = Gaussian(sigma=2.0)(np.random.default_rng(0).normal(size=(2000, 3))), np.arange(2000) % 5
    gram = ArrayGram(K)
    tracemalloc.start()
    solve_by_products(gram, codes, np.ones(2000), 0.1, max_iter=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 8 * 2000 * 5 < peak < 8 * 2000 * VECTORS_OF_CG * 5


def test_matrix_that_fits_is_read_once(store):
    y = cohort(3)[1]
    for solver in ("direct", "cg"):
        gram = open_gram(store)
        model = KernelFisherDiscriminant(solver=solver, mu=0.05).fit(gram, y)
        assert model.n_passes_ == 1
        assert 0 < model.bytes_read_ <= 8 * 80 * 80


def test_in_a_pipeline_with_standardised_values(store, tmp_path):
    (X, y), gram = cohort(3), open_gram(store)
    train = gram[np.ix_(TRAIN, TRAIN)]
    model = make_pipeline(KernelStandardizer(), KernelFisherDiscriminant()).fit(train, y[TRAIN])
    expected = model.decision_function(gram[np.ix_(TEST, TRAIN)])
    np.testing.assert_allclose(CohortPredictor(model, train).decision_function(X[TEST]), expected, atol=1e-10)
    loaded = load_model(save_model(model, tmp_path / "fisher.npz", train))
    np.testing.assert_allclose(loaded.decision_function(X[TEST]), expected, atol=1e-10)
    two = make_pipeline(KernelStandardizer(), KernelFisherDiscriminant(threshold=0.0))
    some = np.flatnonzero(y != "gamma")
    found = cross_validate_gram(two, gram[np.ix_(some, some)], y[some], C=None, repeats=2)
    assert found.mean("accuracy") > 0.7


# What it refuses and warns of ----------------------------------------------------------------------------------------


def test_stopping_early_warns():
    X, y = cohort()
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        model = KernelFisherDiscriminant(solver="cg", max_iter=2).fit(Gaussian(sigma=1.0)(X), y)
    assert model.residual_ > 1e-6


def test_too_large_matrix_is_refused_before_it_is_read(store):
    gram, y = open_gram(store), cohort(3)[1]
    for options in ({"solver": "direct", "memory_limit": 100_000}, {"memory_limit": 5_000}):
        with pytest.raises(MemoryLimitError, match="80 samples"):
            KernelFisherDiscriminant(**options).fit(gram, y)
    assert gram.bytes_read() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mu": 0.0}, "mu must be a positive"),
        ({"solver": "lsqr"}, "solver must be"),
        ({"threshold": "mean"}, "threshold must be"),
        ({"threshold": np.nan}, "threshold must be"),
        ({"threshold": 0.0}, "a threshold separates two classes, and there are 3"),
        ({"threshold": 0.0, "priors": [0.5, 0.5]}, "priors move the midpoint"),
        ({"priors": [0.5, 0.5]}, "priors must be 3 positive"),
        ({"priors": [0.5, 0.4, 0.2]}, "priors must be 3 positive"),
    ],
)
def test_invalid_parameter_values_are_refused(options, words):
    X, y = cohort(3)
    with pytest.raises(InputError, match=words):
        KernelFisherDiscriminant(**options).fit(Linear()(X), y)


def test_invalid_labels_and_values_are_refused(store):
    X, y = cohort()
    K = Linear()(X)
    with pytest.raises(InputError, match="1 class, 'alpha'"):
        KernelFisherDiscriminant().fit(K, np.full(80, "alpha"))
    with pytest.raises(InputError, match="label of sample 3 is missing"):
        KernelFisherDiscriminant().fit(K, np.where(np.arange(80) == 3, np.nan, 1.0 * (y == "beta")))
    with pytest.raises(InputError, match="requires y"):
        KernelFisherDiscriminant().fit(K, None)
    for solver in ("direct", "cg"):
        with pytest.raises(InputError, match="the same mean in feature space"):
            KernelFisherDiscriminant(solver=solver).fit(np.ones((80, 80)), y)
    gram = open_gram(store)
    model = KernelFisherDiscriminant().fit(gram[:50, :50], y[:50])
    with pytest.raises(InputError, match="expecting 50 features"):
        model.predict(gram[:, :49])
    with pytest.raises(InputError, match="not the samples that the model was fitted on"):
        model.predict(gram[30:, 30:])


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_values_that_are_not_finite_in_a_stored_matrix(solver):
    class Broken(ArrayGram):
        def __init__(self, values):
            super().__init__(values)
            self._values = values.copy()
            self._values[3, 4] = self._values[4, 3] = np.nan

    X, y = cohort()
    with pytest.raises(InputError, match="not finite"):
        KernelFisherDiscriminant(solver=solver).fit(Broken(Linear()(X)), y)


def test_an_indefinite_matrix_is_named_by_sample_or_position():
    K, codes, weights = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([0, 1]), np.ones(2)
    with pytest.raises(InputError, match=r"samples? .*0"):
        solve_directly(K.copy(), codes, weights, 1.0)
    with pytest.raises(InputError, match=r"s0"):
        solve_directly(K.copy(), codes, weights, 1.0, named=lambda k: f"s{k}")


def test_a_mu_without_digits_is_refused():
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(InputError, match=r"mu=4\.94e-324 is too small for the digits of this matrix"):
        KernelFisherDiscriminant(mu=5e-324, solver="direct").fit(X @ X.T, [0, 1] * 6)
