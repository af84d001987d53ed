"""Linear systems with a Gram matrix against numpy's own solution, directly and by conjugate gradients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.core.errors import InputError, MemoryLimitError
from distkern.operators.array import ArrayGram
from distkern.solvers import conjugate
from distkern.solvers.conjugate import direct_bytes, gradient_bytes, solve

PLENTY = 2**32


class LazyGram(ArrayGram):
    """Counts its products, and does not let anybody read blocks."""

    passes = 0

    def _block(self, rows, cols):
        raise AssertionError("read by blocks")

    def _product(self, V, rows=None, cols=None):
        self.passes += 1
        return super()._product(V, rows, cols)


def problem(seed, m=40, columns=4, rank=None):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, rank or m))
    return A @ A.T / m, rng.normal(size=(m, columns)), rng.uniform(0.05, 2.0, columns), rng.uniform(0.5, 2.0, m)


def expected(A, B, shifts, scale):
    m = len(A)
    system = scale[:, None] * A * scale
    return np.column_stack([np.linalg.solve(system + mu * np.eye(m), b) for mu, b in zip(shifts, B.T, strict=True)])


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 5), st.sampled_from(["direct", "cg"]), st.booleans())
def test_equals_the_dense_solution(seed, m, columns, method, scaled):
    A, B, shifts, scale = problem(seed, m, columns)
    scale = scale if scaled else np.ones(m)
    found = solve(ArrayGram(A), B, shifts, scale=scale if scaled else None, method=method, tol=1e-11, memory=PLENTY)
    truth = expected(A, B, shifts, scale)
    np.testing.assert_allclose(found.coefficients, truth, rtol=1e-6, atol=1e-8 * np.abs(truth).max())
    np.testing.assert_allclose(found.products, scale[:, None] * (A @ (scale[:, None] * found.coefficients)), atol=1e-9)
    assert found.converged
    assert found.residual.max() <= 1e-10


@pytest.mark.parametrize("method", ["direct", "cg"])
def test_the_residual_is_measured(method):
    A, B, shifts, _ = problem(0)
    found = solve(ArrayGram(A), B, shifts, method=method, tol=1e-3, memory=PLENTY)
    difference = B - A @ found.coefficients - shifts * found.coefficients
    np.testing.assert_allclose(
        found.residual, np.linalg.norm(difference, axis=0) / np.linalg.norm(B, axis=0), rtol=1e-6, atol=1e-14
    )


def test_equal_and_unlike_shifts_share_one_matrix_in_memory(monkeypatch):
    monkeypatch.setattr(conjugate, "BLOCK_BYTES", 8 * 40 * 7)  # seven rows at a time
    A, B, _, scale = problem(1)
    shifts = np.array([0.3, 2.0, 0.3, 0.0])
    found = solve(ArrayGram(A), B, shifts, scale=scale, method="direct", memory=PLENTY)
    np.testing.assert_allclose(found.coefficients, expected(A, B, shifts, scale), rtol=1e-6)
    assert found.residual.max() < 1e-8
    assert found.passes == 1


def test_a_pass_advances_all_columns():
    A, B, shifts, _ = problem(2, m=200, columns=6)
    gram = LazyGram(A)
    together = solve(gram, B, shifts, method="cg", tol=1e-8, memory=PLENTY)
    assert gram.passes == together.passes
    alone = [solve(LazyGram(A), B[:, [k]], shifts[[k]], method="cg", tol=1e-8, memory=PLENTY) for k in range(6)]
    assert together.passes <= max(found.passes for found in alone) + 1


def test_the_preconditioner_saves_passes(monkeypatch):
    rng = np.random.default_rng(3)
    vectors = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    A = (vectors * 10.0 ** -np.linspace(-2, 13, 300)) @ vectors.T
    A = (A + A.T) / 2
    b = rng.normal(size=(300, 1))
    with_it = solve(ArrayGram(A), b, np.array([1e-2]), method="cg", max_iter=3000, memory=PLENTY)
    monkeypatch.setattr(conjugate, "SKETCH", 0)
    without = solve(ArrayGram(A), b, np.array([1e-2]), method="cg", max_iter=3000, memory=PLENTY)
    assert with_it.converged
    assert without.converged
    assert 3 * with_it.passes < without.passes


def test_the_objective_never_increases():
    A, B, shifts, _ = problem(4, m=80, columns=1, rank=50)
    system = A + shifts[0] * np.eye(80)
    values = []
    for iterations in range(1, 30):
        x = solve(ArrayGram(A), B, shifts, method="cg", tol=1e-12, max_iter=iterations, memory=PLENTY).coefficients
        values.append(float((0.5 * x.T @ system @ x - B.T @ x)[0, 0]))
    assert (np.diff(values) <= 1e-12 * abs(values[0])).all()
    assert values[-1] < values[0]


def test_a_right_hand_side_of_zero_is_solved_by_zero():
    A, B, shifts, _ = problem(5, columns=2)
    B[:, 0] = 0
    for method in ("direct", "cg"):
        found = solve(ArrayGram(A), B, shifts, method=method, memory=PLENTY)
        np.testing.assert_array_equal(found.coefficients[:, 0], 0)
        assert found.residual[0] == 0


def test_early_stop_warns():
    A, B, _, _ = problem(6, m=200)
    found = solve(ArrayGram(A), B, np.full(4, 1e-6), method="cg", tol=1e-10, max_iter=2, memory=PLENTY)
    assert not found.converged
    assert found.iterations == 2
    assert found.residual.max() > 1e-10


@pytest.mark.parametrize("method", ["direct", "cg"])
def test_a_system_that_is_not_positive_definite_is_refused(method):
    A = np.diag([3.0, 1.0, -2.0, 0.5, 0.7, 0.9])
    with pytest.raises(InputError, match=r"plus 0.5 on the diagonal is not positive definite"):
        solve(ArrayGram(A), np.ones((6, 1)), np.array([0.5]), method=method, memory=PLENTY)
    solve(ArrayGram(A), np.ones((6, 1)), np.array([2.5]), method=method, memory=PLENTY)


def test_direct_where_it_fits_and_gradients_where_it_does_not():
    A, B, shifts, _ = problem(7, m=300, columns=2)
    assert gradient_bytes(300, 2) < direct_bytes(300, 2)
    gram = LazyGram(A)
    found = solve(gram, B, shifts, memory=direct_bytes(300, 2) - 1)
    assert found.iterations > 0
    assert solve(ArrayGram(A), B, shifts, memory=direct_bytes(300, 2)).iterations == 0
    with pytest.raises(MemoryLimitError, match="memory_limit="):
        solve(gram, B, shifts, method="direct", memory=direct_bytes(300, 2) - 1)
    with pytest.raises(MemoryLimitError, match="memory_limit="):
        solve(gram, B, shifts, memory=gradient_bytes(300, 2) - 1)


class BrokenGram(ArrayGram):
    def _block(self, rows, cols):
        return super()._block(rows, cols) * np.nan

    def _product(self, V, rows=None, cols=None):
        return super()._product(V, rows, cols) * np.nan


@pytest.mark.parametrize("method", ["direct", "cg"])
def test_tiles_that_are_not_finite_are_refused(method):
    with pytest.raises(InputError, match="not finite"):
        solve(BrokenGram(np.eye(5)), np.ones((5, 1)), np.ones(1), method=method, memory=PLENTY)
