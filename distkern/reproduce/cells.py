"""A cell of a paper's table: what is printed there, and what comes out here."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Cell:
    """A number of a paper beside ours.

    Parameters
    ----------
    table
        Which table or figure.
    method
        The row or column that is named for a method.
    parameters
        Where the parameters of ours come from.
    measure
        What is measured.
    published
        The number that the paper prints; NaN where it prints none.
    ours
        What comes out here.
    std
        Standard deviation of ours over repetitions; NaN for a single number.

    Examples
    --------
    >>> print(Cell("I", "MLSRRank", "published", "error", 0.1782, 0.1824))
    I  MLSRRank  error   published 0.1782  ours 0.1824  (published)
    """

    table: str
    method: str
    parameters: str
    measure: str
    published: float
    ours: float
    std: float = float("nan")

    def __str__(self) -> str:
        spread = "" if self.std != self.std else f" ± {self.std:.4f}"
        numbers = f"published {self.published:.4f}  ours {self.ours:.4f}{spread}"
        return f"{self.table}  {self.method}  {self.measure:6}  {numbers}  ({self.parameters})"


def write_cells(path: str | Path, cells: Sequence[Cell], comments: Sequence[str] = ()) -> None:
    """Write cells as a CSV table, behind comments that start with ``#``."""
    with Path(path).open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(f"# {line}\n" for line in comments)
        out = csv.writer(stream, lineterminator="\n")
        out.writerow([field.name for field in fields(Cell)])
        for cell in cells:
            out.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in astuple(cell)])
