"""What figures of held-out predictions share: a curve for each class or cohort, and its colour, style and name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.transforms import ScaledTranslation

from distkern.core.errors import InputError, InputTypeError
from distkern.plot.axes import OKABE_ITO, class_colours, plain_legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.held_out import HeldOut

COHORT_COLOURS = tuple(OKABE_ITO[k] for k in (0, 5, 2, 3, 1, 4, 6))
"""Colours of cohorts: blue and vermilion first, the two that differ most."""

STYLES: tuple[Any, ...] = ("solid", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
"""Line styles of cohorts, where colours are those of classes."""

NAMED_CURVES = 16
"""Largest number of curves that a legend names."""

BELOW = 36
"""Points between the axes and the legend: room for the numbers and the label of the axis."""

LONGEST_LINE = 26
"""Largest number of letters of a legend's entry beside another one."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve of one class in one cohort."""

    found: HeldOut
    column: int
    name: str
    colour: Any
    style: Any


def curves_of(held_out: HeldOut | Mapping[str, HeldOut]) -> list[Curve]:
    """One curve for each cohort, or of several classes one for each class in each cohort.

    Raises
    ------
    InputError
        If there is no cohort, or cohorts have other classes.
    InputTypeError
        If it is something else than held-out predictions.
    """
    from distkern.learners.held_out import HeldOut

    cohorts = dict(held_out) if isinstance(held_out, Mapping) else {"": held_out}
    for found in cohorts.values():
        if not isinstance(found, HeldOut):
            raise InputTypeError(
                f"held-out predictions are needed, such as the attribute held_out of an evaluation, not "
                f"{type(found).__name__}"
            )
    kinds = {found.classes for found in cohorts.values()}
    if len(kinds) != 1:
        raise InputError("give held-out predictions of the same classes" if kinds else "there are no predictions")
    classes = [str(name) for name in kinds.pop()]
    if len(classes) == 2:
        return [
            Curve(found, -1, shorten(name or classes[1], 32), colour, "solid")
            for (name, found), colour in zip(cohorts.items(), _repeated(COHORT_COLOURS, len(cohorts)), strict=True)
        ]
    colours = class_colours(len(classes))
    return [
        Curve(found, column, shorten(classes[column]) + (f", {shorten(name)}" if name else ""), colours[column], style)
        for (name, found), style in zip(cohorts.items(), _repeated(STYLES, len(cohorts)), strict=True)
        for column in range(len(classes))
    ]


def with_samples(curves: list[Curve], *, others: bool = False) -> list[Curve]:
    """The curves of classes that have samples and, where others are needed too, not all of them.

    Raises
    ------
    InputError
        If there is none.
    """
    kept = []
    for curve in curves:
        positive = curve.found.truth == (1 if curve.found.binary else curve.column)
        if positive.any() and not (others and positive.all()):
            kept.append(curve)
    if not kept:
        raise InputError("all samples are of one class: a curve needs two")
    return kept


def _repeated(values: tuple[Any, ...], count: int) -> list[Any]:
    return [values[k % len(values)] for k in range(count)]


def curve_legend(ax: Axes, handles: list[Any], names: list[str]) -> None:
    """Add a legend below the label of the axis, if there are not too many curves."""
    if len(names) <= NAMED_CURVES:
        columns = min(legend_columns(names), len(names))
        below = ax.transAxes + ScaledTranslation(0, -BELOW / 72, ax.figure.dpi_scale_trans)
        plain_legend(
            ax, handles, names, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, ncols=columns
        )


def legend_columns(names: list[str]) -> int:
    """Number of columns of the legend of curves with such names."""
    return 1 if max(map(len, names), default=0) > LONGEST_LINE else 2


def positive_class(curves: list[Curve]) -> str:
    """The class of the curves in words: its name where there are two classes."""
    found = curves[0].found
    return f"“{shorten(str(found.classes[1]))}”" if found.binary else "the class"


def unit_square(ax: Axes) -> None:
    """Show 0 to 1 on both axes, at one scale."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
