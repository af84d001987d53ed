"""Labels of samples that come in a file of their own, matched by the samples' ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from distkern.core.errors import InputError
from distkern.core.sentences import Argument, Sentence
from distkern.io.tables import MISSING, read_texts


def read_labels(
    path: Path,
    ids: Sequence[str],
    *,
    label: str | None = None,
    features: Sequence[str] = (),
    turn: str | Sentence = "transpose it",
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
    known = sum(name.strip() in rows for name in ids)
    _check_turned(path, rows, ids, features, known, turn)
    column = _column(path, columns, label)
    place = columns.index(column)
    labels = matched({name: cells[place] for name, cells in rows.items()}, ids, path.name)
    return column, labels


def matched(
    known: Mapping[str, str],
    ids: Sequence[str],
    source: str,
    whose: str = "the cohort",
    astray: str = "give the labels of these samples, or correct the ids in that file",
) -> list[str]:
    """Find the label of each sample by its id, spaces around it aside.

    Parameters
    ----------
    known
        Labels by id.
    ids
        Samples, each of which must be known; more may be.
    source, whose
        What the labels come from, and whose the samples are, for messages.
    astray
        What to do where no sample is known.

    Raises
    ------
    InputError
        If a sample has no label, or two samples can only be told apart by spaces.

    Examples
    --------
    >>> matched({"001": "yes", "002": "no"}, ["002", "001 "], "clinical.csv")
    ['no', 'yes']
    """
    spelt, wanted = _bare(list(known), repr(source)), _bare(ids, whose)
    strangers = [name for stripped, name in wanted.items() if stripped not in spelt]
    begin = f"its ids begin {beginning(list(known))}; those of {whose} {beginning(ids)}"
    if len(strangers) == len(ids):
        raise InputError(f"none of the {len(ids)} samples of {whose} is in {source!r} ({begin}): {astray}")
    if strangers:
        raise InputError(
            f"{len(strangers)} of {len(ids)} samples have no label in {source!r}, the first of them {strangers[0]!r} "
            f"({begin}): add them to that file, or correct its ids"
        )
    labels = [known[spelt[name]] for name in wanted]
    check_labels(labels, ids, source)
    return labels


def _bare(names: Sequence[str], whose: str) -> dict[str, str]:
    """Each name without the spaces around it, and as it is spelt."""
    spelt: dict[str, str] = {}
    for name in names:
        other = spelt.setdefault(name.strip(), name)
        if other != name:
            raise InputError(f"the samples {other!r} and {name!r} of {whose} differ by spaces only: rename one of them")
    return spelt


def beginning(names: Sequence[str]) -> str:
    """List the first names.

    Examples
    --------
    >>> beginning(["a", "b", "c", "d"])
    "'a', 'b', 'c', …"
    """
    return ", ".join(map(repr, names[:3])) + (", …" if len(names) > 3 else "")


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
    path: Path,
    rows: dict[str, list[str]],
    ids: Sequence[str],
    features: Sequence[str],
    known: int,
    turn: str | Sentence,
) -> None:
    as_features = sum(name.strip() in rows for name in features)
    if as_features > known:
        raise InputError(
            "the ids in {file!r} match {features} features and {samples} samples: the matrix looks transposed, so "
            "{turn}",
            file=path.name,
            features=as_features,
            samples=known,
            turn=turn,
        )


def _column(path: Path, columns: list[str], label: str | None) -> str:
    if label is not None and label.strip() in columns:
        return label.strip()
    if label is None and len(columns) == 1:
        return columns[0]
    listed = ", ".join(map(repr, columns[:10]))
    if label is None:
        raise InputError(
            "{file!r} has several columns beside the ids ({columns}): name one with {label}",
            file=path.name,
            columns=listed,
            label=Argument("label"),
        )
    raise InputError(
        "{file!r} has no column {column!r}: name one of {columns} with {label}",
        file=path.name,
        column=label,
        columns=listed,
        label=Argument("label"),
    )
