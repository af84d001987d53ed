"""The arrays of a store, as a plan lays them out, and the Zarr documents that describe them: `docs/format.md`.

::

    cohort.zarr/
      gram                  (rows, cols), one chunk a tile, and no wider than a matrix that is not symmetric; below the
                            diagonal of a symmetric matrix nothing is stored
      marks                 (row blocks, column blocks) uint64: 0 = not done, else 2^32 g + crc32c of the tile, g = 1
      rows/ids              names of the samples: a JSON list as UTF-8 bytes
      rows/digests          (rows, 16) uint8: a digest of each sample's values
      rows/marks            (row blocks, arrays) uint64: as above, of each prepared array in the order of their names
      rows/prepared/...     what the kernel prepared once per sample, and ``diagonal``: k(x, x)
      rows/index            (samples,) int32, only where many samples are equal: which row each of them is
      cols/...              the same for the columns of a rectangular matrix
      runs                  its attributes list the runs that computed something, and ``runs/<name>`` has in its own:
                            when, on what, how far, what failed
      scratch/...           vectors on their way to workers that multiply; nothing to read

A cohort that grows has another generation g = 2, 3, …; the plan lists the number of samples of each. Arrays become
longer. Names, digests and index go to arrays that end in the id of the new plan, as ``rows/ids.<id>``, so that a client
whose plan comes too late has written nothing that another one reads. A mark of generation g is of what the tile held
then: a tile that has more samples since is not done, but what it holds is kept and only the rest is computed.

On object storage all of this lies in a folder that the plan in ``cohort.zarr/zarr.json`` names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np

from distkern._version import __version__
from distkern.core.typing import Array, Indices, Spec
from distkern.store.grid import Grid
from distkern.store.location import ROOT
from distkern.store.samples import DIAGONAL, checksum, written_whole

FORMAT = 1
"""Version of the layout; a store of another version is refused."""

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

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a chunk's values."""
        return math.prod(self.chunks) * np.dtype(self.dtype).itemsize

    @property
    def codecs(self) -> list[Spec]:
        """What turns the values of a chunk into its bytes."""
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
    """How many bytes a chunk of Blosc says that it unpacks to."""
    return int.from_bytes(header[4:8], "little")


def grid_of(meta: Spec) -> Grid:
    """Cut the matrix that a plan describes into its tiles."""
    rows, cols = meta["shape"]
    return Grid(rows, cols, meta["tile"], meta["symmetric"])


def arrays_of(meta: Spec) -> dict[str, Layout]:
    """Every array of a store by name; of the names of samples only the plan does not tell the length, and says 0."""
    grid = grid_of(meta)
    dtype = np.dtype(meta["dtype"])
    empty = "NaN" if dtype.kind == "f" else 0
    width = grid.side if grid.symmetric else min(grid.side, grid.cols)  # a symmetric matrix may grow
    packed = dtype.kind == "i" and dtype.itemsize * grid.side * width <= PACKABLE
    first = meta["generations"][0]  # arrays become longer as a cohort grows, and keep their chunks
    laid_out = grid_of({**meta, "shape": first["shape"]})
    layouts = {
        "gram": Layout((grid.rows, grid.cols), (grid.side, width), meta["dtype"], empty, packed),
        "marks": Layout((grid.row_blocks, grid.col_blocks), (1, laid_out.col_blocks), "uint64"),
    }
    sides = {"rows": (0, grid.row_blocks, laid_out.row_blocks)}
    sides |= {} if grid.symmetric else {"cols": (1, grid.col_blocks, laid_out.col_blocks)}
    for name, (axis, blocks, first_blocks) in sides.items():
        computed, arrays = meta["shape"][axis], len(meta["prepared"]) + 1
        layouts[written_whole(name, "ids", meta)] = Layout((0,), (0,), "uint8")
        layouts[written_whole(name, "digests", meta)] = Layout((computed, 16), (computed, 16), "uint8")
        layouts[f"{name}/marks"] = Layout((blocks, arrays), (first_blocks, arrays), "uint64")
        if name in meta["index"]:
            samples = (meta["samples"][axis],)
            layouts[written_whole(name, "index", meta)] = Layout(samples, samples, "int32")
        layouts[f"{name}/prepared/{DIAGONAL}"] = Layout((computed,), (grid.side,), "float64", 0.0)
        for array, (kind, row) in meta["prepared"].items():
            fill = np.zeros((), kind).item()
            layouts[f"{name}/prepared/{array}"] = Layout((computed, *row), (grid.side, *row), kind, fill)
    return layouts


