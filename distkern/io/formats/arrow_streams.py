"""Any other table that offers its columns to Apache Arrow: DuckDB, Ibis, cuDF, Daft and their like.

They share the PyCapsule interface of Arrow, so that none of them is imported:
https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html.
"""

from __future__ import annotations

from typing import Any

from distkern.core.errors import MissingExtraError
from distkern.io.format import Container, Opened
from distkern.io.formats.labelled_arrays import open_labelled


def _open(X: Any) -> Opened:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError.of(f"reading a {type(X).__module__}.{type(X).__qualname__}", "files") from error
    return open_labelled(pyarrow.table(X), type(X).__name__)


CONTAINERS = (Container("", (), _open, method="__arrow_c_stream__"),)
