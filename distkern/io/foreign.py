"""Kinds of files and folders that are recognised but not read, with what to do about each."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from distkern.core.errors import InputError
from distkern.core.sentences import Argument, Sentence
from distkern.io.tables import GZIP

HEAD_BYTES = 2**16
"""Bytes from the beginning of a file that a format may examine."""

_COLUMNS = Argument("samples", "columns")


@dataclass(frozen=True)
class Foreign:
    """A kind of file or folder that is not read.

    Parameters
    ----------
    name
        Its name in messages, with its article.
    advice
        How to make a file of it that is read.
    suffixes
        Endings of file names, in lower case.
    begins
        First bytes of its text or file.
    contains
        A line that begins so is among the first ones.
    """

    name: str
    advice: Sentence
    suffixes: tuple[str, ...] = ()
    begins: tuple[bytes, ...] = ()
    contains: bytes = b""

    def matches(self, name: str, head: bytes) -> bool:
        """Whether a file has the ending or the beginning of this kind."""
        return (
            name.lower().endswith(self.suffixes)
            or head.startswith(self.begins)
            or (self.contains != b"" and (b"\n" + self.contains) in b"\n" + head)
        )


def _kind(
    name: str, advice: Sentence, *suffixes: str, begins: tuple[bytes, ...] = (), contains: bytes = b""
) -> Foreign:
    return Foreign(name, advice, suffixes, begins, contains)


FILES = (
    _kind(
        "a GEO series matrix",
        Sentence(
            "keep the lines between !series_matrix_table_begin and !series_matrix_table_end, save them as a .tsv file, "
            "and read that with {columns}; the lines !Sample_characteristics_ch1 hold the labels",
            columns=_COLUMNS,
        ),
        begins=(b"!Series_", b"!Sample_"),
        contains=b"!series_matrix_table_begin",
    ),
    _kind(
        "a GEO SOFT file",
        Sentence(
            "if it is a data set (GDS), keep the lines between !dataset_table_begin and !dataset_table_end without the "
            "column IDENTIFIER, save them as a .tsv file, and read that with {columns}; if it is a series (GSE), get "
            "its series matrix instead",
            columns=_COLUMNS,
        ),
        ".soft",
        ".soft.gz",
        begins=(b"^DATABASE", b"^DATASET", b"^SERIES", b"^SAMPLE", b"^PLATFORM"),
    ),
    _kind(
        "a GCT file",
        Sentence(
            "delete its first two lines and its column Description, save it as a .tsv file, and read that with "
            "{columns}",
            columns=_COLUMNS,
        ),
        ".gct",
        ".gct.gz",
        begins=(b"#1.2", b"#1.3"),
    ),
    _kind(
        "a majority graph of PrefLib",
        Sentence(
            "get the ballots that it was made of (.soc, .soi, .toc or .toi), or write its edges as a table with the "
            "columns winner, loser and count, and give that to distkern.read_rankings"
        ),
        *(".tog", ".mjg", ".wmg", ".pwg"),
    ),
    _kind(
        "a spreadsheet",
        Sentence("save the sheet as a text table ('CSV UTF-8')"),
        *(".xls", ".xlsx", ".xlsm", ".ods"),
        begins=(b"\xd0\xcf\x11\xe0",),
    ),
    _kind(
        "an R object",
        Sentence("write it in R with write.table(x, 'cohort.tsv', sep = '\\t')"),
        *(".rds", ".rda", ".rdata"),
        begins=(b"RDX", b"RDA"),
    ),
    _kind(
        "a sparse matrix of text",
        Sentence("convert it with scipy.io.mmread and scipy.sparse.save_npz"),
        ".mtx",
        ".mtx.gz",
        begins=(b"%%MatrixMarket",),
    ),
    _kind("a loom file", Sentence("convert it with scanpy.read_loom(...).write_h5ad(...)"), ".loom"),
    _kind(
        "a Feather file",
        Sentence("convert it with pandas.read_feather(...).to_csv(...)"),
        ".feather",
        begins=(b"ARROW1",),
    ),
    _kind("a MATLAB file", Sentence("convert it with scipy.io.loadmat and numpy.save"), ".mat", begins=(b"MATLAB",)),
    _kind(
        "a pickle, which can run code", Sentence("save the object as .npz, .h5ad or a text table"), ".pkl", ".pickle"
    ),
    _kind(
        "an archive or a file compressed by another program than gzip",
        Sentence("decompress it, and give the file inside"),
        *(".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".zip"),
        begins=(b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf"),
    ),
)
"""Kinds of files, special ones first."""

FOLDERS: tuple[tuple[str, Callable[[set[str]], bool], Sentence], ...] = (
    (
        "a folder of 10x Genomics",
        lambda names: bool({"matrix.mtx", "matrix.mtx.gz"} & names),
        Sentence("convert it with scanpy.read_10x_mtx(...).write_h5ad('cohort.h5ad'), and give that file"),
    ),
)
"""Kinds of folders: name, test of the names of the files inside, and advice."""


def head_of(path: Path) -> bytes:
    """Read the first bytes of a file; none of a folder.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    if path.is_dir():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise InputError(f"{path.name!r} cannot be read: {error.strerror or error}; check the file") from error


def refuse_foreign(path: Path, head: bytes) -> None:
    """Refuse a file or a folder of a kind that is known and not read.

    Parameters
    ----------
    path
        The file or folder.
    head
        The first bytes of a file.

    Raises
    ------
    InputError
        If it is of such a kind; the message says how to make a file of it that is read.

    Examples
    --------
    >>> refuse_foreign(Path("cohort.gct"), b"#1.2")
    Traceback (most recent call last):
    distkern.core.errors.InputError: 'cohort.gct' is a GCT file, which is not read: delete its first two lines and ...
    """
    if path.is_dir():
        names = {entry.name for entry in path.iterdir()}
        found = next(((name, advice) for name, holds, advice in FOLDERS if holds(names)), None)
    else:
        text = _decompressed(head)
        kind = next((kind for kind in FILES if kind.matches(path.name, text)), None)
        found = None if kind is None else (kind.name, kind.advice)
    if found is not None:
        raise InputError(
            "{file!r} is {kind}, which is not read: {advice}", file=path.name, kind=found[0], advice=found[1]
        )


def _decompressed(head: bytes) -> bytes:
    if head.startswith(GZIP):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head)
        except zlib.error:
            return head
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b'\r\n"')
