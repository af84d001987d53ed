"""Labels of samples from a second file, matched by the ids of the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.labels import stripped
from distkern.core.sentences import Argument, Sentence
from distkern.core.suggest import did_you_mean
from distkern.io.format import Columns, ReadOptions
from distkern.io.registry import find_format, reader_of
from distkern.io.sheets import file_and_sheet
from distkern.io.tables import beginning, check_labels


def read_labels(
    path: Path,
    ids: Sequence[str],
    *,
    label: str | None = None,
    features: Sequence[str] = (),
    if_transposed: str | Sentence = "transpose it",
) -> tuple[str, list[str]]:
    r"""Read the label of each sample from a file of any format, matched by id.

    Parameters
    ----------
    path
        A text table with the ids in its first column, or another file with labels. It may list more samples than the
        cohort, in any order.
    ids
        Samples of the cohort.
    label
        Name of the column of labels; optional if the file has only one.
    features
        Features of the cohort, to detect a transposed matrix.
    if_transposed
        Remedy for a transposed matrix, for the message.

    Returns
    -------
    The name of the column, and the labels in the order of ``ids``.

    Raises
    ------
    InputError
        If a sample has no label, the ids are those of the features, or the column does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "clinical.csv")
    ...     _ = file.write_text("id,relapse\n001,yes\n002,no\n")
    ...     read_labels(file, ["002", "001"])
    ('relapse', ['no', 'yes'])
    """
    columns = read_columns(path, ReadOptions(label=label))
    _refuse_transposed(path, columns, ids, features, if_transposed)
    column = choose_column(path, columns, label)
    return column, matched(columns[column], ids, path.name)


def read_columns(path: Path, options: ReadOptions | None = None) -> Columns:
    """Read texts of samples, candidates for labels, from a file of any format.

    Where the format has a usual column of labels and ``options`` names none, that one is the column ``label``.

    Returns
    -------
    The text of each sample by name of the column, then by name of the sample.

    Raises
    ------
    InputError
        If nothing lies at the path, or it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/cohort.npz", X=np.eye(2), samples=["a", "b"], age=[60, 50])
    ...     read_columns(Path(folder, "cohort.npz"))
    {'age': {'a': '60', 'b': '50'}}
    """
    if not file_and_sheet(path)[0].exists():
        raise InputError(f"there is no file of labels {str(path)!r}: check the path")
    options = options or ReadOptions()
    found = find_format(path)
    if found.columns is not None:
        return found.columns(path, options)
    opened = found.open(path, options)
    count = reader_of(opened).shape[0]
    ids = list(map(str, range(count) if opened.ids is None else opened.ids))
    columns = {name: values for name, values in opened.columns.items() if np.shape(values) == (count,)}
    if options.label is None and opened.label in columns:
        columns = {"label": columns[opened.label]}
    return {name: dict(zip(ids, map(_text, values), strict=True)) for name, values in columns.items()}


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value)


def choose_column(path: Path, columns: Columns, label: str | None) -> str:
    """Choose the column of labels: the named one, or the only one.

    Raises
    ------
    InputError
        If there is no such column, or several and none is named.
    """
    if label is None and len(columns) == 1:
        return next(iter(columns))
    for name in (label, None if label is None else label.strip()):
        if name in columns:
            return name
    listed = ", ".join(map(repr, list(columns)[:10]))
    if not columns:
        raise InputError(
            "{file!r} holds no labels: name another file with {labels}", file=path.name, labels=Argument("labels")
        )
    if label is None:
        raise InputError(
            "{file!r} has several columns beside the ids ({columns}): name one with {label}",
            file=path.name,
            columns=listed,
            label=Argument("label"),
        )
    raise InputError(
        "{file!r} has no column {column!r}: name one of {columns} with {label}{meant}",
        file=path.name,
        column=label,
        columns=listed,
        label=Argument("label"),
        meant=did_you_mean(label, columns),
    )


def matched(
    known: Mapping[str, str],
    ids: Sequence[str],
    source: str,
    whose: str = "the cohort",
    remedy: str = "give the labels of these samples, or correct the ids in that file",
) -> list[str]:
    """Find the label of each sample by its id, ignoring blanks around the id and around the label.

    Parameters
    ----------
    known
        Labels by id.
    ids
        Samples, each of which must have a label.
    source, whose
        Name of the file of labels, and owner of the samples, for messages.
    remedy
        Remedy if no sample has a label, for the message.

    Raises
    ------
    InputError
        If a sample has no label, or two ids differ by spaces only.

    Examples
    --------
    >>> matched({"001": "yes", "002": "no"}, ["002", "001 "], "clinical.csv")
    ['no', 'yes']
    """
    spelt, wanted = _bare(list(known), repr(source)), _bare(ids, whose)
    strangers = [name for stripped, name in wanted.items() if stripped not in spelt]
    begin = f"its ids begin {beginning(list(known))}; those of {whose} {beginning(ids)}"
    if len(strangers) == len(ids):
        raise InputError(f"none of the {len(ids)} samples of {whose} is in {source!r} ({begin}): {remedy}")
    if strangers:
        raise InputError(
            f"{len(strangers)} of {len(ids)} samples have no label in {source!r}, the first of them {strangers[0]!r} "
            f"({begin}): add them to that file, or correct its ids"
        )
    labels = [stripped(known[spelt[name]]) for name in wanted]
    check_labels(labels, ids, source)
    return labels


def _bare(names: Sequence[str], whose: str) -> dict[str, str]:
    """Map each name without the spaces around it to the original name."""
    spelt: dict[str, str] = {}
    for name in names:
        other = spelt.setdefault(name.strip(), name)
        if other != name:
            raise InputError(f"the samples {other!r} and {name!r} of {whose} differ by spaces only: rename one of them")
    return spelt


def _refuse_transposed(
    path: Path, columns: Columns, ids: Sequence[str], features: Sequence[str], if_transposed: str | Sentence
) -> None:
    listed = next(iter(columns.values()), {})
    as_samples, as_features = (sum(name.strip() in listed for name in names) for names in (ids, features))
    if as_features > as_samples:
        raise InputError(
            "the ids in {file!r} match {features} features and {samples} samples: the matrix looks transposed, so "
            "{if_transposed}",
            file=path.name,
            features=as_features,
            samples=as_samples,
            if_transposed=if_transposed,
        )
