"""Reading cohorts: no name changes, no orientation is guessed, nothing missing passes for something."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.expression import read_expression

NAN = np.nan
GENES_IN_ROWS = "gene,p1,p2,p3\nTP53,1,2,3\nMYC,4,5.5,6\n"


def write(folder: Path, text: str, name: str = "cohort.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def clinical(folder: Path, text: str) -> Path:
    return write(folder, text, "clinical.csv")


# Names -------------------------------------------------------------------------------------------------------------

TRICKY = ["MA", "NA", "OA", "NaN", "None", "null", "nan", "01", "001", "1", "TRUE", "2310009E13", "1e5", "N/A", "-inf"]


@pytest.mark.parametrize("samples", ["rows", "columns"])
def test_no_name_changes(tmp_path, samples):
    numbers = [f"{row + 0.5}" for row in range(len(TRICKY))]
    down = "id\tx\tNA\n" + "".join(f"{n}\t{v}\t1\n" for n, v in zip(TRICKY, numbers, strict=True))
    adata = read_expression(write(tmp_path, down, "t.tsv"), samples=samples)
    long, short = (adata.obs_names, adata.var_names) if samples == "rows" else (adata.var_names, adata.obs_names)
    assert list(long) == TRICKY
    assert list(short) == ["x", "NA"]


def test_blank_values_are_missing_and_the_name_na_stays(tmp_path):
    text = "state,a,b,c\nMA,1,,3\nNA,NA,2,NaN\nOA,nan,1e3,-4\n"
    adata = read_expression(write(tmp_path, text), samples="rows")
    np.testing.assert_array_equal(adata.X, [[1, NAN, 3], [NAN, 2, NAN], [NAN, 1000, -4]])
    assert list(adata.obs_names) == ["MA", "NA", "OA"]


names = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=8).map(str.strip).filter(bool)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(names, min_size=1, max_size=4, unique=True),
    st.lists(names, min_size=1, max_size=4, unique=True),
    st.sampled_from("\t,;"),
    st.data(),
)
def test_any_table_comes_back_as_it_was(tmp_path, ids, features, sep, data):
    number = st.floats(allow_infinity=False)
    values = data.draw(st.lists(st.lists(number, min_size=len(features), max_size=len(features)), min_size=len(ids)))
    frame = pd.DataFrame(values[: len(ids)], index=ids, columns=features)
    quoting = data.draw(st.sampled_from([1, 2]))  # all cells, or all that are no numbers
    frame.to_csv(tmp_path / "t.txt", sep=sep, quoting=quoting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names such as 2-Sep
        adata = read_expression(tmp_path / "t.txt", samples="rows", sep=sep)
    np.testing.assert_array_equal(adata.X, frame.to_numpy())
    assert list(adata.obs_names) == ids
    assert list(adata.var_names) == features


@pytest.mark.parametrize("samples", ["rows", "columns"])
def test_spaces_around_a_name_are_no_part_of_it(tmp_path, samples):
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


def test_a_tilde_is_a_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, GENES_IN_ROWS)
    clinical(tmp_path, "id,y\np1,a\np2,b\np3,a\n")
    adata = read_expression("~/cohort.csv", samples="columns", labels="~/clinical.csv")
    assert list(adata.obs["y"]) == ["a", "b", "a"]


@pytest.mark.parametrize("name", ["2-Sep", "1-Mar", "Mar-01", "Sept-2", "2.31E+19"])
def test_names_that_a_spreadsheet_mangled_are_told_and_kept(tmp_path, name):
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
        ("gene,p1,p1 \nA,1,2\n", "called 'p1', number 1 and 2: make the names unique, spaces around them aside"),
        ("gene,p1,p2\nA,1,2\n A,1,2\n", "two features of 'cohort.csv' are called 'A', number 1 and 2"),
        ("gene,p1\n,1\n", "number 1 of the features .* has no name"),
    ],
)
def test_names_that_repeat_or_lack(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_expression(write(tmp_path, text), samples="columns")


# Orientation -------------------------------------------------------------------------------------------------------


def test_orientation_is_stated_never_guessed(tmp_path):
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


# Bytes -------------------------------------------------------------------------------------------------------------


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    marked = read_expression(write(tmp_path, GENES_IN_ROWS, encoding="utf-8-sig"), samples="columns", label=None)
    assert list(marked.var_names) == ["TP53", "MYC"]
    cornerless = write(tmp_path, "p1,p2,p3\nTP53,1,2,3\n", encoding="utf-8-sig")
    assert list(read_expression(cornerless, samples="columns").obs_names) == ["p1", "p2", "p3"]


@pytest.mark.parametrize(("name", "compressed"), [("t.csv.gz", True), ("t.csv.gz", False), ("t.csv", True)])
def test_the_first_two_bytes_say_whether_it_is_compressed(tmp_path, name, compressed):
    raw = GENES_IN_ROWS.encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if compressed else raw)
    assert read_expression(tmp_path / name, samples="columns").shape == (3, 2)


def test_damaged_and_foreign_text(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(GENES_IN_ROWS.encode())[:-12])
    with pytest.raises(InputError, match="damaged gzip"):
        read_expression(tmp_path / "t.csv.gz", samples="columns")
    with pytest.raises(InputError, match="not UTF-8"):
        read_expression(write(tmp_path, "gene,größe\nA,1\n", encoding="latin-1"), samples="rows")
    with pytest.raises(InputError, match="cannot be read as a table"):
        read_expression(write(tmp_path, 'gene,p1\n"A,1\n'), samples="rows")


@pytest.mark.parametrize("sep", ["\t", ",", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_are_found(tmp_path, sep, end):
    text = GENES_IN_ROWS.replace(",", sep).replace("\n", end)
    adata = read_expression(write(tmp_path, text, "t.txt"), samples="columns")
    assert (adata.shape, list(adata.obs_names)) == ((3, 2), ["p1", "p2", "p3"])


def test_separators_inside_quotes_do_not_count(tmp_path):
    text = 'id;"a,b,c";d\ns1;1;2\n'
    assert list(read_expression(write(tmp_path, text), samples="rows").var_names) == ["a,b,c", "d"]
    with pytest.raises(InputError, match="state its separator with sep="):
        read_expression(write(tmp_path, "id|a\ns1|1\n"), samples="rows")
    assert read_expression(write(tmp_path, "id|a\ns1|1\n"), samples="rows", sep="|").shape == (1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,a,b\ns1,1,2\ns2,1\n", "line 3 .* 1 cells .* 2 columns"),
        ("id,a,b\ns1,1,2\n\ns2,1,2,3\n", "line 4 .* 3 cells"),
        ("id,a\n", "holds no numbers"),
        ("", "is empty"),
        ("\n\n", "is empty"),
    ],
)
def test_tables_that_are_cut_or_empty(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_expression(write(tmp_path, text), samples="rows")


# Numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["inf", "-Infinity", "1e999"])
def test_infinite_values_are_named(tmp_path, text):
    path = write(tmp_path, f"id,a,b\ns1,1,2\ns2,3,{text}\n")
    with pytest.raises(
        InputError, match=r"sample 's2' of 'cohort\.csv' has an infinite value for feature 'b': .*empty"
    ):
        read_expression(path, samples="rows")
    with pytest.raises(InputError, match=r"sample 'b' of 'cohort\.csv' has an infinite value for feature 's2'"):
        read_expression(path, samples="columns")


@pytest.mark.parametrize("text", ["tumour", "null", "#N/A", "1_000", "0x10", "--"])
def test_text_among_numbers_names_sample_feature_and_text(tmp_path, text):
    with pytest.raises(InputError, match=f"sample 's2' .* text '{text}' for feature 'b'.*label='b'.*samples='columns'"):
        read_expression(write(tmp_path, f"id,a,b\ns1,1,2\ns2,3,{text}\n"), samples="rows")
    with pytest.raises(InputError, match=f"sample 'b' .* text '{text}' for feature 's2'.*label='s2'.*samples='rows'"):
        read_expression(write(tmp_path, f"id,a,b\ns1,1,2\ns2,3,{text}\n"), samples="columns")


def test_a_decimal_comma_is_explained(tmp_path):
    with pytest.raises(InputError, match="'2,5' for feature 'b': write numbers with a decimal point"):
        read_expression(write(tmp_path, "id;a;b\ns1;1;2,5\n"), samples="rows")


# Labels ------------------------------------------------------------------------------------------------------------


def test_labels_inside_the_table(tmp_path):
    rows = write(tmp_path, "id,a,tissue,b\n1,1,T,2\n2,3,N,4\n")
    columns = write(tmp_path, "id,1,2\na,1,3\ntissue,T,N\nb,2,4\n", "columns.csv")
    for adata in (
        read_expression(rows, samples="rows", label="tissue"),
        read_expression(columns, samples="columns", label="tissue"),
    ):
        np.testing.assert_array_equal(adata.X, [[1, 2], [3, 4]])
        assert list(adata.var_names) == ["a", "b"]
        assert list(adata.obs["tissue"]) == ["T", "N"]
        assert adata.uns["distkern"]["label"] == "tissue"


@pytest.mark.parametrize(
    ("text", "samples", "message"),
    [
        ("id,a\n1,1\n", "rows", "no column 'tissue'"),
        ("id,a\n1,1\n", "columns", "no row 'tissue'"),
        ("id,a,tissue\n1,1,T\n2,3,\n", "rows", "sample '2' has the label ''"),
        ("id,a,tissue\n1,1,T\n2,3,NA\n", "rows", "sample '2' has the label 'NA'"),
        ("id,1\ntissue,T\na,1\ntissue,T\n", "columns", "two rows 'tissue'"),
        ("id,tissue\n1,T\n", "rows", "holds no numbers"),
    ],
)
def test_labels_that_are_not_in_the_table(tmp_path, text, samples, message):
    with pytest.raises(InputError, match=message):
        read_expression(write(tmp_path, text), samples=samples, label="tissue")


def test_labels_of_a_second_file_are_matched_by_id(tmp_path):
    path = write(tmp_path, GENES_IN_ROWS)
    others = clinical(tmp_path, "id;age;relapse\np3;50;no\np1;60;yes\nextra;1;yes\np2;70;yes\n")
    adata = read_expression(path, samples="columns", labels=others, label="relapse")
    assert list(adata.obs["relapse"]) == ["yes", "yes", "no"]
    assert adata.uns["distkern"] == {"source": "cohort.csv", "label": "relapse"}
    single = clinical(tmp_path, "id,relapse\np3,no\np1,yes\np2,yes\n")
    assert list(read_expression(path, samples="columns", labels=single).obs["relapse"]) == ["yes", "yes", "no"]


@pytest.mark.parametrize(
    ("text", "label", "message"),
    [
        ("id,relapse\np1,yes\np2,no\n", None, "1 of 3 samples have no label in 'clinical.csv', .*'p3'"),
        ("id,relapse\nx1,yes\nx2,no\n", None, "none of the 3 samples .*its ids begin 'x1', 'x2'; .*'p1'"),
        ("id,relapse\np1,yes\np1,no\n", None, "two rows 'p1'"),
        ("id,relapse\np1,yes\np1 ,no\n", None, "two rows 'p1'"),
        ("id,relapse,relapse \np1,yes,no\n", "relapse", "two columns 'relapse'"),
        ("id,relapse\np1,yes\np2,\np3,no\n", None, "sample 'p2' has the label ''"),
        ("id,relapse,age\np1,1,1\np2,1,1\np3,1,1\n", None, r"several columns .*'relapse', 'age'"),
        ("id,relapse\np1,yes\np2,no\np3,no\n", "age", "no column 'age'.*'relapse'"),
        ("id,relapse\nTP53,yes\nMYC,no\n", None, "match 2 features and 0 samples.*transposed, so write samples='rows'"),
    ],
)
def test_labels_of_a_second_file_that_do_not_fit(tmp_path, text, label, message):
    path = write(tmp_path, GENES_IN_ROWS)
    with pytest.raises(InputError, match=message):
        read_expression(path, samples="columns", labels=clinical(tmp_path, text), label=label)


def test_a_file_of_labels_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"no file of labels .*none\.csv"):
        read_expression(write(tmp_path, GENES_IN_ROWS), samples="columns", labels=tmp_path / "none.csv")


# Binary files ------------------------------------------------------------------------------------------------------


def cohort(X, ids=("a", "b"), features=("x", "y")) -> anndata.AnnData:
    obs = pd.DataFrame({"tissue": ["T", "N"]}, index=list(ids))
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=list(features)))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_h5ad(tmp_path, layout):
    X = np.array([[1, 0], [0, 2.5]], dtype=np.float32)
    cohort(layout(X)).write_h5ad(tmp_path / "c.h5ad")
    adata = read_expression(tmp_path / "c.h5ad", label="tissue")
    assert adata.X.dtype == np.float64
    assert sparse.issparse(adata.X) == (layout is not np.asarray)
    np.testing.assert_array_equal(adata.to_df(), X)
    assert adata.uns["distkern"] == {"source": "c.h5ad", "label": "tissue"}
    with pytest.raises(InputError, match=r"no column 'stage': it has 'tissue'"):
        read_expression(tmp_path / "c.h5ad", label="stage")
    with pytest.raises(InputError, match="leave out samples='columns'"):
        read_expression(tmp_path / "c.h5ad", samples="columns")


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_infinite_values_of_h5ad_are_named(tmp_path, layout):
    cohort(layout(np.array([[1, 0], [0, np.inf]]))).write_h5ad(tmp_path / "c.h5ad")
    with pytest.raises(InputError, match=r"sample 'b' .* feature 'y'"):
        read_expression(tmp_path / "c.h5ad")


def test_h5ad_that_cannot_be_used(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        cohort(np.eye(2), ids=("a", "a")).write_h5ad(tmp_path / "twice.h5ad")
    with pytest.raises(InputError, match=r"two samples of 'twice\.h5ad' are called 'a'"):
        read_expression(tmp_path / "twice.h5ad")
    anndata.AnnData(obs=pd.DataFrame(index=["a"])).write_h5ad(tmp_path / "empty.h5ad")
    with pytest.raises(InputError, match="no X"):
        read_expression(tmp_path / "empty.h5ad")
    missing = cohort(np.eye(2))
    missing.obs["tissue"] = pd.Categorical(["T", None])
    missing.write_h5ad(tmp_path / "missing.h5ad")
    with pytest.raises(InputError, match=r"sample 'b' of 'missing\.h5ad' has no 'tissue'"):
        read_expression(tmp_path / "missing.h5ad", label="tissue")
    with pytest.raises(InputError, match="cannot be read"):
        read_expression(write(tmp_path, "text", "text.h5ad"))


def test_labels_of_a_second_file_go_with_any_format(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(2, dtype=int))
    labels = clinical(tmp_path, "row,y\n1,b\n0,a\n")
    adata = read_expression(tmp_path / "X.npy", labels=labels)
    assert list(adata.obs["y"]) == ["a", "b"]
    assert adata.X.dtype == np.float64
    turned = clinical(tmp_path, "id,y\nx,1\ny,2\n")
    cohort(np.eye(2)).write_h5ad(tmp_path / "c.h5ad")
    with pytest.raises(InputError, match=r"transposed, so transpose it"):
        read_expression(tmp_path / "c.h5ad", labels=turned)
    with pytest.raises(InputError, match="holds no labels"):
        read_expression(tmp_path / "X.npy", label="y")


def test_npz(tmp_path):
    np.savez(tmp_path / "c.npz", X=np.eye(2), y=["T", "N"], samples=["a", "b"], features=["x", "y"], age=[60, 50])
    adata = read_expression(tmp_path / "c.npz")
    assert list(adata.obs_names) + list(adata.var_names) == ["a", "b", "x", "y"]
    assert list(adata.obs["label"]) == ["T", "N"]
    assert adata.uns["distkern"]["label"] == "label"
    assert read_expression(tmp_path / "c.npz", label="age").obs["age"].tolist() == [60, 50]
    with pytest.raises(InputError, match=r"no array 'stage'.*those that have one: y, age"):
        read_expression(tmp_path / "c.npz", label="stage")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(2), "samples": ["a"]}, "1 names for 2 samples"),
        ({"X": np.eye(2), "samples": ["a", "a"]}, "two samples .* 'a'"),
        ({"X": np.arange(3)}, r"shape \(3,\)"),
        ({"X": np.array([["a"]])}, "not real numbers"),
        ({"X": np.array([[np.inf]])}, "sample '0' .* feature '0'"),
        ({"A": np.eye(2), "B": np.eye(2)}, r"A \(2, 2\), B \(2, 2\)"),
        ({"X": np.array([[object]])}, "cannot be read"),
    ],
)
def test_npz_that_cannot_be_used(tmp_path, arrays, message):
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_expression(tmp_path / "c.npz")


@pytest.mark.parametrize("name", ["c.npy", "c.npz"])
@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04N.", b"PK\x03\x04broken"])
def test_nobody_is_told_to_unpickle_a_file(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="damaged or holds Python objects: get the file again") as raised:
        read_expression(tmp_path / name)
    assert "pickle" not in str(raised.value)


def test_ids_that_differ_by_spaces_only_cannot_be_labelled(tmp_path):
    np.savez(tmp_path / "c.npz", X=np.eye(2), samples=["a", "a "])
    with pytest.raises(InputError, match="the samples 'a' and 'a ' of the cohort differ by spaces only: rename one"):
        read_expression(tmp_path / "c.npz", labels=clinical(tmp_path, "id,y\na,1\n"))


def test_zarr(tmp_path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Writing zarr v2 data", category=UserWarning)
        cohort(np.eye(2)).write_zarr(tmp_path / "ad.zarr")
    adata = read_expression(tmp_path / "ad.zarr", label="tissue")
    assert list(adata.obs["tissue"]) == ["T", "N"]
    plain = zarr.create_array(str(tmp_path / "X.zarr"), shape=(2, 3), chunks=(2, 2), dtype="float32")
    plain[:] = [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(read_expression(tmp_path / "X.zarr").X, [[1, 2, 3], [4, 5, 6]])
    zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    with pytest.raises(InputError, match="not one of AnnData"):
        read_expression(tmp_path / "group.zarr")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="no Zarr store"):
        read_expression(tmp_path / "folder")


def test_files_that_are_not_read(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_expression(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match=r"\.csv, \.tsv, \.txt, .*\.h5ad, \.npy, \.npz and \.zarr"):
        read_expression(write(tmp_path, "x", "cohort.xlsx"))


def test_what_is_missing_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    with pytest.raises(MissingExtraError, match=r"distkern\[io\]"):
        read_expression(write(tmp_path, GENES_IN_ROWS), samples="rows")
