"""Mixtures of Mallows models for total rankings, by expectation-maximisation."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from distkern.compiled.consensus import contradicted, improve_order, preferences
from distkern.core.errors import InputError, SampleError
from distkern.core.feature_names import places_by_name
from distkern.core.rankings import Rankings
from distkern.core.sentences import Parameter, Sentence
from distkern.core.typing import Floats, Indices
from distkern.core.validation import Names
from distkern.core.warning import warn
from distkern.core.weights import sample_weights
from distkern.datasets.mallows import sample_mallows
from distkern.kernels.kendall import Concordance
from distkern.learners.consensus import best_order
from distkern.learners.kmeans import generators_of
from distkern.learners.registry import saveable
from distkern.learners.validation import REPEATS, labelled_table, not_negative, samples_of, validated, whole

EXACT_ITEMS = 14
"""Largest number of items for an exact Kemeny consensus in each step; local search is used for more items."""

LARGEST_DISPERSION = 50.0
"""Upper bound of θ, reached if all rankings of a component equal its consensus."""


def log_partition(dispersion: Floats | float, n: int) -> Floats:
    r"""Logarithm of :math:`\psi(\theta) = \prod_{j=1}^n \frac{1 - e^{-j\theta}}{1 - e^{-\theta}}`, for each θ ≥ 0.

    Examples
    --------
    >>> float(np.exp(log_partition(0.0, 4)).round(6)), float(np.exp(log_partition(np.log(2), 2)))
    (24.0, 1.5)
    """
    theta = np.asarray(dispersion, dtype=np.float64)[..., None]
    safe = np.where(theta > 0, theta, 1.0)
    terms = np.log(np.expm1(-safe * np.arange(1, n + 1)) / np.expm1(-safe)).sum(axis=-1)
    return np.where(theta[..., 0] > 0, terms, gammaln(n + 1))


def mean_distance(dispersion: float, n: int) -> float:
    r"""Expected number of discordant pairs, :math:`\frac{n}{e^\theta - 1} - \sum_{j=1}^n \frac{j}{e^{j\theta} - 1}`.

    Examples
    --------
    >>> round(mean_distance(0.0, 4), 6), round(mean_distance(np.log(2), 2), 6)
    (3.0, 0.333333)
    """
    if dispersion * n < 1e-5:  # the difference below cancels; expand the mean to first order in θ
        return n * (n - 1) / 4 - dispersion * n * (n - 1) * (2 * n + 5) / 72
    j = np.arange(1, n + 1)
    with np.errstate(over="ignore"):
        return float(n / np.expm1(dispersion) - (j / np.expm1(j * dispersion)).sum())


def dispersion_of(mean: float, n: int) -> float:
    """θ in [0, `LARGEST_DISPERSION`] whose expected number of discordant pairs is nearest to ``mean``."""
    if mean >= mean_distance(0.0, n):
        return 0.0
    if mean <= mean_distance(LARGEST_DISPERSION, n):
        return LARGEST_DISPERSION
    return float(brentq(lambda theta: mean_distance(theta, n) - mean, 0.0, LARGEST_DISPERSION, xtol=1e-13))


@dataclass(frozen=True)
class _Components:
    """Weights π (c,), consensus orders with the best item first (c, n), and dispersions θ (c,)."""

    weights: Floats
    orders: Indices
    dispersions: Floats


@dataclass(frozen=True)
class _Run:
    """Result of one start."""

    components: _Components
    history: tuple[float, ...]
    converged: bool


@saveable
class MallowsMixture(ClusterMixin, DensityMixin, BaseEstimator):
    r"""Mixture of Mallows models on total rankings.

    .. math::

        p(x) = \sum_c \pi_c\, \frac{\exp(-\theta_c\, d(x, \sigma_c))}{\psi(\theta_c)}

    where d is the number of discordant pairs and ψ is known in closed form. Fitted by expectation-maximisation; the
    consensus σ_c is the Kemeny consensus of the weighted rankings, exact for up to 14 items. Murphy and Martin,
    "Mixtures of distance-based models for ranking data", Computational Statistics & Data Analysis 41 (2003).

    Parameters
    ----------
    n_components
        Number of components.
    n_init
        Number of starts, by k-means++ on the number of discordant pairs; the best result is kept.
    max_iter
        Maximum number of iterations of a start.
    tol
        A start stops when an iteration increases the mean log-likelihood by at most this.
    random_state
        Seed of the starts.

    Attributes
    ----------
    weights_
        π, (components,), descending.
    consensus_
        σ, (components, n): value of each item, from n for the best to 1 for the last.
    dispersions_
        θ, (components,).
    labels_
        Most probable component of each training sample, (m,).
    log_likelihood_, objective_
        Maximised log-likelihood of all training samples, and its negative.
    n_iter_, converged_
        Iterations of the best start, and whether it reached ``tol``.
    history_
        Log-likelihood after each iteration of the best start, (iterations,); it never decreases.
    n_features_in_, feature_names_in_
        Number of items, and their names if they have names.

    Notes
    -----
    Samples are `Rankings`, or rows of distinct values (m, n) with larger = preferred; only their order is used.
    Equal samples are merged, so the time grows with the number of distinct samples.

    Examples
    --------
    >>> votes = sample_mallows([4, 3, 2, 1], 2.0, 50, random_state=0)
    >>> model = MallowsMixture(1).fit(votes)
    >>> model.consensus_, bool(1 < model.dispersions_[0] < 3)
    (array([[4., 3., 2., 1.]]), True)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MallowsMixture:
        """Fit to rankings (m, n).

        Parameters
        ----------
        X
            Rankings.
        y
            Ignored.
        sample_weight
            Number of voters of each ranking, (m,); by default the counts of `Rankings`, else 1.

        Raises
        ------
        InputError
            If there are fewer distinct rankings than components, or a parameter is out of range.
        SampleError
            If a sample has ties or misses an item; the message names it.
        """
        self._check_parameters()
        ranks = self._ranks(X, reset=True)
        if sample_weight is None and isinstance(X, Rankings):
            sample_weight = X.counts
        weights, _ = sample_weights(sample_weight, samples_of(X))
        distinct, inverse = np.unique(ranks, axis=0, return_inverse=True)
        counts = np.bincount(inverse.ravel(), weights).astype(np.float64)
        distinct, counts = distinct[counts > 0], counts[counts > 0]
        if len(distinct) < self.n_components:
            raise InputError(
                f"got {len(distinct)} distinct rankings (n_samples={len(ranks)}) for n_components={self.n_components}: "
                "ask for fewer components"
            )
        starts = generators_of(self.random_state, self.n_init)
        best = max((self._run(distinct, counts, start) for start in starts), key=lambda run: run.history[-1])
        largest_first = np.argsort(-best.components.weights, kind="stable")
        self.weights_ = best.components.weights[largest_first]
        self.consensus_ = _values_of(best.components.orders[largest_first])
        self.dispersions_ = best.components.dispersions[largest_first]
        self.history_ = np.array(best.history)
        self.log_likelihood_, self.n_iter_ = float(self.history_[-1]), len(best.history)
        self.objective_, self.converged_ = -self.log_likelihood_, best.converged
        self.labels_ = self._joint(ranks).argmax(axis=1)
        if not best.converged:
            message = Sentence(
                "the mixture stopped after {iterations} iterations before it converged: raise {max_iter} or {tol}",
                iterations=self.max_iter,
                max_iter=Parameter("max_iter"),
                tol=Parameter("tol"),
            )
            warn(ConvergenceWarning(message))
        return self

    def predict(self, X: Any) -> Indices:
        """Most probable component of each sample, (samples,)."""
        return self._joint(self._validated_ranks(X)).argmax(axis=1)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each component given the sample, (samples, components)."""
        joint = self._joint(self._validated_ranks(X))
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def score_samples(self, X: Any) -> Floats:
        """Log-likelihood of each sample, (samples,)."""
        return np.asarray(logsumexp(self._joint(self._validated_ranks(X)), axis=1), dtype=np.float64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-likelihood of the samples."""
        each = self.score_samples(X)
        return float(np.average(each, weights=self._voters(X, sample_weight)))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion −2 log L + p log m, with p = 2 components − 1; lower is better.

        p counts weights and dispersions, but not the consensus rankings, which are discrete.
        """
        voters = self._voters(X, sample_weight).sum()
        return -2 * voters * self.score(X, sample_weight=sample_weight) + (2 * len(self.weights_) - 1) * log(voters)

    def sample(self, n_samples: int = 1) -> tuple[Floats, Indices]:
        """Draw rankings from the mixture: their values (n_samples, n), and the component of each, (n_samples,)."""
        check_is_fitted(self)
        random = generators_of(self.random_state, 1)[0]
        labels = np.sort(random.choice(len(self.weights_), n_samples, p=self.weights_ / self.weights_.sum()))
        drawn = [
            sample_mallows(
                self.consensus_[c], self.dispersions_[c], int((labels == c).sum()), random_state=random
            ).values
            for c in np.unique(labels)
        ]
        return np.concatenate(drawn), labels

    # Expectation-maximisation ----------------------------------------------------------------------------------------

    def _run(self, ranks: Floats, counts: Floats, random: np.random.Generator) -> _Run:
        """Iterate from one start until the log-likelihood converges."""
        memberships = _nearest_seeds(ranks, counts, self.n_components, random)
        components, history = _maximised(ranks, counts, memberships, None), []
        while True:
            joint = _log_joint(components, ranks)
            each = logsumexp(joint, axis=1)
            history.append(float(counts @ each))
            converged = len(history) > 1 and history[-1] - history[-2] <= self.tol * float(counts.sum())
            if converged or len(history) == self.max_iter:
                return _Run(components, tuple(history), converged)
            components = _maximised(ranks, counts, np.exp(joint - each[:, None]), components)

    def _joint(self, ranks: Floats) -> Floats:
        """Log π_c p_c(x), (samples, components)."""
        orders = np.argsort(-self.consensus_, axis=1)
        return _log_joint(_Components(self.weights_, orders, self.dispersions_), ranks)

    # Input -----------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name in ("n_components", "max_iter"):
            whole(getattr(self, name), name)
        whole(self.n_init, "n_init", REPEATS)
        not_negative(self.tol, "tol")

    def _validated_ranks(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._ranks(X, reset=False)

    def _ranks(self, X: Any, *, reset: bool) -> Floats:
        """Validate samples; return the rank of each item from 1, the least preferred, to n, (m, n)."""
        names = X.items if isinstance(X, Rankings) else None
        scores = X.scores if isinstance(X, Rankings) else labelled_table(X)
        if not reset:
            scores = self._in_order(scores, names)
        finite = not isinstance(X, Rankings)  # Rankings use −infinity for items ranked last
        with warnings.catch_warnings():
            if names is not None:
                warnings.filterwarnings("ignore", "X does not have valid feature names")
            values = validated(self, scores, reset=reset, dtype=np.float64, ensure_all_finite=finite)
        if reset and names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        if values.shape[1] < 2:
            raise InputError("got n_features=1: a ranking has 2 items or more")
        order = np.argsort(values, axis=1)
        ordered = np.take_along_axis(values, order, axis=1)
        unfit = np.flatnonzero(np.isnan(ordered[:, -1]) | (ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(unfit):
            raise SampleError(
                f"sample number {unfit[0]} has ties or misses an item ({len(unfit)} such): the Mallows model needs "
                "total rankings without ties; leave such samples out",
                int(unfit[0]),
            )
        ranks = np.empty(values.shape)
        np.put_along_axis(ranks, order, np.arange(1.0, values.shape[1] + 1)[None, :], axis=1)
        return ranks

    def _in_order(self, scores: Any, names: Names) -> Any:
        """Take the columns of the items of the training rankings, by name, wherever they are among others."""
        framed = names is None and hasattr(scores, "iloc")
        given = tuple(map(str, scores.columns)) if framed else names
        places = places_by_name(getattr(self, "feature_names_in_", None), given, "X")
        if places is None:
            return scores
        return scores.iloc[:, places] if framed else scores[:, places]

    def _voters(self, X: Any, sample_weight: Any) -> Floats:
        if sample_weight is None and isinstance(X, Rankings):
            sample_weight = X.counts
        return sample_weights(sample_weight, samples_of(X))[0]


def _distances(ranks: Floats, centres: Floats) -> Floats:
    """Numbers of discordant pairs between rankings and centres, (m, c)."""
    kernel, n = Concordance(), ranks.shape[1]
    return (n * (n - 1) / 2 - kernel.tile(kernel.prepare(ranks), kernel.prepare(centres))) / 2


def _values_of(orders: Indices) -> Floats:
    """Values of the items, n for the first of an order to 1 for the last, (c, n)."""
    values = np.empty(orders.shape)
    np.put_along_axis(values, orders, np.arange(orders.shape[1], 0, -1.0)[None, :], axis=1)
    return values


def _log_joint(components: _Components, ranks: Floats) -> Floats:
    """Log π_c − θ_c d(x, σ_c) − log ψ(θ_c), (m, c)."""
    constant = np.log(components.weights) - log_partition(components.dispersions, ranks.shape[1])
    return constant - components.dispersions * _distances(ranks, _values_of(components.orders))


def _nearest_seeds(ranks: Floats, counts: Floats, n_components: int, random: np.random.Generator) -> Floats:
    """One-hot memberships (m, c) of the rankings in the nearest of c seeds, drawn by k-means++ on discordant pairs."""
    distances = np.empty((len(ranks), 0))
    chances = counts
    for _ in range(n_components):
        seed = random.choice(len(ranks), p=chances / chances.sum())
        distances = np.hstack([distances, _distances(ranks, ranks[[seed]])])
        chances = counts * distances.min(axis=1)
    return np.eye(n_components)[distances.argmin(axis=1)]


def _maximised(ranks: Floats, counts: Floats, memberships: Floats, before: _Components | None) -> _Components:
    """Maximisation step: the components of highest expected log-likelihood for the memberships.

    A consensus found by local search is never worse than the one before. A component without members is unchanged.
    """
    n = ranks.shape[1]
    shares = counts[:, None] * memberships
    masses = shares.sum(axis=0)
    counted = preferences(ranks, shares)
    orders, dispersions = np.empty((len(masses), n), dtype=np.intp), np.empty(len(masses))
    for c, mass in enumerate(masses):
        if before is not None and mass <= 1e-12 * counts.sum():
            orders[c], dispersions[c] = before.orders[c], before.dispersions[c]
            continue
        orders[c] = _consensus(counted[c], None if before is None else before.orders[c])
        dispersions[c] = dispersion_of(contradicted(orders[c], counted[c]) / mass, n)
    return _Components(np.maximum(masses / masses.sum(), np.finfo(float).tiny), orders, dispersions)


def _consensus(preferred: Floats, before: Indices | None) -> Indices:
    if len(preferred) <= EXACT_ITEMS:
        return best_order(preferred, "kemeny")
    found = best_order(preferred, "local-search")
    if before is not None:
        improved = before.copy()
        improve_order(improved, preferred)
        if contradicted(improved, preferred) <= contradicted(found, preferred):
            return improved
    return found
