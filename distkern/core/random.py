"""Counter-based random streams: a random number depends on its key only, not on earlier draws or on the process.

The key of a stream is (seed, content of a sample, draw). A sample is therefore jittered or completed in the same way in
any task, on any worker, in training and in prediction: a Monte Carlo kernel is a function of its arguments.

The generator is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3* (2011),
compiled here instead of taken from NumPy, so that other compiled routines can draw numbers inside their loops.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats

_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_DROP = np.uint64(11)
_ULP = 2.0**-53


def sample_keys(seed: int, digests: Array) -> NDArray[np.uint32]:
    """Keys (m, 4) of the streams of samples under a seed, from their digests (m, bytes).

    A key is BLAKE2b(seed, digest) of 128 bits.

    Parameters
    ----------
    seed
        Any integer with absolute value below 2¹²⁷.
    digests
        Digests of the samples' values, from `distkern.io.digests.dense_digests`.

    Examples
    --------
    >>> keys = sample_keys(0, np.array([[1, 2], [1, 2], [1, 3]], dtype=np.uint8))
    >>> (keys == keys[0]).all(axis=1).tolist()
    [True, True, False]
    """
    prefix = int(seed).to_bytes(16, "little", signed=True)
    keys = np.empty((len(digests), 4), dtype=np.uint32)
    for row, digest in enumerate(np.ascontiguousarray(digests)):
        keys[row] = np.frombuffer(blake2b(prefix + digest.tobytes(), digest_size=16).digest(), dtype="<u4")
    return keys


def uniforms(key: Array, draw: int, count: int) -> Floats:
    """Uniform numbers of [0, 1): the first ``count`` of the stream (``key``, ``draw``).

    Examples
    --------
    >>> key = sample_keys(7, np.zeros((1, 16), dtype=np.uint8))[0]
    >>> uniforms(key, 3, 5)[:2].tolist() == uniforms(key, 3, 2).tolist()
    True
    """
    out: Any = np.empty(count)
    fill_uniform(key, draw, out)
    return out


@compiled
def philox(c0, c1, c2, c3, k0, k1):  # type: ignore[no-untyped-def]
    """Philox4x32-10: four random 32-bit words from a counter of four words and a key of two, all as uint64."""
    for _ in range(10):
        p0, p1 = _MULTIPLIER_0 * c0, _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _WEYL_0) & _LOW, (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


@compiled
def fill_uniform(key, draw, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with uniform numbers of [0, 1), 53 bits each: the first ones of the stream (key, draw).

    ``key`` (4,) is a row of `sample_keys`; ``draw`` is an integer below 2³².
    """
    k0, k1, c2, c3 = np.uint64(key[0]), np.uint64(key[1]), np.uint64(key[2]), np.uint64(key[3])
    n = out.shape[0]
    for k in range(0, n, 2):
        w0, w1, w2, w3 = philox(np.uint64(k // 2), np.uint64(draw), c2, c3, k0, k1)
        out[k] = np.float64(((w0 << _HALF) | w1) >> _DROP) * _ULP
        if k + 1 < n:
            out[k + 1] = np.float64(((w2 << _HALF) | w3) >> _DROP) * _ULP
