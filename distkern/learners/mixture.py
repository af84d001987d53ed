"""Mixtures of Mallows models for total, top-k and partial rankings, by expectation-maximisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp
from sklearn.utils.validation import check_is_fitted

from distkern.compiled.completions import completion_chances, completion_preferences
from distkern.compiled.consensus import contradicted, improve_order, preferences
from distkern.core.errors import InputError, SampleError
from distkern.core.random import sample_keys
from distkern.core.typing import Array, Floats, Indices
from distkern.datasets.mallows import sample_mallows
from distkern.io.digests import dense_digests
from distkern.kernels.kendall import Concordance
from distkern.kernels.partial import PartialKendall
from distkern.learners.ballots import ballots_of, voters_of
from distkern.learners.consensus import best_order
from distkern.learners.kmeans import generators_of
from distkern.learners.ranking_mixture import RankingMixture, Run
from distkern.learners.registry import saveable
from distkern.learners.validation import whole

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
    """Rankings (m, n), what they leave open, and the random streams that complete them.

    Parameters
    ----------
    ranks
        n for the best item, down to 1 for the last; where ranks are unknown from the number of listed items down to 1.
        0 for items that are not listed.
    unlisted
        (m,): number of items that come after all listed ones, in any order.
    unknown
        (m,): whether the items that are not listed have unknown ranks.
    keys
        (m, 4): keys of the streams.
    """

    ranks: Floats
    unlisted: Indices
    unknown: Array
    keys: Array

    def __getitem__(self, rows: Any) -> _Ballots:
        return _Ballots(self.ranks[rows], self.unlisted[rows], self.unknown[rows], self.keys[rows])


@saveable
class MallowsMixture(RankingMixture):
    r"""Mixture of Mallows models on total, top-k and partial rankings.

    .. math::

        p(x) = \sum_c \pi_c\, \frac{\exp(-\theta_c\, d(x, \sigma_c))}{\psi(\theta_c)}

    where d is the number of discordant pairs and ψ is known in closed form. Fitted by expectation-maximisation; the
    consensus σ_c is the Kemeny consensus of the weighted rankings, exact for up to 14 items. Murphy and Martin,
    "Mixtures of distance-based models for ranking data", Computational Statistics & Data Analysis 41 (2003).

    The probability of a top-k ranking, the sum over all total rankings that begin with it, is known in closed form:
    d counts the pairs with a listed item, and ψ is divided by that of the items that are not listed. Fligner and
    Verducci, "Distance based ranking models", Journal of the Royal Statistical Society B 48 (1986).

    The probability of a ranking of some of the items (kind ``"interleaving"``) is the sum over all total rankings that
    agree with it. It is estimated from random completions, and so are the means over them that an iteration needs. Lu
    and Boutilier, "Effective sampling and learning for Mallows models with pairwise-preference data", Journal of
    Machine Learning Research 15 (2014).

    Parameters
    ----------
    n_components
        Number of components.
    n_completions
        Number of random completions of each ranking with items of unknown rank, for each component.
    n_init
        Number of starts, by k-means++ on the number of discordant pairs; the best result is kept.
    max_iter
        Maximum number of iterations of a start.
    tol
        A start stops when an iteration increases the mean log-likelihood by at most this.
    random_state
        Seed of the starts, and of the completions.

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
    log_likelihood_error_
        Monte Carlo standard error of ``log_likelihood_``; 0 where no item has an unknown rank.
    n_iter_, converged_
        Iterations of the best start, and whether it reached ``tol``.
    history_
        Log-likelihood after each iteration of the best start, (iterations,); it never decreases.
    completion_seed_
        Seed of the completions: a ranking has the same ones in training and in prediction, among whichever others.
    n_features_in_, feature_names_in_
        Number of items, and their names if they have names.

    See Also
    --------
    PlackettLuceMixture : Another model, also for partial rankings with ties.
    KernelKMeans : Clusters by any kernel.
    distkern.datasets.sample_mallows : Rankings drawn from a Mallows model.

    Notes
    -----
    Samples are `Rankings` without ties, or rows of distinct values (m, n) with larger = preferred; only their order is
    used. `PlackettLuceMixture` also takes ties.
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
        n_completions: int = 100,
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_completions = n_completions
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
            If a sample has ties; the message names it.
        """
        self._check_parameters()
        if whole(self.n_completions, "n_completions") < 2:
            raise InputError("n_completions must be 2 or more: the spread of the completions tells how sure they are")
        *starts, completions = generators_of(self.random_state, self.n_init + 1)
        self.completion_seed_ = int(completions.integers(2**31))
        ballots = self._data(X, reset=True)
        weights = voters_of(X, sample_weight)
        _, first, inverse = np.unique(
            np.column_stack([ballots.ranks, ballots.unknown]), axis=0, return_index=True, return_inverse=True
        )
        counts = np.bincount(inverse.ravel(), weights).astype(np.float64)
        distinct, counts = ballots[first[counts > 0]], counts[counts > 0]
        self._check_distinct(len(counts), len(weights))
        runs = (
            self._climb(distinct, counts, _nearest_seeds(distinct, counts, self.n_components, start))
            for start in starts
        )
        best = max(runs, key=lambda run: run.history[-1])
        largest_first = np.argsort(-best.components.weights, kind="stable")
        self.weights_ = best.components.weights[largest_first]
        self.consensus_ = _values_of(best.components.orders[largest_first])
        self.dispersions_ = best.components.dispersions[largest_first]
        self.log_likelihood_, self.objective_ = best.history[-1], -best.history[-1]
        self.log_likelihood_error_ = self._error(distinct, counts)
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

    def monte_carlo_error(self, X: Any, sample_weight: Any = None) -> float:
        """Standard error of `score` that the completions leave; 0 where no item has an unknown rank."""
        check_is_fitted(self)
        ballots, weights = self._data(X), voters_of(X, sample_weight)
        _, first, inverse = np.unique(ballots.keys, axis=0, return_index=True, return_inverse=True)
        merged = np.bincount(inverse.ravel(), weights).astype(np.float64)
        return self._error(ballots[first], merged) / float(weights.sum())

    # Expectation-maximisation ----------------------------------------------------------------------------------------

    def _climb(self, data: _Ballots, counts: Floats, memberships: Floats) -> Run:
        """Iterate, and exchange neighbours of a consensus, until neither raises the likelihood."""
        run = self._run(data, counts, self._maximised(data, counts, memberships, None))
        while data.unknown.any() and run.converged:
            better = self._exchanged(run, data, counts)
            if better is None:
                break
            run = self._run(data, counts, better, run.history)
        return run

    def _exchanged(self, run: Run, data: _Ballots, counts: Floats) -> _Components | None:
        """Exchange neighbours of the orders where that raises the likelihood by more than ``tol``; None if nowhere.

        Completions follow the order of their component, so that an iteration hardly changes it. Exchanges against the
        weight of the ballots that list both items are not tried.
        """
        components: _Components = run.components
        joint, reached, found = self._log_joint(components, data), run.history[-1], False
        listed = np.where((data.ranks == 0) & data.unknown[:, None], np.nan, data.ranks)
        for c in range(len(components.weights)):
            shares = counts * np.exp(joint[:, c] - logsumexp(joint, axis=1))
            observed = preferences(listed, shares[:, None])[0]
            for place in range(data.ranks.shape[1] - 1):
                first, second = components.orders[c, place : place + 2]
                if observed[first, second] >= observed[second, first]:
                    continue
                orders = components.orders.copy()
                orders[c, place : place + 2] = second, first
                one = _Components(components.weights[[c]], orders[[c]], components.dispersions[[c]])
                tried = joint.copy()
                tried[:, [c]] = self._log_joint(one, data)
                objective = float(counts @ logsumexp(tried, axis=1))
                if objective > reached + self.tol * float(counts.sum()):
                    components = _Components(components.weights, orders, components.dispersions)
                    joint, reached, found = tried, objective, True
        return components if found else None

    def _log_joint(self, components: _Components, data: _Ballots) -> Floats:
        """Log π_c + log p_c(x), (m, c)."""
        out = np.empty((len(data.ranks), len(components.weights)))
        if data.unknown.any():
            out[data.unknown] = self._estimated(components, data[data.unknown])[0]
        exact = data[~data.unknown]
        if len(exact.ranks):
            n = exact.ranks.shape[1]
            sizes, place = np.unique(exact.unlisted, return_inverse=True)
            left = np.array([log_partition(components.dispersions, max(int(size), 1)) for size in sizes])
            distances = _distances(exact, _values_of(components.orders))
            constant = left[place.ravel()] - log_partition(components.dispersions, n)
            out[~data.unknown] = constant - components.dispersions * distances
        return out + np.log(components.weights)

    def _estimated(self, components: _Components, unknown: _Ballots) -> tuple[Floats, Floats]:
        """Log p_c(x) of rankings with items of unknown rank (m, c), and squared relative errors of p(x), (m,)."""
        chances, variances = np.empty((len(unknown.ranks), len(components.weights))), np.empty(len(unknown.ranks))
        completion_chances(
            unknown.ranks.astype(np.int64), unknown.keys, components.orders, components.dispersions,
            np.log(components.weights), self.n_completions, chances, variances,
        )  # fmt: skip
        return chances, variances

    def _error(self, ballots: _Ballots, counts: Floats) -> float:
        """Standard error of the log-likelihood of rankings that all differ."""
        if not ballots.unknown.any():
            return 0.0
        variances = self._estimated(self._fitted(), ballots[ballots.unknown])[1]
        return float(np.sqrt((counts[ballots.unknown] ** 2 * variances).sum()))

    def _preferences(self, data: _Ballots, shares: Floats, before: _Components | None) -> Floats:
        """Expected weight of the rankings that prefer a to b, (c, a, b).

        Rankings with items of unknown rank are completed by the components before, at first by any order alike.
        """
        counted = np.asarray(preferences(data.ranks[~data.unknown], shares[~data.unknown]))
        if not data.unknown.any():
            return counted
        partial, sets = data[data.unknown], shares.shape[1]
        orders = np.tile(np.arange(counted.shape[1]), (sets, 1)) if before is None else before.orders
        dispersions = np.zeros(sets) if before is None else before.dispersions
        completion_preferences(
            partial.ranks.astype(np.int64), partial.keys, shares[data.unknown], orders, dispersions,
            self.n_completions, counted,
        )  # fmt: skip
        return counted

    def _maximised(
        self, data: _Ballots, counts: Floats, memberships: Floats, before: _Components | None
    ) -> _Components:
        """Maximisation step: a consensus of local search is never worse than the one before.

        A component without members is unchanged.
        """
        n = data.ranks.shape[1]
        shares = counts[:, None] * memberships
        masses = shares.sum(axis=0)
        counted = self._preferences(data, shares, before)
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
        """Validate samples; rank the items that each lists."""
        ballots = ballots_of(self, X, reset=reset)
        m, n = ballots.values.shape
        values, kinds = ballots.scores, np.array(ballots.kind)
        values[np.isnan(ballots.values)] = -np.inf
        listed = ~np.isnan(ballots.values)
        order = np.lexsort((values, listed))  # items that are not listed come first, also beside a listed −infinity
        ordered, seen = np.take_along_axis(values, order, axis=1), np.take_along_axis(listed, order, axis=1)
        tied = np.flatnonzero(((ordered[:, 1:] == ordered[:, :-1]) & seen[:, 1:] & seen[:, :-1]).any(axis=1))
        if len(tied):
            raise SampleError(
                f"sample number {tied[0]} has ties ({len(tied)} such): the Mallows model needs rankings without ties; "
                "leave such samples out, or take PlackettLuceMixture",
                int(tied[0]),
            )
        ranks = np.empty((m, n))
        np.put_along_axis(ranks, order, np.arange(1.0, n + 1)[None, :], axis=1)
        missing = n - listed.sum(axis=1)
        unknown = (kinds == "interleaving") & (missing > 0)
        ranks[unknown] -= missing[unknown, None]
        unlisted = np.where(unknown | (missing == 1), 0, missing)  # one item that is not listed is the last
        ranks[~listed & (unknown | (missing > 1))[:, None]] = 0
        keys = np.zeros((m, 4), dtype=np.uint32)
        seed = getattr(self, "completion_seed_", 0)  # a model that an earlier version saved has none
        keys[unknown] = sample_keys(seed, dense_digests(ranks[unknown]))
        return _Ballots(ranks, unlisted, unknown, keys)


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
    """One-hot memberships (m, c) of the rankings in the nearest of c seeds, drawn by k-means++ in Kendall's distance.

    Where ranks are unknown, pairs are discordant as often as in completions that are all as probable.
    """
    kernel = PartialKendall()
    prepared = kernel.prepare(
        np.where(ballots.ranks > 0, ballots.ranks, np.where(ballots.unknown, np.nan, -np.inf)[:, None])
    )
    norms = kernel.diagonal(prepared)
    distances, seeds = np.empty((len(counts), 0)), np.empty(0, dtype=np.intp)
    chances = counts
    for _ in range(n_components):
        seeds = np.append(seeds, random.choice(len(counts), p=chances / chances.sum()))
        last = seeds[-1:]
        distances = np.hstack(
            [distances, norms[:, None] + norms[last] - 2 * kernel.tile(prepared, prepared.take(last))]
        )
        chances = counts * np.maximum(distances.min(axis=1).round(12), 0)
        chances = chances if chances.any() else counts.copy()  # those that are left have the order of a seed
        chances[seeds] = 0
    memberships = np.eye(n_components)[distances.argmin(axis=1)]
    memberships[seeds] = np.eye(n_components)
    return memberships


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
