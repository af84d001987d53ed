"""Sums over pairs of samples in the wrong order, in O(m log m), and quadratic optimisation on the simplex."""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def sums_of_overtakers(levels, order, scores, thresholds, values, strict, out):  # type: ignore[no-untyped-def]
    """out[i] = Σ values[j] over all j of a lower level whose score exceeds the threshold of i.

    Parameters
    ----------
    levels
        Level of each sample, an integer from 0, (m,); a higher level should rank higher.
    order
        Samples by descending score, (m,).
    scores, thresholds
        (m,); the thresholds must be nondecreasing in the scores.
    values
        (m, columns).
    strict
        Whether a score equal to the threshold does not count.
    out
        (m, columns), filled.
    """
    m, columns = values.shape
    size = 0
    for i in range(m):
        size = max(size, levels[i])
    tree = np.zeros((size + 2, columns))  # Fenwick tree of sums over levels
    inside = 0
    for place in range(m):
        i = order[place]
        while inside < m:
            j = order[inside]
            if scores[j] < thresholds[i] or (strict and scores[j] == thresholds[i]):
                break
            node = levels[j] + 1
            while node < size + 2:
                for column in range(columns):
                    tree[node, column] += values[j, column]
                node += node & -node
            inside += 1
        for column in range(columns):
            out[i, column] = 0.0
        node = levels[i]
        while node > 0:
            for column in range(columns):
                out[i, column] += tree[node, column]
            node -= node & -node


@compiled
def sums_of_overtaken(levels, order, scores, thresholds, values, out):  # type: ignore[no-untyped-def]
    """out[j] = Σ values[i] over all i of a higher level whose threshold is below the score of j.

    These are the pairs of `sums_of_overtakers` with ``strict``, summed over the other sample; parameters are the same.
    """
    m, columns = values.shape
    size = 0
    for i in range(m):
        size = max(size, levels[i])
    tree = np.zeros((size + 2, columns))
    inside = m - 1
    for place in range(m - 1, -1, -1):
        j = order[place]
        while inside >= 0:
            i = order[inside]
            if not scores[j] > thresholds[i]:
                break
            node = size - levels[i] + 1
            while node < size + 2:
                for column in range(columns):
                    tree[node, column] += values[i, column]
                node += node & -node
            inside -= 1
        for column in range(columns):
            out[j, column] = 0.0
        node = size - levels[j]
        while node > 0:
            for column in range(columns):
                out[j, column] += tree[node, column]
            node -= node & -node


@compiled
def simplex_ascent(linear, quadratic, start):  # type: ignore[no-untyped-def]
    """Maximise bᵀα − ½ αᵀQα over the simplex α ≥ 0, Σα = 1, by moving weight between two entries at a time.

    Parameters
    ----------
    linear, quadratic
        b, (n,), and Q, positive semidefinite (n, n).
    start
        Initial point in the simplex, (n,).
    """
    n = linear.shape[0]
    alpha = start.copy()
    gradient = linear - quadratic @ alpha
    scale = np.abs(linear).max() + np.abs(quadratic).max()
    for _ in range(1000 * n):
        up, down = 0, -1
        for k in range(n):
            if gradient[k] > gradient[up]:
                up = k
            if alpha[k] > 0 and (down < 0 or gradient[k] < gradient[down]):
                down = k
        violation = gradient[up] - gradient[down]
        if violation <= 1e-12 * scale:
            break
        bend = quadratic[up, up] + quadratic[down, down] - 2 * quadratic[up, down]
        move = alpha[down]
        if bend * move > violation:
            move = violation / bend
        alpha[up] += move
        if move == alpha[down]:
            alpha[down] = 0.0
        else:
            alpha[down] -= move
        for k in range(n):
            gradient[k] -= move * (quadratic[k, up] - quadratic[k, down])
    return alpha
