"""What the values of a matrix mean: the data of its column samples, the kernel, and the views of the kernel's values.

A model keeps the identity of the matrix that it was fitted on, and refuses a matrix that contradicts it. Names do not
suffice: two cohorts may use the same names, and two kernels the same cohort.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from distkern.core.typing import Array, Indices, Spec

ROUNDING = 1e-12
"""Relative difference of two parameters that counts as rounding."""

LONGEST_SPEC = 1000
"""Most characters of the spec of a kernel that a model keeps as it is."""


@dataclass(frozen=True, eq=False)
class Identity:
    """The column samples of a matrix, and what its values are.

    Parameters
    ----------
    digests
        One digest of the data of each column sample, (columns, bytes); None where they are not known.
    values
        JSON-ready: the spec of a kernel, or a view ``{"view": ..., "of": values, ...}`` of other values.

    Examples
    --------
    >>> of_kernel = Identity(np.array([[1], [2], [3]], dtype=np.uint8), {"kernel": "linear"})
    >>> of_kernel.unit_norm().take(np.array([2, 0])).digests.ravel(), of_kernel.unit_norm().values
    (array([3, 1], dtype=uint8), {'view': 'unit norm', 'of': {'kernel': 'linear'}})
    """

    digests: Array | None
    values: Spec

    def take(self, columns: Indices) -> Identity:
        """Identity of some of the columns."""
        return Identity(None if self.digests is None else self.digests[columns], self.values)

    def mark(self) -> Spec | None:
        """Mark of the set of all column samples: their number and one digest, whatever their order.

        The sum of the digests, as 64-bit integers, does not depend on the order, and counts a repeated sample twice.
        """
        if self.digests is None:
            return None
        total = np.ascontiguousarray(self.digests).view("<u8").sum(axis=0, dtype=np.uint64)
        return {"samples": len(self.digests), "digest": total.astype("<u8").tobytes().hex()}

    def on(self, view: str, mark: Spec | None) -> Identity:
        """Identity of a view that depends on a set of samples, by their mark; None where they are not known."""
        return Identity(self.digests, {"view": view, "of": self.values, "on": mark})

    def unit_norm(self) -> Identity:
        """Identity of the values scaled to norm 1."""
        return Identity(self.digests, {"view": "unit norm", "of": self.values})


def of_kernel(spec: Spec) -> Spec:
    """Values of a kernel: its spec, or a digest of a long one, such as that of a kernel with landmarks in it.

    Examples
    --------
    >>> of_kernel({"kernel": "linear"})
    {'kernel': 'linear'}
    >>> sorted(of_kernel({"kernel": "low-rank", "landmarks": [0.5] * 10_000}))
    ['digest', 'kernel']
    """
    text = json.dumps(spec, sort_keys=True)
    if len(text) <= LONGEST_SPEC:
        return spec
    return {"kernel": spec["kernel"], "digest": blake2b(text.encode(), digest_size=16).hexdigest()}


def agree(first: Any, second: Any) -> bool:
    """Whether two values of identities are the same; a mark that is not known agrees with every other one.

    Examples
    --------
    >>> raw, mark = {"kernel": "linear"}, {"samples": 2, "digest": "00"}
    >>> centred = {"view": "centred", "of": raw, "on": mark}
    >>> agree(centred, raw), agree(centred, {"view": "centred", "of": raw, "on": None})
    (False, True)
    """
    if isinstance(first, dict) and isinstance(second, dict):
        pairs = ((key, first.get(key), second.get(key)) for key in first)
        return first.keys() == second.keys() and all(
            _marks_agree(one, other) if key == "on" else agree(one, other) for key, one, other in pairs
        )
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(agree, first, second))
    if isinstance(first, float) and isinstance(second, float):  # a median of the same samples in another order
        return math.isclose(first, second, rel_tol=ROUNDING) or (first != first and second != second)
    return bool(first == second)


def _marks_agree(one: Any, other: Any) -> bool:
    """Whether two marks are the same; where one is not known, or they sum digests of two kinds, they agree."""
    if None in (one, other):
        return True
    comparable = len(one["digest"]) == len(other["digest"])
    return bool(one["samples"] == other["samples"]) and (not comparable or bool(one["digest"] == other["digest"]))


def total(parts: Sequence[Identity | None], factors: Sequence[float]) -> Identity | None:
    """Identity of a weighted sum of matrices of the same samples; None where that of a part is not known."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    terms: list[Any] = [[float(factor), part.values] for factor, part in zip(factors, known, strict=True)]
    digests = [part.digests for part in known if part.digests is not None]
    joined = np.concatenate(digests, axis=1) if len(digests) == len(parts) else None
    return Identity(joined, {"view": "sum", "of": terms})
