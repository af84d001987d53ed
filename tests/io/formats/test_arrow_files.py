"""Parquet and Feather files: names, orientation, labels, and columns that are no numbers."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.expression import read_expression
from distkern.io.labels import read_columns
from distkern.io.registry import find_format, table_names
from distkern.io.source import as_source

ROWS = pd.DataFrame(
    {"patient": ["p1", "p2", "p3"], "TP53": [1.0, np.nan, 3.5], "MYC": [4, 5, 6], "ill": ["y", "n", "y"]}
)
GENES = pd.DataFrame({"p1": [1.0, 2.0], "p2": [3.0, 4.0]}, index=["TP53", "MYC"])


def write(path, frame, kind):
    if kind == "Parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path)
    return path


@pytest.mark.parametrize(("kind", "name"), [("Parquet", "a.parquet"), ("Parquet", "a"), ("Feather", "a.feather")])
def test_samples_in_rows_with_labels(tmp_path, kind, name):
    path = write(tmp_path / name, ROWS, kind)
    assert find_format(path).name == kind
    adata = read_expression(path, samples="rows", label="ill")
    assert (list(adata.obs_names), list(adata.var_names)) == (["p1", "p2", "p3"], ["TP53", "MYC"])
    np.testing.assert_array_equal(adata.X, [[1, 4], [np.nan, 5], [3.5, 6]])
    assert list(adata.obs["ill"]) == ["y", "n", "y"]
    assert read_columns(path)["ill"] == {"p1": "y", "p2": "n", "p3": "y"}
    assert table_names(path) == (["p1", "p2", "p3"], ["TP53", "MYC", "ill"])


@pytest.mark.parametrize("kind", ["Parquet", "Feather"])
def test_samples_in_columns(tmp_path, kind):
    path = write(tmp_path / f"a.{kind.lower()}", GENES, kind)
    adata = read_expression(path, samples="columns")
    assert (list(adata.obs_names), list(adata.var_names)) == (["p1", "p2"], ["TP53", "MYC"])
    np.testing.assert_array_equal(adata.X, [[1, 2], [3, 4]])


def test_what_is_not_said_is_asked(tmp_path):
    path = write(tmp_path / "a.parquet", GENES, "Parquet")
    for read in (read_expression, as_source):
        with pytest.raises(InputError, match=r"2 rows \('TP53', 'MYC'\) and 2 columns \('p1', 'p2'\): say which are"):
            read(path)


@pytest.mark.parametrize(
    ("frame", "how", "says"),
    [
        (ROWS, {"samples": "rows"}, "column 'ill' of 'a.parquet' holds text, such as 'y': .*if it holds labels write"),
        (ROWS, {"samples": "columns"}, "column 'ill' of 'a.parquet' holds text, such as 'y': take it out"),
        (ROWS, {"samples": "rows", "label": "sick"}, "has no column 'sick' with labels of samples"),
        (GENES.iloc[:0], {"samples": "rows"}, "contains no numbers: it has 0 rows and 2 columns"),
        (GENES.rename({"MYC": "TP53"}), {"samples": "columns"}, "two features of 'a.parquet' are called 'TP53'"),
        (ROWS.assign(ill=["y", None, "n"]), {"samples": "rows", "label": "ill"}, "sample 'p2' has the label ''"),
        (
            GENES.assign(Entrez_Gene_Id=[7157, 4609]),
            {"samples": "columns"},
            "column 'Entrez_Gene_Id' of 'a.parquet' seems to hold ids of the features",
        ),
        (GENES.assign(p2=[2**53 + 1, 1]), {"samples": "columns"}, "the integer 9007199254740993 is too large"),
    ],
)
def test_wrong_tables_are_refused(tmp_path, frame, how, says):
    with pytest.raises(InputError, match=says):
        read_expression(write(tmp_path / "a.parquet", frame, "Parquet"), **how)


@pytest.mark.parametrize("kind", ["Parquet", "Feather"])
def test_damage_and_missing_extras(tmp_path, kind, monkeypatch):
    path = write(tmp_path / f"a.{kind.lower()}", GENES, kind)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=f"cannot be read as a {kind} file .*: if it is damaged, get it again"):
        read_expression(path, samples="rows")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'distkern\[files\]'"):
        read_expression(path, samples="rows")
