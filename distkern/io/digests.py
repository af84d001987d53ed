"""Digests of samples and of cohorts, independent of the container and the number type."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from distkern.core.typing import Array

DIGEST_BYTES = 16
"""Size of the digest of one sample in bytes."""

COPIED_BYTES = 2**20
"""Bytes of samples that are copied at a time."""


def sample_digests(block: Array) -> NDArray[np.uint8]:
    """Return a digest of the values of each sample, independent of the container and the number type.

    The digest is BLAKE2b of the row as little-endian float64 values, where −0 becomes 0 and every NaN the same NaN.

    Parameters
    ----------
    block
        (k, n) values.

    Returns
    -------
    (k, 16) bytes.

    Examples
    --------
    >>> integers, floats = sample_digests(np.array([[0, 1]])), sample_digests(np.array([[-0.0, 1.0]]))
    >>> integers.shape, bool((integers == floats).all())
    ((1, 16), True)
    """
    samples = np.atleast_2d(block)
    out = np.empty((len(samples), DIGEST_BYTES), dtype=np.uint8)
    height = max(1, COPIED_BYTES // (8 * max(1, samples.shape[1])))
    for start in range(0, len(samples), height):
        values = np.array(samples[start : start + height], dtype="<f8", order="C")
        values += 0.0
        values[np.isnan(values)] = np.nan
        for row, sample in enumerate(values, start):
            out[row] = np.frombuffer(blake2b(sample.data, digest_size=DIGEST_BYTES).digest(), dtype=np.uint8)
    return out


def fingerprint(digests: NDArray[np.uint8], n_features: int) -> str:
    """Return the fingerprint of a cohort: a hash of the digests of its samples, in order. It does not depend on names.

    Examples
    --------
    >>> digests = sample_digests(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> len(fingerprint(digests, 2)), fingerprint(digests, 2) == fingerprint(digests[::-1], 2)
    (32, False)
    """
    digest = blake2b(int(n_features).to_bytes(8, "little"), digest_size=DIGEST_BYTES)
    digest.update(np.ascontiguousarray(digests, dtype=np.uint8).tobytes())
    return digest.hexdigest()
