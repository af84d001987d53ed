"""AnnData in memory, in .h5ad files and in Zarr folders."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.expression import read_expression
from distkern.io.format import ReadOptions
from distkern.io.formats.anndata_files import _columns_of_h5ad, _columns_of_zarr
from distkern.io.source import as_source

VALUES = np.array([[1, 0, 3], [0, 5, 0], [7, 0, 9], [2, 2, 0]])
NAMES = ["a", "b", "c", "d"]
GENES = ["g1", "g2", "g3"]


def as_anndata(X, names=NAMES) -> anndata.AnnData:
    return anndata.AnnData(X, obs=pd.DataFrame(index=names), var=pd.DataFrame(index=GENES))


def saved(folder: Path, X, backed: str = "r", names=NAMES) -> anndata.AnnData:
    as_anndata(X, names).write_h5ad(folder / "cohort.h5ad")
    return anndata.read_h5ad(folder / "cohort.h5ad", backed=backed)


def write(folder: Path, text: str, name: str = "cohort.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def cohort(X, ids=("a", "b"), features=("x", "y")) -> anndata.AnnData:
    obs = pd.DataFrame({"tissue": ["T", "N"]}, index=list(ids))
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=list(features)))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_h5ad_with_labels(tmp_path, layout):
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
def test_infinite_values_are_refused_by_name(tmp_path, layout):
    cohort(layout(np.array([[1, 0], [0, np.inf]]))).write_h5ad(tmp_path / "c.h5ad")
    with pytest.raises(InputError, match=r"sample 'b' .* feature 'y'"):
        read_expression(tmp_path / "c.h5ad")


def test_unusable_h5ad_is_refused(tmp_path):
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


def test_missing_anndata_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    with pytest.raises(MissingExtraError, match=r"distkern\[io\]"):
        read_expression(write(tmp_path, "id,a\ns,1\n"), samples="rows")


def test_part_of_an_object_open_for_writing_is_refused(tmp_path):
    with pytest.raises(InputError, match="backed='r'"):
        as_source(saved(tmp_path, VALUES, "r+")[:2])


@pytest.mark.parametrize(
    ("layout", "is_sparse"), [(np.asarray, False), (sparse.csr_matrix, True), (sparse.csc_matrix, True)]
)
def test_a_file_without_its_zeros_is_read_without_them(tmp_path, layout, is_sparse):
    X = np.array([[1.0, 0.0], [0.0, 2.5]])
    cohort(layout(X)).write_h5ad(tmp_path / "c.h5ad")
    source = as_source(tmp_path / "c.h5ad")
    assert source.sparse == is_sparse
    np.testing.assert_array_equal(source.read(slice(0, 2)), X)
    if is_sparse:
        np.testing.assert_array_equal(source.read_sparse(slice(1, 2)).toarray(), X[1:])


def test_columns_need_anndata_too(tmp_path, monkeypatch):
    cohort(np.eye(2)).write_h5ad(tmp_path / "c.h5ad")
    (tmp_path / "c.zarr").mkdir()
    monkeypatch.setitem(sys.modules, "anndata", None)
    for columns, name in ((_columns_of_h5ad, "c.h5ad"), (_columns_of_zarr, "c.zarr")):
        with pytest.raises(MissingExtraError, match=r"distkern\[io\]"):
            columns(tmp_path / name, ReadOptions())


def test_values_that_are_not_there_or_asked_for_twice_are_refused(tmp_path):
    with pytest.raises(InputError, match="has no X: put the values there"):
        as_source(anndata.AnnData(obs=pd.DataFrame(index=["a"])))
    adata = cohort(np.eye(2))
    adata.layers["counts"], adata.obsm["X_pca"] = np.eye(2), np.eye(2)
    adata.write_h5ad(tmp_path / "c.h5ad")
    with pytest.raises(InputError, match="layer='counts' and use_rep='X_pca' exclude each other: choose one"):
        read_expression(tmp_path / "c.h5ad", layer="counts", use_rep="X_pca")


@pytest.mark.parametrize("write", ["write_h5ad", "write_zarr"])
def test_raw_is_read_by_name_with_its_own_features(tmp_path, write):
    adata = as_anndata(VALUES.astype(float))
    adata.raw = adata
    adata = adata[:, ["g3", "g1"]].copy()
    adata.layers["log"] = np.log1p(adata.X)
    path = tmp_path / ("c.h5ad" if write == "write_h5ad" else "c.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(adata, write)(path)
    whole = read_expression(path, layer="raw")
    assert (list(whole.obs_names), list(whole.var_names)) == (NAMES, GENES)
    np.testing.assert_array_equal(whole.X, VALUES)
    assert list(read_expression(path).var_names) == ["g3", "g1"]
    with pytest.raises(InputError, match="holds no 'counts' in layers: it has 'log', 'raw'"):
        read_expression(path, layer="counts")


def test_files_before_anndata_0_7_are_opened_by_their_path(tmp_path):
    """Names are in the first field of records, and raw lies in raw.X and raw.var."""
    import h5py

    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        file["X"] = VALUES[:, :2].astype(np.float32)
        file["raw.X"] = VALUES.astype(np.float32)
        for key, names in (("obs", NAMES), ("var", GENES[:2]), ("raw.var", GENES)):
            file[key] = np.array(
                [(name.encode(), k) for k, name in enumerate(names)], dtype=[("index", "S9"), ("n", "<i8")]
            )
    source = as_source(tmp_path / "old.h5ad")
    assert (source.ids, source.features) == (tuple(NAMES), tuple(GENES[:2]))
    np.testing.assert_array_equal(source.read(slice(None)), VALUES[:, :2])
    raw = read_expression(tmp_path / "old.h5ad", layer="raw")
    assert list(raw.var_names) == GENES
    np.testing.assert_array_equal(raw.X, VALUES)
    assert _columns_of_h5ad(tmp_path / "old.h5ad", ReadOptions())["n"] == dict(zip(NAMES, "0123", strict=True))
