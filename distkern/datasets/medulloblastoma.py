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

    Average differences of an oligonucleotide array, whole numbers from −55,360 to 207,050, none missing and not
    transformed; a larger value means more expression. Many are near 0 or below it, where the array measures noise.

    The outcomes keep the names of the file, ``"Class0"`` (39) and ``"Class1"`` (21), because copies of the data
    disagree on what they mean: this one goes back to the Kent Ridge repository, which, as table 1 of Jiao and Vert,
    calls the 39 failures and the 21 survivors; other copies and Pomeroy et al. have 39 survivors and 21 failures.

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
