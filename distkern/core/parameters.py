"""Parameters of the wrong kind are refused in a sentence, not where they are used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from distkern.core.errors import InputError, InputTypeError


def entries(value: Any, name: str) -> list[Any]:
    """Return the entries of a list, tuple, array or other sequence.

    Raises
    ------
    InputTypeError
        If it is a single value or a text.

    Examples
    --------
    >>> entries(np.arange(2), "ids")
    [0, 1]
    >>> entries(3, "ids")
    Traceback (most recent call last):
        ...
    distkern.core.errors.InputTypeError: ids must be a list, not 3: write [3] for a list of one
    """
    no_axes = isinstance(value, np.ndarray) and value.ndim == 0  # which claims to be iterable
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or no_axes:
        raise InputTypeError(f"{name} must be a list, not {value!r}: write [{value!r}] for a list of one")
    return list(value)


def whole_number(value: Any, name: str, least: int) -> int:
    """Return a whole number, at least ``least``.

    Raises
    ------
    InputError
        If it is less, or no whole number.

    Examples
    --------
    >>> whole_number(np.int64(3), "repeats", 1)
    3
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be a whole number of {least} or more, not {value!r}")
    return int(value)
