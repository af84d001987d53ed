"""Every container gives the same rows and digests, and every fault a message with a remedy."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
import xarray
import zarr
from marks import with_slow
from scipy import sparse

from distkern.core.bags import Bags
from distkern.core.errors import InputError, InputTypeError
from distkern.core.rankings import Rankings
from distkern.io.digests import dense_digests, sample_digests
from distkern.io.source import Source, as_source

VALUES = np.array([[1, 0, 3], [0, 5, 0], [7, 0, 9], [2, 2, 0]])
NAMES = ["a", "b", "c", "d"]
GENES = ["g1", "g2", "g3"]


def as_anndata(X, names=NAMES) -> anndata.AnnData:
    return anndata.AnnData(X, obs=pd.DataFrame(index=names), var=pd.DataFrame(index=GENES))


def saved(folder: Path, X, backed: str = "r", names=NAMES) -> anndata.AnnData:
    as_anndata(X, names).write_h5ad(folder / "cohort.h5ad")
    return anndata.read_h5ad(folder / "cohort.h5ad", backed=backed)


def zarr_array(folder: Path, dtype="float64") -> zarr.Array:
    options = {"shape": (4, 3), "chunks": (3, 2), "dtype": dtype, "config": {"write_empty_chunks": True}}
    array = zarr.create_array(str(folder / "cohort.zarr"), **options)
    array[:] = VALUES
    return array


def mapped(folder: Path, values=VALUES) -> np.memmap:
    np.save(folder / "cohort.npy", values)
    return np.load(folder / "cohort.npy", mmap_mode="r")


def nested_zarr(folder: Path) -> zarr.Array:
    group = zarr.open_group(str(folder / "group.zarr"), mode="w")
    array = group.create_array("deep/X", shape=(4, 3), chunks=(2, 2), dtype="int16")
    array[:] = VALUES
    return array


def zarr_anndata(folder: Path, X) -> Path:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Writing zarr v2 data", category=UserWarning)
        as_anndata(X).write_zarr(folder / "ad.zarr")
    return folder / "ad.zarr"


def path_of(array, folder: Path, name: str) -> str:
    del array
    return str(folder / name)


def npz(folder: Path) -> Path:
    np.savez(folder / "cohort.npz", X=VALUES, samples=NAMES, features=GENES, y=[0, 1, 0, 1])
    return folder / "cohort.npz"


def sparse_npz(folder: Path) -> Path:
    sparse.save_npz(folder / "sparse.npz", sparse.csr_matrix(VALUES))
    return folder / "sparse.npz"


CONTAINERS = {
    # name: (how to make it, portable, has names)
    "float64": (lambda f: VALUES.astype(float), False, False),
    "float32": (lambda f: VALUES.astype(np.float32), False, False),
    "int8": (lambda f: VALUES.astype(np.int8), False, False),
    "int64": (lambda f: VALUES.astype(np.int64), False, False),
    "big-endian": (lambda f: VALUES.astype(">f8"), False, False),
    "fortran": (lambda f: np.asfortranarray(VALUES.astype(float)), False, False),
    "strided": (lambda f: np.repeat(VALUES, 2, axis=1).astype(float)[:, ::2], False, False),
    "frame": (lambda f: pd.DataFrame(VALUES, index=NAMES, columns=GENES), False, True),
    "mixed frame": (lambda f: pd.DataFrame(VALUES, NAMES, GENES).astype({"g1": float, "g2": "int8"}), False, True),
    "nullable frame": (lambda f: pd.DataFrame(VALUES, NAMES, GENES).astype({"g1": "Int64"}), False, True),
    "csr": (lambda f: sparse.csr_matrix(VALUES), False, False),
    "csc array": (lambda f: sparse.csc_array(VALUES), False, False),
    "coo": (lambda f: sparse.coo_matrix(VALUES), False, False),
    "anndata": (lambda f: as_anndata(VALUES), False, True),
    "anndata sparse": (lambda f: as_anndata(sparse.csr_matrix(VALUES.astype(np.float32))), False, True),
    "anndata view": (lambda f: as_anndata(VALUES)[:, :], False, True),
    "backed": (lambda f: saved(f, VALUES), True, True),
    "backed csr": (lambda f: saved(f, sparse.csr_matrix(VALUES.astype(float))), True, True),
    "backed csc": (lambda f: saved(f, sparse.csc_matrix(VALUES.astype(float))), True, True),
    "backed view": (
        lambda f: saved(f, np.vstack([[9, 9, 9], VALUES[::-1]])[::-1], names=[*NAMES, "z"])[:4],
        True,
        True,
    ),
    "backed csr view": (
        lambda f: saved(f, sparse.csr_matrix(VALUES[::-1]), names=NAMES[::-1])[NAMES, GENES],
        True,
        True,
    ),
    "backed r+": (lambda f: saved(f, VALUES, "r+"), False, True),
    "backed csr r+": (lambda f: saved(f, sparse.csr_matrix(VALUES), "r+"), False, True),
    "zarr": (zarr_array, True, False),
    "zarr in a group": (nested_zarr, True, False),
    "zarr in memory": (lambda f: zarr.array(VALUES, store=zarr.storage.MemoryStore()), False, False),
    "dask": (lambda f: da.from_array(VALUES, chunks=(3, 2)), False, False),
    "rankings": (lambda f: Rankings.from_ranks(VALUES, items=GENES), False, False),
    "memmap": (mapped, True, False),
    "fortran memmap": (lambda f: mapped(f, np.asfortranarray(VALUES)), True, False),
    "memmap view": (lambda f: mapped(f, np.repeat(VALUES, 3, axis=0))[1::3], True, False),
    "reversed memmap": (lambda f: mapped(f, VALUES[::-1])[::-1], False, False),
    "npy path": (lambda f: path_of(mapped(f), f, "cohort.npy"), True, False),
    "npz path": (npz, False, True),
    "sparse npz path": (sparse_npz, False, False),
    "h5ad path": (lambda f: path_of(saved(f, VALUES).file.close(), f, "cohort.h5ad"), True, True),
    "zarr path": (lambda f: path_of(zarr_array(f), f, "cohort.zarr"), True, False),
    "anndata zarr path": (lambda f: zarr_anndata(f, VALUES), True, True),
    "sparse anndata zarr path": (lambda f: zarr_anndata(f, sparse.csr_matrix(VALUES)), False, True),
}


ROWS = [slice(None), slice(1, 3), slice(None, None, -2), np.array([2, 0, 2]), np.array([3]), np.array([], dtype=int)]


@pytest.fixture(params=CONTAINERS)
def container(request, tmp_path):
    make, portable, named = CONTAINERS[request.param]
    return make(tmp_path), portable, named


def test_every_container_gives_the_same_rows_and_digests(container):
    X, portable, named = container
    source = as_source(X)
    assert source.shape == (4, 3)
    assert source.portable is portable
    assert source.ids == (tuple(NAMES) if named else None)
    for rows in ROWS:
        block = source.read(rows)
        assert block.dtype == np.float64
        assert block.flags.c_contiguous
        np.testing.assert_array_equal(block, VALUES[rows])
    for digests in (sample_digests, dense_digests):
        expected = digests(VALUES)
        np.testing.assert_array_equal(digests(source.read(slice(None))), expected)
        if source.sparse:
            np.testing.assert_array_equal(digests(source.read_sparse(slice(None))), expected)
    assert source.describe().endswith(" 4 × 3")
    assert as_source(source) is source


def test_every_source_survives_pickle(container):
    X, portable, _ = container
    source = as_source(X)
    source.read(slice(0, 1))  # opens files, whose handles must not travel
    if isinstance(X, anndata.AnnData) and X.isbacked and not portable:
        return  # an object that is open for writing is read by its owner only
    bare = source.nameless()
    assert bare.ids is None
    again = pickle.loads(pickle.dumps(source))
    assert (again.ids, again.features, again.portable) == (source.ids, source.features, portable)
    np.testing.assert_array_equal(again.read(np.array([2, 1])), VALUES[[2, 1]])
    if portable:
        assert len(pickle.dumps(bare)) < 1000


def test_portable_source_is_read_by_another_process(tmp_path):
    sources = [as_source(mapped(tmp_path)), as_source(zarr_array(tmp_path)), as_source(saved(tmp_path, VALUES))]
    (tmp_path / "sources.pickle").write_bytes(pickle.dumps(sources))
    script = (
        "import pickle, sys; s = pickle.load(open(sys.argv[1], 'rb'));"
        "print([float(x.read(slice(2, 3)).sum()) for x in s]); print('anndata' in sys.modules)"
    )
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path / "sources.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split("\n")[:2] == ["[16.0, 16.0, 16.0]", "False"]


def test_importing_sources_imports_no_container_library():
    script = (
        "import sys, distkern.io.source;print(sorted({'pandas', 'anndata', 'zarr', 'h5py', 'dask'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_relative_path_is_found_from_another_folder(tmp_path, monkeypatch):
    mapped(tmp_path)
    monkeypatch.chdir(tmp_path)
    source = pickle.loads(pickle.dumps(as_source("cohort.npy")))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    np.testing.assert_array_equal(source.read(slice(None)), VALUES)


def test_deleted_file_is_named(tmp_path):
    source = pickle.loads(pickle.dumps(as_source(mapped(tmp_path))))
    (tmp_path / "cohort.npy").unlink()
    with pytest.raises(InputError, match=r"cohort\.npy.*every worker"):
        source.read(slice(None))


def test_missing_values_stay_missing():
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [True, False], "c": [0.5, np.nan]})
    np.testing.assert_array_equal(as_source(frame).read(slice(None)), [[1, 1, 0.5], [np.nan, 0, np.nan]])


def test_given_ids_replace_the_ids_of_the_container():
    frame = pd.DataFrame(VALUES, index=NAMES)
    assert as_source(frame, ids=[1, 2, 3, 4]).ids == ("1", "2", "3", "4")
    assert as_source(as_source(frame), ids="wxyz"[::-1].split() + list("abc")).ids == ("zyxw", "a", "b", "c")


def test_given_ids_replace_repeated_ids():
    assert as_source(pd.DataFrame(VALUES, index=list("aabb")), ids=NAMES).ids == tuple(NAMES)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["p", "q", "r", "q"], "'q', at positions 1 and 3"),
        ([1, 2, 3, "1"], "'1', at positions 0 and 3"),
        (["p", "q"], "2 ids for 4 samples"),
        (["p", "q", None, "s"], "sample 2 is missing"),
        ("abcd", "single text"),
    ],
)
def test_unusable_ids_are_refused(ids, message):
    with pytest.raises(InputError, match=message):
        as_source(VALUES, ids=ids)


def test_repeated_ids_of_a_container_are_named():
    with pytest.raises(InputError, match="'x', at positions 0 and 2"):
        as_source(pd.DataFrame(VALUES, index=["x", "y", "x", "z"]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(3.0), r"1 dimension; .* X\.reshape\(1, -1\)"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.empty((0, 3)), "no samples"),
        (np.empty((3, 0)), "no features"),
        (np.array([["a", "b"]]), "not real numbers"),
        (np.array([[1, "b"]], dtype=object), "object values"),
        (np.array([[1j, 2]]), "complex"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "datetime64"),
        (np.ma.masked_equal([[1.0, 2.0]], 1), "masked"),
        (pd.DataFrame({"g": [1.0], "label": ["x"]}), "column 1 .* labels"),
        (pd.DataFrame({"g": pd.Categorical(["x"])}), "category"),
        (pd.Series([1.0]), "Series"),
        (sparse.coo_array(np.arange(3)), "1 dimension"),
        (anndata.AnnData(obs=pd.DataFrame(index=["a"])), "no X"),
        (zarr.array(np.arange(3), store=zarr.storage.MemoryStore()), "1 dimension"),
        (da.zeros((3,)), "1 dimension"),
        (da.zeros((4, 2))[da.zeros(4) < 1], "compute_chunk_sizes"),
    ],
)
def test_values_that_are_not_a_matrix_of_numbers_are_refused(X, message):
    with pytest.raises(InputError, match=message):
        as_source(X)


@pytest.mark.parametrize("X", [None, 3, {"a": 1}, object()])
def test_other_types_are_refused(X):
    with pytest.raises(InputTypeError, match="cohort cannot be read"):
        as_source(X)


def test_integers_that_float64_would_merge_are_refused():
    assert as_source(np.array([[2**53, -(2**53)]])).read(slice(None))[0, 0] == 2**53
    for value in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(InputError, match=f"integer {value} is too large"):
            as_source(np.array([[0, value]])).read(slice(None))
    with pytest.raises(InputError, match="too large"):
        as_source(np.array([[2**64 - 1]], dtype=np.uint64)).read(slice(None))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.npy", "no file"),
        ("table.csv", "read_expression"),
        ("broken.npy", "cannot be read"),
        ("folder", "of no known format.*Zarr array"),
    ],
)
def test_paths_without_a_cohort_are_refused(tmp_path, name, message):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=message):
        as_source(tmp_path / name)


@pytest.mark.parametrize(("rows", "message"), [([4], "4 samples"), ([-5], "4 samples"), ([0.5], "positions")])
def test_rows_outside_the_cohort_are_refused(rows, message):
    with pytest.raises(InputError, match=message):
        as_source(VALUES).read(np.array(rows))


def test_negative_positions_and_masks_select_rows():
    source = as_source(VALUES)
    np.testing.assert_array_equal(source.read([-1, 0]), VALUES[[3, 0]])
    np.testing.assert_array_equal(source.read(np.array([True, False, False, True])), VALUES[[0, 3]])


def test_number_of_feature_names_is_checked():
    with pytest.raises(InputError, match="2 feature names for 3"):
        Source(as_source(VALUES)._reader, features=["a", "b"])


MASKED = np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0]], 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: [MASKED[0], MASKED[1]],
        lambda: da.ma.masked_equal(da.from_array(np.asarray(MASKED), chunks=(1, 2)), 4),
        lambda: da.from_array(MASKED, chunks=1, asarray=False),
        lambda: as_masked_anndata(MASKED),
    ],
)
def test_masks_are_refused_in_every_container(make):
    """Public reports: sklearn#10186, scipy#20123."""
    with pytest.raises(InputError, match=r"masked: write X\.filled\(numpy\.nan\)"):
        as_source(make()).read(slice(None))


