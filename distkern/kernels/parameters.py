"""One check of the parameters of every kernel: plain Python values, of the types that its class declares."""

from __future__ import annotations

import collections.abc
import dataclasses
import types
from functools import lru_cache
from numbers import Integral, Number
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from distkern.core.errors import InputError, ParameterTypeError

UNFIT = object()
"""A value that is not of the declared type."""

NUMBERS: dict[Any, int] = {
    tuple[float, ...]: 1,
    collections.abc.Sequence[float]: 1,
    tuple[tuple[float, ...], ...]: 2,
}
"""Types of fields that hold several numbers, and their number of dimensions."""

WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    types.NoneType: "None",
}
"""Other types of fields, in words."""

SHOWN = 60
"""Most characters of a wrong value that a message shows."""


def set_plain_fields(kernel: Any) -> None:
    """Replace NumPy scalars and arrays in the fields of a frozen dataclass by Python values, and check their types.

    Fields of type float hold floats or integers, fields of type ``tuple[float, ...]`` tuples of floats. A field of a
    type that no kernel of distkern uses is left as it is.

    Raises
    ------
    ParameterTypeError
        If a value is of another type than its field.
    InputError
        If it is a word that is none of the choices, or a number that floating point cannot hold.
    """
    hints = _hints(kernel.__class__)
    for field in dataclasses.fields(kernel):
        value = getattr(kernel, field.name)
        plain = plain_value(field.name, value, hints.get(field.name, Any))
        if plain is not value:
            object.__setattr__(kernel, field.name, plain)


@lru_cache(maxsize=256)
def _hints(kind: Any) -> dict[str, Any]:
    """Types of the fields of a class; none where they name what its module does not define."""
    try:
        return get_type_hints(kind)
    except (NameError, TypeError, AttributeError):
        return {}


def check_number(value: float, name: str, least: str = "0 or more") -> None:
    """Refuse a parameter that is not a finite number, or is below ``least``: "0 or more" or "more than 0"."""
    if not (0 <= value < np.inf) or (value == 0 and least != "0 or more"):
        raise InputError(f"{name} must be a finite number of {least}, not {value!r}")


def check_whole(value: int, name: str, least: int = 1, most: int = 2**31 - 1) -> None:
    """Refuse a whole number below ``least`` or above ``most``."""
    if not least <= value <= most:
        raise InputError(f"{name} must be a whole number of {least:,} or more, up to {most:,}, not {_shown(value)}")


def plain_value(name: str, value: Any, hint: Any) -> Any:
    """Value of a parameter as a plain Python value of the declared type.

    Examples
    --------
    >>> plain_value("lam", np.array(0.5), float), plain_value("seed", np.int64(3), int | None)
    (0.5, 3)
    >>> plain_value("lam", "0.5", float)
    Traceback (most recent call last):
    distkern.core.errors.ParameterTypeError: lam must be a number, not '0.5'
    """
    value = _unwrapped(value)
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for kind in kinds:
        found = _as_kind(name, value, kind)
        if found is not UNFIT:
            return found
    choices = _listed([_described(kind) for kind in kinds])
    words = isinstance(value, str) and any(get_origin(kind) is Literal or kind is str for kind in kinds)
    raise (InputError if words else ParameterTypeError)(f"{name} must be {choices}, not {_shown(value)}")


def _unwrapped(value: Any) -> Any:
    """Python value of a NumPy scalar, or of an array without dimensions; a masked one is no value."""
    scalar = getattr(value, "ndim", None) == 0 and callable(getattr(value, "item", None))
    return value.item() if scalar and not np.ma.is_masked(value) else value


def _as_kind(name: str, value: Any, kind: Any) -> Any:
    """The value as one of the types that a field may have; `UNFIT` if it is none."""
    origin = get_origin(kind)
    if origin is Literal:
        return value if any(type(value) is type(choice) and value == choice for choice in get_args(kind)) else UNFIT
    if origin in (tuple, collections.abc.Sequence):
        return _as_numbers(name, value, kind)
    if kind is bool:  # stores of earlier versions may hold 0 or 1
        return bool(value) if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)) else UNFIT
    if kind is int:
        return UNFIT if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if kind is float:
        number = isinstance(value, Number) and hasattr(value, "__float__") and not isinstance(value, bool)
        return _as_float(name, value) if number else UNFIT
    if kind in (str, types.NoneType) or is_kernel(kind):
        return value if isinstance(value, kind) else UNFIT
    return value


def _as_float(name: str, value: Any) -> float:
    """A float; a Python integer that is one exactly stays, so that a kernel is written as its user wrote it."""
    if type(value) is int and abs(value) <= 2**53:
        return value
    try:
        return float(value)
    except OverflowError as error:
        raise InputError(f"{name} is a number of more than 308 digits, which floating point cannot hold") from error


def _as_numbers(name: str, value: Any, kind: Any) -> Any:
    """Tuple of floats, or of such tuples, from anything that NumPy takes for an array of that many dimensions."""
    if kind not in NUMBERS:
        return value
    try:
        array = np.asarray(value)
    except ValueError:  # rows of unlike lengths
        return UNFIT
    depth = NUMBERS[kind]
    if array.dtype.kind not in "iuf" or array.ndim != depth or np.ma.is_masked(value):
        return UNFIT
    numbers = array.astype(np.float64).tolist()
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite numbers; one is {array[~np.isfinite(array)][0]}")
    return tuple(map(tuple, numbers)) if depth == 2 else tuple(numbers)


def _described(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Literal:
        return _listed([f'"{choice}"' for choice in get_args(kind)])
    if origin in (tuple, collections.abc.Sequence):
        return "rows of as many numbers each" if NUMBERS.get(kind) == 2 else "a list of numbers"
    if is_kernel(kind):
        return "a kernel, such as Gaussian(0.1)"
    return WORDS[kind]


def is_kernel(kind: Any) -> bool:
    """Whether a type is `Kernel` or a subclass of it, whose module imports this one."""
    return isinstance(kind, type) and any(base.__name__ == "Kernel" for base in kind.__mro__)


def _listed(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
