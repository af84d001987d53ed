"""Figures as SVG elements of an HTML page, which scale and follow the colours of the page."""

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
"""Colours that the page replaces by its own: three that no figure uses, and a blue too dark for dark mode."""

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
    """Draw a figure as an SVG element.

    Parameters
    ----------
    draw
        Draws on given axes.
    name
        Prefix of the ids in the picture, unique on the page.
    alt
        Description of the picture for screen readers.
    size
        Width and height in inches, which set the aspect ratio and the relative size of text.
    """
    out = StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the browser has the glyphs
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        figure.savefig(out, format="svg", transparent=True, metadata=_NO_METADATA, bbox_inches="tight", pad_inches=0.04)
    return Markup(_adapted(out.getvalue(), name, alt))


def _adapted(svg: str, name: str, alt: str) -> str:
    """Keep only the SVG element, make it scale, describe it, and adapt its ids and colours to the page."""
    head, body = svg[svg.index("<svg") :].split(">", 1)
    view = re.search(r'viewBox="[^"]*"', head)
    assert view is not None
    body = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL
    )  # a style would apply to the whole page
    body = re.sub(r"<[^>]*>", lambda tag: _adapted_tag(tag.group(), name), body)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="picture" role="img" '
        f'aria-label="{escape(alt)}" {view.group()}>{body.strip()}'
    )


def _adapted_tag(tag: str, name: str) -> str:
    """Adapt one tag; text between tags, such as names of classes, is not changed."""
    tag = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', tag)
    tag = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', tag)
    tag = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", tag)
    tag = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1; font-family: var(--sans)", tag)
    tag = re.sub(r"font-family: [^;\"]*", "font-family: var(--sans)", tag)
    for colour, variable in ((INK, "--ink"), (MUTED, "--muted"), (PAPER, "--paper"), (BLUE, "--blue")):
        tag = tag.replace(colour, f"var({variable})")
    return tag
