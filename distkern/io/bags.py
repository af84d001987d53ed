"""Bags in a Zarr store, and readers of their rows: from memory, from a store, and padded to a larger width."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.bags import Bags, pad_rows, row_width, widen_rows
from distkern.core.errors import InputError, InputTypeError
from distkern.core.events import Listener, Progress, silent
from distkern.core.files import as_path, folder_written_whole
from distkern.core.typing import Array, Floats, Indices
from distkern.io.blocks import Reader, ReopenedReader, Rows

FORMAT = 1
"""Version of the format; a larger number is that of a later distkern."""

ATTRIBUTE = "distkern_bags"
"""Attribute of the store with the version of its format."""

CHUNK_BYTES = 2**21
"""Bytes of points in a Zarr chunk."""

OFFSETS = 2**16
"""Offsets in a Zarr chunk."""

_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, IndexError, OverflowError)
"""Errors that reading a damaged store raises."""


class BagsReader(Reader):
    """Rows of bags in memory, made for a few bags at a time."""

    kind = "Bags"
    ragged = True

    def __init__(self, bags: Bags) -> None:
        self.bags, self.largest = bags, int(bags.sizes.max())
        self.dtypes = (bags.values.dtype,)
        self.shape = len(bags), row_width(self.largest, bags.dimensions)

    def take(self, rows: Rows) -> Array:
        """Make the rows of some bags."""
        bags, positions = self.bags, np.arange(len(self.bags))[rows]
        parts = [slice(bags.offsets[bag], bags.offsets[bag + 1]) for bag in positions]
        points = np.concatenate([bags.values[:0], *(bags.values[part] for part in parts)])
        weights = np.concatenate([bags.weights[:0], *(bags.weights[part] for part in parts)])
        return pad_rows(points, bags.sizes[positions], weights, self.largest)


class WidenedReader(Reader):
    """Rows of bags, padded to the width of larger bags."""

    ragged = True

    def __init__(self, whole: Reader, width: int) -> None:
        self.whole, self.kind, self.portable, self.dtypes = whole, whole.kind, whole.portable, whole.dtypes
        self.shape = whole.shape[0], width

    def take(self, rows: Rows) -> Array:
        """Read rows and pad them."""
        values = self.whole.take(rows)
        return widen_rows(values, self.shape[1]) if len(values) else np.empty((0, self.shape[1]))


class StoredBagsReader(ReopenedReader):
    """Rows of bags in a store; only the requested bags are read."""

    kind = "stored bags"
    ragged = True

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = os.path.abspath(path)
        arrays = self.handle()
        offsets = _offsets(self.path, arrays)
        self.points, self.dimensions = (int(size) for size in arrays["values"].shape)
        self.largest = int(np.diff(offsets).max())
        self.dtypes = (np.dtype(np.float64),)
        self.shape = len(offsets) - 1, row_width(self.largest, self.dimensions)

    def _open(self) -> dict[str, Any]:
        arrays = _opened(self.path)
        if hasattr(self, "shape"):  # opened before, in another process
            there = arrays["offsets"].shape[0] - 1, *arrays["values"].shape
            if there != (self.shape[0], self.points, self.dimensions):
                raise InputError(f"{self.path!r} holds other bags than when it was opened: open it again")
        return arrays

    def take(self, rows: Rows) -> Array:
        """Read the points of some bags and write them as rows."""
        positions = np.arange(self.shape[0])[rows]
        if len(positions) == 0:
            return np.empty((0, self.shape[1]))
        arrays, first = self.handle(), int(positions.min())
        offsets = _read(self.path, arrays, "offsets", slice(first, int(positions.max()) + 2))
        sizes = np.diff(offsets)
        if not (0 <= offsets[0] and (sizes > 0).all() and (sizes <= self.largest).all() and offsets[-1] <= self.points):
            raise _damaged(self.path, "offsets")
        runs = np.split(positions, np.flatnonzero(np.diff(positions) != 1) + 1)
        parts = [slice(int(offsets[run[0] - first]), int(offsets[run[-1] - first + 1])) for run in runs]
        values = _joined([_read(self.path, arrays, "values", part) for part in parts])
        weights = _joined([_read(self.path, arrays, "weights", part) for part in parts])
        if not (np.isfinite(values).all() and (weights > 0).all()):  # a missing chunk is NaN
            raise _damaged(self.path, "values or weights")
        return pad_rows(values, sizes[positions - first], weights, self.largest)

    def sizes(self) -> Indices:
        """Number of points of each bag."""
        return np.diff(_offsets(self.path, self.handle()))

    @property
    def ids(self) -> list[str]:
        """Names of the bags."""
        return _names(self.path, self.handle())["ids"]


def save_bags(
    bags: Bags, path: str | os.PathLike[str], *, overwrite: bool = False, on_event: Listener = silent
) -> Path:
    """Write bags into a Zarr store, which appears at its path once it is complete.

    `compute_gram` and all other functions that take samples take the path of the store, and read a few bags at a time;
    on a cluster each worker reads its own bags. The samples are identical to those of the bags in memory, so that a run
    can be resumed with either.

    Parameters
    ----------
    bags
        The bags.
    path
        The folder to write.
    overwrite
        Replace stored bags at this path; anything else is never replaced.
    on_event
        A function of progress events.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        If the path exists, is a URL or cannot be written, or labels are neither numbers nor texts.

    See Also
    --------
    load_bags : Reads the store.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from distkern import MeanMap, compute_gram
    >>> bags = Bags.from_arrays([[-1.0, 3.0], [2.0]], ids=["a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     path = save_bags(bags, f"{folder}/bags.zarr")
    ...     gram = compute_gram(MeanMap(), path, store=f"{folder}/gram.zarr")
    ...     gram.ids, load_bags(path) == bags
    (('a', 'b'), True)
    """
    if not isinstance(bags, Bags):
        raise InputTypeError(f"save_bags stores Bags, as from Bags.from_arrays, not a {type(bags).__name__}")
    folder = as_path(path)
    if "://" in os.fspath(path):
        raise InputError(f"bags are stored in a folder, and {str(path)!r} is a URL: give a path that all workers share")
    if overwrite and os.path.lexists(folder) and not holds_bags(folder):
        raise InputError(f"{str(folder)!r} exists and holds no bags, and nothing else is replaced: give another path")
    names = np.frombuffer(json.dumps(_document(bags)).encode(), dtype=np.uint8)
    with folder_written_whole(folder, overwrite=overwrite) as building:
        _write(building, bags, names, on_event)
    return folder


def load_bags(path: str | os.PathLike[str]) -> Bags:
    """Read all bags of a store written by `save_bags` into memory.

    Parameters
    ----------
    path
        The folder.

    Raises
    ------
    InputError
        If the path does not exist, is not a store of bags, is damaged, or has a later format.

    See Also
    --------
    save_bags : Writes the store.
    """
    where = str(as_path(path))
    if not os.path.exists(where):
        raise InputError(f"there is no store of bags {where!r}: check the path")
    arrays = _opened(where)
    names, offsets = _names(where, arrays), _offsets(where, arrays)
    values, weights = (_read(where, arrays, name, slice(None)) for name in ("values", "weights"))
    try:
        labels = None if names["labels"] is None else np.array(names["labels"], dtype=np.dtype(names["label_dtype"]))
        return Bags(values, offsets, weights, tuple(names["ids"]), labels)
    except _DAMAGED as error:
        raise InputError(f"the bags in {where!r} are damaged ({error}): write them again") from error


def holds_bags(path: str | os.PathLike[str]) -> bool:
    """Whether there is a store of bags, in any format, at a path."""
    try:
        return ATTRIBUTE in json.loads(Path(path, "zarr.json").read_bytes())["attributes"]
    except _DAMAGED:
        return False


def read_labels_of_bags(path: str | os.PathLike[str]) -> dict[str, str]:
    """Labels of stored bags as texts, by the names of the bags; empty if there are no labels."""
    names = _names(str(path), _opened(str(path)))
    return {} if names["labels"] is None else dict(zip(names["ids"], map(str, names["labels"]), strict=True))


# The arrays --------------------------------------------------------------------------------------------------------


def _document(bags: Bags) -> dict[str, Any]:
    """Names and labels as JSON-ready values."""
    labels = bags.labels
    if labels is None:
        return {"ids": list(bags.ids), "labels": None}
    if not (labels.dtype.kind in "biufU" or all(isinstance(label, str) for label in labels)):
        raise InputError(f"labels of {labels.dtype} cannot be stored: give every bag a number or a text")
    return {"ids": list(bags.ids), "labels": labels.tolist(), "label_dtype": labels.dtype.str}


def _write(folder: Path, bags: Bags, names: Array, on_event: Listener) -> None:
    import zarr
    from zarr.codecs import Crc32cCodec

    group = zarr.create_group(str(folder), attributes={ATTRIBUTE: FORMAT})
    rows = max(1, CHUNK_BYTES // (8 * bags.dimensions))
    for name, array, length, fill in (
        ("values", bags.values, rows, np.nan),
        ("weights", bags.weights, rows, np.nan),
        ("offsets", bags.offsets, OFFSETS, -1),
        ("names", names, CHUNK_BYTES, 0),
    ):
        target = group.create_array(
            name,
            shape=array.shape,
            chunks=(min(length, len(array)), *array.shape[1:]),
            dtype=array.dtype,
            compressors=[Crc32cCodec()],
            fill_value=fill,
            config={"write_empty_chunks": True},
        )
        for start in range(0, len(array), length):
            target[start : start + length] = array[start : start + length]
            on_event(Progress(f"write {name}", min(start + length, len(array)), len(array)))


def _opened(path: str) -> dict[str, Any]:
    """The arrays of a store, whose sizes fit together."""
    import zarr

    if not holds_bags(path):
        raise InputError(f"{path!r} holds no bags: give the folder that save_bags has written")
    try:
        group = zarr.open_group(path, mode="r")
        found = group.attrs[ATTRIBUTE]
        arrays: dict[str, Any] = {name: group[name] for name in ("values", "weights", "offsets", "names")}
        (points, d), (ends,), dtypes = (
            arrays["values"].shape,
            arrays["offsets"].shape,
            [a.dtype for a in arrays.values()],
        )
        fits = arrays["weights"].shape == (points,) and arrays["values"].chunks[1] == d and min(points, d, ends - 1) > 0
    except _DAMAGED as error:
        raise InputError(f"the bags in {path!r} are damaged ({error}): write them again") from error
    if found != FORMAT:
        raise InputError(f"{path!r} holds bags in format {found!r}, and format {FORMAT} is read: update distkern")
    if not fits or dtypes != [np.float64, np.float64, np.int64, np.uint8]:
        raise InputError(f"the bags in {path!r} are damaged (their parts do not fit together): write them again")
    return arrays


def _offsets(path: str, arrays: dict[str, Any]) -> Indices:
    offsets = _read(path, arrays, "offsets", slice(None))
    if offsets[0] != 0 or offsets[-1] != arrays["values"].shape[0] or (np.diff(offsets) <= 0).any():
        raise _damaged(path, "offsets")
    return offsets


def _names(path: str, arrays: dict[str, Any]) -> dict[str, Any]:
    try:
        names: dict[str, Any] = json.loads(bytes(_read(path, arrays, "names", slice(None))))
        lengths = {len(names["ids"]), *([] if names["labels"] is None else [len(names["labels"])])}
    except _DAMAGED:
        raise _damaged(path, "names") from None
    if lengths != {arrays["offsets"].shape[0] - 1}:
        raise _damaged(path, "names")
    return names


def _read(path: str, arrays: dict[str, Any], name: str, where: slice) -> Any:
    try:
        return np.asarray(arrays[name][where])
    except _DAMAGED as error:
        raise _damaged(path, name) from error


def _damaged(path: str, what: str) -> InputError:
    return InputError(f"the {what} of the bags in {path!r} are damaged: write them again, or get the store again")


def _joined(parts: list[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
