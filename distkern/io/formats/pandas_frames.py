"""pandas: a DataFrame with a row for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.containers import plain_values
from distkern.core.errors import InputError
from distkern.core.typing import Array
from distkern.io.blocks import Reader, Rows
from distkern.io.format import Container, Opened


class FrameReader(Reader):
    """Rows of a pandas DataFrame whose columns may have different numeric types."""

    kind = "DataFrame"

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.shape = frame.shape
        self.dtypes = tuple(frame.dtypes)

    def take(self, rows: Rows) -> Array:
        """Read rows; missing values of nullable columns become NaN."""
        block = self.frame.iloc[rows]
        nullable = any(not isinstance(dtype, np.dtype) for dtype in self.dtypes)
        if nullable or len(set(self.dtypes)) > 1:
            if any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in self.dtypes):
                return plain_values(block)  # compares integers with 2**53 before they become float64
        if nullable:
            return block.to_numpy(dtype=np.float64, na_value=np.nan)
        return block.to_numpy()


def _open_frame(frame: Any) -> Opened:
    return Opened(FrameReader(frame), frame.index, frame.columns)


def _refuse_series(series: Any) -> Opened:
    raise InputError("a Series is one sample or one feature: give a DataFrame with a row per sample")


CONTAINERS = (
    Container("pandas", ("DataFrame",), _open_frame),
    Container("pandas", ("Series",), _refuse_series),
)