def holds_names(name: str) -> bool:
    """Whether an array holds the names of samples, of whatever generation of the cohort."""
    return name.partition("/")[2].partition(".")[0] == "ids"


def growing_axes(name: str) -> int:
    """Number of leading axes along which an array becomes longer as a cohort grows."""
    if name.partition("/")[2].partition(".")[0] in ("ids", "digests", "index"):
        return 0
    return 2 if name in ("gram", "marks") else 1


def document_of(meta: Spec) -> bytes:
    """The ``zarr.json`` of a store: the plan, and its checksum."""
    attributes = {"distkern": meta, "checksum": plan_checksum(meta)}
    return group_document(attributes)


def plan_checksum(meta: Spec) -> int:
    """Checksum of a plan, as JSON with sorted keys and no spaces."""
    return checksum(np.frombuffer(json.dumps(meta, sort_keys=True, separators=(",", ":")).encode(), dtype=np.uint8))


def group_document(attributes: Spec) -> bytes:
    """The ``zarr.json`` of a group."""
    return as_json({"attributes": attributes, "zarr_format": 3, "node_type": "group"})


@dataclass(frozen=True)
class AxisSamples:
    """What a store keeps of the samples of one axis besides what the kernel prepares.

    Parameters
    ----------
    ids
        Names of all samples.
    digests
        Digests of those that are computed.
    index
        Which of those each sample equals; None where each is computed.
    """

    ids: tuple[str, ...]
    digests: Array
    index: Indices | None


def empty_store(
    plan: Spec,
    axes: Mapping[str, AxisSamples],
    features: Sequence[str] | None,
    prepared: Mapping[str, Array],
    own_folder: bool,
) -> dict[str, bytes]:
    """All files of a store that holds no tile yet, the root last.

    Parameters
    ----------
    plan
        Shape, tile, symmetric, dtype, kernel, and whatever identifies the computation.
    axes
        For ``"rows"`` and, where rectangular, ``"cols"``: the samples.
    features
        Names of the features, if they have any.
    prepared
        The prepared arrays of some samples, whose types and shapes tell those of all.
    own_folder
        Whether everything but the root lies in a folder that the root names.
    """
    identity = uuid4().hex
    texts = {
        name: np.frombuffer(json.dumps(list(samples.ids)).encode(), dtype=np.uint8) for name, samples in axes.items()
    }
    indices = {name: samples.index.astype("<i4") for name, samples in axes.items() if samples.index is not None}
    meta: Spec = {
        "format": FORMAT,
        "version": __version__,
        "id": identity,
        "folder": identity if own_folder else "",
        "ids": {name: checksum(text) for name, text in texts.items()},
        "index": {name: checksum(index) for name, index in indices.items()},
        "features": list(features or ()) or None,
        "prepared": {name: [one.dtype.name, list(one.shape[1:])] for name, one in prepared.items()},
        "generations": [{"shape": plan["shape"], "samples": plan["samples"]}],
        **plan,
    }
    layouts = arrays_of(meta)
    whole: dict[str, Array] = {}
    for name, samples in axes.items():
        layouts[f"{name}/ids"] = Layout(texts[name].shape, texts[name].shape, "uint8")
        whole |= {f"{name}/ids": texts[name], f"{name}/digests": samples.digests}
    whole |= {f"{name}/index": index for name, index in indices.items()}
    groups = ["runs/", *(f"{name}/" for name in axes), *(f"{name}/prepared/" for name in axes)]
    groups += [""] if own_folder else []
    files = {group + ROOT: group_document({}) for group in groups}
    files["runs/" + ROOT] = group_document({"runs": []})
    files |= {f"{name}/{ROOT}": as_json(layout.document()) for name, layout in layouts.items()}
    files |= {f"{name}/c/{'/'.join('0' * array.ndim)}": array.tobytes() for name, array in whole.items()}
    below = f"{identity}/" if own_folder else ""
    return {below + key: value for key, value in files.items()} | {ROOT: document_of(meta)}


def as_json(document: Spec) -> bytes:
    """Write a document as people can read it."""
    return json.dumps(document, indent=2).encode()
