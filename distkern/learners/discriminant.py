"""Fisher's discriminant in feature space, from kernel values wherever they lie."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.base import KernelEstimator
from distkern.learners.memory import BLOCKS_OF_VIEW, block_bytes, memory_allowed, read_matrix, require_memory
from distkern.learners.registry import saveable
from distkern.learners.validation import labels_and_weights, positive
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.solvers.fisher import FisherDirections, solve_by_products, solve_directly

NOTHING = 1e-12
"""A discriminant whose share of the between-class scatter is below this fraction of the largest separates nothing."""

VECTORS_OF_CG = 24
"""Vectors of m numbers that conjugate gradients hold for each class."""


@saveable
class KernelFisherDiscriminant(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, KernelEstimator):
    r"""Fisher's discriminant: the direction that separates class means most, for the scatter within the classes.

    .. math::

        \alpha = (N + \mu I)^{-1} (M_2 - M_1), \qquad f(x) = \sum_i \alpha_i\, k(x, x_i) + b, \qquad
        N = \sum_c K_c \big(I - \tfrac{1}{m_c} 1 1^\top\big) K_c^\top

    with K_c the columns of the m_c samples of class c, and M_c their mean. Mika, Rätsch, Weston, Schölkopf and Müller,
    "Fisher discriminant analysis with kernels", NNSP (1999); Jiao and Vert, *The Kendall and Mallows kernels for
    permutations*, section 6, add μ = 10⁻³ to N, as here, and not to K, as their text has it.

    With C classes N is the scatter within all of them, and a sample x belongs to the class with the largest
    (k_x − (M_c + M)/2)ᵀ (N + μ I)⁻¹ (M_c − M), M the mean of all and k_x the kernel values of x: linear discriminant
    analysis, which for two classes is the sign of f. Its C − 1 discriminants are what `transform` gives.

    Parameters
    ----------
    mu
        μ, positive.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    threshold
        ``"midpoint"``: b puts the boundary half way between the class means, moved by ``priors`` where given. A number,
        for two classes only: b = −threshold. The papers' 0 presumes that the kernel is centred on the training samples,
        as `KernelStandardizer` does: then it is the mean of f over them, nearer to the larger class.
    priors
        Probabilities of the classes, in the order of their sorted labels: they add log(π_c) / m to a class's score, as
        if f were normal with the same variance in each class; equal when not given.
    solver
        ``"direct"``: a Cholesky factor of N + μ I, in memory. ``"cg"``: conjugate gradients by products with the matrix
        only, two a step for all classes together, from memory where it fits. ``"auto"``: direct where that fits.
    tol
        Largest relative residual at which conjugate gradients stop.
    max_iter
        Most steps of conjugate gradients, each of which advances all C − 1 systems.
    memory_limit
        Memory that fitting may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.

    Attributes
    ----------
    classes_
        The labels, sorted.
    dual_coef_
        α, (m,), for two classes; else (N + μ I)⁻¹ (M_c − M) in columns (m, C).
    intercept_
        b, a number for two classes, else (C,).
    scalings_
        Coefficients of the discriminants, (m, C − 1).
    offset_
        What the discriminants of the mean are, (C − 1,), which `transform` takes off.
    residual_
        Largest relative residual of the systems.
    n_iter_
        Steps of conjugate gradients; 1 for the direct solver.
    n_passes_, bytes_read_
        How often the matrix was read or multiplied as a whole, and bytes read from storage.
    kernel_, prepared_
        Kernel with all data-dependent parameters fixed, and the prepared training samples; only if X contains samples.
    n_features_in_
        Number of columns of X.
    training_ids_
        Names of the training samples; only if X is a Gram matrix. Other Gram matrices must have the same columns.
    feature_names_in_
        Names of the features; only if the samples have them. New samples must have the same names in the same order.

    Notes
    -----
    A sample of weight w counts as w equal samples: μ I becomes μ diag(1/w), and the sums are weighted. N + μ I is
    positive definite whether the kernel is or not.

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
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        memory_limit: int | str | None = None,
    ) -> None:
        self.mu = mu
        self.kernel = kernel
        self.threshold = threshold
        self.priors = priors
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
            If the matrix is not square and symmetric, a value is not finite, a label is missing, there is one class, or
            the classes have the same mean in feature space.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If conjugate gradients stop before the residual is small.
        """
        self._check_parameters()
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give each sample a label"
            )
        gram = self._training_gram(X, self.memory_limit)
        m, before = gram.shape[0], gram.bytes_read()
        labels, weights, kept = labels_and_weights(y, sample_weight, m)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self._check_classes()
        found = self._solved(gram if len(kept) == m else gram[np.ix_(kept, kept)], codes, weights)
        self.n_iter_, self.residual_ = max(1, found.iterations), float(found.residuals.max())
        self.bytes_read_ = gram.bytes_read() - before
        totals = np.bincount(codes, weights=weights)
        self._decide(found, totals, kept, m)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Signed scores of the samples.

        Returns
        -------
        ndarray
            Two classes: f(x), (samples,), positive for ``classes_[1]``. More: (samples, classes), the largest for the
            class that x belongs to.

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
        """Discriminants of samples, (samples, C − 1), the most separating first; 0 for the training samples' mean.

        Each is scaled so that (N + μ I) is 1 along it, and the class whose label sorts last is on its positive side.

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
        if self.solver not in ("auto", "direct", "cg"):
            raise InputError(f'solver must be "auto", "direct" or "cg"; got {self.solver!r}')
        threshold = self.threshold
        number = isinstance(threshold, (int, float, np.integer, np.floating)) and np.isfinite(threshold)
        if not number and threshold != "midpoint":
            raise InputError(f'threshold must be "midpoint" or a number; got {threshold!r}')
        if number and self.priors is not None:
            raise InputError('priors move the midpoint: leave threshold="midpoint", or give no priors')

    def _check_classes(self) -> None:
        count = len(self.classes_)
        if self.threshold != "midpoint" and count > 2:
            raise InputError(f'a threshold tells two classes apart, and there are {count}: leave threshold="midpoint"')
        if self.priors is None:
            return
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != (count,) or not (priors > 0).all() or abs(priors.sum() - 1) > 1e-9:
            raise InputError(f"priors must be {count} positive probabilities that add up to 1; got {self.priors!r}")

    def _solved(self, gram: BaseGram, codes: Indices, weights: Floats) -> FisherDirections:
        m, classes = len(codes), len(self.classes_)
        allowed, at_work = memory_allowed(self.memory_limit), block_bytes(m, m, BLOCKS_OF_VIEW)
        needed = 24 * m**2 + at_work  # the matrix, the scatter, a product on its way
        if self.solver == "direct":
            require_memory(needed, self.memory_limit, f"solving for {m:,} samples directly")
        if self.solver == "direct" or (self.solver == "auto" and needed <= allowed):
            self.n_passes_ = 1
            return solve_directly(read_matrix(gram), codes, weights, self.mu)
        beside = 8 * m * VECTORS_OF_CG * classes
        held = isinstance(gram, ArrayGram)
        if not held and 8 * m**2 + at_work + beside <= allowed:
            gram, held = ArrayGram(read_matrix(gram), row_ids=gram.row_ids), True
            self.n_passes_ = 1
        elif not held:
            require_memory(beside, self.memory_limit, f"conjugate gradients for {m:,} samples")
        found = solve_by_products(gram, codes, weights, self.mu, tol=self.tol, max_iter=self.max_iter)
        self.n_passes_ = 1 if held else found.passes
        if not found.converged:
            warnings.warn(
                f"conjugate gradients stopped after {found.iterations} steps with a relative residual of "
                f"{found.residuals.max():.3g}, where tol={self.tol:g} was asked for: raise max_iter, tol or mu, or "
                "scale the kernel to unit norm",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def _decide(self, found: FisherDirections, totals: Array, kept: Indices, m: int) -> None:
        """Scores and discriminants from the directions of the classes against the first."""
        fractions = totals / totals.sum()
        against_first = np.hstack([np.zeros((len(kept), 1)), found.directions])
        from_mean = against_first - (against_first @ fractions)[:, None]  # (N + μ W⁻¹)⁻¹ (M_c − M)
        means, mean = found.class_means, found.class_means @ fractions
        apart = means - mean[:, None]
        self._discriminate(apart, from_mean, fractions, mean, kept, m)
        if len(self.classes_) > 2:
            self.dual_coef_ = _spread(from_mean, kept, m)
            self.intercept_ = -0.5 * ((means + mean[:, None]) * from_mean).sum(axis=0)
            if self.priors is not None:
                self.intercept_ += np.log(np.asarray(self.priors, dtype=np.float64)) / totals.sum()
            return
        alpha = found.directions[:, 0]
        self.dual_coef_ = _spread(alpha, kept, m)
        if self.threshold != "midpoint":
            self.intercept_ = -float(self.threshold)
            return
        self.intercept_ = -0.5 * float(alpha @ means.sum(axis=1))
        if self.priors is not None:
            self.intercept_ += float(np.log(self.priors[1] / self.priors[0]) / totals.sum())

    def _discriminate(
        self, apart: Floats, from_mean: Floats, fractions: Floats, mean: Floats, kept: Indices, m: int
    ) -> None:
        """Directions that separate all classes most: the between-class scatter has rank C − 1, so C × C numbers do."""
        roots = np.sqrt(fractions)
        between = roots[:, None] * (apart.T @ from_mean) * roots
        values, vectors = np.linalg.eigh((between + between.T) / 2)
        values, vectors = values[:0:-1], vectors[:, :0:-1]
        if not values[0] > 0:
            raise InputError("the classes have the same mean in feature space: no direction tells them apart")
        scales = np.where(values > NOTHING * values[0], 1 / np.sqrt(np.maximum(values, NOTHING * values[0])), 0.0)
        scalings = (from_mean * roots) @ vectors * scales
        scalings *= np.where(apart[:, -1] @ scalings < 0, -1.0, 1.0)
        self.scalings_ = _spread(scalings, kept, m)
        self.offset_ = mean @ scalings


def _spread(coefficients: Floats, kept: Indices, m: int) -> Floats:
    """Coefficients of all samples: 0 for those that do not count."""
    if len(kept) == m:
        return coefficients
    out = np.zeros((m, *coefficients.shape[1:]))
    out[kept] = coefficients
    return out
