"""Formats are found by suffix, then by content; a new format is one new file."""

from __future__ import annotations

import dataclasses
import gzip
import subprocess
import sys
from pathlib import Path

import anndata
import numpy as np
import pytest
import zarr
from click.testing import CliRunner

from distkern import compute_gram, open_gram
from distkern.cli.main import main
from distkern.core.bags import Bags
from distkern.core.errors import InputError, InputTypeError
from distkern.io import formats, registry
from distkern.io.bags import save_bags
from distkern.io.expression import read_expression
from distkern.io.registry import find_format, open_container
from distkern.io.source import as_source
from distkern.kernels.vectors import Linear

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
TABLE = "id,a,b,c\ns,1,2,3\nt,4,5,7\n"

TOY = """
import numpy as np

from distkern.io.format import Container, Format, Opened


def _open(path, options):
    lines = [line.split() for line in path.read_text().splitlines()[1:]]
    ids, values = [line[0] for line in lines], np.array([line[1:-1] for line in lines], dtype=float)
    return Opened(values, ids, columns={"group": [line[-1] for line in lines]})


FORMATS = (Format("toy file", (".toy", "_table.txt"), _open, lambda path, head: head.startswith(b"#toy")),)
CONTAINERS = (Container("fractions", ("Fraction",), lambda X: Opened(np.array([[float(X)]]))),)
"""
"""A whole file of the formats' folder: what the author of a new format writes."""

TOY_COHORT = "#toy\ns 1 2 3 ill\nt 4 5 7 well\n"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Add a file with a toy format to the folder of formats."""
    folder = tmp_path / "formats"
    folder.mkdir()
    (folder / "toy_files.py").write_text(TOY)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    registry.modules.cache_clear()
    yield
    registry.modules.cache_clear()
    sys.modules.pop("distkern.io.formats.toy_files", None)


def written(folder: Path, name: str) -> Path:
    """Write the same cohort in a format that the name begins with."""
    path, kind = folder / name, name.partition("-")[0]
    if kind in ("npy", "npz"):
        with path.open("wb") as file:
            np.save(file, X) if kind == "npy" else np.savez(file, X=X)
    elif kind == "h5ad":
        anndata.AnnData(X).write_h5ad(path)
    elif kind == "anndata":
        anndata.AnnData(X).write_zarr(path)
    elif kind == "zarr":
        zarr.create_array(str(path), data=X)
    elif kind == "bags":
        save_bags(Bags.from_arrays([[[1.0]], [[2.0]]]), path)
    else:
        path.write_bytes(gzip.compress(TABLE.encode()) if kind == "compressed" else TABLE.encode())
    return path


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize(
    ("kind", "suffix", "format"),
    [
        ("npy", ".npy", "NumPy array"),
        ("npz", ".npz", "NumPy archive"),
        ("h5ad", ".h5ad", "AnnData"),
        ("anndata", ".zarr", "AnnData in Zarr"),
        ("zarr", ".zarr", "Zarr array"),
        ("bags", ".zarr", "stored bags"),
        ("table", ".CSV", "text table"),
        ("compressed", ".tsv.gz", "text table"),
    ],
)
def test_format_is_found_by_suffix_and_by_content(tmp_path, kind, suffix, format):
    assert find_format(written(tmp_path, f"{kind}-named{suffix}")).name == format
    assert find_format(written(tmp_path, f"{kind}-unnamed")).name == format


def test_suffix_wins_over_content(tmp_path):
    (tmp_path / "table.npy").write_text(TABLE)
    assert find_format(tmp_path / "table.npy").name == "NumPy array"
    with pytest.raises(InputError, match="damaged or holds Python objects"):
        as_source(tmp_path / "table.npy")


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n", b"one line\nanother\n", b"a,b\n1\n", b"\0a,b\n1,2\n", b"\xff,\xff\n1,2\n"]
)
def test_unknown_format_is_refused_with_the_known_ones(tmp_path, content):
    (tmp_path / "file.xyz").write_bytes(content)
    with pytest.raises(
        InputError, match=r"'file\.xyz' is of no known format; .*AnnData \(\.h5ad\).*NumPy array \(\.npy\)"
    ):
        find_format(tmp_path / "file.xyz")
    with pytest.raises(InputError, match="there is no file"):
        find_format(tmp_path / "nothing.xyz")


def test_file_named_like_a_folder_is_not_one(tmp_path):
    (tmp_path / "file.zarr").write_bytes(b"text")
    (tmp_path / "folder.npy").mkdir()
    for name in ("file.zarr", "folder.npy"):
        with pytest.raises(InputError, match="of no known format"):
            find_format(tmp_path / name)


def test_suffixes_are_in_lower_case_and_names_unique():
    found = registry.formats()
    assert all(suffix == suffix.lower() for format in found for suffix in format.suffixes)
    assert len({format.name for format in found}) == len(found)
    assert [format.general for format in found] == sorted(format.general for format in found)


def test_format_in_one_file_is_read_everywhere(toy, tmp_path):
    for name in ("cohort.toy", "cohort", "cohort_table.txt"):
        (tmp_path / name).write_text(TOY_COHORT)
        source = as_source(tmp_path / name)
        assert source.ids == ("s", "t")
        np.testing.assert_array_equal(source.read(slice(None)), X)
    adata = read_expression(tmp_path / "cohort.toy", label="group")
    np.testing.assert_array_equal(adata.X, X)
    assert list(adata.obs["group"]) == ["ill", "well"]
    gram = compute_gram(Linear(), tmp_path / "cohort.toy", store=tmp_path / "python.zarr", progress=False)
    np.testing.assert_array_equal(gram[:, :].to_numpy(), X @ X.T)
    words = ["gram", tmp_path / "cohort.toy", tmp_path / "typed.zarr", "--kernel", "linear", "--quiet"]
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 0, result.output
    assert open_gram(tmp_path / "typed.zarr").ids == ("s", "t")
    (tmp_path / "file.xyz").write_text("")
    with pytest.raises(InputError, match=r"toy file \(\.toy, _table\.txt\)"):
        as_source(tmp_path / "file.xyz")


def test_container_in_one_file_is_viewed(toy):
    from fractions import Fraction

    assert as_source(Fraction(1, 4)).read(slice(None)).tolist() == [[0.25]]


def test_special_case_of_a_table_is_recognised_by_its_content(toy, tmp_path, monkeypatch):
    general = next(format for format in registry.formats() if format.general and ".txt" in format.suffixes)
    special = next(format for format in registry.formats() if format.name == "toy file")
    special = dataclasses.replace(special, suffixes=(".txt",))
    monkeypatch.setattr(sys.modules["distkern.io.formats.toy_files"], "FORMATS", (special,))
    (tmp_path / "toy.txt").write_text(TOY_COHORT)
    (tmp_path / "table.txt").write_text("neither")
    assert find_format(tmp_path / "toy.txt") is special
    assert find_format(tmp_path / "table.txt") is general


def test_finding_formats_imports_no_container_library():
    script = (
        "import sys; from distkern.io.registry import containers, formats; formats(), containers();"
        "print(sorted({'pandas', 'anndata', 'zarr', 'h5py', 'dask', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_object_without_a_container_is_refused():
    with pytest.raises(InputTypeError, match=r"from a builtins\.set: give numpy\.asarray\(X\)"):
        open_container({1, 2})
