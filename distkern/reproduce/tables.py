"""Tables of papers: functions that yield their rows, and the CSV files of the rows."""

from __future__ import annotations

import csv
import inspect
import io
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from distkern._version import __version__
from distkern.core.errors import InputError
from distkern.core.files import write_text

Row = dict[str, Any]
"""A row: text, numbers or None by column name. Columns ``repeat_1``, ``repeat_2``, … are written to files only."""

REPEATED = "repeat_"
"""Prefix of the columns of single repetitions."""


@dataclass(frozen=True)
class Table:
    """A published table or figure that can be computed again.

    Parameters
    ----------
    name
        Name of the table on the command line.
    function
        ``"module:function"`` that yields the rows. Its keyword arguments, each with a default, are the options of the
        table; an argument ``on_event`` receives progress events.
    source
        The paper, and the number of the table or figure.
    about
        A short description.

    Examples
    --------
    >>> table = Table("smoothing", "distkern.reproduce.smoothing:rows", "Jiao & Vert (2015), figure 3", "smoothing")
    >>> table.options()
    ('repeats', 'seed', 'quick')
    >>> table.rows(data="here")
    Traceback (most recent call last):
    distkern.core.errors.InputError: the table 'smoothing' takes no data; it takes repeats, seed, quick
    """

    name: str
    function: str
    source: str
    about: str

    def options(self) -> tuple[str, ...]:
        """Return the names of the options of the table."""
        return tuple(inspect.signature(self._function()).parameters)

    def rows(self, **options: Any) -> Iterator[Row]:
        """Compute the rows one by one.

        Raises
        ------
        InputError
            If the table has no such option.
        """
        known = self.options()
        for name in options:
            if name not in known:
                raise InputError(f"the table {self.name!r} takes no {name}; it takes {', '.join(known) or 'no option'}")
        return self._function()(**options)

    def _function(self) -> Callable[..., Iterator[Row]]:
        module, _, name = self.function.partition(":")
        return getattr(import_module(module), name)


def versions() -> str:
    """Return the versions of packages that the numbers may depend on, in one line."""
    used = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "numba"))
    return f"distkern {__version__}, Python {platform.python_version()}, {used}"


def as_text(value: Any) -> str:
    """Format a value for files and tables: numbers with six digits, None and NaN as empty text.

    Examples
    --------
    >>> as_text(85.4615384615), as_text(None), as_text("CT")
    ('85.4615', '', 'CT')
    """
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_rows(path: Path, rows: Sequence[Row], comments: Sequence[str] = (), *, overwrite: bool = True) -> None:
    """Write rows as a CSV file after comment lines that start with ``#``; the file is written atomically."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(names)
    out.writerows([as_text(row.get(name)) for name in names] for row in rows)
    write_text(path, "".join(f"# {line}\n" for line in comments) + text.getvalue(), overwrite=overwrite)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a file from `write_rows`, as text.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_rows(Path(folder, "t.csv"), [{"cohort": "CT", "ours": 85.0}], ["how it was made"])
    ...     read_rows(Path(folder, "t.csv"))
    [{'cohort': 'CT', 'ours': '85'}]
    """
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))
