"""Excel files: the only sheet, or the named one, read as the same text table would be."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.expression import read_expression
from distkern.io.labels import read_columns
from distkern.io.registry import find_format, table_names

CELLS = [["gene", "p1", "p2"], ["TP53", 1, 2.25], ["MYC", None, "NA"], ["relapse", "yes", "no"]]


def write(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for k, cells in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {k + 1}")
        for row in cells:
            sheet.append(row)
    with path.open("wb") as file:
        book.save(file)
    return path


@pytest.mark.parametrize("name", ["a.xlsx", "unnamed"])
def test_equal_to_the_text_table(tmp_path, name):
    path = write(tmp_path / name, CELLS, [])
    assert find_format(path).name == "Excel"
    adata = read_expression(path, samples="columns", label="relapse")
    lines = ["\t".join("" if cell is None else str(cell) for cell in row) for row in CELLS]
    (tmp_path / "a.tsv").write_text("\n".join(lines) + "\n")
    same = read_expression(tmp_path / "a.tsv", samples="columns", label="relapse")
    np.testing.assert_array_equal(adata.X, same.X)
    np.testing.assert_array_equal(adata.X, [[1, np.nan], [2.25, np.nan]])
    assert adata.obs.equals(same.obs)
    assert list(adata.var_names) == list(same.var_names) == ["TP53", "MYC"]
    assert table_names(path) == table_names(tmp_path / "a.tsv")


def test_clinical_tables_give_labels(tmp_path):
    path = write(tmp_path / "clinical.xlsx", [["id", "age", "stage"], [1001, 53, "II"], [1002, 61.5, None]])
    assert read_columns(path) == {"age": {"1001": "53", "1002": "61.5"}, "stage": {"1001": "II", "1002": ""}}


def test_symbols_that_became_dates_are_warned_of(tmp_path):
    path = write(tmp_path / "a.xlsx", [["gene", "p1"], ["TP53", 1], [datetime.datetime(2024, 9, 2), 2]])
    with pytest.warns(UserWarning, match="'2-Sep'.*spreadsheet converted"):
        assert list(read_expression(path, samples="columns").var_names) == ["TP53", "2-Sep"]


@pytest.mark.parametrize(
    ("sheets", "says"),
    [
        (
            (CELLS, [], CELLS),
            r"has 2 sheets with cells .'sheet 1', 'sheet 3'.: name one of them after a #, as in 'a\.xlsx#sheet 1'",
        ),
        (([],), "'a.xlsx' is empty"),
        ((CELLS,), "has the text 'yes' for feature 'relapse'"),
        (([["Supplementary table 1"], *CELLS[:2]],), "column 2 of 'a.xlsx' has no name"),
        (([["gene", "p1"], ["TP53", "x"]],), "sample 'p1' of 'a.xlsx' has the text 'x' for feature 'TP53'"),
        (([["gene", "p1"], ["TP53", 1], ["TP53", 2]],), "two features of 'a.xlsx' are called 'TP53'"),
    ],
)
def test_wrong_sheets_are_refused(tmp_path, sheets, says):
    with pytest.raises(InputError, match=says):
        read_expression(write(tmp_path / "a.xlsx", *sheets), samples="columns")


def test_a_sheet_is_named_after_a_sign(tmp_path):
    clinical = [["id", "stage"], ["p1", "II"], ["p2", "III"]]
    path = write(tmp_path / "a.xlsx", CELLS[:3], clinical, [["id"], ["p#1"]])
    expression, labels = f"{path}#sheet 1", f"{path}#sheet 2"
    adata = read_expression(expression, samples="columns", labels=labels, label="stage")
    assert list(adata.obs["stage"]) == ["II", "III"]
    np.testing.assert_array_equal(adata.X, pd.read_excel(path, sheet_name="sheet 1", index_col=0).T)
    assert adata.uns["distkern"]["source"] == "a.xlsx#sheet 1"
    assert read_columns(Path(labels)) == {"stage": {"p1": "II", "p2": "III"}}
    with pytest.raises(InputError, match=r"'a\.xlsx#sheet' names no sheet of its file: it has 'sheet 1', 'sheet 2'"):
        read_expression(f"{path}#sheet", samples="columns")
    with pytest.raises(InputError, match="there is no file"):
        read_expression(tmp_path / "b.xlsx#sheet 1", samples="columns")


def test_a_file_whose_name_has_the_sign_is_itself(tmp_path):
    path = write(tmp_path / "a.xlsx#old", CELLS[:3])
    assert read_expression(path, samples="columns").shape == (2, 2)


def test_the_orientation_is_asked(tmp_path):
    with pytest.raises(InputError, match=r"3 rows \('TP53', 'MYC', 'relapse'\) and 2 columns .* say which are"):
        read_expression(write(tmp_path / "a.xlsx", CELLS))


def test_damage_and_missing_extras(tmp_path, monkeypatch):
    path = write(tmp_path / "a.xlsx", CELLS)
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(InputError, match="cannot be read as an Excel file"):
        read_expression(path, samples="columns")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"Excel files .*pip install 'distkern\[files\]'"):
        read_expression(path, samples="columns")
