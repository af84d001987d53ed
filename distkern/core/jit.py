"""The only place that calls numba's jit: one policy for every compiled routine.

``nogil`` so that threads run side by side, no ``fastmath`` so that floating point sums keep one order (the result must
not depend on the machine's vector width), and compiled code cached on disk where any writable place exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile ``function`` with numba under the package's policy; with ``NUMBA_DISABLE_JIT=1`` it stays Python.

    Examples
    --------
    >>> @compiled
    ... def add_one(x):
    ...     return x + 1
    >>> add_one(2)
    3
    """
    try:
        return cast(Function, numba.njit(nogil=True, cache=True, fastmath=False)(function))
    except RuntimeError:  # numba finds no writable folder for its cache
        return cast(Function, numba.njit(nogil=True, cache=False, fastmath=False)(function))
