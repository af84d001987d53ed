"""Samples and labels from the files of a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.ballots import holds_ballots, read_ballots
from distkern.cli.common import say
from distkern.cli.progress import step
from distkern.core.errors import InputError
from distkern.core.names import beside_numbers

if TYPE_CHECKING:
    from distkern.core.events import Listener
    from distkern.io.source import Source

BLOCK_BYTES = 2**26
"""Bytes of samples that are checked at a time."""

MOST_LABELS = 20
"""Most labels whose samples are counted in a line."""

_TRANSPOSED = (
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
    layer: str | None = None,
    use_rep: str | None = None,
    values: str | None = None,
    items: Sequence[str] | None = None,
    collapse: str | None = None,
    genes: Path | None = None,
    ballots: dict[str, Any] | None = None,
    progress: Listener | None = None,
) -> Source:
    """Read a table, ballots, or a cohort with labels; open any other file, because workers read it by path."""
    from distkern.core.feature_names import warn_of_spreadsheets
    from distkern.gram.open import holds_gram
    from distkern.io.expression import read_expression
    from distkern.io.format import ReadOptions
    from distkern.io.origin import Origin
    from distkern.io.rankings.meaning import refuse_places
    from distkern.io.registry import find_format, open_file, table_names
    from distkern.io.sheets import file_and_sheet
    from distkern.io.source import as_source, source_of

    if path.is_dir() and holds_gram(path):
        raise InputError(f"{str(path)!r} is a store, which holds a matrix: give the file of the samples")
    found = find_format(path)
    if not found.matrix:
        return _bags(path, samples, labels, label, sep, layer or use_rep)
    if holds_ballots(path, found, values, ballots or {}, sep):
        how = {"values": values, "samples": samples, "label": label, "sep": sep}
        return read_ballots(path, items=items, ballots=ballots, progress=progress, **how)
    if found.samples is None and samples == "rows" and values is None:
        refuse_places(path.name, [name for name in table_names(path, sep)[1] if name != label])
    is_column = genes is not None and not file_and_sheet(genes)[0].exists()  # of the file of the cohort
    of_genes = str(genes) if is_column else genes
    chosen: dict[str, Any] = {"samples": samples, "sep": sep, "layer": layer, "use_rep": use_rep}
    with step(f"reading {path.name!r}", path):
        if found.samples is None or any(value is not None for value in (labels, label, collapse, genes)):
            adata = read_expression(path, labels=labels, label=label, collapse=collapse, genes=of_genes, **chosen)  # type: ignore[arg-type]
            source = as_source(adata)
        else:
            source = source_of(open_file(path, ReadOptions(**chosen)))
            warn_of_spreadsheets(source.features, repr(path.name))
            _refuse_infinite(path, source)
    source.origin = Origin(
        path.name, samples if found.samples is None else None, None if labels else label, layer, use_rep
    )
    if values is None:
        refuse_places(path.name, source.features)
    _say_what_was_read(path, source, found.samples or samples)
    return source


def _say_what_was_read(path: Path, source: Source, samples: Any) -> None:
    """Say it to stderr, unless the command is quiet or prints for programs."""
    context = click.get_current_context(silent=True)
    given = {} if context is None else context.params
    if context is None or given.get("quiet") or given.get("as_json"):
        return
    from distkern.io.summary import summary

    say(f"{path.name}: {summary(source, samples)}")


def _bags(
    path: Path, samples: str | None, labels: Path | None, label: str | None, sep: str | None, key: str | None
) -> Source:
    """Open bags, which hold no infinite values, and check that a table of labels knows them."""
    from distkern.io.source import as_source

    if samples == "columns":
        raise InputError(f"in {path.name!r} every bag is a sample: leave out --samples")
    if labels is None and label is not None:
        raise InputError(f"{path.name!r} holds bags and no columns: leave out --label, or name a file with --labels")
    if key is not None:
        raise InputError(
            f"{path.name!r} holds bags, which were made of {key!r} or not: leave out --layer and --use-rep"
        )
    source = as_source(path)
    if labels is not None:
        read_column(labels, label, source.ids or (), sep=sep)
    return source


def _refuse_infinite(path: Path, source: Any) -> None:
    """Refuse infinite values, as the readers of text tables do, although some kernels accept them."""
    import numpy as np

    from distkern.io.tables import infinite_value

    rows, columns = source.shape
    height = max(1, BLOCK_BYTES // (8 * columns))
    for start in range(0, rows, height):
        block = slice(start, min(start + height, rows))
        if source.sparse and not np.isinf(source.read_sparse(block).data).any():
            continue
        infinite = np.argwhere(np.isinf(source.read(block)))
        if len(infinite):
            row, column = int(infinite[0, 0]) + start, int(infinite[0, 1])
            sample = repr(source.ids[row]) if source.ids else f"number {row}"
            feature = repr(source.features[column]) if source.features else f"number {column}"
            raise infinite_value(path, sample, feature)


def holds_label(path: Path, label: str | None, samples: str | None, sep: str | None) -> bool:
    """Whether a text table has a row or column of this name among its features."""
    from distkern.io.registry import find_format, table_names
    from distkern.io.sheets import file_and_sheet

    if (
        label is None
        or samples is None
        or not file_and_sheet(path)[0].is_file()
        or find_format(path).samples is not None
    ):
        return False
    rows, columns = table_names(path, sep)
    return label in (columns if samples == "rows" else rows)


# Labels ------------------------------------------------------------------------------------------------------------


def read_column(
    path: Path,
    column: str | None,
    ids: Sequence[str],
    *,
    samples: str | None = None,
    sep: str | None = None,
    whose: str = "the store",
) -> tuple[str, list[str]]:
    """Read one text for each sample from a file of any format, matched by the samples' ids.

    Parameters
    ----------
    path
        A text table with the samples in its rows (or its columns, as ``samples`` states), AnnData, stored bags (their
        labels are the column ``label``), or another file of samples with labels.
    column
        Name of the column (or row); it may be left out if there is only one.
    ids
        The samples; each must be in the file.
    whose
        Owner of the samples, for messages.

    Returns
    -------
    The name of the column, and the texts in the order of ``ids``.

    Raises
    ------
    InputError
        If the column does not exist, or a sample has no label.
    """
    from distkern.io.format import ReadOptions
    from distkern.io.labels import choose_column, matched, read_columns

    with step(f"reading {path.name!r}", path):
        columns = read_columns(path, ReadOptions(samples, column, sep))  # type: ignore[arg-type]
    name = choose_column(path, columns, column)
    return name, matched(columns[name], ids, path.name, whose, _TRANSPOSED)


def read_weights(
    path: Path, column: str, ids: Sequence[str], *, samples: str | None = None, sep: str | None = None
) -> list[float]:
    """Read the weight of each sample from a column, as `read_column` finds it.

    Raises
    ------
    InputError
        If there is no such column, or a text in it is not a number.
    """
    name, texts = read_column(path, column, ids, samples=samples, sep=sep)
    try:
        return [float(text) for text in texts]
    except ValueError as error:
        raise InputError(
            "the column {column!r} of {file!r} has a text that is not a number ({reason}): correct it",
            column=name,
            file=path.name,
            reason=str(error),
        ) from error


def read_voters(
    path: Path | str, ballots: Source | None, counts: Any, ids: Sequence[str], given: dict[str, Any]
) -> tuple[list[float] | None, str | None]:
    """Weight of each sample, and what they are: a column, or the voters that a file of ballots counts.

    Parameters
    ----------
    path
        The file of the ballots, in which the column of weights is unless another file is named.
    ballots, counts, ids
        The ballots, their numbers of voters if the file tells them, and their names.
    given
        Options weight, weights, samples and sep of the command.
    """
    from distkern.cli.common import separator_of

    beside = given["weights"] in (None, path)
    own = None if ballots is None or ballots.origin is None else ballots.origin.label
    if counts is not None and beside and (given["weight"] is None or own is None):
        numbers = [float(count) for count in counts]
        told = given["weight"] is not None or set(numbers) != {1.0}
        return (numbers, given["weight"] or "voters") if told else (None, None)
    if given["weight"] is None:
        return None, None
    file = Path(given["weights"] or path)
    weights = read_weights(file, given["weight"], ids, samples=given["samples"], sep=separator_of(given["sep"]))
    return weights, given["weight"]


def read_labelled(
    cohort: Path, labels: Path | None, label: str | None, groups: str | None, how: dict[str, Any]
) -> tuple[Source, str, list[str], list[str] | None]:
    """Read samples, with a label and perhaps a group for each, from the file of the cohort or from that of the labels.

    Parameters
    ----------
    labels
        File of labels and groups; that of the cohort if it is None.
    label, groups
        Columns of labels and of groups.
    how
        Options of `read_cohort` that say how the cohort is read.

    Returns
    -------
    The samples, the name of the column of labels, the labels, and the groups.
    """
    from distkern.cli.common import separator_of
    from distkern.io.labels import read_labels

    how = how | {"sep": separator_of(how["sep"])}
    beside = labels in (None, cohort)
    source = read_cohort(cohort, label=label if beside else None, **how)
    ids = list(source.ids or map(str, range(len(source))))

    def column(name: str | None) -> tuple[str, list[str]]:
        if beside:
            return read_column(cohort, name, ids, samples=how["samples"], sep=how["sep"])
        assert labels is not None
        with step(f"reading {labels.name!r}", labels):
            return read_labels(labels, ids, label=name, features=source.features or ())

    found, y = column(label)
    return source, found, y, None if groups is None else column(groups)[1]


FEWEST_NUMBERS = 10
"""Distinct numbers from which on a column is read as numbers, unless it is said what it is."""


def as_numbers(texts: Sequence[str]) -> list[float] | None:
    """The numbers of a column of texts, "" as NaN; None if one is no number."""
    try:
        return [float(text) if text else float("nan") for text in texts]
    except ValueError:
        return None


def read_covariates(path: Path, ids: Sequence[str], *, samples: str | None = None, sep: str | None = None) -> Any:
    """Read all columns of a file as covariates of the samples: a DataFrame of numbers, and of texts with few values.

    Columns of texts that differ in every sample, such as names, are left out.

    Raises
    ------
    InputError
        If a sample is not in the file, or no column is left.
    """
    import pandas as pd

    from distkern.core.labels import MISSING_TEXTS
    from distkern.io.format import ReadOptions
    from distkern.io.labels import read_columns

    columns = read_columns(path, ReadOptions(samples, None, sep))  # type: ignore[arg-type]
    found = {}
    for name, known in columns.items():
        lacking = [sample for sample in ids if sample not in known]
        if lacking:
            raise InputError(
                f"{len(lacking)} of {len(ids)} samples are not in {path.name!r}, the first of them {lacking[0]!r}: add "
                "them to that file, or correct its ids"
            )
        texts = ["" if known[sample] in MISSING_TEXTS else known[sample] for sample in ids]
        numbers = as_numbers(texts)
        if numbers is not None and len(set(texts) - {""}) >= FEWEST_NUMBERS:
            found[name] = pd.Series(numbers)
        elif len(set(texts) - {""}) < max(2, len(ids)):
            found[name] = pd.Series([text or None for text in texts], dtype=object)
    if not found:
        raise InputError(f"{path.name!r} holds no covariate: give a table with a row for each sample, its id first")
    return pd.DataFrame(found).set_axis(list(ids), axis=0)


def count_classes(labels: Sequence[str]) -> str:
    """Describe the number of samples of each label, the most frequent first; at most `MOST_LABELS` of them.

    Examples
    --------
    >>> count_classes(["a", "b", "a"])
    '2 a, 1 b'
    """
    found = Counter(labels).most_common()
    counts = [f"{count} {beside_numbers(label)}" for label, count in found[:MOST_LABELS]]
    return ", ".join(counts + [f"{len(found) - MOST_LABELS:,} others"] * (len(found) > MOST_LABELS))
