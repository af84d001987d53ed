"""Axes, legends and colours that all figures share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999")
"""Colours of classes that colour-blind readers can distinguish (Okabe & Ito)."""

SIZE = (4.8, 4.2)
"""Width and height of a new figure in inches."""

NAMED_CLASSES = 20
"""Largest number of classes that a legend names."""

LONGEST_NAME = 20
"""Largest number of letters of a class name in a figure."""


def new_or_given(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure.

    The new figure is one of pyplot if the user has imported pyplot or works in IPython, so that it is displayed.
    """
    if ax is not None:
        return ax
    ipython = sys.modules.get("IPython")
    if "matplotlib.pyplot" in sys.modules or (ipython is not None and ipython.get_ipython() is not None):
        from matplotlib import pyplot

        return pyplot.subplots(figsize=SIZE, layout="constrained")[1]
    return Figure(figsize=SIZE, layout="constrained").subplots()


def ink() -> str:
    """Return the colour of text and of lines without a class: that of the user's settings or of the report."""
    return mpl.rcParams["text.color"]


def open_frame(ax: Axes) -> None:
    """Show only the left and the lower edge of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


def plain_legend(ax: Axes, handles: list[Any], names: list[str], **position: Any) -> None:
    """Add a legend of literal names: neither dollar signs nor a leading underscore have a meaning."""
    legend = ax.legend(handles, ["."] * len(names), frameon=False, borderaxespad=0.2, handlelength=1.4, **position)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)


def class_colours(count: int) -> list[Any]:
    """Return colours of classes: the palette of Okabe and Ito, or for more classes a perceptually uniform map."""
    if count <= len(OKABE_ITO):
        return list(OKABE_ITO[:count])
    return [tuple(colour) for colour in mpl.colormaps["viridis"](np.linspace(0, 0.95, count))]


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Shorten a name that is too long for a figure.

    Examples
    --------
    >>> shorten("medulloblastoma, classic", 16)
    'medulloblastoma…'
    """
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"


def class_legend(ax: Axes, handles: list[Any], names: list[str], *, below: float, bigger: float = 1) -> None:
    """Add a legend of classes at a distance below the axes; ``bigger`` scales its markers."""
    plain_legend(
        ax,
        handles,
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, -below),
        ncols=min(3, len(names)),
        markerscale=bigger,
    )
