"""Cohorts that lie in binary files: what is inside, opened without reading all of it where the format allows."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import MAGIC_PREFIX

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.files import as_path
from distkern.core.sentences import Call, OptionalPart
from distkern.core.typing import Array
from distkern.io.bags import StoredBagsReader, holds_bags
from distkern.io.blocks import H5ADReader, ZarrReader

READABLE = ".npy, .npz, .h5ad and .zarr"


@dataclass(frozen=True)
class Opened:
    """What a file holds: a container or a reader of its values, and the names it brings."""

    values: Any
    ids: Any = None
    features: Any = None
    is_reader: bool = False


@dataclass(frozen=True)
class Archive:
    """The arrays of an ``.npz`` file under the meaning of their names."""

    X: Any
    ids: Array | None = None
    features: Array | None = None
    others: dict[str, Array] = field(default_factory=dict)


def open_path(path: Path) -> Opened:
    """Open a ``.npy``, ``.npz``, ``.h5ad`` file, a Zarr array or stored bags by their path.

    Raises
    ------
    InputError
        If nothing lies there, or nothing that can be read as a cohort.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.eye(3))
    ...     open_path(Path(folder, "X.npy")).values.shape
    (3, 3)
    """
    path = as_path(path)
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r}: check the path")
    if path.is_dir():
        return _open_zarr(path)
    if path.suffix == ".npy":
        return Opened(read_npy(path, mapped=True))
    if path.suffix == ".npz":
        archive = read_npz(path)
        return Opened(archive.X, archive.ids, archive.features)
    if path.suffix == ".h5ad":
        return _open_h5ad(path)
    raise InputError(
        "{file!r} is neither one of the files that are read block by block ({readable}) nor a text table "
        "({tables}){read}",
        file=path.name,
        readable=READABLE,
        tables=".csv, .tsv, .txt, .tab",
        read=OptionalPart(", which {call} reads", call=Call("read_expression")),
    )


def read_npy(path: Path, *, mapped: bool = False) -> Array:
    """Read the array of a ``.npy`` file, never running code that it may hold."""
    try:
        with path.open("rb") as raw:
            if raw.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:
                raise ValueError("not the beginning of an array")
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (ValueError, EOFError) as error:  # what NumPy says of such a file is to unpickle it
        raise InputError(
            f"{path.name!r} cannot be read as an array of numbers, for it is damaged or holds Python objects: get the "
            "file again, or write numbers with numpy.save"
        ) from error
    except OSError as error:
        raise InputError(f"{path.name!r} cannot be read: {error.strerror or error}; check the file") from error


def read_npz(path: Path) -> Archive:
    """Read an ``.npz`` file: ``X`` or its only matrix, and names under ``ids`` or ``samples`` and ``features``.

    A sparse matrix written by ``scipy.sparse.save_npz`` is read too.

    Raises
    ------
    InputError
        If the file holds no matrix, or several and none is called ``X``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/cohort.npz", X=np.eye(2), samples=["a", "b"], y=[0, 1])
    ...     archive = read_npz(Path(folder, "cohort.npz"))
    >>> archive.ids, archive.others
    (array(['a', 'b'], dtype='<U1'), {'y': array([0, 1])})
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path.name!r} cannot be read as arrays of numbers and text, for it is damaged or holds Python objects: "
            "get the file again, or write plain arrays with numpy.savez"
        ) from error
    except OSError as error:
        raise InputError(f"{path.name!r} cannot be read: {error.strerror or error}; check the file") from error
    if {"format", "shape", "data"} <= arrays.keys():
        from scipy import sparse

        return Archive(sparse.load_npz(path))
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if "X" not in arrays and len(matrices) != 1:
        held = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise InputError(f"{path.name!r} must hold the cohort as an array X or as its only matrix; it holds {held}")
    X = arrays.pop("X" if "X" in arrays else matrices[0])
    ids = arrays.pop("ids", None)
    if ids is None:
        ids = arrays.pop("samples", None)
    return Archive(X, ids, arrays.pop("features", None), arrays)


def _open_h5ad(path: Path) -> Opened:
    try:
        import h5py
        from anndata.io import read_elem
    except ImportError as error:
        raise MissingExtraError.of("reading .h5ad files", "io") from error
    try:
        with h5py.File(path, "r") as file:
            ids, features = read_elem(file["obs"]).index, read_elem(file["var"]).index
    except (OSError, KeyError) as error:
        raise InputError(f"{path.name!r} cannot be read as an .h5ad file: {error}") from error
    return Opened(H5ADReader(str(path)), ids, features, is_reader=True)


def _open_zarr(path: Path) -> Opened:
    import zarr

    if holds_bags(path):
        bags = StoredBagsReader(str(path))
        return Opened(bags, bags.ids, is_reader=True)
    try:
        node = zarr.open(str(path), mode="r")
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"the folder {path.name!r} cannot be read as a Zarr array: {error}") from error
    if isinstance(node, zarr.Array):
        return Opened(ZarrReader(str(path), node.shape, node.dtype), is_reader=True)
    if node.attrs.get("encoding-type") != "anndata" or "X" not in node:
        raise InputError(f"{path.name!r} is a Zarr group without a cohort: give the path of the array inside it")
    try:
        from anndata.io import read_elem
    except ImportError as error:
        raise MissingExtraError.of("reading an AnnData Zarr store", "io") from error
    ids, features, X = read_elem(node["obs"]).index, read_elem(node["var"]).index, node["X"]
    if isinstance(X, zarr.Array):
        return Opened(ZarrReader(str(path / "X"), X.shape, X.dtype), ids, features, is_reader=True)
    return Opened(read_elem(X), ids, features)
