"""Bags: samples that are weighted sets of points, sets of any size; their rows of numbers, and their construction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.alignment import SampleNames, aligned
from distkern.core.containers import as_floats, as_frame, numbers, plain, plain_values
from distkern.core.errors import InputError
from distkern.core.feature_names import places_by_name
from distkern.core.names import checked_names, checked_text, is_missing
from distkern.core.parameters import entries
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Floats, Indices

Parts = tuple[Floats, NDArray[np.int64], Floats, tuple[str, ...], Array | None]
"""Values, offsets, weights, ids and labels of bags."""


@dataclass(frozen=True, eq=False)
class Bags:
    """m weighted sets of points in d dimensions; made by `Bags.from_arrays`, `Bags.from_table` and others.

    Bag i has the points ``values[offsets[i]:offsets[i + 1]]`` and the weights at the same positions. The order of the
    points is arbitrary, and only the proportions of the weights matter.

    Parameters
    ----------
    values
        (points, d): all points, bag after bag.
    offsets
        (m + 1,): position of the first point of each bag, and the number of points.
    weights
        (points,): weight of each point, more than 0.
    ids
        Names of the m bags.
    labels
        (m,): a label for each bag, or None.

    Raises
    ------
    InputError
        If the arrays do not match, a bag is empty, a value is not finite, or a weight is not positive; the message
        names the bag.

    See Also
    --------
    load_bags, save_bags : Bags in a store.
    bags_from_images : The bright pixels of images.

    Examples
    --------
    >>> bags = Bags.from_arrays([[[0.0, 0.0], [1.0, 0.0]], [[0.5, 2.0]]], ids=["a", "b"])
    >>> bags
    <Bags: 2 bags of 1 to 2 points in 2 dimensions>
    >>> bags[1].points(0), bags.sizes
    (array([[0.5, 2. ]]), array([2, 1]))
    """

    values: Floats
    offsets: NDArray[np.int64]
    weights: Floats
    ids: tuple[str, ...]
    labels: Array | None = None

    def __post_init__(self) -> None:
        values = np.array(numbers(self.values, "the points of bags"), order="C")
        offsets = np.array(self.offsets, dtype=np.int64)
        weights = np.array(numbers(self.weights, "the weights of bags"))
        ids = checked_names(self.ids, "bag")
        owners = SampleNames(len(ids), ids, whose="the bags", listed="list(bags.ids)")
        labels = None if self.labels is None else np.array(aligned(self.labels, owners, "labels"))
        if values.ndim != 2 or 0 in values.shape:
            raise InputError(f"the points of bags have shape {values.shape}; they must be (points, dimensions), none 0")
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(values):
            raise InputError("the offsets of bags must go from 0 to the number of points, one more than there are bags")
        if len(ids) != len(offsets) - 1:
            raise InputError(f"{len(ids)} names for {len(offsets) - 1} bags: give one for each")
        repeated = [name for name, times in Counter(ids).items() if times > 1]
        if repeated:
            raise InputError(f"two bags have the name {repeated[0]!r}: make the names unique")
        empty = np.flatnonzero(np.diff(offsets) <= 0)
        if len(empty):
            raise InputError(
                f"bag {ids[empty[0]]!r} is empty ({len(empty)} such): leave it out, since it has no distribution"
            )
        if weights.shape != (len(values),):
            raise InputError(f"got weights of shape {weights.shape} for {len(values)} points: give one for each")
        if labels is not None and labels.shape != (len(ids),):
            raise InputError(f"got labels of shape {labels.shape} for {len(ids)} bags: give one for each")
        for name, label in zip(ids, () if labels is None else labels, strict=labels is not None):
            if is_missing(label):
                raise InputError(f"bag {name!r} has no label: give it one, or leave it out")
            checked_text(str(label), f"the label of bag {name!r}")
        for wrong, what in (
            (~np.isfinite(values).all(axis=1), "a value that is not finite: leave the point out, or fill the value in"),
            (~(np.isfinite(weights) & (weights > 0)), "a weight that is not a positive number: leave such a point out"),
        ):
            if wrong.any():
                point = int(np.flatnonzero(wrong)[0])
                bag = int(np.searchsorted(offsets, point, side="right")) - 1
                raise InputError(f"point {point - offsets[bag]} of bag {ids[bag]!r} has {what}")
        for part in (values, offsets, weights, labels):
            if part is not None:
                part.flags.writeable = False
        for name, checked in {
            "values": values,
            "offsets": offsets,
            "weights": weights,
            "ids": ids,
            "labels": labels,
        }.items():
            object.__setattr__(self, name, checked)

    # Construction -------------------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls, arrays: Iterable[Any], weights: Iterable[Any] | None = None, ids: Any = None, labels: Any = None
    ) -> Bags:
        """Make bags from one array of points per bag.

        Parameters
        ----------
        arrays
            m arrays (points, d), or (points,) where d = 1.
        weights
            m arrays (points,); equal weights by default.
        ids, labels
            Names of the bags, by default their positions; a label for each bag.

        Raises
        ------
        InputError
            If points have different numbers of dimensions; the message names the first such bag.
        """
        given = [_as_points(array, position) for position, array in enumerate(arrays)]
        if not given:
            raise InputError("there are no bags: give at least one array of points")
        names = tuple(map(str, range(len(given)) if ids is None else entries(ids, "ids")))
        parts = [
            points if (places := places_by_name(given[0][1], columns, f"bag {name!r}")) is None else points[:, places]
            for name, (points, columns) in zip(names, given, strict=False)
        ] + [points for points, _ in given[len(names) :]]
        for name, part in zip(names, parts, strict=False):
            if len(part) and part.shape[1] != parts[0].shape[1]:
                raise InputError(
                    f"the points of bag {name!r} have {part.shape[1]} dimensions and those of bag {names[0]!r} "
                    f"{parts[0].shape[1]}: give points of one space"
                )
            if not len(part):
                raise InputError(f"bag {name!r} is empty: leave it out, since it has no distribution")
        sizes = [len(part) for part in parts]
        if weights is None:
            heavy = np.ones(sum(sizes))
        else:
            heaps = [numbers(weight, "the weights of bags").ravel() for weight in entries(weights, "weights")]
            if [len(heap) for heap in heaps] != sizes:
                raise InputError("the weights do not fit the points: give one array per bag, with one number per point")
            heavy = np.concatenate(heaps)
        return cls(np.concatenate(parts), np.concatenate([[0], np.cumsum(sizes)]), heavy, names, labels)

    @classmethod
    def from_table(
        cls,
        frame: Any,
        by: str,
        columns: Sequence[str] | None = None,
        weight: str | None = None,
        label: str | None = None,
    ) -> Bags:
        """Make bags from a DataFrame with one row per point and a column with the name of its bag.

        Parameters
        ----------
        frame
            The table, of pandas, polars or pyarrow; the rows of a bag need not be adjacent.
        by
            Column with the name of the bag.
        columns
            Columns with the coordinates; by default all other numeric columns.
        weight, label
            Columns with the weight of the point, and with the label of the bag, which is the same in all rows of a bag.

        Raises
        ------
        InputError
            If there is no such column, a column of coordinates is not numeric, a name or label is missing, or a bag
            has two labels.

        Examples
        --------
        >>> import pandas as pd
        >>> cells = pd.DataFrame({"patient": ["p", "q", "p"], "CD4": [1.0, 0.0, 3.0], "CD8": [0.5, 2.0, 1.5]})
        >>> Bags.from_table(cells, "patient").points("p")
        array([[1. , 0.5],
               [3. , 1.5]])
        """
        frame = as_frame(frame)
        for column in (by, weight, label, *(columns or ())):
            if column is not None and column not in frame.columns:
                raise InputError(f"the table has no column {column!r}; it has {', '.join(map(str, frame.columns))}")
        if columns is None:
            used = {by, weight, label}
            columns = [name for name in frame.select_dtypes("number").columns if name not in used]
        weights = None if weight is None else numbers_of(frame, [weight])[:, 0]
        labels = None if label is None else frame[label]
        return cls(*grouped(numbers_of(frame, list(columns)), frame[by], weights, labels, f"column {by!r}"))

    @classmethod
    def from_anndata(
        cls,
        adata: Any,
        by: str,
        *,
        use_rep: str | None = None,
        layer: str | None = None,
        weight: str | None = None,
        label: str | None = None,
    ) -> Bags:
        """Make bags from AnnData, one bag for the cells of each patient, donor or group.

        Parameters
        ----------
        adata
            AnnData with one row per cell.
        by
            Column of ``obs`` with the name of the bag of the cell.
        use_rep, layer
            Key of ``obsm``, such as ``"X_pca"``, or of ``layers``, with the coordinates; X by default.
        weight, label
            Columns of ``obs`` with the weight of the cell, and with the label of the bag, which is the same for all its
            cells.

        Raises
        ------
        InputError
            If there is no such key, a cell has no bag or no label, or a bag has two labels.
        """
        for column in (by, weight, label):
            if column is not None and column not in adata.obs.columns:
                raise InputError(f"obs has no column {column!r}; it has {', '.join(map(str, adata.obs.columns))}")
        for kind, key, mapping in (("obsm", use_rep, adata.obsm), ("layers", layer, adata.layers)):
            if key is not None and key not in mapping:
                raise InputError(f"{kind} has no key {key!r}; it has {', '.join(map(str, mapping.keys())) or 'none'}")
        cells = adata.obsm[use_rep] if use_rep is not None else adata.X if layer is None else adata.layers[layer]
        weights = None if weight is None else numbers_of(adata.obs, [weight])[:, 0]
        labels = None if label is None else adata.obs[label]
        points = numbers(cells, "the coordinates of the cells")
        return cls(*grouped(points, adata.obs[by], weights, labels, f"obs column {by!r}"))

    @classmethod
    def from_documents(cls, documents: Iterable[Any], vectors: Any = None, ids: Any = None, labels: Any = None) -> Bags:
        """Make bags from documents: the words of a document, each weighted by its number of occurrences.

        Parameters
        ----------
        documents
            m texts, split at white space; or m lists of words; or m dicts from word to count.
        vectors
            A dict from word to vector, (d,): a point is the vector of a word; words without a vector are left out. By
            default a point is the number of the word in the sorted vocabulary, d = 1, for kernels that compare
            histograms and see only whether two points are equal.
        ids, labels
            Names of the documents, by default their positions; a label for each document.

        Raises
        ------
        InputError
            If a document has no word (with a vector); the message names it.

        Examples
        --------
        >>> Bags.from_documents(["to be or not to be", "to do"]).weights
        array([2., 1., 1., 2., 1., 1.])
        """
        counts = [
            Counter(document)
            if isinstance(document, dict)
            else Counter(document.split() if isinstance(document, str) else document)
            for document in documents
        ]
        known = sorted({word for count in counts for word in count}) if vectors is None else vectors
        table = {word: [float(number)] for number, word in enumerate(known)} if vectors is None else vectors
        kept = [sorted(word for word in count if word in table) for count in counts]
        return cls.from_arrays(
            [np.array([table[word] for word in words], dtype=np.float64) for words in kept],
            [[count[word] for word in words] for count, words in zip(counts, kept, strict=True)],
            ids,
            labels,
        )

    @classmethod
    def from_counts(cls, counts: Any, ids: Any = None, labels: Any = None) -> Bags:
        """Make bags from histograms: bag i has the point j with weight counts[i, j] for each bin j not empty, d = 1.

        Parameters
        ----------
        counts
            (m, bins), 0 or more; dense or a SciPy sparse matrix.
        ids, labels
            Names of the histograms, by default their positions; a label for each histogram.

        Raises
        ------
        InputError
            If the counts are not a matrix of numbers of 0 or more, or a histogram is empty; the message names it.

        Examples
        --------
        >>> Bags.from_counts([[2, 0, 1]]).points(0)
        array([[0.],
               [2.]])
        """
        table = numbers(counts, "the counts of histograms")
        if table.ndim != 2 or not (table >= 0).all():
            raise InputError("histograms are a matrix (samples, bins) of numbers of 0 or more")
        filled = [np.flatnonzero(row) for row in table]
        weights = [row[bins] for row, bins in zip(table, filled, strict=True)]
        return cls.from_arrays(filled, weights, ids, labels)

    # Access ------------------------------------------------------------------------------------------------------

    @property
    def sizes(self) -> Indices:
        """Number of points of each bag, (m,)."""
        return np.diff(self.offsets)

    @property
    def dimensions(self) -> int:
        """d, the number of coordinates of a point."""
        return self.values.shape[1]

    def points(self, bag: int | str) -> Floats:
        """Points of one bag, by its position or its name, (points, d)."""
        return self.values[self._range(bag)]

    def weights_of(self, bag: int | str) -> Floats:
        """Weights of the points of one bag, by its position or its name, (points,)."""
        return self.weights[self._range(bag)]

    def _range(self, bag: int | str) -> slice:
        if isinstance(bag, str):
            if bag not in self.ids:
                raise InputError(f"there is no bag {bag!r}")
            bag = self.ids.index(bag)
        position = range(len(self))[bag]
        return slice(int(self.offsets[position]), int(self.offsets[position + 1]))

    def rows(self) -> Floats:
        """Each bag as one row of numbers, (m, 1 + L (1 + d)) with L points in the largest bag; the input of kernels.

        A row has d, then L weights, then the coordinates of L points; padding has weight 0. The engine makes rows of a
        few bags at a time.

        Examples
        --------
        >>> Bags.from_arrays([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]).rows()
        array([[2., 1., 1., 1., 2., 3., 4.],
               [2., 1., 0., 5., 6., 0., 0.]])
        """
        return pad_rows(self.values, self.sizes, self.weights, int(self.sizes.max()))

    @classmethod
    def from_rows(cls, rows: Any, ids: Any = None, labels: Any = None) -> Bags:
        """Build bags from their `rows`."""
        weights, points = split_rows(numbers(rows, "the rows of bags"))
        weighted = [weight > 0 for weight in weights]
        return cls.from_arrays(
            [point[some] for point, some in zip(points, weighted, strict=True)],
            [weight[some] for weight, some in zip(weights, weighted, strict=True)],
            ids,
            labels,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Floats]:
        return (self.points(position) for position in range(len(self)))

    def __getitem__(self, bags: Any) -> Bags:
        """Return some of the bags: a position, a slice, positions or a mask; always `Bags`."""
        picked = np.atleast_1d(np.arange(len(self))[bags if isinstance(bags, slice) else np.asarray(bags)])
        if len(picked) == 0:
            raise InputError("no bag is selected: select at least one")
        parts = [self._range(int(position)) for position in picked]
        return Bags(
            np.concatenate([self.values[part] for part in parts]),
            np.concatenate([[0], np.cumsum(self.sizes[picked])]),
            np.concatenate([self.weights[part] for part in parts]),
            tuple(self.ids[position] for position in picked),
            None if self.labels is None else self.labels[picked],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bags):
            return NotImplemented
        mine, theirs = (np.empty(0) if bags.labels is None else bags.labels for bags in (self, other))
        pairs = ((self.values, other.values), (self.offsets, other.offsets), (self.weights, other.weights))
        return self.ids == other.ids and all(np.array_equal(one, two) for one, two in (*pairs, (mine, theirs)))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        smallest, largest = int(self.sizes.min()), int(self.sizes.max())
        points = f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
        plural = "" if self.dimensions == 1 else "s"
        return f"<Bags: {len(self):,} bags of {points} points in {self.dimensions:,} dimension{plural}>"


def _as_points(array: Any, position: int) -> tuple[Floats, tuple[str, ...] | None]:
    """Points (points, dimensions) of a bag, and the names of the dimensions if they have any."""
    try:
        found = plain(array, f"bag {position}")
        points = as_floats(found.values.toarray() if hasattr(found.values, "toarray") else found.values, "it")
    except (TypeError, ValueError) as error:
        raise InputError(f"bag {position} is not an array of numbers: {error}") from error
    if points.ndim == 1:
        return points[:, None], None
    if points.ndim != 2:
        raise InputError(f"bag {position} has shape {points.shape}; points are rows, (points, dimensions)")
    return points, found.names[1]


# Bags as rows of numbers, all of one length: d, then L weights, then the coordinates of L points -------------------


def row_width(largest: int, dimensions: int) -> int:
    """Length of a row for bags of at most ``largest`` points.

    Examples
    --------
    >>> row_width(2, 3)
    9
    """
    return 1 + largest * (1 + dimensions)


def pad_rows(values: Floats, sizes: Indices, weights: Floats, largest: int) -> Floats:
    """Write bags as rows of numbers, for at most ``largest`` points per bag.

    Parameters
    ----------
    values, weights
        Points (points, d) and their weights (points,), ordered by bag.
    sizes
        Number of points of each bag, (m,).

    Examples
    --------
    >>> pad_rows(np.array([[3.0], [4.0], [5.0]]), np.array([2, 1]), np.ones(3), 2)
    array([[1., 1., 1., 3., 4.],
           [1., 1., 0., 5., 0.]])
    """
    m, d = len(sizes), values.shape[1]
    out = np.zeros((m, row_width(largest, d)))
    out[:, 0] = d
    filled = np.arange(largest) < sizes[:, None]
    out[:, 1 : 1 + largest][filled] = weights
    out[:, 1 + largest :].reshape(m, largest, d)[filled] = values  # a view
    return out


def split_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Weights (m, L) and points (m, L, d) of bags given as rows of numbers.

    Raises
    ------
    InputError
        If they are not such rows.
    """
    d = int(rows[0, 0]) if rows.ndim == 2 and rows.shape[1] > 1 and np.isfinite(rows[0, 0]) else 0
    if d < 1 or (rows.shape[1] - 1) % (d + 1) or not (rows[:, 0] == d).all():
        raise InputError(
            "the samples are not bags, and this kernel compares sets of points: make them with distkern.Bags"
        )
    largest = (rows.shape[1] - 1) // (d + 1)
    return rows[:, 1 : 1 + largest], rows[:, 1 + largest :].reshape(len(rows), largest, d)


