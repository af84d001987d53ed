"""The manifest: the description of a store, in its ``zarr.json``. ``docs/format.md`` lists the entries.

A manifest is a `GramPlan` with the identifier of the store, its names, and the versions of its cohort.
A store may come from a stranger, so `Manifest.from_json` refuses a document that distkern cannot have written.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from distkern._version import __version__
from distkern.core.errors import CorruptTileError, DistkernError, KernelNotFoundError, StoreError
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Floats, Indices, Spec
from distkern.core.units import readable_bytes, readable_seconds
from distkern.engine.memory import RESTING
from distkern.io.digests import DIGEST_KINDS, DigestKind
from distkern.kernels.planning import stored_dtype
from distkern.kernels.registry import from_spec
from distkern.store.checksums import checksum
from distkern.store.documents import (
    LARGEST,
    Check,
    Document,
    damaged,
    group_document,
    is_id,
    is_list,
    is_mapping,
    is_number,
    is_seconds,
    is_text,
    is_whole,
    shortened,
)
from distkern.store.grid import Grid
from distkern.store.location import ROOT, refuse_beyond_memory

FORMAT = 2
"""Version of the format of new stores. A store of version 1 has other digests, and keeps them when it grows."""

SAMPLE_BYTES = 64
"""Least bytes of memory that a sample takes in a list of all samples."""

ARRAY_TYPES = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}
)
"""Types of the arrays that a kernel may prepare."""

_ARRAY_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Names of prepared arrays: none leads out of its folder."""

# Parts ----------------------------------------------------------------------------------------------------------------


class CohortVersion(NamedTuple):
    """Size of a cohort when its store was made, or after samples were added.

    Parameters
    ----------
    shape
        Number of computed samples of the rows and of the columns.
    samples
        Number of all samples; more than computed ones where many samples are equal.
    """

    shape: tuple[int, int]
    samples: tuple[int, int]

    def to_json(self) -> Spec:
        """Write it as JSON."""
        return {"shape": list(self.shape), "samples": list(self.samples)}


class PreparedArray(NamedTuple):
    """Type of a prepared array, and shape of one sample in it."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def sample_bytes(self) -> int:
        """Bytes of one sample."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class TrueEntries:
    """Stored values at some pairs of samples of a cohort whose matrix is computed at landmarks only.

    Parameters
    ----------
    pairs
        Positions of the first and of the second sample of each pair.
    values
        Values of the stored kernel there.
    checksum
        Checksum of the values.
    """

    pairs: tuple[tuple[int, ...], tuple[int, ...]]
    values: tuple[float, ...]
    checksum: int

    @classmethod
    def of(cls, pairs: Indices, values: Floats) -> TrueEntries:
        """Take pairs (2, entries) and their values, and compute the checksum."""
        first, second = pairs.tolist()
        return cls((tuple(first), tuple(second)), tuple(values.tolist()), checksum(values))

    def arrays(self, path: str) -> tuple[Indices, Floats]:
        """Return pairs (2, entries) and values, after comparing these with their checksum.

        Raises
        ------
        CorruptTileError
            If the values do not match their checksum; it names the path of the store.
        """
        values = np.array(self.values, dtype=float)
        if checksum(values) != self.checksum:
            raise CorruptTileError(
                "{damage}: compute it with {overwrite}",
                damage=f"the true entries in {path!r} do not match their checksum",
                overwrite=Argument("overwrite", True),
            )
        return np.array(self.pairs, dtype=np.intp).reshape(2, -1), values

    def to_json(self) -> Spec:
        """Write them as JSON."""
        return {"pairs": [*map(list, self.pairs)], "values": list(self.values), "checksum": self.checksum}


@dataclass(frozen=True)
class LandmarkColumns:
    """The landmarks of a store: the samples of its columns.

    Parameters
    ----------
    positions
        Positions of the landmarks among the row samples, ascending.
    true_entries
        Stored values at pairs of samples, for an estimate of the error.
    """

    positions: tuple[int, ...]
    true_entries: TrueEntries


