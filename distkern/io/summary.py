"""What was read, in a line: the size, which are the samples, and what the values look like."""

from __future__ import annotations

import re

import numpy as np

from distkern.core.typing import Array
from distkern.io.source import Source
from distkern.io.tables import Orientation

MOST_VALUES = 2**21
"""Values that are looked at, those of the first samples."""

LARGEST_LOGARITHM = 30.0
"""Logarithms of what instruments measure are below this: 2**30 is beyond any of them."""

LARGEST_VOTE = 100.0
"""Whole numbers up to this one may be ranks, ratings or votes as well as counts."""

_PROBE = re.compile(r".*_at|ILMN_\d+|A_\d+_P\d+|cg\d{8}")
"""Names of probes of Affymetrix, Illumina, Agilent, and of methylation arrays."""


def summary(source: Source, samples: Orientation | None) -> str:
    """Say how many features and samples a cohort has, which way it lies in its file, and what its values look like.

    Examples
    --------
    >>> import pandas as pd
    >>> from distkern.io.source import as_source
    >>> summary(as_source(pd.DataFrame({"1007_s_at": [7.5, 8.0], "1053_at": [5.0, 4.25]})), "columns")
    '2 probes × 2 samples, samples in columns; values from 4.25 to 8 look like logarithms'
    """
    m, n = source.shape
    named = source.features is not None and 2 * sum(map(bool, map(_PROBE.fullmatch, source.features))) > n
    size = f"{n:,} {'probe' if named else 'feature'}{'s' * (n != 1)} × {m:,} sample{'s' * (m != 1)}"
    where = "" if samples is None else f", samples in {samples}"
    rows = slice(0, max(1, min(m, MOST_VALUES // n)))
    values = np.append(source.read_sparse(rows).data, 0.0) if source.sparse else source.read(rows).ravel()
    return f"{size}{where}; {look(values, counted=source.sparse)}"


def look(values: Array, *, counted: bool = False) -> str:
    """Say in which range values lie, and what they look like: counts, logarithms, log ratios, or none of these.

    Whole numbers that are all small may be ranks or votes as well as counts, unless they are ``counted``: most of them
    are 0.

    Examples
    --------
    >>> look(np.array([0.0, 3.0, 250.0])), look(np.array([-1.5, 2.0])), look(np.array([17.5, 40321.25]))
    ('whole values from 0 to 250 look like counts', 'values from -1.5 to 2 look like log ratios', ...)
    """
    present = values[np.isfinite(values)]
    if not present.size:
        return "no values"
    low, high = float(present.min()), float(present.max())
    span = f"values from {_readable(low)} to {_readable(high)}"
    if (np.floor(present) == present).all():
        return f"whole {span}" + (" look like counts" if low >= 0 and (counted or high > LARGEST_VOTE) else "")
    if max(-low, high) >= LARGEST_LOGARITHM:
        return f"{span} do not look like logarithms"
    return f"{span} look like {'log ratios' if low < 0 else 'logarithms'}"


def _readable(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
