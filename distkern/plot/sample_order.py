"""The choice and the order of the samples that are drawn: by class, similar samples side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from distkern.core.alignment import as_sample_names
from distkern.core.errors import InputError
from distkern.core.labels import checked_labels
from distkern.core.parameters import one_of
from distkern.core.typing import Array, Floats, Indices
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram

DRAWN_SAMPLES = 1500
"""Approximate maximum number of samples that are read and drawn, evenly spaced within each class."""

PIXELS = 400
"""Approximate maximum number of pixels on an axis; a pixel of a larger matrix is the mean of several entries."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The class of every sample.

    Parameters
    ----------
    names
        Names of the classes, in the order of the labels: 2 before 10.
    codes
        Position of the class of each sample among the names, (m,).
    """

    names: tuple[str, ...]
    codes: Indices

    @property
    def counts(self) -> list[int]:
        """Number of samples of each class."""
        return np.bincount(self.codes, minlength=len(self.names)).tolist()


def as_classes(labels: Any, samples: Any) -> Classes:
    """Convert labels, one per sample, to classes; without labels there is one class without a name.

    Parameters
    ----------
    labels
        Label of each sample, (m,), or None.
    samples
        The m samples: a Gram matrix, their names, or their number.

    Raises
    ------
    InputError
        If the number of labels is not that of the samples, a sample has no label, or the labels have the names of other
        samples; the message names the sample.

    Examples
    --------
    >>> classes = as_classes([10, 2, 10], 3)
    >>> classes.names, classes.codes.tolist(), classes.counts
    (('2', '10'), [1, 0, 1], [1, 2])
    """
    known = as_sample_names(samples)
    if labels is None:
        return Classes(("",), np.zeros(known.count, dtype=np.intp))
    values = checked_labels(labels, known)
    try:
        distinct, codes = np.unique(values, return_inverse=True)
    except TypeError:  # labels of several types are ordered as text
        distinct, codes = np.unique(values.astype(str), return_inverse=True)
    return Classes(tuple(map(str, distinct.tolist())), codes.astype(np.intp))


@dataclass(frozen=True, eq=False)
class Drawn:
    """The part of a Gram matrix that is drawn.

    Parameters
    ----------
    samples
        Positions of the drawn samples in the matrix, in the order in which they are drawn, (drawn,).
    codes
        Their classes, ascending, (drawn,).
    values
        Kernel values between them, in that order, (drawn, drawn).
    total
        Number of samples of the whole matrix.
    """

    samples: Indices
    codes: Indices
    values: Floats
    total: int

    @property
    def is_part(self) -> bool:
        """Whether some samples were left out."""
        return len(self.samples) < self.total


def draw_samples(gram: BaseGram, codes: Indices, *, within: str = "similar", limit: int = DRAWN_SAMPLES) -> Drawn:
    """Choose and order the samples to draw, and read the kernel values between them once.

    Samples are ordered by class. ``within`` a class ``"given"`` keeps the order of the matrix, and ``"similar"`` sorts
    by the leading eigenvector of the centred block of the class, which puts similar samples side by side. If there are
    more than ``limit`` samples, every k-th sample of each class is drawn, at least one.

    Examples
    --------
    >>> gram = ArrayGram(np.diag([1.0, 2.0, 3.0, 4.0]))
    >>> drawn = draw_samples(gram, np.array([1, 0, 1, 0]), within="given")
    >>> drawn.samples.tolist(), drawn.values.diagonal().tolist()
    ([1, 3, 0, 2], [2.0, 4.0, 1.0, 3.0])
    """
    of_class = chosen_samples(codes, limit)
    samples = np.concatenate(of_class)
    return arranged(gram.block(samples, samples), of_class, codes, within=within)


def chosen_samples(codes: Indices, limit: int = DRAWN_SAMPLES) -> list[Indices]:
    """Return the positions of the samples to draw, one array per class."""
    step = max(1, -(-len(codes) // limit))
    return [np.flatnonzero(codes == code)[::step] for code in np.unique(codes)]


def arranged(values: Floats, of_class: list[Indices], codes: Indices, *, within: str = "similar") -> Drawn:
    """Order the samples to draw within their classes.

    Parameters
    ----------
    values
        Kernel values between the samples to draw, ordered by class.
    of_class
        Result of `chosen_samples`.
    codes
        Class of every sample, (m,).
    within
        As in `draw_samples`.
    """
    one_of(within, "within", ("similar", "given"))
    samples = np.concatenate(of_class)
    if within == "similar":
        edges = np.cumsum([0, *map(len, of_class)])
        order = np.concatenate(
            [start + by_similarity(values[start:stop, start:stop]) for start, stop in pairwise(edges)]
        )
        samples, values = samples[order], values[np.ix_(order, order)]
    return Drawn(samples, codes[samples], values, len(codes))


def by_similarity(values: Floats) -> Indices:
    """Order samples by the leading eigenvector of their centred kernel matrix.

    Of the two directions, it uses the one whose first sample precedes its last sample in the matrix.

    Examples
    --------
    >>> by_similarity(np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.1], [0.9, 0.1, 1.0]])).tolist()
    [0, 2, 1]
    """
    if len(values) < 3:
        return np.arange(len(values))
    _, coordinates = leading_components(values, 1)
    order = np.argsort(coordinates[:, 0], kind="stable")
    return order if order[0] < order[-1] else order[::-1]


def leading_components(values: Floats, count: int) -> tuple[Floats, Floats]:
    """Return kernel principal components: shares of the variance (count,) and coordinates of the samples (m, count).

    The coordinate of largest absolute value of each component is positive, so that signs do not depend on the machine.

    Examples
    --------
    >>> shares, coordinates = leading_components(np.array([[1.0, -1.0], [-1.0, 1.0]]), 1)
    >>> shares.round(6).tolist(), abs(coordinates).round(6).tolist()
    ([1.0], [[1.0], [1.0]])
    """
    means = values.mean(axis=0)
    centred = values - np.add.outer(means, means) + means.mean()
    eigenvalues, vectors = np.linalg.eigh(centred)  # LAPACK's routine for some eigenvalues loses equal ones
    eigenvalues, vectors = np.clip(eigenvalues[: -count - 1 : -1], 0, None), vectors[:, : -count - 1 : -1]
    total = max(float(np.trace(centred)), np.finfo(float).tiny)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return eigenvalues / total, vectors * np.where(largest < 0, -1, 1) * np.sqrt(eigenvalues)


def to_pixels(values: Floats, codes: Indices, pixels: int = PIXELS) -> tuple[Floats, Array, int]:
    """Average the entries of a large matrix over squares that contain one class each.

    Parameters
    ----------
    values
        Kernel values (m, m), ordered by class.
    codes
        Classes of the samples, ascending, (m,).
    pixels
        Approximate number of pixels on an axis.

    Returns
    -------
    The means (p, p), the class of each row of pixels (p,), and the largest number of samples on an axis of a pixel.

    Examples
    --------
    >>> means, codes, most = to_pixels(np.arange(9.0).reshape(3, 3), np.array([0, 0, 1]), pixels=2)
    >>> means.tolist(), codes.tolist(), most
    ([[2.0, 3.5], [6.5, 8.0]], [0, 1], 2)
    """
    most = max(1, -(-len(codes) // pixels))
    starts = np.concatenate([np.flatnonzero(codes == code)[::most] for code in np.unique(codes)])
    if most == 1:
        return values, codes, 1
    sizes = np.diff([*starts, len(codes)])
    sums = np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)
    return sums / np.multiply.outer(sizes, sizes), codes[starts], most


def as_symmetric(gram: Any) -> BaseGram:
    """Return a symmetric Gram matrix, or an array of kernel values, as an operator.

    Raises
    ------
    InputError
        If rows and columns are not the same samples, or there are no samples.
    """
    matrix = gram if isinstance(gram, BaseGram) else ArrayGram(gram)
    if not matrix.is_symmetric:
        rows, cols = matrix.shape
        raise InputError(
            f"the matrix {rows} × {cols} lies between different samples: give one whose rows and columns are the same "
            "samples in the same order"
        )
    if len(matrix) == 0:
        raise InputError("the Gram matrix has no sample to draw")
    return matrix
