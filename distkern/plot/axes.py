"""What the figures share: axes, legends, and colours that colour-blind readers tell apart."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999")
"""Colours for classes that colour-blind readers tell apart (Okabe & Ito)."""

SIZE = (4.8, 4.2)
"""Inches of a new figure."""

LONGEST_NAME = 20
"""Letters of a class name that a figure shows."""


def new_or_given(ax: Axes | None) -> Axes:
    """Return the axes, or new ones where there are none.

    Where the user works with pyplot, or in IPython, the new ones are pyplot's, so that they show themselves.
    """
    if ax is not None:
        return ax
    ipython = sys.modules.get("IPython")
    if "matplotlib.pyplot" in sys.modules or (ipython is not None and ipython.get_ipython() is not None):
        from matplotlib import pyplot

        return pyplot.subplots(figsize=SIZE, layout="constrained")[1]
    return Figure(figsize=SIZE, layout="constrained").subplots()


def ink() -> str:
    """Colour of text and of lines that mean no class, as the user or the report set it."""
    return mpl.rcParams["text.color"]


def open_frame(ax: Axes) -> None:
    """Leave the left and lower edge of the frame only."""
    ax.spines[["top", "right"]].set_visible(False)


def plain_legend(ax: Axes, handles: list[Any], names: list[str], **place: Any) -> None:
    """Add a legend whose names are set as they are: no mathematics, no meaning in a leading underscore."""
    legend = ax.legend(handles, ["."] * len(names), frameon=False, borderaxespad=0.2, handlelength=1.4, **place)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)


def class_colours(count: int) -> list[Any]:
    """Colours for some classes: the Okabe–Ito ones, or as many as are needed along a perceptually even map."""
    if count <= len(OKABE_ITO):
        return list(OKABE_ITO[:count])
    return [tuple(colour) for colour in mpl.colormaps["viridis"](np.linspace(0, 0.95, count))]


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut a name that is too long for a figure.

    Examples
    --------
    >>> shorten("medulloblastoma, classic", 16)
    'medulloblastoma…'
    """
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"
