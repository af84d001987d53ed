"""Loom files: cells are columns, zeros are not kept."""

from __future__ import annotations

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.format import ReadOptions
from distkern.io.formats import loom_files
from distkern.io.registry import find_format
from distkern.io.source import as_source

COUNTS = np.random.default_rng(1).poisson(0.5, (7, 23)).astype(np.float32)
"""(features, cells)"""

LAYERS = {"spliced": COUNTS * 2, "unspliced": COUNTS + 1}


def write(path: Path, names: tuple[str, ...] = ("Gene", "Accession")) -> Path:
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        file.create_dataset("matrix", data=COUNTS, chunks=(4, 8), compression="gzip")
        for layer, values in LAYERS.items():
            file[f"layers/{layer}"] = values
        file.create_group("row_attrs")
        for name in names:
            file.create_dataset(f"row_attrs/{name}", data=[f"{name}{k}" for k in range(7)], dtype=text)
        file.create_dataset("col_attrs/CellID", data=[f"cell{k}" for k in range(23)], dtype=text)
        file.create_dataset("col_attrs/cluster", data=[("T", "B")[k % 2] for k in range(23)], dtype=text)
        file["col_attrs/age"], file["col_attrs/pca"] = np.arange(23.0), np.zeros((23, 2))
    return path


@pytest.mark.parametrize("name", ["a.loom", "unnamed"])
def test_cells_are_samples(tmp_path, name):
    path = write(tmp_path / name)
    assert find_format(path).name == "loom"
    adata = read_expression(path, label="cluster")
    assert sparse.issparse(adata.X)
    assert (adata.X != sparse.csr_matrix(COUNTS.T)).nnz == 0
    assert adata.X.nnz == np.count_nonzero(COUNTS)
    assert list(adata.obs_names)[:2] == ["cell0", "cell1"]
    assert next(iter(adata.var_names)) == "Accession0"
    assert next(iter(adata.var["Gene"])) == "Gene0"
    assert list(adata.obs["cluster"])[:2] == ["T", "B"]
    assert list(adata.obs["age"])[:2] == [0.0, 1.0]


def test_symbols_where_there_is_no_accession(tmp_path):
    assert read_expression(write(tmp_path / "a.loom", ("Gene",))).var_names[0] == "Gene0"
    assert as_source(write(tmp_path / "b.loom", ())).features is None


def test_rows_equal_those_of_numpy_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(loom_files, "PIECE_BYTES", 4 * 7 * 5)
    source = pickle.loads(pickle.dumps(as_source(write(tmp_path / "a.loom"))))
    assert (source.portable, source.sparse, source.shape) == (True, True, (23, 7))
    for rows in ([], [3], [22, 0, 3, 3], [5, 4, 6, 7], slice(2, 9), slice(0, 0), list(range(23))):
        np.testing.assert_array_equal(source.read(rows), COUNTS.T[rows if isinstance(rows, slice) else list(rows)])
        np.testing.assert_array_equal(source.read_sparse(rows).toarray(), source.read(rows))


@pytest.mark.parametrize("layer", list(LAYERS))
def test_a_layer_is_read_instead_of_the_matrix(tmp_path, layer):
    path = write(tmp_path / "a.loom")
    adata = read_expression(path, layer=layer, label="cluster")
    np.testing.assert_array_equal(adata.X.toarray(), LAYERS[layer].T)
    assert list(adata.obs_names)[:2] == ["cell0", "cell1"]
    assert list(adata.obs["cluster"])[:2] == ["T", "B"]
    reader = pickle.loads(pickle.dumps(find_format(path).open(path, ReadOptions(layer=layer)).values))
    np.testing.assert_array_equal(reader.take(np.array([3, 0])), LAYERS[layer].T[[3, 0]])


def test_an_unknown_layer_is_refused(tmp_path):
    path = write(tmp_path / "a.loom")
    with pytest.raises(InputError, match="holds no 'splice' in layers: it has 'spliced', 'unspliced'; did you mean"):
        read_expression(path, layer="splice")
    with pytest.raises(InputError, match="is loom, which has no obsm: leave out use_rep="):
        read_expression(path, use_rep="X_pca")
    with h5py.File(path, "r+") as file:
        del file["layers/spliced"]
        file["layers/spliced"] = np.zeros((3, 3))
    with pytest.raises(InputError, match=r"layer 'spliced' of 'a\.loom' has another shape"):
        read_expression(path, layer="spliced")


def test_damage_is_refused(tmp_path):
    data = write(tmp_path / "a.loom").read_bytes()
    (tmp_path / "cut.loom").write_bytes(data[:2000])
    with pytest.raises(InputError, match=r"'cut\.loom' cannot be read as a loom file"):
        as_source(tmp_path / "cut.loom")
    with h5py.File(tmp_path / "other.loom", "w") as file:
        file["matrix"] = COUNTS
    with pytest.raises(InputError, match="no loom file, which holds matrix, row_attrs and col_attrs"):
        as_source(tmp_path / "other.loom")
    with pytest.raises(InputError, match="every column is a sample"):
        read_expression(tmp_path / "a.loom", samples="rows")
