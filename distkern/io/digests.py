"""Digests of samples and of cohorts, independent of the container and the number type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b, sha256
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.core.typing import Array, Floats

FINGERPRINT_BYTES = 16
"""Size of the fingerprint of a cohort in bytes."""

COPIED_BYTES = 2**20
"""Bytes of dense samples that are copied at a time."""


VALUE = np.dtype([("feature", "<i4"), ("value", "<f8")])
"""A value that is not zero, as it is hashed: 12 bytes."""


def sample_digests(samples: Any) -> NDArray[np.uint8]:
    """Return a digest of the values of each sample, independent of the container and the number type.

    The digest is SHA-256 of the number of features as eight bytes, and of the values that are not zero, each as its
    feature (int32) and itself (float64); or of the number of features and all values (float64), where two thirds or
    more are not zero. Numbers are little-endian, −0 is 0, and every NaN is the same NaN.

    Parameters
    ----------
    samples
        (k, n) values: an array, or a canonical SciPy CSR array without stored zeros, which is not made dense.

    Returns
    -------
    (k, 32) bytes.

    Examples
    --------
    >>> integers, floats = sample_digests(np.array([[0, 1]])), sample_digests(np.array([[-0.0, 1.0]]))
    >>> integers.shape, bool((integers == floats).all())
    ((1, 32), True)
    """
    sparse = hasattr(samples, "indptr")
    samples = samples if sparse else np.atleast_2d(samples)
    prefix, found = sha256(int(samples.shape[1]).to_bytes(8, "little")), []
    for hashed in _sparse_rows(samples) if sparse else _dense_rows(samples):
        digest = prefix.copy()
        digest.update(hashed)
        found.append(digest.digest())
    return _stacked(found, 32)


def _are_few(nonzeros: int, n: int) -> bool:
    """Whether values that are not zero take fewer bytes, with their features, than all values."""
    return 3 * nonzeros < 2 * n


def _sparse_rows(samples: Any) -> Iterator[memoryview]:
    """What is hashed of each sample, of sparse samples."""
    n, borders = samples.shape[1], samples.indptr.tolist()
    stored = np.empty(len(samples.data), dtype=VALUE)
    stored["feature"], stored["value"] = samples.indices, samples.data
    stored["value"][np.isnan(samples.data)] = np.nan
    raw = stored.view(np.uint8).data
    for first, stop in pairwise(borders):
        if _are_few(stop - first, n):
            yield raw[VALUE.itemsize * first : VALUE.itemsize * stop]
        else:
            whole = np.zeros(n, dtype="<f8")
            whole[stored["feature"][first:stop]] = stored["value"][first:stop]
            yield whole.data


def _dense_rows(samples: Array) -> Iterator[memoryview]:
    """What is hashed of each sample, of dense samples."""
    for values in _plain_parts(samples):
        filled = values != 0
        for row, some, count in zip(values, filled, np.count_nonzero(filled, axis=1).tolist(), strict=True):
            if _are_few(count, len(row)):
                stored = np.empty(count, dtype=VALUE)
                stored["feature"] = places = np.flatnonzero(some)
                stored["value"] = row[places]
                yield stored.view(np.uint8).data
            else:
                yield row.data


def dense_digests(samples: Any) -> NDArray[np.uint8]:
    """Return the digest of each sample in stores of format 1, and in the keys of random streams.

    The digest is BLAKE2b of all values as little-endian float64, where −0 is 0 and every NaN is the same NaN.

    Parameters
    ----------
    samples
        (k, n) values: an array or a SciPy CSR array.

    Returns
    -------
    (k, 16) bytes.

    Examples
    --------
    >>> dense_digests(np.array([[0, 1]])).shape
    (1, 16)
    """
    rows = (row for values in _plain_parts(samples) for row in values)
    return _stacked([blake2b(row.data, digest_size=16).digest() for row in rows], 16)


def _stacked(digests: list[bytes], size: int) -> NDArray[np.uint8]:
    return np.frombuffer(bytearray().join(digests), dtype=np.uint8).reshape(-1, size)


def _plain_parts(samples: Any) -> Iterator[Floats]:
    """Copy samples to dense float64 with one zero and one NaN, some at a time."""
    samples = samples if hasattr(samples, "indptr") else np.atleast_2d(samples)
    height = max(1, COPIED_BYTES // (8 * max(1, samples.shape[1])))
    for start in range(0, samples.shape[0], height):
        part = samples[start : start + height]
        values = np.array(part.toarray() if hasattr(part, "indptr") else part, dtype="<f8", order="C")
        values += 0.0
        values[np.isnan(values)] = np.nan
        yield values


class DigestKind(NamedTuple):
    """A way to digest samples: the function, and the bytes of a digest."""

    of: Callable[[Any], Array]
    size: int


DIGEST_KINDS = {1: DigestKind(dense_digests, 16), 2: DigestKind(sample_digests, 32)}
"""How samples are digested, by the format of the store."""


def fingerprint(digests: NDArray[np.uint8], n_features: int) -> str:
    """Return the fingerprint of a cohort: a hash of the digests of its samples, in order. It does not depend on names.

    Examples
    --------
    >>> digests = sample_digests(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> len(fingerprint(digests, 2)), fingerprint(digests, 2) == fingerprint(digests[::-1], 2)
    (32, False)
    """
    digest = blake2b(int(n_features).to_bytes(8, "little"), digest_size=FINGERPRINT_BYTES)
    digest.update(np.ascontiguousarray(digests, dtype=np.uint8).tobytes())
    return digest.hexdigest()
