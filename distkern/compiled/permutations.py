"""Kernels on permutations: number of items with equal ranks, and diffusion on the Cayley graph.

A permutation is stored as its ranks (item → rank, from 0) or as its order (rank → item). Permutations of n items are
numbered 0 … n! − 1 by their Lehmer code, in lexicographic order; number 0 is the identity.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats

STEP = 512.0
"""Maximum expected number of jumps in one diffusion step, so that e^−STEP does not underflow."""


@compiled
def tie_spans(order, tied, starts, sizes):  # type: ignore[no-untyped-def]
    """Fill the first rank and the size of the tie group of each feature, from ``order`` and ``tied`` (m, n)."""
    m, n = order.shape
    for i in range(m):
        start = 0
        while start < n:
            stop = start + 1
            while stop < n and tied[i, stop]:
                stop += 1
            for rank in range(start, stop):
                starts[i, order[i, rank]] = start
                sizes[i, order[i, rank]] = stop - start
            start = stop


@compiled
def equal_ranks_tile(starts_a, sizes_a, groups_a, starts_b, sizes_b, groups_b, symmetric, out):  # type: ignore[no-untyped-def]
    """Fill ⟨Π_x, Π_y⟩ for all pairs of samples of blocks A and B.

    Parameters
    ----------
    starts_a, sizes_a, groups_a
        First rank and size of the tie group of each feature of A, (a, n), and number of tie groups, (a,).
    starts_b, sizes_b, groups_b
        The same for B.
    symmetric
        Whether A and B are the same block; then only i < j is computed and mirrored, and k(x, x) is exact.
    out
        float64 (a, b), filled. The sum is in the order of the features and each term is symmetric in x and y, so
        k(x, y) and k(y, x) have the same bits.
    """
    a, n = starts_a.shape
    b = starts_b.shape[0]
    for i in range(a):
        if symmetric:
            out[i, i] = groups_a[i]
        for j in range(i + 1 if symmetric else 0, b):
            if groups_a[i] == n and groups_b[j] == n:  # no ties: this loop vectorises
                equal = np.int64(0)
                for f in range(n):
                    equal += np.int64(starts_a[i, f] == starts_b[j, f])
                out[i, j] = equal
            else:
                out[i, j] = _equal_rank_probability(starts_a[i], sizes_a[i], starts_b[j], sizes_b[j])
            if symmetric:
                out[j, i] = out[i, j]


@compiled
def _equal_rank_probability(start_a, size_a, start_b, size_b):  # type: ignore[no-untyped-def]
    """Σ over the features of the probability of equal ranks after independent random tie-breaking in both samples."""
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
    """Number of a permutation of at most 20 items, by its Lehmer code."""
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
    """Fill ``ranks`` with the permutation of the given number."""
    n = ranks.shape[0]
    for p in range(n - 1, -1, -1):  # digits of the Lehmer code, from the last one
        ranks[p] = number % (n - p)
        number //= n - p
    for p in range(n - 2, -1, -1):
        for q in range(p + 1, n):
            ranks[q] += np.int64(ranks[q] >= ranks[p])


@compiled
def cayley_tables(neighbours, inverses):  # type: ignore[no-untyped-def]
    """Fill the numbers of the n − 1 neighbours of every permutation, (n!, n − 1), and of its inverse, (n!,).

    A neighbour has the ranks r and r + 1 exchanged, which is left multiplication by an adjacent transposition. The
    distance in this Cayley graph is the number of discordant pairs.
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
    """Σ_k jumps[k] P^k values, where P averages over the neighbours. All terms are positive, so nothing cancels."""
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
    """Fill κ(σ σ'⁻¹) for all rankings σ with ``ranks`` (a, n) and σ' with ``order`` (b, n), without ties."""
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
    """Poisson probabilities of 0, 1, 2, … jumps with mean ``expected`` ≤ `STEP`.

    Truncated ``farthest`` jumps after the tail is below 1e-17. The permutation farthest from the identity needs
    ``farthest`` jumps, so its value has correct leading digits too.
    """
    count = farthest + math.ceil(expected + 10 * math.sqrt(expected) + 20)
    chances = np.empty(count + 1)
    chances[0] = math.exp(-expected)
    for k in range(1, count + 1):
        chances[k] = chances[k - 1] * expected / k
    return chances / math.fsum(chances)


@lru_cache(maxsize=32)
def diffusion_from_identity(n: int, beta: float) -> Floats:
    """Heat kernel κ = e^{βΔ} from the identity to each of the n! permutations, by number; the values sum to 1.

    Δ is the graph Laplacian of `cayley_tables`, with −(n − 1) on the diagonal. e^{βΔ} = Σ_k Poisson(k; β(n−1)) P^k,
    divided into steps. All sums have a fixed order, so the bits are the same in every process. No value differs from
    1/n! by more than e^{−βg}, where g = 2 − 2 cos(π/n) is the spectral gap of −Δ (Caputo, Liggett & Richthammer, 2010);
    if e^{−βg} is at most 1e-17/n!, all values are set to 1/n!. Cached for each process.

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
        shares = (shares + shares[inverses]) / 2  # makes κ(π) = κ(π⁻¹) exact; they differ by rounding
    shares.flags.writeable = False
    return shares


def _diffuse_for(shares: Array, neighbours: Array, beta: float) -> Array:
    degree = neighbours.shape[1]
    steps = max(1, math.ceil(beta * degree / STEP))
    jumps = jump_chances(beta * degree / steps, degree * (degree + 1) // 2)
    for _ in range(steps):
        shares = diffuse(shares, neighbours, jumps)
    return shares
