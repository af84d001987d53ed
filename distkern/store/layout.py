"""The arrays that a manifest lays out, and the Zarr documents that describe them: ``docs/format.md``.

::

    cohort.zarr/
      gram                  (rows, cols), one chunk a tile, and no wider than a matrix that is not symmetric; below the
                            diagonal of a symmetric matrix nothing is stored
      marks                 (row blocks, column blocks) uint64: checksums of the tiles; 0 = not done
      rows/ids              names of the samples: a JSON list as UTF-8 bytes
      rows/digests          (rows, 32) uint8: a digest of each sample's values
      rows/marks            (row blocks, arrays) uint64: checksums of the prepared arrays, in the order of their names
      rows/prepared/...     the arrays that the kernel prepared of each sample, and ``diagonal``: k(x, x)
      rows/index            (samples,) int32, only where many samples are equal: the computed row of each sample
      cols/...              the same for the columns of a rectangular matrix
      runs                  its attributes list the runs that computed something; ``runs/<name>`` describes each
      view                  its attributes: the kernel that was asked for last, where it is not the manifest's
      scratch/...           temporary arrays on their way to the workers

Arrays become longer when samples are added. Names, digests and index are then written to arrays whose names end in the
identifier of the new manifest, as ``rows/ids.<id>``: a client whose manifest comes too late has written nothing that
another client reads. Checksums tell the version of the cohort in which a tile was computed, so that the tile is kept
and only the entries of added samples are computed.

On object storage all of this lies in the folder that the manifest in ``cohort.zarr/zarr.json`` names.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distkern.core.typing import Array, Indices, Spec
from distkern.store.checksums import checksum
from distkern.store.documents import Document, as_json, damaged, group_document, is_list, is_whole, shortened
from distkern.store.location import ROOT, refuse_beyond_memory
from distkern.store.manifest import ARRAY_TYPES, GramPlan, LandmarkColumns, Manifest

DIAGONAL = "diagonal"
"""Name of the array k(x, x) beside the prepared arrays."""

NAME_BYTES = 1024
"""Bytes that the name of a sample may take, on average."""

PACKING: Spec = {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "blocksize": 0}
"""How whole numbers are compressed; floating-point values are not. Chosen by benchmarks/storing.py."""

PACKABLE = 2**31 - 2**16
"""Bytes that Blosc takes at most."""


@dataclass(frozen=True)
class Layout:
    """One array: a regular grid of chunks, each little-endian in C order and, where that pays, compressed."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str
    fill: Any = 0
    packed: bool = False

    @classmethod
    def whole(cls, array: Array) -> Layout:
        """Lay out an array as a single chunk."""
        return cls(array.shape, array.shape, array.dtype.name)

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a chunk's values."""
        return math.prod(self.chunks) * np.dtype(self.dtype).itemsize

    @property
    def codecs(self) -> list[Spec]:
        """Codecs between the values of a chunk and its bytes."""
        item = np.dtype(self.dtype).itemsize
        plain: Spec = {"name": "bytes"} if item == 1 else {"name": "bytes", "configuration": {"endian": "little"}}
        return [plain, {"name": "blosc", "configuration": PACKING | {"typesize": item}}] if self.packed else [plain]

    def document(self) -> Spec:
        """The array's ``zarr.json``."""
        return {
            "shape": list(self.shape),
            "data_type": self.dtype,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(self.chunks)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": self.fill,
            "codecs": self.codecs,
            "attributes": {},
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        }


def unpacked_bytes(header: bytes) -> int:
    """Number of bytes that a chunk of Blosc claims to unpack to."""
    return int.from_bytes(header[4:8], "little")


# The arrays of a store -----------------------------------------------------------------------------------------------


