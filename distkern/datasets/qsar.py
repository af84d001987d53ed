"""Inhibitors of two enzymes by Sutherland et al. (2004): molecular descriptors and measured activity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.datasets.cohorts import shipped

CITATION = "Sutherland, O'Brien & Weaver (2004) J. Med. Chem. 47:5541-5554"
SOURCE = "github.com/JenniferHemmerich/JUBioactivities, QSAR/sutherland4"

SETS = ("dhfr", "cox2")


@dataclass(frozen=True, eq=False)
class Compounds:
    """Compounds with a measured activity, and the split of their authors.

    Parameters
    ----------
    X
        Descriptors, (compounds, descriptors), each in its own unit.
    y
        Activity pIC50 = −log₁₀ of the half-maximal inhibitory concentration in mol/l, (compounds,); larger = stronger.
    train
        Whether a compound is in the training set instead of the test set, (compounds,).
    names, descriptors
        Names of the compounds and of the descriptors.
    """

    X: Floats
    y: Floats
    train: NDArray[np.bool_]
    names: tuple[str, ...]
    descriptors: tuple[str, ...]


def load_qsar(name: str) -> Compounds:
    """Load inhibitors of dihydrofolate reductase (``"dhfr"``) or of cyclooxygenase-2 (``"cox2"``).

    ``"dhfr"`` has 361 compounds (237 for training) and 70 descriptors, ``"cox2"`` 282 compounds (188) and 74
    descriptors. The inactive compounds of the source, whose activity is a placeholder, are omitted.

    Raises
    ------
    InputError
        If there is no such set.

    References
    ----------
    Sutherland, O'Brien and Weaver (2004), A comparison of methods for modeling quantitative structure-activity
    relationships, J. Med. Chem. 47:5541-5554.

    Examples
    --------
    >>> dhfr, cox2 = load_qsar("dhfr"), load_qsar("cox2")
    >>> dhfr.X.shape, int(dhfr.train.sum()), cox2.X.shape, int(cox2.train.sum())
    ((361, 70), 237, (282, 74), 188)
    """
    if name not in SETS:
        raise InputError(f"there is no set of compounds {name!r}; there are {', '.join(SETS)}")
    arrays = shipped(f"{name}_sutherland.npz")
    definite = arrays["set"] < 3
    return Compounds(
        arrays["X"][definite],
        arrays["y"][definite],
        arrays["set"][definite] == 1,
        tuple(map(str, arrays["names"][definite])),
        tuple(map(str, arrays["descriptors"])),
    )
