"""Columns of a text table that hold ids, where values are expected.

A table has one column of names, the first. A second one, such as ``Entrez_Gene_Id`` after ``Hugo_Symbol``, holds
numbers but no values, and would be one more sample or feature.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.io.tables import Orientation

_OF_FEATURES = re.compile(
    r"(?i:.*(entrez|ensembl|hgnc|ncbi|refseq|uniprot).*)"
    r"|(?i:(hugo|gene|probe|probeset|transcript|feature|protein)?[ _.-]?"
    r"(symbols?|descriptions?|accession|annotation|biotype|chromosome|cytoband|locus|names?))"
    r"|(?i:chr|chrom|desc|genes?|probe(set)?|transcript|strand|unnamed: \d+)"
    r"|(?i:(.*[ _.-])?(gene|probe|probeset|feature)?[ _.-]?ids?)"
)
"""Names of columns that describe features."""

_OF_ROWS = re.compile(r"(?i:(.*[ _.-])?(ids?|identifier|barcode|accession)|index|unnamed: \d+)|.*[a-z](ID|Id)")
"""Names of columns that may hold ids of the rows."""

FEWEST_ROWS = 3
"""From this number of values on, a column that is like no other one may be recognised as one of ids."""


MOST_VOTES = 100
"""Whole numbers up to this one may be ranks, ratings or votes."""


def refuse_id_columns(
    path: Path, values: Floats, ids: Sequence[str], features: Sequence[str], samples: Orientation
) -> None:
    """Refuse a cohort in which a sample or a feature holds ids, and one whose ids are values.

    Parameters
    ----------
    path
        The table.
    values
        (samples, features).
    ids, features
        Names of the samples and of the features.
    samples
        Whether the samples are the rows or the columns of the table.

    Raises
    ------
    InputError
        If the name of a sample says that it describes the features; a sample alone has whole numbers that are all
        distinct and a name unlike all others; the name of a feature says that it identifies the samples, and its values
        are distinct whole numbers; or the names of samples in rows are all decimal fractions.
    """
    line = samples.removesuffix("s")
    for position, name in enumerate(ids):
        if _describes_features(name) or _stands_out(values, ids, position):
            raise InputError(
                f"{line} {name!r} of {path.name!r} seems to hold ids of the features, not a sample: take it out, and "
                f"keep one {line} of names; if it is a sample, give it a name like those of the others"
            )
    for position, name in enumerate(features):
        if is_id_column(name, values[:, position]):
            other = "column" if samples == "rows" else "row"
            raise InputError(
                f"{other} {name!r} of {path.name!r} seems to hold ids of the samples, not a feature: take it out, or "
                "move it to the front if it names the samples; if it is a feature, give it another name"
            )
    if samples == "rows" and all(re.fullmatch(r"-?\d+\.\d*[1-9]\d*", name) for name in ids):
        raise InputError(
            f"the first column of {path.name!r} holds numbers, such as {ids[0]}, where the names of the samples must "
            "be: move the column of names to the front, or add one"
        )


def is_id_column(name: str, values: Array) -> bool:
    """Whether a column may hold ids of the rows: its name says so, and its values are whole numbers, all distinct.

    Examples
    --------
    >>> is_id_column("patient_id", np.array([17.0, 4.0])), is_id_column("grid", np.array([17.0, 4.0]))
    (True, False)
    """
    return _OF_ROWS.fullmatch(name) is not None and _are_distinct_whole_numbers(values)


def _describes_features(name: str) -> bool:
    return _OF_FEATURES.fullmatch(name) is not None


def _stands_out(values: Floats, ids: Sequence[str], position: int) -> bool:
    """Whether a sample alone has distinct whole numbers, larger than ranks and votes, and a name unlike all others."""
    shapes = Counter(map(_shape, ids))
    if len(ids) < 3 or shapes[_shape(ids[position])] > 1 or values.shape[1] < FEWEST_ROWS:
        return False
    if not _are_distinct_whole_numbers(values[position]) or np.nanmax(values[position]) <= max(
        MOST_VOTES, values.shape[1]
    ):
        return False
    return not any(_are_distinct_whole_numbers(other) for k, other in enumerate(values) if k != position)


def _shape(name: str) -> str:
    """Return a name with runs of letters as ``a`` and of digits as ``0``: names given by one rule have the same."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", name))


def _are_distinct_whole_numbers(values: Array) -> bool:
    present = values[~np.isnan(values)]
    if len(present) < 2 or not (np.floor(present) == present).all() or present.min() < 0:
        return False
    return len(np.unique(present)) == len(present)
