"""Parameters of the wrong kind are refused in a sentence, not where they are used."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from numbers import Integral
from typing import Any

from distkern.core.errors import InputError, InputTypeError


def is_sequence(value: Any) -> bool:
    """Whether a value has entries; an array without dimensions has none, though it claims to be iterable.

    Examples
    --------
    >>> is_sequence([]), is_sequence(3)
    (True, False)
    """
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0


def entries(value: Any, name: str) -> list[Any]:
    """Return the entries of a list, tuple, array or other sequence.

    Raises
    ------
    InputTypeError
        If it is a single value or a text.

    Examples
    --------
    >>> entries(("a", "b"), "ids")
    ['a', 'b']
    >>> entries(3, "ids")
    Traceback (most recent call last):
        ...
    distkern.core.errors.InputTypeError: ids must be a list, not 3: write [3] for a list of one
    """
    if isinstance(value, (str, bytes)) or not is_sequence(value):
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
    >>> whole_number(3, "repeats", 1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number of {least} or more, not {value!r}")
    return int(value)


def one_of(value: Any, name: str, choices: Collection[str]) -> str:
    """Return a word that is one of the choices.

    Raises
    ------
    InputError
        If it is another word, or no word.

    Examples
    --------
    >>> one_of("auto", "solver", ["auto", "direct"])
    'auto'
    """
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def flag(value: Any, name: str) -> bool:
    """Validate a parameter that is true or false."""
    import numpy as np  # late: the help of the command line imports this module, and has to be quick

    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)
