"""Mixtures of Mallows models for total and top-k rankings, by expectation-maximisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from distkern.compiled.consensus import contradicted, improve_order, preferences
from distkern.core.errors import SampleError
from distkern.core.typing import Floats, Indices
from distkern.datasets.mallows import sample_mallows
from distkern.kernels.kendall import Concordance
from distkern.learners.ballots import ballots_of, voters_of
from distkern.learners.consensus import best_order
from distkern.learners.kmeans import generators_of
from distkern.learners.ranking_mixture import RankingMixture
from distkern.learners.registry import saveable

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


def dispersion_of(mean: float, n: int, unlisted: Indices | None = None, shares: Floats | None = None) -> float:
    """θ in [0, `LARGEST_DISPERSION`] whose expected number of discordant pairs is nearest to ``mean``.

    ``shares`` of the rankings leave ``unlisted`` items out at their end, whose pairs do not count.
    """
    sizes = [] if unlisted is None or shares is None else list(zip(unlisted.tolist(), shares.tolist(), strict=True))

    def expected(theta: float) -> float:
        return mean_distance(theta, n) - sum(share * mean_distance(theta, size) for size, share in sizes if size > 1)

    if mean >= expected(0.0):
        return 0.0
    if mean <= expected(LARGEST_DISPERSION):
        return LARGEST_DISPERSION
    return float(brentq(lambda theta: expected(theta) - mean, 0.0, LARGEST_DISPERSION, xtol=1e-13))


@dataclass(frozen=True)
class _Components:
    """Weights π (c,), consensus orders with the best item first (c, n), and dispersions θ (c,)."""

    weights: Floats
    orders: Indices
    dispersions: Floats


@dataclass(frozen=True)
class _Ballots:
    """Ranks, n for the first, 0 for items that are not listed (m, n), and the number of the latter (m,)."""

    ranks: Floats
    unlisted: Indices


@saveable
class MallowsMixture(RankingMixture):
    r"""Mixture of Mallows models on total and top-k rankings.

    .. math::

        p(x) = \sum_c \pi_c\, \frac{\exp(-\theta_c\, d(x, \sigma_c))}{\psi(\theta_c)}

    where d is the number of discordant pairs and ψ is known in closed form. Fitted by expectation-maximisation; the
    consensus σ_c is the Kemeny consensus of the weighted rankings, exact for up to 14 items. Murphy and Martin,
    "Mixtures of distance-based models for ranking data", Computational Statistics & Data Analysis 41 (2003).

    The probability of a top-k ranking, the sum over all total rankings that begin with it, is known in closed form:
    d counts the pairs with a listed item, and ψ is divided by that of the items that are not listed. Fligner and
    Verducci, "Distance based ranking models", Journal of the Royal Statistical Society B 48 (1986).

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

    See Also
    --------
    PlackettLuceMixture : Another model, also for partial rankings with ties.
    KernelKMeans : Clusters by any kernel.
    distkern.datasets.sample_mallows : Rankings drawn from a Mallows model.

    Notes
    -----
    Samples are `Rankings` of kind ``"total"`` or ``"top"``, or rows of distinct values (m, n) with larger = preferred;
    only their order is used. `PlackettLuceMixture` also takes ties and rankings of some of the items.
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
            If a sample has ties, or misses an item and is no top-k ranking; the message names it.
        """
        self._check_parameters()
        ballots = self._data(X, reset=True)
        weights = voters_of(X, sample_weight)
        ranks, inverse = np.unique(ballots.ranks, axis=0, return_inverse=True)
        counts = np.bincount(inverse.ravel(), weights).astype(np.float64)
        ranks, counts = ranks[counts > 0], counts[counts > 0]
        distinct = _Ballots(ranks, (ranks == 0).sum(axis=1))
        self._check_distinct(len(ranks), len(weights))
        starts = generators_of(self.random_state, self.n_init)
        runs = (
            self._run(distinct, counts, _nearest_seeds(distinct, counts, self.n_components, start)) for start in starts
        )
        best = max(runs, key=lambda run: run.history[-1])
        largest_first = np.argsort(-best.components.weights, kind="stable")
        self.weights_ = best.components.weights[largest_first]
        self.consensus_ = _values_of(best.components.orders[largest_first])
        self.dispersions_ = best.components.dispersions[largest_first]
        self.log_likelihood_, self.objective_ = best.history[-1], -best.history[-1]
        self.labels_ = self._log_joint(self._fitted(), ballots).argmax(axis=1)
        self._keep(best)
        return self

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

    def _log_joint(self, components: _Components, data: _Ballots) -> Floats:
        """Log π_c − θ_c d(x, σ_c) − log ψ(θ_c), (m, c)."""
        n = data.ranks.shape[1]
        sizes, place = np.unique(data.unlisted, return_inverse=True)
        left = np.array([log_partition(components.dispersions, max(int(size), 1)) for size in sizes])
        constant = np.log(components.weights) - log_partition(components.dispersions, n) + left[place.ravel()]
        return constant - components.dispersions * _distances(data, _values_of(components.orders))

    def _maximised(
        self, data: _Ballots, counts: Floats, memberships: Floats, before: _Components | None
    ) -> _Components:
        """Maximisation step: a consensus of local search is never worse than the one before.

        A component without members is unchanged.
        """
        n = data.ranks.shape[1]
        shares = counts[:, None] * memberships
        masses = shares.sum(axis=0)
        counted = preferences(data.ranks, shares)
        sizes, place = np.unique(data.unlisted, return_inverse=True)
        orders, dispersions = np.empty((len(masses), n), dtype=np.intp), np.empty(len(masses))
        for c, mass in enumerate(masses):
            if before is not None and mass <= 1e-12 * counts.sum():
                orders[c], dispersions[c] = before.orders[c], before.dispersions[c]
                continue
            orders[c] = _consensus(counted[c], None if before is None else before.orders[c])
            parts = np.bincount(place.ravel(), shares[:, c], minlength=len(sizes)) / mass
            dispersions[c] = dispersion_of(contradicted(orders[c], counted[c]) / mass, n, sizes, parts)
        return _Components(np.maximum(masses / masses.sum(), np.finfo(float).tiny), orders, dispersions)

    def _fitted(self) -> _Components:
        return _Components(self.weights_, np.argsort(-self.consensus_, axis=1), self.dispersions_)

    def _n_parameters(self) -> int:
        """Weights and dispersions, but not the consensus rankings, which are discrete."""
        return 2 * len(self.weights_) - 1

    # Input -----------------------------------------------------------------------------------------------------------

    def _data(self, X: Any, *, reset: bool = False) -> _Ballots:
        """Validate samples; return the rank of each item from 1, the least preferred, to n, (m, n)."""
        ballots = ballots_of(self, X, reset=reset)
        top = (np.array(ballots.kind) == "top")[:, None]
        values = np.where(np.isnan(ballots.values) & top, -np.inf, ballots.scores)
        order = np.argsort(values, axis=1, kind="stable")
        ordered = np.take_along_axis(values, order, axis=1)
        listed = np.take_along_axis(~(np.isnan(ballots.values) & top), order, axis=1)
        tied = (ordered[:, 1:] == ordered[:, :-1]) & listed[:, 1:] & listed[:, :-1]
        unfit = np.flatnonzero(np.isnan(ordered[:, -1]) | tied.any(axis=1))
        if len(unfit):
            raise SampleError(
                f"sample number {unfit[0]} has ties or misses an item ({len(unfit)} such): the Mallows model needs "
                "total rankings without ties, or top-k rankings; leave such samples out, or take PlackettLuceMixture",
                int(unfit[0]),
            )
        ranks = np.empty(values.shape)
        np.put_along_axis(ranks, order, np.arange(1.0, values.shape[1] + 1)[None, :], axis=1)
        unlisted = values.shape[1] - listed.sum(axis=1)
        if (unlisted > 1).any():  # one item that is not listed is the last
            ranks[(ranks <= unlisted[:, None]) & (unlisted > 1)[:, None]] = 0
        return _Ballots(ranks, np.where(unlisted > 1, unlisted, 0))


def _distances(ballots: _Ballots, centres: Floats) -> Floats:
    """Numbers of discordant pairs between rankings and centres, (m, c)."""
    kernel, n = Concordance(), ballots.ranks.shape[1]
    ordered = (n * (n - 1) - ballots.unlisted * (ballots.unlisted - 1)) / 2
    return (ordered[:, None] - kernel.tile(kernel.prepare(ballots.ranks), kernel.prepare(centres))) / 2


def _values_of(orders: Indices) -> Floats:
    """Values of the items, n for the first of an order to 1 for the last, (c, n)."""
    values = np.empty(orders.shape)
    np.put_along_axis(values, orders, np.arange(orders.shape[1], 0, -1.0)[None, :], axis=1)
    return values


def _nearest_seeds(ballots: _Ballots, counts: Floats, n_components: int, random: np.random.Generator) -> Floats:
    """One-hot memberships (m, c) of the rankings in the nearest of c seeds, drawn by k-means++ on discordant pairs."""
    distances = np.empty((len(counts), 0))
    chances = counts
    for _ in range(n_components):
        seed = random.choice(len(counts), p=chances / chances.sum())
        distances = np.hstack([distances, _distances(ballots, ballots.ranks[[seed]])])
        chances = counts * np.maximum(distances.min(axis=1), 0)
    return np.eye(n_components)[distances.argmin(axis=1)]


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
