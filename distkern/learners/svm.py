"""Support vector classifier on a Gram matrix or samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.parameters import flag, one_of
from distkern.core.sentences import OptionalPart, Parameter, Sentence
from distkern.core.typing import Array, Floats, Indices
from distkern.core.warning import warn
from distkern.learners.base import KernelEstimator
from distkern.learners.memory import memory_allowed
from distkern.learners.multiclass import BinaryProblems, sigmoid
from distkern.learners.probabilities import calibration_folds
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelClassifier
from distkern.learners.validation import class_weights, labels_and_weights, positive, samples_of
from distkern.operators.base import BaseGram
from distkern.solvers.dual import Problem, Solution
from distkern.solvers.smo import solve


@saveable
class KernelSVC(KernelClassifier, KernelEstimator):
    r"""Support vector classifier, solved in its dual form.

    .. math::

        \min_\alpha\ \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j) - \sum_i \alpha_i
        \quad\text{subject to}\quad 0 \le \alpha_i \le C\, w_i,\ \sum_i y_i \alpha_i = 0

    where y = ±1, w_i is the product of the weights of sample i and of its class, and f(x) = Σ_i y_i α_i k(x_i, x) + b.
    Three or more classes are split into binary problems, one-vs-one with voting or one-vs-rest. Cortes and Vapnik,
    "Support-vector networks", Machine Learning 20 (1995). The solver selects pairs of coefficients as LIBSVM does
    (Chang and Lin, ACM TIST 2, 2011, section 4), in blocks. A matrix that does not fit in memory is read in passes, and
    each pass advances all binary problems.

    Parameters
    ----------
    C
        Upper bound of the dual coefficients. A smaller value gives a smoother decision function.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    class_weight
        Weights of the classes: a dict from label to positive weight, 1 for a label that it lacks; ``"balanced"``,
        inversely proportional to the class sizes; or None, all equal. Unlike in scikit-learn, a class size counts only
        the samples with a nonzero weight.
    multi_class
        ``"ovo"``: one binary problem for each pair of classes. ``"ovr"``: one for each class against the rest.
    decision_function_shape
        Output of `decision_function` for three or more classes with ``multi_class="ovo"``. ``"ovr"``: a score for each
        class. ``"ovo"``: a score for each pair of classes, positive for the first of the two.
    probability
        Calibrate probabilities for `predict_proba`, by 5-fold cross-validation. The folds share the passes over the
        matrix with the binary problems.
    tol
        Largest violation of the optimality conditions at which the solver stops.
    max_iter
        Maximum number of changed pairs of coefficients for each binary problem; −1 for 10 million, or 100 for each
        variable if that is more, as in LIBSVM.
    max_passes
        Maximum number of passes over a matrix that does not fit in memory.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.
        A quarter is reserved for tiles being read. A matrix that fits in the rest is read once, in double precision if
        possible, else in single precision. Otherwise, a working set of that size is kept. An array is not copied.

    Attributes
    ----------
    classes_
        The labels, sorted.
    support_
        Positions of the support vectors among the training samples, class by class.
    n_support_
        Number of support vectors of each class.
    dual_coef_
        y α of the support vectors: (classes − 1, support vectors) in the layout of scikit-learn's SVC, or
        (classes, support vectors) for one-vs-rest.
    intercept_
        b of each binary problem, (problems,).
    objective_, duality_gap_
        Value of the minimised dual objective, and the duality gap; numbers for two classes, else (problems,).
    n_passes_, bytes_read_
        Passes over the matrix, 1 if it fits in memory, and bytes read from storage.
    class_weight_, n_iter_, fit_status_
        Weights of the classes, changed pairs of coefficients of each binary problem, and 0 if the solver converged.
    probA_, probB_
        A and B of the probability 1 / (1 + exp(A f + B)) of each binary problem; only with ``probability``.
    kernel_, prepared_
        Kernel with all data-dependent parameters fixed, and the prepared support vectors; only if X contains samples.
    n_features_in_
        Number of columns of X.
    training_ids_, training_digests_, training_values_
        Names of the training samples, digests of their data, and the kernel and views of the training matrix; only if X
        is a Gram matrix that knows them. Other Gram matrices must not contradict them.
    feature_names_in_
        Names of the features; only if the samples have them. New samples must have the same names in the same order.

    See Also
    --------
    KernelLogistic : Probabilities without a calibration.
    KernelSVR : A number instead of classes.
    KTopScoringPairs : A rule that can be read.
    cross_validate_gram : Its held-out accuracy, with C chosen inside.
    train_classifier : From a cohort to calls for other patients.
    sklearn.svm.SVC : The same machine for arrays that fit in memory.

    Notes
    -----
    Prediction reads only the columns of the support vectors, in blocks of bounded size.

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
        """Fit to the training matrix (m, m), or the training samples (m, n), and labels (m,).

        A sample of weight 0 is ignored, and so is its label.

        Raises
        ------
        InputError
            If the matrix is not square, symmetric and positive semidefinite, a value is not finite, a label is missing
            or there is one class.
        MemoryLimitError
            If the smallest working set does not fit in memory; raised before the matrix is read or computed.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before it converged.
        """
        self._check()
        if y is None:
            raise InputError(
                "KernelSVC requires y to be passed, but the target y is None: give a label for every sample"
            )
        if getattr(X, "shape", ()):
            labels_and_weights(y, sample_weight, samples_of(X))  # fails before kernel values are computed
        gram = self._training_gram(X, self.memory_limit)
        labels, weights, kept = labels_and_weights(y, sample_weight, gram)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, labels)
        bounds = self.C * weights * self.class_weight_[codes]
        folds = calibration_folds(codes, self.classes_) if self.probability else []
        binary = self._binary()
        parts = [np.arange(len(codes)), *(train for train, _ in folds)]
        asked = [
            binary.dual(problem, codes[part], bounds[part], kept[part])
            for part in parts
            for problem in range(len(binary.pairs))
        ]
        found = self._solve(gram, [problem for _, problem in asked])
        count = len(binary.pairs)
        coefficients = binary.coefficients(codes, [own for own, _ in asked[:count]], found[:count])
        self._set_solution(binary, codes, kept, coefficients, found[:count])
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
            Two classes: f(x), (samples,), positive for ``classes_[1]``. One-vs-rest: the score of each class,
            (samples, classes). One-vs-one: the votes of each class plus c / (3 (abs(c) + 1)), where c is the sum of the
            scores of its pairs, as in scikit-learn; or (samples, pairs), see ``decision_function_shape``.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores, binary = self._scores(X), self._binary()
        pairs = self.decision_function_shape == "ovo" and not binary.one_vs_rest and binary.classes > 2
        return scores if pairs else binary.by_class(scores)

    def predict(self, X: Any) -> Array:
        """Label of each sample, (samples,): by the sign of f(x), the most votes or the largest score.

        Ties go to the first class.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self._scores(X)
        return self.classes_[self._binary().decide(scores)]

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (samples, classes), in the order of ``classes_``.

        Platt's sigmoid of the score of each binary problem. One-vs-one probabilities are coupled as in Wu, Lin and Weng
        (2004); one-vs-rest probabilities are scaled to sum 1. The most probable class may differ from `predict`.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self._scores(X)
        return self._binary().probabilities(scores, self.probA_, self.probB_)

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`, (samples, classes)."""
        with np.errstate(divide="ignore"):  # a probability may be 0
            return np.log(self.predict_proba(X))

    # Training ------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        positive(self.C, "C"), positive(self.tol, "tol")
        for name in ("multi_class", "decision_function_shape"):
            one_of(getattr(self, name), name, ("ovo", "ovr"))
        flag(self.probability, "probability")

    def _binary(self) -> BinaryProblems:
        check_is_fitted(self, "classes_")
        return BinaryProblems(len(self.classes_), self.multi_class == "ovr")

    def _solve(self, gram: BaseGram, problems: Sequence[Problem]) -> list[Solution]:
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

    def _set_solution(
        self, binary: BinaryProblems, codes: Indices, kept: Indices, coefficients: Floats, found: Sequence[Solution]
    ) -> None:
        """Set the fitted attributes, in the layout of scikit-learn's SVC."""
        support = np.flatnonzero(coefficients.any(axis=1))
        support = support[np.argsort(codes[support], kind="stable")]
        own = codes[support]
        self.support_ = kept[support]
        self.n_support_ = np.bincount(own, minlength=binary.classes).astype(np.int32)
        rows = coefficients[support].T
        if binary.classes > 2 and not binary.one_vs_rest:
            rows = np.zeros((binary.classes - 1, len(support)))
            for pair, (first, second) in enumerate(combinations(range(binary.classes), 2)):
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
        """Fit a sigmoid for each binary problem to its scores of the held-out samples of all folds."""
        binary = self._binary()
        columns = np.zeros((len(gram), len(folds), len(binary.pairs)))
        for fold, (train, _) in enumerate(folds):
            columns[kept[train], fold] = binary.coefficients(codes[train], owns[fold], found[fold])
        product = gram.matmat(columns.reshape(len(gram), -1)).reshape(columns.shape)
        scores = np.empty((len(codes), len(binary.pairs)))
        for fold, (_, test) in enumerate(folds):
            scores[test] = product[kept[test], fold] - [solution.offset for solution in found[fold]]
        fits = []
        for problem, (positive_class, _) in enumerate(binary.pairs):
            own = binary.members(problem, codes)
            fits.append(sigmoid(scores[own, problem], codes[own] == positive_class, weights[own]))
        self.probA_, self.probB_ = (np.array(values) for values in zip(*fits, strict=True))

    # Prediction ----------------------------------------------------------------------------------------------------

    def _support_coefficients(self) -> Floats:
        """Coefficients of the decision function of each binary problem, (support vectors, problems)."""
        binary = self._binary()
        if binary.classes == 2 or binary.one_vs_rest:
            return self.dual_coef_.T
        owner = np.repeat(np.arange(binary.classes), self.n_support_)
        weights = np.zeros((len(owner), len(self.intercept_)))
        for pair, (first, second) in enumerate(combinations(range(binary.classes), 2)):
            weights[owner == first, pair] = self.dual_coef_[second - 1, owner == first]
            weights[owner == second, pair] = self.dual_coef_[first, owner == second]
        return weights

    def _scores(self, X: Any) -> Floats:
        """Score f of each binary problem, (samples, problems); positive for its positive class."""
        check_is_fitted(self)
        return self._expansion(X, self._support_coefficients(), self.support_) + self.intercept_


def warn_unless_converged(found: Sequence[Solution], tol: float) -> None:
    """Warn if a problem was stopped early, and state the largest violation."""
    stopped = [solution.violation for solution in found if not solution.converged]
    if stopped:
        message = Sentence(
            "the solver stopped early: optimality conditions are violated by up to {violation:.3g}, more than "
            "tol={tol:g}; {advice}choose a smaller C",
            violation=max(stopped),
            tol=tol,
            advice=OptionalPart(
                "raise {max_iter} or {max_passes}, scale the kernel (KernelStandardizer), or ",
                max_iter=Parameter("max_iter"),
                max_passes=Parameter("max_passes"),
            ),
        )
        warn(ConvergenceWarning(message))


def _number(values: Floats) -> float | Floats:
    return float(values[0]) if len(values) == 1 else values
