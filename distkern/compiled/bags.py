"""Kernels between bags: moments of weighted points, determinants of mixed covariances, and entropies of mixtures.

Loops update whole rows of a matrix, so that the compiler vectorises them without changing the order of any sum. The
value of a pair of bags therefore does not depend on the block that contains it.
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def moments(weights, points):  # type: ignore[no-untyped-def]
    """Means (k, d) and covariances (k, d, d) of points (k, L, d) with weights (k, L), normalised to sum 1."""
    k, length, d = points.shape
    means, covariances = np.zeros((k, d)), np.zeros((k, d, d))
    centred = np.empty(d)
    for bag in range(k):
        total = 0.0
        for point in range(length):
            total += weights[bag, point]
        for point in range(length):
            share = weights[bag, point] / total
            if share > 0:
                for axis in range(d):
                    means[bag, axis] += share * points[bag, point, axis]
        for point in range(length):
            share = weights[bag, point] / total
            if share > 0:
                for axis in range(d):
                    centred[axis] = points[bag, point, axis] - means[bag, axis]
                for row in range(d):
                    scaled = share * centred[row]
                    for col in range(d):
                        covariances[bag, row, col] += scaled * centred[col]
    return means, covariances


@compiled
def factor(matrix):  # type: ignore[no-untyped-def]
    """Cholesky factor U of a symmetric matrix, UᵀU = matrix, in place in the upper triangle.

    Returns the log determinant, or NaN if the matrix is not positive definite. Rows are updated by four rows of U at a
    time, which reduces memory traffic.
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
    """xᵀ (UᵀU)⁻¹ x for U in the upper triangle, or NaN if `factor` failed; the vector x is overwritten by U⁻ᵀ x."""
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
    """Log determinant of each symmetric matrix (k, d, d); NaN for a matrix that is not positive definite."""
    out = np.empty(len(matrices))
    for k in range(len(matrices)):
        out[k] = factor(matrices[k].copy())
    return out


@compiled
def mixed_pairs(means_a, covariances_a, means_b, covariances_b, same):  # type: ignore[no-untyped-def]
    """Log det S and δᵀ S⁻¹ δ of each pair, S = (Σ + Σ')/2 and δ = μ − μ'; mirrored if both blocks are the ``same``."""
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
    """Replace each row x by U⁻ᵀ x, for U in the upper triangle."""
    for row in rows:
        inverse_form(upper, row)


@compiled
def sums_of_rows(factors, table, rows):  # type: ignore[no-untyped-def]
    """Σ_l factors[a, l] · table[rows[l]] for each a, (q, G), with factors (q, L) and a table of G columns.

    Each entry is summed in the order of l, independently of other columns.
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
def complement_pairs(own, taken, vectors, ends):  # type: ignore[no-untyped-def]
    """Log det S and vᵀ S⁻¹ v for each S = own − taken, (k, L, L), and each row v of ``vectors`` (k, L).

    Trailing positions with ``ends`` (k, L) equal to 0 are padding, where S is the identity and v is 0; they are
    skipped. ``taken`` and ``vectors`` are overwritten.
    """
    k, length = vectors.shape
    logdets, forms = np.empty(k), np.empty(k)
    for j in range(k):
        size = length
        while size > 0 and ends[j, size - 1] == 0:
            size -= 1
        S = taken[j, :size, :size]
        for row in range(size):
            for col in range(row, size):
                S[row, col] = own[j, row, col] - S[row, col]
        logdets[j] = factor(S)
        forms[j] = inverse_form(S, vectors[j, :size])
    return logdets, forms


@compiled
def component_pairs(crossed, values_a, values_b, square, own_a, own_b, eta):  # type: ignore[no-untyped-def]
    """Log det N and Q of one bag with each of k bags, in the span of the principal components of both.

    N = I + Λ^½ UᵀU Λ^½ / 2η and Q = ‖δ‖²/η − gᵀ N⁻¹ g / 2η², with g = Λ^½ Uᵀ δ.

    Parameters
    ----------
    crossed
        Inner products between the components of both bags, each scaled by the root of its eigenvalue, (k, r + 1, r' +
        1); the last row and column belong to the means.
    values_a, values_b
        Eigenvalues, (r,) and (k, r').
    square
        ‖δ‖², (k,).
    own_a, own_b
        Inner products of the components of a bag with its own mean, (r,) and (k, r').
    eta
        η..
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
    """Lexicographic order of two points: −1, 0 or 1."""
    for axis in range(len(x)):
        if x[axis] < y[axis]:
            return -1
        if x[axis] > y[axis]:
            return 1
    return 0


@compiled
def atom_pairs(shares_a, points_a, counts_a, masses_a, shares_b, points_b, counts_b, masses_b, same):  # type: ignore[no-untyped-def]
    """Jensen-Shannon divergence J of each pair of discrete measures, whose weights sum to ``masses``: 1 or others.

    J = Σ φ((p + q)/2) − (φ(p) + φ(q))/2 over all atoms, with φ(t) = −t log t. An atom of p alone adds p/2 · log 2, so J
    is log 2 times the mean of the masses plus a term for each common atom. Atoms (L, d) are sorted and distinct; the
    first ``counts`` are used.
    """
    a, b = len(shares_a), len(shares_b)
    out = np.empty((a, b))
    for i in range(a):
        for j in range(i if same else 0, b):
            left, right, total = 0, 0, 0.5 * (masses_a[i] + masses_b[j]) * np.log(2.0)
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
    """Jensen-Shannon divergence J of each pair from densities at common draws, (a, S) and (b, S).

    J is the mean over the draws of φ((f + g)/2) − (φ(f) + φ(g))/2, with φ(t) = −t log t; each term is at least 0. The
    densities are scaled by the weights of the draws.
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
