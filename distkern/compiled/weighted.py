"""Weighted signed sums over all pairs of items, with pair weights that depend on the ranks of the two items.

The sum Σ_{i<j} w_ij(x) w_ij(y) sgn(x_i − x_j) sgn(y_i − y_j) is computed by a merge sort. The items are sorted by x and
split into runs of items tied in x; the runs are merged by the rank in y. When two runs are merged, an item of the right
run is concordant with all items of the left run that y ranks before it, and an item of the left run is discordant with
all items of the right run that y ranks before it. Running sums give the weights of both. Concordant and discordant
terms are added separately, so nothing cancels. Pairs tied in x are in the same run, and pairs tied in y have the same
key; both are skipped.

Ranks start at 0 for the best item. The order of summation depends only on x and y.
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def spread_weights(table, order, tied, weights):  # type: ignore[no-untyped-def]
    """Fill the weight of each feature (m, n): the mean of ``table`` (n,) over the ranks of its tie group."""
    m, n = order.shape
    for i in range(m):
        start = 0
        while start < n:
            stop = start + 1
            total = table[start]
            while stop < n and tied[i, stop]:
                total += table[stop]
                stop += 1
            for rank in range(start, stop):
                weights[i, order[i, rank]] = total / (stop - start)
            start = stop


@compiled
def _sort_items(order_y, kept, codes_x, codes_y, u, v, skip, runs, keys, first, second):  # type: ignore[no-untyped-def]
    """Sort the items by x, and by y within tie groups of x, by a counting sort of the order of y.

    Returns the number of runs; run r is ``runs[r]:runs[r + 1]``. With ``skip``, items with u v = 0 are left out.
    """
    groups = np.int64(0)
    for k in range(kept):
        f = order_y[k]
        if not skip or u[f] * v[f] != 0.0:
            groups = max(groups, np.int64(codes_x[f]) + 1)
    runs[: groups + 1] = 0
    for k in range(kept):
        f = order_y[k]
        if not skip or u[f] * v[f] != 0.0:
            runs[codes_x[f]] += 1
    position = 0
    for g in range(groups):
        position += runs[g]
        runs[g] = position - runs[g]
    for k in range(kept):
        f = order_y[k]
        if not skip or u[f] * v[f] != 0.0:
            at = runs[codes_x[f]]
            keys[at], first[at], second[at] = codes_y[f], u[f], v[f]
            runs[codes_x[f]] += 1
    # each entry is now the end of its group: remove empty groups and shift by one
    count, stop = 0, 0
    for g in range(groups):
        end = runs[g]
        if end > stop:
            runs[count] = stop
            count += 1
            stop = end
    runs[count] = stop
    return count


@compiled
def _merge_products(keys, v, new_keys, new_v, start, middle, stop):  # type: ignore[no-untyped-def]
    """Merge two runs by key; return Σ v_i v_j over the concordant and over the discordant pairs between them."""
    agree, against, before_left, before_right = 0.0, 0.0, 0.0, 0.0
    left, right, k = start, middle, start
    while left < middle or right < stop:
        key = keys[left] if right >= stop or (left < middle and keys[left] <= keys[right]) else keys[right]
        sum_left, sum_right = 0.0, 0.0
        while left < middle and keys[left] == key:
            against += v[left] * before_right
            sum_left += v[left]
            new_keys[k], new_v[k] = key, v[left]
            left += 1
            k += 1
        while right < stop and keys[right] == key:
            agree += v[right] * before_left
            sum_right += v[right]
            new_keys[k], new_v[k] = key, v[right]
            right += 1
            k += 1
        before_left += sum_left
        before_right += sum_right
    return agree, against


@compiled
def _merge_sums(keys, u, v, new_keys, new_u, new_v, start, middle, stop):  # type: ignore[no-untyped-def]
    """Merge two runs by key; return Σ (u_i + u_j)(v_i + v_j) over concordant and over discordant pairs between them.

    The weight u_i v_i + u_j v_j + u_i v_j + u_j v_i of a pair is computed from four running sums for each run.
    """
    agree, against = 0.0, 0.0
    count_l, u_l, v_l, uv_l = 0, 0.0, 0.0, 0.0
    count_r, u_r, v_r, uv_r = 0, 0.0, 0.0, 0.0
    left, right, k = start, middle, start
    while left < middle or right < stop:
        key = keys[left] if right >= stop or (left < middle and keys[left] <= keys[right]) else keys[right]
        first_left, first_right = left, right
        while left < middle and keys[left] == key:
            p, q = u[left], v[left]
            against += (uv_r + count_r * (p * q)) + (u_r * q + v_r * p)
            new_keys[k], new_u[k], new_v[k] = key, p, q
            left += 1
            k += 1
        while right < stop and keys[right] == key:
            p, q = u[right], v[right]
            agree += (uv_l + count_l * (p * q)) + (u_l * q + v_l * p)
            new_keys[k], new_u[k], new_v[k] = key, p, q
            right += 1
            k += 1
        count_l += left - first_left
        for i in range(first_left, left):
            u_l, v_l, uv_l = u_l + u[i], v_l + v[i], uv_l + u[i] * v[i]
        count_r += right - first_right
        for i in range(first_right, right):
            u_r, v_r, uv_r = u_r + u[i], v_r + v[i], uv_r + u[i] * v[i]
    return agree, against


@compiled
def _merge_runs(additive, runs, count, keys, u, v, new_keys, new_u, new_v):  # type: ignore[no-untyped-def]
    """Merge ``count`` runs pairwise; return the signed sum over all pairs from different runs."""
    agree, against = 0.0, 0.0
    while count > 1:
        half = (count + 1) // 2
        for r in range(half):
            start, middle = runs[2 * r], runs[min(2 * r + 1, count)]
            stop = runs[min(2 * r + 2, count)]
            if additive:
                plus, minus = _merge_sums(keys, u, v, new_keys, new_u, new_v, start, middle, stop)
            else:
                plus, minus = _merge_products(keys, v, new_keys, new_v, start, middle, stop)
            agree += plus
            against += minus
        for r in range(half + 1):
            runs[r] = runs[min(2 * r, count)]
        keys, new_keys = new_keys, keys
        u, new_u = new_u, u
        v, new_v = new_v, v
        count = half
    return agree - against


@compiled
def weighted_tile(  # type: ignore[no-untyped-def]
    additive, codes_a, weights_a, order_b, codes_b, weights_b, kept_b, symmetric, out
):
    """Fill Σ_{i<j} w_ij(x) w_ij(y) sgn(x_i − x_j) sgn(y_i − y_j) for all pairs of samples of blocks A and B.

    Parameters
    ----------
    additive
        Whether w_ij = u_i + u_j; otherwise w_ij = u_i u_j.
    codes_a, weights_a
        Dense ranks from the best item, and weights u of the features of A, (a, n).
    order_b, codes_b, weights_b, kept_b
        Features by rank, dense ranks and weights of B, (b, n), and the number of features at the start of that order
        that can have a nonzero pair weight, (b,).
    symmetric
        Whether A and B are the same block; then only i ≤ j is computed and mirrored.
    out
        float64 (a, b), filled.
    """
    a, n = codes_a.shape
    b = codes_b.shape[0]
    runs = np.empty(n + 1, dtype=np.int64)
    keys, new_keys = np.empty(n, dtype=codes_b.dtype), np.empty(n, dtype=codes_b.dtype)
    u, new_u, v, new_v = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(a):
        for j in range(i if symmetric else 0, b):
            count = _sort_items(
                order_b[j],
                kept_b[j],
                codes_a[i],
                codes_b[j],
                weights_a[i],
                weights_b[j],
                not additive,
                runs,
                keys,
                u,
                v,
            )
            if not additive:
                for k in range(runs[count]):
                    v[k] *= u[k]
            out[i, j] = _merge_runs(additive, runs, count, keys, u, v, new_keys, new_u, new_v)
            if symmetric:
                out[j, i] = out[i, j]


@compiled
def _count_below(tree, code):  # type: ignore[no-untyped-def]
    """Number of items in a Fenwick tree with a rank below ``code``."""
    total = np.int64(0)
    while code > 0:
        total += tree[code]
        code -= code & -code
    return total


@compiled
def _insert(tree, code):  # type: ignore[no-untyped-def]
    """Add an item of rank ``code`` to a Fenwick tree."""
    node = code + 1
    while node < tree.shape[0]:
        tree[node] += 1
        node += node & -node


@compiled
def _group_stop(tied, start):  # type: ignore[no-untyped-def]
    """End (exclusive) of the tie group that begins at ``start``."""
    stop = start + 1
    while stop < tied.shape[0] and tied[stop]:
        stop += 1
    return stop


@compiled
def _open_group(group, codes, current, tree, settled):  # type: ignore[no-untyped-def]
    """Counts for a sample that opens its next tie group: items settled in the other sample, and items open in it.

    The third value is the signed sum of the first with all pairs of ``settled`` items. In this sample, the new items
    rank after all settled ones, so they are concordant with the settled items that the other sample ranks before them,
    and discordant with the rest.
    """
    ready, both, agreement = np.int64(0), np.int64(0), np.int64(0)
    for k in range(group.shape[0]):
        code = np.int64(codes[group[k]])
        if code < current:
            ready += 1
            agreement += _count_below(tree, code) + _count_below(tree, code + 1) - settled
        elif code == current:
            both += 1
    return ready, both, agreement


@compiled
def _settle_group(group, codes_own, codes, current, tree_own, tree):  # type: ignore[no-untyped-def]
    """Insert the items of a closing group that are settled in the other sample into both trees."""
    for k in range(group.shape[0]):
        f = group[k]
        if codes[f] < current:
            _insert(tree_own, np.int64(codes_own[f]))
            _insert(tree, np.int64(codes[f]))


@compiled
def _average_pair(order_x, tied_x, codes_x, order_y, tied_y, codes_y, tree_x, tree_y):  # type: ignore[no-untyped-def]
    """Σ over k = 1 … n of the expected top-k signed sums with ties broken at random: O(n log n).

    At k, the tie groups of a sample before rank k are *settled*, and the group that contains rank k is *open*: its
    items are in the top k with probability p (in x) or q (in y). Of the items,

    - ``settled`` are settled in both samples, and ``both`` are open in both;
    - ``ready_x`` are open in x and settled in y, and ``ready_y`` are open in y and settled in x.

    ``inner`` is the signed sum over pairs of settled items; ``with_x`` and ``with_y`` are the signed sums of the ready
    items with the settled items. Items ready in x are discordant with items ready in y, items open in both are
    concordant with settled items, and all other pairs are tied or not in the top k. Without ties all values are
    integers.
    """
    n = order_x.shape[0]
    tree_x[:], tree_y[:] = 0, 0
    settled, ready_x, ready_y, both = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    inner, with_x, with_y = np.int64(0), np.int64(0), np.int64(0)
    start_x, stop_x, now_x, start_y, stop_y, now_y = 0, 0, 0, 0, 0, 0
    total = 0.0
    for k in range(1, n + 1):
        open_x, open_y = k > stop_x, k > stop_y
        if open_x:
            start_x, stop_x = stop_x, _group_stop(tied_x, stop_x)
            ready_x, both, with_x = _open_group(order_x[start_x:stop_x], codes_y, now_y, tree_y, settled)
        if open_y:
            start_y, stop_y = stop_y, _group_stop(tied_y, stop_y)
            ready_y, both, with_y = _open_group(order_y[start_y:stop_y], codes_x, now_x, tree_x, settled)
        p, q = (k - start_x) / (stop_x - start_x), (k - start_y) / (stop_y - start_y)
        crossing = settled * both - ready_x * ready_y
        total += inner + (p * with_x + q * with_y) + (p * q) * crossing
        if k == stop_y:
            _settle_group(order_y[start_y:stop_y], codes_y, codes_x, now_x, tree_y, tree_x)
            inner, with_x, with_y = inner + with_y, with_x + crossing, np.int64(0)
            settled, ready_x, ready_y, both = settled + ready_y, ready_x + both, np.int64(0), np.int64(0)
            now_y += 1
            crossing = np.int64(0)
        if k == stop_x:
            _settle_group(order_x[start_x:stop_x], codes_x, codes_y, now_y, tree_x, tree_y)
            inner, with_y, with_x = inner + with_x, with_y + crossing, np.int64(0)
            settled, ready_y, ready_x, both = settled + ready_x, ready_y + both, np.int64(0), np.int64(0)
            now_x += 1
    return total


@compiled
def average_tile(order_a, tied_a, codes_a, order_b, tied_b, codes_b, symmetric, out):  # type: ignore[no-untyped-def]
    """Fill the mean over k = 1 … n of the top-k signed sums, for all pairs of samples of blocks A and B."""
    a, n = codes_a.shape
    b = codes_b.shape[0]
    tree_a, tree_b = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    for i in range(a):
        for j in range(i if symmetric else 0, b):
            total = _average_pair(order_a[i], tied_a[i], codes_a[i], order_b[j], tied_b[j], codes_b[j], tree_a, tree_b)
            out[i, j] = total / n
            if symmetric:
                out[j, i] = out[i, j]
