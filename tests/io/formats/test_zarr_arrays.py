"""Zarr arrays and groups in a local folder."""

from __future__ import annotations

import re
import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.format import ReadOptions
from distkern.io.formats.zarr_arrays import ZarrObjectReader, ZarrReader
from distkern.io.labels import read_columns
from distkern.io.source import as_source


def cohort(X, ids=("a", "b"), features=("x", "y")) -> anndata.AnnData:
    obs = pd.DataFrame({"tissue": ["T", "N"]}, index=list(ids))
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=list(features)))


def test_zarr_folders(tmp_path):
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
    with pytest.raises(InputError, match="of no known format"):
        read_expression(tmp_path / "folder")


WHOLE = np.arange(24.0).reshape(4, 6) + 1


@pytest.mark.parametrize(
    "options",
    [{}, {"zarr_format": 2}, {"shards": (2, 6)}, {"compressors": None}, {"fill_value": np.nan}],
    ids=["v3", "v2", "sharded", "uncompressed", "filled with NaN"],
)
@pytest.mark.parametrize("opened", [False, True])
def test_a_lost_chunk_is_refused_and_no_zeros_are_read(tmp_path, options, opened):
    path = tmp_path / "X.zarr"
    array = zarr.create_array(str(path), shape=(4, 6), chunks=(2, 3), dtype="f8", **options)
    array[:] = WHOLE
    source = as_source(zarr.open_array(str(path), mode="r") if opened else path)
    np.testing.assert_array_equal(source.read(slice(None)), WHOLE)
    key = array.metadata.encode_chunk_key((1, 0))
    (path / key).unlink()
    for rows in (slice(None), slice(2, 3), np.array([3])):
        with pytest.raises(
            InputError, match=rf"the chunk '{re.escape(key)}' of the Zarr array .* cannot be found: a chunk that was"
        ):
            source.read(rows)
    np.testing.assert_array_equal(source.read(slice(0, 2)), WHOLE[:2])  # other chunks are there


def test_chunks_of_fill_values_are_read_if_the_array_says_so_or_stores_them(tmp_path):
    values = WHOLE * [1, 1, 1, 0, 0, 0]
    options = {"shape": (4, 6), "chunks": (2, 3), "dtype": "f8"}
    said, stored = tmp_path / "said.zarr", tmp_path / "stored.zarr"
    zarr.create_array(str(said), **options)[:] = values
    zarr.create_array(str(stored), config={"write_empty_chunks": True}, **options)[:] = values
    with pytest.raises(InputError, match=r"all its values are 0\.0; .* attribute 'distkern_fill_missing_chunks'"):
        as_source(said).read(slice(None))
    zarr.open_array(str(said), mode="r+").attrs["distkern_fill_missing_chunks"] = True
    for path in (said, stored):
        np.testing.assert_array_equal(as_source(path).read(slice(None)), values)


def test_a_chunk_that_is_missing_in_memory_is_refused():
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=(4, 6), chunks=(2, 3), dtype="f8")
    array[:2] = WHOLE[:2]
    with pytest.raises(InputError, match=r"2 of 4 chunks of the Zarr array .* cannot be found"):
        as_source(array)
    array[2:] = WHOLE[2:]
    np.testing.assert_array_equal(as_source(array).read(slice(None)), WHOLE)


@pytest.mark.parametrize(
    ("lost", "read"),
    [
        ("X", "source"),
        ("X/indices", "source"),
        ("X/indptr", "expression"),
        ("obs/_index", "source"),
        ("var/_index", "expression"),
        ("obs/tissue/codes", "labels"),
        ("obs/tissue/codes", "expression"),
    ],
)
def test_a_lost_chunk_of_anndata_is_refused(tmp_path, lost, read):
    X = sparse.csr_matrix(np.eye(2) + 1) if "X/" in lost else np.eye(2) + 1
    adata = cohort(X)
    adata.obs["tissue"] = adata.obs["tissue"].astype("category")
    path = tmp_path / "ad.zarr"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Writing zarr v2 data", category=UserWarning)
        adata.write_zarr(path)
    array = zarr.open_array(str(path / lost), mode="r")
    (path / lost / array.metadata.encode_chunk_key((0,) * array.ndim)).unlink()
    readers = {
        "source": lambda: as_source(path).read(slice(None)),
        "labels": lambda: read_columns(path, ReadOptions(label="tissue")),
        "expression": lambda: read_expression(path, label="tissue"),
    }
    with pytest.raises(InputError, match="cannot be found: a chunk that was lost"):
        readers[read]()


@pytest.mark.parametrize("compressors", ["auto", None])
def test_a_cut_chunk_is_damage(tmp_path, compressors):
    path = tmp_path / "X.zarr"
    zarr.create_array(str(path), data=WHOLE, chunks=(2, 3), compressors=compressors)
    (path / "c/1/1").write_bytes((path / "c/1/1").read_bytes()[:20])
    for cohort in (path, zarr.open_array(str(path), mode="r")):
        with pytest.raises(InputError, match="cannot be read as a Zarr array"):
            as_source(cohort).read(slice(None))


def test_an_array_in_a_folder_is_read_by_path_and_one_in_memory_by_its_object(tmp_path):
    values = np.arange(12.0).reshape(4, 3)
    for array, kind in (
        (zarr.create_array(str(tmp_path / "X.zarr"), shape=(4, 3), chunks=(2, 2), dtype="float64"), ZarrReader),
        (zarr.create_array({}, shape=(4, 3), chunks=(2, 2), dtype="float64"), ZarrObjectReader),
    ):
        array[:] = values
        source = as_source(array)
        assert isinstance(source._reader, kind)
        np.testing.assert_array_equal(source.read(slice(1, 3)), values[1:3])
        for rows in ([3, 0], [2], []):
            np.testing.assert_array_equal(source.read(np.array(rows, dtype=np.intp)), values[rows])
