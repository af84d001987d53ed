"""The memory that the present work may take in this process: set where a limit was given, heeded by all that it calls.

A learner with a ``memory_limit`` reads a matrix through views, products and passes. None of them takes the limit as an
argument; they ask here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@contextmanager
def allowing(limit: int | None) -> Iterator[None]:
    """Let the work of a ``with`` block take at most so many bytes; None sets no further limit.

    Examples
    --------
    >>> with allowing(1000), allowing(None), allowing(5000):
    ...     allowed_bytes()
    1000
    >>> allowed_bytes()
    """
    before = _allowed.get()
    known = [one for one in (before, limit) if one is not None]
    token = _allowed.set(min(known, default=None))
    try:
        yield
    finally:
        _allowed.reset(token)


def allowed_bytes() -> int | None:
    """Bytes that the present work may take; None where no limit was given."""
    return _allowed.get()
