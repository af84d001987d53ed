"""Figures 6 and 7 of Kondor & Jebara: shapes and digits as sets of points, compared with vectors of pixels.

The paper shows accuracy against C for several widths without printing numbers, and does not define its crosses and
squares. Ours have lines one pixel wide: a cross of 2s − 1 pixels in width and height, or the frame of a square of side
s, at a random position, with s drawn from 8 to 16. A cross and a square of the same s thus have equally many pixels of
similar spread, and differ in shape. The digits are the first 20 of each among the MNIST images that ship with the
package (NIST in the paper). 30 pixels of intensity above 191 are drawn from each, and the baselines use the same
pixels. Splits are random, as many as in the paper; for the shapes, where the paper seems to have one split, there are
ten.

    distkern reproduce point-sets --out docs/figures/point-sets.csv
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distkern.core.bags import Bags
from distkern.core.images import bags_from_images
from distkern.core.typing import Array, Floats, Indices
from distkern.datasets import load_mnist
from distkern.kernels.bags.kernelized import KernelBhattacharyya
from distkern.kernels.base import Kernel
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.nested import JointEvaluation
from distkern.learners.svm import KernelSVC
from distkern.operators.array import ArrayGram
from distkern.reproduce.tables import REPEATED, Row, read_rows

REPEATS = 10
"""Random splits."""

GRID = tuple(10.0**power for power in range(-1, 5))
"""Values of C."""

SIDE, SIZES = 40, (8, 16)
"""Side of an image of a shape, and smallest and largest s."""

POINT_WIDTHS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""σ' of the Gaussian kernel between two pixels, whose coordinates are between 0 and 1."""

