"""Concordance by bit planes: one bit for each pair of features, 64 pairs in one operation.

The bit plane of a sample states for each pair of features whether the first value is larger than the second. Two
samples are discordant on the pairs whose bits differ, so discordant pairs are counted by exclusive-or and popcount,
like a matrix product over bits. With ties, a second plane marks the untied pairs of a sample. The planes are computed
in parts, some pairs of features at a time, so that the n²/2 bits of all samples are never in memory.

The pairs are the features k and k + d (modulo n) for d = 1 … n/2. The bits of one d compare a sample with itself
shifted by d positions, 64 contiguous values at a time.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.simd import greater_bits, popcount, unequal_bits
from distkern.core.jit import compiled
from distkern.core.typing import Array

WORDS = 256
"""Words of a plane computed at a time for each sample (2 KiB), so that a block of samples fits in the L1 cache."""

BLOCK = 64
"""Rows and columns of a block of samples whose planes are multiplied while they are in the cache."""

ROWS = 4
"""Samples of A that are compared with each word of B in a register."""

PADDING = 128
"""Padding after the doubled codes, which a comparison of 64 values may read; these bits are masked."""


def concordance(codes_a: Array, codes_b: Array, ties: bool, symmetric: bool) -> tuple[Array, Array]:
    """Numbers of discordant pairs, and of pairs tied in neither sample, for all pairs of samples of blocks A and B.

    Parameters
    ----------
    codes_a, codes_b
        Dense ranks as uint16, (a, n) and (b, n).
    ties
        Whether samples may have ties.
    symmetric
        Whether A and B are the same block; then only i ≤ j is filled.

    Returns
    -------
    tuple
        Two arrays int64 (a, b); without ties the second one is 0.
    """
    a, n = codes_a.shape
    b = len(codes_b)
    padded = -(-a // ROWS) * ROWS
    discordant, untied = np.zeros((padded, b), dtype=np.int64), np.zeros((padded, b), dtype=np.int64)
    words = -(-n // 64)
    steps = max(1, WORDS // words)
    doubled_a = _doubled(codes_a, padded)
    doubled_b = doubled_a if symmetric else _doubled(codes_b, b)
    above_a, apart_a = np.zeros((padded, steps * words), np.uint64), np.zeros((padded, steps * words), np.uint64)
    above_b, apart_b = (
        (above_a, apart_a)
        if symmetric
        else (np.zeros((b, steps * words), np.uint64), np.zeros((b, steps * words), np.uint64))
    )
    for first in range(1, n // 2 + 1, steps):
        last = min(first + steps, n // 2 + 1)
        filled = (last - first) * words
        _fill(doubled_a, n, first, last, ties, above_a, apart_a)
        if not symmetric:
            _fill(doubled_b, n, first, last, ties, above_b, apart_b)
        if ties:
            _multiply_tied(above_a, apart_a, above_b, apart_b, filled, symmetric, discordant, untied)
        else:
            _multiply(above_a, above_b, filled, symmetric, discordant)
    return discordant[:a], untied[:a]


def _doubled(codes: Array, rows: int) -> Array:
    """Codes of each sample repeated twice, so that a shift by d positions is an offset in memory."""
    m, n = codes.shape
    out = np.zeros((rows, 2 * n + PADDING), dtype=np.uint16)
    out[:m, :n] = codes
    out[:m, n : 2 * n] = codes
    return out


@compiled
def _fill(doubled, n, first, last, ties, above, apart):  # type: ignore[no-untyped-def]
    """Compute the planes of the shifts d from ``first`` to ``last`` − 1."""
    words = (n + 63) // 64
    for sample in range(doubled.shape[0]):
        codes = doubled[sample]
        place = 0
        for d in range(first, last):
            bits = n // 2 if 2 * d == n else n  # for d = n/2 every pair would occur twice
            for word in range(words):
                start = 64 * word
                mask = _low_bits(bits - start)
                above[sample, place] = greater_bits(codes, start, start + d) & mask
                if ties:
                    apart[sample, place] = unequal_bits(codes, start, start + d) & mask
                place += 1


@compiled
def _low_bits(count):  # type: ignore[no-untyped-def]
    if count >= 64:
        return np.uint64(0xFFFFFFFFFFFFFFFF)
    return (np.uint64(1) << np.uint64(max(count, 0))) - np.uint64(1)


@compiled
def _multiply(above_a, above_b, words, symmetric, discordant):  # type: ignore[no-untyped-def]
    """Add the numbers of discordant pairs of features in the planes, for four samples of A at a time."""
    a, b = discordant.shape  # A is padded to whole groups of rows, and so is B where it is the same
    for top in range(0, a, BLOCK):
        for left in range(top if symmetric else 0, b, BLOCK):
            for i in range(top, min(top + BLOCK, a), ROWS):
                x0, x1, x2, x3 = above_a[i], above_a[i + 1], above_a[i + 2], above_a[i + 3]
                for j in range(max(left, i) if symmetric else left, min(left + BLOCK, b)):
                    y = above_b[j]
                    n0 = n1 = n2 = n3 = np.int64(0)
                    for w in range(words):
                        bits = y[w]
                        n0 += popcount(x0[w] ^ bits)
                        n1 += popcount(x1[w] ^ bits)
                        n2 += popcount(x2[w] ^ bits)
                        n3 += popcount(x3[w] ^ bits)
                    discordant[i, j] += n0
                    discordant[i + 1, j] += n1
                    discordant[i + 2, j] += n2
                    discordant[i + 3, j] += n3


@compiled
def _multiply_tied(above_a, apart_a, above_b, apart_b, words, symmetric, discordant, untied):  # type: ignore[no-untyped-def]
    """Add the numbers of discordant pairs and of pairs tied in neither sample, for samples with ties."""
    a, b = discordant.shape  # A is padded to whole groups of rows, and so is B where it is the same
    for top in range(0, a, BLOCK):
        for left in range(top if symmetric else 0, b, BLOCK):
            for i in range(top, min(top + BLOCK, a), 2):
                x0, x1, u0, u1 = above_a[i], above_a[i + 1], apart_a[i], apart_a[i + 1]
                for j in range(max(left, i) if symmetric else left, min(left + BLOCK, b)):
                    y, u = above_b[j], apart_b[j]
                    n0 = n1 = m0 = m1 = np.int64(0)
                    for w in range(words):
                        bits, kept = y[w], u[w]
                        both0, both1 = u0[w] & kept, u1[w] & kept
                        n0 += popcount((x0[w] ^ bits) & both0)
                        n1 += popcount((x1[w] ^ bits) & both1)
                        m0 += popcount(both0)
                        m1 += popcount(both1)
                    discordant[i, j] += n0
                    discordant[i + 1, j] += n1
                    untied[i, j] += m0
                    untied[i + 1, j] += m1
