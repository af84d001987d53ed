"""Any array-like as plain values: NaN or None for what is masked or missing, and the names that it carries.

NumPy drops the mask of an array, the names of a table, and the markers of nullable types when it converts them. `plain`
keeps them, for arrays, masked arrays and lists, pandas, polars, pyarrow, xarray and dask, and everything that NumPy can
convert. It recognises a library by the class of the object, and imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from distkern.core.errors import InputError, InputTypeError
from distkern.core.names import is_missing
from distkern.core.typing import Array, Floats

EXACT_INTEGER = 2**53
"""Largest integer up to which float64 represents every integer."""

_NUMBERS = (Real, Decimal, np.bool_)
"""Types of the objects that are real numbers."""

AxisNames = tuple[str, ...] | None
"""Names along one axis; None if it has only positions."""


class Plain(NamedTuple):
    """Values without a container.

    Parameters
    ----------
    values
        An array without a mask, or a SciPy sparse matrix. What is missing is NaN in arrays of numbers, NaT in arrays of
        dates, and None in arrays of other objects.
    names
        For each axis its names, or None where the container has only positions.
    """

    values: Any
    names: tuple[AxisNames, ...]


def plain(X: Any, what: str = "the array") -> Plain:
    """Take the values and the names out of any array-like.

    Parameters
    ----------
    X
        A NumPy array, with or without a mask; lists of numbers or of arrays; a pandas, polars, pyarrow, xarray or dask
        object; a SciPy sparse matrix, which stays sparse; or anything that NumPy converts.
    what
        Its name in messages.

    Raises
    ------
    InputError
        If lists differ in length, or a whole number with missing values beside it is larger than float64 can hold.
    InputTypeError
        If NumPy cannot convert it.

    Examples
    --------
    >>> plain(np.ma.masked_values([[1, 2], [3, -1]], -1))
    Plain(values=array([[ 1.,  2.],
           [ 3., nan]]), names=(None, None))
    >>> import pandas as pd
    >>> plain(pd.Series([1, None], index=["p", "q"], dtype="Int64"))
    Plain(values=array([ 1., nan]), names=(('p', 'q'),))
    >>> plain(["yes", None])
    Plain(values=array(['yes', None], dtype=object), names=(None,))
    """
    reader = next((_READERS[library] for library in _libraries(X) if library in _READERS), None)
    found = _convert(X, what) if reader is None else reader(X, what)
    if isinstance(found, Plain):
        return found
    return Plain(found, (None,) * len(found.shape))


def plain_values(X: Any, what: str = "the array") -> Any:
    """Take the values out of any array-like, as `plain` does."""
    return plain(X, what).values


def numbers(X: Any, what: str = "the array") -> Floats:
    """Take the values out of any array-like as dense float64, with NaN for what is missing.

    Raises
    ------
    InputError
        If a value is no real number, or float64 would change it into another number, 0 or infinity.
    InputTypeError
        If NumPy cannot convert the array.

    Examples
    --------
    >>> numbers(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    >>> numbers(["1", "2"], "sample_weight")
    Traceback (most recent call last):
    distkern.core.errors.InputError: sample_weight must be real numbers, not text: give numbers, as astype(float) ...
    """
    values = plain_values(X, what)
    return as_floats(values.toarray() if hasattr(values, "toarray") else values, what)


def as_floats(values: Array, what: str = "the array") -> Floats:
    """Convert a plain array to float64; refuse one whose values would become other numbers, 0 or infinite.

    Whole numbers beyond 2**53 are refused, since several of them become one float64 number: a false tie.

    Raises
    ------
    InputError
        If a value is no real number, or cannot be represented.

    Examples
    --------
    >>> as_floats(np.array([9007199254740993]))
    Traceback (most recent call last):
    distkern.core.errors.InputError: the integer 9007199254740993 is too large: float64 does not represent every ...
    """
    if values.dtype.kind == "O" and all(isinstance(value, _NUMBERS) for value in values.flat):
        return np.array([_one_float(value) for value in values.flat], dtype=np.float64).reshape(values.shape)
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"{what} must be real numbers, not {_called(values)}: give numbers, as astype(float) makes them"
        )
    refuse_inexact(values)
    with np.errstate(over="ignore", under="ignore"):
        floats = np.asarray(values, dtype=np.float64)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        whole = (np.abs(values) > EXACT_INTEGER) & (np.floor(values) == values)
        lost = (floats == 0) & (values != 0) | (np.isinf(floats) & ~np.isinf(values)) | whole & (floats != values)
        if lost.any():
            wrong = values[lost].flat[0]
            raise InputError(f"the number {wrong!s} of {what} cannot be represented in float64: rescale the data")
    return floats


def refuse_inexact(values: Array) -> None:
    """Refuse integers that float64 does not tell from their neighbours.

    Raises
    ------
    InputError
        If the absolute value of an integer is larger than 2**53.
    """
    if values.size == 0 or values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return
    extremes = int(values.min()), int(values.max())
    wrong = next((value for value in extremes if abs(value) > EXACT_INTEGER), None)
    if wrong is not None:
        raise _too_large(wrong)


def _too_large(value: int) -> InputError:
    return InputError(
        f"the integer {value} is too large: float64 does not represent every integer beyond 2**53; rescale the data"
    )


def as_frame(X: Any, what: str = "the table") -> Any:
    """Return a pandas DataFrame, converted from a table of polars or pyarrow if it is one.

    Raises
    ------
    InputTypeError
        If it is no table, or pandas is not installed.
    """
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return X
    try:
        import pandas as pd
    except ImportError as error:
        raise InputTypeError(f"{what}, a {_class_of(X)}, needs pandas to be read: install it") from error
    if hasattr(X, "get_columns"):
        return pd.DataFrame({column.name: plain_values(column, what) for column in X.get_columns()})
    found = X.to_pandas(integer_object_nulls=True) if "pyarrow" in _libraries(X) and hasattr(X, "to_pandas") else None
    if not hasattr(found, "columns"):
        raise InputTypeError(f"{what} is a {_class_of(X)}: give a DataFrame")
    return found


# Arrays and lists ----------------------------------------------------------------------------------------------------


def _libraries(X: Any) -> list[str]:
    return [cls.__module__.partition(".")[0] for cls in type(X).__mro__]


def _convert(X: Any, what: str) -> Any:
    """Convert an array or a list."""
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(X)
    if hasattr(X, "tocsr"):
        return X
    if isinstance(X, (list, tuple)):
        X = [_element(part, what) for part in X]
    elif isinstance(getattr(X, "mask", None), np.ndarray) and np.shape(X.mask) == np.shape(X):
        return _unmasked(np.ma.array(np.asarray(X), mask=X.mask))
    elif not hasattr(X, "__array__") and hasattr(X, "to_pandas"):
        return plain(X.to_pandas(), what)
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InputError(f"the lists of {what} differ in length: give every sample as many values") from error
    except (TypeError, RuntimeError) as error:
        raise InputTypeError(f"{what}, a {_class_of(X)}, cannot be converted to a NumPy array: {error}") from error
    return without_markers(values)


def _element(part: Any, what: str) -> Any:
    """Take apart an element of a list if it is an array or a list, which may have a mask or markers of its own."""
    if type(part) in (int, float, str, bool):
        return part
    if part is np.ma.masked:
        return None
    nested = isinstance(part, (list, tuple)) or (hasattr(part, "__array__") and np.ndim(part) > 0)
    return plain_values(part, what) if nested else part


def _unmasked(X: Any) -> Array:
    """Fill masked values with NaN, NaT or None; an array without any keeps its type."""
    values, mask = np.asarray(X.data), np.ma.getmaskarray(X)
    if values.dtype.names is not None or not mask.any():
        return without_markers(values)
    if values.dtype.kind in "biu":
        as_floats(values[~mask])
        filled = np.where(mask, np.nan, np.where(mask, 0, values).astype(np.float64))
    elif values.dtype.kind in "fc":
        filled = np.where(mask, values.dtype.type(np.nan), values)
    elif values.dtype.kind in "mM":
        filled = np.where(mask, np.array("NaT", dtype=values.dtype), values)
    else:
        filled = values.astype(object)
        filled[mask] = None
    return without_markers(filled)


def without_markers(values: Array) -> Array:
    """Turn an array of objects into one of numbers, with NaN for what is missing, or keep it, with None for that.

    Raises
    ------
    InputError
        If a number cannot be represented as float64.

    Examples
    --------
    >>> without_markers(np.array([2, None], dtype=object)), without_markers(np.array(["a", np.nan], dtype=object))
    (array([ 2., nan]), array(['a', None], dtype=object))
    """
    if values.dtype.kind != "O":
        return values
    given = values.ravel().tolist()
    cleaned = [None if is_missing(value) else value for value in given]
    present = [value for value in cleaned if value is not None]
    if not present or not all(isinstance(value, _NUMBERS) for value in present):
        kept = np.empty(len(cleaned), dtype=object)
        kept[:] = cleaned
        return kept.reshape(values.shape)
    if len(present) == len(cleaned) and all(isinstance(value, (int, np.integer, np.bool_)) for value in present):
        return np.array(present).reshape(values.shape)
    floats = [np.nan if value is None else _one_float(value) for value in cleaned]
    return np.array(floats).reshape(values.shape)


def _one_float(value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if isinstance(value, (int, np.integer)) and abs(int(value)) > EXACT_INTEGER:
        raise _too_large(int(value))
    large = not isinstance(value, (float, np.floating)) and abs(number) >= EXACT_INTEGER and number != value
    if large or (number == 0 and value != 0) or (np.isinf(number) and value not in (np.inf, -np.inf)):
        raise InputError(f"the number {value!s:.40} cannot be represented in float64: rescale the data")
    return number


def _called(values: Array) -> str:
    kinds = {"U": "text", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations", "V": "records"}
    if values.dtype.kind == "O" and any(isinstance(value, str) for value in values.ravel()):
        return "text"
    return kinds.get(values.dtype.kind, f"{values.dtype} values")


def _class_of(X: Any) -> str:
    return f"{type(X).__module__}.{type(X).__qualname__}"


# Tables and labelled arrays ------------------------------------------------------------------------------------------


def _of_pandas(X: Any, what: str) -> Any:
    if not hasattr(X, "index") or not hasattr(
        X, "iloc"
    ):  # an Index or an extension array; NA and NaT are single values
        return _column_of_pandas(X) if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    if not hasattr(X, "columns"):
        return Plain(_column_of_pandas(X), (_index_names(X.index),))
    columns = [_column_of_pandas(X.iloc[:, k]) for k in range(X.shape[1])]
    return Plain(_side_by_side(columns, X.shape), (_index_names(X.index), _index_names(X.columns)))


def _column_of_pandas(column: Any) -> Array:
    """Values of a Series, an Index or an extension array."""
    if isinstance(column.dtype, np.dtype):
        return without_markers(np.asarray(column))
    missing = np.asarray(column.isna(), dtype=bool)
    if not missing.any():
        kind = str(getattr(column.dtype, "numpy_dtype", "O"))
        return without_markers(np.asarray(column, dtype=kind if np.dtype(kind).kind in "biuf" else None))
    return without_markers(np.asarray(column.astype(object), dtype=object))


def _index_names(index: Any) -> AxisNames:
    """Names of an axis; None for the default index, which counts from 0."""
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return None
    return tuple(map(str, index))


def _of_polars(X: Any, what: str) -> Any:
    if type(X).__name__ == "LazyFrame":
        raise InputTypeError(f"{what} is a lazy frame: give its collect()")
    if not hasattr(X, "columns"):
        return _column_with_nulls(X, X.to_numpy, X.to_list)
    columns = [_column_with_nulls(column, column.to_numpy, column.to_list) for column in X.get_columns()]
    return Plain(_side_by_side(columns, X.shape), (None, tuple(X.columns)))


def _of_pyarrow(X: Any, what: str) -> Any:
    """Convert through pandas, whose index a table may have kept; the empty cells of integers stay exact as None."""
    if not hasattr(X, "to_pandas"):
        raise InputTypeError(f"{what} is a {_class_of(X)}: give a table or an array of pyarrow")
    try:
        return _of_pandas(X.to_pandas(integer_object_nulls=True), what)
    except ImportError as error:
        raise InputTypeError(f"{what}, a {_class_of(X)}, needs pandas to be read ({error}): install it") from error


def _column_with_nulls(column: Any, to_numpy: Callable[[], Any], to_list: Callable[[], list[Any]]) -> Array:
    if not column.null_count():
        return without_markers(np.asarray(to_numpy()))
    values = np.empty(len(column), dtype=object)
    values[:] = to_list()
    return without_markers(values)


def _side_by_side(columns: Sequence[Array], shape: tuple[int, int]) -> Array:
    """Join columns into a matrix. Integers beside floats must be exact in float64, and text makes all of it objects."""
    if not columns:
        return np.empty(shape)
    types = {column.dtype for column in columns}
    if len(types) == 1:
        return np.stack(columns, axis=1)
    if all(dtype.kind in "biuf" for dtype in types):
        return np.stack([as_floats(column) for column in columns], axis=1)
    joined = np.empty(shape, dtype=object)
    for k, column in enumerate(columns):
        joined[:, k] = column
    return joined


def _of_xarray(X: Any, what: str) -> Any:
    if not hasattr(X, "dims") or hasattr(X, "data_vars"):
        raise InputTypeError(f"{what} is a {_class_of(X)}: give one of its arrays, as in X[name]")
    coords = getattr(X, "coords", {})
    names = tuple(tuple(map(str, coords[dim].values.tolist())) if dim in coords else None for dim in X.dims)
    return Plain(plain_values(X.data, what), names)


def _of_dask(X: Any, what: str) -> Any:
    return plain(X.compute(), what) if hasattr(X, "compute") else _convert(X, what)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "pandas": _of_pandas,
    "polars": _of_polars,
    "pyarrow": _of_pyarrow,
    "xarray": _of_xarray,
    "dask": _of_dask,
}
"""The function that takes apart the objects of a library."""
