"""Networks of features as tables, as files (Parquet, CSV, GraphML), and in AnnData."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

import numpy as np

from distkern.core.errors import InputError, InputTypeError, MissingExtraError
from distkern.core.files import written_whole
from distkern.core.frames import pandas_for
from distkern.core.sentences import Argument, OptionalPart
from distkern.core.typing import Floats, Indices
from distkern.core.validation import Names

SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".graphml")
"""Endings of files of networks."""

ROWS = 2**18
"""Rows of a table that are written at a time."""


@dataclass(frozen=True)
class EdgeFile:
    """A network that was written to a file.

    Parameters
    ----------
    path
        The file.
    edges
        Number of its edges.
    tests
        Number of pairs that were tested, which the Benjamini–Hochberg procedure counts.
    undefined
        Number of pairs without a p-value, because a feature is constant: on the samples that both have, or in each
        stratum one of the two.
    disk_bytes
        Bytes of temporary files that the work took.

    See Also
    --------
    kendalltau_matrix : Writes it.
    """

    path: Path
    edges: int
    tests: int
    undefined: int
    disk_bytes: int


@dataclass(frozen=True)
class Links:
    """Some pairs of features with their values.

    Parameters
    ----------
    first, second
        Positions of the features.
    values
        Values of the pairs by name, such as tau and p, in the order of their columns.
    """

    first: Indices
    second: Indices
    values: dict[str, Floats]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class Ends:
    """What the ends of a pair are called.

    Parameters
    ----------
    first, second
        Names of the features that each end may be; None for positions.
    two_tables
        Whether the ends are features of different tables.
    """

    first: Names
    second: Names
    two_tables: bool


def as_table(links: Links, ends: Ends) -> Any:
    """Return pairs as a DataFrame with the columns ``first``, ``second`` and those of the values.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    """
    pd = pandas_for("a table of pairs")
    sides = ((links.first, ends.first), (links.second, ends.second))
    first, second = (
        position if names is None else np.array(names, dtype=object)[position] for position, names in sides
    )
    return pd.DataFrame({"first": first, "second": second, **links.values}, copy=False)


# Files ----------------------------------------------------------------------------------------------------------------


def check_suffix(path: Path) -> str:
    """Return the ending of the name of a file of a network.

    Raises
    ------
    InputError
        If it is none of `SUFFIXES`.
    """
    suffix = next((one for one in SUFFIXES if path.name.lower().endswith(one)), None)
    if suffix is None:
        raise InputError(f"{path.name!r} does not end with {', '.join(SUFFIXES)}: its ending decides on the format")
    return suffix


def write_links(path: Path, parts: Iterable[Links], ends: Ends, columns: tuple[str, ...], *, overwrite: bool) -> int:
    """Write pairs to a file, some at a time; return how many there are.

    Parameters
    ----------
    path
        The file, which appears when all pairs are written.
    parts
        The pairs, each with values under the names of ``columns``.
    ends
        What they are called.
    columns
        Names of the values.
    overwrite
        Whether an existing file is replaced.

    Raises
    ------
    InputError
        If the file exists, or cannot be written.
    MissingExtraError
        If what writes the format is not installed.
    """
    writer = {".graphml": _graphml, ".parquet": _parquet, ".pq": _parquet}.get(check_suffix(path), _text)
    count = 0
    with written_whole(path, overwrite=overwrite) as file, writer(file, path, ends, columns) as write:
        for part in parts:
            for start in range(0, len(part), ROWS):
                few = slice(start, start + ROWS)
                write(Links(part.first[few], part.second[few], {name: part.values[name][few] for name in columns}))
            count += len(part)
    return count


Write = Callable[[Links], None]


@contextmanager
def _text(file: BinaryIO, path: Path, ends: Ends, columns: tuple[str, ...]) -> Iterator[Write]:
    sep = "\t" if path.name.lower().endswith(".tsv") else ","
    out = io.TextIOWrapper(file, encoding="utf-8", newline="")
    out.write(sep.join(("first", "second", *columns)) + "\n")

    def write(links: Links) -> None:
        as_table(links, ends).to_csv(out, sep=sep, index=False, header=False, lineterminator="\n")

    yield write
    out.flush()
    out.detach()


@contextmanager
def _parquet(file: BinaryIO, path: Path, ends: Ends, columns: tuple[str, ...]) -> Iterator[Write]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError.of("writing Parquet files", "parquet") from error
    kinds = [pa.int64() if names is None else pa.string() for names in (ends.first, ends.second)]
    fields = [*zip(("first", "second"), kinds, strict=True), *((name, pa.float64()) for name in columns)]
    schema = pa.schema(fields)
    with parquet.ParquetWriter(file, schema) as out:

        def write(links: Links) -> None:
            out.write_table(pa.Table.from_pandas(as_table(links, ends), schema, preserve_index=False))

        yield write


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="name" for="node" attr.name="name" attr.type="string"/>
{keys}<graph edgedefault="undirected">
"""


