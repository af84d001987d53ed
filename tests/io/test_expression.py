"""Reading cohorts into AnnData: names are checked, and the orientation is never guessed."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.io.expression import read_expression

NAN = np.nan


GENES_IN_ROWS = "gene,p1,p2,p3\nTP53,1,2,3\nMYC,4,5.5,6\n"


def write(folder: Path, text: str, name: str = "cohort.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def clinical(folder: Path, text: str) -> Path:
    return write(folder, text, "clinical.csv")


TRICKY = ["MA", "NA", "OA", "NaN", "None", "null", "nan", "01", "001", "1", "TRUE", "2310009E13", "1e5", "N/A", "-inf"]


names = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=8).map(str.strip).filter(bool)


@pytest.mark.parametrize("samples", ["rows", "columns"])
def test_spaces_around_a_name_are_removed(tmp_path, samples):
    path = write(tmp_path, "id, a ,b\u00a0\n s1,1,2\ns2 ,3,4\nin side,5,6\n")
    adata = read_expression(path, samples=samples)
    long, short = (adata.obs_names, adata.var_names) if samples == "rows" else (adata.var_names, adata.obs_names)
    assert list(long) == ["s1", "s2", "in side"]
    assert list(short) == ["a", "b"]
    labelled = read_expression(
        write(tmp_path, "id,p1 , p2\nTP53,1,2\n"),
        samples="columns",
        labels=clinical(tmp_path, "id,relapse \np2 ,no\n p1,yes\n"),
        label="relapse",
    )
    assert list(labelled.obs["relapse"]) == ["yes", "no"]


def test_leading_tilde_becomes_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, GENES_IN_ROWS)
    clinical(tmp_path, "id,y\np1,a\np2,b\np3,a\n")
    adata = read_expression("~/cohort.csv", samples="columns", labels="~/clinical.csv")
    assert list(adata.obs["y"]) == ["a", "b", "a"]


@pytest.mark.parametrize("name", ["2-Sep", "1-Mar", "Mar-01", "Sept-2", "2.31E+19"])
def test_names_that_a_spreadsheet_changed_are_reported_and_kept(tmp_path, name):
    text = f"gene,p1,p2\n{name},1,2\nTP53,3,4\n"
    with pytest.warns(UserWarning, match=f"1 of 2 features .*'{name.replace('+', '.')}'.*spreadsheet") as record:
        adata = read_expression(write(tmp_path, text), samples="columns")
    assert list(adata.var_names) == [name, "TP53"]
    assert record[0].filename == __file__


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gene,p1,p1\nA,1,2\n", "two samples of 'cohort.csv' are called 'p1', number 1 and 2"),
        ("gene,p1,p2\nA,1,2\nB,1,2\nA,1,2\n", "two features of 'cohort.csv' are called 'A', number 1 and 3"),
        ("gene,p1,\nA,1,2\n", "column 3 of 'cohort.csv' has no name"),
        ("gene,p1, \nA,1,2\n", "column 3 of 'cohort.csv' has no name"),
        ("gene,p1,p1 \nA,1,2\n", "called 'p1', number 1 and 2: make the names unique; spaces around them are ignored"),
        ("gene,p1,p2\nA,1,2\n A,1,2\n", "two features of 'cohort.csv' are called 'A', number 1 and 2"),
        ("gene,p1\n,1\n", "number 1 of the features .* has no name"),
    ],
)
def test_repeated_and_missing_names_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_expression(write(tmp_path, text), samples="columns")


def test_orientation_is_never_guessed(tmp_path):
    path = write(tmp_path, GENES_IN_ROWS)
    with pytest.raises(InputError, match=r"2 rows \('TP53', 'MYC'\) and 3 columns \('p1', 'p2', 'p3'\).*say which"):
        read_expression(path)
    by_columns = read_expression(path, samples="columns")
    np.testing.assert_array_equal(by_columns.X, [[1, 4], [2, 5.5], [3, 6]])
    assert by_columns.X.dtype == np.float64
    assert by_columns.X.flags.c_contiguous
    by_rows = read_expression(path, samples="rows")
    np.testing.assert_array_equal(by_rows.X, [[1, 2, 3], [4, 5.5, 6]])
    assert by_rows.uns["distkern"] == {"source": "cohort.csv"}
    with pytest.raises(InputError, match="samples='cols' must be"):
        read_expression(path, samples="cols")


def cohort(X, ids=("a", "b"), features=("x", "y")) -> anndata.AnnData:
    obs = pd.DataFrame({"tissue": ["T", "N"]}, index=list(ids))
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=list(features)))


def test_an_orientation_that_the_file_states_is_not_asked_for(tmp_path):
    cohort(np.eye(2)).write_h5ad(tmp_path / "c.h5ad")
    with pytest.raises(InputError, match="leave out samples='columns'"):
        read_expression(tmp_path / "c.h5ad", samples="columns")


def test_unknown_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_expression(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match=r"of no known format.*\.h5ad.*\.npz.*\.zarr.*\.csv, \.tsv"):
        read_expression(write(tmp_path, "x", "cohort.dat"))
    with pytest.raises(InputError, match=r"is a spreadsheet of an old .* kind, which is not read: save it as \.xlsx"):
        read_expression(write(tmp_path, "x", "cohort.xls"))
