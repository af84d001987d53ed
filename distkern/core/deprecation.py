"""Old names that still work, with a warning."""

from __future__ import annotations

import warnings


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller of a function or method that its name has changed.

    Parameters
    ----------
    old, new
        The name that was used, and the one to use.
    """
    words = f"{old} is now called {new}; the old name will be removed in a later version"
    warnings.warn(words, DeprecationWarning, stacklevel=3)
