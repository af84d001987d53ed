"""Parquet and Feather: tables with types, read by pandas and pyarrow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distkern.core.errors import MissingExtraError
from distkern.io.blocks import refuse_damage


@dataclass(frozen=True)
class Columnar:
    """A format of tables with types.

    Parameters
    ----------
    name
        Its name.
    suffixes
        Endings of file names, in lower case.
    begins
        First bytes of its files.
    function
        The function of pandas that reads it.
    """

    name: str
    suffixes: tuple[str, ...]
    begins: tuple[bytes, ...]
    function: str

    def read(self, path: Path) -> Any:
        """Read a file as a DataFrame.

        Raises
        ------
        InputError
            If it is damaged.
        MissingExtraError
            If pyarrow is not installed.
        """
        kind = f"a {self.name} file"
        try:
            import pandas as pd
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise MissingExtraError.of(f"reading {kind}", "files") from error
        with refuse_damage(path.name, kind):
            return getattr(pd, self.function)(path)

    def columns(self, path: Path) -> list[str]:
        """Read the names of the columns, also of an index that has one, in any order.

        Raises
        ------
        InputError, MissingExtraError
            As for `read`.
        """
        if self.name != "Parquet":
            frame = self.read(path)
            return ([] if frame.index.name is None else [str(frame.index.name)]) + list(map(str, frame.columns))
        kind = f"a {self.name} file"
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise MissingExtraError.of(f"reading {kind}", "files") from error
        with refuse_damage(path.name, kind):
            return list(parquet.read_schema(path).names)


COLUMNAR = (
    Columnar("Parquet", (".parquet", ".pq"), (b"PAR1",), "read_parquet"),
    Columnar("Feather", (".feather",), (b"ARROW1", b"FEA1"), "read_feather"),
)


def columnar_of(head: bytes) -> Columnar | None:
    """Find the format of a file by its first bytes."""
    return next((one for one in COLUMNAR if head.startswith(one.begins)), None)
