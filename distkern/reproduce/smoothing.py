"""Figure 3 of Jiao & Vert: accuracy of the smoothed Kendall kernel on the medulloblastomas.

Left: accuracy of a support vector machine with the exact smoothed kernel against the width a of the noise, and that of
the Kendall kernel without smoothing. Right: accuracy of the Monte Carlo kernel at the best of these widths against the
number D of jittered copies. As in the paper, kernels are centred on the training samples and scaled to unit norm, an
inner 5-fold cross-validation chooses C from 10⁻², …, 10³, there are 5 outer folds repeated 10 times, and the best a is
chosen on the same folds. Folds are random and stratified by class, and not those of the paper.

The whole figure takes ten minutes on one core::

    distkern reproduce smoothing --out docs/figures/smoothing-medulloblastoma.csv --overwrite
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from distkern.core.errors import InputError
from distkern.core.random import sample_keys, uniforms
from distkern.core.typing import Array, Floats
from distkern.datasets import load_medulloblastoma
from distkern.io.digests import dense_digests
from distkern.kernels.kendall import Kendall
from distkern.kernels.smoothed import SmoothedKendall
from distkern.learners.selection import cross_validate_gram
from distkern.reproduce.tables import REPEATED, Row, read_rows

BEST_WINDOW = 10204
"""The width a of the highest accuracy, rounded, from the legend of the figure. The paper does not print that accuracy;
the accuracy of the Kendall kernel, a line in the figure, is ``published("MB", "SVMkdtALL")``."""

WINDOWS = 20
"""Number of widths in the left panel, as in the authors' script."""

DRAWS = 35
"""Largest number of copies D in the right panel."""

REPEATS = 10
"""Repetitions of the outer folds."""

QUICK_STEP = 7
"""In the quick mode every seventh feature is used."""

QUICK_DRAWS = (1, 2, 4, 8, 16, 32)
"""Values of D in the quick mode."""


@dataclass(frozen=True)
class Point:
    """An accuracy in the figure.

    Parameters
    ----------
    curve
        ``"kendall"``, ``"exact"`` or ``"monte-carlo"``.
    window
        a; 0 for the Kendall kernel.
    draws
        D; 0 if nothing is drawn.
    repeats
        Accuracy of each repetition of the outer folds, in per cent. All points with the same seed have the same folds,
        so that points can be compared repetition by repetition.

    Examples
    --------
    >>> point = Point("exact", 100.0, 0, (60.0, 64.0))
    >>> point.accuracy, round(point.std, 3)
    (62.0, 2.828)
    """

    curve: str
    window: float
    draws: int
    repeats: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """Mean over the repetitions, in per cent."""
        return float(np.mean(self.repeats))

    def row(self) -> Row:
        """Return the point as a row of the table."""
        repeats = {f"{REPEATED}{number}": value for number, value in enumerate(self.repeats, start=1)}
        about = {"curve": self.curve, "window": self.window, "draws": self.draws}
        return {**about, "accuracy": self.accuracy, "std": self.std, **repeats}

    @property
    def std(self) -> float:
        """Sample standard deviation of the repetitions, which share samples; NaN for a single one."""
        return float(np.std(self.repeats, ddof=1)) if len(self.repeats) > 1 else float("nan")


# The kernels -------------------------------------------------------------------------------------------------------


def windows(X: Array, count: int = WINDOWS) -> Floats:
    """Return the widths of the left panel: from twice the smallest difference to twice the range, log-spaced.

    They agree with the authors' script (github.com/YunlongJiao/kendallkernel_demo, August 2016), which has noise on
    [−e, e] of width a = 2e: on the medulloblastomas the 14th of 20 widths is the 10,204 of the figure.

    Raises
    ------
    InputError
        If all values are equal, or ``count`` is less than 2.

    Examples
    --------
    >>> X, _ = load_medulloblastoma(return_X_y=True)
    >>> grid = windows(X)
    >>> round(grid[0]), round(grid[13]), round(grid[-1])
    (2, 10204, 524820)
    """
    if count < 2:
        raise InputError(f"there must be 2 windows or more, not {count}")
    gaps = np.diff(np.unique(X))
    if not len(gaps):
        raise InputError("all values are equal: there is no difference to smooth over")
    return 2 * np.geomspace(gaps.min(), np.ptp(X), count)


def monte_carlo_grams(X: Array, window: float, draws: Sequence[int], *, seed: int = 0) -> Iterator[tuple[int, Floats]]:
    """Compute Gram matrices (m, m) of the Monte Carlo `SmoothedKendall` for several numbers of draws D.

    The first D copies of a sample are the same for every D. The Kendall kernel between all copies is therefore computed
    once, for the largest D; the mean of a part of it belongs to a smaller D. This takes 8 (D m)² bytes.

    Parameters
    ----------
    X
        Samples in rows (m, n).
    window
        a.
    draws
        Values of D.
    seed
        Seed of the jitter.

    Yields
    ------
    D and its matrix, in the order of ``draws``.

    Examples
    --------
    >>> X = np.array([[0.0, 0.5, 3.0], [2.0, 0.0, 1.0]])
    >>> kernel = SmoothedKendall(1.0, method="monte-carlo", draws=4)
    >>> for D, gram in monte_carlo_grams(X, 1.0, [2, 4]):
    ...     print(D, gram.shape)
    2 (2, 2)
    4 (2, 2)
    >>> bool(np.allclose(gram, kernel(X)))
    True
    """
    values = np.asarray(X, dtype=np.float64)
    m, n = values.shape
    most = max(draws)
    keys = sample_keys(seed, dense_digests(values))
    copies = np.array(
        [[x + window * (uniforms(key, d, n) - 0.5) for x, key in zip(values, keys, strict=True)] for d in range(most)]
    )
    between = Kendall()(copies.reshape(most * m, n)).reshape(most, m, most, m)
    for D in draws:
        yield D, between[:D, :, :D].mean(axis=(0, 2))


