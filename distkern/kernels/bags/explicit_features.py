"""Kernels between bags of explicit features: what kernels through a base kernel become if it is a `LowRank`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.compiled.bags import component_pairs, moments
from distkern.compiled.products import mirror_upper
from distkern.core.blas import one_blas_thread
from distkern.core.typing import Array, Floats
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.vectors import Linear

BATCH_BYTES = 2**20
"""Most bytes of components of other bags that a bag is compared with at a time."""


class MeanFeatures(Linear):
    """The inner product of the mean features of two bags."""

    def prepare_points(self, weights: Floats, points: Floats, start: int = 0) -> Prepared:
        """Mean of each bag's points (k, L, R) under weights (k, L)."""
        shares = weights / weights.sum(axis=1, keepdims=True)
        return self.prepare(np.matmul(shares[:, None, :], points)[:, 0], start)


@dataclass(frozen=True)
class PrincipalBhattacharyya(Kernel):
    """Bhattacharyya's kernel of Gaussians with ``n_components`` principal components, and variance η elsewhere."""

    n_components: int
    eta: float

    def prepare_points(self, weights: Floats, points: Floats, start: int = 0) -> Prepared:
        """Principal components of each bag, each times the root of its eigenvalue, and the mean: (k, R, r + 1)."""
        means, covariances = moments(weights, points)
        bags, R = means.shape
        count = min(self.n_components, R)
        values, components = np.zeros((bags, self.n_components)), np.zeros((bags, R, self.n_components + 1))
        for bag in range(bags):
            found, vectors = np.linalg.eigh(covariances[bag])
            values[bag, :count] = np.maximum(found[::-1][:count], 0.0)
            components[bag, :, :count] = vectors[:, ::-1][:, :count] * np.sqrt(values[bag, :count])
        components[:, :, -1] = means
        own = np.matmul(means[:, None, :], components)[:, 0]
        arrays = {"values": values, "components": components, "own": own[:, :-1].copy(), "squares": own[:, -1:].copy()}
        return Prepared(arrays | {"volumes": np.log1p(values / self.eta).sum(axis=1, keepdims=True)}, start)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        A.refuse_unlike(B)
        out = np.empty((len(A), len(B)))
        components = B.arrays["components"]
        step = max(1, BATCH_BYTES // components[0].nbytes)
        with one_blas_thread():
            for i in range(len(A)):
                mine = np.ascontiguousarray(A.arrays["components"][i].T)
                for first in range(i if A is B else 0, len(B), step):
                    js = slice(first, min(first + step, len(B)))
                    out[i, js] = component_values(A, i, B, js, np.matmul(mine, components[js]), self.eta)
        if A is B:
            np.fill_diagonal(mirror_upper(out), 1.0)
        return out

    def diagonal(self, A: Prepared) -> Floats:
        """Ones."""
        return np.ones(len(A))


@bytes_per_tile.register
def _(kernel: PrincipalBhattacharyya, a: int, b: int, n: int) -> int:
    """Bytes of the result, and of the components of a batch and their inner products."""
    return 24 * a * b + 4 * BATCH_BYTES


def component_values(A: Prepared, i: int, B: Prepared, js: slice, crossed: Array, eta: float) -> Floats:
    """Bhattacharyya's kernel between bag i of A and some bags of B, from inner products of components and means.

    Parameters
    ----------
    A, i, B, js
        Blocks with, for each bag, the arrays ``values`` (eigenvalues), ``own`` (inner products of the components with
        the bag's own mean), ``squares`` (squared norm of the mean) and ``volumes`` (Σ log(1 + λ/η)).
    crossed
        (J, r + 1, r + 1): inner products of the components of bag i with those of bags js; the mean comes last.
    eta
        η.
    """
    a, b = A.arrays, B.arrays
    square = a["squares"][i, 0] + b["squares"][js, 0] - 2 * crossed[:, -1, -1]
    logdets, forms = component_pairs(
        crossed, a["values"][i], b["values"][js], np.maximum(square, 0.0), a["own"][i], b["own"][js], eta
    )
    return np.exp(0.25 * (a["volumes"][i, 0] + b["volumes"][js, 0]) - 0.5 * logdets - forms / 8)
