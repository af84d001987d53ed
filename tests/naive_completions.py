"""Completions of partial rankings by sums over all total rankings, and by insertion written out place by place."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np


def discordant(line, order):
    """Number of pairs that two orders rank in opposite ways."""
    place = {item: k for k, item in enumerate(order)}
    return sum(place[a] > place[b] for a, b in combinations(line, 2))


def agrees(line, levels):
    """Whether a total order ranks the listed items as a ballot does."""
    listed = [levels[item] for item in line if levels[item] > 0]
    return listed == sorted(listed, reverse=True)


def completions(levels, order, theta):
    """All total orders that agree with a ballot, and the Mallows probability of each."""
    lines = list(permutations(range(len(levels))))
    masses = np.array([np.exp(-theta * discordant(line, order)) for line in lines])
    kept = [k for k, line in enumerate(lines) if agrees(line, levels)]
    return [lines[k] for k in kept], masses[kept] / masses.sum()


def chance(levels, order, theta):
    """Probability of a ballot: the sum over all total orders that agree with it."""
    return completions(levels, order, theta)[1].sum()


def preferences(levels, order, theta):
    """Probability that an item comes before another, given the ballot, (n, n)."""
    lines, chances = completions(levels, order, theta)
    out = np.zeros((len(levels), len(levels)))
    for line, each in zip(lines, chances / chances.sum(), strict=True):
        for a, b in combinations(line, 2):
            out[a, b] += each
    return out


def inserted(levels, order, theta, uniform):
    """A completion by repeated insertion, best first, and its weight."""
    line, weight = [], 1.0
    for j, item in enumerate(order):
        chances = np.array([np.exp(-theta * (j - place)) for place in range(j + 1)])
        chances /= chances.sum()
        allowed = [place for place in range(j, -1, -1) if agrees([*line[:place], item, *line[place:]], levels)]
        masses = np.array([chances[place] for place in allowed])
        weight *= masses.sum()
        drawn = np.searchsorted(np.cumsum(masses) / masses.sum(), uniform[j], side="right")
        line.insert(allowed[min(drawn, len(allowed) - 1)], item)
    return line, weight
