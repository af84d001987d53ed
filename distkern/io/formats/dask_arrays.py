"""Dask: lazy arrays, computed one block of rows at a time. This file never imports dask."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Array
from distkern.io.blocks import Reader, Rows
from distkern.io.format import Container, Opened


class DaskReader(Reader):
    """Rows of a dask array, computed when they are read."""

    kind = "dask array"

    def __init__(self, lazy: Any) -> None:
        if any(size != size for size in lazy.shape):
            raise InputError("the dask array does not know its own shape: call X.compute_chunk_sizes() first")
        self.lazy = lazy
        self.shape = tuple(int(size) for size in lazy.shape)
        self.dtypes = (lazy.dtype,)
        self.sparse = hasattr(getattr(lazy, "_meta", None), "tocsr")

    def take(self, rows: Rows) -> Array:
        """Compute rows."""
        block = self.lazy[rows].compute()
        return block.toarray() if hasattr(block, "toarray") else np.asanyarray(block)  # keeps a mask

    def take_sparse(self, rows: Rows) -> Any:
        """Compute rows; they stay sparse if the chunks are."""
        block = self.lazy[rows].compute()
        return block if hasattr(block, "tocsr") else super().take_sparse(rows)


def _open_dask(lazy: Any) -> Opened:
    return Opened(DaskReader(lazy))


def _refuse_frame(frame: Any) -> Opened:
    raise InputTypeError("a dask DataFrame has no known length: give X.to_dask_array(lengths=True)")


CONTAINERS = (
    Container("dask.array", ("Array",), _open_dask),
    Container("dask.dataframe", ("DataFrame", "Series"), _refuse_frame),
)