def arrays_of(manifest: Manifest) -> dict[str, Layout]:
    """All arrays of a store by name; arrays of sample names have length 0 here, since the manifest has no names."""
    grid, first = manifest.grid, manifest.as_made().grid  # arrays keep the chunks that they were made with
    dtype = np.dtype(manifest.dtype)
    empty = "NaN" if dtype.kind == "f" else 0
    width = grid.side if grid.symmetric else min(grid.side, grid.cols)  # a symmetric matrix may grow
    packed = dtype.kind == "i" and dtype.itemsize * grid.side * width <= PACKABLE
    layouts = {
        "gram": Layout((grid.rows, grid.cols), (grid.side, width), manifest.dtype, empty, packed),
        "marks": Layout((grid.row_blocks, grid.col_blocks), (1, first.col_blocks), "uint64"),
    }
    blocks = {"rows": (grid.row_blocks, first.row_blocks), "cols": (grid.col_blocks, first.col_blocks)}
    for axis, computed, samples in zip(manifest.axes, manifest.shape, manifest.samples, strict=False):
        now, at_first = blocks[axis]
        arrays, size = len(manifest.prepared) + 1, manifest.digest_kind.size
        layouts[manifest.array_name(axis, "ids")] = Layout((0,), (0,), "uint8")
        layouts[manifest.array_name(axis, "digests")] = Layout((computed, size), (computed, size), "uint8")
        layouts[f"{axis}/marks"] = Layout((now, arrays), (at_first, arrays), "uint64")
        if axis in manifest.index:
            layouts[manifest.array_name(axis, "index")] = Layout((samples,), (samples,), "int32")
        layouts[f"{axis}/prepared/{DIAGONAL}"] = Layout((computed,), (grid.side,), "float64", 0.0)
        for name, (kind, row) in manifest.prepared.items():
            fill = np.zeros((), kind).item()
            layouts[f"{axis}/prepared/{name}"] = Layout((computed, *row), (grid.side, *row), kind, fill)
    return layouts


def holds_names(name: str) -> bool:
    """Whether an array holds the names of samples, of whatever version of the cohort."""
    return name.partition("/")[2].partition(".")[0] == "ids"


def growing_axes(name: str) -> int:
    """Number of leading axes along which an array becomes longer as a cohort grows."""
    if name.partition("/")[2].partition(".")[0] in ("ids", "digests", "index"):
        return 0
    return 2 if name in ("gram", "marks") else 1


# A new store ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AxisSamples:
    """The stored data of the samples of one axis, apart from their prepared arrays.

    Parameters
    ----------
    ids
        Names of all samples.
    digests
        Digests of the computed samples.
    index
        The computed sample that each sample equals; None where each is computed.
    """

    ids: tuple[str, ...]
    digests: Array
    index: Indices | None

    def arrays(self) -> dict[str, Array]:
        """The arrays to write, by name."""
        text = np.frombuffer(json.dumps(list(self.ids)).encode(), dtype=np.uint8)
        index = {} if self.index is None else {"index": self.index.astype("<i4")}
        return {"ids": text, "digests": self.digests} | index


def new_store(
    plan: GramPlan,
    axes: Mapping[str, AxisSamples],
    features: Sequence[str] | None,
    prepared: Mapping[str, Array],
    *,
    own_folder: bool,
    landmark_columns: LandmarkColumns | None = None,
) -> dict[str, bytes]:
    """All files of a store that holds no tile yet, the root last.

    Parameters
    ----------
    plan
        The plan of the computation.
    axes
        For ``"rows"`` and, where rectangular, ``"cols"``: the samples.
    features
        Names of the features, if they have any.
    prepared
        The prepared arrays of some samples; their types, and the shape of one sample, hold for all samples.
    own_folder
        Whether everything but the root lies in a folder that the root names.
    landmark_columns
        The landmarks, where the columns are some of the row samples.
    """
    whole = {axis: samples.arrays() for axis, samples in axes.items()}
    manifest = Manifest.of_plan(
        plan,
        ids={axis: checksum(arrays["ids"]) for axis, arrays in whole.items()},
        index={axis: checksum(arrays["index"]) for axis, arrays in whole.items() if "index" in arrays},
        features=features,
        prepared=prepared,
        own_folder=own_folder,
        landmark_columns=landmark_columns,
    )
    groups = ["runs/", *(f"{axis}/" for axis in axes), *(f"{axis}/prepared/" for axis in axes)]
    groups += [""] if own_folder else []
    files = {group + ROOT: group_document({}) for group in groups}
    files["runs/" + ROOT] = group_document({"runs": []})
    files |= {f"{name}/{ROOT}": as_json(layout.document()) for name, layout in arrays_of(manifest).items()}
    for axis, arrays in whole.items():
        for name, array in arrays.items():
            files |= array_files(f"{axis}/{name}", array)
    below = f"{manifest.folder}/".lstrip("/")
    return {below + key: content for key, content in files.items()} | {ROOT: manifest.to_root()}


