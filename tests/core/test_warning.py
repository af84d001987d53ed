"""Warnings name the line of the user, whatever calls lie between."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import distkern as dk

X = np.random.default_rng(0).normal(size=(60, 6))
K, Y, C = X @ X.T, X[:, 0], np.where(X[:, 0] > 0, "a", "b")
DENSE = dk.ArrayGram(dk.Gaussian(2.0)(X))


@pytest.mark.parametrize(
    "fit",
    [
        lambda: dk.RankSVM(1e4, max_iter=2).fit(K, Y),
        lambda: dk.KernelKMeans(5, max_iter=1, random_state=0).fit(K),
        lambda: dk.KernelKMeans(3, random_state=0).fit(np.ones((4, 4))),
        lambda: dk.KernelSVC(C=1e4, max_iter=2).fit(K, C),
        lambda: dk.KernelSVC(class_weight={"a": 1.0, "b": 2.0, "c": 3.0}).fit(K, C),
        lambda: dk.KernelSVR(C=1e4, max_iter=2).fit(K, Y),
        lambda: dk.KernelRidge(1e-7, solver="cg", max_iter=1).fit(DENSE, Y),
        lambda: dk.LSRRanker(1e-9, solver="cg", max_iter=1).fit(DENSE, Y),
        lambda: dk.KernelFisherDiscriminant(solver="cg", max_iter=1).fit(K, C),
        lambda: dk.MallowsMixture(2, n_init=1, max_iter=1, random_state=0).fit(X),
        lambda: dk.cluster_numbers(K, [5], n_init=1, max_iter=1, random_state=0),
    ],
)
def test_a_learner_warns_at_the_line_that_fits_it(fit):
    with pytest.warns((ConvergenceWarning, UserWarning)) as caught:
        fit()
    assert {warning.filename for warning in caught} == {__file__}


def test_text_is_a_user_warning_and_a_warning_keeps_its_class():
    from distkern.core.warning import warn

    for message, category in (("words", UserWarning), (ConvergenceWarning("words"), ConvergenceWarning)):
        with pytest.warns(category, match="words"):
            warn(message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning, match="words"):
            warn("words", DeprecationWarning)
