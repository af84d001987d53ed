"""The nearest neighbours of every sample in kernel distance, laid out as scikit-learn and scanpy expect them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from distkern.core.errors import InputError
from distkern.core.sentences import Argument
from distkern.core.typing import Floats, Indices
from distkern.learners.checks import as_training_gram, memory_at_work, require_memory
from distkern.solvers.neighbors import nearest

BISECTIONS = 64
"""Steps in which the width of a sample's neighbourhood is found, as many as UMAP takes."""

LEAST_WIDTH = 1e-3
"""Least width of a neighbourhood as a fraction of the mean distance, as in UMAP."""


@dataclass(frozen=True)
class Neighbors:
    """The nearest other samples of each one.

    Parameters
    ----------
    indices
        Their positions, (m, n_neighbors), nearest first; of equally near ones the lower position first.
    distances
        Their distances, (m, n_neighbors).
    ids
        Names of the samples.
    """

    indices: Indices
    distances: Floats
    ids: Sequence[str]

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours, the sample itself not among them."""
        return self.indices.shape[1]

    @cached_property
    def distance_graph(self) -> csr_matrix:
        """Sparse distances (m, m), as many in each row: what scikit-learn's ``kneighbors_graph`` makes.

        Estimators with ``metric="precomputed"`` take it, such as DBSCAN. The distance 0 of an equal sample is stored.
        """
        return _rows(self.indices, self.distances)

    @cached_property
    def connectivities(self) -> csr_matrix:
        r"""UMAP's fuzzy graph (m, m), symmetric, with weights in (0, 1].

        .. math::

            p_{ij} = \exp\big(-\max(0, d_{ij} - \rho_i) / \sigma_i\big),\qquad
            \sum_j p_{ij} = \log_2(k + 1),\qquad w_{ij} = p_{ij} + p_{ji} - p_{ij}\, p_{ji}

        with ρ_i the least distance that is not zero. McInnes, Healy and Melville, "UMAP: uniform manifold approximation
        and projection for dimension reduction", arXiv:1802.03426, section 3.1; k + 1 because UMAP counts the sample
        itself.
        """
        directed = _rows(self.indices, _memberships(self.distances))
        both = directed.multiply(directed.T)
        graph = (directed + directed.T - both).tocsr()
        graph.eliminate_zeros()
        return graph


def kernel_neighbors(gram: Any, n_neighbors: int = 15, *, memory_limit: int | str | None = None) -> Neighbors:
    r"""Find the nearest other samples of every sample, in one pass over the matrix.

    .. math:: d(x, y) = \|\varphi(x) - \varphi(y)\| = \sqrt{k(x, x) + k(y, y) - 2 k(x, y)}

    Parameters
    ----------
    gram
        Gram matrix or array of kernel values, (m, m). Only the neighbours are held, 16 m n_neighbors bytes.
    n_neighbors
        Number of neighbours of each sample, itself not counted. scanpy and UMAP count it: for their 15 ask for 14.
    memory_limit
        Bytes, or text such as ``"2GiB"``, that may be taken; half of the memory available when not given.

    Raises
    ------
    InputError
        If there are not so many other samples, or the matrix is not positive semidefinite as far as can be seen.
    MemoryLimitError
        If the neighbours do not fit the memory allowed; raised before the matrix is read.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0, 7.0])
    >>> found = kernel_neighbors(np.outer(x, x), 2)
    >>> found.indices.tolist(), found.distances.tolist()
    ([[1, 2], [0, 2], [1, 0], [2, 1]], [[1.0, 3.0], [1.0, 2.0], [2.0, 3.0], [4.0, 6.0]])
    """
    matrix = as_training_gram(gram)
    samples = len(matrix)
    if not (isinstance(n_neighbors, (int, np.integer)) and 1 <= n_neighbors < samples):
        raise InputError(
            f"n_neighbors must be a whole number from 1 to {samples - 1}, the other samples; got {n_neighbors!r}"
        )
    needed = 4 * 8 * samples * (int(n_neighbors) + 1) + memory_at_work(samples, samples, 4)
    require_memory(needed, memory_limit, f"the {n_neighbors} nearest of {samples:,} samples")
    indices, distances = nearest(matrix, int(n_neighbors))
    return Neighbors(indices, distances, matrix.row_ids)


def write_neighbors(adata: Any, neighbors: Neighbors, *, key_added: str | None = None, overwrite: bool = False) -> None:
    """Write neighbours where scanpy looks for them, so that its UMAP, Leiden, PAGA and diffusion maps run on them.

    ``sc.pp.neighbors`` writes the same: distances and connectivities in ``adata.obsp``, and in
    ``adata.uns["neighbors"]`` their keys and how they were made.

    Parameters
    ----------
    adata
        AnnData with the same samples in the same order.
    neighbors
        What `kernel_neighbors` found.
    key_added
        As in scanpy: with a key the names become ``<key>``, ``<key>_distances`` and ``<key>_connectivities``.
    overwrite
        Replace neighbours that are there.

    Raises
    ------
    InputError
        If the samples are others, or the places are taken.

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
    names, known = list(map(str, adata.obs_names)), list(neighbors.ids)
    if len(names) != len(known):
        raise InputError(f"the AnnData has {len(names)} samples, and there are neighbours of {len(known)}")
    numbers = list(map(str, range(len(names))))
    if names == known or numbers in (names, known):
        return
    place = next(k for k, pair in enumerate(zip(names, known, strict=True)) if pair[0] != pair[1])
    raise InputError(
        f"sample {place} of the AnnData is {names[place]!r}, not {known[place]!r}: give the samples of the matrix, in "
        "its order"
    )


def _rows(indices: Indices, values: Floats) -> csr_matrix:
    """Place as many values in each row of a sparse square, in the order given."""
    samples, count = indices.shape
    starts = np.arange(0, samples * count + 1, count)
    return csr_matrix((values.ravel(), indices.ravel(), starts), shape=(samples, samples))


def _memberships(distances: Floats) -> Floats:
    """p_ij of UMAP: how much each neighbour belongs to the neighbourhood of a sample, (m, k)."""
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
