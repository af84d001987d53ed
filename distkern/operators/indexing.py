"""Indexing of Gram matrices: slices, masks, lists and ``np.ix_`` become arrays of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from distkern.core.alignment import SampleNames, refuse_other_names
from distkern.core.containers import plain
from distkern.core.errors import InputError, InputTypeError, PositionError
from distkern.core.typing import Indices


def as_indices(key: Any, size: int, axis: str, samples: Callable[[], SampleNames] | None = None) -> Indices:
    """Turn a slice, a list of positions or a boolean mask over ``size`` samples into positions.

    Parameters
    ----------
    key, size
        The selection, and the number of samples.
    axis
        Name of the axis in messages.
    samples
        Function that returns the names of the samples, with which the names of a mask are compared.

    Raises
    ------
    InputError
        If a position is outside the matrix, the length of a mask is not that of the axis, or a mask has the names of
        other samples, or missing values.

    Examples
    --------
    >>> as_indices([True, False, True], 3, "rows")
    array([0, 2])
    >>> as_indices(slice(None, None, 2), 5, "rows")
    array([0, 2, 4])
    >>> as_indices([-1], 5, "rows")
    array([4])
    """
    if isinstance(key, slice):
        try:
            return np.arange(size, dtype=np.intp)[key]
        except TypeError as error:
            raise InputTypeError(
                f"the {axis} are sliced by positions, not by names: {key!r} has an end that is no whole number"
            ) from error
    positions, names = plain(key, f"the selection of {axis}")
    if positions.size == 0:
        return np.empty(0, dtype=np.intp)
    if positions.dtype == bool:
        if samples is not None and names[0] is not None:
            refuse_other_names(names[0], samples(), "the mask", f"align it, as in mask.loc[{samples().listed}]")
        if positions.shape != (size,):
            raise InputError(f"the mask of the {axis} has shape {positions.shape}; it must be ({size},)")
        return np.flatnonzero(positions)
    if positions.dtype.kind not in "iu" or positions.ndim != 1:
        raise InputError(f"the {axis} must be a slice, a boolean mask or a list of positions, not {key!r}")
    positions = positions.astype(np.intp)
    if positions.min() < -size or positions.max() >= size:
        raise PositionError(f"the {axis} reach from {positions.min()} to {positions.max()}; there are {size} samples")
    return np.where(positions < 0, positions + size, positions)


def split_key(key: Any) -> tuple[Any, Any]:
    """Split the key of ``gram[key]`` into a key of the rows and a key of the columns; ``...`` is all of an axis.

    ``np.ix_(rows, cols)``, which scikit-learn uses, selects a block. Two lists select single entries in NumPy; they are
    refused as ambiguous.

    Raises
    ------
    InputError
        If there are more than two keys, or the two are lists.
    """
    keys = key if isinstance(key, tuple) else (key,)
    dots = [position for position, part in enumerate(keys) if part is Ellipsis]
    before, after = (keys[: dots[0]], keys[dots[0] + 1 :]) if dots else (keys, ())
    keys = (*before, *[slice(None)] * (2 - len(before) - len(after)), *after)
    if len(keys) != 2 or len(dots) > 1:
        raise InputError(f"a Gram matrix has two axes; got {len(key)} indices")
    rows, cols = keys
    if np.ndim(rows) == 2 and np.ndim(cols) == 2 and np.shape(rows)[1] == 1 and np.shape(cols)[0] == 1:
        return np.ravel(rows), np.ravel(cols)
    if np.ndim(rows) == 1 and np.ndim(cols) == 1:
        raise InputError("two lists of positions are ambiguous: write gram[np.ix_(rows, cols)] or gram[rows][:, cols]")
    return rows, cols
