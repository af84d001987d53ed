"""The true entries beside a matrix at landmarks, as its plan holds them."""

from __future__ import annotations

import numpy as np

from distkern.core.errors import CorruptTileError
from distkern.core.sentences import Argument
from distkern.core.typing import Floats, Indices, Spec
from distkern.store.samples import checksum


def sample_in(path: str, sample: Spec) -> tuple[Indices, Floats]:
    """Read the true entries in the plan of the store at a path: pairs (2, entries), and values of the stored kernel.

    Raises
    ------
    CorruptTileError
        If the values do not match their checksum.
    """
    pairs, values = np.array(sample["pairs"], dtype=np.intp).reshape(2, -1), np.array(sample["values"], dtype=float)
    if checksum(values) != sample["checksum"]:
        raise CorruptTileError(
            "{damage}: compute it with {overwrite}",
            damage=f"the true entries in {path!r} do not match their checksum",
            overwrite=Argument("overwrite", True),
        )
    return pairs, values


def as_sample(pairs: Indices, values: Floats) -> Spec:
    """True entries as the plan of a store holds them."""
    return {"pairs": pairs.tolist(), "values": values.tolist(), "checksum": checksum(values)}
