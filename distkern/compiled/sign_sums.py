"""Weighted sums of signs over samples, W_ij = Σ_s c_s sgn(x_si − x_sj), for tiles of pairs of features.

Samples are taken 64 at a time. One vector comparison of the ranks of features i and j in 64 samples gives a word of 64
bits, and each of its eight bytes is looked up in a table of the 256 sums that eight coefficients can have. So a pair
takes an eighth of an addition for each sample, and no sign is stored.

Where none of the 64 samples has a tie, a clear bit is the sign −1, and the tables hold sums of signs. Where some have,
the tables hold sums of the coefficients of set bits, and two comparisons, of "greater" and of "less", are looked up.

The sum of a pair is made in one order of additions, which depends on the samples alone: it has the same bits in every
tile, and W_ji = −W_ij to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distkern.compiled.simd import greater_bits
from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats

BATCH = 64
"""Samples that are compared at a time: the bits of a word."""

BYTES = 8
"""Bytes of a word, each with a table of its own."""

ENTRIES = 256
"""Sums in a table."""

LIMIT = 2**16
"""Largest number of different ranks in a sample."""

BLOCK_ROWS, BLOCK_COLS = 16, 64
"""Features of a block of pairs whose words are kept while they are looked up."""

BYTE, LOW = np.uint64(8), np.uint64(255)


class SignTables(NamedTuple):
    """The coefficients of samples as tables of partial sums.

    Parameters
    ----------
    sums
        float64 (batches, machines, `BYTES`, `ENTRIES`).
    has_ties
        Whether a sample of the batch has ties, (batches,).
    """

    sums: Floats
    has_ties: Array


def arrange(codes: Array) -> Array:
    """Ranks (m, n) as uint16 (batches, n, 64): the 64 samples of a batch lie together for each feature.

    Zeros follow the last sample: all features are tied in them, and their coefficients are 0.

    Examples
    --------
    >>> arrange(np.array([[0, 1], [2, 1]], dtype=np.uint16))[0, :, :3]
    array([[0, 2, 0],
           [1, 1, 0]], dtype=uint16)
    """
    m, n = codes.shape
    out = np.zeros((-(-m // BATCH), n, BATCH), dtype=np.uint16)
    for batch, part in enumerate(out):
        samples = codes[batch * BATCH : (batch + 1) * BATCH]
        part[:, : len(samples)] = samples.T
    return out


def sign_tables(coefficients: Floats, has_ties: Array) -> SignTables:
    """Tables of the coefficients (m, machines) of samples; ``has_ties`` tells which samples have ties, (m,).

    Examples
    --------
    >>> tables = sign_tables(np.array([[1.0], [0.5]]), np.array([False, False]))
    >>> tables.sums[0, 0, 0, :4]  # both below, the first above, the second above, both above
    array([-1.5,  0.5, -0.5,  1.5])
    """
    m, machines = coefficients.shape
    batches = -(-m // BATCH)
    padded = np.zeros((batches * BATCH, machines))
    padded[:m] = coefficients
    flags = np.zeros(batches * BATCH, dtype=np.bool_)
    flags[:m] = has_ties
    with_ties = np.asarray(flags.reshape(batches, BATCH).any(axis=1))
    per_bit = padded.reshape(batches, BYTES, 8, machines).transpose(0, 3, 1, 2)  # (batches, machines, bytes, bits)
    clear = np.where(with_ties, 0.0, -1.0)[:, None, None, None]  # sign of a clear bit
    sums = np.zeros((batches, machines, BYTES, ENTRIES))
    for bit in range(8):
        own, known = per_bit[..., bit, None], sums[..., : 1 << bit].copy()
        sums[..., 1 << bit : 2 << bit] = known + own
        sums[..., : 1 << bit] = known + clear * own
    return SignTables(sums, with_ties)


def sign_sums(codes: Array, tables: SignTables, rows: slice, cols: slice) -> Floats:
    """W_ij of the features i of ``rows`` and j of ``cols``, (machines, rows, cols).

    Parameters
    ----------
    codes
        Output of `arrange`.
    tables
        Output of `sign_tables` for the same samples.
    rows, cols
        Features, from start to stop.

    Examples
    --------
    >>> codes = np.array([[0, 1, 1], [2, 1, 0]], dtype=np.uint16)
    >>> tables = sign_tables(np.array([[1.0], [0.5]]), np.array([True, False]))
    >>> sign_sums(arrange(codes), tables, slice(0, 3), slice(0, 3))[0]
    array([[ 0. , -0.5, -0.5],
           [ 0.5,  0. ,  0.5],
           [ 0.5, -0.5,  0. ]])
    """
    out = np.zeros((tables.sums.shape[1], rows.stop - rows.start, cols.stop - cols.start))
    _add(codes, tables.sums, tables.has_ties, rows.start, cols.start, out)
    for k in range(max(0, max(rows.start, cols.start)), min(rows.stop, cols.stop)):
        out[:, k - rows.start, k - cols.start] = 0.0  # a clear bit counts −1 where a feature meets itself
    return out


@compiled
def _add(codes, sums, has_ties, top, left, out):  # type: ignore[no-untyped-def]
    """Add the sums of each batch to ``out``, in blocks whose words, and the tables of a machine, fit in a cache."""
    machines, height, width = out.shape
    greater, less = np.empty((2, BLOCK_ROWS, BLOCK_COLS), np.uint64)
    for batch in range(codes.shape[0]):
        values = codes[batch].reshape(-1)
        for row in range(0, height, BLOCK_ROWS):
            rows = min(BLOCK_ROWS, height - row)
            for col in range(0, width, BLOCK_COLS):
                cols = min(BLOCK_COLS, width - col)
                for i in range(rows):
                    first = (top + row + i) * BATCH
                    for j in range(cols):
                        second = (left + col + j) * BATCH
                        greater[i, j] = greater_bits(values, first, second)
                        if has_ties[batch]:
                            less[i, j] = greater_bits(values, second, first)
                for machine in range(machines):
                    table = sums[batch, machine]
                    block = out[machine, row : row + rows, col : col + cols]
                    for i in range(rows):
                        for j in range(cols):
                            if has_ties[batch]:
                                block[i, j] += _looked_up(table, greater[i, j]) - _looked_up(table, less[i, j])
                            else:
                                block[i, j] += _looked_up(table, greater[i, j])


@compiled
def _looked_up(table, word):  # type: ignore[no-untyped-def]
    """Sum of the entries of the eight bytes of a word."""
    even = table[0, word & LOW] + table[2, (word >> np.uint64(16)) & LOW]
    odd = table[1, (word >> BYTE) & LOW] + table[3, (word >> np.uint64(24)) & LOW]
    even += table[4, (word >> np.uint64(32)) & LOW] + table[6, (word >> np.uint64(48)) & LOW]
    odd += table[5, (word >> np.uint64(40)) & LOW] + table[7, word >> np.uint64(56)]
    return even + odd


@compiled
def add_products(coefficients, entries, out):  # type: ignore[no-untyped-def]
    """Add Σ_s c_s e_sj to ``out`` (machines, pairs), for coefficients (m, machines) and entries (m, pairs)."""
    for sample in range(entries.shape[0]):
        for machine in range(out.shape[0]):
            own = coefficients[sample, machine]
            for pair in range(entries.shape[1]):
                out[machine, pair] += own * entries[sample, pair]
