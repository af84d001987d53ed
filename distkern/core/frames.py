"""pandas, which only tables need."""

from __future__ import annotations

from types import ModuleType

from distkern.core.errors import MissingExtraError


def pandas_for(what: str) -> ModuleType:
    """Import pandas for a result, before the work on it.

    Parameters
    ----------
    what
        The result, for the message.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.

    Examples
    --------
    >>> pandas_for("a table of markers").__name__
    'pandas'
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError.of(what, "io") from error
    return pandas
