"""Nearest neighbours in kernel distance, in the formats of scikit-learn and scanpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from distkern.core.alignment import SampleNames, refuse_other_names
from distkern.core.errors import InputError, InputTypeError
from distkern.core.sentences import Argument
from distkern.core.typing import Floats, Indices
from distkern.learners.matrices import training_matrix
from distkern.learners.memory import block_bytes, limited_to, require_memory
from distkern.operators.base import COPIES
from distkern.solvers.neighbors import nearest

BISECTIONS = 64
"""Bisection steps for the width σ of a neighbourhood, as in UMAP."""

LEAST_WIDTH = 1e-3
"""Smallest width σ of a neighbourhood relative to the mean distance, as in UMAP."""


@dataclass(frozen=True)
class Neighbors:
    """Nearest neighbours of each sample, not counting the sample itself.

    Parameters
    ----------
    indices
        Positions of the neighbours, (m, n_neighbors), by ascending distance, then position.
    distances
        Distances to the neighbours, (m, n_neighbors).
    ids
        Names of the samples.
    named
        Whether the samples have names; else ``ids`` are their positions.

    See Also
    --------
    kernel_neighbors : Makes it.
    """

    indices: Indices
    distances: Floats
    ids: Sequence[str]
    named: bool = True

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours, not counting the sample itself."""
        return self.indices.shape[1]

    @cached_property
    def distance_graph(self) -> csr_matrix:
        """Sparse distances (m, m) with n_neighbors entries a row, as from scikit-learn's ``kneighbors_graph``.

        Input for estimators with ``metric="precomputed"``, such as DBSCAN. The distance 0 of equal samples is stored.
        """
        return _rows(self.indices, self.distances)

    @cached_property
    def connectivities(self) -> csr_matrix:
        r"""UMAP's fuzzy graph (m, m), symmetric, with weights in (0, 1].

        .. math::

            p_{ij} = \exp\bigl(-\max(0, d_{ij} - \rho_i) / \sigma_i\bigr),\qquad
            \sum_j p_{ij} = \log_2(k + 1),\qquad w_{ij} = p_{ij} + p_{ji} - p_{ij}\, p_{ji}

        where ρ_i is the least nonzero distance of sample i, and k + 1 counts the sample itself, as UMAP does. McInnes,
        Healy and Melville, "UMAP: uniform manifold approximation and projection for dimension reduction",
        arXiv:1802.03426, section 3.1.
        """
        directed = _rows(self.indices, _memberships(self.distances))
        both = directed.multiply(directed.T)
        graph = (directed + directed.T - both).tocsr()
        graph.eliminate_zeros()
        return graph


def kernel_neighbors(
    gram: Any, n_neighbors: int = 15, *, kernel: Any = "precomputed", memory_limit: int | str | None = None
) -> Neighbors:
    r"""Find the nearest neighbours of every sample, in one pass over the matrix.

    .. math:: d(x, y) = \|\varphi(x) - \varphi(y)\| = \sqrt{k(x, x) + k(y, y) - 2 k(x, y)}

    Parameters
    ----------
    gram
        Gram matrix or array, (m, m); or samples (m, n) if there is a kernel, such as an AnnData object. Only the
        neighbours of a stored matrix are kept in memory, 16 m n_neighbors bytes.
    n_neighbors
        Number of neighbours, not counting the sample itself. scanpy and UMAP count it: 14 here is 15 there.
    kernel
        ``"precomputed"``, or the kernel of the samples, whose values are then computed in memory.
    memory_limit
        Memory to use, in bytes or text such as ``"2GiB"``; by default half of the available memory.

    Raises
    ------
    InputError
        If there are fewer other samples than ``n_neighbors``, or a squared distance is negative, which shows that the
        matrix is not positive semidefinite.
    MemoryLimitError
        If the neighbours do not fit in memory; raised before the matrix is read.

    See Also
    --------
    write_neighbors : Hands them to scanpy.
    sklearn.neighbors.kneighbors_graph : Neighbours of vectors.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0, 7.0])
    >>> found = kernel_neighbors(np.outer(x, x), 2)
    >>> found.indices.tolist(), found.distances.tolist()
    ([[1, 2], [0, 2], [1, 0], [2, 1]], [[1.0, 3.0], [1.0, 2.0], [2.0, 3.0], [4.0, 6.0]])
    """
    matrix = training_matrix(gram, kernel, memory_limit)
    samples = len(matrix)
    if isinstance(n_neighbors, bool) or not (isinstance(n_neighbors, (int, np.integer)) and 1 <= n_neighbors < samples):
        raise InputError(
            f"n_neighbors must be a whole number from 1 to {samples - 1}, the other samples; got {n_neighbors!r}"
        )
    needed = 4 * 8 * samples * (int(n_neighbors) + 1) + block_bytes(samples, samples, COPIES, memory_limit)
    require_memory(needed, memory_limit, f"the {n_neighbors} nearest of {samples:,} samples")
    with limited_to(memory_limit):
        indices, distances = nearest(matrix, int(n_neighbors))
    return Neighbors(indices, distances, matrix.row_ids, matrix.row_samples.ids is not None)