IMAGE_WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""σ of the Gaussian kernel between two images, whose pixels are 0 or 1."""

POINTS = "Bhattacharyya of points"
"""Name of the kernel of the paper."""


@dataclass(frozen=True, eq=False)
class Task:
    """Images to classify: as sets of points, and as vectors of the same points.

    Parameters
    ----------
    name
        ``"shapes"`` or ``"digits"``.
    bags
        The points of each image, with its class as the label.
    vectors
        1 for pixels that are points of the image, else 0, (images, pixels).
    kernel
        r and η of the kernel between sets of points.
    train
        Number of training images in a split.
    """

    name: str
    bags: Bags
    vectors: Floats
    kernel: tuple[int, float]
    train: int

    def kernels(self) -> Iterator[tuple[str, float, Floats]]:
        """Yield the name, the width (NaN if there is none) and the values of each kernel."""
        components, eta = self.kernel
        for width in POINT_WIDTHS:
            yield POINTS, width, KernelBhattacharyya(Gaussian(width), components, eta)(self.bags)
        pixels: list[tuple[str, float, Kernel]] = [("Gaussian of pixels", w, Gaussian(w)) for w in IMAGE_WIDTHS]
        for name, width, kernel in [*pixels, ("dot product of pixels", float("nan"), Linear())]:
            yield name, width, kernel(self.vectors)

    def splits(self, repeats: int, seed: int) -> list[tuple[Indices, Indices]]:
        """Return the training and test images of each random split."""
        rng = np.random.default_rng([seed, len(self.bags)])
        orders = [rng.permutation(len(self.bags)) for _ in range(repeats)]
        return [(np.sort(order[: self.train]), np.sort(order[self.train :])) for order in orders]


@dataclass(frozen=True)
class Point:
    """Accuracy of a one-vs-rest support vector machine.

    Parameters
    ----------
    task, kernel
        Names of the task and the kernel.
    width
        σ; NaN for the dot product.
    C
        Upper bound of the dual coefficients.
    repeats
        Accuracy on the test images of each split, in per cent; the splits are the same for all kernels.

    Examples
    --------
    >>> point = Point("shapes", POINTS, 0.2, 10.0, (70.0, 74.0))
    >>> point.accuracy, round(point.std, 3)
    (72.0, 2.828)
    """

    task: str
    kernel: str
    width: float
    C: float
    repeats: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """Mean over the splits, in per cent."""
        return float(np.mean(self.repeats))

    @property
    def std(self) -> float:
        """Sample standard deviation of the splits; NaN for a single one."""
        return float(np.std(self.repeats, ddof=1)) if len(self.repeats) > 1 else float("nan")

    def row(self) -> Row:
        """Return the point as a row of the table."""
        about = {"task": self.task, "kernel": self.kernel, "width": self.width, "C": self.C}
        repeats = {f"{REPEATED}{number}": value for number, value in enumerate(self.repeats, start=1)}
        return {**about, "accuracy": self.accuracy, "std": self.std, **repeats}


# Images to classify ------------------------------------------------------------------------------------------------


def crosses_and_squares(count: int = 100, *, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.str_]]:
    """Draw images of alternating crosses and squares, (count, 40, 40), 255 on their lines, and return their names too.

    Examples
    --------
    >>> images, names = crosses_and_squares(2)
    >>> images.shape, names.tolist(), np.unique(images).tolist()
    ((2, 40, 40), ['cross', 'square'], [0, 255])
    """
    rng = np.random.default_rng(seed)
    images, names = np.zeros((count, SIDE, SIDE), dtype=np.uint8), np.array(["cross", "square"])[np.arange(count) % 2]
    for image, name in zip(images, names, strict=True):
        size = int(rng.integers(SIZES[0], SIZES[1] + 1))
        width = size if name == "square" else 2 * size - 1
        row, col = rng.integers(0, SIDE - width + 1, 2)
        field = image[row : row + width, col : col + width]
        lines = [0, -1] if name == "square" else [width // 2]
        field[lines] = field[:, lines] = 255
    return images, names


def shapes(seed: int = 0) -> Task:
    """Return the task of crosses and squares, half of them for training; r = 4 and η = 0.01 as in the paper."""
    images, names = crosses_and_squares(seed=seed)
    bags = bags_from_images(images, labels=names)
    return Task("shapes", bags, as_vectors(bags, images.shape[1:]), (4, 0.01), len(bags) // 2)


def digits(seed: int = 0, each: int = 20) -> Task:
    """Return the task of the first 20 images of each digit, 120 for training; r = 10 and η = 0.1 as in the paper."""
    images, names = load_mnist()
    first = np.sort(np.concatenate([np.flatnonzero(names == digit)[:each] for digit in np.unique(names)]))
    bags = bags_from_images(images[first], 30, threshold=191, seed=seed, labels=names[first])
    return Task("digits", bags, as_vectors(bags, images.shape[1:]), (10, 0.1), 6 * len(bags) // 10)


def as_vectors(bags: Bags, shape: Sequence[int]) -> Floats:
    """Return the images of the points of bags as rows: 1 at points, else 0.

    Examples
    --------
    >>> as_vectors(bags_from_images([[[0, 255], [0, 0]]]), (2, 2))
    array([[0., 1., 0., 0.]])
    """
    rows, cols = shape
    out = np.zeros((len(bags), rows, cols))
    for image, points in zip(out, bags, strict=True):
        at = np.rint(points * [cols - 1, rows - 1]).astype(np.intp)
        image[at[:, 1], at[:, 0]] = 1
    return out.reshape(len(bags), -1)


# The accuracies ----------------------------------------------------------------------------------------------------


def accuracies(
    K: Floats, labels: Array, splits: Sequence[tuple[Indices, Indices]], grid: Sequence[float] = GRID
) -> Mapping[float, Floats]:
    """Return the accuracy on the test samples of each split, in per cent, for each C.

    Examples
    --------
    >>> samples = np.array([-2.0, -1.0, 1.0, 2.0, -3.0, 3.0])
    >>> split = (np.arange(4), np.arange(4, 6))
    >>> {C: float(found[0]) for C, found in accuracies(np.outer(samples, samples), samples > 0, [split], [1.0]).items()}
    {1.0: 100.0}
    """
    classes, codes = np.unique(labels, return_inverse=True)
    joint = JointEvaluation(None, KernelSVC(multi_class="ovr"), ArrayGram(K), codes, classes)
    found = np.empty((len(grid), len(splits)))
    for column, scores in enumerate(joint.scores(splits, [grid] * len(splits))):
        test = splits[column][1]
        found[:, column] = [100 * np.mean(joint.binary.decide(of_C) == codes[test]) for of_C in scores]
    return dict(zip(grid, found, strict=True))


def curves(task: Task, *, repeats: int = REPEATS, seed: int = 0) -> Iterator[Point]:
    """Compute the points of a figure: every kernel at every width and C."""
    splits, labels = task.splits(repeats, seed), np.asarray(task.bags.labels)
    for name, width, K in task.kernels():
        for C, found in accuracies(K, labels, splits).items():
            yield Point(task.name, name, width, C, tuple(found.tolist()))


def best(points: Sequence[Point]) -> list[Point]:
    """Return the point of highest accuracy of each task and kernel, the first of equal ones.

    Examples
    --------
    >>> [point.C for point in best([Point("a", "k", 1.0, C, (50.0 + C,)) for C in (1.0, 10.0)])]
    [10.0]
    """
    pairs = dict.fromkeys((point.task, point.kernel) for point in points)
    return [max((p for p in points if (p.task, p.kernel) == pair), key=lambda p: p.accuracy) for pair in pairs]


# The table ---------------------------------------------------------------------------------------------------------


def rows(*, repeats: int = REPEATS, seed: int = 0) -> Iterator[Row]:
    """Yield the rows of both figures; shapes, pixels and splits are drawn with ``seed``."""
    for task in (shapes(seed), digits(seed)):
        yield from (point.row() for point in curves(task, repeats=repeats, seed=seed))


def read_points(path: str | Path) -> list[Point]:
    """Read the points from a file of ``distkern reproduce point-sets --out``."""
    return [_from_row(row) for row in read_rows(Path(path))]


def _from_row(row: dict[str, str]) -> Point:
    repeats = tuple(float(value) for name, value in row.items() if name.startswith(REPEATED))
    return Point(row["task"], row["kernel"], float(row["width"] or "nan"), float(row["C"]), repeats)
