"""Figures as text inside a page: they scale, follow its colours in light and dark, and need no file beside it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, MUTED, PAPER, BLUE = "#010203", "#040506", "#070809", "#0072b2"
"""Colours in whose place the page puts its own: three that no figure uses, and a blue that is too dark for the dark."""

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "distkern",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.0,
    "axes.labelsize": 10.0,
    "axes.linewidth": 0.7,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "legend.fontsize": 9.5,
    "text.color": INK,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.labelcolor": INK,
    "text.usetex": False,
    "text.parse_math": True,
}

_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def picture(draw: Callable[[Axes], Any], *, name: str, alt: str, size: tuple[float, float] = (4.8, 4.2)) -> Markup:
    """Draw a figure and write it as an SVG element.

    Parameters
    ----------
    draw
        Draws on the axes that it is given.
    name
        Distinguishes the ids inside from those of the page's other pictures.
    alt
        What the picture shows, for those who do not see it.
    size
        Width and height in inches; only their ratio and the size of the text beside them matter.
    """
    out = StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the browser has the letters
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        figure.savefig(out, format="svg", transparent=True, metadata=_NO_METADATA, bbox_inches="tight", pad_inches=0.04)
    return Markup(_adapted(out.getvalue(), name, alt))


def _adapted(svg: str, name: str, alt: str) -> str:
    """Leave only the element, let it scale, name it, and make its ids and colours the page's."""
    head, body = svg[svg.index("<svg") :].split(">", 1)
    view = re.search(r'viewBox="[^"]*"', head)
    assert view is not None
    body = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL
    )  # a style would be the page's
    body = re.sub(r"<[^>]*>", lambda tag: _adapted_tag(tag.group(), name), body)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="picture" role="img" '
        f'aria-label="{escape(alt)}" {view.group()}>{body.strip()}'
    )


def _adapted_tag(tag: str, name: str) -> str:
    """One tag; the text between tags, such as the names of classes, stays as it is."""
    tag = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', tag)
    tag = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', tag)
    tag = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", tag)
    tag = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1; font-family: var(--sans)", tag)
    tag = re.sub(r"font-family: [^;\"]*", "font-family: var(--sans)", tag)
    for colour, mine in ((INK, "--ink"), (MUTED, "--muted"), (PAPER, "--paper"), (BLUE, "--blue")):
        tag = tag.replace(colour, f"var({mine})")
    return tag
