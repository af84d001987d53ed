"""Ranking with losses on pairs of samples: ranking support vector machine and stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.parameters import one_of
from distkern.core.sentences import Parameter, Sentence
from distkern.core.warning import warn
from distkern.learners.memory import BLOCKS_OF_VIEW, block_bytes, bytes_of_reading, read_matrix, require_memory
from distkern.learners.randomness import random_state_of
from distkern.learners.ranking import PairRanker, ranking_targets
from distkern.learners.registry import saveable
from distkern.learners.validation import REPEATS, not_negative, positive, whole
from distkern.solvers.rank_svm import Pairs, solve_hinge, solve_squared_hinge

SOLVERS = {"hinge": solve_hinge, "squared_hinge": solve_squared_hinge}


@saveable
class RankSVM(PairRanker):
    r"""Ranking support vector machine: hinge loss on the score difference of each pair of samples.

    .. math::

        \min_f\ \tfrac12 \lVert f \rVert^2 + \frac{C}{|P|} \sum_{(i,j) \in P} \max\bigl(0, 1 - (f(x_i) - f(x_j))\bigr),
        \qquad f(x) = \sum_i \beta_i\, k(x_i, x)

    where P contains the pairs of samples in the same group with y_i > y_j. Only the order of the targets matters, not
    their differences. Joachims, "Optimizing search engines using clickthrough data", KDD (2002).

    Parameters
    ----------
    C
        C > 0, weight of the mean loss. A smaller value gives a smoother function.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    loss
        ``"hinge"``, solved by cutting planes, or ``"squared_hinge"``, solved by Newton's method. Both need one matrix
        product a step and O(m log m) further operations; the pairs are never listed.
    tol
        Tolerance. Hinge: gap to the minimum, relative to the objective. Squared hinge: norm of the gradient, relative
        to its norm at the start.
    max_iter
        Maximum number of cutting planes or Newton steps.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.

    Attributes
    ----------
    dual_coef_
        β, (m,).
    objective_
        Value of the minimised objective.
    duality_gap_
        Hinge: upper bound of the difference between the objective and its minimum.
    residual_
        Squared hinge: norm of the gradient, relative to its norm at 0.
    n_pairs_
        :math:`|P|`.
    n_iter_, n_passes_, bytes_read_
        Cutting planes or Newton steps, passes over the matrix, and bytes read from storage.
    kernel_, prepared_, n_features_in_, training_ids_, feature_names_in_
        See `LSRRanker`.

    See Also
    --------
    LSRRanker : The squared loss.
    SurvivalSVM : Targets that are censored.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [3.0], [2.0]])
    >>> model = RankSVM(C=100.0).fit(samples @ samples.T, [1, 2, 3, 3], groups=["a", "a", "b", "a"])
    >>> model.n_pairs_, model.predict(np.array([[5.0], [4.0]]) @ samples.T).round(2)
    (3, array([5., 4.]))
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "precomputed",
        loss: str = "hinge",
        tol: float = 1e-3,
        max_iter: int = 300,
        memory_limit: int | str | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, groups: Any = None) -> RankSVM:
        """Fit to the training matrix (m, m), or the training samples (m, n), and targets (m,).

        Parameters
        ----------
        X, y
            Kernel values or samples, and targets.
        groups
            Group of each sample, such as a query, (m,); only samples of the same group form pairs.

        Raises
        ------
        InputError
            If the matrix is not square, symmetric and positive semidefinite, a value is not finite, a target is
            missing, or there is no pair.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If the solver stops before it reaches ``tol``.
        """
        one_of(self.loss, "loss", SOLVERS)
        whole(self.max_iter, "max_iter")
        C, tol = positive(self.C, "C"), positive(self.tol, "tol")
        gram = self._training_gram(X, self.memory_limit)
        targets = ranking_targets(y, gram)
        pairs = Pairs(targets, None if groups is None else encoded_labels(groups, gram, "groups")[1])
        m, before = len(targets), gram.bytes_read()
        needed = 16 * m * (self.max_iter if self.loss == "hinge" else 16)
        needed += block_bytes(m, m, BLOCKS_OF_VIEW, self.memory_limit)
        require_memory(needed, self.memory_limit, f"ranking {m:,} samples in up to {self.max_iter} steps")
        found = SOLVERS[self.loss](gram, pairs, C, tol=tol, max_iter=self.max_iter)
        self.dual_coef_, self.objective_, self.n_pairs_ = found.coefficients, found.objective, pairs.count
        setattr(self, "duality_gap_" if self.loss == "hinge" else "residual_", found.gap)
        self.n_iter_, self.n_passes_ = found.iterations, found.passes
        self.bytes_read_ = gram.bytes_read() - before
        if not found.converged:
            message = Sentence(
                "RankSVM stopped after {steps} steps at a gap of {gap:.2g}: raise {max_iter}",
                steps=found.iterations,
                gap=found.gap,
                max_iter=Parameter("max_iter"),
            )
            warn(ConvergenceWarning(message))
        return self


