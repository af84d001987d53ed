"""A cell of a published table: the printed number and ours."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from distkern.reproduce.tables import Row


@dataclass(frozen=True)
class Cell:
    """A published number beside ours.

    Parameters
    ----------
    table
        Name of the table or figure.
    method
        Name of the method.
    parameters
        How the parameters of ours were chosen.
    measure
        Name of the measure.
    published
        The published number; NaN if there is none.
    ours
        The computed number.
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
        """Return the cell as a row of a table."""
        return asdict(self)
