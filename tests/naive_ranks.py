"""Naive twins of rank sums: loops transcribed from the formulas."""

import math
from itertools import product


def mid_ranks(x, descending=False):
    """Mid-rank of each value: one plus the number before it, plus half the number of others equal to it."""
    before = (lambda a, b: a > b) if descending else (lambda a, b: a < b)
    return [1 + sum(before(b, a) for b in x) + (sum(b == a for b in x) - 1) / 2 for a in x]


def comparison(x, first, second, strata):
    """U, number of pairs, its variance, and untied pairs of x, of two lists of samples, within strata.

    U counts pairs one by one. The variance is that of a rank sum under random permutations: n₁ n₀ / (n (n − 1)) times
    the sum of squared deviations of the mid-ranks, which needs no correction for ties.
    """
    U = pairs = variance = untied = 0
    for stratum in sorted(set(strata)):
        one = [i for i in first if strata[i] == stratum]
        other = [i for i in second if strata[i] == stratum]
        U += sum((x[i] > x[j]) + (x[i] == x[j]) / 2 for i, j in product(one, other))
        pairs += len(one) * len(other)
        both = one + other
        untied += sum(x[i] != x[j] for i in both for j in both) // 2
        n = len(both)
        if one and other:
            ranks = mid_ranks([x[i] for i in both])
            squares = math.fsum((rank - (n + 1) / 2) ** 2 for rank in ranks)
            variance += len(one) * len(other) / (n * (n - 1)) * squares
    return U, pairs, variance, untied


def false_discovery_rates(p):
    """Benjamini and Hochberg: the least of p_k m / rank over all p at least as large."""
    ordered = sorted(p)
    return [min(1.0, *(len(p) * q / (sum(r <= q for r in ordered)) for q in ordered if q >= own)) for own in p]


def ucell(x, up, down, max_rank, weight=1.0):
    """UCell's score of positions ``up`` and ``down`` in one sample."""
    ranks = [rank if rank <= max_rank else max_rank + 1 for rank in mid_ranks(x, descending=True)]

    def part(genes):
        k = len(genes)
        return 1 - (sum(ranks[gene] for gene in genes) - k * (k + 1) / 2) / (k * max_rank)

    return max(part(up) - weight * part(down), 0.0) if down else part(up)


def singscore(x, up, down):
    """Singscore of positions ``up`` and ``down`` in one sample: mean ranks between their least and largest."""
    ranks, n = mid_ranks(x), len(x)

    def part(genes):
        k = len(genes)
        least, largest = sum(range(1, k + 1)) / k, sum(range(n - k + 1, n + 1)) / k
        return (sum(ranks[gene] for gene in genes) / k - least) / (largest - least)

    return part(up) - part(down) if down else part(up)
