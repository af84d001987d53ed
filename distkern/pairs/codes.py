"""Samples as codes of their orderings, feature by feature: what the scores of pairs are counted from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names
from distkern.pairs.contrasts import Cells, Contrast

Missing = Literal["error", "skip"]
MISSING = ("error", "skip")


@dataclass(frozen=True)
class SignCodes:
    """Dense codes of p features in m samples: code_i < code_j in a sample exactly where x_i < x_j.

    Parameters
    ----------
    codes
        (p, m), int16 for p ≤ 65,534, else int32; in a row a feature, in a column a sample. Samples are sorted by cell.
        Codes are only compared with codes of the same column. The lowest number of the type stands for a missing value.
    starts
        Columns start[c] to start[c + 1] are the samples of cell c, (c + 1,).
    rows
        Position in the cohort of the sample of each column, (m,).
    features, ids
        Names of the features, (p,), and of the samples of the cohort, or None.
    plain
        Whether a cell has neither ties nor missing values, (c,).
    rank_sums, observed
        Sum of 2R over the observed samples of a cell, R the mid-rank of the feature in a sample among the observed
        features, and the number of these samples, int64 (c, p).
    constant
        Positions in the cohort of the samples that tie all their features.
    """

    codes: Array
    starts: Indices
    rows: Indices
    features: Names
    ids: Names
    plain: Array
    rank_sums: Array
    observed: Array
    constant: Indices

    @property
    def sizes(self) -> Indices:
        """Number of samples of each cell, (c,)."""
        return np.diff(self.starts)

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return bool((self.observed == self.sizes[:, None]).all())


def sign_codes(X: Any, cells: Cells | Array, *, missing: Missing = "error") -> SignCodes:
    """Code the samples of a cohort.

    Parameters
    ----------
    X
        Samples in rows: whatever `compute_gram` takes. ±infinity are values like others.
    cells
        Cells of the samples, or the number of the cell of each sample, (m,); a sample of a negative cell is not read.
    missing
        ``"error"`` refuses NaN; ``"skip"`` leaves a sample out of the pairs of a feature that it lacks.

    Raises
    ------
    SampleError
        If a value is missing and ``missing="error"``; the first sample and feature are named.
    InputError
        If there are fewer than two features, or two features have the same name.
    """
    raise NotImplementedError


def pair_counts(codes: SignCodes, first: Any, second: Any) -> tuple[Array, Array, Array]:
    """L, G and n of pairs of features by cell.

    Parameters
    ----------
    first, second
        Positions of the two features of each pair, (q,).

    Returns
    -------
    Numbers of samples of each cell with x_first < x_second, with x_first > x_second, and with both values observed;
    int64 (q, c) each.
    """
    raise NotImplementedError


def positions_of(features: Any, names: Names, count: int, what: str = "features") -> Indices:
    """Positions of features that are given by name, or by position.

    Raises
    ------
    InputError
        If a name is unknown, or a position does not exist.
    """
    raise NotImplementedError


def wilcoxon_features(codes: SignCodes, contrasts: Sequence[Contrast], count: int) -> list[Indices]:
    """Positions of the n features that differ most between the two sides of each contrast, by largest abs(z).

    z is the standardised rank sum (Wilcoxon, corrected for ties) of the mid-ranks within samples of one feature. The
    ⌈n/2⌉ features of the largest z and the ⌊n/2⌋ of the smallest are taken.
    """
    raise NotImplementedError
