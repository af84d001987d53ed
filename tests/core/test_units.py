"""Amounts of bytes as people write them."""

import numpy as np
import pytest

from distkern.core.errors import InputError, InputTypeError
from distkern.core.units import parse_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (0, 0),
        (np.int64(7), 7),
        ("0", 0),
        ("12 b", 12),
        ("1kB", 1000),
        ("1 KiB", 1024),
        ("  2.5 mib ", 2621440),
        ("0.1GB", 10**8),
        ("3TiB", 3 * 1024**4),
        ("9007199254740993", 2**53 + 1),
        (2**63, 2**63 - 1),
        (10**400, 2**63 - 1),
        ("9999999 PB", 2**63 - 1),
    ],
)
def test_amounts_are_parsed(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize(
    "text", ["", "GiB", "-1GB", "1 potato", "1e9", "1,5GB", "1.GB", -1, "1 XB", "nan", "inf", "1e30"]
)
def test_text_without_an_amount_is_refused(text):
    with pytest.raises(InputError, match="byte"):
        parse_bytes(text)


@pytest.mark.parametrize("value", [None, 1.5, float("nan"), 1e30, True, [1]])
def test_other_types_are_refused(value):
    with pytest.raises(InputTypeError, match="2GiB"):
        parse_bytes(value)
