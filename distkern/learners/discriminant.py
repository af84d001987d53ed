"""Kernel Fisher discriminant analysis on a Gram matrix or samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from distkern.core.alignment import SampleNames, aligned
from distkern.core.containers import as_floats
from distkern.core.errors import InputError
from distkern.core.parameters import flag, one_of
from distkern.core.sentences import Parameter, Sentence
from distkern.core.typing import Array, Floats, Indices
from distkern.core.warning import warn
from distkern.learners.base import KernelEstimator, delete_attribute
from distkern.learners.memory import bytes_of_reading, memory_allowed, read_matrix, require_memory
from distkern.learners.probabilities import HeldOutProbabilities
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelClassifier
from distkern.learners.validation import labels_and_weights, positive
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.solvers.definite import largest_diagonal, names
from distkern.solvers.fisher import FisherDirections, solve_by_products, solve_directly

NOTHING = 1e-12
"""A discriminant with less than this fraction of the largest between-class scatter counts as zero."""

VECTORS_OF_CG = 24
"""Vectors of length m that conjugate gradients keep in memory for each class."""


@saveable
class KernelFisherDiscriminant(
    HeldOutProbabilities, ClassNamePrefixFeaturesOutMixin, KernelClassifier, TransformerMixin, KernelEstimator
):
    r"""Kernel Fisher discriminant: the direction of largest between-class relative to within-class scatter.

    .. math::

        \alpha = (N + \mu I)^{-1} (M_2 - M_1), \qquad f(x) = \sum_i \alpha_i\, k(x, x_i) + b, \qquad
        N = \sum_c K_c \bigl(I - \tfrac{1}{m_c} 1 1^\top\bigr) K_c^\top

    where K_c contains the columns of the m_c samples of class c, and M_c is the mean of these columns. Mika, Rätsch,
    Weston, Schölkopf and Müller, "Fisher discriminant analysis with kernels", NNSP (1999). Jiao and Vert, *The Kendall
    and Mallows kernels for permutations*, section 6, write that μ = 10⁻³ is added to K; their results are reproduced by
    adding it to N, as here.

    With C classes, a sample x is assigned to the class with the largest (k_x − (M_c + M)/2)ᵀ (N + μ I)⁻¹ (M_c − M),
    where k_x are the kernel values of x and M is the mean of all columns. This is linear discriminant analysis in
    feature space; for two classes it is the sign of f. `transform` computes its C − 1 discriminants.

    Parameters
    ----------
    mu
        μ, positive.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    threshold
        ``"midpoint"``: the boundary is half way between the class means, shifted by ``priors`` if given. A number, for
        two classes only: b = −threshold. The threshold 0 of the papers requires a kernel that is centred on the
        training samples, see `KernelStandardizer`; it is then the mean of f over them, which is nearer to the larger
        class.
    priors
        Class probabilities π_c, in the order of the sorted labels; equal by default. They add log(π_c) / m to the score
        of a class, which is correct if f is normal with the same variance in each class.
    probability
        Calibrate probabilities for `predict_proba`, by Platt's sigmoid of the scores that five folds hold out.
    solver
        ``"direct"``: Cholesky factorisation of N + μ I, in memory. ``"cg"``: conjugate gradients, two products with the
        matrix a step for all classes together; the matrix is read into memory if it fits. ``"auto"``: direct if it fits
        in memory.
    tol
        Largest relative residual at which conjugate gradients stop.
    max_iter
        Maximum number of steps of conjugate gradients; each step advances all C − 1 systems.
    memory_limit
        Memory that fitting may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.

    Attributes
    ----------
    classes_
        The labels, sorted.
    dual_coef_
        α, (m,), for two classes; else the columns (N + μ I)⁻¹ (M_c − M), (m, C).
    intercept_
        b: a number for two classes, else (C,).
    scalings_
        Coefficients of the discriminants, (m, C − 1).
    offset_
        Discriminants of the mean of the training samples, (C − 1,); `transform` subtracts them.
    probA_, probB_
        A and B of the probability 1 / (1 + exp(A f + B)), for each class of several; only with ``probability``.
    residual_
        Largest relative residual of the systems.
    n_iter_
        Steps of conjugate gradients; 1 for the direct solver.
    n_passes_, bytes_read_
        Passes over the matrix, and bytes read from storage.
    kernel_, prepared_
        Kernel with all data-dependent parameters fixed, and the prepared training samples; only if X contains samples.
    n_features_in_
        Number of columns of X.
    training_ids_, training_digests_, training_values_
        Names of the training samples, digests of their data, and the kernel and views of the training matrix; only if X
        is a Gram matrix that knows them. Other Gram matrices must not contradict them.
    feature_names_in_
        Names of the features; only if the samples have them. New samples must have the same names in the same order.

    See Also
    --------
    KernelSVC : Does not assume that classes spread alike.
    KernelPCA : Directions that know no classes.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The same without a kernel.

    Notes
    -----
    A sample of weight w is equivalent to w equal samples: the sums are weighted, and μ I becomes μ
    diag(1/w). N + μ I is positive definite for every kernel.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = KernelFisherDiscriminant().fit(samples @ samples.T, ["low", "low", "high", "high"])
    >>> model.predict([[2.0], [3.0]] @ samples.T)
    array(['low', 'high'], dtype='<U4')
    """

    classes_: Array
    dual_coef_: Floats

    def __init__(
        self,
        *,
        mu: float = 1e-3,
        kernel: Any = "precomputed",
        threshold: float | str = "midpoint",
        priors: Any = None,
        probability: bool = False,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        memory_limit: int | str | None = None,
    ) -> None:
        self.mu = mu
        self.kernel = kernel
        self.threshold = threshold
        self.priors = priors
        self.probability = probability
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelFisherDiscriminant:
        """Fit to the training matrix (m, m), or the training samples (m, n), and labels (m,).

        A sample of weight 0 is ignored, and so is its label.

        Raises
        ------
        InputError
            If the matrix is not square, symmetric and positive semidefinite, a value is not finite, a label is missing,
            there is one class, or the classes have the same mean in feature space.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If conjugate gradients stop before they reach ``tol``.
        """
        self._check_parameters()
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give each sample a label"
            )
        gram = self._training_gram(X, self.memory_limit)
        m, before = gram.shape[0], gram.bytes_read()
        labels, weights, kept = labels_and_weights(y, sample_weight, gram)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self._check_classes()
        known = gram if len(kept) == m else gram[np.ix_(kept, kept)]
        for name in ("probA_", "probB_"):
            delete_attribute(self, name)
        if self.probability:
            model = clone(self).set_params(probability=False, kernel="precomputed")
            self._calibrate(model, lambda rows, columns: known[np.ix_(rows, columns)], codes, weights)
        found = self._solve(known, codes, weights)
        self.n_iter_, self.residual_ = max(1, found.iterations), float(found.residuals.max())
        self.bytes_read_ = gram.bytes_read() - before
        totals = np.bincount(codes, weights=weights)
        self._set_decision(found, totals, kept, m)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Signed scores of the samples.

        Returns
        -------
        ndarray
            Two classes: f(x), (samples,), positive for ``classes_[1]``. More classes: (samples, classes); the predicted
            class has the largest score.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        check_is_fitted(self)
        return self._expansion(X, self.dual_coef_) + self.intercept_

    def predict(self, X: Any) -> Array:
        """Label of each sample: the sign of f(x), or the largest score.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    def transform(self, X: Any) -> Floats:
        """Discriminants of samples, (samples, C − 1), in descending order of separation.

        The mean of the training samples is at 0. Each discriminant a is scaled to aᵀ (N + μ I) a = 1, and its sign is
        such that the mean of the last class is positive.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        check_is_fitted(self)
        return self._expansion(X, self.scalings_) - self.offset_

    @property
    def _n_features_out(self) -> int:
        return len(self.offset_)

    # Training --------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        positive(self.mu, "mu")
        one_of(self.solver, "solver", ("auto", "direct", "cg"))
        flag(self.probability, "probability")
        threshold = self.threshold
        number = isinstance(threshold, (int, float, np.integer, np.floating)) and np.isfinite(threshold)
        if not number and threshold != "midpoint":
            raise InputError(f'threshold must be "midpoint" or a number; got {threshold!r}')
        if number and self.priors is not None:
            raise InputError('priors move the midpoint: leave threshold="midpoint", or give no priors')

    def _check_classes(self) -> None:
        count = len(self.classes_)
        if self.threshold != "midpoint" and count > 2:
            raise InputError(f'a threshold separates two classes, and there are {count}: leave threshold="midpoint"')
        if self.priors is None:
            return
        priors = self._class_priors()
        if priors.shape != (count,) or not (priors > 0).all() or abs(priors.sum() - 1) > 1e-9:
            raise InputError(f"priors must be {count} positive probabilities that add up to 1; got {self.priors!r}")

    def _class_priors(self) -> Floats:
        """Priors as numbers, after a check that the names of a Series are those of the classes in their order."""
        names = tuple(map(str, self.classes_))
        classes = SampleNames(len(names), names, whose="classes_", listed="model.classes_")
        return as_floats(aligned(self.priors, classes, "priors"), "priors")

    def _solve(self, gram: BaseGram, codes: Indices, weights: Floats) -> FisherDirections:
        m, classes = len(codes), len(self.classes_)
        allowed, temporary = memory_allowed(self.memory_limit), bytes_of_reading(gram, self.memory_limit)
        needed = 24 * m**2 + temporary  # the matrix, the scatter and one product
        if self.solver == "direct":
            require_memory(needed, self.memory_limit, f"solving for {m:,} samples directly")
        if self.solver == "direct" or (self.solver == "auto" and needed <= allowed):
            self.n_passes_ = 1
            largest, named = largest_diagonal(gram), names(gram)
            return solve_directly(read_matrix(gram), codes, weights, self.mu, largest=largest, named=named)
        vectors = 8 * m * VECTORS_OF_CG * classes
        in_memory = isinstance(gram, ArrayGram)
        if not in_memory and 8 * m**2 + temporary + vectors <= allowed:
            gram, in_memory = ArrayGram(read_matrix(gram), row_ids=gram.row_ids), True
        elif not in_memory:
            require_memory(vectors, self.memory_limit, f"conjugate gradients for {m:,} samples")
        found = solve_by_products(gram, codes, weights, self.mu, tol=self.tol, max_iter=self.max_iter)
        self.n_passes_ = 1 if in_memory else found.passes
        if not found.converged:
            message = Sentence(
                "conjugate gradients stopped after {steps} steps with a relative residual of {residual:.3g}, above "
                "tol={bound:g}: raise {max_iter}, {tol} or {mu}, or scale the kernel to unit norm",
                steps=found.iterations,
                residual=found.residuals.max(),
                bound=self.tol,
                max_iter=Parameter("max_iter"),
                tol=Parameter("tol"),
                mu=Parameter("mu"),
            )
            warn(ConvergenceWarning(message))
        return found

    def _set_decision(self, found: FisherDirections, totals: Array, kept: Indices, m: int) -> None:
        """Set the fitted attributes from the solutions (N + μ W⁻¹)⁻¹ (M_c − M_1)."""
        fractions = totals / totals.sum()
        against_first = np.hstack([np.zeros((len(kept), 1)), found.directions])
        from_mean = against_first - (against_first @ fractions)[:, None]  # (N + μ W⁻¹)⁻¹ (M_c − M)
        means, mean = found.class_means, found.class_means @ fractions
        apart = means - mean[:, None]
        self._set_discriminants(apart, from_mean, fractions, mean, kept, m)
        if len(self.classes_) > 2:
            self.dual_coef_ = _with_zeros(from_mean, kept, m)
            self.intercept_ = -0.5 * ((means + mean[:, None]) * from_mean).sum(axis=0)
            if self.priors is not None:
                self.intercept_ += np.log(self._class_priors()) / totals.sum()
            return
        alpha = found.directions[:, 0]
        self.dual_coef_ = _with_zeros(alpha, kept, m)
        if self.threshold != "midpoint":
            self.intercept_ = -float(self.threshold)
            return
        self.intercept_ = -0.5 * float(alpha @ means.sum(axis=1))
        if self.priors is not None:
            first, second = self._class_priors()
            self.intercept_ += float(np.log(second / first) / totals.sum())

    def _set_discriminants(
        self, apart: Floats, from_mean: Floats, fractions: Floats, mean: Floats, kept: Indices, m: int
    ) -> None:
        """Set the discriminants, from a C × C eigenvalue problem: the between-class scatter has rank C − 1."""
        roots = np.sqrt(fractions)
        between = roots[:, None] * (apart.T @ from_mean) * roots
        values, vectors = np.linalg.eigh((between + between.T) / 2)
        values, vectors = values[:0:-1], vectors[:, :0:-1]
        if not values[0] > 0:
            raise InputError(
                "the classes have the same mean in feature space, or kernel values too small to tell: no direction "
                "tells them apart"
            )
        scales = np.where(values > NOTHING * values[0], 1 / np.sqrt(np.maximum(values, NOTHING * values[0])), 0.0)
        scalings = (from_mean * roots) @ vectors * scales
        scalings *= np.where(apart[:, -1] @ scalings < 0, -1.0, 1.0)
        self.scalings_ = _with_zeros(scalings, kept, m)
        self.offset_ = mean @ scalings


def _with_zeros(coefficients: Floats, kept: Indices, m: int) -> Floats:
    """Coefficients of all m samples: 0 for the samples of weight 0."""
    if len(kept) == m:
        return coefficients
    out = np.zeros((m, *coefficients.shape[1:]))
    out[kept] = coefficients
    return out