def as_masked_anndata(X):
    adata = anndata.AnnData(np.zeros(X.shape))
    adata.X = X
    return adata


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [2**53 + 1], "b": [0.5]}),
        pd.DataFrame({"a": pd.array([2**53 + 1, None], dtype="Int64")}),
        np.array([[np.longdouble("9007199254740993")]]),
    ],
)
def test_numbers_that_float64_would_merge_are_refused_beside_others(X):
    if np.finfo(np.longdouble).eps < np.finfo(float).eps or isinstance(X, pd.DataFrame):
        with pytest.raises(InputError, match=r"too large|cannot be represented"):
            as_source(X).read(slice(None))


@pytest.mark.parametrize("name", ["a\tb", "s\x1b]0;x\x07", "p\0", "a\nb"])
def test_names_with_control_characters_are_refused(name):
    with pytest.raises(InputError, match="name of sample 2"):
        as_source([[1.0], [2.0]], ids=["p", name])
    with pytest.raises(InputError, match="name of feature 1"):
        as_source(pd.DataFrame({name: [1.0]}))


def test_tables_of_other_libraries_keep_their_names():
    source = as_source(pa.Table.from_pandas(pd.DataFrame(VALUES, NAMES, GENES)))
    assert (source.ids, source.features) == (tuple(NAMES), tuple(GENES))
    np.testing.assert_array_equal(source.read(slice(None)), VALUES)
    with pytest.raises(InputError, match="column 'id' of the cohort holds text"):
        as_source(pa.table({"id": ["p", "q"], "x": [1.0, 2.0]}))