@saveable
class SGDRanker(PairRanker):
    r"""Least squares ranking by stochastic gradient descent on pairs: a baseline that approximates `LSRRanker`.

    Step t draws two training samples i and j and sets

    .. math::

        f \leftarrow f - \eta_t \bigl[(f(x_i) - f(x_j) - (y_i - y_j))(k(x_i, \cdot) - k(x_j, \cdot)) + \lambda f\bigr],
        \qquad \eta_t = \eta_0\, t^{-\theta}

    starting from f = 0, over ``epochs`` random pairings of the samples. The update rule is that of Chen, Tang, Li,
    Yuan, Li and Tang, "Error analysis of stochastic gradient descent ranking", IEEE Trans. Cybernetics 43 (2013). Zhou
    et al. (2016) compare with an "SGDRank" whose step sizes and number of passes they do not state.

    Parameters
    ----------
    lam
        λ > 0.
    kernel
        See `LSRRanker`.
    epochs
        Number of random pairings of all samples.
    eta0
        η₀ > 0; by default 1 / (4 max k(x, x)), for which no step overshoots.
    power
        θ in [0, 1).
    random_state
        Seed of the pairings.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.
        The matrix is read into memory.

    Attributes
    ----------
    dual_coef_
        β, (m,).
    objective_
        Final value of the objective of `LSRRanker`.
    n_iter_
        Number of steps.
    kernel_, prepared_, n_features_in_, training_ids_, feature_names_in_
        See `LSRRanker`.

    See Also
    --------
    LSRRanker : The exact solution.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [3.0]])
    >>> SGDRanker(lam=1e-3, random_state=0).fit(samples @ samples.T, [5.0, 6.0, 8.0]).predict([[0, 2, 6]]).round(1)
    array([2.])
    """

    def __init__(
        self,
        lam: float = 0.01,
        *,
        kernel: Any = "precomputed",
        epochs: int = 100,
        eta0: float | None = None,
        power: float = 0.25,
        random_state: Any = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self.lam = lam
        self.kernel = kernel
        self.epochs = epochs
        self.eta0 = eta0
        self.power = power
        self.random_state = random_state
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any) -> SGDRanker:
        """Fit to the training matrix (m, m), or the training samples (m, n), and targets (m,).

        Raises
        ------
        InputError
            If the matrix is not square and symmetric, a value is not finite, a target is missing, all targets are
            equal, or the iteration diverges because ``eta0`` is too large.
        MemoryLimitError
            If the matrix does not fit in memory; raised before it is read.
        """
        lam = positive(self.lam, "lam")
        if not_negative(self.power, "power") >= 1:
            raise InputError(f"power must be at least 0 and less than 1; got {self.power!r}")
        whole(self.epochs, "epochs", REPEATS)
        gram = self._training_gram(X, self.memory_limit)
        m = gram.shape[0]
        targets = ranking_targets(y, gram)
        needed = 8 * m**2 + bytes_of_reading(gram, self.memory_limit)
        require_memory(needed, self.memory_limit, f"ranking {m:,} samples")
        K = read_matrix(gram)
        largest = float(K.diagonal().max())
        eta0 = positive(self.eta0, "eta0") if self.eta0 is not None else 0.25 / largest if largest > 0 else 1.0
        rng = random_state_of(self.random_state)
        beta, f, step = np.zeros(m), np.zeros(m), 0
        for _ in range(self.epochs):
            for i, j in rng.permutation(m)[: m - m % 2].reshape(-1, 2):
                step += 1
                eta = eta0 * step**-self.power
                change = eta * ((f[i] - f[j]) - (targets[i] - targets[j]))
                beta *= 1 - eta * lam
                f *= 1 - eta * lam
                beta[i] -= change
                beta[j] += change
                f -= change * (K[i] - K[j])
        if not np.isfinite(f).all():
            raise InputError(f"the scores diverged: eta0={eta0:.3g} is too large for this matrix; give a smaller eta0=")
        self.dual_coef_, self.n_iter_ = beta, step
        self.objective_ = float(2 * np.var(targets - f) + lam * beta @ f)
        return self
