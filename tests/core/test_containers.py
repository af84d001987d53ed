"""Every container gives its values, what is missing in them, and its names; what float64 cannot hold is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from distkern.core.containers import as_floats, as_frame, numbers, plain, plain_values
from distkern.core.errors import InputError, InputTypeError

NAN = np.nan
MASKED = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
FRAME = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [1.5, 2.0]}, index=["p", "q"])


class Columns:
    """A table with the methods of polars that are used: its columns have a count of nulls, and a list of values."""

    def __init__(self, **columns):
        self._columns, self.columns = columns, list(columns)
        self.shape = len(next(iter(columns.values()))), len(columns)

    def get_columns(self):
        return [Column(name, values) for name, values in self._columns.items()]


class Column:
    """One column of `Columns`."""

    def __init__(self, name, values):
        self.name, self._values = name, values

    def null_count(self):
        return self._values.count(None)

    def to_numpy(self):
        return np.array(self._values)

    def to_list(self):
        return list(self._values)

    def __len__(self):
        return len(self._values)


class Labelled:
    """An array with the members of xarray that are used."""

    def __init__(self, data, **coords):
        self.data, self.dims = data, ("sample", "gene")
        self.coords = {name: pd.Series(values) for name, values in coords.items()}


for stand_in, library in ((Columns, "polars.dataframe"), (Column, "polars.series"), (Labelled, "xarray.core")):
    stand_in.__module__ = library


@pytest.mark.parametrize(
    ("X", "values", "names"),
    [
        (MASKED, [[1, NAN], [3, 4]], (None, None)),  # sklearn#10186
        ([MASKED[0], MASKED[1]], [[1, NAN], [3, 4]], (None, None)),
        ([[1, np.ma.masked], [3, 4]], [[1, NAN], [3, 4]], (None, None)),
        (np.ma.array([True, False], mask=[True, False]), [NAN, 0], (None,)),
        (da.ma.masked_equal(da.from_array([[1.0, 2], [3, 4]], chunks=1), 2), [[1, NAN], [3, 4]], (None, None)),
        (FRAME, [[1, 1.5], [NAN, 2]], (("p", "q"), ("a", "b"))),
        (FRAME["a"], [1, NAN], (("p", "q"),)),
        (FRAME["a"].array, [1, NAN], (None,)),
        (pd.DataFrame([[1, 2]]), [[1, 2]], (None, None)),
        (pd.Series([1, 2], index=[7157, 4609]), [1, 2], (("7157", "4609"),)),
        (pd.Series([5, 6], index=[1, 0]), [5, 6], (("1", "0"),)),
        (pd.Series(pd.Categorical([3, None])), [3, NAN], (None,)),
        (pd.Series([True, None], dtype="boolean"), [1, NAN], (None,)),
        (pd.Series([1, None], dtype="int64[pyarrow]"), [1, NAN], (None,)),
        (dd.from_pandas(pd.Series([1.0, 2.0], index=["p", "q"]), npartitions=1), [1, 2], (("p", "q"),)),
        (pa.table({"a": [1, None], "b": [1.5, 2.0]}), [[1, 1.5], [NAN, 2]], (None, ("a", "b"))),
        (pa.Table.from_pandas(FRAME), [[1, 1.5], [NAN, 2]], (("p", "q"), ("a", "b"))),
        (pa.chunked_array([[1, None], [3]]), [1, NAN, 3], (None,)),
        (Columns(a=[1, None], b=[1.5, 2.0]), [[1, 1.5], [NAN, 2]], (None, ("a", "b"))),
        (Labelled(MASKED, gene=["A", "B"]), [[1, NAN], [3, 4]], (None, ("A", "B"))),
        ([[1, None], [2, 3]], [[1, NAN], [2, 3]], (None, None)),
        ([Decimal("0.1"), Fraction(1, 2), None], [0.1, 0.5, NAN], (None,)),
        (7.5, 7.5, ()),
    ],
)
def test_values_that_are_missing_become_nan_and_names_are_kept(X, values, names):
    found = plain(X)
    assert found.values.dtype.kind in "biuf"
    np.testing.assert_array_equal(found.values, values)
    assert found.names == names


@pytest.mark.parametrize(
    ("X", "values"),
    [
        (np.ma.array(["a", "b"], mask=[False, True]), ["a", None]),
        (pd.Series(pd.Categorical(["a", None])), ["a", None]),
        (pd.Series(["a", None], dtype="string"), ["a", None]),
        (["a", np.nan], ["a", "nan"]),  # NumPy makes text of it, as scikit-learn does
        (np.array(["a", np.nan], dtype=object), ["a", None]),
        (Column("x", ["a", None]), ["a", None]),
    ],
)
def test_missing_text_is_none(X, values):
    assert plain_values(X).tolist() == values


def test_an_array_without_missing_values_keeps_its_type():
    for X in (np.arange(3, dtype=np.int16), np.ma.arange(3, dtype=np.int16), np.array(["a", "b"])):
        assert plain_values(X).dtype == X.dtype
    assert plain_values(pd.Series([2**60 + 1], dtype="Int64")).tolist() == [2**60 + 1]
    matrix = sparse.csr_matrix(np.eye(2))
    assert plain_values(matrix) is matrix
    np.testing.assert_array_equal(numbers(matrix), np.eye(2))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["1", "2"], "x must be real numbers, not text"),
        (np.array(["1", None], dtype=object), "not text"),
        ([1j], "complex"),
        (np.array(["2020"], dtype="M8[D]"), "dates"),
        (np.array([{1}]), "object values"),
        ([[1], [1, 2]], "lists of x differ in length"),
        ([2**53 + 1], "integer 9007199254740993 is too large"),
        ([2**70], "too large"),
        ([-(2**53) - 1, None], "integer -9007199254740993 is too large"),
        (pd.Series([2**53 + 1, None], dtype="Int64"), "too large"),
        (pd.DataFrame({"a": [2**53 + 1], "b": [0.5]}), "too large"),
        (np.ma.array([2**53 + 1, 0], mask=[False, True]), "too large"),
        (np.array([2**64 - 1], dtype=np.uint64), "too large"),
        ([Decimal("9007199254740993")], "cannot be represented"),
        ([Decimal("1e-400")], "cannot be represented"),
        ([Decimal("1e999")], "cannot be represented"),
        ([Fraction(10**400)], "cannot be represented"),
        ([Fraction(1, 10**400)], "cannot be represented"),
    ],
)
def test_what_float64_would_change_is_refused(X, message):
    with pytest.raises(InputError, match=message):
        numbers(X, "x")


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(float).eps, reason="long double is float64 here")
@pytest.mark.parametrize("text", ["9007199254740993", "1e-400", "1e999"])
def test_long_doubles_that_float64_would_change_are_refused(text):
    assert np.isfinite(np.longdouble(text))
    with pytest.raises(InputError, match="cannot be represented"):
        as_floats(np.array([np.longdouble(text)]))


def test_exact_extremes_pass():
    np.testing.assert_array_equal(numbers([2**53, -(2**53)]), [2.0**53, -(2.0**53)])
    np.testing.assert_array_equal(numbers([np.inf, Decimal("Infinity"), 5e-324]), [np.inf, np.inf, 5e-324])


def test_a_table_of_another_library_becomes_a_frame():
    assert as_frame(FRAME) is FRAME
    for table in (pa.table({"a": [1, 2]}), Columns(a=[1, 2])):
        assert as_frame(table)["a"].tolist() == [1, 2]
    with pytest.raises(InputTypeError, match=r"the table is a builtins.list"):
        as_frame([[1]])


def test_objects_without_values_are_refused_by_their_class():
    with pytest.raises(InputTypeError, match="lazy frame: give its collect"):
        plain(type("LazyFrame", (), {"__module__": "polars.lazyframe"})())
    with pytest.raises(InputTypeError, match="give one of its arrays"):
        plain(type("Dataset", (), {"__module__": "xarray.core", "data_vars": {}, "dims": ()})())