def attempt(path: Path) -> str | None:
    """Read a cohort; return the message if it is refused."""
    try:
        as_source(path).read(slice(None))
    except InputError as error:
        return str(error)
    return None


@pytest.mark.filterwarnings("ignore")  # of the libraries that read the damaged files
@pytest.mark.parametrize("name", with_slow(["X.npy", "X.npz", "cohort.h5ad", "cohort.zarr"], ["ad.zarr"]))
def test_damaged_files_are_refused_by_name(tmp_path, name):
    np.save(tmp_path / "X.npy", VALUES)
    np.savez(tmp_path / "X.npz", X=VALUES)
    saved(tmp_path, VALUES).file.close()
    zarr_array(tmp_path)
    zarr_anndata(tmp_path, VALUES)
    root, rng, refused = tmp_path / name, np.random.default_rng(0), []
    for file in sorted(root.rglob("*")) if root.is_dir() else [root]:
        if not file.is_file():
            continue
        whole = file.read_bytes()
        flipped = bytearray(whole)
        flipped[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
        for damaged in (b"", b"null", b"[]", b'{"attributes": 3}', whole[: len(whole) // 2], bytes(flipped)):
            file.write_bytes(damaged)
            refused.append(attempt(root))
        file.write_bytes(whole)
    assert attempt(root) is None
    said = [message for message in refused if message is not None]
    assert len(said) >= 5
    of_content = ("the cohort", "samples", "feature names", "the integer")  # the file is read, and holds other values
    assert [message for message in said if name not in message and not any(map(message.count, of_content))] == []


@pytest.mark.parametrize("library", ["polars", "xarray"])
def test_tables_of_polars_and_xarray_keep_their_names(library):
    X, names = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), list("abc")
    if library == "polars":
        source, ids = as_source(polars.DataFrame(X, schema=names)), None
    else:
        coords, ids = {"sample": ["p", "q"], "gene": names}, ("p", "q")
        source = as_source(xarray.DataArray(X, dims=("sample", "gene"), coords=coords))
    assert (source.ids, source.features) == (ids, ("a", "b", "c"))
    np.testing.assert_array_equal(source.read(slice(0, 2)), X)


def test_a_sparse_matrix_is_read_without_its_zeros():
    source = as_source(sparse.csr_matrix(VALUES))
    assert source.sparse
    assert source.read_sparse(slice(1, 3)).nnz == 3


def test_samples_of_fewer_features_lose_those_that_were_dropped_before():
    source = as_source(as_anndata(VALUES)).like(2, [1], ("g1", "g3"), "the cohort")
    np.testing.assert_array_equal(source.read(slice(0, 4)), VALUES[:, [0, 2]])
    with pytest.raises(InputError, match="the cohort has 3 features, and the earlier samples have 1"):
        as_source(VALUES).like(1, [1], None, "the cohort")


@pytest.mark.parametrize(("width", "said"), [(15, "2 dimensions"), (7, "room for 2 points only")])
def test_bags_that_do_not_fit_a_width_are_refused_before_they_are_read(width, said):
    bags = as_source(Bags.from_arrays([np.zeros((3, 2)), np.ones((2, 2))]))
    assert bags.widened(13).shape == (2, 13)
    with pytest.raises(InputError, match=said):
        bags.widened(width)


def test_reading_without_zeros_leaves_the_container_as_it_is(tmp_path):
    entries = (np.array([2.0, 0.0, 3.0, 4.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4]))
    X = sparse.csr_matrix(entries, shape=(2, 3))  # unsorted, a zero, and two entries of one place
    before = [array.copy() for array in (X.data, X.indices, X.indptr)]
    for rows in (slice(None), slice(0, 1), np.array([1, 0, 1])):
        read = as_source(X).read_sparse(rows)
        assert read.has_canonical_format
        assert read.data.all()
        np.testing.assert_array_equal(read.toarray(), np.array([[0.0, 0, 2], [0, 7, 0]])[rows])
    for array, old in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_rows_of_a_sparse_file_are_read_in_any_order_and_repeated(tmp_path):
    X = sparse.random_array((30, 3), density=0.3, format="csr", rng=np.random.default_rng(0))
    source = as_source(path_of(saved(tmp_path, X, names=[*map(str, range(30))]).file.close(), tmp_path, "cohort.h5ad"))
    for rows in ([3, 4, 5, 29, 0], [7, 7, 1], [0], [], [28, 29], [5, 3, 4, 5]):
        np.testing.assert_array_equal(source.read_sparse(rows).toarray(), X.toarray()[rows])


def test_features_are_selected_by_name_in_any_container():
    X, names = np.arange(12.0).reshape(3, 4), ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=names)
    sparse_cohort = anndata.AnnData(sparse.csr_matrix(X), var=frame.T[[]])
    for container in (frame, sparse_cohort):
        found = as_source(container).selected(["d", "a"], "X")
        assert (found.shape, found.features) == ((3, 2), ("d", "a"))
        np.testing.assert_array_equal(found.read(slice(0, 3)), X[:, [3, 0]])
        np.testing.assert_array_equal(found.read_sparse(slice(1, 3)).toarray(), X[1:, [3, 0]])
    assert as_source(X).selected(["d", "a"], "X").shape == (3, 4)  # no names: by position
    assert as_source(frame).selected(None, "X").features == ("a", "b", "c", "d")
    with pytest.raises(InputError, match="X lacks 1 of the 2 features that are needed: 'e'"):
        as_source(frame).selected(["e", "a"], "X")
    repeated = as_source(pd.DataFrame(X, columns=["a", "b", "a", "d"]))
    with pytest.raises(InputError, match="two features of X are called 'a': rename one"):
        repeated.selected(["b", "a"], "X")
    np.testing.assert_array_equal(repeated.selected(["d", "b"], "X").read(slice(0, 3)), X[:, [3, 1]])
