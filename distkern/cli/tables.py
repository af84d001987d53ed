"""Tables of several columns: by rich on a terminal, whose width they keep to, and as plain text elsewhere."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from distkern.cli.progress import echo
from distkern.core.names import shown


def print_columns(names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> None:
    """Print rows of texts below the names of their columns.

    Parameters
    ----------
    right
        Whether each column is aligned to the right, as numbers are.
    """
    if sys.stdout.isatty():
        _print_on_terminal(names, rows, right)
        return
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    for line in (names, *rows):
        padded = (
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, right, strict=True)
        )
        echo(shown("  ".join(padded).rstrip()))


def print_frame(table: Any, plain: str, numbers: str = "{:.6g}") -> None:
    """Print the rows of a DataFrame.

    Parameters
    ----------
    plain
        What is printed where stdout is no terminal.
    numbers
        Format of numbers on a terminal.
    """
    if not sys.stdout.isatty():
        for line in plain.splitlines():
            echo(shown(line))
        return
    right = [kind.kind in "if" for kind in table.dtypes]
    _print_on_terminal(list(map(str, table.columns)), [list(_texts(row, numbers)) for row in table.to_numpy()], right)


def _texts(row: Iterable[Any], numbers: str) -> Iterable[str]:
    for value in row:
        absent = value is None or value != value
        yield "" if absent else numbers.format(value) if isinstance(value, float) else str(value)


def _print_on_terminal(names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, number in zip(names, right, strict=True):
        table.add_column(Text(shown(name)), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    console = Console(file=StringIO(), width=shutil.get_terminal_size().columns, color_system=None)
    with console.capture() as captured:
        console.print(table)
    echo(captured.get(), nl=False)
