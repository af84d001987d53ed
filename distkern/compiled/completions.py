"""Random completions of partial rankings under a Mallows model, with the weights that make their means unbiased.

Repeated insertion draws a total ranking: the j-th best item of the consensus goes before v of the j − 1 better ones
with probability proportional to exp(−θ v). A completion of a ballot is drawn likewise, but each item that the ballot
lists goes only where the order of the ballot allows. The product over these items of P(an allowed place) is the weight
of the completion; its mean is the probability of the ballot, the sum over all total rankings that agree with it. Lu and
Boutilier, "Effective sampling and learning for Mallows models with pairwise-preference data", Journal of Machine
Learning Research 15 (2014).

A ballot is a row of ``levels`` (n,): 1 for the least preferred item that it lists, and so on; 0 for items that it does
not list.
"""

from __future__ import annotations

import math

import numpy as np

from distkern.core.jit import compiled
from distkern.core.random import fill_uniform


@compiled
def fill_masses(theta, masses):  # type: ignore[no-untyped-def]
    """Fill Σ_{u < v} exp(−θ u) for v = 0, 1, … (n + 1,)."""
    masses[0] = 0.0
    for v in range(1, masses.shape[0]):
        masses[v] = masses[v - 1] + math.exp(-theta * (v - 1))


@compiled
def complete(levels, order, theta, masses, uniform, line):  # type: ignore[no-untyped-def]
    """Fill a random completion, the best item first (n,), and return the logarithm of its weight.

    ``order`` (n,) is the consensus, the best item first; ``masses`` is of `fill_masses`; ``uniform`` (n,) are numbers
    of [0, 1).
    """
    log_weight = 0.0
    for j in range(order.shape[0]):
        item = order[j]
        low, high = 0, j
        if levels[item] > 0:
            for place in range(j):
                other = levels[line[place]]
                if other > levels[item]:
                    low = place + 1
                elif other > 0:
                    high = place
                    break
        options = high - low + 1
        log_weight += -theta * (j - high) + math.log(masses[options]) - math.log(masses[j + 1])
        passed = 0  # allowed places after the one that is drawn
        while passed + 1 < options and masses[passed + 1] <= uniform[j] * masses[options]:
            passed += 1
        for place in range(j, high - passed, -1):
            line[place] = line[place - 1]
        line[high - passed] = item
    return log_weight


@compiled
def completion_chances(levels, keys, orders, thetas, log_shares, draws, chances, variances):  # type: ignore[no-untyped-def]
    """Estimate the probability of each ballot in each component of a mixture, and how sure that is.

    Parameters
    ----------
    levels, keys
        Ballots (m, n), and the keys of their random streams (m, 4): all components use the same numbers.
    orders, thetas, log_shares
        Consensus orders (c, n), dispersions (c,), and log π (c,).
    draws
        Number of completions, 2 or more.
    chances
        (m, c), filled: log p_c(x).
    variances
        (m,), filled: squared relative standard error of Σ_c π_c p_c(x).
    """
    m, n = levels.shape
    components = len(thetas)
    masses = np.empty((components, n + 1))
    for c in range(components):
        fill_masses(thetas[c], masses[c])
    uniform, line = np.empty(n), np.empty(n, dtype=np.int64)
    logs, mixed = np.empty((components, draws)), np.empty(draws)
    for i in range(m):
        for draw in range(draws):
            fill_uniform(keys[i], draw, uniform)
            for c in range(components):
                logs[c, draw] = complete(levels[i], orders[c], thetas[c], masses[c], uniform, line)
        largest = -np.inf
        for c in range(components):
            top = logs[c].max()
            chances[i, c] = top + math.log(np.exp(logs[c] - top).mean())
            largest = max(largest, log_shares[c] + top)
        mixed[:] = 0.0
        for c in range(components):
            mixed += np.exp(log_shares[c] + logs[c] - largest)
        mean = mixed.mean()
        variances[i] = ((mixed / mean - 1.0) ** 2).sum() / (draws * (draws - 1))


@compiled
def completion_preferences(levels, keys, shares, orders, thetas, draws, out):  # type: ignore[no-untyped-def]
    """Add Σ_i s_ic P_c(a before b | ballot i) to ``out`` (c, a, b), from weighted completions.

    ``shares`` (m, c) are weights s of the ballots in the components; see `completion_chances`.
    """
    m, n = levels.shape
    masses = np.empty((len(thetas), n + 1))
    for c in range(len(thetas)):
        fill_masses(thetas[c], masses[c])
    uniform, lines = np.empty((draws, n)), np.empty((draws, n), dtype=np.int64)
    logs = np.empty(draws)
    for i in range(m):
        for draw in range(draws):
            fill_uniform(keys[i], draw, uniform[draw])
        for c in range(len(thetas)):
            if shares[i, c] == 0:
                continue
            for draw in range(draws):
                logs[draw] = complete(levels[i], orders[c], thetas[c], masses[c], uniform[draw], lines[draw])
            weights = np.exp(logs - logs.max())
            weights *= shares[i, c] / weights.sum()
            for draw in range(draws):
                for place in range(n):
                    before = lines[draw, place]
                    for later in range(place + 1, n):
                        out[c, before, lines[draw, later]] += weights[draw]