@contextmanager
def _graphml(file: BinaryIO, path: Path, ends: Ends, columns: tuple[str, ...]) -> Iterator[Write]:
    """Write nodes before the first of their edges: those without any edge are not part of the network."""
    keys = [f'<key id="{name}" for="edge" attr.name="{name}" attr.type="double"/>\n' for name in columns]
    if ends.two_tables:
        keys.append('<key id="table" for="node" attr.name="table" attr.type="string"/>\n')
    file.write(GRAPHML.format(keys="".join(keys)).encode())
    known: set[tuple[str, int]] = set()

    def nodes(letter: str, names: Names, positions: Indices) -> Iterator[str]:
        for position in np.unique(positions).tolist():
            if (letter, position) not in known:
                known.add((letter, position))
                name = str(position) if names is None else names[position]
                table = f'<data key="table">{letter}</data>' if ends.two_tables else ""
                yield f'<node id="{letter}{position}"><data key="name">{escape(name)}</data>{table}</node>\n'

    other = "Y" if ends.two_tables else "X"

    def write(links: Links) -> None:
        file.write("".join(nodes("X", ends.first, links.first)).encode())
        file.write("".join(nodes(other, ends.second, links.second)).encode())
        values = [
            [f'<data key="{name}">{_double(one)}</data>' for one in links.values[name].tolist()] for name in columns
        ]
        for a, b, *data in zip(links.first.tolist(), links.second.tolist(), *values, strict=True):
            file.write(f'<edge source="X{a}" target="{other}{b}">{"".join(data)}</edge>\n'.encode())

    yield write
    file.write(b"</graph>\n</graphml>\n")


def _double(value: float) -> str:
    """Write a number as XML has it."""
    return "NaN" if value != value else repr(value)


# AnnData --------------------------------------------------------------------------------------------------------------


def refuse_key(adata: Any, key: str, names: tuple[str, ...], overwrite: bool) -> None:
    """Refuse keys of ``varp`` that are taken, and anything but an AnnData object in memory, before the work starts.

    Raises
    ------
    InputTypeError
        If it is no AnnData object.
    InputError
        If a key exists and may not be replaced.
    """
    if not hasattr(adata, "varp"):
        raise InputTypeError(
            f"key_added= writes into the varp of an AnnData object, not of a {type(adata).__name__}: leave it out"
        )
    taken = next((name for name in _keys(key, names) if name in adata.varp), None)
    if taken is not None and not overwrite:
        raise InputError(
            "the AnnData holds {taken!r} in varp already: {other}pass {overwrite} to replace it",
            taken=taken,
            other=OptionalPart("give another {key_added}, or ", key_added=Argument("key_added")),
            overwrite=Argument("overwrite", True),
        )


def write_varp(adata: Any, key: str, matrices: dict[str, Any], about: dict[str, Any]) -> None:
    """Write matrices of features into ``varp``: the first under the key, others under the key and their name.

    Pairs become sparse matrices, symmetric, with an entry for each pair also where it is 0.
    """
    for name, values in zip(_keys(key, tuple(matrices)), matrices.values(), strict=True):
        adata.varp[name] = values
    adata.uns[key] = about


def symmetric_graph(links: Links, name: str, count: int) -> Any:
    """Sparse symmetric matrix (count, count) of a value of some pairs, each of which occurs once."""
    from scipy import sparse

    rows, cols = np.concatenate([links.first, links.second]), np.concatenate([links.second, links.first])
    return sparse.coo_matrix((np.tile(links.values[name], 2), (rows, cols)), shape=(count, count)).tocsr()


def _keys(key: str, names: tuple[str, ...]) -> list[str]:
    """Keys of the matrices: the first has the bare key."""
    return [key if k == 0 else f"{key}_{name}" for k, name in enumerate(names)]
