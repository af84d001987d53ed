"""Memory limits of the learners: how much they may use, and reading kernel values in blocks of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from distkern.core.allowance import allowed_bytes, allowing
from distkern.core.errors import MemoryLimitError
from distkern.core.sentences import OptionalPart, Parameter
from distkern.core.typing import Floats
from distkern.core.units import parse_bytes
from distkern.engine.memory import available_memory
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite

Function = TypeVar("Function", bound=Callable[..., Any])

MEMORY_FRACTION = 0.5
"""Fraction of the available memory that a learner may use unless ``memory_limit`` is given."""

BLOCK_BYTES = 2**26
"""Bytes of one block while a matrix is read or computed block by block."""

BLOCKS_OF_VIEW = 8
"""Maximum number of blocks in memory at once while a view of a view of a Gram matrix is read."""


def row_blocks(rows: int, cols: int, limit: int = BLOCK_BYTES) -> Iterator[slice]:
    """Split rows into slices of at most ``limit`` bytes of float64 values each, ``cols`` to a row; at least one row."""
    height = max(1, limit // max(1, 8 * cols))
    for start in range(0, rows, height):
        yield slice(start, min(start + height, rows))


def block_bytes(rows: int, cols: int, blocks: int, limit: int | str | None) -> int:
    """Bytes of ``blocks`` temporary blocks while a matrix (rows, cols) is read.

    Where there is a limit, a pass makes them so small that all take half of it at most: see `pass_bytes`.
    """
    with limited_to(limit):
        taken, allowed = blocks * min(8 * rows * cols, BLOCK_BYTES), allowed_bytes()
    return taken if allowed is None else min(taken, allowed // 2)


def bytes_of_reading(gram: BaseGram, limit: int | str | None) -> int:
    """Bytes that `read_matrix` takes beside the matrix: blocks that fit the limit, or a stored tile as it is."""
    return max(block_bytes(*gram.shape, BLOCKS_OF_VIEW, limit), gram.reading_bytes())


def memory_allowed(limit: int | str | None) -> int:
    """Bytes that a learner may use: ``limit``, or by default `MEMORY_FRACTION` of the available memory."""
    return int(available_memory() * MEMORY_FRACTION) if limit is None else parse_bytes(limit)


def limited_to(limit: int | str | None) -> AbstractContextManager[None]:
    """Let the work of a ``with`` block take no more than ``limit``, also in the passes over a matrix that it starts."""
    return allowing(None if limit is None else parse_bytes(limit))


def within_limit(function: Function) -> Function:
    """Let a function with the keyword ``memory_limit`` take no more, also in passes over a matrix that it starts."""

    @wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        with limited_to(kwargs.get("memory_limit")):
            return function(*args, **kwargs)

    return cast(Function, limited)


def require_memory(needed: int, limit: int | str | None, what: str) -> None:
    """Refuse a computation that does not fit in memory, before it starts.

    Raises
    ------
    MemoryLimitError
        If it needs more bytes than allowed; the message states both numbers.
    """
    allowed = memory_allowed(limit)
    if needed > allowed:
        source = f"{MEMORY_FRACTION:.0%} of the memory available now" if limit is None else "memory_limit"
        raise MemoryLimitError(
            "{what} needs {needed:,} bytes of memory and {allowed:,} are allowed ({source}): use fewer samples or a "
            "machine with more memory{limit}",
            what=what,
            needed=needed,
            allowed=allowed,
            source=source,
            limit=OptionalPart(", or raise {memory_limit}", memory_limit=Parameter("memory_limit")),
        )


def read_matrix(gram: BaseGram) -> Floats:
    """Read a Gram matrix into one array, block by block, so that no view allocates temporaries of the full size.

    Raises
    ------
    InputError
        If a value is not finite.
    """
    values = np.empty(gram.shape)
    for rows, cols, block in gram.tiles():
        values[np.ix_(rows, cols)] = finite(block)
    return values
