"""Zarr: arrays in a local folder, in memory, in an archive or in object storage."""

from __future__ import annotations

import json
import math
import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array
from distkern.io.blocks import Reader, ReopenedReader, Rows, refuse_damage
from distkern.io.format import Container, Format, Opened, ReadOptions

DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")
"""A Zarr folder contains one of these files, in version 3 or 2 of the format."""


FILL = "distkern_fill_missing_chunks"
"""Attribute of an array whose chunks that are not stored hold the fill value; its owner sets it to true."""


class ZarrReader(ReopenedReader):
    """Rows of a Zarr array in a local folder."""

    kind = "Zarr array"

    def __init__(self, path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        super().__init__()
        self.path = os.path.abspath(path)
        self.shape = shape
        self.dtypes = (dtype,)

    def _open(self) -> Any:
        import zarr

        array = zarr.open_array(self.path, mode="r")
        if array.shape != self.shape:
            raise InputError(f"the Zarr array {self.path!r} had shape {self.shape} and now has {array.shape}")
        return array

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        with refuse_damage(self.path, "a Zarr array"):
            array = self.handle()
            refuse_missing_chunks(array, self.path, rows)
            return take_zarr(array, rows)


class ZarrObjectReader(Reader):
    """Rows of a Zarr array in memory, in an archive or in object storage."""

    kind = "Zarr array"

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = array.shape
        self.dtypes = (array.dtype,)
        with refuse_damage(str(array.store_path), "a Zarr array"):
            whole = array.shards or array.chunks
            parts = math.prod(-(-size // length) for size, length in zip(array.shape, whole, strict=True))
            inside = math.prod(length // part for length, part in zip(whole, array.chunks, strict=True))
            if array.nchunks_initialized < parts * inside and not array.attrs.get(FILL):
                missing = parts - array.nchunks_initialized // inside
                raise _not_stored(f"{missing} of {parts} chunks", str(array.store_path), array.fill_value)

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        with refuse_damage(str(self.array.store_path), "a Zarr array"):
            return take_zarr(self.array, rows)


def refuse_missing_chunks(array: Any, path: str, rows: Rows | None = None) -> None:
    """Refuse an array in a local folder of which a chunk is not stored; only chunks with these rows are looked for.

    Zarr reads such a chunk as the fill value, usually 0, whether it was lost or never written because all its values
    equal the fill value.

    Raises
    ------
    InputError
        If a chunk is not stored, and the array does not state by its attribute that such chunks hold the fill value.
    """
    if array.attrs.get(FILL):
        return
    length = array.shards or array.chunks
    grid = [range(-(-size // step)) for size, step in zip(array.shape, length, strict=True)]
    if isinstance(rows, slice):
        grid[0] = range(rows.start // length[0], -(-rows.stop // length[0]) if rows.stop > rows.start else 0)
    elif rows is not None:
        grid[0] = np.unique(np.asarray(rows, dtype=np.intp) // length[0]).tolist()
    for position in product(*grid):
        key = array.metadata.encode_chunk_key(position)
        if not os.path.exists(os.path.join(path, key)):
            raise _not_stored(f"the chunk {key!r}", path, array.fill_value)


def _not_stored(what: str, path: str, fill: Any) -> InputError:
    return InputError(
        f"{what} of the Zarr array {path!r} cannot be found: a chunk that was lost looks like one that was not written "
        f"because all its values are {fill}; get a lost one again, or, if none is lost, set the attribute {FILL!r} of "
        "the array to true, or write it with write_empty_chunks=True"
    )


def take_zarr(array: Any, rows: Rows) -> Array:
    """Read rows of an open Zarr array."""
    if isinstance(rows, slice):
        return np.asarray(array[rows])
    if len(rows) == 0:
        return np.empty((0, array.shape[1]), dtype=array.dtype)
    return np.asarray(array.oindex[rows, slice(None)])


def open_node(path: Path) -> Any:
    """Open the Zarr array or group in a local folder.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    import zarr

    with refuse_damage(path.name, "a Zarr folder"):
        return zarr.open(str(path), mode="r")


def attributes(path: Path) -> dict[str, Any]:
    """Return the attributes of a Zarr folder without importing zarr; none if they cannot be read."""
    try:
        if (path / "zarr.json").exists():
            found = json.loads((path / "zarr.json").read_bytes())["attributes"]
        else:
            found = json.loads((path / ".zattrs").read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _open_zarr(path: Path, options: ReadOptions) -> Opened:
    import zarr

    node = open_node(path)
    if not isinstance(node, zarr.Array):
        raise InputError(f"{path.name!r} is a Zarr group but not one of AnnData: give the path of the array inside it")
    return Opened(ZarrReader(str(path), node.shape, node.dtype))


def _is_zarr(path: Path, head: bytes) -> bool:
    return any((path / name).exists() for name in DOCUMENTS)


def _open_array(array: Any) -> Opened:
    root = getattr(array.store, "root", None)
    if type(array.store).__name__ != "LocalStore" or root is None:
        return Opened(ZarrObjectReader(array))
    return Opened(ZarrReader(os.path.join(str(root), array.path), array.shape, array.dtype))


FORMATS = (Format("Zarr array", (".zarr",), _open_zarr, _is_zarr, folder=True, general=True),)
CONTAINERS = (Container("zarr", ("Array",), _open_array),)
