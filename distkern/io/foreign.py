"""Kinds of files that are recognised but not read, with what to do about each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from distkern.core.errors import InputError
from distkern.core.sentences import Sentence
from distkern.io.compression import beginning_of

HEAD_BYTES = 2**16
"""Bytes from the beginning of a file that a format may examine."""


@dataclass(frozen=True)
class Foreign:
    """A kind of file that is not read.

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
        "a majority graph of PrefLib",
        Sentence(
            "get the ballots that it was made of (.soc, .soi, .toc or .toi), or write its edges as a table with the "
            "columns winner, loser and count, and give that to distkern.read_rankings"
        ),
        *(".tog", ".mjg", ".wmg", ".pwg"),
    ),
    _kind(
        "a spreadsheet of an old or an open kind",
        Sentence("save it as .xlsx, or the sheet as a text table ('CSV UTF-8')"),
        *(".xls", ".ods"),
        begins=(b"\xd0\xcf\x11\xe0",),
    ),
    _kind("a MATLAB file", Sentence("convert it with scipy.io.loadmat and numpy.save"), ".mat", begins=(b"MATLAB",)),
    _kind(
        "a pickle, which can run code", Sentence("save the object as .npz, .h5ad or a text table"), ".pkl", ".pickle"
    ),
    _kind(
        "an archive",
        Sentence("unpack it, and give the file or the folder inside"),
        *(".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".zip"),
        begins=(b"7z\xbc\xaf",),
    ),
)
"""Kinds of files, special ones first."""


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
    """Refuse a file of a kind that is known and not read.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes.

    Raises
    ------
    InputError
        If it is of such a kind; the message says how to make a file of it that is read.

    Examples
    --------
    >>> refuse_foreign(Path("cohort.mat"), b"MATLAB 5.0")
    Traceback (most recent call last):
    distkern.core.errors.InputError: 'cohort.mat' is a MATLAB file, which is not read: convert it with ...
    """
    text = beginning_of(head).lstrip(b'\r\n"')
    kind = next((kind for kind in FILES if kind.matches(path.name, text)), None)
    if kind is not None:
        raise InputError(
            "{file!r} is {kind}, which is not read: {advice}", file=path.name, kind=kind.name, advice=kind.advice
        )
