"""Low-rank kernels: compared with the formula, the full kernel, and their error bounds."""

import json

import numpy as np
import pytest

from distkern import (
    Bags,
    Gaussian,
    InputError,
    InputTypeError,
    Kendall,
    KernelBhattacharyya,
    KernelIGV,
    KernelSVC,
    Linear,
    LowRank,
    MeanMap,
    SampleError,
    compute_gram,
    from_spec,
    open_gram,
)
from distkern.compiled.bags import factor, sums_of_rows
from distkern.kernels.trust import could_have_prepared

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(40, 3))
BAGS = Bags.from_arrays(
    [RNG.normal(size=(size, 2)) for size in (7, 4, 9, 1, 6)],
    [RNG.uniform(0.5, 2, size) for size in (7, 4, 9, 1, 6)],
)
KERNELS = (KernelIGV, lambda base: KernelIGV(base, 0.05, unit_norm=False), KernelBhattacharyya, MeanMap)


def test_equals_the_kernel_projected_on_the_landmarks():
    Z, base = POINTS[:6], Gaussian(1.5)
    across = base(POINTS, Z)
    expected = across @ np.linalg.solve(base(Z), across.T)
    kernel = LowRank(base, landmarks=Z)
    np.testing.assert_allclose(kernel(POINTS), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.residuals(POINTS), 1 - np.diag(expected), atol=1e-12)
    lost = np.sqrt(kernel.residuals(POINTS))
    assert (abs(base(POINTS) - expected) <= np.outer(lost, lost) + 1e-12).all()


def test_landmarks_have_the_largest_residuals():
    X = np.repeat(POINTS, RNG.integers(1, 4, len(POINTS)), axis=0)
    samples, counts = np.unique(X, axis=0, return_counts=True)
    K, picked = Gaussian(1.0)(samples), []
    for _ in range(9):
        inner = K[np.ix_(picked, picked)]
        left = np.diag(K) - (np.einsum("ij,ij->j", K[picked], np.linalg.solve(inner, K[picked])) if picked else 0)
        picked.append(int(np.argmax(counts * left)))
    kernel = LowRank(Gaussian(1.0), rank=9).resolve(X)
    np.testing.assert_array_equal(kernel.landmarks, samples[picked])


def test_the_tolerance_determines_the_number_of_landmarks():
    for tolerance in (0.3, 0.01):
        kernel = LowRank(Gaussian(1.0), tolerance=tolerance).resolve(POINTS)
        one_less = LowRank(Gaussian(1.0), landmarks=kernel.landmarks[:-1])
        assert kernel.residuals(POINTS).mean() <= tolerance < one_less.residuals(POINTS).mean()


def test_no_landmark_is_taken_once_residuals_vanish():
    kernel = LowRank(Linear(), tolerance=0.0).resolve(POINTS)
    assert len(kernel.landmarks) == 3
    np.testing.assert_allclose(kernel(POINTS), Linear()(POINTS), atol=1e-12)


def test_landmarks_of_a_large_cohort_are_chosen_among_drawn_samples(monkeypatch):
    monkeypatch.setattr("distkern.kernels.lowrank.CANDIDATES", 10)
    kernel = LowRank(Gaussian(1.0), rank=4).resolve(POINTS, seed=3)
    assert kernel == LowRank(Gaussian(1.0), rank=4).resolve(POINTS, seed=3)
    assert len({tuple(row) for row in POINTS.tolist()} & set(kernel.landmarks)) == 4


def test_drawn_samples_are_different_ones(monkeypatch):
    monkeypatch.setattr("distkern.kernels.lowrank.CANDIDATES", 10)
    kernel = LowRank(Gaussian(0.1), rank=10).resolve(np.arange(11.0)[:, None])
    assert len(set(kernel.landmarks)) == 10


@pytest.mark.parametrize("make", KERNELS)
def test_kernels_on_low_rank_features_equal_kernels_on_the_points(make):
    """Scaled by 1, the base kernel shows no features, and the points meet one by one."""
    base = LowRank(Gaussian(1.0), rank=5).resolve(BAGS.values)
    np.testing.assert_allclose(make(base)(BAGS), make(1.0 * base)(BAGS), rtol=1e-8)


@pytest.mark.parametrize("make", KERNELS)
def test_landmarks_that_span_all_points_are_exact(make):
    np.testing.assert_allclose(make(LowRank(Gaussian(1.0), tolerance=0.0))(BAGS), make(Gaussian(1.0))(BAGS), rtol=1e-5)


@pytest.mark.parametrize("rank", [1, 2, 4, 8, 12])
@pytest.mark.parametrize("unit_norm", [True, False])
def test_the_error_of_the_generalised_variance_is_within_its_bound(rank, unit_norm):
    exact = np.log(KernelIGV(Gaussian(0.7), 0.05, unit_norm)(BAGS))
    kernel = KernelIGV(LowRank(Gaussian(0.7), rank), 0.05, unit_norm)
    error, bound = np.log(kernel(BAGS)) - exact, kernel.error_bound(BAGS)
    assert (abs(error) <= bound + 1e-12).all()
    assert unit_norm or (error >= -1e-12).all()
    assert bound.min() < 100 * abs(error).max()  # it says something
    new = Bags.from_arrays([RNG.normal(size=(5, 2)), RNG.normal(size=(2, 2))])
    fixed = kernel.resolve(BAGS)
    error = np.log(fixed(new, BAGS)) - np.log(KernelIGV(Gaussian(0.7), 0.05, unit_norm)(new, BAGS))
    assert (abs(error) <= fixed.error_bound(new, BAGS) + 1e-12).all()
    assert (KernelIGV(Gaussian(0.7)).error_bound(BAGS) == 0).all()


