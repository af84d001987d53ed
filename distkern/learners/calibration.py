"""Probabilities and sets of classes with a stated error, from decision values of samples that a model has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError, InputTypeError
from distkern.core.labels import encoded_labels
from distkern.core.parameters import one_of, whole_number
from distkern.core.typing import Array, Floats, Indices
from distkern.core.warning import warn
from distkern.io.source import as_source
from distkern.learners.base import delete_attribute
from distkern.learners.folds import Folds, Split
from distkern.learners.matrices import training_matrix
from distkern.learners.multiclass import sigmoid
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelClassifier
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.learners.validation import labels_and_weights, samples_of
from distkern.operators.base import BaseGram

METHODS = ("sigmoid", "isotonic")
"""How decision values become probabilities."""

FEWEST_ISOTONIC = 50
"""Samples of the smaller class below which isotonic regression is too flexible, so that the user is warned."""


@saveable
class CalibratedClassifier(KernelClassifier, BaseEstimator):
    """P(c | x) from held-out decision values, and the set {c : p_c(x) > ε}, p_c = (1 + #{s_i ≥ s_c(x)}) / (1 + n_c).

    The samples are split into folds. A model that was fitted without a fold gives the decision values of its samples,
    so that they are those of samples not seen. From all of them follow

    - **probabilities**: Platt's sigmoid 1 / (1 + exp(A f + B)), or isotonic regression; of several classes one against
      the rest, scaled to sum 1;
    - **conformal p-values**, for each class c: s_c(x) = −f_c(x) says how strange x would be in class c, and p_c(x) is
      the rank of s_c(x) among the s_c of the n_c samples of that class. For new samples from the same population, the
      set of classes with p_c > ε misses the true class with probability ε at most, whatever its class.

    The estimator is then fitted to all samples. Its decision values are converted in the same way.

    Source: Platt, *Probabilistic outputs for support vector machines* (1999); Zadrozny & Elkan, *Transforming
    classifier scores into accurate multiclass probability estimates* (2002); Vovk, Gammerman & Shafer, *Algorithmic
    learning in a random world* (2005), chapter 4, for the label-conditional form.

    Parameters
    ----------
    estimator
        Classifier with a ``decision_function``, of kernel values or of samples. None:
        ``make_pipeline(KernelStandardizer(), KernelSVC())``.
    method
        ``"sigmoid"``, for any number of samples; or ``"isotonic"``, which takes any ascending function and some hundred
        samples.
    cv
        Number of folds, fewer if a class has fewer samples; or a fraction, such as 0.3: this part of the samples
        calibrates, and only the rest fits the estimator (split conformal). The bound of the error is exact for a
        fraction. For folds it is approximate: the values of the folds belong to models of slightly fewer samples.
    random_state
        Seed that shuffles the folds.

    Attributes
    ----------
    classes_
        The labels, sorted.
    estimator_
        The fitted estimator.
    calibrators_
        Of each problem ``[A, B]`` for a sigmoid, or the decision values and probabilities between which isotonic
        regression interpolates.
    strangeness_
        For each class the sorted s_c of its samples. They are numbers without names, and all that a file keeps.

    Raises
    ------
    InputError
        If a class has one sample, or fewer groups than folds; or the error of a set is not between 0 and 1.
    InputTypeError
        If the estimator has no ``decision_function``.

    See Also
    --------
    train_classifier : Calibrates, evaluates and describes.
    sklearn.calibration.CalibratedClassifierCV : Probabilities of other classifiers.

    Notes
    -----
    The bound holds for samples of the same population as the training samples. It does **not** hold on another
    platform or in another hospital, whose decision values may be shifted: look at the sets of samples whose class is
    known. A class needs about 1 / ε samples, or no set leaves it out.

    Examples
    --------
    >>> from distkern.kernels.vectors import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(80, 2)), np.array(["ill", "well"])[np.arange(80) % 2]
    >>> X[::2] += 1.5
    >>> model = CalibratedClassifier(KernelSVC(kernel=Gaussian(sigma=2.0))).fit(X, y)
    >>> model.predict_proba(np.array([[3.0, 3.0], [0.7, 0.8]])).round(1)
    array([[0.9, 0.1],
           [0.4, 0.6]])
    >>> model.predict_set(np.array([[3.0, 3.0], [0.7, 0.8]]), error=0.1)
    array([[ True, False],
           [ True,  True]])
    """

    def __init__(
        self, estimator: Any = None, method: str = "sigmoid", cv: int | float = 5, random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> CalibratedClassifier:
        """Fit the estimator, probabilities and sets to samples (m, n) or a matrix (m, m), and labels (m,).

        ``groups``: group of each sample, such as the patient or the hospital, that no fold divides.
        """
        model = self._model()
        one_of(self.method, "method", METHODS)
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        data: Any = training_matrix(X, "precomputed") if self._pairwise() else _sliceable(X)
        samples = data if isinstance(data, BaseGram) else samples_of(X)
        labels = labels_and_weights(y, None, samples)[0]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        group_of = None if groups is None else encoded_labels(groups, samples, "groups")[1]
        held_out: list[tuple[Indices, Floats]] = []
        splits = list(self._splits(labels, group_of))
        for train, test in splits:
            fitted = clone(model).fit(_part(data, train, train), labels[train])
            held_out.append((test, self._columns(fitted.decision_function(_part(data, test, train)))))
        if len(splits) == 1:
            self.estimator_ = fitted
        else:
            self.estimator_ = clone(model).fit(X, y)
        self._calibrate(codes, held_out)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        else:
            delete_attribute(self, "feature_names_in_")
        return self

    def predict(self, X: Any) -> Array:
        """Class of each sample, (samples,), as the estimator predicts it."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def decision_function(self, X: Any) -> Floats:
        """Decision values of the estimator: (samples,) for two classes, else (samples, classes)."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (samples, classes), in the order of ``classes_``."""
        check_is_fitted(self)
        scores = self._columns(self.estimator_.decision_function(X))
        columns = np.stack(
            [self._probability(k, scores[:, column]) for k, column in enumerate(self._problems())], axis=1
        )
        if len(self.classes_) == 2:
            return np.concatenate([1 - columns, columns], axis=1)
        total = columns.sum(axis=1, keepdims=True)
        return np.where(total > 0, columns / np.where(total > 0, total, 1), 1 / len(self.classes_))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`, (samples, classes)."""
        with np.errstate(divide="ignore"):  # a probability may be 0
            return np.log(self.predict_proba(X))

    def conformal_pvalues(self, X: Any) -> Floats:
        """Conformal p-value of each class, (samples, classes): how usual the sample would be in the class."""
        check_is_fitted(self)
        scores = -self._columns(self.estimator_.decision_function(X))
        parts = []
        for column, known in enumerate(self.strangeness_):
            as_strange = len(known) - np.searchsorted(known, scores[:, column], side="left")
            parts.append((1 + as_strange) / (1 + len(known)))
        return np.stack(parts, axis=1)

    def predict_set(self, X: Any, error: float = 0.1) -> Array:
        """Classes that a sample may have, at an error level ε: boolean (samples, classes).

        One class: the call is sure. None, or several: unsure.
        """
        if not 0 < error < 1:
            raise InputError(f"error must be between 0 and 1; got {error!r}")
        return self.conformal_pvalues(X) > error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._model())
        tags.input_tags = deepcopy(inner.input_tags)
        tags.classifier_tags.multi_class = inner.classifier_tags is None or inner.classifier_tags.multi_class
        return tags

    # Parts ---------------------------------------------------------------------------------------------------------

    def _model(self) -> Any:
        model = make_pipeline(KernelStandardizer(), KernelSVC()) if self.estimator is None else self.estimator
        if not hasattr(model, "decision_function"):
            raise InputTypeError(
                f"{type(model).__name__} has no decision_function, from which probabilities are made: give another "
                "classifier"
            )
        return model

    def _pairwise(self) -> bool:
        return bool(get_tags(self._model()).input_tags.pairwise)

    def _splits(self, labels: Array, groups: Array | None) -> Iterator[Split]:
        share = self.cv
        if isinstance(share, (float, np.floating)) and not isinstance(share, bool):
            if not 0 < share <= 0.5:
                raise InputError(f"cv must be a number of folds, or a fraction of at most 0.5; got {share!r}")
            share = round(1 / share)
            plan = Folds(labels, groups, None, self.random_state).outer(int(share), 1)
            train, test, _ = next(iter(plan))
            yield train, test
            return
        whole_number(share, "cv", 2)
        if groups is None:  # a class of fewer samples is in as many folds as it can be
            share = max(2, min(int(share), int(np.unique(labels, return_counts=True)[1].min())))
        for train, test, _ in Folds(labels, groups, None, self.random_state).outer(int(share), 1):
            yield train, test

    def _columns(self, values: Any) -> Floats:
        """Decision values with a column for each class; of two classes −f and f."""
        values = np.asarray(values, dtype=np.float64)
        return np.stack([-values, values], axis=1) if values.ndim == 1 else values

    def _problems(self) -> list[int]:
        """Column of each calibrator: the second of two classes, or every class."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    def _calibrate(self, codes: Indices, held_out: list[tuple[Indices, Floats]]) -> None:
        seen = np.concatenate([test for test, _ in held_out])
        scores, own = np.concatenate([values for _, values in held_out]), codes[seen]
        self.strangeness_ = [np.sort(-scores[own == c, c]) for c in range(len(self.classes_))]
        smallest = int(np.bincount(own).min())
        if self.method == "isotonic" and smallest < FEWEST_ISOTONIC:
            warn(f"a class has {smallest} samples, few for isotonic regression: use the sigmoid")
        self.calibrators_ = [self._fitted(scores[:, column], own == column) for column in self._problems()]

    def _fitted(self, scores: Floats, positive: Array) -> Array:
        if self.method == "sigmoid":
            return np.array(sigmoid(scores, positive, np.ones(len(scores))))
        found = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, positive)
        return np.stack([found.X_thresholds_, found.y_thresholds_])

    def _probability(self, problem: int, scores: Floats) -> Floats:
        from scipy.special import expit

        known = self.calibrators_[problem]
        if known.ndim == 1:
            return np.asarray(expit(-(known[0] * scores + known[1])), dtype=np.float64)
        return np.interp(scores, *known)


def _sliceable(X: Any) -> Any:
    """View samples so that rows can be selected: an array unchanged, any other container as a `Source`."""
    if isinstance(X, np.ndarray):
        return X
    try:
        return as_source(X)
    except InputTypeError:  # lists and other array-likes of scikit-learn
        return np.asarray(X)


def _part(data: Any, rows: Indices, columns: Indices) -> Any:
    """Kernel values between rows and columns, or the samples at some rows."""
    if isinstance(data, BaseGram):
        return data[np.ix_(rows, columns)]
    return data[rows] if isinstance(data, np.ndarray) else data.part(rows)
