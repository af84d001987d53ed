"""Warnings that name the line of the user, however deep in the package their reason is found."""

from __future__ import annotations

import sys
import warnings
from typing import Any


def warn(message: Any, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this package.

    Parameters
    ----------
    message
        Text, or a warning, whose class then counts.
    category
        Class of the warning.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("the samples have duplicates")
    >>> caught[0].message
    UserWarning('the samples have duplicates')
    """
    frame, level = sys._getframe(1), 2
    while frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0] and frame.f_back:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
