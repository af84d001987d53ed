"""Labels of samples that come in a file of their own, matched by the samples' ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from distkern.core.errors import InputError
from distkern.io.tables import MISSING, read_texts


def read_labels(
    path: Path,
    ids: Sequence[str],
    *,
    label: str | None = None,
    features: Sequence[str] = (),
    turn: str = "transpose it",
) -> tuple[str, list[str]]:
    r"""Read the label of each sample from a table whose first column holds the samples' ids.

    Parameters
    ----------
    path
        A table with a header; it may list more samples than the cohort has, in any order.
    ids
        Samples of the cohort.
    label
        The column of labels; it may be left out if the table has only one beside the ids.
    features
        Features of the cohort, to tell when it lies the wrong way.
    turn
        What to do when it does.

    Returns
    -------
    The name of the column, and the labels in the order of ``ids``.

    Raises
    ------
    InputError
        If a sample has no label, the ids are those of the features, or the column is not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "clinical.csv")
    ...     _ = file.write_text("id,relapse\n001,yes\n002,no\n")
    ...     read_labels(file, ["002", "001"])
    ('relapse', ['no', 'yes'])
    """
    if not path.is_file():
        raise InputError(f"there is no file of labels {str(path)!r}: check the path")
    columns, rows = read_texts(path)
    known = sum(name in rows for name in ids)
    _check_turned(path, rows, ids, features, known, turn)
    column = _column(path, columns, label)
    labels = []
    for name in ids:
        if name not in rows:
            beginning = ", ".join(map(repr, list(rows)[:3]))
            raise InputError(
                f"sample {name!r} has no label in {path.name!r} (known there are {known} of {len(ids)} samples; its "
                f"ids begin {beginning}): add the sample to that file, or correct the ids in its first column"
            )
        labels.append(rows[name][columns.index(column)])
    check_labels(labels, ids, path.name)
    return column, labels


def check_labels(labels: Sequence[str], ids: Sequence[str], source: str) -> None:
    """Refuse labels that are missing.

    Raises
    ------
    InputError
        If a label is empty, ``NA`` or ``NaN``; the first sample is named.
    """
    for name, text in zip(ids, labels, strict=True):
        if text.strip() in MISSING:
            raise InputError(
                f"sample {name!r} has the label {text!r} in {source!r}, which means missing: give it a label or leave "
                "the sample out"
            )


def _check_turned(
    path: Path, rows: dict[str, list[str]], ids: Sequence[str], features: Sequence[str], known: int, turn: str
) -> None:
    as_features = sum(name in rows for name in features)
    if as_features > known:
        raise InputError(
            f"the ids in {path.name!r} match {as_features} features and {known} samples: the matrix looks "
            f"transposed, so {turn}"
        )


def _column(path: Path, columns: list[str], label: str | None) -> str:
    if label is not None and label in columns:
        return label
    if label is None and len(columns) == 1:
        return columns[0]
    listed = ", ".join(map(repr, columns[:10]))
    if label is None:
        raise InputError(f"{path.name!r} has several columns beside the ids ({listed}): name one with label=")
    raise InputError(f"{path.name!r} has no column {label!r}: name one of {listed} with label=")
