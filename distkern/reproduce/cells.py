"""A cell of a paper's table: what is printed there, and what comes out here."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from distkern.reproduce.tables import Row


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
    >>> list(Cell("I", "MLSRRank", "published", "error", 0.1782, 0.1824).row())
    ['table', 'method', 'parameters', 'measure', 'published', 'ours', 'std']
    """

    table: str
    method: str
    parameters: str
    measure: str
    published: float
    ours: float
    std: float = float("nan")

    def row(self) -> Row:
        """The number as a row of a table."""
        return asdict(self)
