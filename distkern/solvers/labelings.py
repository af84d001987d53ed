"""Labelings of samples that are as likely as the one observed if labels and samples are independent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import comb, prod

import numpy as np

from distkern.core.typing import Array, Indices


def permuted(codes: Indices, blocks: Indices, rng: np.random.Generator) -> Indices:
    """Permute labels within blocks of samples."""
    drawn = codes.copy()
    for block in np.unique(blocks):
        own = np.flatnonzero(blocks == block)
        drawn[own] = codes[rng.permutation(own)]
    return drawn


def number_of_labelings(codes: Indices, blocks: Indices) -> int:
    """Number of distinct labelings that permutations within blocks make, Π_b n_b! / Π_c n_bc!.

    Examples
    --------
    >>> number_of_labelings(np.array([0, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1]))
    6
    """
    return prod(
        comb(int(sizes[: place + 1].sum()), int(size))
        for sizes in _sizes(codes, blocks)
        for place, size in enumerate(sizes)
    )


def every_labeling(codes: Indices, blocks: Indices) -> Iterator[Indices]:
    """All distinct labelings that permutations within blocks make, the one given among them.

    Examples
    --------
    >>> [labels.tolist() for labels in every_labeling(np.array([0, 1, 1]), np.zeros(3, dtype=int))]
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    members = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    choices = [list(_arrangements(codes[own])) for own in members]
    for chosen in product(*choices):
        out = np.empty_like(codes)
        for own, labels in zip(members, chosen, strict=True):
            out[own] = labels
        yield out


def _arrangements(codes: Indices) -> Iterator[Indices]:
    """All distinct orders of some labels."""
    kinds, counts = np.unique(codes, return_counts=True)
    if len(kinds) == 1:
        yield codes.copy()
        return
    first, rest = kinds[0], np.repeat(kinds[1:], counts[1:])
    for chosen in combinations(range(len(codes)), int(counts[0])):
        own = np.zeros(len(codes), dtype=bool)
        own[list(chosen)] = True
        for others in _arrangements(rest):
            out = np.empty_like(codes)
            out[own], out[~own] = first, others
            yield out


def _sizes(codes: Indices, blocks: Indices) -> list[Array]:
    return [np.unique(codes[blocks == block], return_counts=True)[1] for block in np.unique(blocks)]
