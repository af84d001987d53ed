"""Checksums of a store, which also say what is done, and in which version of the cohort.

The checksum of an array is 2³² v + CRC-32C of its bytes, where v is the version of the cohort in which it was written,
from 1. So no checksum of anything done is 0: 0 means not done.
"""

from __future__ import annotations

import google_crc32c
import numpy as np

from distkern.core.typing import Array

CRC_BITS = 32
"""Bits of the CRC in a checksum; the bits above are the version of the cohort."""


def checksum(array: Array, version: int = 1) -> int:
    """2³² v + CRC-32C of the bytes of an array in C order, where v is the version of the cohort.

    Examples
    --------
    >>> hex(checksum(np.frombuffer(b"123456789", dtype=np.uint8)))
    '0x1e3069283'
    """
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)  # no copy
    return (version << CRC_BITS) + google_crc32c.value(content)


def version_of(checksum: int) -> int:
    """Version of the cohort in which a checksum was made; 0 if nothing is done.

    Examples
    --------
    >>> version_of(0x2E3069283), version_of(0)
    (2, 0)
    """
    return int(checksum) >> CRC_BITS


def merge_newer(known: Array, found: Array) -> None:
    """Replace known checksums, in place, by found ones of a newer version of the cohort."""
    np.copyto(known, found, where=(known >> CRC_BITS) < (found >> CRC_BITS))


def only_current(checksums: Array, needed: Array) -> Array:
    """Set checksums to 0 where their version is older than the needed one, because samples were added since."""
    return np.where(checksums >> CRC_BITS >= needed, checksums, 0).astype(np.uint64)
