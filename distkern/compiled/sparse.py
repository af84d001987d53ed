"""Concordance of sparse samples: O(k + q log q) a pair, exact with any ties.

k is the number of nonzeros of one sample, and q the number of items that are nonzero in both. All zeros of a sample
form one tie group, between its negative and its positive values. A sample is stored as the *places* of its nonzeros
(feature numbers by ascending value) and their *scores*. The score of a nonzero is the number of nonzeros below it minus
the number above it, minus the same difference for a zero. Scores have the order, the ties and the signs of the values.
For each sample y, its scores are scattered into an array over all n items once; a walk along the places of each x then
finds the common items.

**Few distinct values** (counts): the contingency table of the levels of x and y determines the result. The walk fills
all rows except the row of the zeros of x, which follows from the known sizes of the levels of y.

**Many distinct values**: let A and B be the nonzeros of x and y, C = A ∩ B, s and r the sign and the score of an item,
P = Σ s over all nonzeros of a sample, e the number of items that are zero in both, M = Σ sgn(y_j − y_i) over i in C
with x_i < 0 and j in C with x_j > 0, S_C the concordance within C, and ρ_x the number of smaller minus the number of
larger values of x within C. Then

    S = S_C + Σ_C (s_y r_x + s_x r_y) − Σ_C s_y ρ_x − 2M + e Σ_C s_x s_y − P_x P_y − Σ_C s_x Σ_C s_y

because

- a pair that is tied in neither sample is in C × C, C × (A − C), C × (B − C), C × neither or (A − C) × (B − C);
- for an item of C, the number of smaller minus larger items is r_x + P_x within A, of which ρ_x are in C;
- Σ_C s_x ρ_y = 2M, as the terms of two items with equal s_x cancel.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from distkern.compiled.inversions import count_inversions
from distkern.core.jit import compiled
from distkern.core.typing import Array

TABLE_SHARE = 4
"""Maximum number of table cells for each nonzero of x for which the table is faster than sorting."""


@compiled
def _joint_runs(xs, ys, buffer):  # type: ignore[no-untyped-def]
    """Sort y within each run of equal x; return the numbers of pairs tied in x and tied in both."""
    n = xs.shape[0]
    tied, joint = np.int64(0), np.int64(0)
    start = 0
    for k in range(1, n + 1):
        if k == n or xs[k] != xs[start]:
            size = np.int64(k - start)
            if size > 1:
                tied += size * (size - 1) // 2
                count_inversions(ys[start:k], buffer[start:k])
                joint += _tied_pairs(ys[start:k])
            start = k
    return tied, joint


@compiled
def _tied_pairs(values):  # type: ignore[no-untyped-def]
    """Number of pairs of equal values in a sorted array."""
    tied, run = np.int64(0), np.int64(0)
    for k in range(1, values.shape[0]):
        run = run + 1 if values[k] == values[k - 1] else np.int64(0)
        tied += run
    return tied


@compiled
def _across(lower, upper):  # type: ignore[no-untyped-def]
    """Σ sgn(u − l) over all l in ``lower`` and u in ``upper``, both sorted, and the number of pairs with u = l."""
    signs, equal = np.int64(0), np.int64(0)
    below = through = 0  # number of values of ``upper`` below l, and at most l
    size = upper.shape[0]
    for value in lower:
        while below < size and upper[below] < value:
            below += 1
        through = max(through, below)
        while through < size and upper[through] == value:
            through += 1
        signs += size - through - below
        equal += through - below
    return signs, equal


@compiled
def _shared_concordance(xs, ys, buffer, negative):  # type: ignore[no-untyped-def]
    """S within C, M, and the numbers of pairs of C tied in y and in both; ``ys`` is in the order of x, and is sorted.

    The first ``negative`` items have x < 0; none of them is tied in x with the other items.
    """
    concordance = tied_y = joint = np.int64(0)
    for start, stop in ((0, negative), (negative, xs.shape[0])):
        size = np.int64(stop - start)
        if size > 1:
            part = ys[start:stop]
            in_x, in_both = _joint_runs(xs[start:stop], part, buffer)
            discordant = count_inversions(part, buffer)
            in_y = _tied_pairs(part)
            concordance += size * (size - 1) // 2 - in_x - in_y + in_both - 2 * discordant
            tied_y += in_y
            joint += in_both
    across = np.int64(0)
    if 0 < negative < xs.shape[0]:
        across, equal = _across(ys[:negative], ys[negative:])
        tied_y += equal
    return concordance + across, across, tied_y, joint


@compiled
def _inner_scores(xs, ys):  # type: ignore[no-untyped-def]
    """Σ_C s_y ρ_x, for items in the order of x."""
    n = xs.shape[0]
    total = np.int64(0)
    start, signs = 0, np.int64(0)
    for k in range(n):
        signs += 1 if ys[k] > 0 else -1
        if k + 1 == n or xs[k + 1] != xs[k]:
            total += signs * (start - (n - k - 1))
            start, signs = k + 1, np.int64(0)
    return total


@compiled
def _merged_pair(  # type: ignore[no-untyped-def]
    places, scores, k, spread, n, m, balances, tied_b, xs, ys, sizes, buffer
):
    """S and the number of pairs tied in both, by the formula above.

    ``spread`` contains for each item its score in y and the size of its tie group in y, or zeros if y is zero.
    """
    q = negative = sizes_y = np.int64(0)
    mixed = same = signs_x = signs_y = np.int64(0)
    rest_a, run, previous = np.int64(0), np.int64(0), np.int32(0)
    for position in range(k):
        place, score = places[position], scores[position]
        xs[q], ys[q], sizes[q] = score, spread[place, 0], spread[place, 1]
        alone = np.int64(ys[q] == 0)
        q += 1 - alone  # branch-free: an item with zero y is overwritten by the next one
        run *= np.int64(score == previous)
        rest_a += run * alone  # pairs tied in x among the items with zero y
        run += alone
        previous = score
    for position in range(q):
        s_x, s_y = 1 if xs[position] > 0 else -1, 1 if ys[position] > 0 else -1
        mixed += s_y * np.int64(xs[position]) + s_x * np.int64(ys[position])
        same += s_x * s_y
        signs_x += s_x
        signs_y += s_y
        negative += int(s_x < 0)
        sizes_y += sizes[position]
    inner = _inner_scores(xs[:q], ys[:q])
    within, across, tied_y, joint = _shared_concordance(xs[:q], ys[:q], buffer, negative)
    neither = n - k - m + q
    concordance = within + mixed - inner - 2 * across + neither * same - balances - signs_x * signs_y
    # c common items in a tie group of g nonzeros of y remove c (2g − c − 1) / 2 tied pairs from B − C
    rest_b = tied_b - sizes_y + tied_y + q
    joint += rest_a + rest_b + neither * (neither - 1) // 2
    return concordance, joint


@compiled
def _scatter(places, scores, levels, m, spread, spread_levels, sizes):  # type: ignore[no-untyped-def]
    """Scatter score, tie group size and level of each nonzero to its place; return the number of tied pairs.

    Fills ``sizes`` with the number of items at each level, 0 for the level of the zeros.
    """
    tied = np.int64(0)
    lowest = -levels[0] if m > 0 and levels[0] < 0 else 0
    start = 0
    sizes[lowest] = 0
    for k in range(1, m + 1):
        if k == m or scores[k] != scores[start]:
            for position in range(start, k):
                spread[places[position], 0] = scores[position]
                spread[places[position], 1] = k - start
                spread_levels[places[position]] = levels[position]
            sizes[lowest + levels[start]] = k - start
            tied += np.int64(k - start) * (k - start - 1) // 2
            start = k
    return tied


@compiled
def _number_levels(scores, nonzeros, levels, zero, count):  # type: ignore[no-untyped-def]
    """Number the distinct values of each sample in ascending order: …, −2, −1, 0 for the zeros, 1, 2, ….

    Fills ``zero`` with the number of negative levels, and ``count`` with the number of all levels.
    """
    for i in range(len(nonzeros)):
        below, above = 0, 0
        for position in range(nonzeros[i]):
            score = scores[i, position]
            if position == 0 or score != scores[i, position - 1]:
                below += int(score < 0)
                above += int(score > 0)
            levels[i, position] = above if score > 0 else below
        for position in range(nonzeros[i]):
            if scores[i, position] > 0:
                break
            levels[i, position] -= below + 1
        zero[i], count[i] = below, below + above + 1


@compiled
def _table_pair(  # type: ignore[no-untyped-def]
    places, levels, k, zero_a, levels_a, spread_levels, zero_b, levels_b, sizes_b, n, table, below
):
    """S and the number of pairs tied in both, from the contingency table of levels, which is zero before and after."""
    for position in range(k):
        table[(zero_a + levels[position]) * levels_b + zero_b + spread_levels[places[position]]] += 1
    origin = zero_a * levels_b
    rest = n
    for col in range(levels_b):
        if col != zero_b:
            counted = np.int64(0)
            for row in range(levels_a):
                counted += table[row * levels_b + col]
            table[origin + col] = sizes_b[col] - counted
            rest -= sizes_b[col] - counted
    table[origin + zero_b] = rest - k
    return _from_table(table, levels_a, levels_b, below)


@compiled
def _from_table(table, levels_a, levels_b, below):  # type: ignore[no-untyped-def]
    """Compute S and the joint ties row by row, in ascending order of x, and set the table to zero."""
    below[:levels_b] = 0  # number of items at each level of y with a smaller x
    seen = total = both = np.int64(0)
    for row in range(levels_a):
        smaller = in_row = np.int64(0)
        for col in range(levels_b):
            times = np.int64(table[row * levels_b + col])
            table[row * levels_b + col] = 0
            total += times * (2 * smaller + below[col] - seen)
            both += times * (times - 1) // 2
            smaller += below[col]
            below[col] += times
            in_row += times
        seen += in_row
    return total, both


@compiled
def sparse_tile(  # type: ignore[no-untyped-def]
    places_a, scores_a, nonzeros_a, balance_a, places_b, scores_b, nonzeros_b, balance_b, n, symmetric, counts, joint
):
    """Fill S = n_c − n_d and the number of pairs tied in both, for all pairs of sparse samples of blocks A and B.

    Parameters
    ----------
    places_a, scores_a
        Places and scores of the nonzeros of A, (a, width), by ascending value; the padding after them is not read.
    nonzeros_a, balance_a
        Number of nonzeros, and number of positive minus number of negative values, (a,).
    places_b, scores_b, nonzeros_b, balance_b
        The same for B.
    n
        Number of features.
    symmetric
        Whether A and B are the same block; then only i ≤ j is computed and mirrored.
    counts, joint
        int64 (a, b), filled.
    """
    a, b = len(nonzeros_a), len(nonzeros_b)
    levels_a, levels_b = np.empty(places_a.shape, np.int32), np.empty(places_b.shape, np.int32)
    zero_a, count_a = np.empty((2, a), np.int64)
    zero_b, count_b = np.empty((2, b), np.int64)
    _number_levels(scores_a, nonzeros_a, levels_a, zero_a, count_a)
    _number_levels(scores_b, nonzeros_b, levels_b, zero_b, count_b)
    table = np.zeros(TABLE_SHARE * max(1, places_a.shape[1]), np.int32)
    sizes_b, below = np.empty((2, places_b.shape[1] + 1), np.int64)
    xs, ys, sizes, buffer = np.empty((4, places_a.shape[1]), np.int32)
    spread, spread_levels = np.zeros((n, 2), np.int32), np.zeros(n, np.int32)
    for j in range(b):
        m = nonzeros_b[j]
        tied_b = _scatter(places_b[j], scores_b[j], levels_b[j], m, spread, spread_levels, sizes_b)
        for i in range(j + 1 if symmetric else a):
            k = nonzeros_a[i]
            if count_a[i] * count_b[j] <= TABLE_SHARE * k:
                found = _table_pair(
                    places_a[i], levels_a[i], k, zero_a[i], count_a[i],
                    spread_levels, zero_b[j], count_b[j], sizes_b, n, table, below
                )  # fmt: skip
            else:
                balances = balance_a[i] * balance_b[j]
                found = _merged_pair(places_a[i], scores_a[i], k, spread, n, m, balances, tied_b, xs, ys, sizes, buffer)
            counts[i, j], joint[i, j] = found
            if symmetric:
                counts[j, i], joint[j, i] = found
        for position in range(m):
            place = places_b[j, position]
            spread[place, 0] = spread[place, 1] = spread_levels[place] = 0


@compiled
def _rank_sparse(data, indices, indptr, n, places, scores, nonzeros, balance, untied):  # type: ignore[no-untyped-def]
    for i in range(len(nonzeros)):
        first = indptr[i]
        values = data[first : indptr[i + 1]]
        k = np.int64(len(values))
        order = np.argsort(values, kind="mergesort")
        negative = np.int64(0)
        for value in values:
            negative += int(value < 0)
        tied = (n - k) * (n - k - 1) // 2
        start = 0
        for stop in range(1, k + 1):
            if stop == k or values[order[stop]] != values[order[start]]:
                for position in range(start, stop):
                    places[i, position] = indices[first + order[position]]
                    scores[i, position] = start - (k - stop) + k - 2 * negative
                tied += np.int64(stop - start) * (stop - start - 1) // 2
                start = stop
        nonzeros[i], balance[i] = k, k - 2 * negative
        untied[i] = n * (n - 1) // 2 - tied


def rank_sparse(data: Array, indices: Array, indptr: Array, n: int, width: int | None = None) -> dict[str, Array]:
    """Places and scores of the nonzeros of CSR rows, O(k log k) a sample.

    Parameters
    ----------
    data, indices, indptr
        CSR arrays in canonical form: no duplicate entries, no zeros, no NaN.
    n
        Number of features.
    width
        Columns of the padded arrays; by default the largest number of nonzeros of a row.

    Returns
    -------
    dict
        ``places`` and ``scores``, int32 (m, width), padded with zeros; ``nonzeros``, ``balance`` (number of positive
        minus number of negative values), ``untied`` (number of untied pairs) and ``features`` (n), int64 (m,).

    Examples
    --------
    >>> ranked = rank_sparse(np.array([5.0, -1.0, 5.0]), np.array([0, 2, 3]), np.array([0, 3]), n=6)
    >>> ranked["places"].tolist(), ranked["scores"].tolist(), ranked["untied"].tolist()
    ([[2, 0, 3]], [[-1, 2, 2]], [11])
    """
    m = len(indptr) - 1
    most = int(np.diff(indptr).max(initial=0))
    width = most if width is None else width
    assert most <= width, "the padded arrays are narrower than a sample"
    ranked: dict[str, Array] = {name: np.zeros((m, width), dtype=np.int32) for name in ("places", "scores")}
    ranked |= {name: np.empty(m, dtype=np.int64) for name in ("nonzeros", "balance", "untied")}
    ranked["features"] = np.full(m, n, dtype=np.int64)
    _rank_sparse(
        np.ascontiguousarray(data, dtype=np.float64),
        np.ascontiguousarray(indices, dtype=np.int64),
        np.ascontiguousarray(indptr, dtype=np.int64),
        np.int64(n),
        *(ranked[name] for name in ("places", "scores", "nonzeros", "balance", "untied")),
    )
    return ranked


def concordance(A: Mapping[str, Array], B: Mapping[str, Array], symmetric: bool) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, for all pairs of sparse samples of blocks A and B.

    Takes about 2 ns for each nonzero of a sample of A with few distinct values, and 20 ns with many. Only one array for
    each tile grows with n.

    Parameters
    ----------
    A, B
        Output of `rank_sparse` for each block; the widths may differ.
    symmetric
        Whether A and B are the same block.

    Returns
    -------
    tuple
        Two arrays int64 (a, b), exact.

    Examples
    --------
    >>> block = rank_sparse(np.array([1.0, 1.0, 2.0]), np.array([2, 0, 2]), np.array([0, 1, 3]), n=3)  # 001, 102
    >>> S, joint = concordance(block, block, True)
    >>> S.tolist(), joint.tolist()
    ([[2, 2], [2, 3]], [[1, 0], [0, 0]])
    """
    counts = np.empty((2, len(A["nonzeros"]), len(B["nonzeros"])), dtype=np.int64)
    n = int(A["features"][0]) if len(A["features"]) else 0
    sparse_tile(
        A["places"], A["scores"], A["nonzeros"], A["balance"],
        B["places"], B["scores"], B["nonzeros"], B["balance"],
        n, symmetric, counts[0], counts[1],
    )  # fmt: skip
    return counts[0], counts[1]
