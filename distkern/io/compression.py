"""Compressed files: gzip, bzip2, xz and Zstandard, recognised by their first bytes and not by their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from distkern.core.errors import InputError, MissingExtraError

ENDINGS = ("", ".gz", ".bz2", ".xz", ".zst")
"""What a compressed file may add to the name of the file inside; nothing for a file that is not compressed."""

BOM = b"\xef\xbb\xbf"


def _zstandard(raw: Any) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError.of("reading files compressed with Zstandard (.zst)", "files") from error
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")


@dataclass(frozen=True)
class Compression:
    """A way of compression: its name in messages, the first bytes of its files, and a function that opens one."""

    name: str
    begins: bytes
    opens: Callable[[Any], Any]


KINDS = (
    Compression("gzip", b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    Compression("bzip2", b"BZh", bz2.BZ2File),
    Compression("xz", b"\xfd7zXZ\x00", lzma.LZMAFile),
    Compression("Zstandard", b"\x28\xb5\x2f\xfd", _zstandard),
)


def compression_of(head: bytes) -> Compression | None:
    """Find how a file is compressed by its first bytes; None if it is not.

    Examples
    --------
    >>> compression_of(gzip.compress(b"text")).name, compression_of(b"text")
    ('gzip', None)
    """
    return next((kind for kind in KINDS if head.startswith(kind.begins)), None)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading its bytes, decompressed.

    Raises
    ------
    InputError
        If what is read inside the block is damaged.
    MissingExtraError
        If it is compressed with Zstandard, and pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a").write_bytes(bz2.compress(b"text"))
    ...     with opened(Path(folder, "a")) as file:
    ...         file.read()
    b'text'
    """
    with path.open("rb") as raw:
        kind = compression_of(raw.read(8))
        raw.seek(0)
        if kind is None:
            yield raw
            return
        try:
            yield kind.opens(raw)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise InputError(f"{path.name!r} is a damaged {kind.name} file ({error}): get it again") from error


def beginning_of(head: bytes, most: int = 2**16) -> bytes:
    """Decompress the first bytes of a file as far as they go; without a byte-order mark. Empty if they are damaged.

    Examples
    --------
    >>> beginning_of(gzip.compress(b"one two three" * 99)[:30])[:13]
    b'one two three'
    """
    kind = compression_of(head)
    if kind is not None:
        parts: list[bytes] = []
        try:
            file = kind.opens(io.BytesIO(head))
            while sum(map(len, parts)) < most and (part := file.read1(2**12) if hasattr(file, "read1") else b""):
                parts.append(part)
        except (EOFError, OSError, zlib.error, lzma.LZMAError, MissingExtraError):
            pass  # the file goes on after its first bytes
        head = b"".join(parts)
    return head.removeprefix(BOM)
