"""10x Genomics: folders and HDF5 files, sparse, by cells; equal to what scanpy reads."""

from __future__ import annotations

import gzip
import pickle
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import scanpy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import io, sparse

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.expression import read_expression
from distkern.io.registry import find_format
from distkern.io.source import as_source

IDS = ["ENSG00000243485", "ENSG00000237613", "ENSG00000186092", "ENSG00000238009"]
SYMBOLS = ["MIR1302-2HG", "FAM138A", "OR4F5", "FAM138A"]
"""Two ids have one symbol, as in the references of 10x."""

TYPES = ["Gene Expression"] * 4


def matrix(cells: int = 6, seed: int = 0) -> sparse.csc_matrix:
    """Counts (features, cells), most of them 0."""
    counts = np.random.default_rng(seed).poisson(0.7, (len(IDS), cells))
    counts[:, 1] = 0  # an empty cell
    return sparse.csc_matrix(counts)


def barcodes(cells: int) -> list[str]:
    return [f"AAAC{k:04d}-1" for k in range(cells)]


def write_folder(folder: Path, X, old: bool = False, types=TYPES, before: str = "", end: str = ".gz") -> Path:
    folder.mkdir(exist_ok=True)
    lines = [f"{a}\t{b}" + ("" if old else f"\t{c}") for a, b, c in zip(IDS, SYMBOLS, types, strict=True)]
    texts = {"genes.tsv" if old else "features.tsv": lines, "barcodes.tsv": barcodes(X.shape[1])}
    for name, rows in texts.items():
        data = "".join(f"{row}\n" for row in rows).encode()
        (folder / f"{before}{name}{end}").write_bytes(gzip.compress(data) if end else data)
    io.mmwrite(folder / "m.mtx", X)
    data = (folder / "m.mtx").read_bytes()
    (folder / "m.mtx").unlink()
    (folder / f"{before}matrix.mtx{end}").write_bytes(gzip.compress(data) if end else data)
    return folder


def write_h5(path: Path, X, old: bool = False, types=TYPES, genomes=("GRCh38",)) -> Path:
    def texts(values):
        return np.array(values, dtype="S")

    with h5py.File(path, "w") as file:
        for genome in genomes:
            group = file.create_group(genome if old else "matrix")
            group["data"], group["indices"], group["indptr"] = X.data, X.indices.astype(np.int64), X.indptr
            group["shape"], group["barcodes"] = np.array(X.shape), texts(barcodes(X.shape[1]))
            if old:
                group["genes"], group["gene_names"] = texts(IDS), texts(SYMBOLS)
                continue
            features = group.create_group("features")
            features["id"], features["name"], features["feature_type"] = texts(IDS), texts(SYMBOLS), texts(types)
            features["genome"] = texts(["GRCh38"] * 4)
            features["_all_tag_keys"] = texts(["genome"])
    return path


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("kind", ["folder", "h5"])
def test_equal_to_scanpy_and_sparse(tmp_path, kind, old):
    X = matrix()
    if kind == "folder":
        path = write_folder(tmp_path / "filtered", X, old, end="" if old else ".gz")
        theirs = scanpy.read_10x_mtx(path, gex_only=False)
    else:
        path = write_h5(tmp_path / "a.h5", X, old)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two symbols are equal
            theirs = scanpy.read_10x_h5(path, gex_only=False)
    adata = read_expression(path)
    assert sparse.issparse(adata.X)
    assert (adata.X != theirs.X).nnz == 0
    assert list(adata.obs_names) == list(theirs.obs_names) == barcodes(6)
    assert list(adata.var_names) == list(theirs.var["gene_ids"]) == IDS
    assert list(adata.var["gene_symbols"]) == SYMBOLS
    assert ("feature_types" in adata.var) == (not old)


@given(st.integers(1, 9), st.integers(0, 999), st.data())
@settings(max_examples=25, deadline=None)
def test_any_rows_equal_those_of_scipy(tmp_path_factory, cells, seed, data):
    X = matrix(max(cells, 2), seed)
    rows = data.draw(st.lists(st.integers(0, X.shape[1] - 1), max_size=12))
    path = write_h5(tmp_path_factory.mktemp("h5") / "a.h5", X)
    source = pickle.loads(pickle.dumps(as_source(path)))
    assert source.portable
    assert source.sparse
    np.testing.assert_array_equal(source.read(rows), X.T.toarray()[rows])
    assert (source.read_sparse(rows) != sparse.csr_array(X.T.tocsr()[rows])).nnz == 0
    np.testing.assert_array_equal(source.read(slice(1, 2)), X.T.toarray()[1:2])


