r"""Likelihood of the Plackett–Luce model with ties, and its maximum by Newton's method or by Hunter's MM algorithm.

A ranking is a sequence of choices. A choice takes the set C from the available items A with probability

.. math::

    P(C \mid A) = \frac{f(C)}{\sum_{k \in K,\, k \le |A|} \sum_{S \subseteq A,\, |S| = k} f(S)},\qquad
    f(S) = \delta_{|S|} \Bigl(\prod_{i \in S} \alpha_i\Bigr)^{1/|S|}

with worths α, tie parameters δ (δ₁ = 1), and K the numbers of items that were tied. The inner sum is an elementary
symmetric polynomial of the α^(1/k), so that no set S is enumerated. Turner, van Etten, Firth and Kosmidis, "Modelling
rankings in R: the PlackettLuce package", Computational Statistics 35 (2020), equation 4; Hunter, "MM algorithms for
generalized Bradley–Terry models", Annals of Statistics 32 (2004).

In the logarithms of α and δ this is an exponential family: the log-likelihood is concave, and depends on the data only
through sums and through how often each set of items was available.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, gammaln, log_expit, logsumexp

from distkern.core.typing import Array, Floats, Indices

SINGULAR = 1e-13
"""A pivot of the information below this part of its diagonal counts as zero."""

BATCH = 2**20
"""Number of items, counted in every set, that are worked on at a time: 8 MiB for each array of them."""


@dataclass(frozen=True)
class Choices:
    """The choices of m rankings of n items.

    Parameters
    ----------
    rankings
        Number of rankings, m.
    picks
        (choices, n), sparse: 1 / |C| for each item of the chosen set C.
    sizes
        (choices,): number of items |C|; more than 1 are tied.
    owners, sets
        (choices,): ranking of each choice, and position of its set of available items, of which there are two or more.
    members
        Items of the distinct sets, by size: (positions of the sets, items (sets, size)).
    """

    rankings: int
    picks: csr_array
    sizes: Indices
    owners: Indices
    sets: Indices
    members: tuple[tuple[Indices, Indices], ...]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.picks.shape[1])

    @property
    def n_sets(self) -> int:
        """Number of distinct sets of available items."""
        return sum(len(positions) for positions, _ in self.members)


@dataclass(frozen=True)
class Worths:
    """Parameters: log α (n,), numbers of tied items ``orders`` (1, …), and their log δ (0, …)."""

    log_worths: Floats
    orders: Indices
    log_ties: Floats


@dataclass(frozen=True)
class Totals:
    """Sufficient statistics of weighted choices: wins (n,), choices of each order, and choices from each set."""

    choices: Choices
    orders: Indices
    wins: Floats
    chosen: Floats
    available: Floats


@dataclass(frozen=True)
class Fit:
    """Maximum of the penalised likelihood, and the information there (parameters, parameters), if it was computed.

    ``singular``: the information vanishes in some direction, in which the estimates run away.
    """

    worths: Worths
    information: Floats | None
    iterations: int
    converged: bool
    singular: bool


# The data ------------------------------------------------------------------------------------------------------------


def choices_of(values: Floats, ranked_last: Array) -> Choices:
    """Split rankings into choices.

    Parameters
    ----------
    values
        (m, n): larger = preferred, equal = tied, NaN = not ranked.
    ranked_last
        (m,), boolean: whether the items that are not ranked come after all others, or were not available.
    """
    m, n = values.shape
    seen = ~np.isnan(values)
    levels = _levels(values, seen)
    left = (seen | ranked_last[:, None]).sum(axis=1)
    owners, flags, rows_of, items_of, shares, done = [], [], [], [], [], 0
    for level in range(int(levels.max(initial=-1)) + 1):
        chosen = levels == level
        sizes = chosen.sum(axis=1)
        rows = np.flatnonzero((sizes > 0) & (left > 1))
        left = left - sizes
        if len(rows) == 0:
            continue
        available = np.where(seen[rows], levels[rows] >= level, ranked_last[rows, None])
        row, item = np.nonzero(chosen[rows])
        owners.append(rows)
        flags.append(np.packbits(available, axis=1))
        rows_of.append(row + done)
        items_of.append(item)
        shares.append(1 / sizes[rows][row])
        done += len(rows)
    if not done:
        none = np.empty(0, np.intp)
        return Choices(m, csr_array((0, n)), none, none, none, ())
    first, sets = _distinct(np.concatenate(flags))
    available = np.unpackbits(np.concatenate(flags)[first], axis=1, count=n).astype(bool)
    entries = np.concatenate(shares), (np.concatenate(rows_of), np.concatenate(items_of))
    picks = csr_array(entries, shape=(done, n))
    return Choices(m, picks, np.diff(picks.indptr), np.concatenate(owners), sets, _by_size(available))


def choices_of_pairs(first: Indices, second: Indices, tied: Array, n: int) -> Choices:
    """The choices of comparisons of pairs of n items: ``first`` won against ``second``, or they are ``tied``."""
    rows = np.arange(len(first))
    places = np.concatenate([rows, rows[tied]]), np.concatenate([first, second[tied]])
    share = np.where(tied, 0.5, 1.0)
    picks = csr_array((np.concatenate([share, share[tied]]), places), shape=(len(rows), n))
    keys, sets = np.unique(np.minimum(first, second) * n + np.maximum(first, second), return_inverse=True)
    members = np.stack(np.divmod(keys, n), axis=1).astype(np.intp)
    return Choices(len(rows), picks, np.diff(picks.indptr), rows, sets.ravel(), ((np.arange(len(keys)), members),))


def totals_of(choices: Choices, weights: Floats) -> Totals:
    """Sum the choices of rankings with weights (m,)."""
    each = weights[choices.owners]
    chosen = np.bincount(choices.sizes, each, minlength=2)
    orders = np.union1d([1], np.flatnonzero(chosen))
    available = np.bincount(choices.sets, each, minlength=choices.n_sets)
    return Totals(choices, orders, choices.picks.T @ each, chosen[orders], np.asarray(available, dtype=np.float64))


def strong_components(choices: Choices, weights: Floats) -> tuple[Indices, Floats]:
    """Components of the items that are strongly connected by wins, and the wins between components.

    An item wins against all items of a set that it was chosen from. Items that tie win against each other.

    Returns
    -------
    Component of each item (n,), and whether one component wins against another (components, components).
    """
    n, kept = choices.n_items, weights[choices.owners] > 0
    won = csr_array((n, n))
    for start in range(0, int(kept.sum()), BATCH):
        part = np.flatnonzero(kept)[start : start + BATCH]
        won = won + choices.picks[part].T @ _membership(choices)[choices.sets[part]]
    count, component = connected_components(won, connection="strong")
    between = np.zeros((count, count))
    winner, loser = won.nonzero()
    between[component[winner], component[loser]] = 1
    np.fill_diagonal(between, 0)
    return component, between


def unbounded_order(totals: Totals) -> int | None:
    """A number of tied items whose δ has no finite estimate, since such ties occur wherever they can; None if none has.

    δ_k is bounded if, from a set of k items or more, another number of items was chosen whose δ is bounded.
    """
    if len(totals.orders) == 1:
        return None
    choices = totals.choices
    sizes = _set_sizes(choices)[choices.sets]
    used = totals.available[choices.sets] > 0
    largest = {
        int(k): int(sizes[used & (choices.sizes == k)].max(initial=0)) for k in totals.orders
    }  # largest set of which so many items were chosen
    bounded: set[int] = set()
    found = {1}
    while found:
        bounded |= found
        found = {k for k in largest if k not in bounded and any(largest[j] >= k for j in bounded)}
    return min((k for k in largest if k not in bounded), default=None)


def _levels(values: Floats, seen: Array) -> Indices:
    """Place of each item among the different values of its ranking, 0 for the largest; −1 if it is not ranked."""
    order = np.argsort(np.where(seen, -values, np.nan), axis=1, kind="stable")
    ordered = np.take_along_axis(np.where(seen, values, np.nan), order, axis=1)
    steps = np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1)
    places = np.concatenate([np.zeros((len(values), 1), np.intp), steps], axis=1)
    levels = np.empty(values.shape, np.intp)
    np.put_along_axis(levels, order, places, axis=1)
    return np.where(seen, levels, -1)


def _distinct(packed: Array) -> tuple[Indices, Indices]:
    """Positions of the first of equal rows of bytes, and the position of each row among the different ones."""
    count, width = packed.shape
    words = np.zeros((count, -(-width // 8) * 8), np.uint8)
    words[:, :width] = packed
    keys = words.view(np.uint64)
    order = np.lexsort(keys.T)
    new = np.concatenate([[True], (keys[order[1:]] != keys[order[:-1]]).any(axis=1)])
    sets = np.empty(count, np.intp)
    sets[order] = np.cumsum(new) - 1
    return order[new], sets


def _by_size(available: Array) -> tuple[tuple[Indices, Indices], ...]:
    """Distinct sets as lists of items, by size."""
    sizes = available.sum(axis=1)
    groups = []
    for size in np.unique(sizes):
        positions = np.flatnonzero(sizes == size)
        groups.append((positions, np.nonzero(available[positions])[1].reshape(-1, size)))
    return tuple(groups)


def _set_sizes(choices: Choices) -> Indices:
    sizes = np.zeros(choices.n_sets, np.intp)
    for positions, items in choices.members:
        sizes[positions] = items.shape[1]
    return sizes


def _membership(choices: Choices) -> csr_array:
    """Whether an item is in a set, (sets, n), sparse."""
    rows = [np.repeat(positions, items.shape[1]) for positions, items in choices.members]
    places = np.concatenate(rows), np.concatenate([items.ravel() for _, items in choices.members])
    return csr_array((np.ones(len(places[0])), places), shape=(choices.n_sets, choices.n_items))


def _batches(choices: Choices) -> Iterator[tuple[Indices, Indices]]:
    """Positions and items of some sets of one size at a time."""
    for positions, items in choices.members:
        step = max(1, BATCH // items.shape[1])
        for start in range(0, len(positions), step):
            yield positions[start : start + step], items[start : start + step]


# The likelihood ------------------------------------------------------------------------------------------------------


def log_likelihoods(worths: Worths, choices: Choices) -> Floats:
    """Log-likelihood of each ranking, (m,); −infinity if it ties a number of items that is none of the orders."""
    log_ties = np.full(int(max(choices.sizes.max(initial=1), worths.orders[-1])) + 1, -np.inf)
    log_ties[worths.orders] = worths.log_ties
    each = choices.picks @ worths.log_worths + log_ties[choices.sizes] - log_normalisers(worths, choices)[choices.sets]
    return np.asarray(np.bincount(choices.owners, each, minlength=choices.rankings), dtype=np.float64)


def log_normalisers(worths: Worths, choices: Choices) -> Floats:
    """Logarithm of the sum over all possible choices from each distinct set, (sets,)."""
    out = np.empty(choices.n_sets)
    for positions, items in _batches(choices):
        out[positions] = _set_terms(worths, items)[0]
    return out


def order_weights(worths: Worths, items: Indices) -> tuple[list[int], Floats, Floats]:
    """Orders k that are possible for sets (S, size), log δ_k e_k (orders, S), and a factor (S,) left out."""
    scale = worths.log_worths[items].max(axis=1)
    orders = [k for k in worths.orders.tolist() if k <= items.shape[1]]
    logs = np.empty((len(orders), len(items)))
    for place, k in enumerate(orders):
        beta = np.exp((worths.log_worths[items] - scale[:, None]).T / k)
        total = beta.sum(axis=0) if k == 1 else _elementary(beta, k)[-1, k]
        with np.errstate(divide="ignore"):
            logs[place] = worths.log_ties[place] + np.log(total)
    return orders, logs, scale


def _set_terms(worths: Worths, items: Indices) -> tuple[Floats, list[int], Floats]:
    """Log normaliser (S,), possible orders, and their probabilities (orders, S)."""
    orders, logs, scale = order_weights(worths, items)
    total = logsumexp(logs, axis=0)
    return total + scale, orders, np.exp(logs - total)


def _elementary(beta: Floats, k: int) -> Floats:
    """Elementary symmetric polynomials e_0 … e_k of the first 0, 1, … entries of each column of (size, S)."""
    size, count = beta.shape
    out = np.zeros((size + 1, k + 1, count))
    out[:, 0] = 1
    for i in range(size):
        out[i + 1, 1:] = out[i, 1:] + beta[i] * out[i, :-1]
    return out


@dataclass
class _Moments:
    """Sums over all choices of the expected statistics, and their covariance, at some parameters."""

    normalisers: float
    means: Floats
    covariance: Floats | None


def _moments(worths: Worths, totals: Totals, *, covariance: bool) -> _Moments:
    """Expected statistics of a random choice from each set, summed with the weights of the sets.

    The statistics are 1[i ∈ S] / |S| for each item, then 1[|S| = k] for each order from the second.
    """
    n, free = totals.choices.n_items, len(worths.orders) - 1
    out = _Moments(0.0, np.zeros(n + free), np.zeros((n + free, n + free)) if covariance else None)
    for positions, items in _batches(totals.choices):
        weights = totals.available[positions]
        kept = weights > 0
        if kept.any():
            _add_moments(out, worths, items[kept], weights[kept])
    return out


def _add_moments(out: _Moments, worths: Worths, items: Indices, weights: Floats) -> None:
    """Add the sets (S, size) of one batch."""
    n, (count, size) = len(worths.log_worths), items.shape
    normaliser, orders, chances = _set_terms(worths, items)
    out.normalisers += float(weights @ normaliser)
    scaled = (worths.log_worths[items] - worths.log_worths[items].max(axis=1)[:, None]).T
    share = np.zeros((size, count))  # E 1[i ∈ S] / |S|
    for place, k in enumerate(orders):
        inside = _inclusion(np.exp(scaled / k), k) * chances[place]
        share += inside / k
        if out.covariance is not None:
            out.covariance[:n, :n] += np.diag(_sums(items, weights * inside / k**2, n))
            if k > 1:
                at = n + int(np.searchsorted(worths.orders, k)) - 1
                crossed = _sums(items, weights * inside / k, n)
                out.covariance[:n, at] += crossed
                out.covariance[at, :n] += crossed
                out.covariance[at, at] += weights @ chances[place]
                _add_pairs(out.covariance, items, weights * chances[place] / k**2, np.exp(scaled / k), k)
    out.means[:n] += _sums(items, weights * share, n)
    tied = {k: place for place, k in enumerate(orders) if k > 1}
    for k, place in tied.items():
        out.means[n + int(np.searchsorted(worths.orders, k)) - 1] += weights @ chances[place]
    if out.covariance is not None:
        extra = np.array([n + int(np.searchsorted(worths.orders, k)) - 1 for k in tied], np.intp)
        _subtract_squares(out.covariance, items, share, extra, chances[list(tied.values())], weights, n)


def _inclusion(beta: Floats, k: int) -> Floats:
    """P(i ∈ S) for sets S of k entries of each column of β (size, S), drawn with probability ∏ β: (size, S)."""
    if k == 1:
        return beta / beta.sum(axis=0)
    before, after = _elementary(beta, k), _elementary(beta[::-1], k)[::-1]
    total = before[-1, k]
    others = [sum(before[i, t] * after[i + 1, k - 1 - t] for t in range(k)) for i in range(len(beta))]
    return beta * np.array(others) / total


def _add_pairs(out: Floats, items: Indices, weights: Floats, beta: Floats, k: int) -> None:
    """Add weights · P(i, l ∈ S) of the pairs of items of sets S of k items, for k ≥ 2."""
    before, after = _elementary(beta, k), _elementary(beta[::-1], k)[::-1]
    scaled = weights / before[-1, k]
    for i in range(len(beta)):
        between = before[i].copy()  # polynomials of all entries before l but i
        for j in range(i + 1, len(beta)):
            others = sum(between[t] * after[j + 1, k - 2 - t] for t in range(k - 1))
            both = scaled * beta[i] * beta[j] * others
            np.add.at(out, (items[:, i], items[:, j]), both)
            np.add.at(out, (items[:, j], items[:, i]), both)
            between[1:] += beta[j] * between[:-1]


def _subtract_squares(
    out: Floats, items: Indices, share: Floats, extra: Indices, ties: Floats, weights: Floats, n: int
) -> None:
    """Subtract Σ w E[s] E[s]ᵀ over sets, for the shares of the items (size, S) and the chances of ties (orders, S)."""
    size, count = share.shape
    if size * 8 < n and len(extra) == 0:  # few items of many: only the entries that change
        for i in range(size):
            np.subtract.at(out, (np.repeat(items[:, i], size), items.ravel()), ((weights * share[i]) * share).T.ravel())
        return
    step = max(1, 4 * BATCH // out.shape[0])
    for start in range(0, count, step):
        part = slice(start, start + step)
        full = np.zeros((len(items[part]), out.shape[0]))
        full[np.arange(len(full))[:, None], items[part]] = share[:, part].T
        full[:, extra] = ties[:, part].T
        out -= full.T @ (weights[part, None] * full)


def _sums(items: Indices, values: Floats, n: int) -> Floats:
    """Sum values (size, S) by item of the sets (S, size)."""
    return np.asarray(np.bincount(items.T.ravel(), values.ravel(), minlength=n), dtype=np.float64)


# Its maximum ---------------------------------------------------------------------------------------------------------


def penalised(worths: Worths, totals: Totals, prior: float, normalisers: float) -> float:
    """Log-likelihood of the choices, and of ``prior`` wins and losses of each item against one of worth 1."""
    data = totals.wins @ worths.log_worths + totals.chosen @ worths.log_ties - normalisers
    return float(data + prior * (log_expit(worths.log_worths) + log_expit(-worths.log_worths)).sum())


def maximised_by_newton(totals: Totals, prior: float, start: Worths, max_iter: int, tol: float) -> Fit:
    """Newton's method with the exact Hessian; steps are halved until the likelihood increases enough.

    It has converged if no logarithm of a worth or δ would change by more than ``tol``.
    """
    n = totals.choices.n_items
    worths = start
    for iteration in range(1, max_iter + 1):
        found = _moments(worths, totals, covariance=True)
        value = penalised(worths, totals, prior, found.normalisers)
        slope, information = _slope(worths, totals, prior, found), _information(worths, prior, found)
        step, singular = _solved(information, slope, n, free=prior == 0)
        if singular or np.abs(step).max() <= tol:
            return Fit(_moved(worths, step), information, iteration, not singular, singular)
        length, enough = 1.0, slope @ step
        while length > 1e-10:
            moved = _moved(worths, length * step)
            normalisers = float(totals.available @ log_normalisers(moved, totals.choices))
            if penalised(moved, totals, prior, normalisers) >= value + 1e-4 * length * enough - 1e-12 * abs(value):
                break
            length /= 2
        worths = moved
    return Fit(worths, information, iteration, False, False)


def maximised_by_mm(totals: Totals, prior: float, start: Worths, max_iter: int, tol: float) -> Fit:
    """Hunter's MM algorithm, which is iterative scaling: each worth is multiplied by observed / expected wins.

    It takes memory for the sets only, and many more iterations than Newton's method. The information is not computed.
    """
    worths, n = start, totals.choices.n_items
    for iteration in range(1, max_iter + 1):
        expected = _moments(worths, totals, covariance=False).means[:n]
        prior_wins = 2 * prior * expit(worths.log_worths)
        moves = np.log(totals.wins + prior) - np.log(expected + prior_wins)
        moves -= _location(worths.log_worths + moves) if prior else moves.mean()
        step = np.concatenate([moves, np.zeros(len(start.orders) - 1)])
        worths = _moved(worths, step)
        if len(worths.orders) > 1:
            ties = _moments(worths, totals, covariance=False).means[n:]
            step[n:] = np.log(totals.chosen[1:]) - np.log(ties)
            worths = _moved(worths, np.concatenate([np.zeros(n), step[n:]]))
        if np.abs(step).max() <= tol:
            return Fit(worths, None, iteration, True, False)
    return Fit(worths, None, max_iter, False, False)


def _location(log_worths: Floats) -> float:
    """The shift that the prior prefers; the likelihood of the choices does not depend on it."""
    low, high = log_worths.min(), log_worths.max()
    if low == high:
        return float(low)
    return float(brentq(lambda shift: (1 - 2 * expit(log_worths - shift)).sum(), low, high, xtol=1e-13))


def first_guess(totals: Totals) -> Worths:
    """Equal worths, and δ for which as many ties of each order are expected as occur."""
    sizes = _set_sizes(totals.choices)
    counts = np.array([_log_number_of_sets(sizes, k, totals.available) for k in totals.orders.tolist()])
    with np.errstate(divide="ignore"):
        chosen = np.log(np.maximum(totals.chosen, 0.5))
    log_ties = (chosen - counts) - (chosen[0] - counts[0])
    return Worths(np.zeros(totals.choices.n_items), totals.orders, log_ties)


def information_at(worths: Worths, totals: Totals, prior: float) -> Floats:
    """Negative second derivatives of the penalised log-likelihood, (parameters, parameters)."""
    return _information(worths, prior, _moments(worths, totals, covariance=True))


def covariance_of(information: Floats, n: int) -> Floats:
    """Covariance of the log-worths minus their mean, and of log δ."""
    bordered = information.copy()
    bordered[:n, :n] += np.trace(information[:n, :n]) / n**2  # fixes what a common factor of all worths leaves open
    inverse = cho_solve(cho_factor(bordered), np.eye(len(information)))
    centred = np.eye(len(information))
    centred[:n, :n] -= 1 / n
    return centred @ inverse @ centred.T


def _log_number_of_sets(sizes: Indices, k: int, available: Floats) -> float:
    fits = sizes >= k
    if not fits.any():
        return 0.0
    numbers = gammaln(sizes[fits] + 1) - gammaln(k + 1) - gammaln(sizes[fits] - k + 1)
    return float(logsumexp(numbers, b=available[fits]))


def _slope(worths: Worths, totals: Totals, prior: float, found: _Moments) -> Floats:
    slope = np.concatenate([totals.wins, totals.chosen[1:]]) - found.means
    slope[: len(totals.wins)] += prior * (1 - 2 * expit(worths.log_worths))
    return slope


def _information(worths: Worths, prior: float, found: _Moments) -> Floats:
    assert found.covariance is not None
    information, n = found.covariance.copy(), len(worths.log_worths)
    chance = expit(worths.log_worths)
    information[np.arange(n), np.arange(n)] += 2 * prior * chance * (1 - chance)
    return information


def _solved(information: Floats, slope: Floats, n: int, *, free: bool) -> tuple[Floats, bool]:
    """Newton step, and whether the information is singular; if a common factor is ``free``, it does not change."""
    matrix = information.copy()
    if free:
        matrix[:n, :n] += np.trace(information[:n, :n]) / n**2
    scale, ridge = matrix.diagonal().copy(), 0.0
    while True:
        try:
            factor = cho_factor(matrix + np.diag(ridge * scale))
        except np.linalg.LinAlgError:  # parameters that run away
            ridge = max(10 * ridge, 1e-14)
            continue
        singular = ridge > 0 or (factor[0].diagonal() ** 2 < SINGULAR * scale).any()
        return cho_solve(factor, slope), bool(singular)


def _moved(worths: Worths, step: Floats) -> Worths:
    n = len(worths.log_worths)
    log_ties = worths.log_ties + np.concatenate([[0.0], step[n:]])
    return Worths(worths.log_worths + step[:n], worths.orders, log_ties)


# Predictions ---------------------------------------------------------------------------------------------------------


def first_chances(worths: Worths, items: Indices) -> Floats:
    """Probability that each item of sets (S, size) is chosen, alone or tied, (S, size)."""
    _, orders, chances = _set_terms(worths, items)
    scaled = (worths.log_worths[items] - worths.log_worths[items].max(axis=1)[:, None]).T
    inside = [_inclusion(np.exp(scaled / k), k) * chances[place] for place, k in enumerate(orders)]
    return np.array(sum(inside)).T


def drawn_levels(worths: Worths, count: int, random: np.random.Generator) -> Indices:
    """Draw rankings: place of each item among the different places, 0 for the first, (count, n).

    Without ties, the items are sorted by log-worths with independent Gumbel noise, which is exact. With ties, each
    choice draws the number of items, then the items one after another.
    """
    n = len(worths.log_worths)
    if len(worths.orders) == 1:
        noisy = worths.log_worths + random.gumbel(size=(count, n))
        return np.argsort(np.argsort(-noisy, axis=1), axis=1)
    levels = np.full((count, n), n)
    for level in range(n):
        rows = np.flatnonzero((levels == n).any(axis=1))
        if len(rows) == 0:
            break
        chosen = _drawn_sets(worths, levels[rows] == n, random)
        levels[rows] = np.where(chosen, level, levels[rows])
    return levels


def _drawn_sets(worths: Worths, available: Array, random: np.random.Generator) -> Array:
    """Draw one set from the available items of each row, (rows, n)."""
    scaled = np.where(available, worths.log_worths, -np.inf)
    scaled = (scaled - scaled.max(axis=1, keepdims=True)).T
    left = available.sum(axis=1)
    tables = [_elementary(np.exp(scaled / k)[::-1], k)[::-1] for k in worths.orders.tolist()]  # of the last items
    with np.errstate(divide="ignore"):
        logs = np.array([log_tie + np.log(t[0, -1]) for log_tie, t in zip(worths.log_ties, tables, strict=True)])
    logs[worths.orders[:, None] > left] = -np.inf
    order = (logs + random.gumbel(size=logs.shape)).argmax(axis=0)
    chosen = np.zeros(available.shape, dtype=bool)
    for place, k in enumerate(worths.orders.tolist()):
        rows = np.flatnonzero(order == place)
        table, beta = tables[place][:, :, rows], np.exp(scaled[:, rows] / k)
        wanted, each = np.full(len(rows), k), np.arange(len(rows))
        for item in range(len(beta)):
            part = beta[item] * table[item + 1, np.maximum(wanted - 1, 0), each]
            taken = (wanted > 0) & (random.random(len(rows)) * table[item, wanted, each] < part)
            chosen[rows, item] = taken
            wanted = wanted - taken
    return chosen
