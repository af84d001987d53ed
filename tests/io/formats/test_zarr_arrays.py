"""Zarr arrays and groups in a local folder."""

from __future__ import annotations

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
import zarr

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.formats.zarr_arrays import ZarrObjectReader, ZarrReader
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
