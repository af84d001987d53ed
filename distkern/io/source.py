"""The view of any cohort as blocks of rows, which the Gram engine reads.

Formats of files and kinds of containers are found in `distkern.io.registry`.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from distkern.core.bags import widen_rows
from distkern.core.containers import as_floats, refuse_inexact
from distkern.core.errors import InputError
from distkern.core.feature_names import find_names, missing_features, places_by_name, warn_of_spreadsheets
from distkern.core.files import as_path
from distkern.core.names import checked_names, is_missing
from distkern.core.parameters import entries
from distkern.core.sentences import Argument, OptionalPart, Sentence
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names, are_named, warn_without_names
from distkern.io.bags import WidenedReader
from distkern.io.blocks import ArrayReader, GapReader, PartReader, Reader, refuse_masked
from distkern.io.format import Opened
from distkern.io.origin import Origin
from distkern.io.registry import open_container, open_file, reader_of


class Source:
    """One row-block view of a cohort of ``m`` samples and ``n`` features; made by `as_source`.

    Parameters
    ----------
    reader
        Reads rows of the container.
    ids
        Names of the samples, if they have any.
    features
        Names of the features, if they have any.

    Raises
    ------
    InputError
        If the values are not a two-dimensional array of numbers, there are none, or the number of names differs.

    Examples
    --------
    >>> source = as_source(np.array([[1, 2, 3], [4, 5, 6]]), ids=["a", "b"])
    >>> source.shape, source.ids, source.portable
    ((2, 3), ('a', 'b'), False)
    >>> source.read(slice(1, 2))
    array([[4., 5., 6.]])
    >>> source.describe()
    'NumPy array 2 × 3'
    """

    kinds: tuple[str, ...] | None = None
    """Kind of each sample, if the container is a `Rankings`."""

    counts: Array | None = None
    """Number of voters of each sample, if the container is a `Rankings`."""

    about: str | None = None
    """What a reader of ballots says of its file."""

    origin: Origin | None = None
    """The file of the samples, if they were read from one just so."""

    interleaving = False
    """Whether an unobserved feature takes every place among the others with equal probability; see `interleaved`."""

    file: str | None = None
    """Name of the file that the container in memory came from, if that is known."""

    def __init__(self, reader: Reader, ids: Any = None, features: Any = None) -> None:
        self._reader = reader
        _check_numbers(reader)
        self.shape: tuple[int, int] = (int(reader.shape[0]), int(reader.shape[1]))
        self.ids: tuple[str, ...] | None = None if ids is None else _names(ids, self.shape[0])
        self.features: tuple[str, ...] | None = None if features is None else checked_names(features, "feature")
        if self.features is not None and len(self.features) != self.shape[1]:
            raise InputError(f"{len(self.features)} feature names for {self.shape[1]} features: give one per column")

    @property
    def portable(self) -> bool:
        """Whether a worker can read the samples itself, by path, from a small pickle of this source."""
        return self._reader.portable

    @property
    def ragged(self) -> bool:
        """Whether the samples are `Bags`, padded to rows of the length of the largest bag."""
        return self._reader.ragged

    def read(self, rows: slice | Indices | Iterable[int]) -> Floats:
        """Read the samples at these positions: (k, n) float64, C-contiguous; possibly a view, so do not write to it."""
        m, n = self.shape
        block = self._reader.take(_positions(rows, m))
        refuse_masked(block)
        values = np.ascontiguousarray(as_floats(block, "the cohort"))
        if values.ndim != 2 or values.shape[1] != n:
            raise InputError(f"the cohort gave a block of shape {values.shape} where (rows, {n}) was expected")
        return values

    @property
    def sparse(self) -> bool:
        """Whether the container does not store zeros, so that `read_sparse` needs memory for the other values only."""
        return self._reader.sparse

    def read_sparse(self, rows: slice | Indices | Iterable[int]) -> Any:
        """Read the samples at these positions as a SciPy CSR array (k, n) of float64; do not write to it.

        It is canonical: the entries of a row are sorted by feature, without duplicates and zeros. NaN stays.
        """
        from scipy import sparse

        block = sparse.csr_array(self._reader.take_sparse(_positions(rows, self.shape[0])))
        if not (block.has_canonical_format and block.data.all()):
            block = block.copy()  # the container may share its arrays
            block.sum_duplicates()
            block.eliminate_zeros()
        refuse_inexact(block.data)
        return block.astype(np.float64, copy=False)

    def nameless(self) -> Source:
        """Return the same samples without names, for tasks: names would be sent with each of them."""
        bare = copy.copy(self)
        bare.ids = bare.features = bare.kinds = bare.counts = None
        return bare

    def part(self, rows: Indices) -> Source:
        """Return some of the samples, without their names; the features keep theirs."""
        bare = self.nameless()
        bare.features = self.features
        bare._reader = PartReader(self._reader, rows)
        bare.shape = (len(rows), self.shape[1])
        return bare

    def rows(self, rows: slice) -> Source:
        """Return some of the samples, with their names, in memory."""
        other = copy.copy(self)
        other._reader = ArrayReader(self.read(rows))
        other.ids = None if self.ids is None else self.ids[rows]
        other.kinds = None if self.kinds is None else self.kinds[rows]
        other.counts = None if self.counts is None else self.counts[rows]
        other.shape = other._reader.shape[0], self.shape[1]
        return other

    def without_features(self, dropped: Indices) -> Source:
        """Return the same samples without some features."""
        return self.with_features(np.delete(np.arange(self.shape[1], dtype=np.intp), dropped))

    def with_features(self, kept: Indices) -> Source:
        """Return the same samples with some features, in this order."""
        other = copy.copy(self)
        other._reader = PartReader(self._reader, np.arange(self.shape[0], dtype=np.intp), kept)
        other.shape = (self.shape[0], len(kept))
        other.features = None if self.features is None else tuple(self.features[k] for k in kept)
        return other

    def selected(self, features: Names, whose: str, remedy: str | Sentence = "") -> Source:
        """Return the same samples with the features of these names in their order, wherever they are among others.

        Unchanged if one side has no names: then position decides.

        Parameters
        ----------
        features
            Names of the features.
        whose
            Name of the samples in messages.
        remedy
            What else can be done about missing features, as the end of the message.

        Raises
        ------
        InputError
            If a feature is missing, or there are two of its name.

        Examples
        --------
        >>> import pandas as pd
        >>> cohort = as_source(pd.DataFrame({"MYC": [2.0], "KRAS": [9.0], "TP53": [1.0]}))
        >>> cohort.selected(["TP53", "MYC"], "X").features
        ('TP53', 'MYC')
        """
        if self.interleaving and features is not None and are_named(features) and are_named(self.features):
            return self if tuple(features) == self.features else self._with_gaps(features, whose)
        places = places_by_name(features, self.features, whose, remedy, self.ids)
        return self if places is None else self.with_features(places)

    def interleaved(self) -> Source:
        """Return the same samples, whose unobserved features, lacking or NaN, take every place with equal probability.

        `selected` then gives NaN for a feature that they lack.

        Examples
        --------
        >>> import pandas as pd
        >>> patients = as_source(pd.DataFrame({"MYC": [2.0], "TP53": [1.0]})).interleaved()
        >>> patients.selected(["TP53", "KRAS", "MYC"], "X").read([0])
        array([[ 1., nan,  2.]])
        """
        other = copy.copy(self)
        other.interleaving = True
        return other

    def _with_gaps(self, features: Sequence[str], whose: str) -> Source:
        """Return the same samples with these features, NaN where they have none; two of them are needed."""
        places = find_names(features, self.features, whose)
        if (places >= 0).all():
            return self.with_features(places)
        if (places >= 0).sum() < 2:
            lacking = [name for name, place in zip(features, places.tolist(), strict=True) if place < 0]
            raise missing_features(lacking, features, self.features or (), whose, samples=self.ids)
        other = copy.copy(self)
        other._reader, other.features = GapReader(self._reader, places), tuple(features)
        other.shape = (self.shape[0], len(places))
        return other

    def widened(self, width: int) -> Source:
        """Return the same bags, padded to rows of a larger width."""
        if not self.ragged or self.shape[1] == width:
            return self
        widen_rows(self.read(slice(0, 1)), width)  # refuses widths that do not fit
        wider = Source(WidenedReader(self._reader, width), self.ids)
        wider.origin = self.origin
        return wider

    def like(
        self, width: int, dropped: Sequence[int], features: Names, whose: str, remedy: str | Sentence = ""
    ) -> Source:
        """Return the same samples with the features that earlier samples kept, in their order.

        Names decide where both sides have them: in any order, and among others. Otherwise positions decide.

        Parameters
        ----------
        width
            Number of features that the earlier samples kept.
        dropped
            Positions of the features that they dropped.
        features
            Names of the features that they kept.
        whose
            Name of the samples in messages.
        remedy
            What else can be done about missing features, as the end of the message.

        Raises
        ------
        InputError
            If a feature is missing, or the number of features without names differs.
        """
        named = are_named(features) and are_named(self.features)
        source = self
        if len(dropped) and not named and self.shape[1] == width + len(dropped):
            source = self.without_features(np.array(dropped, dtype=np.intp))
        source = source.selected(features, whose, remedy)
        if source.shape[1] != width and not source.ragged:
            raise InputError(
                f"{whose} has {self.shape[1]} features, and the earlier samples have {width}: give the same features "
                "in the same order"
            )
        if not source.ragged:
            warn_without_names(features, source.features, whose)
        return source

    def renamed(self, ids: Iterable[Any]) -> Source:
        """Return the same samples under other names."""
        other = copy.copy(self)
        other.ids = _names(ids, self.shape[0])
        return other

    def describe(self) -> str:
        """Return the file if there is one, the kind of container and its size, for messages, plans and pages."""
        size = f"{self._reader.kind} {self.shape[0]:,} × {self.shape[1]:,}"
        if self.origin is not None:
            return f"{self.origin}: {size}"
        return size if self.file is None else f"{size} from {self.file!r}"

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<Source: {self.describe()}>"


def as_source(X: Any, *, ids: Iterable[Any] | None = None) -> Source:
    """View a cohort as blocks of rows; every row is a sample.

    Parameters
    ----------
    X
        A NumPy array or memory map, lists of numbers, pandas or polars DataFrame, pyarrow table, xarray DataArray,
        SciPy sparse matrix, AnnData (in memory or backed), Zarr array, dask array, `Rankings`, `Bags`, or the path of a
        file or folder that says itself which are the samples: ``.npy``, ``.npz``, ``.h5ad``, ``.zarr`` (an array,
        AnnData, or bags from `save_bags`), and those of 10x Genomics, GEO, GCT, loom and others that `read_expression`
        reads. A `Source` is returned as it is.
    ids
        Names of the samples; they replace those of the container.

    Raises
    ------
    InputTypeError
        If X is of another type.
    InputError
        If the values are not a two-dimensional array of numbers, or are masked; there are no samples or no features;
        two samples have the same name; a name holds control characters; or the file is of a kind that is not read.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"TP53": [1.5, 0.5], "MYC": [2, 7]}, index=["patient 1", "patient 2"])
    >>> source = as_source(frame)
    >>> source.ids, source.features
    (('patient 1', 'patient 2'), ('TP53', 'MYC'))
    >>> source.read(np.array([1]))
    array([[0.5, 7. ]])
    """
    if isinstance(X, Source):
        return X if ids is None else X.renamed(ids)
    if isinstance(X, (str, os.PathLike)):
        source = source_of(open_file(as_path(X)), ids)
        source.origin = Origin(as_path(X).name)
        warn_of_spreadsheets(source.features, repr(as_path(X).name))
        return source
    source = source_of(open_container(X), ids)
    if "distkern" not in getattr(X, "uns", ()):  # read_expression has warned of these
        warn_of_spreadsheets(source.features, "the cohort")
    return source


def source_of(opened: Opened, ids: Iterable[Any] | None = None) -> Source:
    """View an open file or container as blocks of rows; ``ids`` replace its own names of samples."""
    source = Source(reader_of(opened), ids=opened.ids if ids is None else ids, features=opened.features)
    source.kinds, source.counts, source.file = opened.kinds, opened.counts, opened.file
    return source


# Checks ------------------------------------------------------------------------------------------------------------


def _check_numbers(reader: Reader) -> None:
    if len(reader.shape) != 2:
        raise InputError(
            f"the cohort has {len(reader.shape)} dimension{'s' * (len(reader.shape) != 1)}; it must have two, a row "
            "per sample: for one sample write X.reshape(1, -1)"
        )
    for size, what in zip(reader.shape, ("samples", "features"), strict=True):
        if size == 0:
            raise InputError(f"the cohort has no {what} (its shape is {tuple(reader.shape)})")
    for position, dtype in enumerate(reader.dtypes):
        if dtype.kind not in "biuf":
            column = f"column {position} of the cohort" if len(reader.dtypes) > 1 else "the cohort"
            raise InputError(
                f"{column} contains {dtype} values, not real numbers: remove columns of names or labels, and convert "
                "it with astype(float)"
            )


def _names(ids: Any, count: int) -> tuple[str, ...]:
    if isinstance(ids, (str, bytes)):
        raise InputError("ids must be one name per sample, not a single text")
    given = entries(ids, "ids")
    if len(given) != count:
        raise InputError(f"{len(given)} ids for {count} samples: give one per row")
    first: dict[str, int] = {}
    for position, value in enumerate(given):
        if is_missing(value):
            raise InputError(f"the id of sample {position} is missing: give every sample a name")
        name = str(value)
        if name in first:
            raise InputError(
                "two samples have the id {sample!r}, at positions {first} and {second}: make the ids unique{ids}",
                sample=name,
                first=first[name],
                second=position,
                ids=OptionalPart(", or give others with {ids}", ids=Argument("ids")),
            )
        first[name] = position
    return checked_names(first, "sample")


def _positions(rows: Any, count: int) -> slice | Indices:
    if isinstance(rows, slice):
        start, stop, step = rows.indices(count)
        return slice(start, max(start, stop)) if step == 1 else np.arange(start, stop, step, dtype=np.intp)
    positions = np.asarray(rows)
    if positions.dtype == bool and positions.shape == (count,):
        return np.flatnonzero(positions)
    if positions.size == 0:
        return np.empty(0, dtype=np.intp)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise InputError("rows must be a slice or a list of positions")
    if positions.min() < -count or positions.max() >= count:
        raise InputError(f"the rows reach from {positions.min()} to {positions.max()}; the cohort has {count} samples")
    positions = positions.astype(np.intp)
    return np.where(positions < 0, positions + count, positions)
