"""Matrices that no positive semidefinite kernel has are refused by all that solve a convex problem on them."""

import numpy as np
import pytest

from distkern import (
    ArrayGram,
    Gaussian,
    InputError,
    KernelFisherDiscriminant,
    KernelLogistic,
    KernelSVC,
    KernelSVR,
    Linear,
    RankSVM,
    compute_gram,
)
from distkern.solvers.definite import EIGEN, largest_diagonal, refuse_indefinite, refuse_negative_curvature

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(30, 3))
DISTANCES = np.sqrt(((POINTS[:, None] - POINTS) ** 2).sum(axis=2))
DRAWN = RNG.normal(size=(30, 30))
LABELS = np.repeat([0, 1], 15)

INDEFINITE = {
    "symmetric": (DRAWN + DRAWN.T) / 2,
    "distances": DISTANCES,
    "squared distances": DISTANCES**2,
    "negative distances": -DISTANCES,
    "distances plus one": 1 + DISTANCES,
    "sigmoid": np.tanh(0.5 * POINTS @ POINTS.T - 1),
    "less than Gaussian": Gaussian(1.0)(POINTS) - 0.2 * np.eye(30),
    "one negative eigenvalue": np.eye(30) - 2 * np.full((30, 30), 1 / 30),
}
LEARNERS = {
    "SVC": KernelSVC(C=10.0),
    "SVR": KernelSVR(C=10.0),
    "Fisher": KernelFisherDiscriminant(),
    "logistic": KernelLogistic(),
    "Fisher by products": KernelFisherDiscriminant(solver="cg"),
}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", INDEFINITE)
def test_an_indefinite_matrix_is_refused(name, learner):
    if (name, learner) == ("one negative eigenvalue", "Fisher by products"):
        pytest.skip("products with few vectors do not meet its one direction")
    K = INDEFINITE[name]
    assert np.linalg.eigvalsh(K)[0] < -0.01  # this is what is wrong with it
    with pytest.raises(InputError, match="not positive semidefinite, so it belongs to no feature space"):
        LEARNERS[learner].fit(K, LABELS)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["symmetric", "distances", "squared distances"])
def test_rankings_are_not_learned_from_one_either(name, loss):
    with pytest.raises(InputError, match="not positive semidefinite"):
        RankSVM(loss=loss).fit(INDEFINITE[name], np.arange(30.0))


def test_the_message_names_the_samples():
    gram = ArrayGram(DISTANCES, row_ids=[f"s{i}" for i in range(30)])
    with pytest.raises(InputError, match=r"for the samples 's\d+' and 's\d+' is larger in size than sqrt"):
        KernelSVC().fit(gram, LABELS)


@pytest.mark.parametrize("learner", [*LEARNERS.values(), RankSVM()], ids=[*LEARNERS, "RankSVM"])
def test_a_negative_square_is_named_by_its_sample(learner):
    K = np.eye(30)
    K[7, 7] = -0.5
    with pytest.raises(InputError, match=r"k\(x, x\) is -0.5 for sample 's7'"):
        learner.fit(ArrayGram(K, row_ids=[f"s{i}" for i in range(30)]), np.arange(30) % 2)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_is_no_reason(dtype, learner, tmp_path):
    """A linear kernel of rank 3 with duplicates has 27 eigenvalues that are 0 up to the rounding of the store."""
    X = np.concatenate([POINTS[:15], POINTS[:15] * (1 + 1e-9)]) + 3.0
    y = np.where(X[:, 0] > X[:, 0].mean(), 1, 0)
    gram = compute_gram(Linear(), X, store=tmp_path / "k.zarr", dtype=dtype, progress=False)
    for matrix in (gram, gram.centered(), gram.unit_norm(), gram.to_numpy()):
        LEARNERS[learner].fit(matrix, y)


def test_an_approximation_of_low_rank_is_no_reason(tmp_path):
    gram = compute_gram(Gaussian(1.0), POINTS, landmarks=5, store=tmp_path / "k.zarr", progress=False)
    for learner in LEARNERS.values():
        learner.fit(gram, LABELS)


def test_a_matrix_that_is_zero_is_none():
    refuse_indefinite(np.zeros((4, 4)), 0.0, named=str)
    refuse_indefinite(np.ones((1, 1)), 1.0, named=str)


def test_many_samples_are_tested_by_some_of_them():
    m = EIGEN + 200
    K = np.eye(m) - 0.004  # one eigenvalue of 1 − 0.004 m
    with pytest.raises(InputError, match="it has the eigenvalue -1"):
        refuse_indefinite(K, 1.0, named=str)


def test_rounding_is_measured_by_the_matrix_behind_a_view():
    K = ArrayGram(100.0 + np.eye(4))
    assert largest_diagonal(K.centered()) == 101.0
    assert largest_diagonal(K.centered()[1:, 1:]) == 101.0


def test_curvature_along_a_vector():
    V, K = np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])
    refuse_negative_curvature(V, K @ V, 1.0)
    with pytest.raises(InputError, match="vᵀKv / vᵀv is -1 for a vector v"):
        refuse_negative_curvature(np.array([[1.0], [-1.0]]), K @ [[1.0], [-1.0]], 1.0)
