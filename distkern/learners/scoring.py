"""Scores of classifiers and regressors whose labels and weights must have the names of the samples."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from distkern.core.alignment import aligned
from distkern.core.weights import sample_weights
from distkern.learners.validation import samples_of


class KernelClassifier(ClassifierMixin):
    """A classifier whose ``score`` refuses labels and weights with the names of other samples."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Fraction of the samples whose label is predicted correctly, weighted by ``sample_weight``.

        Raises
        ------
        InputError
            If labels or weights have the names of other samples, or the same names in another order.
        """
        return float(ClassifierMixin.score(self, X, *_aligned(X, y, sample_weight)))


class KernelRegressor(RegressorMixin):
    """A regressor whose ``score`` refuses targets and weights with the names of other samples."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R² of the predictions, weighted by ``sample_weight``.

        Raises
        ------
        InputError
            If targets or weights have the names of other samples, or the same names in another order.
        """
        return float(RegressorMixin.score(self, X, *_aligned(X, y, sample_weight)))


def _aligned(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    samples = samples_of(X)
    weights = None if sample_weight is None else sample_weights(sample_weight, samples)[0]
    return aligned(y, samples, "y"), weights
