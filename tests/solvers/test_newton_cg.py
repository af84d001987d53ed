"""Newton's method on a Gram matrix against a dense twin, scikit-learn on explicit features, and the optimum itself."""

import tracemalloc

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from distkern import Dask, Gaussian, Linear, Serial, Threads, compute_gram, open_gram
from distkern.core.errors import InputError, MemoryLimitError
from distkern.gram import map_reduce
from distkern.operators.array import ArrayGram
from distkern.operators.lowrank import ArrayFeatures, LowRankGram
from distkern.solvers import newton_cg
from distkern.solvers.cox import Cox
from distkern.solvers.losses import Logistic, Multinomial, SquaredHinge
from distkern.solvers.newton_cg import Problem, solve, vector_bytes

PLENTY = 2**30
KINDS = ("logistic", "squared hinge", "multinomial")


def drawn(seed, m=30, classes=3, rank=6):
    """Features, class numbers with every class, and weights that add up to about 1."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.concatenate([np.arange(classes), rng.integers(0, classes, m - classes)]))
    X = rng.normal(size=(m, rank)) + 0.7 * (codes[:, None] == np.arange(rank))
    return X, codes, rng.uniform(0.2, 2.0, m) / m


def loss_of(kind, codes, weights=None):
    if kind == "multinomial":
        return Multinomial(codes, int(codes.max()) + 1, weights)
    return {"logistic": Logistic, "squared hinge": SquaredHinge}[kind](np.where(codes > 0, 1.0, -1.0), weights)


def dense_newton(K, kind, codes, weights, lam, intercept=True):
    """Minimum over (α, b) by Newton steps of the whole bordered system, with all derivatives as matrices."""
    m, columns = len(K), int(codes.max()) + 1 if kind == "multinomial" else 1
    signs = np.where(codes > 0, 1.0, -1.0)
    design = np.hstack([K, np.full((m, 1), float(intercept))])  # the scores are design @ (α, b)
    penalty = lam * np.pad(K, ((0, 1), (0, 1)))

    def objective(z):
        f = design @ z
        if kind == "logistic":
            loss = np.logaddexp(0, -signs * f[:, 0])
        elif kind == "squared hinge":
            loss = np.maximum(0, 1 - signs * f[:, 0]) ** 2
        else:
            loss = np.log(np.exp(f).sum(axis=1)) - f[np.arange(m), codes]
        return weights @ loss + 0.5 * np.sum(z * (penalty @ z))

    def derivatives(f):
        gradient, hessian = np.zeros((m, columns)), np.zeros((columns, columns, m))
        for i in range(m):
            if kind == "multinomial":
                p = np.exp(f[i]) / np.exp(f[i]).sum()
                gradient[i] = weights[i] * (p - (np.arange(columns) == codes[i]))
                hessian[:, :, i] = weights[i] * (np.diag(p) - np.outer(p, p))
            elif kind == "logistic":
                p = 1 / (1 + np.exp(-signs[i] * f[i]))
                gradient[i], hessian[0, 0, i] = -weights[i] * signs[i] * (1 - p), (weights[i] * p * (1 - p))[0]
            else:
                room = max(0.0, 1 - signs[i] * f[i, 0])
                gradient[i], hessian[0, 0, i] = -2 * weights[i] * signs[i] * room, 2 * weights[i] * (room > 0)
        return gradient, hessian

    z = np.zeros((m + 1, columns))
    for _ in range(200):
        gradient, hessian = derivatives(design @ z)
        slope = design.T @ gradient + penalty @ z
        system = np.block(
            [
                [design.T @ (hessian[c, d][:, None] * design) + (c == d) * penalty for d in range(columns)]
                for c in range(columns)
            ]
        )
        step = np.linalg.lstsq(system, -slope.T.ravel(), rcond=1e-13)[0].reshape(columns, -1).T
        t = 1.0
        while objective(z + t * step) > objective(z) and t > 1e-10:
            t /= 2
        z = z + t * step
        if np.abs(t * (design @ step)).max() < 1e-11:
            break
    return design @ z, objective(z)


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(3, 12),
    lam=st.sampled_from([0.01, 0.1, 3.0]),
    intercept=st.booleans(),
    rank=st.integers(1, 12),
)
def test_equals_dense_newton(kind, seed, m, lam, intercept, rank):
    X, codes, weights = drawn(seed, m, rank=rank)
    K = X @ X.T
    [found] = solve(ArrayGram(K), [Problem(loss_of(kind, codes, weights), lam, intercept)], tol=1e-8, memory=PLENTY)
    f, objective = dense_newton(K, kind, codes, weights, lam, intercept)
    assert found.converged
    assert found.objective == pytest.approx(objective, rel=1e-8)
    np.testing.assert_allclose(found.scores, f - f.mean(axis=1, keepdims=True) * (kind == "multinomial"), atol=1e-5)
    assert intercept or not found.intercept.any()


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_equals_scikit_learn_on_explicit_features(C):
    X, codes, weights = drawn(1, 60)
    m = len(X)
    for y, weighted in ((codes, False), (codes, True), (codes > 1, False), (codes > 1, True)):
        w = weights * m if weighted else np.ones(m)
        model = LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(X, y, w)
        loss = Multinomial(codes, 3, w / m) if y is codes else Logistic(2.0 * y - 1, w / m)
        [found] = solve(ArrayGram(X @ X.T), [Problem(loss, 1 / (C * m))], tol=1e-10, memory=PLENTY)
        theirs = model.decision_function(X).reshape(m, -1)
        np.testing.assert_allclose(found.scores, theirs, atol=1e-6 * max(1, np.abs(theirs).max()))
        np.testing.assert_allclose(found.intercept, model.intercept_, atol=1e-6 * max(1, np.abs(theirs).max()))
        np.testing.assert_allclose(
            found.coefficients.T @ X, model.coef_, atol=1e-6 * max(1, np.abs(model.coef_).max()), rtol=1e-5
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [1e-5, 1e-2, 10.0])
def test_the_solution_satisfies_the_conditions_of_the_optimum(kind, lam):
    X, codes, weights = drawn(2, 50)
    K = Gaussian(3.0)(X)  # of full rank, so that the conditions determine α
    loss = loss_of(kind, codes, weights)
    [found] = solve(ArrayGram(K), [Problem(loss, lam)], tol=1e-10, memory=PLENTY)
    np.testing.assert_allclose(found.coefficients.sum(axis=0), 0, atol=1e-10 * np.abs(found.coefficients).sum())
    np.testing.assert_allclose(K @ found.coefficients + found.intercept, found.scores, atol=1e-9)
    left = loss.gradient(found.scores) + lam * found.coefficients
    start = loss.gradient(np.broadcast_to(loss.intercept(), found.scores.shape))
    assert np.sqrt((left * (K @ left)).sum()) <= 1e-8 * np.sqrt((start * (K @ start)).sum())
    np.testing.assert_allclose(loss.gradient(found.scores).sum(axis=0), 0, atol=1e-9)
    value = loss.value(found.scores) + lam / 2 * (found.coefficients * (K @ found.coefficients)).sum()
    assert found.objective == pytest.approx(value, rel=1e-12)
    assert found.history[0] >= found.history[-1] == found.objective
    assert (np.diff(found.history) <= 0).all()
    if kind == "multinomial":
        np.testing.assert_allclose(found.coefficients.sum(axis=1), 0, atol=1e-9)
        assert found.intercept.sum() == pytest.approx(0, abs=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(20):  # no point nearby is better
        alpha, b = found.coefficients + 1e-3 * rng.normal(size=left.shape), found.intercept + 1e-3 * rng.normal()
        other = loss.value(K @ alpha + b) + lam / 2 * (alpha * (K @ alpha)).sum()
        assert other >= found.objective * (1 - 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_is_a_number_of_repetitions_and_weight_0_leaves_a_sample_out(kind):
    X, codes, _ = drawn(3, 25)
    K, times = X @ X.T, np.array([2, 0, 1, 3, 1] * 5)
    times[[np.flatnonzero(codes == c)[0] for c in range(3)]] = 1
    every = np.repeat(np.arange(25), times)
    [weighted] = solve(ArrayGram(K), [Problem(loss_of(kind, codes, times / 25), 0.1)], tol=1e-10, memory=PLENTY)
    repeated = loss_of(kind, codes[every], np.full(len(every), 1 / 25))
    [other] = solve(ArrayGram(K[np.ix_(every, every)]), [Problem(repeated, 0.1)], tol=1e-10, memory=PLENTY)
    assert weighted.objective == pytest.approx(other.objective, rel=1e-12)
    np.testing.assert_allclose(other.scores, weighted.scores[every], atol=1e-8)
    assert not weighted.coefficients[times == 0].any()  # to the bit
    held_out = K[np.ix_(times == 0, every)] @ other.coefficients + other.intercept
    np.testing.assert_allclose(weighted.scores[times == 0], held_out, atol=1e-8)


def test_two_classes_of_the_multinomial_loss_are_the_binary_loss_with_half_the_penalty():
    X, codes, weights = drawn(4, 40, classes=2)
    K = ArrayGram(X @ X.T)
    problems = [Problem(Multinomial(codes, 2, weights), 0.2), Problem(Logistic(2.0 * codes - 1, weights), 0.1)]
    two, one = solve(K, problems, tol=1e-11, memory=PLENTY)
    np.testing.assert_allclose(two.scores[:, 1] - two.scores[:, 0], one.scores[:, 0], atol=1e-8)
    assert two.objective == pytest.approx(one.objective, rel=1e-12)


def joint_problems(codes):
    """Values of λ, folds, losses and numbers of columns that are more than a batch of vectors."""
    m = len(codes)
    folds = [np.ones(m), *(np.arange(m) % 3 != fold for fold in range(3)), np.arange(m) % 12 < 2]
    return [
        Problem(loss_of(kind, codes, np.asarray(fold, dtype=float) / m), lam)
        for kind in KINDS
        for fold in folds
        for lam in (1e-4, 0.1)
    ]


def least_memory(gram, problems):
    """Memory with which each pass reads the matrix."""
    return vector_bytes(len(gram), sum(problem.loss.columns for problem in problems)) + gram.reading_bytes()


def assert_same_bits(one, other):
    for name in ("coefficients", "intercept", "scores", "history", "objective", "residual"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.slow
def test_problems_have_the_same_bits_alone_and_together(tmp_path, monkeypatch):
    X, codes, _ = drawn(5, 70)
    problems = joint_problems(codes)
    assert sum(problem.loss.columns for problem in problems) > 32
    K = Gaussian(3.0)(X)
    stored = compute_gram(Gaussian(3.0), X, store=tmp_path / "k.zarr", tile=23, progress=False)
    for gram, fits in ((ArrayGram(K), True), (stored, True), (stored, False)):
        together = solve(gram, problems, tol=1e-5, memory=PLENTY if fits else least_memory(gram, problems))
        assert all(found.converged for found in together)
        for problem, found in list(zip(problems, together, strict=True))[::4]:
            [alone] = solve(gram, [problem], tol=1e-5, memory=PLENTY if fits else least_memory(gram, [problem]))
            assert_same_bits(alone, found)
            assert alone.passes == found.passes  # no problem waits for another
    monkeypatch.setattr(newton_cg, "STRIP", 16)
    in_strips = solve(ArrayGram(K), problems[:3], memory=PLENTY)
    monkeypatch.setattr(newton_cg, "usable_cores", lambda: 1)
    for one, other in zip(in_strips, solve(ArrayGram(K), problems[:3], memory=PLENTY), strict=True):
        assert_same_bits(one, other)


@pytest.mark.slow
def test_serial_threads_and_a_cluster_give_the_same_bits(tmp_path, monkeypatch, client):
    monkeypatch.setattr(map_reduce, "SMALL_BYTES", 0)
    X, codes, _ = drawn(6, 60)
    path = compute_gram(Gaussian(3.0), X, store=tmp_path / "k.zarr", tile=17, progress=False).path
    problems = [Problem(loss_of("multinomial", codes), 0.05), Problem(loss_of("logistic", codes), 0.1)]
    found = []
    for executor in (Serial(), Threads(2), Dask(client)):
        gram = open_gram(path, executor=executor)
        found.append(solve(gram, problems, memory=least_memory(gram, problems)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert_same_bits(one, two)
    in_memory = solve(open_gram(path), problems, memory=PLENTY)
    np.testing.assert_allclose(in_memory[0].scores, found[0][0].scores, atol=1e-5)


class Counting(ArrayGram):
    """An operator that is no array for the solver, and counts what is asked of it."""

    def __init__(self, values):
        super().__init__(values)
        self.passes, self.widest = 0, 0

    def _product(self, V, rows=None, cols=None):
        self.passes, self.widest = self.passes + 1, max(self.widest, V.shape[1])
        return super()._product(V, rows, cols)


def test_a_pass_advances_all_problems():
    X, codes, _ = drawn(7, 60)
    gram, problems = Counting(X @ X.T), joint_problems(codes)
    found = newton_cg.minimize(gram.matmat, problems, 60, float((X**2).sum(axis=1).max()), tol=1e-6, max_iter=100)
    assert gram.passes == max(one.passes for one in found)
    assert gram.widest == sum(problem.loss.columns for problem in problems)
    assert min(one.passes for one in found) < gram.passes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [1e-9, 1e-6, 1e-3])
def test_separable_classes(kind, lam):
    X, codes, weights = drawn(8, 30)
    X = X + 50.0 * (codes[:, None] == np.arange(X.shape[1]))
    problem = Problem(loss_of(kind, codes, weights), lam)
    [found] = solve(ArrayGram(X @ X.T), [problem], tol=1e-5, memory=PLENTY)
    assert found.converged
    predicted = found.scores.argmax(axis=1) if kind == "multinomial" else found.scores[:, 0] > 0
    assert (predicted == (codes if kind == "multinomial" else codes > 0)).all()
    assert (np.diff(found.history) <= 0).all()
    _, objective = dense_newton(X @ X.T, kind, codes, weights, lam)
    assert found.objective <= objective + 1e-4 * found.history[0]
    [exact] = solve(ArrayGram(X @ X.T), [problem], tol=1e-12, memory=PLENTY)
    assert exact.objective <= objective * (1 + 1e-4) + 1e-9 * found.history[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_of_one_sample(kind):
    X, codes, _ = drawn(9, 40, classes=2)
    codes[:] = np.arange(40) % 2 + 1
    codes[7] = 0
    K, weights = X @ X.T, np.full(40, 1 / 40)
    [found] = solve(ArrayGram(K), [Problem(loss_of(kind, codes), 1e-3)], tol=1e-9, memory=PLENTY)
    _, objective = dense_newton(K, kind, codes, weights, 1e-3)
    assert found.objective == pytest.approx(objective, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.0, 1.0, 1e6, 1 / 3])
def test_a_constant_kernel_leaves_the_intercept(kind, value):
    _, codes, weights = drawn(10)
    loss = loss_of(kind, codes, weights)
    [found] = solve(ArrayGram(np.full((30, 30), value)), [Problem(loss, 0.1)], memory=PLENTY)
    assert found.converged
    np.testing.assert_allclose(found.scores, np.broadcast_to(loss.intercept(), found.scores.shape), atol=1e-8)
    if value == 0:  # and nothing without it
        [alone] = solve(ArrayGram(np.zeros((30, 30))), [Problem(loss, 0.1, False)], memory=PLENTY)
        assert alone.converged
        assert not alone.scores.any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_intercept_makes_centring_superfluous(kind):
    X, codes, weights = drawn(11)
    gram, loss = ArrayGram(X @ X.T), loss_of(kind, codes, weights)
    [raw] = solve(gram, [Problem(loss, 0.01)], tol=1e-9, memory=PLENTY)
    for other in (gram.centered(), ArrayGram(X @ X.T + 1000.0)):
        [found] = solve(other, [Problem(loss, 0.01)], tol=1e-9, memory=PLENTY)
        np.testing.assert_allclose(found.scores, raw.scores, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_large_and_small_penalties(kind):
    X, codes, weights = drawn(12, 40, rank=3)
    loss = loss_of(kind, codes, weights)
    lams = [1e-12, 1e-3, 1e12, 1e200]
    small, _, large, _ = found = solve(ArrayGram(X @ X.T), [Problem(loss, lam) for lam in lams], memory=PLENTY)
    assert all(one.converged for one in found)
    np.testing.assert_allclose(large.scores, np.broadcast_to(loss.intercept(), large.scores.shape), atol=1e-9)
    fitted, _ = dense_newton(X @ X.T, kind, codes, weights, 1e-12)
    assert loss.value(small.scores) == pytest.approx(loss.value(fitted), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [-900, -300, 20, 300, 950])
def test_the_bits_do_not_depend_on_the_scale_of_kernel_and_weights(kind, power):
    X, codes, weights = drawn(13)
    K = X @ X.T
    [expected] = solve(ArrayGram(K), [Problem(loss_of(kind, codes, weights), 0.1)], memory=PLENTY)
    scale = 2.0**power
    with np.errstate(over="ignore"):
        [kernel] = solve(ArrayGram(scale * K), [Problem(loss_of(kind, codes, weights), 0.1 * scale)], memory=PLENTY)
    [weight] = solve(ArrayGram(K), [Problem(loss_of(kind, codes, scale * weights), 0.1 * scale)], memory=PLENTY)
    for found in (kernel, weight):
        np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(scale * kernel.coefficients, expected.coefficients)
    assert weight.objective == scale * expected.objective


def test_what_is_beyond_floating_point_is_refused():
    loss = Logistic(np.array([1.0, -1.0]))
    for K, lam in ((np.eye(2) * 1e300, 1e-300), (np.eye(2) * 1e-200, 1e200), (np.eye(2), np.nan), (np.eye(2), 0.0)):
        with pytest.raises(InputError, match="beyond what float64 holds"):
            solve(ArrayGram(K), [Problem(loss, lam)], memory=PLENTY)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [1e-300, 1.0])
def test_a_penalty_that_outweighs_everything_leaves_the_intercept(kind, weight):
    _, codes, weights = drawn(19)
    loss = loss_of(kind, codes, weight * weights)
    [found] = solve(ArrayGram(np.eye(30)), [Problem(loss, 1e299 * weight)], memory=PLENTY)
    assert found.converged
    np.testing.assert_allclose(found.scores, np.broadcast_to(loss.intercept(), found.scores.shape), atol=1e-14)


def test_max_iter_limits_the_steps_and_is_reported():
    X, codes, _ = drawn(14)
    [found] = solve(ArrayGram(X @ X.T), [Problem(loss_of("logistic", codes), 1e-6)], max_iter=2, memory=PLENTY)
    assert not found.converged
    assert found.iterations == 2
    assert len(found.history) == 3
    assert found.residual > 1e-6


def test_a_tolerance_below_rounding_ends_the_steps():
    X, codes, _ = drawn(15)
    for kind in KINDS:
        [found] = solve(
            ArrayGram(X @ X.T), [Problem(loss_of(kind, codes), 0.1)], tol=1e-300, max_iter=10**6, memory=PLENTY
        )
        assert found.iterations < 50
        assert found.residual < 1e-8


def test_matrices_that_are_no_kernel_are_refused(monkeypatch):
    codes = np.arange(6) % 2
    problems = [Problem(loss_of("logistic", codes), 0.1)]
    distances = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    for K in (-np.eye(6), distances):
        with pytest.raises(InputError, match="not positive semidefinite"):
            solve(ArrayGram(K), problems, memory=PLENTY)
        with pytest.raises(InputError, match="not positive semidefinite"):
            newton_cg.minimize(ArrayGram(K).matmat, problems, 6, 1.0, tol=1e-6, max_iter=50)
    with pytest.raises(InputError, match="not symmetric"):
        solve(ArrayGram(np.eye(6) + np.triu(np.ones((6, 6)))), problems, memory=PLENTY)
    with pytest.raises(InputError, match="not the same samples"):
        solve(ArrayGram(np.ones((6, 6)), row_diag=np.ones(6), col_diag=np.ones(6)), problems, memory=PLENTY)
    with pytest.raises(InputError, match="not finite"):
        newton_cg.minimize(lambda V: np.full_like(V, np.nan), problems, 6, 1.0, tol=1e-6, max_iter=50)


def test_the_memory_is_a_promise(tmp_path):
    X, codes, _ = drawn(16, 500)
    problems = [Problem(loss_of("multinomial", codes), lam) for lam in 10.0 ** -np.arange(8)]
    stored = compute_gram(Linear(), X, store=tmp_path / "k.zarr", tile=125, progress=False)
    least = least_memory(stored, problems)
    with pytest.raises(
        MemoryLimitError, match=r"24 columns of 500 samples need .* raise memory_limit=, solve for fewer"
    ):
        solve(stored, problems, memory=least - 1)
    assert stored.bytes_read() == 0
    solve(stored, problems[:1], memory=PLENTY)  # loads and compiles
    for gram, memory in ((ArrayGram(X @ X.T), vector_bytes(500, 24)), (stored, least)):
        tracemalloc.start()
        try:
            solve(gram, problems, tol=0.1, max_iter=3, memory=memory)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak <= memory


def test_a_matrix_that_fits_is_read_once(tmp_path):
    X, codes, _ = drawn(17, 60)
    stored = compute_gram(Linear(), X, store=tmp_path / "k.zarr", tile=20, progress=False)
    problems = [Problem(loss_of("logistic", codes), lam) for lam in (1e-4, 1.0)]
    solve(stored, problems, memory=PLENTY)  # reads the diagonal too
    before = stored.bytes_read()
    solve(stored, problems, memory=PLENTY)
    once = stored.bytes_read() - before
    found = solve(stored, problems, memory=least_memory(stored, problems))
    assert stored.bytes_read() - before - once == once * max(one.passes for one in found)


def test_an_interruption_is_passed_on():
    X, codes, _ = drawn(18)
    calls = []

    def interrupted(V):
        calls.append(V)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return X @ (X.T @ V)

    problems = [Problem(loss_of("logistic", codes), 0.1)]
    with pytest.raises(KeyboardInterrupt):
        newton_cg.minimize(interrupted, problems, 30, 1.0, tol=1e-9, max_iter=50)
    assert len(calls) == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_matrix_of_low_rank_is_solved_by_small_hessians(kind, intercept, monkeypatch):
    X, codes, weights = drawn(4, 80, rank=7)
    features = ArrayFeatures(X)
    gram, problems = LowRankGram(features, features), []
    for lam in (1e-3, 0.1, 10.0):
        problems.append(Problem(loss_of(kind, codes, weights), lam, intercept))
    expected = solve(ArrayGram(X @ X.T), problems, tol=1e-9, memory=PLENTY)
    passes = solve(gram, problems, tol=1e-9, memory=vector_bytes(80, 9) + 40_000)  # no room for the features
    monkeypatch.setattr(newton_cg, "_conjugate_gradients", None)
    found = solve(gram, problems, tol=1e-9, memory=PLENTY)
    for one, other, third in zip(found, expected, passes, strict=True):
        assert one.converged
        assert one.iterations <= 15
        assert one.passes == one.iterations + 1
        assert one.objective == pytest.approx(other.objective, rel=1e-10)
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)
        np.testing.assert_allclose(third.scores, other.scores, atol=1e-6)
        np.testing.assert_allclose(X.T @ one.coefficients, X.T @ other.coefficients, atol=1e-6)
        np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-6)
    [alone] = solve(gram, problems[1:2], tol=1e-9, memory=PLENTY)
    np.testing.assert_array_equal(alone.coefficients, found[1].coefficients)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_cox_models_equal_dense_newton(ties):
    rng = np.random.default_rng(0)
    X, t, e, s = rng.normal(size=(40, 5)), rng.integers(1, 15, 40), rng.random(40) < 0.7, rng.integers(0, 2, 40)
    K, lam, w = X @ X.T, 0.05, np.zeros(5)
    for _ in range(30):
        gradient, hessian = map(np.array, naive.cox_derivatives(t, e, X @ w, ties, s))
        w = w - np.linalg.solve(X.T @ hessian @ X + lam * np.eye(5), X.T @ gradient + lam * w)
    features = ArrayFeatures(X)
    for gram in (ArrayGram(K), LowRankGram(features, features)):
        [found] = solve(gram, [Problem(Cox(t, e, ties, s), lam, intercept=False)], tol=1e-10, memory=PLENTY)
        np.testing.assert_allclose(X.T @ found.coefficients[:, 0], w, atol=1e-8)
        assert found.objective == pytest.approx(naive.cox_loss(t, e, X @ w, ties, s) + 0.5 * lam * w @ w, rel=1e-10)