# The accuracies ----------------------------------------------------------------------------------------------------


def kendall_point(X: Array, y: Array, *, repeats: int = REPEATS, seed: int = 0) -> Point:
    """Compute the accuracy of the Kendall kernel with ties as in tau-b, SVMkdtALL in the paper."""
    return _point("kendall", 0.0, 0, Kendall(ties="b")(X), y, repeats, seed)


def sweep_windows(
    X: Array, y: Array, windows: Iterable[float], *, repeats: int = REPEATS, seed: int = 0
) -> Iterator[Point]:
    """Compute the left panel: accuracy of the exact smoothed kernel at every width.

    Parameters
    ----------
    X, y
        Samples in rows (m, n), and their classes (m,).
    windows
        Values of a.
    repeats
        Repetitions of the outer folds.
    seed
        Seed of the folds.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 30)) + np.outer(np.repeat([0, 1], 10), np.arange(30))
    >>> [point.accuracy for point in sweep_windows(X, np.repeat(["a", "b"], 10), [0.1, 10.0], repeats=1)]
    [100.0, 100.0]
    """
    for window in windows:
        yield _point("exact", float(window), 0, SmoothedKendall(float(window))(X), y, repeats, seed)


def sweep_draws(
    X: Array, y: Array, window: float, draws: Sequence[int], *, repeats: int = REPEATS, seed: int = 0
) -> Iterator[Point]:
    """Compute the right panel: accuracy of the Monte Carlo kernel for every D, from one series of jittered copies.

    Parameters
    ----------
    X, y
        Samples in rows (m, n), and their classes (m,).
    window
        a.
    draws
        Values of D.
    repeats
        Repetitions of the outer folds.
    seed
        Seed of the folds and of the jitter.
    """
    for D, gram in monte_carlo_grams(X, window, draws, seed=seed):
        yield _point("monte-carlo", float(window), D, gram, y, repeats, seed)


def best_window(points: Iterable[Point]) -> float:
    """Return the width of the highest accuracy of the exact kernel, the smallest of equal ones.

    Raises
    ------
    InputError
        If no point is of the exact kernel.

    Examples
    --------
    >>> points = [Point("kendall", 0.0, 0, (70.0,)), Point("exact", 10.0, 0, (60.0,)), Point("exact", 20.0, 0, (61.0,))]
    >>> best_window(points)
    20.0
    """
    exact = sorted((point for point in points if point.curve == "exact"), key=lambda point: point.window)
    if not exact:
        raise InputError("there is no point of the exact kernel")
    return max(exact, key=lambda point: round(point.accuracy, 9)).window


def figure_3(X: Array, y: Array, *, repeats: int = REPEATS, seed: int = 0, quick: bool = False) -> Iterator[Point]:
    """Compute both panels: the Kendall kernel, then every width, then every D at the best width.

    Parameters
    ----------
    X, y
        Samples in rows (m, n), and their classes (m,).
    repeats
        Repetitions of the outer folds.
    seed
        Seed of the folds and of the jitter.
    quick
        Use half of the widths, six values of D, and every seventh feature.
    """
    grid = windows(X)
    draws: Sequence[int] = range(1, DRAWS + 1)
    if quick:
        X, grid, draws = X[:, ::QUICK_STEP], grid[1::2], QUICK_DRAWS
    yield kendall_point(X, y, repeats=repeats, seed=seed)
    exact = []
    for point in sweep_windows(X, y, grid, repeats=repeats, seed=seed):
        exact.append(point)
        yield point
    yield from sweep_draws(X, y, best_window(exact), draws, repeats=repeats, seed=seed)


def _point(curve: str, window: float, draws: int, gram: Floats, y: Array, repeats: int, seed: int) -> Point:
    evaluation = cross_validate_gram(None, gram, y, repeats=repeats, seed=seed)
    return Point(curve, window, draws, tuple((100 * evaluation.repeat_means("accuracy")).tolist()))


# The table ---------------------------------------------------------------------------------------------------------


def rows(*, repeats: int = REPEATS, seed: int = 0, quick: bool = False) -> Iterator[Row]:
    """Yield the rows of the figure; see `figure_3`."""
    X, y = load_medulloblastoma(return_X_y=True)
    for point in figure_3(X, y, repeats=repeats, seed=seed, quick=quick):
        yield point.row()


def read_points(path: str | Path) -> list[Point]:
    """Read the points from a file of ``distkern reproduce smoothing --out``."""
    return [_from_row(row) for row in read_rows(Path(path))]


def _from_row(row: dict[str, str]) -> Point:
    repeats = tuple(float(value) for name, value in row.items() if name.startswith(REPEATED))
    return Point(row["curve"], float(row["window"]), int(row["draws"]), repeats)
