"""GCTX files: columns of the matrix are rows of the dataset."""

from __future__ import annotations

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.labels import read_columns
from distkern.io.registry import find_format
from distkern.io.source import as_source

VALUES = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)
"""(samples, features), as the file stores it"""


def write(path: Path, values=VALUES) -> Path:
    with h5py.File(path, "w") as file:
        file["0/DATA/0/matrix"] = values
        file["0/META/COL/id"] = np.array([f"CPC00{k}:A" for k in range(5)], dtype="S")
        file["0/META/COL/pert_iname"] = np.array([("DMSO", "SAHA")[k % 2] for k in range(5)], dtype="S")
        file["0/META/COL/dose"] = np.arange(5.0)
        file["0/META/ROW/id"] = np.array([780, 7157, 4609])
        file["0/META/ROW/pr_gene_symbol"] = np.array(["DDR1", "TP53", "MYC"], dtype="S")
        file.attrs["version"] = "GCTX1.0"
    return path


@pytest.mark.parametrize("name", ["a.gctx", "unnamed"])
def test_columns_are_samples(tmp_path, name):
    path = write(tmp_path / name)
    assert find_format(path).name == "GCTX"
    adata = read_expression(path)
    np.testing.assert_array_equal(adata.X, VALUES)
    assert (next(iter(adata.obs_names)), list(adata.var_names)) == ("CPC000:A", ["780", "7157", "4609"])
    assert list(adata.obs["pert_iname"]) == ["DMSO", "SAHA", "DMSO", "SAHA", "DMSO"]
    assert list(adata.var["pr_gene_symbol"]) == ["DDR1", "TP53", "MYC"]
    assert read_columns(path)["dose"]["CPC001:A"] == "1.0"
    source = pickle.loads(pickle.dumps(as_source(path)))
    assert source.portable
    np.testing.assert_array_equal(source.read([4, 0]), VALUES[[4, 0]])


def test_damage_is_refused(tmp_path):
    with pytest.raises(
        InputError, match="5 samples and 3 features, and with values of 3 samples and 5 features: it is"
    ):
        read_expression(write(tmp_path / "turned.gctx", VALUES.T))
    (tmp_path / "cut.gctx").write_bytes(write(tmp_path / "a.gctx").read_bytes()[:1500])
    with pytest.raises(InputError, match=r"'cut\.gctx' cannot be read as a GCTX file"):
        read_expression(tmp_path / "cut.gctx")
    with h5py.File(tmp_path / "other.gctx", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="is no GCTX file, which holds 0/DATA/0/matrix"):
        read_expression(tmp_path / "other.gctx")
    with pytest.raises(InputError, match="every column is a sample"):
        read_expression(tmp_path / "a.gctx", samples="rows")
