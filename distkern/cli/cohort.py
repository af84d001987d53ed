"""The samples that a command is given, and their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from distkern.core.errors import InputError

BLOCK_BYTES = 2**26
"""Bytes of samples looked through at a time."""

_ASTRAY = (
    "give the labels of these samples or, if the matrix was computed transposed, compute it again with the other of "
    "--samples rows and --samples columns"
)


def read_cohort(
    path: Path,
    *,
    samples: str | None = None,
    labels: Path | None = None,
    label: str | None = None,
    sep: str | None = None,
) -> Any:
    """Read a text table, and labels where they are named; a binary file is only opened, for workers read it by path."""
    from distkern.io.bags import holds_bags
    from distkern.io.expression import read_expression

    if holds_bags(path):
        return _bags(path, samples, labels, label, sep)
    if is_text(path) or labels is not None or label is not None or samples == "columns":
        return read_expression(path, samples=samples, labels=labels, label=label, sep=sep)  # type: ignore[arg-type]
    from distkern.io.source import as_source

    source = as_source(path)
    _refuse_infinite(path, source)
    return source


def _bags(path: Path, samples: str | None, labels: Path | None, label: str | None, sep: str | None) -> Any:
    """Open bags, which hold no infinite values, and see that a table of labels knows them."""
    from distkern.io.source import as_source

    if samples == "columns":
        raise InputError(f"in {path.name!r} every bag is a sample: leave out --samples")
    if labels is None and label is not None:
        raise InputError(f"{path.name!r} holds bags and no columns: leave out --label, or name a file with --labels")
    source = as_source(path)
    if labels is not None:
        read_column(labels, label, source.ids or (), sep=sep)
    return source


def is_text(path: Path) -> bool:
    """Whether the name is that of a text table."""
    from distkern.io.expression import TEXT

    return path.name.lower().removesuffix(".gz").endswith(TEXT) and not path.is_dir()


def _refuse_infinite(path: Path, source: Any) -> None:
    """Refuse infinite values as the readers of text tables do, although some kernels would take them."""
    import numpy as np

    from distkern.io.tables import infinite_value

    rows, columns = source.shape
    height = max(1, BLOCK_BYTES // (8 * columns))
    for start in range(0, rows, height):
        infinite = np.argwhere(np.isinf(source.read(slice(start, min(start + height, rows)))))
        if len(infinite):
            row, column = int(infinite[0, 0]) + start, int(infinite[0, 1])
            sample = repr(source.ids[row]) if source.ids else f"number {row}"
            feature = repr(source.features[column]) if source.features else f"number {column}"
            raise infinite_value(path, sample, feature)


def holds_label(path: Path, label: str | None, samples: str | None, sep: str | None) -> bool:
    """Whether a text table has a row or column of this name beside the samples."""
    if label is None or samples is None or not is_text(path) or not path.is_file():
        return False
    from distkern.io.tables import read_names

    rows, columns = read_names(path, sep)
    return label in (columns if samples == "rows" else rows)


# Labels ------------------------------------------------------------------------------------------------------------


def read_column(
    path: Path, column: str | None, ids: Sequence[str], *, samples: str | None = None, sep: str | None = None
) -> tuple[str, list[str]]:
    """Read one text for each sample from a file, matched by the samples' ids.

    Parameters
    ----------
    path
        A text table with the samples in its rows (or its columns, if ``samples`` says so), a file of AnnData, or stored
        bags, whose labels are the column ``label``.
    column
        Name of the column (or row); it may be left out if there is only one.
    ids
        The samples, all of which must be in the file; it may hold more.

    Returns
    -------
    The name of the column, and the texts in the order of ``ids``.

    Raises
    ------
    InputError
        If the column is not there, or a sample has no label.
    """
    from distkern.io.bags import holds_bags, read_labels_of_bags
    from distkern.io.labels import matched

    if not path.exists():
        raise InputError(f"there is no file of labels {str(path)!r}: check the path")
    if is_text(path):
        columns = _columns_of_text(path, samples, sep)
    elif holds_bags(path):
        held = read_labels_of_bags(path)
        columns = {"label": held} if held else {}
    else:
        columns = _columns_of_obs(path, column)
    if column is None and len(columns) == 1:
        column = next(iter(columns))
    if column not in columns:
        listed = ", ".join(map(repr, list(columns)[:10])) or "none"
        fault = f"no column {column!r}" if column is not None else "several columns"
        raise InputError(f"{path.name!r} has {fault} to take labels from: name one of {listed} with --label")
    return column, matched(columns[column], ids, path.name, "the store", _ASTRAY)


def _columns_of_text(path: Path, samples: str | None, sep: str | None) -> dict[str, dict[str, str]]:
    from distkern.io.tables import read_texts

    names, rows = read_texts(path, sep)
    if samples == "columns":
        return {label: dict(zip(names, cells, strict=True)) for label, cells in rows.items()}
    return {name: {row: cells[place] for row, cells in rows.items()} for place, name in enumerate(names)}


def _columns_of_obs(path: Path, column: str | None) -> dict[str, dict[str, str]]:
    """Read the samples' own columns of a binary file; the values stay where they are if it is an .h5ad file."""
    from distkern.io.expression import read_expression

    if path.suffix == ".h5ad":
        import anndata

        try:
            obs = anndata.read_h5ad(path, backed="r").obs
        except (OSError, KeyError) as error:
            raise InputError(f"{path.name!r} cannot be read as an .h5ad file: {error}") from error
    else:
        obs = read_expression(path, label=column).obs
    texts = obs.astype(object).where(obs.notna(), "").map(str)
    return {str(name): dict(zip(map(str, obs.index), texts[name], strict=True)) for name in obs.columns}


def count_classes(labels: Sequence[str]) -> str:
    """Say how many samples each label has.

    Examples
    --------
    >>> count_classes(["a", "b", "a"])
    '2 a, 1 b'
    """
    return ", ".join(f"{count} {label}" for label, count in Counter(labels).most_common())
