"""kernlab's solver: without its fault it is LIBSVM, with it it is wrong as an outside experiment with kernlab found."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from distkern import ArrayGram, Kendall, KernelStandardizer, KernelSVC
from distkern.reproduce.authors_table import draw, second_class
from distkern.reproduce.cancer_cohorts import load
from distkern.reproduce.kernlab_svm import KernlabSVC

pytestmark = pytest.mark.slow  # compiling the solver takes ten seconds


def noisy(m, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, 30)), rng.permutation(np.repeat(["no", "yes"], [m // 3, m - m // 3]))
    K = X @ X.T
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K))), y


def dual(K, y, model, second):
    """Objective of the solution on the true matrix."""
    v = model.dual_coef_
    return 0.5 * v @ K @ v - np.where(y == second, v, -v).sum()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_without_the_fault_it_solves_as_libsvm(seed, C):
    """Equal scores and objective within the tolerance of both, after steps with shrinking."""
    K, y = noisy(80, seed)
    ours = KernlabSVC(C, "yes", faulty=False).fit(K, y)
    libsvm = SVC(kernel="precomputed", C=C, tol=1e-6).fit(K, y)
    exact = np.zeros(len(y))
    exact[libsvm.support_] = libsvm.dual_coef_[0]
    assert dual(K, y, ours, "yes") == pytest.approx(0.5 * exact @ K @ exact - np.abs(exact).sum(), rel=1e-4)
    assert ours.objective_ == pytest.approx(dual(K, y, ours, "yes"), rel=1e-4)
    np.testing.assert_allclose(ours.decision_function(K), libsvm.decision_function(K), atol=1e-2 * max(1, C) ** 0.5)
    assert abs(ours.dual_coef_.sum()) < 1e-9 * max(1, C)
    assert np.abs(ours.dual_coef_).max() <= C


def first_fold():
    """The first outer training set of CT with Kendall's kernel, standardised: the one of the outside experiment."""
    samples = load("CT")
    train = draw(samples)[0][0].train
    gram = ArrayGram(Kendall("b")(samples.X))[np.ix_(train, train)]
    return KernelStandardizer().fit_transform(gram).to_numpy(), samples.y[train], second_class("CT", samples)


def test_with_the_fault_it_stops_at_the_wrong_solution_that_was_found_from_outside():
    K, y, second = first_fold()
    wrong = KernlabSVC(1.0, second).fit(K, y)
    right = KernlabSVC(1.0, second, faulty=False).fit(K, y)
    assert round(dual(K, y, right, second), 2) == -14.39
    assert round(dual(K, y, wrong, second), 2) == -11.51
    exact = KernelSVC(C=1.0).fit(K, y)
    np.testing.assert_allclose(right.decision_function(K), -exact.decision_function(K), atol=1e-2)


def test_a_fit_whose_steps_do_not_end_warns():
    K, y = noisy(60, 1)
    with pytest.warns(ConvergenceWarning, match="did not end in 5 steps"):
        model = KernlabSVC(1.0, "yes", max_iter=5).fit(K, y)
    assert model.n_iter_ == 5


def test_the_second_class_has_positive_scores():
    x = np.array([-3.0, -2.0, 2.0, 3.0])
    for second in ("a", "b"):
        model = KernlabSVC(1.0, second).fit(np.outer(x, x), np.array(["a", "a", "b", "b"]))
        assert model.predict(np.outer([-1.0, 1.0], x)).tolist() == ["a", "b"]
        assert (model.decision_function(np.outer([1.0], x)) > 0) == (second == "b")
