"""The medulloblastomas of Pomeroy et al. (2002): 60 tumours, 7,129 probe sets, outcome of the treatment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from distkern.core.typing import Floats
from distkern.datasets.cohorts import annotated, shipped

if TYPE_CHECKING:
    from anndata import AnnData

CITATION = "Pomeroy et al. (2002) Nature 415:436-442"
SOURCE = "github.com/YunlongJiao/kendallkernel_demo, geneexpr/data/cns.rda"


@overload
def load_medulloblastoma(*, return_X_y: Literal[False] = False) -> AnnData: ...
@overload
def load_medulloblastoma(*, return_X_y: Literal[True]) -> tuple[Floats, NDArray[np.str_]]: ...
def load_medulloblastoma(*, return_X_y: bool = False) -> AnnData | tuple[Floats, NDArray[np.str_]]:
    """Load the medulloblastoma cohort: expression of 7,129 probe sets in 60 tumours, by outcome of the treatment.

    The values are average differences of an oligonucleotide array, integers from −55,360 to 207,050, not transformed,
    none missing. A larger value means more expression. Values near or below 0 are noise.

    The outcomes keep the names of the file, ``"Class0"`` (39) and ``"Class1"`` (21), because copies of the data
    disagree about their meaning. In the source of this copy, the Kent Ridge repository, and in table 1 of Jiao and
    Vert, the 39 are failures and the 21 survivors. In other copies and in Pomeroy et al., the 39 are survivors.

    Parameters
    ----------
    return_X_y
        Return plain arrays instead of an AnnData object; this does not need anndata.

    Returns
    -------
    AnnData of 60 × 7,129 with ``obs["outcome"]`` either ``"Class0"`` or ``"Class1"``, and the source, citation and
    label column in ``uns["distkern"]``; or the matrix (60, 7129) and the outcomes (60,).

    Raises
    ------
    MissingExtraError
        If anndata is not installed and an AnnData object is asked for.

    References
    ----------
    Pomeroy et al. (2002), Nature 415:436-442, data set C. The copy that Jiao and Vert used in "The Kendall and Mallows
    kernels for permutations" (2018), IEEE TPAMI 40(7):1755-1769.

    Examples
    --------
    >>> X, y = load_medulloblastoma(return_X_y=True)
    >>> X.shape, int((y == "Class0").sum()), int((y == "Class1").sum())
    ((60, 7129), 39, 21)
    >>> load_medulloblastoma().obs["outcome"].value_counts().to_dict()
    {'Class0': 39, 'Class1': 21}
    """
    arrays = shipped("medulloblastoma_pomeroy.npz")
    values, outcomes = arrays["X"].astype(np.float64), arrays["y"]
    if return_X_y:
        return values, outcomes
    about = {"source": SOURCE, "citation": CITATION, "label": "outcome"}
    return annotated("load_medulloblastoma", values, outcomes, arrays, about)
