"""What the metadata of a store may say. A store may come from anybody, so nothing is believed before it is checked.

Metadata are JSON, and every array must be laid out as distkern lays it out, codecs included: nothing that a document
names is ever imported, unpickled or run. Sizes are compared with the memory that there is before any of it is taken.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from distkern._version import __version__
from distkern.core.errors import DistkernError, KernelNotFoundError, StoreError
from distkern.core.typing import Spec
from distkern.kernels.planning import stored_dtype
from distkern.kernels.registry import from_spec
from distkern.store.addresses import refuse_beyond_memory
from distkern.store.layout import FORMAT, Layout, arrays_of, grid_of, growing_axes, holds_names, plan_checksum
from distkern.store.location import ROOT

LARGEST = 2**48
"""No count or number of bytes in a plan is larger."""

ID_BYTES = 1024
"""Bytes that the name of a sample may take, on average."""

SAMPLE_BYTES = 64
"""Bytes of memory that a sample takes at least where all of them are listed."""

PREPARED_TYPES = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}
)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Of a prepared array: no way out of its folder."""

Check = Callable[[Any], bool]


def _whole(low: int = 0, high: int = LARGEST) -> Check:
    return lambda value: type(value) is int and low <= value <= high


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _hex(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 32 and not set(value) - set("0123456789abcdef")


def _list(of: Check, low: int = 0, high: int = LARGEST) -> Check:
    return lambda value: isinstance(value, list) and low <= len(value) <= high and all(map(of, value))


def _mapping(of: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(of, value.values()))


_PAIR = _list(_whole(1), 2, 2)


def _is_generation(value: Any) -> bool:
    return isinstance(value, dict) and all(_PAIR(value.get(key)) for key in ("shape", "samples"))


def _is_time(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


def _is_failure(value: Any) -> bool:
    return isinstance(value, dict) and _text(value.get("task")) and _text(value.get("error"))


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < LARGEST)


def _is_sample_of_entries(value: Any) -> bool:
    if not (isinstance(value, dict) and _list(_list(_whole()), 2, 2)(value.get("pairs")) and "checksum" in value):
        return False
    lengths = {len(value["pairs"][0]), len(value["pairs"][1])}
    return _list(_is_number)(value.get("values")) and lengths == {len(value["values"])}


def _is_prepared(value: Any) -> bool:
    pair = isinstance(value, list) and len(value) == 2
    return pair and _text(value[0]) and value[0] in PREPARED_TYPES and _list(_whole(), 0, 3)(value[1])


_MARK = _whole(2**32, 2**64 - 1)

_PLAN: dict[str, Check] = {
    "version": _text,
    "id": _hex,
    "folder": lambda value: value == "" or _hex(value),
    "ids": _mapping(_MARK),
    "index": _mapping(_MARK),
    "features": lambda value: value is None or _list(_text)(value),
    "prepared": _mapping(_is_prepared),
    "kernel": lambda value: isinstance(value, dict),
    "stored": lambda value: isinstance(value, dict),
    "fingerprint": _mapping(_hex),
    "shape": _PAIR,
    "samples": _PAIR,
    "generations": _list(_is_generation, 1, 2**16),
    "symmetric": lambda value: isinstance(value, bool),
    "n_features": _whole(1),
    "tile": _whole(1),
    "tiles": _whole(1, LARGEST**2),
    "dtype": lambda value: value in ("float64", "float32", "int64", "int32"),
    "sparse": lambda value: isinstance(value, bool),
    "bytes_stored": _whole(high=2**63),
    "bytes_per_task": _whole(1, 2**63),
    "workers": _whole(1),
    "seconds": lambda value: isinstance(value, float | int) and not isinstance(value, bool) and abs(value) < LARGEST,
    "dropped": _list(_whole()),
    "source": _text,
}

_LANDMARKS: dict[str, Check] = {
    "landmarks": lambda value: isinstance(value, dict),
    "landmark_positions": lambda value: _list(_whole(), 1)(value) and len({*value}) == len(value),
    "error_sample": _is_sample_of_entries,
}
"""What the plan of a store at landmarks has besides."""

_RUN: dict[str, Check] = {
    **dict.fromkeys(("started", "heard"), _is_time),
    **dict.fromkeys(("state", "phase", "note", "executor", "client", "error"), _text),
    **dict.fromkeys(("beat_seconds", "seconds", "task_seconds", "warm_up_seconds"), _PLAN["seconds"]),
    **dict.fromkeys(("blocks_prepared", "tiles_computed", "tasks_failed", "workers", "tasks_side_by_side"), _whole()),
    **dict.fromkeys(("peak_bytes", "rest_bytes"), _whole()),
    "above_rest_bytes": _whole(-LARGEST),
    "tiles_per_second": lambda value: value is None or _PLAN["seconds"](value),
    "failures": _list(_is_failure, 0, 2**10),
}

_RUN_NAME = re.compile(r"[0-9]{6,12}-[0-9a-f]{8}")


def damaged(path: str, what: str) -> StoreError:
    """The error of a store whose metadata cannot be what distkern wrote."""
    return StoreError(
        f"the metadata of {path!r} are damaged ({what}): bring back a copy of them, or compute it again elsewhere"
    )


def parsed(path: str, key: str, raw: bytes) -> Spec:
    """Read a JSON object.

    Raises
    ------
    StoreError
        If it is none.
    """
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise damaged(path, f"{key!r} is no JSON") from None
    if not isinstance(document, dict):
        raise damaged(path, f"{key!r} holds no object")
    return document


def plan_in(path: str, raw: bytes) -> Spec | None:
    """Read the plan in the root document of a store; None where the document is that of something else.

    Raises
    ------
    StoreError
        If it is damaged, of another format, or claims what cannot be.
    """
    attributes = parsed(path, ROOT, raw).get("attributes")
    meta = attributes.get("distkern") if isinstance(attributes, dict) else None
    if not isinstance(meta, dict) or "format" not in meta:
        return None
    if meta["format"] != FORMAT:
        found, writer = _short(meta["format"]), str(meta.get("version"))[:20]
        raise StoreError(
            f"{path!r} has store format {found}, written by distkern {writer}; distkern {__version__} reads format "
            f"{FORMAT}: use that version, or compute the matrix again into another path"
        )
    assert isinstance(attributes, dict)
    if attributes.get("checksum") != plan_checksum(meta):
        raise damaged(path, "the plan does not match its checksum")
    _check(path, meta, _PLAN)
    if meta.get("landmarks") is not None or "landmark_positions" in meta:
        _check(path, meta, _LANDMARKS)
        _check_landmarks(path, meta)
    _check_relations(path, meta)
    _check_kernels(path, meta)
    _check_memory(path, meta)
    return meta


def folder_in(path: str, raw: bytes | None) -> str | None:
    """Folder of the store, of whatever format, that a root document describes; None where it describes none."""
    try:
        meta = {} if raw is None else parsed(path, ROOT, raw)["attributes"]["distkern"]
        folder = meta.get("folder", "") if "format" in meta else None
    except (StoreError, KeyError, TypeError, AttributeError):
        return None
    return folder if _hex(folder) or folder is None else ""


def run_names_in(path: str, raw: bytes) -> list[str]:
    """Read the names of the runs; none where the list cannot be read, which the next run writes anew."""
    with suppress(StoreError):
        attributes = parsed(path, "runs/zarr.json", raw).get("attributes")
        names = attributes.get("runs") if isinstance(attributes, dict) else None
        if _list(lambda name: _text(name) and _RUN_NAME.fullmatch(name) is not None)(names):
            assert isinstance(names, list)
            return names
    return []


def run_in(path: str, name: str, raw: bytes) -> Spec | None:
    """Read the log of a run; None where it cannot be read."""
    with suppress(StoreError):
        run = parsed(path, f"runs/{name}/zarr.json", raw).get("attributes")
        if isinstance(run, dict):
            _check(path, run, _RUN)
            return run
    return None


def scratch_in(path: str, name: str, raw: bytes) -> Layout:
    """Read the document of a spooled array."""
    document = parsed(path, f"{name}/zarr.json", raw)
    try:
        chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
        found = Layout(tuple(document["shape"]), tuple(chunks), str(document["data_type"]))
        refuse_beyond_memory(path, name, found.chunk_bytes)
        right = found.dtype in PREPARED_TYPES and _same(found.document(), document)
    except (KeyError, TypeError):
        right = False
    if not right:
        raise damaged(path, f"{name!r} is no array of vectors")
    return found


def _check(path: str, found: Spec, wanted: dict[str, Check]) -> None:
    for key, holds in wanted.items():
        if key not in found:
            raise damaged(path, f"{key!r} is missing")
        if not holds(found[key]):
            raise damaged(path, f"{key!r} cannot be {_short(found[key])}")


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deep; or a number of too many digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _check_relations(path: str, meta: Spec) -> None:
    """Compare the entries of a plan with each other."""
    shape, samples, features = meta["shape"], meta["samples"], meta["n_features"]
    sides = {"rows"} if meta["symmetric"] else {"rows", "cols"}
    collapsed = {side for side, axis in (("rows", 0), ("cols", 1)) if side in sides and samples[axis] != shape[axis]}
    holds = {
        "shape": not meta["symmetric"] or (shape[0] == shape[1] and samples[0] == samples[1]),
        "samples": all(all_of >= computed for all_of, computed in zip(samples, shape, strict=True)),
        "tiles": meta["tiles"] == grid_of(meta).count,
        "ids": meta["ids"].keys() == sides,
        "fingerprint": meta["fingerprint"].keys() in (sides, {"rows"}),
        "generations": _grows(meta["generations"]) and meta["generations"][-1] == {"shape": shape, "samples": samples},
        "index": collapsed <= meta["index"].keys() <= sides,
        "features": meta["features"] is None or len(meta["features"]) == features,
        "dropped": sorted({*meta["dropped"]}) == meta["dropped"]
        and max([0, *meta["dropped"]]) < features + len(meta["dropped"]),
        "prepared": all(map(_NAME.fullmatch, meta["prepared"])),
    }
    for key, right in holds.items():
        if not right:
            raise damaged(path, f"{key!r} cannot be {_short(meta[key])} beside the rest")


def _check_landmarks(path: str, meta: Spec) -> None:
    """Compare the landmarks, and the pairs of samples whose true values are kept, with the samples."""
    rows, cols = meta["samples"]
    positions, pairs = meta["landmark_positions"], meta["error_sample"]["pairs"]
    if len(positions) != cols or max(positions) >= rows:
        raise damaged(path, f"the landmarks are not {cols} of its {rows} samples")
    if max([*pairs[0], *pairs[1]], default=0) >= rows:
        raise damaged(path, "'error_sample' names samples that are not there")


def _grows(generations: list[Spec]) -> bool:
    """Whether no number of samples becomes smaller."""
    counts = [[*generation["shape"], *generation["samples"]] for generation in generations]
    return all(before <= after for pair in pairwise(counts) for before, after in zip(*pair, strict=True))


def _check_kernels(path: str, meta: Spec) -> None:
    """Build the kernels, and compare what they store with what is there."""
    try:
        kernel, stored = from_spec(meta["kernel"]), from_spec(meta["stored"])
        types = {stored_dtype(stored, meta["n_features"], dtype) for dtype in ("float64", "float32")}
        right = kernel.stored() == stored and meta["dtype"] in types
        right &= all(meta["prepared"].get(name, [None, None])[1] == [] for name in kernel.summary)
        right &= meta["n_features"] > 1 or not kernel.summary  # which counts pairs of features
    except KernelNotFoundError:
        raise
    except (DistkernError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(path, f"its kernel cannot be built: {_short(str(error))}") from None
    if not right:
        raise damaged(path, "what it stores is not what its kernel is made of")


def _check_memory(path: str, meta: Spec) -> None:
    """Refuse what could not even be listed here."""
    grid = grid_of(meta)
    refuse_beyond_memory(path, "the list of the samples", SAMPLE_BYTES * sum(meta["samples"]))
    refuse_beyond_memory(path, "the list of the tiles", 8 * grid.row_blocks * grid.col_blocks)
    for name, layout in arrays_of(meta).items():
        refuse_beyond_memory(path, f"a part of {name!r}", layout.chunk_bytes)


def array_in(path: str, name: str, raw: bytes, meta: Spec) -> Layout:
    """Read the document of an array, which must be the one that the plan lays out, or of another length that it had.

    The layout is at least as long as the plan says: a client may have been killed before it wrote the longer document,
    or after it had, for samples that never came.

    Raises
    ------
    StoreError
        If it is another one.
    """
    document = parsed(path, f"{name}/zarr.json", raw)
    planned = arrays_of(meta)[name]
    shape = document.get("shape")
    if not _list(_whole(1), len(planned.shape), len(planned.shape))(shape):
        raise damaged(path, f"the shape of {name!r} cannot be {_short(shape)}")
    assert isinstance(shape, list)
    if holds_names(name):
        side = 0 if name.startswith("rows") else 1
        if shape[0] > ID_BYTES * meta["samples"][side] + 2:
            raise damaged(path, f"the names of {name!r} cannot take {shape[0]:,} bytes")
        planned = Layout((shape[0],), (shape[0],), "uint8")
    axes, first = growing_axes(name), meta["generations"][0]
    least = arrays_of({**meta, **first, "generations": [first]})[name].shape if axes else ()
    if any(map(operator.lt, shape, least)) or tuple(shape[axes:]) != planned.shape[axes:]:
        raise damaged(path, f"{name!r} is of shape {tuple(shape)} and should be of {planned.shape}")
    found = replace(planned, shape=(*map(max, shape[:axes], planned.shape), *planned.shape[axes:]))
    for key, value in replace(planned, shape=tuple(shape)).document().items():
        if not _same(document.get(key, value), value):
            raise damaged(path, f"{key!r} of {name!r} cannot be {_short(document.get(key))}")
    return found


def _same(found: Any, expected: Any) -> bool:
    """Equal, in type too: JSON's true is not 1."""
    try:
        return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)
    except RecursionError:
        return False
