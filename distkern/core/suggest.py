"""The known name that a mistyped one was meant to be, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

CUTOFF = 0.6
"""Least similarity (the ratio of `difflib.SequenceMatcher`) of a name that is suggested."""


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Ask for the known name that is most similar to a word; empty if none is similar.

    Upper and lower case count as equal, and so do the separators ``-``, ``_`` and a space.

    Examples
    --------
    >>> did_you_mean("kendal", ["gaussian", "kendall"]), did_you_mean("Mean_Map", ["mean-map"])
    ("; did you mean 'kendall'?", "; did you mean 'mean-map'?")
    >>> did_you_mean("xyz", ["kendall"])
    ''
    """
    plain = {_plain(name): name for name in reversed(list(known))}
    close = get_close_matches(_plain(str(word)), plain, n=1, cutoff=CUTOFF)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-").replace(" ", "-")
