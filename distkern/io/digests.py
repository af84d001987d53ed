"""Digests of samples and of cohorts, independent of the container and the number type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b, sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.core.typing import Array, Floats

FINGERPRINT_BYTES = 16
"""Size of the fingerprint of a cohort in bytes."""

COPIED_BYTES = 2**20
"""Bytes of dense samples that are copied at a time."""


def sample_digests(samples: Any) -> NDArray[np.uint8]:
    """Return a digest of the values of each sample, independent of the container and the number type.

    The digest is SHA-256 of the number of features, the positions of the values that are not zero as int32, and these
    values as float64; or of the number of features and all values, where two thirds or more are not zero. Numbers are
    little-endian, −0 is 0, and every NaN is the same NaN.

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
    if not hasattr(samples, "indptr"):
        samples = np.atleast_2d(samples)
    out = np.empty((samples.shape[0], 32), dtype=np.uint8)
    prefix = sha256(int(samples.shape[1]).to_bytes(8, "little"))
    rows = _sparse_rows(samples) if hasattr(samples, "indptr") else _dense_rows(samples)
    for digest, parts in zip(out, rows, strict=True):
        hashed = prefix.copy()
        for part in parts:
            hashed.update(part)
        digest[:] = np.frombuffer(hashed.digest(), dtype=np.uint8)
    return out


def _are_few(nonzeros: int, n: int) -> bool:
    """Whether values that are not zero take fewer bytes, with their places, than all values."""
    return 3 * nonzeros < 2 * n


def _sparse_rows(samples: Any) -> Iterator[tuple[Array, ...]]:
    """What is hashed of each sample, of sparse samples."""
    n, borders = samples.shape[1], samples.indptr.tolist()
    values = samples.data.astype("<f8")
    values[np.isnan(values)] = np.nan
    places = samples.indices.astype("<i4", copy=False)
    for first, stop in zip(borders, borders[1:]):
        if _are_few(stop - first, n):
            yield places[first:stop], values[first:stop]
        else:
            whole = np.zeros(n, dtype="<f8")
            whole[places[first:stop]] = values[first:stop]
            yield (whole,)


def _dense_rows(samples: Array) -> Iterator[tuple[Array, ...]]:
    """What is hashed of each sample, of dense samples."""
    for values in _plain_parts(samples):
        filled = values != 0
        for row, some, count in zip(values, filled, np.count_nonzero(filled, axis=1).tolist(), strict=True):
            if _are_few(count, len(row)):
                places = np.flatnonzero(some)
                yield places.astype("<i4"), row[places]
            else:
                yield (row,)


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
    found = [blake2b(row.data, digest_size=16).digest() for row in rows]
    return np.frombuffer(b"".join(found), dtype=np.uint8).reshape(-1, 16).copy()


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