# The plan -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GramPlan:
    """A Gram matrix to compute: its kernel, samples and tiles, and the time, memory and disk that it takes.

    Parameters
    ----------
    kernel, stored
        JSON specs of the kernel, with every data-dependent parameter as a number, and of the kernel whose values are
        stored for it.
    fingerprint
        One digest of all values for each axis: ``rows``, and ``cols`` where they are another cohort.
    shape, samples, symmetric, n_features
        Size of the matrix that is computed, number of samples of each axis (more, where many are equal), whether rows
        and columns are the same samples, and features of a sample.
    tile
        Rows and columns of a tile.
    dtype, sparse
        Type of the stored values, and whether samples are prepared without their zeros.
    bytes_stored
        Bytes of tiles, prepared samples and checksums on disk.
    bytes_per_task
        Most memory that one task takes.
    workers
        Number of tasks that run side by side.
    seconds
        Work in seconds of one core of a machine like this one, measured on some samples of the cohort with as many
        tiles side by side as there will be.
    dropped
        Positions of the features that were left out because some sample has no value.
    source
        Description of the container of the samples, for people.
    landmarks
        Where the columns are landmark samples: their number and how they are chosen.
    bytes_to_choose
        Most memory that this choice takes in the process of the client, which reads and prepares candidates for it.
    """

    kernel: Spec
    stored: Spec
    fingerprint: dict[str, str]
    shape: tuple[int, int]
    samples: tuple[int, int]
    symmetric: bool
    n_features: int
    tile: int
    dtype: str
    sparse: bool
    bytes_stored: int
    bytes_per_task: int
    workers: int
    seconds: float
    dropped: list[int]
    source: str
    landmarks: Spec | None = None
    bytes_to_choose: int = 0

    def to_dict(self) -> Spec:
        """All fields as JSON-ready values."""
        own = {field.name: copy(getattr(self, field.name)) for field in fields(GramPlan)}
        derived = ("tiles", "bytes_per_worker", "elapsed", "worker_hours")
        sizes = {"shape": list(self.shape), "samples": list(self.samples)}
        return own | sizes | {name: getattr(self, name) for name in derived}

    def identity(self) -> Spec:
        """Values that are equal for two computations of the same matrix, whatever their tiles."""
        names = ("stored", "dropped", "fingerprint", "shape", "symmetric", "dtype", "landmarks")
        return {name: getattr(self, name) for name in names} | {"shape": list(self.shape)}

    @property
    def grid(self) -> Grid:
        """The tiles of the matrix."""
        return Grid(*self.shape, side=self.tile, symmetric=self.symmetric)

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return self.grid.count

    @property
    def bytes_per_worker(self) -> int:
        """Memory of a worker process of one thread, including its memory without a task."""
        return RESTING + self.bytes_per_task

    @property
    def elapsed(self) -> float:
        """Seconds from start to end: the work shared among the workers, in whole tiles."""
        rounds = math.ceil(self.tiles / self.workers)
        return self.seconds * rounds / self.tiles

    @property
    def worker_hours(self) -> float:
        """Hours of all workers together, including the time in which some wait for the last tiles of others."""
        return self.elapsed * self.workers / 3600

    def __str__(self) -> str:
        rows, cols = self.shape
        half = ", upper triangle" if self.symmetric else ""
        tiles = f"{self.tiles:,} tiles of side {self.tile}{half}"
        left_out = f" ({len(self.dropped):,} left out)" if self.dropped else ""
        where = "" if self.landmarks is None else f" at landmarks ({landmark_words(self.landmarks)})"
        what = f"{rows:,} × {cols:,} Gram matrix{where} of {self.n_features:,} features{left_out}"
        disk, memory = readable_bytes(self.bytes_stored), readable_bytes(self.bytes_per_task)
        choice = f", {readable_bytes(self.bytes_to_choose)} to choose the landmarks" if self.bytes_to_choose else ""
        return (
            f"{what}: {tiles}, {disk} on disk, {memory} of memory a task{choice}, "
            f"about {readable_seconds(self.elapsed)} on {self.workers:,} worker{'s' if self.workers > 1 else ''}"
        )


