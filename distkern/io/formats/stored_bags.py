"""Bags in memory, and Zarr folders of bags that `save_bags` has written."""

from __future__ import annotations

from pathlib import Path

from distkern.core.bags import Bags
from distkern.io.bags import BagsReader, StoredBagsReader, holds_bags, read_labels_of_bags
from distkern.io.format import Columns, Container, Format, Opened, ReadOptions


def _open_folder(path: Path, options: ReadOptions) -> Opened:
    reader = StoredBagsReader(str(path))
    return Opened(reader, reader.ids)


def _columns(path: Path, options: ReadOptions) -> Columns:
    labels = read_labels_of_bags(path)
    return {"label": labels} if labels else {}


def _is_bags(path: Path, head: bytes) -> bool:
    return holds_bags(path)


def _open_bags(bags: Bags) -> Opened:
    return Opened(BagsReader(bags), bags.ids)


FORMATS = (Format("stored bags", (".zarr",), _open_folder, _is_bags, folder=True, matrix=False, columns=_columns),)
CONTAINERS = (Container("distkern.core.bags", ("Bags",), _open_bags),)
