"""Breast tumours on two platforms: van de Vijver et al. (2002) and Wang et al. (2005), 150 tumours each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from distkern.core.parameters import one_of
from distkern.core.typing import Array, Floats, Indices
from distkern.datasets.cohorts import annotated, shipped

if TYPE_CHECKING:
    from anndata import AnnData

COHORTS = {
    "nki": "van de Vijver et al. (2002) N. Engl. J. Med. 347:1999-2009",
    "vdx": "Wang et al. (2005) Lancet 365:671-679; Minn et al. (2007) PNAS 104:6740-6745",
}
"""Citations of the cohorts."""

SOURCE = "data sets nkis and vdxs of the R package genefu 2.39.1"

UNIT = 1e-4
"""The files hold multiples of this; the lowest number stands for a missing value."""

RECEPTOR = {0: "negative", 1: "positive"}


@overload
def load_breast(cohort: str = ..., *, features: str = ..., return_X_y: Literal[False] = False) -> AnnData: ...
@overload
def load_breast(
    cohort: str = ..., *, features: str = ..., return_X_y: Literal[True]
) -> tuple[Floats, NDArray[np.str_]]: ...
def load_breast(
    cohort: str = "nki", *, features: str = "genes", return_X_y: bool = False
) -> AnnData | tuple[Floats, NDArray[np.str_]]:
    """Load 150 breast tumours of one of two hospitals, each measured on its own platform.

    ``"nki"``: the Netherlands Cancer Institute, log ratios of two colours on Agilent arrays, 922 probes, 361 values
    missing. ``"vdx"``: Rotterdam, log₂ intensities on Affymetrix arrays, 966 probes. The probes are those of published
    signatures. 254 genes are in both, so that a model of one cohort can be tried on the other.

    Parameters
    ----------
    cohort
        ``"nki"`` or ``"vdx"``.
    features
        ``"genes"``: the most variable probe of each gene, named by the symbol of the gene, or ``LOC`` and its Entrez
        number if the file has no symbol. ``"probes"``: all probes, also those of unknown genes.
    return_X_y
        Return plain arrays instead of an AnnData object; this does not need anndata.

    Returns
    -------
    AnnData of 150 × genes or probes with the oestrogen receptor ``obs["er"]``, ``"positive"`` or ``"negative"``; the
    other columns of ``obs`` are grade, node, size, age (years), and for distant metastasis, relapse and death
    event (``e.dmfs``, ``e.rfs``, ``e.os``, 0 or 1) and days (``t.dmfs``, …), as far as they are known. ``var`` has the
    columns symbol, entrez and probe, empty where unknown. Or the matrix (150, n), NaN where missing, and the receptor
    (150,).

    Raises
    ------
    InputError
        If there is no such cohort, or no such kind of features.
    MissingExtraError
        If anndata is not installed and an AnnData object is asked for.

    References
    ----------
    van de Vijver et al. (2002), N. Engl. J. Med. 347:1999-2009. Wang et al. (2005), Lancet 365:671-679. Minn et al.
    (2007), PNAS 104:6740-6745. Gendoo et al. (2016), genefu, Bioinformatics 32:1097-1099.

    Examples
    --------
    >>> nki = load_breast("nki")
    >>> nki.obs["er"].value_counts().to_dict()
    {'positive': 112, 'negative': 38}
    >>> len(nki.var_names.intersection(load_breast("vdx").var_names))
    254
    """
    one_of(cohort, "cohort", tuple(COHORTS))
    one_of(features, "features", ("genes", "probes"))
    arrays = shipped(f"breast_{cohort}.npz")
    X = np.where(arrays["X"] == np.iinfo(arrays["X"].dtype).min, np.nan, np.round(arrays["X"] * UNIT, 4))
    receptor = np.array([RECEPTOR[int(value)] for value in arrays["er"]])
    symbols, entrez, probes = arrays["symbols"], arrays["entrez"], arrays["features"]
    genes = np.where((symbols == "") & (entrez != ""), np.char.add("LOC", entrez), symbols)
    kept = np.arange(len(probes)) if features == "probes" else _most_variable(X, genes)
    X = np.ascontiguousarray(X[:, kept])
    if return_X_y:
        return X, receptor
    names = {"samples": arrays["samples"], "features": (probes if features == "probes" else genes)[kept]}
    about = {"source": SOURCE, "citation": COHORTS[cohort], "label": "er"}
    adata = annotated("load_breast", X, receptor, names, about)
    for column in sorted(arrays.keys() - {"X", "er", "samples", "features", "symbols", "entrez"}):
        adata.obs[column] = arrays[column]
    for column, values in (("symbol", symbols), ("entrez", entrez), ("probe", probes)):
        adata.var[column] = values[kept].astype(object)
    return adata


def _most_variable(X: Floats, genes: Array) -> Indices:
    """Return the probe with the largest variance of each gene, in the order of the file; of equal ones the first."""
    best: dict[str, int] = {}
    variances = np.nanvar(X, axis=0)
    for probe, gene in enumerate(map(str, genes)):
        if gene and (gene not in best or variances[probe] > variances[best[gene]]):
            best[gene] = probe
    return np.array(sorted(best.values()), dtype=np.intp)
