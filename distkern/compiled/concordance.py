"""Concordance of two blocks of ranked samples, by the fastest of four algorithms.

==============  ========================================  ===================
algorithm       work for a pair of samples                used for
==============  ========================================  ===================
``bitplanes``   n²/2 bits, 64 to 512 an instruction       few features
``levels``      n + d_x d_y, d distinct values a sample   few distinct values
``blocks``      n, a fixed number of instructions each    many features
``inversions``  n log n, merge sort                       n above 65,535
==============  ========================================  ===================

All algorithms count in integers and give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from llvmlite import binding

from distkern.compiled import bitplanes, block_inversions, inversions, levels
from distkern.core.jit import compiled
from distkern.core.typing import Array

BLOCK = 64
"""Rows and columns of a block that is mirrored at a time."""

# Nanoseconds, measured by benchmarks/crossovers.py on one core each of an Intel Xeon (Sapphire Rapids) and an AMD EPYC,
# both with AVX-512. They choose the algorithm; results do not depend on them.
BIT = 1.8e-3 if "znver" in binding.get_host_cpu_name() else 4.7e-3  # a pair of features in a bit plane; twice with ties
ITEM = 3.0  # a feature counted in blocks
TIED_ITEM = 3.7  # the same with ties
ENTRY = 0.6  # a feature counted in a contingency table
CELL = 1.2  # a cell of a contingency table
MERGED = 50.0  # a feature in a merge sort


def concordance(A: Mapping[str, Array], B: Mapping[str, Array], symmetric: bool) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, for all pairs of samples of blocks A and B.

    Parameters
    ----------
    A, B
        Output of `inversions.rank` for each block: ``order``, ``codes``, ``tied`` (samples, n), ``untied`` (samples,).
    symmetric
        Whether A and B are the same block.

    Returns
    -------
    tuple
        Two arrays int64 (a, b), exact.

    Examples
    --------
    >>> names = "order", "codes", "tied", "untied"
    >>> block = dict(zip(names, inversions.rank(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 2.0]]))))
    >>> S, joint = concordance(block, block, True)
    >>> S.tolist(), joint.tolist()
    ([[3, -2], [-2, 2]], [[0, 0], [0, 1]])
    """
    n = A["order"].shape[1]
    pairs = n * (n - 1) // 2
    ties = bool((A["untied"] < pairs).any() or (B["untied"] < pairs).any())
    algorithm = fastest(n, int(A["codes"].max()) + 1, int(B["codes"].max()) + 1, ties)
    if algorithm == "bitplanes":
        discordant, untied = bitplanes.concordance(A["codes"], B["codes"], ties, symmetric)
        if ties:
            counts = untied - 2 * discordant
            joint = pairs - np.add.outer(A["untied"], B["untied"]) + untied
        else:
            counts, joint = pairs - 2 * discordant, np.zeros_like(discordant)
    elif algorithm == "levels":
        counts, joint = levels.concordance(A["codes"], B["codes"], symmetric)
    else:
        count = block_inversions.concordance if algorithm == "blocks" else inversions.concordance
        names = ("order", "codes", "tied", "untied")
        counts, joint = count(tuple(A[name] for name in names), tuple(B[name] for name in names), symmetric)
    if symmetric:
        mirror(counts)
        mirror(joint)
    return counts, joint


@compiled
def mirror(values):  # type: ignore[no-untyped-def]
    """Copy the upper triangle of a square matrix to the lower one, in blocks that fit in the cache."""
    side = values.shape[0]
    for top in range(0, side, BLOCK):
        for left in range(0, top + 1, BLOCK):
            for i in range(top, min(top + BLOCK, side)):
                for j in range(left, min(left + BLOCK, i)):
                    values[i, j] = values[j, i]


def bytes_needed(a: int, b: int, n: int) -> int:
    """Maximum bytes for a × b pairs of samples with n features, by any algorithm that may be chosen.

    Examples
    --------
    >>> bytes_needed(100, 100, 1000) < 2 * bytes_needed(100, 100, 500)
    True
    """
    algorithms = {fastest(n, n, n, ties) for ties in (False, True)}
    planes = (a + b + 8) * (16 * max(bitplanes.WORDS, -(-n // 64)) + 4 * n + 2 * bitplanes.PADDING)
    table = 32 * 4 * n  # cells of the contingency tables, where "levels" is the fastest
    scratch = {"bitplanes": planes, "blocks": block_inversions.bytes_needed(a, b, n)}
    return 32 * a * b + max(table, *(scratch.get(algorithm, 0) for algorithm in algorithms))


def fastest(n: int, levels_a: int, levels_b: int, ties: bool) -> str:
    """Fastest algorithm for samples with n features and at most ``levels_a`` and ``levels_b`` distinct values.

    Examples
    --------
    >>> fastest(100, 100, 100, False), fastest(20_000, 20, 20, True), fastest(20_000, 20_000, 20_000, False)
    ('bitplanes', 'levels', 'blocks')
    """
    costs = {"levels": ENTRY * n + CELL * levels_a * levels_b, "inversions": MERGED * n}
    if n <= block_inversions.LIMIT:
        whole_runs = -(-n // block_inversions.RUN) * block_inversions.RUN
        costs["bitplanes"] = BIT * (2 if ties else 1) * n * (n - 1) / 2
        costs["blocks"] = (TIED_ITEM if ties else ITEM) * whole_runs
    return min(costs, key=lambda algorithm: costs[algorithm])
