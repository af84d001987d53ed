"""How a page comes to be: its template is filled, and written where it may be."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.files import write_text
from distkern.core.typing import Spec
from distkern.plot.ordering import Drawn


def require_extras() -> None:
    """Refuse to begin a page without what draws and fills it.

    Raises
    ------
    MissingExtraError
        If matplotlib or Jinja2 is not installed.
    """
    if any(find_spec(name) is None for name in ("jinja2", "matplotlib")):
        raise MissingExtraError.of("The report", "report")


def render(template: str, said: Spec) -> str:
    """Fill a template of this package."""
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
    return environment.get_template(template).render(**said)


def write_page(path: Path, page: str, *, overwrite: bool) -> Path:
    """Write a page; folders above it are made.

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
    """Say how the samples in a heat map are ordered and chosen; ``group`` is what they are ordered by first."""
    order = f"Samples are ordered by {group} and, within a {group}," if group else "Samples are ordered"
    some = ""
    if drawn.is_part:
        within = f" within each {group or 'class'}"
        some = f" {len(drawn.samples):,} of the {drawn.total:,} samples are drawn, evenly spaced{within}."
    return f"{order} by the leading eigenvector of the centred values, so that alike samples lie side by side.{some}"


def _subscripts(text: str) -> str:
    """Set n_c as n with a low c, and x^d as x with a high d, in text that is escaped already.

    Examples
    --------
    >>> _subscripts("(n_c − n_d)^2")
    '(n<sub>c</sub> − n<sub>d</sub>)<sup>2</sup>'
    """
    return re.sub(r"\^(\w+)", r"<sup>\1</sup>", re.sub(r"(\w)_(\w+)", r"\1<sub>\2</sub>", text))