def write_neighbors(adata: Any, neighbors: Neighbors, *, key_added: str | None = None, overwrite: bool = False) -> None:
    """Write neighbours into an AnnData object for scanpy's UMAP, Leiden, PAGA and diffusion maps.

    The layout is that of ``sc.pp.neighbors``: distances and connectivities in ``adata.obsp``, and their keys and
    parameters in ``adata.uns["neighbors"]``.

    Parameters
    ----------
    adata
        AnnData object with the same samples in the same order.
    neighbors
        Result of `kernel_neighbors`.
    key_added
        Prefix of the keys, as in scanpy: ``<key>``, ``<key>_distances`` and ``<key>_connectivities``.
    overwrite
        Replace existing neighbours.

    Raises
    ------
    InputError
        If the samples differ, or the keys exist and ``overwrite`` is False.

    See Also
    --------
    kernel_neighbors : Finds the neighbours.
    scanpy.pp.neighbors : Neighbours by Euclidean distance.

    Examples
    --------
    >>> from anndata import AnnData
    >>> x = np.array([0.0, 1.0, 3.0, 7.0])
    >>> adata = AnnData(x[:, None])
    >>> write_neighbors(adata, kernel_neighbors(np.outer(x, x), 2))
    >>> adata.obsp["distances"].nnz, adata.uns["neighbors"]["params"]["n_neighbors"]
    (8, 3)
    """
    _refuse_other_samples(adata, neighbors)
    key = "neighbors" if key_added is None else key_added
    prefix = "" if key_added is None else f"{key_added}_"
    distances, connectivities = f"{prefix}distances", f"{prefix}connectivities"
    taken = [name for name in (distances, connectivities) if name in adata.obsp] + ([key] if key in adata.uns else [])
    if taken and not overwrite:
        raise InputError(
            "the AnnData holds {taken!r} already: give another {key_added}, or pass {overwrite}",
            taken=taken[0],
            key_added=Argument("key_added"),
            overwrite=Argument("overwrite", True),
        )
    adata.obsp[distances] = neighbors.distance_graph
    adata.obsp[connectivities] = neighbors.connectivities
    adata.uns[key] = {
        "connectivities_key": connectivities,
        "distances_key": distances,
        "params": {
            "n_neighbors": neighbors.n_neighbors + 1,  # scanpy counts the sample itself
            "method": "umap",
            "metric": "euclidean",  # of feature space
            "random_state": 0,
        },
    }


def _refuse_other_samples(adata: Any, neighbors: Neighbors) -> None:
    """Refuse an AnnData object of other samples, or of the same in another order."""
    if not hasattr(adata, "obs_names") or not isinstance(neighbors, Neighbors):
        raise InputTypeError(
            "write_neighbors takes an AnnData object and the neighbours of its samples, from kernel_neighbors; got "
            f"{type(adata).__name__} and {type(neighbors).__name__}"
        )
    names, known = tuple(map(str, adata.obs_names)), tuple(neighbors.ids)
    if len(names) != len(known):
        raise InputError(f"the AnnData has {len(names)} samples, and there are neighbours of {len(known)}")
    samples = SampleNames(
        len(known), known if neighbors.named else None, whose="the neighbours", listed="list(neighbors.ids)"
    )
    refuse_other_names(names, samples, "adata", "align it, as in adata[list(neighbors.ids)]")


def _rows(indices: Indices, values: Floats) -> csr_matrix:
    """Sparse square matrix with the given columns and values of each row, in the order given."""
    samples, count = indices.shape
    starts = np.arange(0, samples * count + 1, count)
    return csr_matrix((values.ravel(), indices.ravel(), starts), shape=(samples, samples))


def _memberships(distances: Floats) -> Floats:
    """p_ij of UMAP: membership of each neighbour in the neighbourhood of a sample, (m, k)."""
    apart = np.where(distances > 0, distances, np.inf).min(axis=1)
    nearest_apart = np.where(np.isfinite(apart), apart, 0.0)
    beyond = np.maximum(distances - nearest_apart[:, None], 0.0)
    target = np.log2(distances.shape[1] + 1)
    low, high, width = np.zeros(len(distances)), np.full(len(distances), np.inf), np.ones(len(distances))
    for _ in range(BISECTIONS):
        too_wide = np.exp(-beyond / width[:, None]).sum(axis=1) > target
        high, low = np.where(too_wide, width, high), np.where(too_wide, low, width)
        width = np.where(np.isinf(high), 2 * width, (low + np.where(np.isinf(high), low, high)) / 2)
    mean = np.where(nearest_apart > 0, distances.sum(axis=1) / (distances.shape[1] + 1), distances.mean())
    width = np.maximum(width, LEAST_WIDTH * mean)
    return np.exp(-beyond / np.where(width > 0, width, 1.0)[:, None])
