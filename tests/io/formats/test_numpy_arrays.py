"""NumPy arrays, memory maps, .npy and .npz files."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.source import as_source

VALUES = np.array([[1, 0, 3], [0, 5, 0], [7, 0, 9], [2, 2, 0]])


def write(folder: Path, text: str, name: str = "cohort.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def clinical(folder: Path, text: str) -> Path:
    return write(folder, text, "clinical.csv")


def test_npz_with_names_and_labels(tmp_path):
    np.savez(tmp_path / "c.npz", X=np.eye(2), y=["T", "N"], samples=["a", "b"], features=["x", "y"], age=[60, 50])
    adata = read_expression(tmp_path / "c.npz")
    assert list(adata.obs_names) + list(adata.var_names) == ["a", "b", "x", "y"]
    assert list(adata.obs["label"]) == ["T", "N"]
    assert adata.uns["distkern"]["label"] == "label"
    assert read_expression(tmp_path / "c.npz", label="age").obs["age"].tolist() == [60, 50]
    with pytest.raises(InputError, match=r"no 'stage' with one label .* name one of 'y', 'age' with label="):
        read_expression(tmp_path / "c.npz", label="stage")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(2), "samples": ["a"]}, "1 ids for 2 samples"),
        ({"X": np.eye(2), "samples": ["a", "a"]}, "two samples .* 'a'"),
        ({"X": np.arange(3)}, "1 dimension"),
        ({"X": np.array([["a"]])}, "not real numbers"),
        ({"X": np.array([[np.inf]])}, "sample '0' .* feature '0'"),
        ({"A": np.eye(2), "B": np.eye(2)}, r"A \(2, 2\), B \(2, 2\)"),
        ({"X": np.array([[object]])}, "cannot be read"),
    ],
)
def test_unusable_npz_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_expression(tmp_path / "c.npz")


@pytest.mark.parametrize("name", ["c.npy", "c.npz"])
@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04N.", b"PK\x03\x04broken"])
def test_damaged_file_is_refused_without_advice_to_unpickle(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="damaged or holds Python objects: get the file again") as raised:
        read_expression(tmp_path / name)
    assert "pickle" not in str(raised.value)


def test_pickled_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "X.npy", np.array([[object]]), allow_pickle=True)
    np.savez(tmp_path / "X.npz", X=np.array([[object]]))
    for name in ("X.npy", "X.npz"):
        with pytest.raises(InputError, match="cannot be read"):
            as_source(tmp_path / name)


def test_archive_with_two_matrices_is_refused(tmp_path):
    np.savez(tmp_path / "two.npz", A=VALUES, B=VALUES)
    with pytest.raises(InputError, match=r"A \(4, 3\), B \(4, 3\)"):
        as_source(tmp_path / "two.npz")


def test_values_written_through_a_memory_map_are_read(tmp_path):
    np.save(tmp_path / "X.npy", VALUES.astype(float))
    X = np.load(tmp_path / "X.npy", mmap_mode="r+")
    X[0, 0] = 99
    assert pickle.loads(pickle.dumps(as_source(X))).read(slice(0, 1))[0, 0] == 99
    private = np.load(tmp_path / "X.npy", mmap_mode="c")
    private[0, 0] = 5
    source = as_source(private)
    assert not source.portable
    assert source.read(slice(0, 1))[0, 0] == 5


def test_lists_of_numbers_are_rows_and_ragged_lists_are_refused():
    np.testing.assert_array_equal(as_source([[1, 2], (3, 4)]).read(slice(None)), [[1, 2], [3, 4]])
    with pytest.raises(InputError, match="differ in length"):
        as_source([[1, 2], [3]])


def test_an_array_that_claims_more_than_its_file_holds_is_damage(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000000, 1), }"
    member = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n" + bytes(16)
    with zipfile.ZipFile(tmp_path / "X.npz", "w") as archive:
        archive.writestr("X.npy", member)
    with pytest.raises(InputError, match=r"'X\.npz' cannot be read as arrays of numbers and text; it is damaged"):
        as_source(tmp_path / "X.npz")


def test_indices_outside_a_sparse_matrix_are_damage(tmp_path):
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indices[1] = 10**6
    sparse.save_npz(tmp_path / "X.npz", matrix)
    with pytest.raises(InputError, match=r"'X\.npz' cannot be read as a sparse matrix"):
        as_source(tmp_path / "X.npz").read(slice(None))
