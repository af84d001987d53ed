"""Moments of weighted sets of points, determinants of pairs of covariances, and entropies of mixtures of two.

Loops update whole rows of a matrix, which the compiler turns into vector instructions without changing the order of any
sum: the value of a pair depends on the two sets alone, not on the block that they lie in.
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def moments(weights, points):  # type: ignore[no-untyped-def]
    """Means (k, d) and covariances (k, d, d) of points (k, L, d) under weights (k, L), which are brought to sum 1."""
    k, length, d = points.shape
    means, covariances = np.zeros((k, d)), np.zeros((k, d, d))
    centred = np.empty(d)
    for bag in range(k):
        total = 0.0
        for place in range(length):
            total += weights[bag, place]
        for place in range(length):
            share = weights[bag, place] / total
            if share > 0:
                for axis in range(d):
                    means[bag, axis] += share * points[bag, place, axis]
        for place in range(length):
            share = weights[bag, place] / total
            if share > 0:
                for axis in range(d):
                    centred[axis] = points[bag, place, axis] - means[bag, axis]
                for row in range(d):
                    scaled = share * centred[row]
                    for col in range(d):
                        covariances[bag, row, col] += scaled * centred[col]
    return means, covariances


@compiled
def factor(matrix):  # type: ignore[no-untyped-def]
    """Turn the upper half of a symmetric matrix into U with UᵀU = matrix, in place: log det, or NaN if not positive.

    Four rows of U at a time are taken off those below, so that each of these is read and written a fourth as often.
    """
    d = len(matrix)
    logdet = 0.0
    for first in range(0, d, 4):
        last = min(first + 4, d)
        for k in range(first, last):
            pivot = matrix[k, k]
            if not pivot > 0:
                return np.nan
            logdet += np.log(pivot)
            scale = 1.0 / np.sqrt(pivot)
            for col in range(k, d):
                matrix[k, col] *= scale
            for row in range(k + 1, last):
                multiple = matrix[k, row]
                for col in range(row, d):
                    matrix[row, col] -= multiple * matrix[k, col]
        if last == d:
            break
        one, two, three, four = matrix[first], matrix[first + 1], matrix[first + 2], matrix[first + 3]
        for row in range(last, d):
            by_one, by_two, by_three, by_four = one[row], two[row], three[row], four[row]
            target = matrix[row]
            for col in range(row, d):
                target[col] = (
                    target[col] - by_one * one[col] - by_two * two[col] - by_three * three[col] - by_four * four[col]
                )
    return logdet


@compiled
def inverse_form(upper, vector):  # type: ignore[no-untyped-def]
    """xᵀ (UᵀU)⁻¹ x for U in the upper half, or NaN where `factor` found none; the vector x is overwritten."""
    total = 0.0
    for k in range(len(vector)):
        if not upper[k, k] > 0:
            return np.nan
        vector[k] /= upper[k, k]
        total += vector[k] * vector[k]
        for col in range(k + 1, len(vector)):
            vector[col] -= upper[k, col] * vector[k]
    return total


@compiled
def log_determinants(matrices):  # type: ignore[no-untyped-def]
    """Log det of each symmetric matrix (k, d, d); NaN where one is not positive definite."""
    out = np.empty(len(matrices))
    for k in range(len(matrices)):
        out[k] = factor(matrices[k].copy())
    return out


@compiled
def mixed_pairs(means_a, covariances_a, means_b, covariances_b, same):  # type: ignore[no-untyped-def]
    """Log det S and δᵀ S⁻¹ δ of each pair, with S = (Σ + Σ')/2 and δ = μ − μ'; mirrored where both are the ``same``."""
    a, b, d = len(means_a), len(means_b), means_a.shape[1]
    logdets, forms = np.empty((a, b)), np.empty((a, b))
    mixed, difference = np.empty((d, d)), np.empty(d)
    for i in range(a):
        for j in range(i if same else 0, b):
            for row in range(d):
                difference[row] = means_a[i, row] - means_b[j, row]
                for col in range(row, d):
                    mixed[row, col] = 0.5 * (covariances_a[i, row, col] + covariances_b[j, row, col])
            logdets[i, j] = factor(mixed)
            forms[i, j] = inverse_form(mixed, difference)
            if same:
                logdets[j, i], forms[j, i] = logdets[i, j], forms[i, j]
    return logdets, forms


@compiled
def whiten_rows(upper, rows):  # type: ignore[no-untyped-def]
    """Turn each row x into U⁻ᵀx, in place, for U in the upper half."""
    for row in rows:
        inverse_form(upper, row)


@compiled
def sums_of_rows(factors, table, rows):  # type: ignore[no-untyped-def]
    """Σ_l factors[a, l] · table[rows[l]] for each a: (q, L) factors of some rows of a table of G columns, to (q, G).

    Each entry is summed in the order of l, whatever the columns beside it.
    """
    q, length = factors.shape
    out = np.zeros((q, table.shape[1]))
    for a in range(q):
        target = out[a]
        for first in range(0, length - length % 4, 4):
            by_one, by_two = factors[a, first], factors[a, first + 1]
            by_three, by_four = factors[a, first + 2], factors[a, first + 3]
            if by_one == 0 and by_two == 0 and by_three == 0 and by_four == 0:
                continue
            one, two = table[rows[first]], table[rows[first + 1]]
            three, four = table[rows[first + 2]], table[rows[first + 3]]
            for col in range(len(target)):
                target[col] = (
                    target[col] + by_one * one[col] + by_two * two[col] + by_three * three[col] + by_four * four[col]
                )
        for last in range(length - length % 4, length):
            one, by_one = table[rows[last]], factors[a, last]
            for col in range(len(target)):
                target[col] += by_one * one[col]
    return out


@compiled
def complement_pairs(own, taken, crossed, leading, ends):  # type: ignore[no-untyped-def]
    """Log det S and vᵀ S⁻¹ v of each, with S = own − taken, (k, L, L), and v = ends − crossed @ leading, (k, L).

    Where ``ends`` is 0 to the end, S goes on as the identity, which is left out. ``taken`` is overwritten.
    """
    k, length, q = crossed.shape
    logdets, forms = np.empty(k), np.empty(k)
    v = np.empty(length)
    for j in range(k):
        size = length
        while size > 0 and ends[j, size - 1] == 0:
            size -= 1
        S = taken[j, :size, :size]
        for row in range(size):
            for col in range(row, size):
                S[row, col] = own[j, row, col] - S[row, col]
            total = 0.0
            for a in range(q):
                total += crossed[j, row, a] * leading[a]
            v[row] = ends[j, row] - total
        logdets[j] = factor(S)
        forms[j] = inverse_form(S, v[:size])
    return logdets, forms


@compiled
def component_pairs(crossed, values_a, values_b, square, own_a, own_b, eta):  # type: ignore[no-untyped-def]
    """Log det N and Q of one set with each of several, in the span of both sets of r components.

    ``crossed`` (k, r + 1, r' + 1) holds inner products of the components, each scaled by the root of its eigenvalue,
    and in the last place of the mean; ``own_a`` (r,) and ``own_b`` (k, r') those of a set's components with its own
    mean; ``square`` (k,) ‖δ‖². N = I + Λ^½ UᵀU Λ^½ / 2η and Q = ‖δ‖²/η − gᵀ N⁻¹ g / 2η² with g = Λ^½ Uᵀ δ.
    """
    k, r, s = len(crossed), len(values_a), values_b.shape[1]
    logdets, forms = np.empty(k), np.empty(k)
    N, g = np.zeros((r + s, r + s)), np.empty(r + s)
    for j in range(k):
        for row in range(r):
            for col in range(row, r):
                N[row, col] = 0.0
            N[row, row] = 1.0 + values_a[row] / (2 * eta)
            for col in range(s):
                N[row, r + col] = crossed[j, row, col] / (2 * eta)
            g[row] = own_a[row] - crossed[j, row, s]
        for row in range(s):
            for col in range(row, s):
                N[r + row, r + col] = 0.0
            N[r + row, r + row] = 1.0 + values_b[j, row] / (2 * eta)
            g[r + row] = crossed[j, r, row] - own_b[j, row]
        logdets[j] = factor(N)
        forms[j] = square[j] / eta - inverse_form(N, g) / (2 * eta * eta)
    return logdets, forms


@compiled
def _compare(x, y):  # type: ignore[no-untyped-def]
    """−1, 0 or 1: the order of two points, coordinate by coordinate."""
    for axis in range(len(x)):
        if x[axis] < y[axis]:
            return -1
        if x[axis] > y[axis]:
            return 1
    return 0


@compiled
def atom_pairs(shares_a, points_a, counts_a, shares_b, points_b, counts_b, same):  # type: ignore[no-untyped-def]
    """J of each pair of distributions on atoms: log 2 and a term for each atom that both have.

    With φ(t) = −t log t, J = Σ φ((p + q)/2) − (φ(p) + φ(q))/2 over all atoms; one that only p has adds p/2 · log 2.
    Atoms (L, d) are sorted and distinct; the first ``counts`` of them count.
    """
    a, b = len(shares_a), len(shares_b)
    out = np.empty((a, b))
    for i in range(a):
        for j in range(i if same else 0, b):
            left, right, total = 0, 0, np.log(2.0)
            while left < counts_a[i] and right < counts_b[j]:
                order = _compare(points_a[i, left], points_b[j, right])
                if order == 0:
                    p, q = shares_a[i, left], shares_b[j, right]
                    half = 0.5 * (p + q)
                    total += 0.5 * (p * np.log(p) + q * np.log(q)) - half * np.log(half) - half * np.log(2.0)
                if order <= 0:
                    left += 1
                if order >= 0:
                    right += 1
            out[i, j] = max(total, 0.0)
            if same:
                out[j, i] = out[i, j]
    return out


@compiled
def density_pairs(densities_a, entropies_a, densities_b, entropies_b, same):  # type: ignore[no-untyped-def]
    """J of each pair from densities at common draws, (a, S) and (b, S), each scaled by the draw's own weight.

    J is the mean over the draws of φ((f + g)/2) − (φ(f) + φ(g))/2, with φ(t) = −t log t, and 0 at least draw by draw.
    """
    a, b, draws = len(densities_a), len(densities_b), densities_a.shape[1]
    out = np.empty((a, b))
    for i in range(a):
        for j in range(i if same else 0, b):
            total = 0.0
            for s in range(draws):
                half = 0.5 * (densities_a[i, s] + densities_b[j, s])
                if half > 0:
                    total -= half * np.log(half)
            out[i, j] = max(total / draws - 0.5 * (entropies_a[i] + entropies_b[j]), 0.0)
            if same:
                out[j, i] = out[i, j]
    return out