def test_a_matrix_with_its_names_beside_it(tmp_path):
    folder = write_folder(tmp_path / "geo", matrix(), before="GSM1_liver_")
    adata = read_expression(folder / "GSM1_liver_matrix.mtx.gz")
    assert adata.shape == (6, 4)
    (folder / "GSM1_liver_barcodes.tsv.gz").unlink()
    with pytest.raises(InputError, match=r"without names: put the files GSM1_liver_barcodes\.tsv and"):
        read_expression(folder / "GSM1_liver_matrix.mtx.gz")


@pytest.mark.parametrize("kind", ["folder", "h5"])
def test_gene_expression_alone_is_read_with_a_warning(tmp_path, kind):
    X, types = matrix(), [*TYPES[:2], "Antibody Capture", "Gene Expression"]
    path = (
        write_folder(tmp_path / "f", X, types=types)
        if kind == "folder"
        else write_h5(tmp_path / "a.h5", X, types=types)
    )
    with pytest.warns(UserWarning, match=r"also measures other features \(1 of Antibody Capture\): the 3 of Gene"):
        adata = read_expression(path)
    assert list(adata.var_names) == [IDS[0], IDS[1], IDS[3]]
    assert (adata.X != X.T.tocsr()[:, [0, 1, 3]]).nnz == 0


def test_symbols_by_collapsing(tmp_path):
    adata = read_expression(write_h5(tmp_path / "a.h5", matrix()), collapse="max", genes="gene_symbols")
    assert list(adata.var_names) == ["MIR1302-2HG", "FAM138A", "OR4F5"]
    np.testing.assert_array_equal(adata.X[:, 1], matrix().toarray()[[1, 3]].max(axis=0))


def test_damage_is_refused(tmp_path):
    X = matrix()
    folder = write_folder(tmp_path / "short", X, end="")
    lines = (folder / "matrix.mtx").read_text().splitlines(keepends=True)
    (folder / "matrix.mtx").write_text("".join(lines[:-2]))
    with pytest.raises(InputError, match=r"'matrix\.mtx' cannot be read as a Matrix Market file"):
        read_expression(folder)
    (folder / "matrix.mtx").write_text("".join([*lines[:-1], "1 x 3\n"]))
    with pytest.raises(InputError, match=rf"'matrix\.mtx' cannot be read as .*[Ll]ine {len(lines)}"):
        read_expression(folder)
    (folder / "matrix.mtx").write_text("".join(lines))
    (folder / "barcodes.tsv").write_text("AAAC-1\n")
    with pytest.raises(InputError, match="has 6 cells, and 1 names of cells come with it"):
        read_expression(folder)
    (folder / "barcodes.tsv").write_text("")
    with pytest.raises(InputError, match=r"'barcodes\.tsv' is a list of barcodes, and is empty"):
        read_expression(folder)
    (folder / "features.tsv").write_text("ENSG1\tA\tGene Expression\nENSG2\n")
    (folder / "barcodes.tsv").write_text("".join(f"{name}\n" for name in barcodes(6)))
    with pytest.raises(
        InputError, match=r"line 2 of 'features.tsv', a list of features, has 1 cells, and others have 3"
    ):
        read_expression(folder)


def test_hdf5_of_other_kinds_is_named(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["values"] = np.eye(2)
    with pytest.raises(InputError, match="is an HDF5 file, but not of 10x Genomics: if it is AnnData"):
        read_expression(tmp_path / "a.h5")
    with pytest.raises(InputError, match=r"holds 2 genomes \(hg19, mm10\): keep one with scanpy"):
        read_expression(write_h5(tmp_path / "b.h5", matrix(), old=True, genomes=("hg19", "mm10")))
    (tmp_path / "c.h5").write_bytes(write_h5(tmp_path / "d.h5", matrix()).read_bytes()[:3000])
    with pytest.raises(InputError, match=r"'c\.h5' cannot be read as a 10x \.h5 file"):
        read_expression(tmp_path / "c.h5")
    path = write_h5(tmp_path / "unnamed", matrix())
    assert find_format(path).name == "10x Genomics HDF5"


def test_indices_outside_the_matrix_are_refused(tmp_path):
    path = write_h5(tmp_path / "a.h5", matrix())
    with h5py.File(path, "r+") as file:
        file["matrix/indices"][0] = 99
    with pytest.raises(InputError, match="cannot be read as a 10x"):
        read_expression(path)


def test_missing_h5py_names_the_extra(tmp_path, monkeypatch):
    path = write_h5(tmp_path / "a.h5", matrix())
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'distkern\[io\]'"):
        as_source(path)


def test_samples_are_columns(tmp_path):
    with pytest.raises(InputError, match="every column is a sample"):
        read_expression(write_h5(tmp_path / "a.h5", matrix()), samples="rows")
