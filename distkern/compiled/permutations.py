"""Ranks as positions: how often two samples give an item the same one, and diffusion over the permutations of n items.

A permutation is held as its ranks, item → rank from 0, or as its order, rank → item. Permutations of n items are
numbered by their Lehmer code: number 0 is the identity, and the numbers run over 0 … n! − 1 in lexicographic order.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats

STEP = 512.0
"""Diffusion goes in steps of at most this many expected jumps: e^−512 is far from underflow."""


@compiled
def tie_spans(order, tied, starts, sizes):  # type: ignore[no-untyped-def]
    """Fill, for each feature, the first place and the size of its tie group, from ``order`` and ``tied`` (m, n)."""
    m, n = order.shape
    for i in range(m):
        start = 0
        while start < n:
            stop = start + 1
            while stop < n and tied[i, stop]:
                stop += 1
            for place in range(start, stop):
                starts[i, order[i, place]] = start
                sizes[i, order[i, place]] = stop - start
            start = stop


@compiled
def equal_ranks_tile(starts_a, sizes_a, groups_a, starts_b, sizes_b, groups_b, symmetric, out):  # type: ignore[no-untyped-def]
    """Fill ⟨Π_x, Π_y⟩ for every sample of a block A with every one of B.

    Parameters
    ----------
    starts_a, sizes_a, groups_a
        Of the samples of A: first place and size of each feature's tie group (a, n), number of tie groups (a,).
    starts_b, sizes_b, groups_b
        The same of B.
    symmetric
        Whether A and B are the same block; then only i < j is computed and mirrored, and k(x, x) is exact.
    out
        float64 (a, b), filled. The sum runs over the features in their order and each of its terms is symmetric in the
        two samples, so exchanging them leaves every bit alone.
    """
    a, n = starts_a.shape
    b = starts_b.shape[0]
    for i in range(a):
        if symmetric:
            out[i, i] = groups_a[i]
        for j in range(i + 1 if symmetric else 0, b):
            if groups_a[i] == n and groups_b[j] == n:  # no ties: places are equal or not, in a loop that vectorises
                equal = np.int64(0)
                for f in range(n):
                    equal += np.int64(starts_a[i, f] == starts_b[j, f])
                out[i, j] = equal
            else:
                out[i, j] = _shared_places(starts_a[i], sizes_a[i], starts_b[j], sizes_b[j])
            if symmetric:
                out[j, i] = out[i, j]


@compiled
def _shared_places(start_a, size_a, start_b, size_b):  # type: ignore[no-untyped-def]
    """Sum over the features of the probability that two independent random tie-breaks give it the same place."""
    total = 0.0
    for f in range(start_a.shape[0]):
        first, second = np.int64(start_a[f]), np.int64(start_b[f])
        s, t = np.int64(size_a[f]), np.int64(size_b[f])
        shared = min(first + s, second + t) - max(first, second)
        if shared > 0:
            total += shared / (s * t)
    return total


@compiled
def number_of(ranks):  # type: ignore[no-untyped-def]
    """Number of a permutation of at most 20 items, from its Lehmer code."""
    n = ranks.shape[0]
    number = np.int64(0)
    for p in range(n):
        smaller = np.int64(0)
        for q in range(p + 1, n):
            smaller += np.int64(ranks[q] < ranks[p])
        number = number * (n - p) + smaller
    return number


@compiled
def permutation_of(number, ranks):  # type: ignore[no-untyped-def]
    """Fill ``ranks`` with the permutation of a number."""
    n = ranks.shape[0]
    for p in range(n - 1, -1, -1):  # digits of the Lehmer code, the last first
        ranks[p] = number % (n - p)
        number //= n - p
    for p in range(n - 2, -1, -1):
        for q in range(p + 1, n):
            ranks[q] += np.int64(ranks[q] >= ranks[p])


@compiled
def cayley_tables(neighbours, inverses):  # type: ignore[no-untyped-def]
    """Fill, for every permutation, the numbers of its n − 1 neighbours (n!, n − 1) and of its inverse (n!,).

    A neighbour exchanges the ranks r and r + 1, whichever items hold them: left multiplication by an adjacent
    transposition, under which the distance in the graph is the number of discordant pairs.
    """
    count, degree = neighbours.shape
    n = degree + 1
    ranks, order = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for number in range(count):
        permutation_of(number, ranks)
        for item in range(n):
            order[ranks[item]] = item
        inverses[number] = number_of(order)
        for r in range(degree):
            ranks[order[r]], ranks[order[r + 1]] = r + 1, r
            neighbours[number, r] = number_of(ranks)
            ranks[order[r]], ranks[order[r + 1]] = r, r + 1


@compiled
def diffuse(values, neighbours, jumps):  # type: ignore[no-untyped-def]
    """Σ_k jumps[k] P^k values, where P averages over the neighbours: all terms are positive, nothing cancels."""
    count, degree = neighbours.shape
    walk, result = values.copy(), jumps[0] * values
    following = np.empty_like(walk)
    for k in range(1, jumps.shape[0]):
        for i in range(count):
            total = 0.0
            for r in range(degree):
                total += walk[neighbours[i, r]]
            following[i] = total / degree
            result[i] += jumps[k] * following[i]
        walk, following = following, walk
    return result


@compiled
def diffusion_tile(ranks, order, kappa, symmetric, out):  # type: ignore[no-untyped-def]
    """Fill κ(σ σ'⁻¹) for the rankings σ with ``ranks`` (a, n) and σ' with ``order`` (b, n), all without ties."""
    a, n = ranks.shape
    b = order.shape[0]
    quotient = np.empty(n, dtype=np.int64)
    for i in range(a):
        for j in range(i if symmetric else 0, b):
            for r in range(n):
                quotient[r] = ranks[i, order[j, r]]
            out[i, j] = kappa[number_of(quotient)]
            if symmetric:
                out[j, i] = out[i, j]


def jump_chances(expected: float, farthest: int) -> Floats:
    """Chances of 0, 1, 2, … jumps of a Poisson number with mean ``expected`` ≤ ``STEP``.

    They stop ``farthest`` jumps after the tail has fallen below 1e-17, so that even the permutation farthest from the
    start, which first gets a share at that many jumps, has a share with the right leading digits.
    """
    count = farthest + math.ceil(expected + 10 * math.sqrt(expected) + 20)
    chances = np.empty(count + 1)
    chances[0] = math.exp(-expected)
    for k in range(1, count + 1):
        chances[k] = chances[k - 1] * expected / k
    return chances / math.fsum(chances)


@lru_cache(maxsize=32)
def diffusion_from_identity(n: int, beta: float) -> Floats:
    """κ = e^{βΔ} at the identity: for each of the n! permutations its share, by number; the shares sum to 1.

    Δ is the graph Laplacian of `cayley_tables`, with −(n − 1) on the diagonal. e^{βΔ} = Σ_k Poisson(k; β(n−1)) P^k, cut
    into steps; plain sums in one order, so the same bits in every process. No share is farther from 1/n! than e^{−βg},
    where g = 2 − 2 cos(π/n) is the smallest eigenvalue of −Δ but 0 (Caputo, Liggett & Richthammer, 2010): from
    e^{−βg} = 1e-17/n! on all shares are 1/n!. Kept per process.

    Examples
    --------
    >>> diffusion_from_identity(2, 0.5).round(4)  # (1 ± exp(-1)) / 2
    array([0.6839, 0.3161])
    """
    count = math.factorial(n)
    shares = np.zeros(count)
    shares[0] = 1.0
    if beta * (2 - 2 * math.cos(math.pi / n)) >= math.log(1e17 * count):
        shares[:] = 1.0 / count
    elif n > 1 and beta > 0:
        neighbours = np.empty((count, n - 1), dtype=np.int32)
        inverses = np.empty(count, dtype=np.int32)
        cayley_tables(neighbours, inverses)
        shares = _diffuse_for(shares, neighbours, beta)
        shares = (shares + shares[inverses]) / 2  # equal but for rounding; now κ(π) = κ(π⁻¹) to the bit
    shares.flags.writeable = False
    return shares


def _diffuse_for(shares: Array, neighbours: Array, beta: float) -> Array:
    degree = neighbours.shape[1]
    steps = max(1, math.ceil(beta * degree / STEP))
    jumps = jump_chances(beta * degree / steps, degree * (degree + 1) // 2)
    for _ in range(steps):
        shares = diffuse(shares, neighbours, jumps)
    return shares
