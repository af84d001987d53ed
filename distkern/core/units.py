"""Amounts of memory, disk and time: parsing and formatting."""

from __future__ import annotations

import operator
import re

from distkern.core.errors import InputError, InputTypeError

_FACTORS = {"": 1, "b": 1}
_FACTORS |= {f"{letter}b": 1000**power for power, letter in enumerate("kmgtp", start=1)}
_FACTORS |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgtp", start=1)}
MOST_BYTES = 2**63 - 1
"""No machine has more: larger amounts are this one."""

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*")


def parse_bytes(amount: str | int) -> int:
    """Turn an amount such as ``"2GiB"`` into bytes.

    Powers of 1,000 are written kB, MB, GB, TB, PB; powers of 1,024 KiB, MiB, GiB, TiB, PiB. Upper and lower case are
    the same, and a bare number counts bytes. A fraction of a byte is dropped, and so is what exceeds 2⁶³ − 1 bytes.

    Raises
    ------
    InputError
        If the text is not such an amount, or the number is negative.
    InputTypeError
        If it is neither text nor a whole number.

    Examples
    --------
    >>> parse_bytes(1024), parse_bytes("2GiB"), parse_bytes("500MB"), parse_bytes("1.5 kB")
    (1024, 2147483648, 500000000, 1500)
    """
    if not isinstance(amount, str):
        try:
            if isinstance(amount, bool):
                raise TypeError
            count = operator.index(amount)
        except TypeError:
            raise InputTypeError(
                f"an amount of bytes is a whole number or text such as '2GiB', not {amount!r}"
            ) from None
        if count < 0:
            raise InputError(f"an amount of bytes cannot be negative; got {count}")
        return min(count, MOST_BYTES)
    match = _AMOUNT.fullmatch(amount)
    if match is None or match[2].lower() not in _FACTORS:
        raise InputError(f"{amount!r} is not an amount of bytes: write a number and a unit, such as '2GiB' or '500MB'")
    whole, _, fraction = match[1].partition(".")
    factor = _FACTORS[match[2].lower()]
    return min(int(whole + fraction) * factor // 10 ** len(fraction), MOST_BYTES)


def counted(count: int, noun: str) -> str:
    """Write a number and its noun, with an s for any number but one.

    Examples
    --------
    >>> counted(1, "feature"), counted(1200, "feature")
    ('1 feature', '1,200 features')
    """
    return f"{count:,} {noun}" + "s" * (count != 1)


def readable_bytes(count: float) -> str:
    """Format a number of bytes with a unit.

    Examples
    --------
    >>> readable_bytes(512), readable_bytes(3 * 2**20)
    ('512 B', '3.0 MiB')
    """
    if count < 1024:
        return f"{int(count)} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} PiB"


def readable_seconds(seconds: float) -> str:
    """Format a duration with a unit.

    Examples
    --------
    >>> readable_seconds(0.25), readable_seconds(90), readable_seconds(7200)
    ('0.2 s', '1.5 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"
