"""Render the template of a page, and write the page to a file."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.files import write_text
from distkern.core.typing import Spec
from distkern.plot.sample_order import Drawn


def require_extras() -> None:
    """Check that the packages that draw and render a page are installed.

    Raises
    ------
    MissingExtraError
        If matplotlib or Jinja2 is not installed.
    """
    if any(find_spec(name) is None for name in ("jinja2", "matplotlib")):
        raise MissingExtraError.of("The report", "report")


def render(template: str, values: Spec) -> str:
    """Render a template of this package with values."""
    import jinja2
    import markupsafe

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("distkern.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["formula"] = lambda text: markupsafe.Markup(_subscripts(str(markupsafe.escape(text))))
    return environment.get_template(template).render(**values)


def write_page(path: Path, page: str, *, overwrite: bool) -> Path:
    """Write a page; parent folders are created.

    Raises
    ------
    InputError
        If the file cannot be written, or exists and may not be overwritten.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}; give another path") from error
    write_text(path, page, overwrite=overwrite)
    return path


def order_note(drawn: Drawn, group: str | None = None) -> str:
    """Return the text that states the order and the choice of the samples of a heat map, ordered by ``group`` first."""
    order = f"Samples are ordered by {group} and, within a {group}," if group else "Samples are ordered"
    some = ""
    if drawn.is_part:
        within = f" within each {group or 'class'}"
        some = f" {len(drawn.samples):,} of the {drawn.total:,} samples are drawn, evenly spaced{within}."
    return f"{order} by the leading eigenvector of the centred values, so that similar samples are side by side.{some}"


def _subscripts(text: str) -> str:
    """Replace n_c and x^d by subscripts and superscripts, in text that is escaped already.

    Examples
    --------
    >>> _subscripts("(n_c − n_d)^2")
    '(n<sub>c</sub> − n<sub>d</sub>)<sup>2</sup>'
    """
    return re.sub(r"\^(\w+)", r"<sup>\1</sup>", re.sub(r"(\w)_(\w+)", r"\1<sub>\2</sub>", text))