def landmark_words(landmarks: Spec) -> str:
    """Describe the landmarks of a plan.

    Examples
    --------
    >>> landmark_words({"choice": "kmeans++", "count": 500, "seed": 1})
    '500 by kmeans++, seed 1'
    """
    seed = f", seed {landmarks['seed']}" if "seed" in landmarks else ""
    return f"{landmarks['count']:,} {'' if landmarks['choice'] == 'given' else 'by '}{landmarks['choice']}{seed}"


# The manifest ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Manifest(GramPlan):
    """The description of a store: the plan of its computation, its identifier, its names and its versions.

    Parameters
    ----------
    version
        The distkern that made the store.
    id, folder
        Identifier, another one after each growth, and the folder that holds everything but the manifest (``""``, or
        that of the first identifier on object storage).
    ids, index
        Checksums of the names of each axis, and of the array of equal samples of an axis that has one.
    features
        Names of the features, if they have any.
    prepared
        The arrays that the kernel prepared of each sample, by name.
    earlier_versions
        Sizes of the cohort before each growth; ``shape`` and ``samples`` are its present size.
    landmark_columns
        The landmarks, where the columns are some of the row samples.
    format
        Version of the format.
    """

    version: str
    id: str
    folder: str
    ids: dict[str, int]
    index: dict[str, int]
    features: tuple[str, ...] | None
    prepared: dict[str, PreparedArray]
    earlier_versions: tuple[CohortVersion, ...] = ()
    landmark_columns: LandmarkColumns | None = None
    format: int = FORMAT

    # Making and changing ---------------------------------------------------------------------------------------

    @classmethod
    def of_plan(
        cls,
        plan: GramPlan,
        *,
        ids: Mapping[str, int],
        index: Mapping[str, int],
        features: Sequence[str] | None,
        prepared: Mapping[str, Array],
        own_folder: bool,
        landmark_columns: LandmarkColumns | None = None,
    ) -> Manifest:
        """Make the manifest of a new store.

        Parameters
        ----------
        prepared
            The prepared arrays of some samples; their types, and the shape of one sample, hold for all samples.
        own_folder
            Whether everything but the manifest lies in a folder of its own.
        """
        identity = uuid4().hex
        return cls(
            **{field.name: getattr(plan, field.name) for field in fields(GramPlan)},
            version=__version__,
            id=identity,
            folder=identity if own_folder else "",
            ids=dict(ids),
            index=dict(index),
            features=tuple(features or ()) or None,
            prepared={name: PreparedArray(one.dtype.name, one.shape[1:]) for name, one in prepared.items()},
            landmark_columns=landmark_columns,
        )

    def grown(self, size: CohortVersion, **changes: Any) -> Manifest:
        """Make the manifest of the same store after row samples were added, and columns where they are the same.

        Parameters
        ----------
        size
            Size of the grown cohort.
        **changes
            Other fields that change, such as the fingerprint. The seconds grow with the number of entries.
        """
        larger = replace(
            self,
            id=uuid4().hex,
            shape=size.shape,
            samples=size.samples,
            earlier_versions=self.versions,
            **changes,
        )
        return replace(larger, seconds=self.seconds * larger.grid.entries / self.grid.entries)

    # Versions and axes -----------------------------------------------------------------------------------------

    @property
    def size(self) -> CohortVersion:
        """Present size of the cohort."""
        return CohortVersion(self.shape, self.samples)

    @property
    def versions(self) -> tuple[CohortVersion, ...]:
        """Size of the cohort in each version, the present one last."""
        return (*self.earlier_versions, self.size)

    @property
    def has_grown(self) -> bool:
        """Whether samples were added since the store was made."""
        return bool(self.earlier_versions)

    def as_made(self) -> Manifest:
        """The manifest with the size that the cohort had when the store was made."""
        first = self.versions[0]
        return replace(self, shape=first.shape, samples=first.samples, earlier_versions=())

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes whose samples the store holds: ``rows``, and ``cols`` where they are other samples."""
        return ("rows",) if self.symmetric else ("rows", "cols")

    def array_name(self, axis: str, what: str) -> str:
        """Name of the array of all ``ids``, ``digests`` or ``index`` of an axis; each growth writes new ones."""
        return f"{axis}/{what}.{self.id}" if axis == "rows" and self.has_grown else f"{axis}/{what}"

    @property
    def digest_kind(self) -> DigestKind:
        """How its samples are digested."""
        return DIGEST_KINDS[self.format]

    @property
    def sample_bytes(self) -> int:
        """Bytes of the prepared arrays of one sample, k(x, x) apart."""
        return sum(array.sample_bytes for array in self.prepared.values())

    # JSON ------------------------------------------------------------------------------------------------------

    def to_json(self) -> Spec:
        """The entries as JSON-ready values, as they are stored."""
        landmarks = self.landmark_columns
        return {
            "format": self.format,
            "version": self.version,
            "id": self.id,
            "folder": self.folder,
            "ids": dict(self.ids),
            "index": dict(self.index),
            "features": None if self.features is None else list(self.features),
            "prepared": {name: [array.dtype, list(array.shape)] for name, array in self.prepared.items()},
            "generations": [version.to_json() for version in self.versions],
            **self.to_dict(),
            **({} if landmarks is None else {"landmark_positions": list(landmarks.positions)}),
            **({} if landmarks is None else {"error_sample": landmarks.true_entries.to_json()}),
        }

    def to_root(self) -> bytes:
        """The root document of a store: these entries and their checksum."""
        entries = self.to_json()
        return group_document({"distkern": entries, "checksum": json_checksum(entries)})

    @classmethod
    def from_root(cls, path: str, raw: bytes) -> Manifest | None:
        """Read the manifest in the root document of a store; None where the document is that of something else.

        Raises
        ------
        StoreError
            If the manifest is damaged, of another format, or not one that distkern can have written.
        """
        attributes = Document.parsed(path, ROOT, raw).attributes
        entries = attributes.get("distkern")
        if not isinstance(entries, dict) or "format" not in entries:
            return None
        if not _is_format(entries["format"]):
            raise StoreError(
                "{store!r} has store format {found}, written by distkern {writer}; distkern {own} reads formats "
                "{formats}: use that version, or compute the matrix again into another path",
                store=path,
                found=shortened(entries["format"]),
                writer=str(entries.get("version"))[:20],
                own=__version__,
                formats=" and ".join(map(str, DIGEST_KINDS)),
            )
        if attributes.get("checksum") != json_checksum(entries):
            raise damaged(path, "the plan does not match its checksum")
        return cls.from_json(path, entries)

    @classmethod
    def from_json(cls, path: str, entries: Spec) -> Manifest:
        """Read and validate the entries of a manifest of this format.

        Parameters
        ----------
        path
            Path of the store, for messages.
        entries
            The result of `to_json`, or JSON from a stranger.

        Raises
        ------
        StoreError
            If distkern cannot have written the entries, or a list of the samples or tiles would not fit in memory.
        KernelNotFoundError
            If the kernel is a user's, whose module this process has not imported.
        """
        document = Document(path, entries)
        found = cls(**{name: convert(document.entry(name, check)) for name, check, convert in _ENTRIES})
        *earlier, last = document.entry("generations", is_list(_is_version, 1, 2**16))
        found = replace(
            found,
            earlier_versions=tuple(CohortVersion(tuple(one["shape"]), tuple(one["samples"])) for one in earlier),
            landmarks=entries.get("landmarks"),
            bytes_to_choose=_bytes_to_choose(document),
            landmark_columns=_landmark_columns(document),
        )
        tiles = document.entry("tiles", is_whole(1, LARGEST**2))
        for key, right in _relations(found, CohortVersion(tuple(last["shape"]), tuple(last["samples"])), tiles):
            if not right:
                raise damaged(path, f"{key!r} cannot be {shortened(entries[key])} beside the rest")
        _check_landmarks(path, found)
        _check_kernels(path, found)
        refuse_beyond_memory(path, "the list of the samples", SAMPLE_BYTES * sum(found.samples))
        refuse_beyond_memory(path, "the list of the tiles", 8 * found.grid.row_blocks * found.grid.col_blocks)
        return found


def folder_in_root(path: str, raw: bytes | None) -> str | None:
    """Folder of the store, of whatever format, that a root document describes; None where it describes none."""
    try:
        entries = {} if raw is None else Document.parsed(path, ROOT, raw).attributes["distkern"]
        folder = entries.get("folder", "") if "format" in entries else None
    except (StoreError, KeyError, TypeError, AttributeError):
        return None
    return folder if is_id(folder) or folder is None else ""


def json_checksum(entries: Spec) -> int:
    """Checksum of the entries of a manifest, as JSON with sorted keys and no spaces."""
    text = json.dumps(entries, sort_keys=True, separators=(",", ":"))
    return checksum(np.frombuffer(text.encode(), dtype=np.uint8))


# Validation -----------------------------------------------------------------------------------------------------------


def _unchanged(value: Any) -> Any:
    return value


_is_size: Check = is_list(is_whole(1), 2, 2)
_is_checksum: Check = is_whole(2**32, 2**64 - 1)


def _is_format(value: Any) -> bool:
    return type(value) is int and value in DIGEST_KINDS


def _is_version(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_size(value.get(key)) for key in ("shape", "samples"))


def _is_array(value: Any) -> bool:
    pair = isinstance(value, list) and len(value) == 2
    return pair and is_text(value[0]) and value[0] in ARRAY_TYPES and is_list(is_whole(), 0, 3)(value[1])


def _is_sample_of_entries(value: Any) -> bool:
    if not (isinstance(value, dict) and is_list(is_list(is_whole()), 2, 2)(value.get("pairs")) and "checksum" in value):
        return False
    lengths = {len(value["pairs"][0]), len(value["pairs"][1])}
    return is_list(is_number)(value.get("values")) and lengths == {len(value["values"])}


def _prepared(value: Spec) -> dict[str, PreparedArray]:
    return {name: PreparedArray(dtype, tuple(shape)) for name, (dtype, shape) in value.items()}


_ENTRIES: tuple[tuple[str, Check, Any], ...] = (
    ("format", _is_format, int),
    ("version", is_text, str),
    ("id", is_id, str),
    ("folder", lambda value: value == "" or is_id(value), str),
    ("ids", is_mapping(_is_checksum), dict),
    ("index", is_mapping(_is_checksum), dict),
    ("features", lambda value: value is None or is_list(is_text)(value), lambda value: value and tuple(value)),
    ("prepared", is_mapping(_is_array), _prepared),
    ("kernel", lambda value: isinstance(value, dict), dict),
    ("stored", lambda value: isinstance(value, dict), dict),
    ("fingerprint", is_mapping(is_id), dict),
    ("shape", _is_size, tuple),
    ("samples", _is_size, tuple),
    ("symmetric", lambda value: isinstance(value, bool), bool),
    ("n_features", is_whole(1), int),
    ("tile", is_whole(1), int),
    ("dtype", lambda value: value in ("float64", "float32", "int64", "int32"), str),
    ("sparse", lambda value: isinstance(value, bool), bool),
    ("bytes_stored", is_whole(high=2**63), int),
    ("bytes_per_task", is_whole(1, 2**63), int),
    ("workers", is_whole(1), int),
    ("seconds", is_seconds, _unchanged),
    ("dropped", is_list(is_whole()), list),
    ("source", is_text, str),
)
"""Entries that are fields under the same name: the check of the JSON value, and its conversion."""


def _bytes_to_choose(document: Document) -> int:
    """Memory of the choice of the landmarks, which manifests did not tell at first."""
    return int(document.entry("bytes_to_choose", is_whole())) if "bytes_to_choose" in document.entries else 0


def _landmark_columns(document: Document) -> LandmarkColumns | None:
    """Read the landmarks of a store, where it has some."""
    if document.entries.get("landmarks") is None and "landmark_positions" not in document.entries:
        return None
    document.entry("landmarks", lambda value: isinstance(value, dict))
    distinct = is_list(is_whole(), 1)
    positions = document.entry("landmark_positions", lambda value: distinct(value) and len({*value}) == len(value))
    entries = document.entry("error_sample", _is_sample_of_entries)
    first, second = entries["pairs"]
    true_entries = TrueEntries((tuple(first), tuple(second)), tuple(entries["values"]), entries["checksum"])
    return LandmarkColumns(tuple(positions), true_entries)


def _relations(found: Manifest, last: CohortVersion, tiles: int) -> Iterator[tuple[str, bool]]:
    """Compare the entries with each other: a key, and whether its value fits the rest."""
    (rows, cols), axes = found.shape, {*found.axes}
    sizes = zip(("rows", "cols"), found.samples, found.shape, strict=True)
    collapsed = {axis for axis, samples, computed in sizes if axis in axes and samples != computed}
    dropped = found.dropped
    yield "shape", not found.symmetric or (rows == cols and found.samples[0] == found.samples[1])
    yield "samples", all(samples >= computed for samples, computed in zip(found.samples, found.shape, strict=True))
    yield "tiles", tiles == found.tiles
    yield "ids", found.ids.keys() == axes
    yield "fingerprint", found.fingerprint.keys() in (axes, {"rows"})
    yield "generations", last == found.size and _never_shrinks(found.versions)
    yield "index", collapsed <= found.index.keys() <= axes
    yield "features", found.features is None or len(found.features) == found.n_features
    yield "dropped", sorted({*dropped}) == dropped and max([0, *dropped]) < found.n_features + len(dropped)
    yield "prepared", all(map(_ARRAY_NAME.fullmatch, found.prepared))


def _never_shrinks(versions: Sequence[CohortVersion]) -> bool:
    sizes = [(*version.shape, *version.samples) for version in versions]
    return all(before <= after for pair in pairwise(sizes) for before, after in zip(*pair, strict=True))


def _check_landmarks(path: str, found: Manifest) -> None:
    """Compare the landmarks, and the pairs of samples of the true entries, with the samples."""
    landmarks, (rows, cols) = found.landmark_columns, found.samples
    if landmarks is None:
        return
    if len(landmarks.positions) != cols or max(landmarks.positions) >= rows:
        raise damaged(path, f"the landmarks are not {cols} of its {rows} samples")
    first, second = landmarks.true_entries.pairs
    if max([*first, *second], default=0) >= rows:
        raise damaged(path, "'error_sample' names samples that are not there")


def _check_kernels(path: str, found: Manifest) -> None:
    """Build the kernels, and compare them with the stored type and the prepared arrays."""
    try:
        kernel, stored = from_spec(found.kernel), from_spec(found.stored)
        types = {stored_dtype(stored, found.n_features, dtype) for dtype in ("float64", "float32")}
        right = kernel.stored() == stored and found.dtype in types
        right &= all(name in found.prepared and found.prepared[name].shape == () for name in kernel.summary)
        right &= found.n_features > 1 or not kernel.summary  # a summary counts pairs of features
    except KernelNotFoundError:
        raise
    except (DistkernError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(path, f"its kernel cannot be built: {shortened(str(error))}") from None
    if not right:
        raise damaged(path, "its stored values do not fit its kernel")