def widen_rows(rows: Floats, width: int) -> Floats:
    """Pad rows of bags to a larger width.

    Raises
    ------
    InputError
        If the width is smaller than that of the rows, or not the width of bags in as many dimensions.
    """
    weights, points = split_rows(rows)
    bags, length, d = points.shape
    largest = (width - 1) // (1 + d)
    if width != row_width(largest, d):
        raise InputError(
            f"the points of these bags have {d} dimensions, and those of the other bags another number: give points "
            "of one space"
        )
    if largest < length:
        raise InputError(
            f"the largest of these bags has {length} points, and the other bags have room for {largest} points only: "
            "compute all bags together"
        )
    out = np.zeros((bags, width))
    out[:, 0] = d
    out[:, 1 : 1 + length] = weights
    out[:, 1 + largest : 1 + largest + length * d] = points.reshape(bags, -1)
    return out


# Points that name their bag ----------------------------------------------------------------------------------------


def numbers_of(frame: Any, columns: list[str]) -> Floats:
    """Columns of a DataFrame as float64; missing values are NaN.

    Raises
    ------
    InputError
        If there is no column, or one is not numeric.
    """
    if not columns:
        raise InputError(
            "the table has no column of numbers that could be coordinates: name some with {columns}",
            columns=Argument("columns"),
        )
    for column in columns:
        if frame.columns.tolist().count(column) > 1:
            raise InputError(f"the table has several columns {column!r}: rename them")
    values = {name: plain_values(frame[name], f"column {name!r}") for name in columns}
    wrong = next((name for name, column in values.items() if column.dtype.kind not in "biuf"), None)
    if wrong is not None:
        raise InputError(
            "column {column!r} does not hold numbers only: name the columns with coordinates by {columns}, or fill "
            "it in",
            column=wrong,
            columns=Argument("columns"),
        )
    return np.stack([as_floats(column, f"column {name!r}") for name, column in values.items()], axis=1)


