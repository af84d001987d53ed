"""Blood cells of Zheng et al. (2017): 700 of the 68,000 cells of a donor, in 50 principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from distkern.core.typing import Floats
from distkern.datasets.cohorts import annotated, shipped

if TYPE_CHECKING:
    from anndata import AnnData

CITATION = "Zheng et al. (2017) Nat. Commun. 8:14049"
SOURCE = "scanpy 1.10.4, scanpy/datasets/10x_pbmc68k_reduced.h5ad"


@overload
def load_pbmc(*, return_X_y: Literal[False] = False) -> AnnData: ...
@overload
def load_pbmc(*, return_X_y: Literal[True]) -> tuple[Floats, NDArray[np.str_]]: ...
def load_pbmc(*, return_X_y: bool = False) -> AnnData | tuple[Floats, NDArray[np.str_]]:
    """Load 700 mononuclear blood cells of one donor, of ten types: a table of cells for `distkern.Bags`.

    The values are 50 principal components of the scaled logarithmic expression of 765 genes, none missing. The cell
    types were derived from the same expression by comparison with purified cells, so they are not an independent
    ground truth.

    Parameters
    ----------
    return_X_y
        Return plain arrays instead of an AnnData object; this does not need anndata.

    Returns
    -------
    AnnData of 700 × 50 with ``obs["cell_type"]``, and the source, citation and label column in ``uns["distkern"]``; or
    the matrix (700, 50) and the types (700,).

    Raises
    ------
    MissingExtraError
        If anndata is not installed and an AnnData object is asked for.

    References
    ----------
    Zheng et al. (2017), Massively parallel digital transcriptional profiling of single cells, Nat. Commun. 8:14049; the
    reduced copy that scanpy ships.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> Bags.from_anndata(load_pbmc(), "cell_type")
    <Bags: 10 bags of 8 to 240 points in 50 dimensions>
    """
    arrays = shipped("pbmc68k_zheng.npz")
    values, types = arrays["X"].astype(np.float64), arrays["y"]
    if return_X_y:
        return values, types
    about = {"source": SOURCE, "citation": CITATION, "label": "cell_type"}
    return annotated("load_pbmc", values, types, arrays, about)
