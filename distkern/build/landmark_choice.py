"""Algorithms that choose landmarks by kernel values: k-means++ and ridge leverage scores. They know arrays only."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import count as counted

import numpy as np
from scipy.linalg import cho_factor, solve_triangular

from distkern.core.errors import InputError
from distkern.core.events import silent
from distkern.core.random import uniforms
from distkern.core.typing import Array, Floats, Indices
from distkern.engine.executors import Threads, usable_cores
from distkern.engine.run import run
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.planning import bytes_per_tile

CANDIDATES = 10
"""Candidates for each landmark, where the choice looks at kernel values."""

FEWEST = 2000
"""Fewest candidates of a pool, where the cohort has as many samples."""

BLOCK = 256
"""Candidates prepared at a time; columns of kernel values are computed by such blocks, on threads."""

BATCH = 64
"""Samples that k-means++ proposes at a time: the side of a micro-block of inner products."""

ROUNDING = 1e-12
"""Squared distances below this fraction of k(x, x) + k(y, y) are taken as zero."""


def pool_size(landmarks: int, distinct: int) -> int:
    """Number of candidates, drawn at random, among which landmarks are chosen by kernel values.

    Examples
    --------
    >>> pool_size(500, 1_000_000), pool_size(20, 1_000_000), pool_size(20, 300)
    (5000, 2000, 300)
    """
    return min(distinct, max(FEWEST, CANDIDATES * landmarks))


def pool_bytes(choice: str, kernel: Kernel, prepared: int, read: int, landmarks: int, distinct: int, n: int) -> int:
    """Bytes that a choice by kernel values takes, of samples of n features.

    Parameters
    ----------
    prepared, read
        Bytes of a prepared sample, and of a sample as it is read.
    """
    size, chosen = pool_size(landmarks, distinct), min(landmarks, BATCH) if choice == "kmeans++" else landmarks
    preparing = min(size, BLOCK) * (read + prepared)  # a block as it is read, and once more as it is prepared
    choosing = 32 * size * chosen + chosen * (read + 2 * prepared)  # columns, and copies of them; the chosen samples
    tiles = usable_cores() * bytes_per_tile(kernel, BLOCK, chosen, n)
    return size * (prepared + 64) + max(preparing, choosing + tiles)


class Pool:
    """Candidates for landmarks, prepared and in memory, in random order.

    Parameters
    ----------
    kernel
        The kernel in whose feature space landmarks are chosen.
    prepare
        Function that reads and prepares some computed samples.
    positions
        Positions of the candidates among the computed samples.
    key
        Key of the random stream; its draw 0 has made the pool.
    """

    def __init__(self, kernel: Kernel, prepare: Callable[[Indices], Prepared], positions: Indices, key: Array) -> None:
        self._kernel, self._key, self._draws = kernel, key, counted(1)
        self._blocks = [prepare(positions[start : start + BLOCK]) for start in range(0, len(positions), BLOCK)]
        self._prepare, self._positions = prepare, positions

    def __len__(self) -> int:
        return len(self._positions)

    @cached_property
    def diagonal(self) -> Floats:
        """k(x, x) of each candidate."""
        return _finite(np.concatenate([self._kernel.diagonal(block) for block in self._blocks]))

    def columns(self, chosen: Indices, among: int | None = None) -> Floats:
        """Kernel values between the first ``among`` candidates (all by default) and some chosen ones."""
        size = len(self) if among is None else among
        right = self._prepare(self._positions[chosen])
        out = np.empty((size, len(chosen)))

        def fill(block: int) -> None:
            rows = slice(block * BLOCK, min((block + 1) * BLOCK, size))
            out[rows] = self._kernel.tile(self._blocks[block], right)[: rows.stop - rows.start]

        run(Threads(), fill, range(-(-size // BLOCK)), lambda _: None, phase="choose landmarks", listener=silent)
        return _finite(out)

    def uniforms(self, count: int) -> Floats:
        """Draw the next uniform numbers of [0, 1)."""
        return uniforms(self._key, next(self._draws), count)


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise InputError(f"k(x, y) is {values[~np.isfinite(values)][0]} for some of the samples: scale the data down")
    return values


def kmeans_pp(pool: Pool, count: int) -> Indices:
    """D² sampling: each landmark is drawn with a probability proportional to its d² from the nearest one before it.

    d²(x, y) = k(x, x) + k(y, y) − 2 k(x, y). Candidates are proposed ``BATCH`` at a time, by their D² before the batch,
    and each is accepted with the fraction of it that is left by then: the same distribution as one at a time.
    Once every candidate equals a landmark in feature space, the others are drawn uniformly.

    Source: Arthur & Vassilvitskii, *k-means++: the advantages of careful seeding* (2007), step 1.
    """
    diagonal = pool.diagonal
    distances = np.ones(len(pool))  # the first landmark is uniform
    chosen: list[int] = []
    while len(chosen) < count and distances.any():
        size = min(BATCH, count - len(chosen)) if chosen else 1
        cumulated = np.cumsum(distances)
        proposed = np.searchsorted(cumulated, pool.uniforms(size) * cumulated[-1], side="right")
        proposed = np.minimum(proposed, np.flatnonzero(distances)[-1])
        accepted_by = pool.uniforms(size) * distances[proposed]
        squares = np.add.outer(diagonal, diagonal[proposed])
        new = squares - 2 * pool.columns(proposed)
        new[new <= ROUNDING * squares] = 0.0
        for candidate, bound, column in zip(proposed.tolist(), accepted_by, new.T, strict=True):
            if distances[candidate] > bound:
                distances = np.minimum(distances, column) if chosen else column.copy()
                distances[candidate] = 0.0
                chosen.append(candidate)
    left = np.setdiff1d(np.arange(len(pool)), chosen)
    return np.array([*chosen, *left[np.argsort(pool.uniforms(len(left)), kind="stable")][: count - len(chosen)]])


def leverage(pool: Pool, count: int) -> Indices:
    """Ridge leverage scores: landmarks are drawn without replacement, with weights l_i = (K (K + λ I)⁻¹)_ii.

    Exact scores need the whole matrix, which landmarks are meant to avoid. So they are approximated from landmarks
    among half of the candidates, whose scores come from a quarter, and so on. With S the landmarks, each weighted by
    one over the root of its probability p_i = min(1, log(k) l_i), l_i ≈ (K − K S (Sᵀ K S + λ I)⁻¹ Sᵀ K)_ii / λ, and λ
    is 1/q of the sum of all eigenvalues of Sᵀ K S but the q = k / (4 log k) largest.

    Source: Musco & Musco, *Recursive sampling for the Nyström method* (2017), algorithm 3 and the constants of its
    experiments; the scores were defined by Alaoui & Mahoney, *Fast randomized kernel ridge regression with statistical
    guarantees* (2015).
    """
    oversampling = math.log(max(count, 3))
    sizes = [len(pool)]
    while sizes[-1] > count:
        sizes.append(-(-sizes[-1] // 2))
    chosen, roots = np.arange(sizes.pop()), np.ones(1)
    while sizes:
        size = sizes.pop()
        roots = np.broadcast_to(roots, chosen.shape)
        scores = _ridge_scores(pool.columns(chosen, size), chosen, roots, pool.diagonal[:size], oversampling, count)
        if not sizes:
            with np.errstate(divide="ignore", invalid="ignore"):
                order = -np.log1p(-pool.uniforms(size)) / np.minimum(1.0, scores)  # Efraimidis & Spirakis (2006)
            return np.argsort(order, kind="stable")[:count]
        probability = np.minimum(1.0, oversampling * scores)
        drawn = np.flatnonzero(pool.uniforms(size) < probability)
        chosen, roots = (drawn, np.sqrt(probability[drawn])) if len(drawn) else (chosen, roots)
    return chosen[:count]


def _ridge_scores(
    columns: Floats, chosen: Indices, roots: Floats, diagonal: Floats, oversampling: float, count: int
) -> Floats:
    """Approximate scores of the candidates in the rows of ``columns``, from chosen ones of probability ``roots``²."""
    inner = columns[chosen]
    inner = (inner + inner.T) / 2
    eigenvalues = np.linalg.eigvalsh(inner / np.multiply.outer(roots, roots))[::-1]
    rank = max(1, math.ceil(count / (4 * oversampling)))
    ridge = max(float(eigenvalues[rank:].sum()) / rank, 1e-10 * float(eigenvalues[0]), np.finfo(float).tiny)
    factor, _ = cho_factor(inner + np.diag(ridge * roots**2), lower=True)
    explained = solve_triangular(factor, columns.T, lower=True)
    return np.maximum(0.0, diagonal - np.einsum("ij,ij->j", explained, explained)) / ridge


BY_KERNEL: dict[str, Callable[[Pool, int], Indices]] = {"kmeans++": kmeans_pp, "leverage": leverage}
"""Choices by kernel values between the candidates of a pool."""

CHOICES = ("random", *BY_KERNEL)
"""Ways to choose landmarks."""