def array_files(name: str, array: Array) -> dict[str, bytes]:
    """The two files of an array that is one chunk: its document and its values."""
    document = as_json(Layout.whole(array).document())
    return {f"{name}/{ROOT}": document, f"{name}/c/{'/'.join('0' * array.ndim)}": array.tobytes()}


# Documents of arrays --------------------------------------------------------------------------------------------------


def read_layout(path: str, name: str, raw: bytes, manifest: Manifest) -> Layout:
    """Read the document of an array, which must be as the manifest lays it out, or of another length that it had.

    The layout is at least as long as the manifest says: a client may have been killed before it wrote the longer
    document, or after it had, for samples that were never added.

    Raises
    ------
    StoreError
        If the document is that of another array, or a chunk would not fit in memory.
    """
    document = Document.parsed(path, f"{name}/{ROOT}", raw).entries
    planned = arrays_of(manifest)[name]
    shape = document.get("shape")
    if not is_list(is_whole(1), len(planned.shape), len(planned.shape))(shape):
        raise damaged(path, f"the shape of {name!r} cannot be {shortened(shape)}")
    assert isinstance(shape, list)
    if holds_names(name):
        samples = manifest.samples[0 if name.startswith("rows") else 1]
        if shape[0] > NAME_BYTES * samples + 2:
            raise damaged(path, f"the names of {name!r} cannot take {shape[0]:,} bytes")
        planned = Layout((shape[0],), (shape[0],), "uint8")
    axes = growing_axes(name)
    least = arrays_of(manifest.as_made())[name].shape if axes else ()
    if any(map(operator.lt, shape, least)) or tuple(shape[axes:]) != planned.shape[axes:]:
        raise damaged(path, f"{name!r} is of shape {tuple(shape)} and should be of {planned.shape}")
    for key, value in replace(planned, shape=tuple(shape)).document().items():
        if not _same(document.get(key, value), value):
            raise damaged(path, f"{key!r} of {name!r} cannot be {shortened(document.get(key))}")
    refuse_beyond_memory(path, f"a part of {name!r}", planned.chunk_bytes)
    return replace(planned, shape=(*map(max, shape[:axes], planned.shape), *planned.shape[axes:]))


def read_temporary_layout(path: str, name: str, raw: bytes) -> Layout:
    """Read the document of a temporary array, of any shape.

    Raises
    ------
    StoreError
        If it is not the document of such an array, or a chunk would not fit in memory.
    """
    document = Document.parsed(path, f"{name}/{ROOT}", raw).entries
    try:
        chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
        found = Layout(tuple(document["shape"]), tuple(chunks), str(document["data_type"]))
        refuse_beyond_memory(path, name, found.chunk_bytes)
        whole = all(type(size) is int and size >= 0 for size in found.shape)
        right = whole and found.dtype in ARRAY_TYPES and _same(found.document(), document)
    except (KeyError, TypeError):
        right = False
    if not right:
        raise damaged(path, f"{name!r} is no temporary array")
    return found


def _same(found: Any, expected: Any) -> bool:
    """Equal, in type too: JSON's true is not 1."""
    try:
        return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)
    except RecursionError:
        return False
