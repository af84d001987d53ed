"""Dual problems solved by pairs, in memory and out of core, against a quadratic-programming solver and libsvm."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.svm import SVC, OneClassSVM

from distkern.build.compute import compute_gram
from distkern.compiled import smo as compiled
from distkern.core.errors import InputError, MemoryLimitError
from distkern.gram.open import open_gram
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.solvers.dual import Problem
from distkern.solvers.smo import solve
from distkern.solvers.working_set import vector_bytes

PLENTY = 2**30


class Elsewhere(BaseGram):
    """A matrix that no solver may keep, counting what is read of it."""

    def __init__(self, values):
        self._whole, self.read, self.products = ArrayGram(values), 0, 0

    shape = property(lambda self: self._whole.shape)
    is_symmetric = True
    row_ids = property(lambda self: self._whole.row_ids)
    col_ids = property(lambda self: self._whole.col_ids)

    def _block(self, rows, cols):
        self.read += len(rows) * len(cols)
        return self._whole._block(rows, cols)

    def _product(self, V, rows=None, cols=None):
        self.products += 1
        self.read += self.shape[0] * self.shape[1]
        return self._whole._product(V, rows, cols)

    def row_diag(self):
        return self._whole.row_diag()

    col_diag = row_diag

    def bytes_read(self):
        return 8 * self.read


def drawn(seed, n, C=1.0, shift=0.8):
    rng = np.random.default_rng(seed)
    y = np.where(rng.permutation(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, 4))
    X[:, 0] += shift * y
    return Gaussian(sigma=1.5)(X), Problem(np.arange(n), y, np.full(n, C), np.full(n, -1.0))


def dense(problem, K):
    """Q of a problem, from the definition."""
    k = K[np.ix_(problem.samples, problem.samples)]
    if problem.means is not None:
        k = k - problem.means[:, None] - problem.means[None, :] + problem.grand
    if problem.scale is not None:
        k = k / np.outer(problem.scale, problem.scale)
    return np.outer(problem.signs, problem.signs) * k


def by_quadratic_programming(problem, K):
    Q, n = dense(problem, K), len(problem.samples)
    start = np.zeros(n) if problem.start is None else problem.start
    kept = LinearConstraint(problem.signs, problem.signs @ start, problem.signs @ start)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a + problem.linear @ a,
        start + 1e-3,
        jac=lambda a: Q @ a + problem.linear,
        bounds=list(zip(np.zeros(n), problem.bounds, strict=True)),
        constraints=[kept],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.fun


# One problem ---------------------------------------------------------------------------------------------------------


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    m, n = draw(st.integers(2, 12)), draw(st.integers(2, 18))
    factor = rng.normal(size=(m, draw(st.integers(1, m))))
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    samples, view = rng.integers(0, m, n), {}
    if draw(st.booleans()):
        means = factor @ factor.mean(axis=0)
        view = {"means": means[samples], "grand": float(means.mean()), "scale": rng.uniform(0.5, 2, m)[samples]}
    bounds = rng.uniform(0.1, draw(st.sampled_from([1.0, 50.0])), n)
    bounds[rng.random(n) < 0.1] = 0.0
    start = None
    if draw(st.booleans()):
        start = np.where(rng.random(n) < 0.5, bounds, 0.3 * bounds)
    return factor @ factor.T, Problem(samples, signs, bounds, rng.normal(size=n) - 0.5, start, **view)


@given(problems(), st.booleans())
def test_equals_quadratic_programming_on_drawn_problems(asked, elsewhere):
    K, problem = asked
    gram = ArrayGram(K)[:][:] if elsewhere else ArrayGram(K)
    [[found]] = solve(gram, [[problem]], memory=PLENTY, tol=1e-9, max_iter=10**6)
    start = np.zeros(len(problem.samples)) if problem.start is None else problem.start
    assert found.converged
    assert (found.alpha >= 0).all()
    assert (found.alpha <= problem.bounds).all()
    assert problem.signs @ found.alpha == pytest.approx(problem.signs @ start, abs=1e-9)
    Q = dense(problem, K)
    value = 0.5 * found.alpha @ Q @ found.alpha + problem.linear @ found.alpha
    assert found.objective == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert found.objective <= by_quadratic_programming(problem, K) + 1e-6 * max(1.0, abs(value))
    assert -1e-9 <= found.gap <= 1e-6 * max(1.0, problem.bounds.sum())  # no solution lies lower than by the gap


def test_the_gap_bounds_the_distance_to_the_minimum():
    K, problem = drawn(0, 60, C=10.0)
    [[best]] = solve(ArrayGram(K), [[problem]], memory=PLENTY, tol=1e-10)
    for pairs in (1, 5, 20, 60):
        [[found]] = solve(ArrayGram(K), [[problem]], memory=PLENTY, max_iter=pairs)
        assert found.iterations <= pairs
        assert not found.converged
        assert found.violation > 1e-3
        assert best.objective <= found.objective <= best.objective + found.gap
    assert best.gap < 1e-6


def test_blocks_smaller_than_the_problem(monkeypatch):
    K, problem = drawn(1, 700, C=5.0)
    theirs = SVC(kernel="precomputed", C=5.0, tol=1e-6).fit(K, problem.signs)
    c = np.zeros(700)
    c[theirs.support_] = theirs.dual_coef_[0]
    [[found]] = solve(ArrayGram(K), [[problem]], memory=PLENTY, tol=1e-6)
    assert len(c) > compiled.BLOCK
    np.testing.assert_allclose(problem.signs * found.alpha, c, atol=1e-3)
    assert -found.offset == pytest.approx(theirs.intercept_[0], abs=1e-5)


def test_one_class_problem_with_a_given_start():
    K, _ = drawn(2, 80)
    nu = 0.3
    theirs = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-8).fit(K)
    start = np.clip(nu * 80 - np.arange(80), 0, 1)
    problem = Problem(np.arange(80), np.ones(80), np.ones(80), np.zeros(80), start)
    for gram in (ArrayGram(K), Elsewhere(K)):
        [[found]] = solve(
            gram,
            [[problem]],
            memory=PLENTY if isinstance(gram, ArrayGram) else vector_bytes(80, 80, 1) + 9000,
            tol=1e-8,
        )
        assert found.alpha.sum() == pytest.approx(nu * 80)
        np.testing.assert_allclose(K @ found.alpha - found.offset, theirs.decision_function(K), atol=1e-5)


@pytest.mark.parametrize("where", ["memory", "elsewhere"])
def test_an_indefinite_kernel_is_refused(where):
    """Its problem has several minima: the one that is found depends on the order of the samples."""
    K, problem = drawn(3, 80)
    K = K - 0.5 * np.eye(80)
    gram = ArrayGram(K) if where == "memory" else Elsewhere(K)
    with pytest.raises(InputError, match="not positive semidefinite"):
        solve(gram, [[problem]], memory=PLENTY if where == "memory" else vector_bytes(80, 80, 1) + 9000)


# Where the matrix lies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
def test_out_of_core_equals_in_memory(C, share):
    K, problem = drawn(4, 500, C=C)
    gram = Elsewhere(K)
    [[held]] = solve(ArrayGram(K), [[problem]], memory=PLENTY, tol=1e-5)
    vectors = vector_bytes(500, 500, 1)
    [[found]] = solve(gram, [[problem]], memory=vectors + int(share * 8 * 500**2), tol=1e-5)
    assert found.converged
    assert found.violation <= 1e-5
    assert found.objective == pytest.approx(held.objective, rel=1e-7)
    np.testing.assert_allclose(K @ (problem.signs * (found.alpha - held.alpha)), 0, atol=1e-3)
    assert gram.products == len(found.objectives)
    assert gram.products < found.passes <= 2 * gram.products  # a round that needs no new samples gathers none
    assert found.bytes_read == gram.bytes_read()
    falls = np.diff([0.0, *found.objectives])
    assert (falls <= 1e-6 * abs(found.objective)).all()


def test_single_precision_is_used_if_double_does_not_fit():
    K, problem = drawn(5, 300, C=10.0)
    gram = Elsewhere(K)
    vectors = vector_bytes(300, 300, 1)
    [[found]] = solve(gram, [[problem]], memory=vectors + int(0.7 * 8 * 300**2))
    assert (found.passes, gram.products, found.bytes_read) == (1, 0, 8 * 300**2)
    [[held]] = solve(ArrayGram(K), [[problem]], memory=PLENTY)
    assert found.objective == pytest.approx(held.objective, rel=1e-5)


def test_values_that_share_a_large_offset_keep_their_digits():
    """Centred, k is 1e-5 of the values that are stored: single precision alone would leave one digit."""
    K, problem = drawn(6, 200, C=1.0)
    stored = 3e5 + K
    means = stored.mean(axis=1)
    view = {"means": means, "grand": float(means.mean()), "scale": np.ones(200)}
    shifted = Problem(problem.samples, problem.signs, problem.bounds, problem.linear, None, **view)
    [[expected]] = solve(ArrayGram(K), [[problem]], memory=PLENTY, tol=1e-6)  # centring changes no decision
    for share in (2.0, 0.7, 0.3):
        memory = vector_bytes(200, 200, 1) + int(share * 8 * 200**2)
        [[found]] = solve(Elsewhere(stored), [[shifted]], memory=memory, tol=1e-5)
        assert found.converged
        assert found.objective == pytest.approx(expected.objective, rel=1e-6)


def test_many_problems_share_every_pass():
    K, whole = drawn(7, 400)
    rng = np.random.default_rng(0)
    chains = []
    for _ in range(5):
        own = np.sort(rng.choice(400, 320, replace=False))
        chains.append([Problem(own, whole.signs[own], np.full(320, C), np.full(320, -1.0)) for C in (0.1, 1.0, 10.0)])
    gram = Elsewhere(K)
    memory = vector_bytes(400, 320, 15) + int(0.3 * 8 * 400**2)
    found = solve(gram, chains, memory=memory, threads=2)
    alone = [solve(ArrayGram(K), [[problem]], memory=PLENTY)[0][0] for chain in chains for problem in chain]
    for one, expected in zip((one for chain in found for one in chain), alone, strict=True):
        assert one.converged
        assert one.objective == pytest.approx(expected.objective, rel=1e-4)
    assert gram.products <= max(one.passes for chain in found for one in chain) < 40
    again = solve(Elsewhere(K), chains, memory=memory, threads=1)
    for one, other in zip(itertools.chain.from_iterable(found), itertools.chain.from_iterable(again), strict=True):
        np.testing.assert_array_equal(one.alpha, other.alpha)


def test_chain_starts_from_the_previous_solution():
    K, _ = drawn(8, 300, shift=0.3)
    chain = [drawn(8, 300, C=C, shift=0.3)[1] for C in (1.0, 2.0, 4.0)]
    [warm] = solve(ArrayGram(K), [chain], memory=PLENTY)
    cold = [solve(ArrayGram(K), [[problem]], memory=PLENTY)[0][0] for problem in chain]
    for one, other in zip(warm, cold, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-5)
    assert warm[1].iterations < cold[1].iterations
    [down] = solve(ArrayGram(K), [chain[::-1]], memory=PLENTY)  # smaller bounds: starts anew
    assert [one.iterations for one in down] == [one.iterations for one in cold[::-1]]


def test_a_stored_matrix_on_any_executor(tmp_path, client):
    X = np.random.default_rng(0).normal(size=(90, 12))
    y = np.where(X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=90) > 0, 1.0, -1.0)
    compute_gram(Kendall(), X, store=tmp_path / "gram.zarr", tile=16, progress=False)
    problem = Problem(np.arange(90), y, np.full(90, 10.0), np.full(90, -1.0))
    memory = vector_bytes(90, 90, 1) + 9000
    found = []
    for executor in ("serial", "threads", client):
        gram = open_gram(tmp_path / "gram.zarr", executor=executor)
        found.append(solve(gram, [[problem]], memory=memory)[0][0])
    assert found[0].passes > 1
    for other in found[1:]:
        np.testing.assert_array_equal(other.alpha, found[0].alpha)
    [[held]] = solve(ArrayGram(Kendall()(X)), [[problem]], memory=PLENTY)
    assert found[0].objective == pytest.approx(held.objective, rel=1e-5)


# Refusals ------------------------------------------------------------------------------------------------------------


def test_solver_without_convergence_warns():
    K, problem = drawn(9, 300, C=100.0)
    memory = vector_bytes(300, 300, 1) + 50_000
    [[found]] = solve(Elsewhere(K), [[problem]], memory=memory, max_passes=4)
    assert (found.passes, found.converged) == (4, False)
    [[found]] = solve(Elsewhere(K), [[problem]], memory=memory, max_iter=30)
    assert (found.iterations, found.converged) == (30, False)


def test_invalid_matrices_are_refused():
    K, problem = drawn(10, 60)
    skewed, broken = K.copy(), K.copy()
    skewed[3, 7] += 0.1
    broken[3, 7] = broken[7, 3] = np.nan
    with pytest.raises(InputError, match="not symmetric"):
        solve(ArrayGram(skewed), [[problem]], memory=PLENTY)
    with pytest.raises(InputError, match="not symmetric"):
        solve(Elsewhere(skewed), [[problem]], memory=PLENTY)
    late = Elsewhere(K)
    late._whole._values[3, 7] = late._whole._values[7, 3] = np.nan
    for memory in (PLENTY, vector_bytes(60, 60, 1) + 9000):
        with pytest.raises(InputError, match="not finite"):
            solve(late, [[problem]], memory=memory)


def test_matrix_that_does_not_fit_is_refused_before_it_is_read():
    K, problem = drawn(11, 100)
    gram = Elsewhere(K)
    with pytest.raises(MemoryLimitError, match="training on 100 samples needs"):
        solve(gram, [[problem]], memory=10_000)
    assert gram.read == 0
