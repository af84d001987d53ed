"""Class probabilities by Platt's sigmoid of decision values that folds hold out, fitted within ``fit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.folds import Split
from distkern.learners.multiclass import BinaryProblems, sigmoid

FOLDS = 5
"""Number of folds for the calibration of probabilities."""

Part = Callable[[Indices, Indices], Any]
"""What a model is fitted on, or predicts: kernel values between some rows and columns, or the samples of the rows."""


def calibration_folds(codes: Indices, classes: Array) -> list[Split]:
    """Folds that hold each sample out once; a class of fewer samples is in as many as it can be.

    Raises
    ------
    InputError
        If a class has one sample.
    """
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        raise InputError(
            f"class {classes[sizes.argmin()].item()!r} has 1 sample, too few to calibrate probabilities: leave the "
            "class out, or set probability=False"
        )
    return list(StratifiedKFold(min(FOLDS, int(sizes.min())), shuffle=True, random_state=0).split(codes, codes))


class HeldOutProbabilities:
    """A classifier with ``probability``: P(c | x) from the decision values of samples that a model had not seen.

    Platt's sigmoid 1 / (1 + exp(A f + B)), fitted to the decision values f of the samples that each of five folds holds
    out; of several classes one against the rest, scaled to sum 1.
    """

    probability: bool
    classes_: Array

    def _calibrate(self, model: Any, part: Part, codes: Indices, weights: Floats | None = None) -> None:
        """Set ``probA_`` and ``probB_``.

        Parameters
        ----------
        model
            The classifier without probabilities, which is fitted anew for each fold.
        part
            Function that returns what it takes.
        codes
            Class number of each sample.
        weights
            Weights of the samples; equal if None.
        """
        binary = BinaryProblems(len(self.classes_), one_vs_rest=True)
        scores = np.empty((len(codes), len(binary.pairs)))
        for train, test in calibration_folds(codes, self.classes_):
            given = () if weights is None else (weights[train],)
            fitted = clone(model).fit(part(train, train), self.classes_[codes[train]], *given)
            scores[test] = fitted.decision_function(part(test, train)).reshape(len(test), -1)
        of_samples = np.ones(len(codes)) if weights is None else weights
        fits = [
            sigmoid(scores[:, problem], codes == positive_class, of_samples)
            for problem, (positive_class, _) in enumerate(binary.pairs)
        ]
        self.probA_, self.probB_ = np.array(fits).T

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (samples, classes), in the order of ``classes_``.

        The most probable class may differ from `predict`.

        Raises
        ------
        InputError
            As for `decision_function`.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)  # type: ignore[attr-defined]
        binary = BinaryProblems(len(self.classes_), one_vs_rest=True)
        return binary.probabilities(scores.reshape(len(scores), -1), self.probA_, self.probB_)

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`, (samples, classes)."""
        with np.errstate(divide="ignore"):  # a probability may be 0
            return np.log(self.predict_proba(X))
