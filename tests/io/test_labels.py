"""Labels of samples: inside a table, or in a second file and matched by id."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from distkern.core.bags import Bags
from distkern.core.errors import InputError
from distkern.io.bags import save_bags
from distkern.io.expression import read_expression
from distkern.io.labels import read_labels

GENES_IN_ROWS = "gene,p1,p2,p3\nTP53,1,2,3\nMYC,4,5.5,6\n"


def write(folder: Path, text: str, name: str = "cohort.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def clinical(folder: Path, text: str) -> Path:
    return write(folder, text, "clinical.csv")


def cohort(X, ids=("a", "b"), features=("x", "y")) -> anndata.AnnData:
    obs = pd.DataFrame({"tissue": ["T", "N"]}, index=list(ids))
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=list(features)))


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
        ("id,tissue\n1,T\n", "rows", "contains no numbers"),
    ],
)
def test_missing_labels_of_a_table_are_refused(tmp_path, text, samples, message):
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
def test_unmatched_labels_of_a_second_file_are_refused(tmp_path, text, label, message):
    path = write(tmp_path, GENES_IN_ROWS)
    with pytest.raises(InputError, match=message):
        read_expression(path, samples="columns", labels=clinical(tmp_path, text), label=label)


def test_missing_file_of_labels_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no file of labels .*none\.csv"):
        read_expression(write(tmp_path, GENES_IN_ROWS), samples="columns", labels=tmp_path / "none.csv")


def test_labels_of_a_second_file_work_with_any_format(tmp_path):
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


def test_ids_that_differ_by_spaces_only_are_refused(tmp_path):
    np.savez(tmp_path / "c.npz", X=np.eye(2), samples=["a", "a "])
    with pytest.raises(InputError, match="the samples 'a' and 'a ' of the cohort differ by spaces only: rename one"):
        read_expression(tmp_path / "c.npz", labels=clinical(tmp_path, "id,y\na,1\n"))


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("name", ["meta.h5ad", "meta.zarr", "meta.npz", "bags.zarr", "meta.data"])
def test_labels_come_from_a_second_file_of_any_format(tmp_path, name):
    path, ids, labels = tmp_path / name, ["p3", "p1", "p2", "p9"], ["no", "yes", "yes", "no"]
    if name == "meta.npz":
        np.savez(path, X=np.eye(4), samples=ids, y=labels, age=[1, 2, 3, 4])
    elif name == "bags.zarr":
        save_bags(Bags.from_arrays([[[1.0]]] * 4, ids=ids, labels=labels), path)
    elif name == "meta.data":
        path.write_text("id\tlabel\n" + "".join(f"{i}\t{label}\n" for i, label in zip(ids, labels, strict=True)))
    else:
        adata = anndata.AnnData(np.eye(4), obs=pd.DataFrame({"label": labels}, index=ids))
        adata.write_h5ad(path) if name == "meta.h5ad" else adata.write_zarr(path)
    table = write(tmp_path, GENES_IN_ROWS)
    adata = read_expression(table, samples="columns", labels=path)
    assert list(adata.obs["label"]) == ["yes", "yes", "no"]
    with pytest.raises(InputError, match=r"has no column 'site': name one of '(label|y)'.* with label="):
        read_expression(table, samples="columns", labels=path, label="site")


def test_missing_values_of_a_column_are_missing_labels(tmp_path):
    obs = pd.DataFrame({"label": ["yes", None, "no"]}, index=["p1", "p2", "p3"])
    anndata.AnnData(np.eye(3), obs=obs).write_h5ad(tmp_path / "meta.h5ad")
    with pytest.raises(InputError, match=r"sample 'p2' has the label '' in 'meta\.h5ad', which means missing"):
        read_expression(write(tmp_path, GENES_IN_ROWS), samples="columns", labels=tmp_path / "meta.h5ad")


def test_file_without_labels_is_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    with pytest.raises(InputError, match=r"'X\.npy' holds no labels: name another file with labels="):
        read_expression(write(tmp_path, GENES_IN_ROWS), samples="columns", labels=tmp_path / "X.npy")


@pytest.mark.parametrize("blank", ["Male ", " Male", "Male\xa0", "\tMale", "Male\u200b"])
@pytest.mark.parametrize("labels", ["own", "other"])
def test_labels_from_files_lose_the_blanks_around_them(blank, labels, tmp_path):
    file = tmp_path / "clinical.csv"
    file.write_text(f'id,sex,age\np1,Male,1\np2,"{blank}",2\np3,Female,3\n', encoding="utf-8")
    if labels == "other":
        assert read_labels(file, ["p3", "p2", "p1"], label="sex")[1] == ["Female", "Male", "Male"]
        return
    adata = read_expression(file, samples="rows", label="sex")
    assert adata.obs["sex"].tolist() == ["Male", "Male", "Female"]


def test_labels_of_an_anndata_file_lose_the_blanks_around_them(tmp_path):
    obs = pd.DataFrame({"sex": ["Male", "Male ", "Female"]}, index=["p1", "p2", "p3"])
    anndata.AnnData(np.eye(3), obs=obs).write_h5ad(tmp_path / "cohort.h5ad")
    adata = read_expression(tmp_path / "cohort.h5ad", label="sex")
    assert adata.obs["sex"].tolist() == ["Male", "Male", "Female"]
    assert read_labels(tmp_path / "cohort.h5ad", ["p2", "p3"])[1] == ["Male", "Female"]
