"""The points of a bag in a plane, and functions of a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.parameters import flag, whole_number
from distkern.core.typing import Floats
from distkern.kernels.bags.components import as_bags, shares_in_mixture
from distkern.plot.axes import OKABE_ITO, new_or_given

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 4_000
"""Most points of a bag that are drawn; every k-th is drawn of more."""

AXES = (OKABE_ITO[5], OKABE_ITO[1])
"""Colours of the two principal axes."""


def plot_bag(
    bag: Any,
    coordinates: tuple[int, int] = (0, 1),
    *,
    image: Any = None,
    downwards: bool = False,
    gaussian: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the points of a bag on two of their coordinates; larger points have a larger weight.

    Parameters
    ----------
    bag
        `distkern.Bags` with one bag, or an array of points (L, d). Several bags are taken as one, their mixture in
        equal parts. Of more than 4,000 points every k-th is drawn.
    coordinates
        Positions of the coordinate to the right and of the other one.
    image
        The image that the points were drawn from by `distkern.bags_from_images`, (rows, columns), shown behind them.
    downwards
        Whether the second coordinate points downwards, as that of pixels does; always where there is an image.
    gaussian
        Also draw the mean and the two principal axes of the Gaussian that is fitted to the points, each from −2 to 2
        standard deviations.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the points have no such coordinate, or the image has not two dimensions.

    See Also
    --------
    plot_witness : Where two bags differ.
    distkern.Bags : The bags.

    Examples
    --------
    >>> axes = plot_bag([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]], gaussian=True)
    >>> [line.get_xydata().round(6).tolist() for line in axes.lines]
    [[[-2.0, 1.0], [6.0, 1.0]], [[2.0, -1.0], [2.0, 3.0]]]
    """
    bags = as_bags(bag, "bag")
    for position in coordinates:
        if not 0 <= position < bags.dimensions:
            raise InputError(f"the points have no coordinate {position}; they have {bags.dimensions}, counted from 0")
    flag(downwards, "downwards")
    flag(gaussian, "gaussian")
    picture = None if image is None else as_floats(plain(image, "the image").values, "the image")
    if picture is not None and picture.ndim != 2:
        raise InputError(f"got an image of shape {picture.shape}: give its rows and columns of pixels")
    points, shares = bags.values[:, list(coordinates)], shares_in_mixture(bags)
    ax = new_or_given(ax)
    if picture is not None:
        ax.imshow(picture, cmap="Greys", alpha=0.25, extent=_extent(picture.shape), interpolation="none")
    step = -(-len(points) // MOST)
    x, y = points[::step].T
    ax.scatter(x, y, s=_areas(shares[::step]), color=OKABE_ITO[0], linewidths=0)
    if gaussian:
        for ends, colour in zip(_principal_axes(points, shares), AXES, strict=True):
            ax.plot(*ends.T, color=colour, linewidth=1.4)
    ax.set(xticks=[], yticks=[], aspect="equal")
    if downwards or picture is not None:
        ax.yaxis.set_inverted(True)
    return ax


def plot_function(
    function: Callable[[Floats], Any],
    *,
    which: int = 0,
    limits: tuple[float, float] = (0.0, 1.0),
    resolution: int = 28,
    ax: Axes | None = None,
) -> Axes:
    """Draw a function of a point in the plane as a picture, as those of pixels: the second coordinate points downwards.

    A function with values of both signs has colours that diverge from 0, red for positive ones; another one is grey,
    dark where it is large.

    Parameters
    ----------
    function
        Gives values (m,) or (m, n) at points (m, 2): `distkern.bag_components` and its ``distances``,
        `distkern.witness`, or one of your own.
    which
        Position of the drawn function among n of them.
    limits
        Lowest and highest value of both coordinates.
    resolution
        Number of points on an axis.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there is no such function, a value is missing or infinite, or the limits are not ascending.

    See Also
    --------
    plot_bag : The points.
    distkern.bag_components : Functions to draw.
    distkern.witness : Another.

    Examples
    --------
    >>> axes = plot_function(lambda points: points[:, 0] - 0.5, resolution=3)
    >>> axes.images[0].get_array().tolist(), axes.images[0].get_clim()
    ([[-0.5, 0.0, 0.5], [-0.5, 0.0, 0.5], [-0.5, 0.0, 0.5]], (-0.5, 0.5))
    """
    count = whole_number(resolution, "resolution", 2)
    low, high = limits
    if not low < high:
        raise InputError(f"limits must be a lower and a higher number, not {low!r} and {high!r}")
    side = np.linspace(low, high, count)
    values = as_floats(plain(function(_grid(side)), "the values").values, "the values of the function")
    columns = values.reshape(len(values), -1)
    if len(values) != count**2 or not 0 <= which < columns.shape[1]:
        raise InputError(
            f"the function gave values of shape {values.shape} at {count**2:,} points: it must give one for each "
            f"point, or several, and which={which} must be the position of one of them"
        )
    shown = columns[:, which].reshape(count, count)
    if not np.isfinite(shown).all():
        raise InputError("the function is missing or infinite at some points: narrow the limits")
    largest = float(np.abs(shown).max()) or 1.0
    diverges = bool(shown.min() < 0 < shown.max())
    ax = new_or_given(ax)
    ax.imshow(
        shown,
        cmap="RdBu_r" if diverges else "Greys",
        vmin=-largest if diverges else None,
        vmax=largest if diverges else None,
        extent=_extent(shown.shape, low, high),
        interpolation="none",
    )
    ax.set(xticks=[], yticks=[])
    return ax


def _grid(side: Floats) -> Floats:
    """Return points (k², 2) of a square, row after row."""
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def _extent(shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> tuple[float, float, float, float]:
    """Return the edges of an image the middles of whose outer pixels lie at the limits."""
    half = [(high - low) / (2 * max(1, count - 1)) for count in shape[::-1]]
    return low - half[0], high + half[0], high + half[1], low - half[1]


def _areas(shares: Floats) -> Floats:
    """Return areas of points: proportional to their weights, and those of few points are larger."""
    return (26.0 if len(shares) <= 60 else 8.0) * shares / shares.mean()


def _principal_axes(points: Floats, shares: Floats) -> list[Floats]:
    """Return the ends of the two principal axes at ± 2 standard deviations, the longer axis first."""
    mean = shares @ points
    variances, directions = np.linalg.eigh((points - mean).T * shares @ (points - mean))
    lengths = 2 * np.sqrt(np.maximum(variances, 0.0))
    signs = np.where(directions[np.abs(directions).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    return [mean + lengths[k] * signs[k] * np.outer([-1.0, 1.0], directions[:, k]) for k in (1, 0)]
