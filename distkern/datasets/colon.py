"""The colon tumours of Alon et al. (1999): 62 tissues, 2,000 genes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from distkern.core.typing import Floats
from distkern.datasets.cohorts import annotated, shipped

if TYPE_CHECKING:
    from anndata import AnnData

CITATION = "Alon et al. (1999) PNAS 96:6745-6750"
SOURCE = "github.com/YunlongJiao/kendallkernel_demo, geneexpr/data/ct.rda"

TISSUES = {"negative": "tumour", "positive": "normal"}
"""Meaning of the labels in the file: its source calls a tumour negative."""


@overload
def load_colon(*, return_X_y: Literal[False] = False) -> AnnData: ...
@overload
def load_colon(*, return_X_y: Literal[True]) -> tuple[Floats, NDArray[np.str_]]: ...
def load_colon(*, return_X_y: bool = False) -> AnnData | tuple[Floats, NDArray[np.str_]]:
    """Load the colon cohort: expression of 2,000 genes in 40 tumour and 22 normal tissues.

    The values are intensities of an oligonucleotide array, from 5.8 to 20,903, not transformed, none
    missing. A larger value means more expression. The genes of this copy have no names (``attribute1`` to
    ``attribute2000``).

    Parameters
    ----------
    return_X_y
        Return plain arrays instead of an AnnData object; this does not need anndata.

    Returns
    -------
    AnnData of 62 × 2,000 with ``obs["tissue"]`` either ``"tumour"`` or ``"normal"``, and the source, citation and label
    column in ``uns["distkern"]``; or the matrix (62, 2000) and the tissues (62,).

    Raises
    ------
    MissingExtraError
        If anndata is not installed and an AnnData object is asked for.

    References
    ----------
    Alon et al. (1999), PNAS 96:6745-6750. The copy that Jiao and Vert used in "The Kendall and Mallows kernels for
    permutations" (2018), IEEE TPAMI 40(7):1755-1769.

    Examples
    --------
    >>> X, y = load_colon(return_X_y=True)
    >>> X.shape, int((y == "tumour").sum()), int((y == "normal").sum())
    ((62, 2000), 40, 22)
    >>> load_colon().obs["tissue"].value_counts().to_dict()
    {'tumour': 40, 'normal': 22}
    """
    arrays = shipped("colon_alon.npz")
    tissues = np.array([TISSUES[str(word)] for word in arrays["y"]])
    if return_X_y:
        return arrays["X"], tissues
    about = {"source": SOURCE, "citation": CITATION, "label": "tissue"}
    return annotated("load_colon", arrays["X"], tissues, arrays, about)
