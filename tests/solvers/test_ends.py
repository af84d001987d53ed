"""Every solver ends, with a solution or with a sentence, however large or small its numbers are."""

import warnings

import numpy as np
import pytest

from distkern import (
    ArrayGram,
    InputError,
    KernelFisherDiscriminant,
    KernelKMeans,
    KernelLogistic,
    KernelPCA,
    KernelRidge,
    KernelSVC,
    KernelSVR,
    RankSVM,
)
from distkern.compiled import smo
from distkern.solvers.dual import Problem
from distkern.solvers.smo import solve
from distkern.solvers.working_set import Stalls

EYE, TARGETS, LABELS = np.eye(4), [1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1]
HUGE = [1e308, -1e308, 1e308, 1.0]
REFUSED = {
    "targets": lambda: KernelSVR().fit(EYE, HUGE),  # it did not end
    "targets and C": lambda: KernelSVR(C=1e308).fit(1e-300 * EYE, [1e10, 2.0, 3.0, 4.0]),  # it did not end
    "epsilon": lambda: KernelSVR(epsilon=1e308).fit(EYE, TARGETS),
    "kernel of SVC": lambda: KernelSVC().fit(1e308 * EYE, LABELS),  # it did not end
    "targets of ridge": lambda: KernelRidge().fit(EYE, HUGE),
    "kernel of Fisher": lambda: KernelFisherDiscriminant().fit(1e300 * EYE, LABELS),
    "lam of KernelLogistic": lambda: KernelLogistic(lam=1e308).fit(1e-300 * EYE, LABELS),
    "C of RankSVM": lambda: RankSVM(C=1e308).fit(EYE, TARGETS),
    "C of RankSVM, squared": lambda: RankSVM(C=1e308, loss="squared_hinge").fit(EYE, TARGETS),
    "kernel of k-means": lambda: KernelKMeans(2).fit(1e308 * EYE),
    "weights of k-means": lambda: KernelKMeans(2).fit(EYE, sample_weight=[1e308] * 4),
}


@pytest.mark.parametrize("what", REFUSED)
def test_numbers_that_cannot_be_added_are_refused(what):
    with (
        np.errstate(all="ignore"),
        pytest.raises(InputError, match=r"beyond what float64|too large to be added|adds up to infinity"),
    ):
        REFUSED[what]()


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-20, 1.0, 1e20, 1e150, 1e300])
def test_support_vector_machines_end_at_every_scale(scale):
    """The solution is that at scale 1 where C times the kernel is the same; it may only be too imprecise."""
    K = np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 1.0], [0.0, 0.0, 1.0, 2.0]])
    for y in (LABELS, TARGETS):
        learner = KernelSVC if y is LABELS else KernelSVR
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = learner(C=1.0, tol=1e-9).fit(K, y).decision_function(K) if y is LABELS else None
            found = learner(C=1.0 / scale, tol=1e-9).fit(scale * K, y)
        if y is LABELS:
            np.testing.assert_allclose(found.decision_function(scale * K), expected, atol=1e-6)


@pytest.mark.parametrize("size", [1e12, 1e15, 1e18])
def test_targets_whose_rounding_is_more_than_the_tolerance(size):
    """Times in nanoseconds: the violation cannot fall to 0.001 where numbers are 128 apart."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = KernelSVR(C=size, tol=1e-3).fit(X @ X.T, size * X[:, 0])
    np.testing.assert_allclose(found.predict(X @ X.T) / size, X[:, 0], atol=1e-6)


def test_a_problem_without_a_minimum_stops_at_the_number_of_pairs(monkeypatch):
    monkeypatch.setattr("distkern.solvers.smo.MOST_PAIRS", 1000)
    problem = Problem(np.arange(4), np.array([1.0, -1.0, 1.0, -1.0]), np.full(4, 1e300), -np.ones(4))
    [[found]] = solve(ArrayGram(np.ones((4, 4))), [[problem]], memory=2**24)
    assert not found.converged
    assert 0 < found.iterations <= 1000


def test_steps_that_are_lost_in_rounding_end_the_solver():
    alpha, F = np.full(2, 1e30), np.array([0.0, 1.0])
    parts = np.arange(2), np.array([1.0, 1.0]), np.full(2, 1e31), np.zeros(2), 0.0, np.ones(2)
    pairs, violation = smo.minimize(np.eye(2), *parts, alpha, F, 1e-3, 10**9, 10**9)
    assert (pairs, violation) == (1, 1.0)
    np.testing.assert_array_equal(alpha, 1e30)


def test_rounds_without_progress_are_counted():
    stalls = Stalls(3)
    assert [stalls.too_many(objective, 1.0) for objective in (5.0, 4.0, 4.0, 4.0, 3.0, 3.0, 3.0, 3.0)] == [
        *[False] * 7,
        True,
    ]
    assert [Stalls(1).too_many(np.nan, np.nan)] == [True]


def test_other_learners_end_at_every_scale():
    for scale in (1e-310, 1e-300, 1e150):
        KernelPCA(2).fit(scale * EYE)
        KernelRidge().fit(scale * EYE, TARGETS)
        KernelKMeans(2, random_state=0).fit(scale * EYE)
