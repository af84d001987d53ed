"""The support vector classifier on kernel values, wherever they lie."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.base import KernelEstimator
from distkern.learners.checks import labels_and_weights, memory_allowed, positive, refused_as_ours
from distkern.learners.machines import Machines, sigmoid
from distkern.operators.base import BaseGram
from distkern.solvers.dual import Problem, Solution
from distkern.solvers.smo import solve

FOLDS = 5
"""Folds whose held-out scores calibrate probabilities."""


class KernelSVC(ClassifierMixin, KernelEstimator):
    r"""Support vector classifier: the dual problem on kernel values.

    .. math::

        \min_\alpha\ \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j) - \sum_i \alpha_i
        \quad\text{subject to}\quad 0 \le \alpha_i \le C\, w_i,\ \sum_i y_i \alpha_i = 0

    with y = ±1 and w_i the product of the sample's and its class's weight; f(x) = Σ_i y_i α_i k(x_i, x) + b. Three
    classes or more are decided by the votes of all pairs of classes, or by machines of each class against the rest.
    Cortes and Vapnik, "Support-vector networks", Machine Learning 20 (1995). The solver chooses pairs of coefficients
    as LIBSVM does (Chang and Lin, ACM TIST 2, 2011, section 4), in blocks; a matrix that does not fit in memory is read
    in passes, each of which brings all machines on.

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
    multi_class
        ``"ovo"``: a machine for each pair of classes; ``"ovr"``: one for each class against the rest.
    decision_function_shape
        What `decision_function` gives where the machines are pairs of three classes or more: ``"ovr"``, a score for
        each class; ``"ovo"``, that of each pair, positive for the first of the two.
    probability
        Calibrate probabilities for `predict_proba`, from the scores of five folds of held-out samples. The folds share
        the passes over the matrix with the machines.
    tol
        Largest violation of the optimality conditions at which the solver stops.
    max_iter
        Most pairs of coefficients that the solver changes in each machine; −1 for no limit.
    max_passes
        Passes over a matrix that does not fit in memory, after which the solver stops.
    memory_limit
        Bytes, or text such as ``"2GiB"``, that training may take; half of the memory available when not given. A
        quarter is for tiles on their way. A matrix that fits in the rest is read once, in double precision or else in
        single precision; of one that does not, that much is held at a time. An array is used where it is.

    Attributes
    ----------
    classes_
        The labels, sorted.
    support_
        Positions of the support vectors among the training samples, class by class.
    n_support_
        Number of support vectors of each class.
    dual_coef_
        y α of the support vectors, (classes − 1, support vectors), laid out as in scikit-learn's SVC; of machines
        against the rest, (classes, support vectors).
    intercept_
        b of each machine, (machines,).
    objective_, duality_gap_
        Value of the minimised dual objective, and the difference to its primal: numbers for two classes, else arrays
        with one for each machine.
    n_passes_, bytes_read_
        Passes over the matrix, one where it fits in memory, and bytes read from storage.
    class_weight_, n_iter_, fit_status_
        Weights of the classes, pairs of coefficients changed in each machine, and 0 where the solver converged.
    probA_, probB_
        A and B of each machine's 1 / (1 + exp(A f + B)); with ``probability`` only.
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
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int = -1,
        max_passes: int = 1000,
        memory_limit: int | str | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.max_passes = max_passes
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVC:
        """Train on the matrix of the training samples (m, m), or on the samples (m, n), and their labels (m,).

        A sample of weight 0 counts as absent, and so does its label.

        Raises
        ------
        InputError
            If the matrix is not square and symmetric, a value is not finite, a label is missing or there is one class.
        MemoryLimitError
            If not even a small working set fits the memory allowed; raised before the matrix is read or computed.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before it had converged.
        """
        self._check()
        if y is None:
            raise InputError(
                "KernelSVC requires y to be passed, but the target y is None: give a label for every sample"
            )
        if getattr(X, "shape", ()):
            labels_and_weights(y, sample_weight, X.shape[0])  # before kernel values are computed, or read for a check
        gram = self._training_gram(X, self.memory_limit)
        labels, weights, kept = labels_and_weights(y, sample_weight, gram.shape[0])
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.class_weight_ = refused_as_ours(compute_class_weight, self.class_weight, classes=self.classes_, y=labels)
        bounds = self.C * weights * self.class_weight_[codes]
        folds = self._folds(codes) if self.probability else []
        machines = self._machines()
        parts = [np.arange(len(codes)), *(train for train, _ in folds)]
        asked = [
            machines.problem(machine, codes[part], bounds[part], kept[part])
            for part in parts
            for machine in range(len(machines.sides))
        ]
        found = self._solved(gram, [problem for _, problem in asked])
        count = len(machines.sides)
        coefficients = machines.coefficients(codes, [own for own, _ in asked[:count]], found[:count])
        self._keep(machines, codes, kept, coefficients, found[:count])
        if folds:
            held_out = [found[start : start + count] for start in range(count, len(found), count)]
            owns = [[own for own, _ in asked[start : start + count]] for start in range(count, len(found), count)]
            self._calibrate(gram, codes, weights, kept, folds, owns, held_out)
        self._keep_samples(self.support_)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Signed scores of the samples.

        Returns
        -------
        ndarray
            Two classes: f(x), (samples,), positive for ``classes_[1]``. More: (samples, classes), the score of each
            class against the rest, or of pairs the votes of each class plus c / (3 (|c| + 1)), where c sums the scores
            of the pairs the class is in, as in scikit-learn; or (samples, pairs), see ``decision_function_shape``.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores, machines = self._scores(X), self._machines()
        pairs = self.decision_function_shape == "ovo" and not machines.against_rest and machines.classes > 2
        return scores if pairs else machines.by_class(scores)

    def predict(self, X: Any) -> Array:
        """Label of each sample: the sign of f(x), the most votes, or the largest score; among equals the first class.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self._scores(X)
        return self.classes_[self._machines().decide(scores)]

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (samples, classes), in the order of ``classes_``.

        Platt's sigmoid of each machine's score; pairs are coupled as in Wu, Lin and Weng (2004), and machines against
        the rest scaled to the sum 1. The most probable class may differ from what `predict` says.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self._scores(X)
        return self._machines().probabilities(scores, self.probA_, self.probB_)

    # Training ------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        positive(self.C, "C"), positive(self.tol, "tol")
        for name in ("multi_class", "decision_function_shape"):
            if getattr(self, name) not in ("ovo", "ovr"):
                raise InputError(f'{name} must be "ovo" or "ovr"; got {getattr(self, name)!r}')

    def _machines(self) -> Machines:
        check_is_fitted(self, "classes_")
        return Machines(len(self.classes_), self.multi_class == "ovr")

    def _folds(self, codes: Indices) -> list[tuple[Indices, Indices]]:
        smallest = int(np.bincount(codes).min())
        if smallest < 2:
            raise InputError(
                f"class {self.classes_[np.bincount(codes).argmin()].item()!r} has 1 sample, too few to calibrate "
                "probabilities: leave the class out, or set probability=False"
            )
        folds = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=0)
        return list(folds.split(codes, codes))

    def _solved(self, gram: BaseGram, problems: Sequence[Problem]) -> list[Solution]:
        found = solve(
            gram,
            [[problem] for problem in problems],
            memory=memory_allowed(self.memory_limit),
            tol=self.tol,
            max_iter=self.max_iter,
            max_passes=self.max_passes,
        )
        solutions = [solution for (solution,) in found]
        warn_unless_converged(solutions, self.tol)
        return solutions

    def _keep(
        self, machines: Machines, codes: Indices, kept: Indices, coefficients: Floats, found: Sequence[Solution]
    ) -> None:
        """Keep what was found as scikit-learn's SVC does."""
        support = np.flatnonzero(coefficients.any(axis=1))
        support = support[np.argsort(codes[support], kind="stable")]
        own = codes[support]
        self.support_ = kept[support]
        self.n_support_ = np.bincount(own, minlength=machines.classes).astype(np.int32)
        rows = coefficients[support].T
        if machines.classes > 2 and not machines.against_rest:
            rows = np.zeros((machines.classes - 1, len(support)))
            for pair, (first, second) in enumerate(combinations(range(machines.classes), 2)):
                rows[second - 1, own == first] = coefficients[support[own == first], pair]
                rows[first, own == second] = coefficients[support[own == second], pair]
        self.dual_coef_ = rows
        self.intercept_ = np.array([-solution.offset for solution in found])
        self.n_iter_ = np.array([solution.iterations for solution in found], dtype=np.int64)
        self.fit_status_ = int(not all(solution.converged for solution in found))
        for name in ("objective", "gap"):
            values = np.array([getattr(solution, name) for solution in found])
            setattr(self, {"objective": "objective_", "gap": "duality_gap_"}[name], _number(values))
        self.n_passes_ = max(solution.passes for solution in found)
        self.bytes_read_ = max(solution.bytes_read for solution in found)

    def _calibrate(
        self,
        gram: BaseGram,
        codes: Indices,
        weights: Floats,
        kept: Indices,
        folds: Sequence[tuple[Indices, Indices]],
        owns: Sequence[Sequence[Indices]],
        found: Sequence[Sequence[Solution]],
    ) -> None:
        """Fit a sigmoid to each machine's scores of the samples that its folds held out."""
        machines = self._machines()
        columns = np.zeros((len(gram), len(folds), len(machines.sides)))
        for fold, (train, _) in enumerate(folds):
            columns[kept[train], fold] = machines.coefficients(codes[train], owns[fold], found[fold])
        product = gram.matmat(columns.reshape(len(gram), -1)).reshape(columns.shape)
        scores = np.empty((len(codes), len(machines.sides)))
        for fold, (_, test) in enumerate(folds):
            scores[test] = product[kept[test], fold] - [solution.offset for solution in found[fold]]
        fits = []
        for machine, (above, _) in enumerate(machines.sides):
            own = machines.members(machine, codes)
            fits.append(sigmoid(scores[own, machine], codes[own] == above, weights[own]))
        self.probA_, self.probB_ = (np.array(values) for values in zip(*fits, strict=True))

    # Prediction ----------------------------------------------------------------------------------------------------

    def _support_coefficients(self) -> Floats:
        """Coefficients (support vectors, machines) of each machine's decision."""
        machines = self._machines()
        if machines.classes == 2 or machines.against_rest:
            return self.dual_coef_.T
        owner = np.repeat(np.arange(machines.classes), self.n_support_)
        weights = np.zeros((len(owner), len(self.intercept_)))
        for pair, (first, second) in enumerate(combinations(range(machines.classes), 2)):
            weights[owner == first, pair] = self.dual_coef_[second - 1, owner == first]
            weights[owner == second, pair] = self.dual_coef_[first, owner == second]
        return weights

    def _scores(self, X: Any) -> Floats:
        """Return f of each machine, (samples, machines); positive for its positive side."""
        check_is_fitted(self)
        return self._expansion(X, self._support_coefficients(), self.support_) + self.intercept_


def warn_unless_converged(found: Sequence[Solution], tol: float) -> None:
    """Warn of the largest violation among the problems that were stopped early."""
    stopped = [solution.violation for solution in found if not solution.converged]
    if stopped:
        warnings.warn(
            f"the solver stopped early: conditions are violated by up to {max(stopped):.3g}, more than tol={tol:g}; "
            "raise max_iter or max_passes, or scale the kernel (KernelStandardizer)",
            ConvergenceWarning,
            stacklevel=4,
        )


def _number(values: Floats) -> float | Floats:
    return float(values[0]) if len(values) == 1 else values
