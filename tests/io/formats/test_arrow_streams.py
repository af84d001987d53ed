"""Tables of libraries that distkern does not know are read through Arrow's interface."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.registry import containers, open_container
from distkern.io.source import as_source


class Relation:
    """What DuckDB and its like have in common."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("table", [pa.table, pl.DataFrame])
def test_names_values_and_gaps(table):
    source = as_source(Relation(table({"TP53": [1.0, None, 3.5], "MYC": [4, 5, 6]})))
    assert source.features == ("TP53", "MYC")
    assert source.describe() == "Relation 3 × 2"
    np.testing.assert_array_equal(source.read(slice(None)), [[1, 4], [np.nan, 5], [3.5, 6]])


def test_text_and_large_numbers_are_refused():
    with pytest.raises(InputError, match="column 'name' of the cohort holds text"):
        as_source(Relation(pa.table({"name": ["a"], "x": [1.0]})))
    with pytest.raises(InputError, match="the integer 9007199254740993 is too large"):
        as_source(Relation(pa.table({"x": [2**53 + 1], "y": [1.0]})))


def test_known_containers_come_first():
    assert [container.method is not None for container in containers()] == sorted(
        container.method is not None for container in containers()
    )
    frame = pd.DataFrame({"x": [1.0]}, index=["s"])  # it has the method too, and names of rows
    assert open_container(frame).ids.tolist() == ["s"]


def test_the_extra_is_named(monkeypatch):
    relation = Relation(pa.table({"x": [1.0]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Relation .*pip install 'distkern\[files\]'"):
        as_source(relation)