@pytest.mark.parametrize("make", [KernelIGV, KernelBhattacharyya, MeanMap, lambda base: base])
def test_tiles_have_the_same_bits_wherever_their_borders_fall(make):
    kernel = make(LowRank(Gaussian(1.0), rank=5))
    X = BAGS.rows() if kernel.name != "low-rank" else POINTS
    kernel = kernel.resolve(X)
    whole = kernel(X)
    for side in (1, 2, 3):
        blocks = [kernel.prepare(X[first : first + side], first) for first in range(0, len(X), side)]
        for i, A in enumerate(blocks):
            for j, B in enumerate(blocks[i:], start=i):
                found = kernel.tile(A, A if i == j else B)
                np.testing.assert_array_equal(found, whole[i * side : (i + 1) * side, j * side : (j + 1) * side])
    block = kernel.prepare(X)
    assert could_have_prepared(kernel, block, X.shape[1])
    assert not could_have_prepared(kernel, block, X.shape[1] + 1)
    np.testing.assert_allclose(kernel.diagonal(block), np.diag(whole), rtol=1e-12)
    assert np.linalg.eigvalsh(whole).min() > -1e-10


@pytest.mark.parametrize("make", [KernelIGV, KernelBhattacharyya, MeanMap])
def test_a_stored_matrix_keeps_the_landmarks_and_predicts_for_new_bags(make, tmp_path):
    y = np.arange(20) % 2
    bags = Bags.from_arrays([RNG.normal(size=(RNG.integers(2, 7), 2)) * (1 + label) for label in y])
    new = Bags.from_arrays([RNG.normal(size=(k, 2)) * (1 + k % 2) for k in (9, 8, 3, 2)])
    kernel = make(LowRank(Gaussian("median"), rank=6))
    compute_gram(kernel, bags, store=tmp_path / "k.zarr", tile=7)
    gram = open_gram(tmp_path / "k.zarr")
    assert from_spec(json.loads(json.dumps(gram.kernel.spec()))) == gram.kernel == kernel.resolve(bags)
    np.testing.assert_array_equal(gram.to_numpy(), kernel(bags))
    np.testing.assert_allclose(gram.cross(new).to_numpy(), kernel(new, bags), rtol=1e-9)
    on_gram = KernelSVC().fit(gram, y).decision_function(gram.cross(new))
    np.testing.assert_allclose(KernelSVC(kernel=kernel).fit(bags, y).decision_function(new), on_gram, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LowRank("rbf"), "base must be a kernel"),
        (lambda: LowRank(rank=0), "rank must be a whole number of 1 or more"),
        (lambda: LowRank(tolerance=1.0), "tolerance must be a number from 0 to 1"),
        (lambda: LowRank(landmarks=()), "landmarks must be rows of as many numbers each"),
        (lambda: LowRank(landmarks=((0.0,), (1.0, 2.0))), "landmarks must be rows of as many numbers each"),
        (lambda: LowRank(Linear(), landmarks=((1.0,), (2.0,)))([[1.0]]), "landmarks are linearly dependent"),
        (lambda: LowRank(Gaussian(1.0)).prepare(POINTS), "landmarks depend on the cohort: call resolve"),
        (lambda: LowRank(Linear())(np.zeros((3, 2))), "all samples are 0 in feature space"),
        (lambda: LowRank(Gaussian(1.0))(POINTS, POINTS[:, :2]), "3 features and Y has 2"),
    ],
)
def test_wrong_parameters_are_refused(make, said):
    with pytest.raises((InputError, InputTypeError), match=said):
        make()


def test_a_point_that_the_base_kernel_refuses_is_named():
    bags = Bags.from_arrays([[[1.0, 2.0]], [[1.0, 2.0], [3.0, 3.0]]], ids=["a", "b"])
    with pytest.raises(SampleError, match="is constant"):
        MeanMap(LowRank(Kendall("b")))(bags)


@pytest.mark.parametrize("d", range(1, 14))
def test_a_factor_is_that_of_cholesky(d):
    A = RNG.normal(size=(d, d))
    S = A @ A.T + np.eye(d)
    upper = S.copy()
    np.testing.assert_allclose(factor(upper), np.linalg.slogdet(S)[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.triu(upper).T, np.linalg.cholesky(S), rtol=1e-10, atol=1e-12)
    upper = S - 2 * np.linalg.eigvalsh(S)[0] * np.eye(d)
    assert np.isnan(factor(upper))


@pytest.mark.parametrize("length", range(1, 10))
def test_sums_of_rows_are_the_product(length):
    factors, table, rows = RNG.normal(size=(3, length)), RNG.normal(size=(12, 7)), RNG.integers(0, 12, length)
    factors[1, : length // 2] = 0.0
    found = sums_of_rows(factors, table, rows)
    np.testing.assert_allclose(found, factors @ table[rows], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[:, 2:5], sums_of_rows(factors, table[:, 2:5].copy(), rows))
