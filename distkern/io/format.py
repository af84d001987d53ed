"""Declarations of file formats and of containers in memory, from which cohorts are read.

A file of `distkern.io.formats` lists its formats in ``FORMATS`` and its containers in ``CONTAINERS``, where
`distkern.io.registry` finds them. A new format is therefore one new file in that folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distkern.core.errors import InputError
from distkern.core.sentences import Argument
from distkern.io.compression import ENDINGS
from distkern.io.tables import Orientation

if TYPE_CHECKING:
    from anndata import AnnData


@dataclass(frozen=True)
class ReadOptions:
    """Options of the caller for reading a file.

    Parameters
    ----------
    samples
        Whether the samples are the rows or the columns of a table.
    label
        Column (or row, where samples are columns) with the labels of the samples.
    sep
        Separator of the columns of a text table; None to detect it.
    layer, use_rep
        Key of ``layers`` or of ``obsm`` of AnnData that is read instead of X; a layer of a loom file, or an assay of a
        SummarizedExperiment of R.
    """

    samples: Orientation | None = None
    label: str | None = None
    sep: str | None = None
    layer: str | None = None
    use_rep: str | None = None

    def __post_init__(self) -> None:
        if self.samples not in (None, "rows", "columns"):
            raise InputError(
                "{samples} must be 'rows' or 'columns': which of them are the samples of the table",
                samples=Argument("samples", self.samples),
            )


@dataclass(frozen=True)
class Opened:
    """An open cohort: its values, and the names that the file or container adds.

    Parameters
    ----------
    values
        A `Reader`, or another container in memory.
    ids, features
        Names of the samples and of the features.
    columns
        Further values by name, one for each sample: candidates for labels.
    label
        Column of the labels, if the format has a usual name for it.
    kinds, counts
        Kind of each ranking of a `Rankings`, and its number of voters.
    kind
        Name of the container in messages; by default the name of its values.
    file
        Name of the file that the values in memory came from, if that is known.
    about
        Further texts by name, one for each feature: what else the file says of it.
    """

    values: Any
    ids: Any = None
    features: Any = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    label: str | None = None
    kinds: tuple[str, ...] | None = None
    counts: Any = None
    kind: str | None = None
    file: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


def never(path: Path, head: bytes) -> bool:
    """Recognise nothing: the format has no signature and is found by suffix only."""
    return False


Columns = dict[str, dict[str, str]]
"""Texts of the samples: by name of the column, then by name of the sample."""


@dataclass(frozen=True)
class Format:
    r"""A format of files, or of folders, that holds a cohort.

    Parameters
    ----------
    name
        Name in messages.
    suffixes
        Endings of file names, in lower case.
    open
        Opens a file. If ``values`` is a `Reader` with ``portable = True``, workers read the file themselves by its
        path. Other cohorts are sent to the workers.
    recognises
        Whether a file is of this format, from its path and first bytes (none for a folder). It must be cheap: it runs
        for files of any format.
    folder
        Whether the format is a folder.
    general
        Whether other formats are special cases of this one. It is tested last.
    samples
        Whether the samples are rows or columns of the file; None if the file does not say, so that the caller must.
    matrix
        Whether the cohort is a matrix, samples × features, which AnnData can hold.
    load
        Reads the whole file as AnnData, if it contains more than values, names and columns.
    columns
        Reads texts of the samples without their values; by default they are those of the opened file.
    names
        Reads the names of the rows and of the columns of a table whose samples may be either.
    options
        Options of `ReadOptions` that only some formats have: ``layer`` and ``use_rep``.
    is_table
        Whether `distkern.io.typed_tables` reads it as rows of texts, so that it may hold ballots.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> def open_words(path, options):
    ...     lines = [line.split() for line in path.read_text().splitlines()]
    ...     return Opened(np.array([line[1:] for line in lines], dtype=float), ids=[line[0] for line in lines])
    >>> words = Format("words", (".words",), open_words)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cohort.words")
    ...     _ = path.write_text("a 1 2\nb 3 4\n")
    ...     words.open(path, ReadOptions()).ids
    ['a', 'b']
    """

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[Path, ReadOptions], Opened]
    recognises: Callable[[Path, bytes], bool] = never
    folder: bool = False
    general: bool = False
    samples: Orientation | None = "rows"
    matrix: bool = True
    load: Callable[[Path], AnnData] | None = None
    columns: Callable[[Path, ReadOptions], Columns] | None = None
    names: Callable[[Path, ReadOptions], tuple[list[str], list[str]]] | None = None
    options: tuple[str, ...] = ()
    is_table: bool = False

    def suffix_of(self, name: str) -> str:
        """Return the longest suffix of this format that ends a file name; empty if none does."""
        return max((suffix for suffix in self.suffixes if name.lower().endswith(suffix)), key=len, default="")

    def describe(self) -> str:
        """Return name and suffixes, for messages, without those of compressed files."""
        plain = [suffix for suffix in self.suffixes if not suffix.endswith(ENDINGS[1:])]
        return f"{self.name} ({', '.join(plain)})" if plain else self.name


@dataclass(frozen=True)
class Container:
    """A container in memory, recognised by its class without importing the library that defines it.

    Parameters
    ----------
    module
        Module of the classes. If it was never imported, no object of these classes exists.
    classes
        Names of the classes.
    open
        Gives the values and names of such an object.
    method
        A method that tells objects of any class in which no other container is recognised; instead of a class.
    """

    module: str
    classes: tuple[str, ...]
    open: Callable[[Any], Opened]
    method: str | None = None

    def holds(self, X: Any) -> bool:
        """Whether X is an object of one of the classes, or has the method."""
        if self.method is not None:
            return hasattr(X, self.method)
        loaded = sys.modules.get(self.module)
        return loaded is not None and any(isinstance(X, getattr(loaded, name, ())) for name in self.classes)
