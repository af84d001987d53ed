"""Blood cells, and profiles of sorted blood cells on another platform: 10x Genomics, and Novershtern et al. (2011)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from distkern.core.parameters import one_of
from distkern.core.typing import Array
from distkern.datasets.cohorts import annotated, shipped

if TYPE_CHECKING:
    from anndata import AnnData

CITATIONS = {
    "cells": "10x Genomics (2016), 3k PBMCs from a healthy donor; Satija et al. (2015) Nat. Biotechnol. 33:495-502",
    "reference": "Novershtern et al. (2011) Cell 144:296-309",
}

SOURCE = "pbmc_matrix, pbmc_meta and ref_hema_microarray of the R package clustifyrdata 1.1.0"

UNIT = 1e-4
"""The file of the reference holds multiples of this."""

TYPE_OF_CELL = {
    "Naive CD4 T": "CD4 T",
    "Memory CD4 T": "CD4 T",
    "CD14+ Mono": "Monocyte",
    "FCGR3A+ Mono": "Monocyte",
    "Platelet": "Megakaryocyte",
}
"""Type of the cells of a published cluster; a cluster that is not here is a type."""

TYPE_OF_PROFILE = {
    **dict.fromkeys(("CD4+ Central Memory", "CD4+ Effector Memory", "Naive CD4+ T-cell"), "CD4 T"),
    **dict.fromkeys(
        ("CD8+ Central Memory", "CD8+ Effector Memory", "CD8+ Effector Memory RA", "Naive CD8+ T-cell"), "CD8 T"
    ),
    **dict.fromkeys(("Myeloid Dendritic Cell", "Plasmacytoid Dendritic Cell"), "DC"),
    **dict.fromkeys(("Granulocyte (Neutrophil)", "Granulocyte (Neutrophilic Metamyelocyte)"), "Neutrophil"),
}
"""Type of a profile that is not found by a word of its name."""

TYPE_BY_WORD = {
    "B-cell": "B",
    "NK cell": "NK",
    "Erythroid_": "Erythroid",
    "Colony Forming": "Progenitor",
    "progenitor": "Progenitor",
    "stem cell": "Progenitor",
}
"""Type of the profiles whose names contain a word."""


@overload
def load_celltypes(part: str = ..., *, return_X_y: Literal[False] = False) -> AnnData: ...
@overload
def load_celltypes(part: str = ..., *, return_X_y: Literal[True]) -> tuple[Any, NDArray[np.str_]]: ...
def load_celltypes(part: str = "cells", *, return_X_y: bool = False) -> AnnData | tuple[Any, NDArray[np.str_]]:
    """Load 2,638 blood cells, or 38 profiles of sorted blood cells on another platform, of the same 7,060 genes.

    ``"cells"``: mononuclear blood cells of one donor, counts of molecules by droplets (10x), 8 % of them nonzero.
    ``"reference"``: mean log₂ intensities of sorted cells on Affymetrix arrays, none missing. The genes are those of
    both sources, by symbol and in the same order.

    The types have the same names in both. They are B, CD4 T, CD8 T, DC, Megakaryocyte, Monocyte and NK; in the
    reference also types that these cells do not have. The types of the cells were derived from the same counts, by
    clusters and known marker genes, so they are not an independent ground truth.

    Parameters
    ----------
    part
        ``"cells"`` or ``"reference"``.
    return_X_y
        Return the values and types instead of an AnnData object; this does not need anndata.

    Returns
    -------
    AnnData of 2,638 × 7,060 (SciPy CSR) or 38 × 7,060 with the type in ``obs["cell_type"]``. Cells have their published
    cluster in ``obs["cluster"]``, and the number of molecules of all 13,714 genes in ``obs["total_counts"]``; profiles
    are named by their published names. Or the values and the types.

    Raises
    ------
    InputError
        If there is no such part.
    MissingExtraError
        If anndata is not installed and an AnnData object is asked for.

    References
    ----------
    10x Genomics (2016), 3k PBMCs from a healthy donor, with the clusters of Seurat's tutorial. Novershtern et al.
    (2011), Densely interconnected transcriptional circuits control cell states in human hematopoiesis, Cell
    144:296-309. Fu et al. (2020), clustifyr, F1000Research 9:223.

    Examples
    --------
    >>> cells, reference = load_celltypes("cells"), load_celltypes("reference")
    >>> cells.shape, reference.shape, list(cells.var_names) == list(reference.var_names)
    ((2638, 7060), (38, 7060), True)
    >>> cells.obs["cell_type"].value_counts().head(3).to_dict()
    {'CD4 T': 1180, 'Monocyte': 642, 'B': 344}
    """
    one_of(part, "part", tuple(CITATIONS))
    arrays = shipped(f"celltypes_{part}.npz")
    if part == "reference":
        X: Any = np.round(np.ascontiguousarray(arrays["X"].T) * UNIT, 4)
        types = np.array([_type_of_profile(str(name)) for name in arrays["samples"]])
    else:
        X = _counts(arrays["gaps"], arrays["counts"], (len(arrays["samples"]), len(arrays["features"])))
        types = np.array([TYPE_OF_CELL.get(str(name), str(name)) for name in arrays["cluster"]])
    if return_X_y:
        return X, types
    adata = annotated(
        "load_celltypes", X, types, arrays, {"source": SOURCE, "citation": CITATIONS[part], "label": "cell_type"}
    )
    if part == "cells":
        adata.obs["cluster"], adata.obs["total_counts"] = arrays["cluster"].astype(object), arrays["total_counts"]
    return adata


def _counts(gaps: Array, counts: Array, shape: tuple[int, int]) -> Any:
    """Sparse counts (cells, genes), from the distances between nonzeros of one gene after the other."""
    from scipy.sparse import csc_matrix

    genes, cells = np.divmod(np.cumsum(gaps, dtype=np.int64), shape[0])
    starts = np.searchsorted(genes, np.arange(shape[1] + 1))
    return csc_matrix((counts.astype(np.float32), cells.astype(np.int32), starts.astype(np.int32)), shape=shape).tocsr()


def _type_of_profile(name: str) -> str:
    by_word = (kind for word, kind in TYPE_BY_WORD.items() if word in name)
    return TYPE_OF_PROFILE.get(name) or next(by_word, name)
