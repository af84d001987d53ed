"""The support vector classifier on kernel values, wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.io.source import Source
from distkern.learners.base import KernelEstimator
from distkern.learners.checks import (
    BLOCKS_OF_VIEW,
    labels_and_weights,
    memory_at_work,
    read_matrix,
    refused_as_ours,
    require_memory,
    require_square,
    require_symmetric,
    row_blocks,
)
from distkern.matrix.base import BaseGram

CACHE_BYTES = 200 * 2**20
"""Most bytes of the solver's cache; it holds rows of the training matrix in single precision."""

BYTES_PER_SAMPLE = 1024
"""Bytes that the solver takes for each sample: its gradient, coefficients, bounds and lists."""


class KernelSVC(ClassifierMixin, KernelEstimator):
    r"""Support vector classifier: the dual problem on kernel values.

    .. math::

        \min_\alpha\ \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j) - \sum_i \alpha_i
        \quad\text{subject to}\quad 0 \le \alpha_i \le C\, w_i,\ \sum_i y_i \alpha_i = 0

    with y = ±1 and w_i the product of the sample's and its class's weight; f(x) = Σ_i y_i α_i k(x_i, x) + b. Three
    classes or more are decided by the votes of all pairs of classes. Cortes and Vapnik, "Support-vector networks",
    Machine Learning 20 (1995); the solver is LIBSVM's, by Chang and Lin, ACM TIST 2 (2011), section 4.

    Parameters
    ----------
    C
        Bound of the dual coefficients: the smaller, the smoother.
    kernel
        ``"precomputed"``: X holds kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X holds
        samples, and their kernel values are computed in this process.
    class_weight
        Weights of the classes: a dict from label to weight, ``"balanced"`` for weights inverse to the class sizes, or
        all equal when not given.
    tol
        Largest violation of the optimality conditions at which the solver stops.
    max_iter
        Most iterations of the solver; −1 for no limit.
    memory_limit
        Bytes, or text such as ``"2GiB"``, that training may take; half of the memory available when not given. Training
        holds the matrix of the training samples, half as much again or 200 MiB for the solver, whichever is less, and
        blocks of the matrix of 64 MiB or less: one for an array, up to eight for a view of a Gram matrix.

    Attributes
    ----------
    classes_
        The labels, sorted.
    support_
        Positions of the support vectors among the training samples, class by class.
    n_support_
        Number of support vectors of each class.
    dual_coef_
        y α of the support vectors, (classes − 1, support vectors), laid out as in scikit-learn's SVC.
    intercept_
        b of each pair of classes, (pairs,).
    objective_
        Value of the minimised dual objective: a number for two classes, else an array with one for each pair.
    class_weight_, n_iter_, fit_status_
        Weights of the classes, iterations for each pair, and 0 where the solver converged.
    kernel_, prepared_
        The kernel with its data-dependent parameters settled, and the prepared support vectors; with raw samples only.
    n_features_in_
        Columns that X must have.
    training_ids_
        Names of the training samples, with a Gram matrix only; another one must have the same columns.
    feature_names_in_
        Names of the features, with raw samples that name theirs; others must have the same in the same order.

    Notes
    -----
    Predicting reads only the columns of the support vectors, in blocks of bounded size.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = KernelSVC(C=10.0).fit(samples @ samples.T, ["low", "low", "high", "high"])
    >>> model.predict([[2.0], [3.0]] @ samples.T)
    array(['low', 'high'], dtype='<U4')
    """

    classes_: Array
    support_: Indices

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "precomputed",
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        memory_limit: int | str | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVC:
        """Train on the matrix of the training samples (m, m), or on the samples (m, n), and their labels (m,).

        A sample of weight 0 counts as absent, and so does its label.

        Raises
        ------
        InputError
            If the matrix is not square and symmetric, a value is not finite, a label is missing or there is one class.
        MemoryLimitError
            If the training matrix does not fit the memory allowed; raised before it is read or computed.
        """
        if not (isinstance(self.C, (int, float, np.integer, np.floating)) and 0 < self.C < np.inf):
            raise InputError(f"C must be a positive finite number; got {self.C!r}")
        if y is None:
            raise InputError(
                "KernelSVC requires y to be passed, but the target y is None: give a label for every sample"
            )
        X = self._samples(X, reset=True) if self._takes_samples() else self._matrix(X, reset=True)
        labels, weights, kept = labels_and_weights(y, sample_weight, X.shape[0])
        # without samples of weight 0 SVC numbers its support vectors right (scikit-learn pull request 27763)
        values, prepared = self._training_values(X, kept)
        solver = SVC(
            C=self.C,
            kernel="precomputed",
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            cache_size=_cache_bytes(len(kept)) / 2**20,
        )
        refused_as_ours(solver.fit, values, labels, weights)
        for name in ("classes_", "n_support_", "dual_coef_", "intercept_", "class_weight_", "n_iter_"):
            setattr(self, name, np.array(getattr(solver, name)))
        self.fit_status_ = int(solver.fit_status_)
        self.support_ = kept[solver.support_]
        self.objective_ = self._objective(values, solver.support_)
        if prepared is not None:
            self.prepared_ = prepared.take(solver.support_)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Signed scores of the samples.

        Returns
        -------
        ndarray
            Two classes: f(x), (samples,), positive for ``classes_[1]``. More: (samples, classes), the votes of each
            class plus c / (3 (|c| + 1)), where c sums the scores of the pairs the class is in, as in scikit-learn.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        votes, confidence = np.zeros((2, len(scores), len(self.classes_)))
        for pair, (first, second) in enumerate(self._pairs()):
            votes[:, first] += scores[:, pair] >= 0
            votes[:, second] += scores[:, pair] < 0
            confidence[:, first] += scores[:, pair]
            confidence[:, second] -= scores[:, pair]
        return votes + confidence / (3 * (np.abs(confidence) + 1))

    def predict(self, X: Any) -> Array:
        """Label of each sample: the sign of f(x), or the most votes; among equal votes the class that sorts first.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] >= 0).astype(np.intp)]
        votes = np.zeros((len(scores), len(self.classes_)), dtype=np.intp)
        for pair, (first, second) in enumerate(self._pairs()):
            votes[:, first] += scores[:, pair] > 0
            votes[:, second] += scores[:, pair] <= 0
        return self.classes_[votes.argmax(axis=1)]

    # Training ------------------------------------------------------------------------------------------------------

    def _training_values(self, X: Any, kept: Indices) -> tuple[Floats, Any]:
        """Kernel values of the samples that count, in memory, and those samples prepared where X holds samples."""
        m = len(kept)
        if not isinstance(X, Source):
            require_square(X)
            in_place = isinstance(X, np.ndarray) and len(X) == m and X.flags.c_contiguous
            at_work = memory_at_work(X.shape[0], X.shape[1], BLOCKS_OF_VIEW if isinstance(X, BaseGram) else 1)
            self._require_room(m, (0 if in_place else 8 * m**2) + at_work)
            part = X if len(X) == m else X[np.ix_(kept, kept)]
            values = read_matrix(part) if isinstance(part, BaseGram) else np.ascontiguousarray(part)
            require_symmetric(values)
            return values, None
        self.kernel_ = self.kernel.resolve(X, 0)
        self._require_room(m, 8 * m**2 + memory_at_work(m, m), self.kernel_.bytes_per_tile(m, m, X.shape[1]))
        prepared = self.kernel_.prepare(self.kernel_.checked(X))
        prepared = prepared if len(X) == m else prepared.take(kept)
        return self.kernel_.tile(prepared, prepared), prepared

    def _require_room(self, samples: int, held: int, at_first: int = 0) -> None:
        """Refuse what cannot fit: the larger of what is held beside the solver and of what computing values takes."""
        needed = max(at_first, held + _cache_bytes(samples) + BYTES_PER_SAMPLE * samples)
        require_memory(needed, self.memory_limit, f"training on {samples:,} samples")

    def _objective(self, values: Floats, support: Indices) -> float | Floats:
        """½ cᵀ K c − Σ|c| of each pair of classes, c = y α, from the kernel values between the support vectors."""
        weights = self._pair_weights()
        quadratic = np.zeros(weights.shape[1])
        for rows in row_blocks(len(support), len(support)):
            quadratic += np.einsum("ip,ip->p", weights[rows], values[np.ix_(support[rows], support)] @ weights)
        objectives = 0.5 * quadratic - np.abs(weights).sum(axis=0)
        return float(objectives[0]) if len(objectives) == 1 else objectives

    # Prediction ----------------------------------------------------------------------------------------------------

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return combinations(range(len(self.classes_)), 2)

    def _pair_weights(self) -> Floats:
        """Coefficients (support vectors, pairs) of each pair's decision; a support vector serves its class's pairs."""
        owner = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        weights = np.zeros((len(owner), len(self.intercept_)))
        for pair, (first, second) in enumerate(self._pairs()):
            weights[owner == first, pair] = self.dual_coef_[second - 1, owner == first]
            weights[owner == second, pair] = self.dual_coef_[first, owner == second]
        return weights

    def _pair_scores(self, X: Any) -> Floats:
        """Return f of each pair of classes, (samples, pairs); positive for the second of two, else the first."""
        check_is_fitted(self)
        weights = self._pair_weights()
        return self._expansion(X, weights, self.support_) + self.intercept_


def _cache_bytes(samples: int) -> int:
    """Bytes of the solver's cache: of all rows in single precision, with their places in it, or of what is the most."""
    return min(CACHE_BYTES, 4 * samples**2 + 64 * samples + 2**10)
