"""polars, pyarrow and xarray: tables and arrays with names, in memory. This file imports none of them."""

from __future__ import annotations

from typing import Any

from distkern.core.containers import plain
from distkern.core.errors import InputError
from distkern.io.blocks import ArrayReader
from distkern.io.format import Container, Opened


def open_labelled(X: Any, kind: str | None = None) -> Opened:
    """View a table or an array with names; ``kind`` is its name in messages, by default that of its class."""
    values, names = plain(X, "the cohort")
    if len(names) != 2:
        raise InputError(f"the cohort has {len(names)} dimension(s): give a table, or an array with a row per sample")
    ids, features = names
    if values.dtype.kind == "O" and features is not None:
        text = next((name for k, name in enumerate(features) if any(isinstance(v, str) for v in values[:, k])), None)
        if text is not None:
            raise InputError(
                f"column {text!r} of the cohort holds text, not numbers: take it out of the table, and give its values "
                "as the names of the samples if that is what they are"
            )
    return Opened(ArrayReader(values, kind or type(X).__name__), ids, features)


CONTAINERS = (
    Container("polars", ("DataFrame", "LazyFrame", "Series"), open_labelled),
    Container("pyarrow", ("Table", "RecordBatch", "Array", "ChunkedArray"), open_labelled),
    Container("xarray", ("DataArray", "Dataset"), open_labelled),
)
