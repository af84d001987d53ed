"""Zarr: arrays in a local folder, in memory, in an archive or in object storage."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array
from distkern.io.blocks import Reader, ReopenedReader, Rows, refuse_damage
from distkern.io.format import Container, Format, Opened, ReadOptions

DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")
"""A Zarr folder contains one of these files, in version 3 or 2 of the format."""


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
            return take_zarr(self.handle(), rows)


class ZarrObjectReader(Reader):
    """Rows of a Zarr array in memory, in an archive or in object storage."""

    kind = "Zarr array"

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = array.shape
        self.dtypes = (array.dtype,)

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return take_zarr(self.array, rows)


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