def grouped(points: Floats, names: Any, weights: Floats | None, labels: Any, what: str) -> Parts:
    """Group points by the name of their bag; bags are in the order of first occurrence.

    Parameters
    ----------
    points, weights
        (points, d), and (points,) or None for ones.
    names, labels
        pandas Series with the name of each point's bag, and with the label of that bag or None.
    what
        Source of the names, for messages.

    Raises
    ------
    InputError
        If a name or label is missing, or a bag has two labels.
    """
    missing = np.flatnonzero(names.isna())
    if len(missing):
        raise InputError(f"row {missing[0]} has no name of a bag in {what} ({len(missing)} such): leave such rows out")
    number: dict[str, int] = {}
    owner = np.array([number.setdefault(str(name), len(number)) for name in names], dtype=np.intp)
    order = np.argsort(owner, kind="stable")
    first = np.unique(owner, return_index=True)[1]
    return (
        points[order],
        np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(number)))]),
        np.ones(len(points)) if weights is None else weights[order],
        tuple(number),
        None if labels is None else _labels(labels, list(number), owner, first),
    )


def _labels(given: Any, bags: list[str], owner: Array, first: Array) -> Array:
    missing = np.flatnonzero(given.isna())
    if len(missing):
        raise InputError(f"row {missing[0]}, of bag {bags[owner[missing[0]]]!r}, has no label: give it one")
    labels: Array = plain_values(given, "the labels of bags")
    other = np.flatnonzero(labels != labels[first][owner])
    if len(other):
        bag = owner[other[0]]
        raise InputError(f"bag {bags[bag]!r} has two labels, {labels[first[bag]]!r} and {labels[other[0]]!r}: give one")
    return labels[first]
