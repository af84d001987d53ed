"""The one check of sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.alignment import aligned, as_sample_names
from distkern.core.containers import as_floats
from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices


def sample_weights(sample_weight: Any, samples: Any) -> tuple[Floats, Indices]:
    """Validate sample weights; return all weights, and the positions of the nonzero ones.

    Parameters
    ----------
    sample_weight
        Weight of each sample, (m,), or one number for all; ones if None.
    samples
        The m samples: a Gram matrix, `SampleNames`, or their number.

    Raises
    ------
    InputError
        If a weight is negative, missing or infinite, all are zero, or the names differ from those of the samples.

    Examples
    --------
    >>> sample_weights([0, 2], 2)
    (array([0., 2.]), array([1]))
    >>> sample_weights([1, -2], ("p", "q"))
    Traceback (most recent call last):
    distkern.core.errors.InputError: sample_weight holds values that are negative or not finite (sample 'q' has -2; ...
    """
    known = as_sample_names(samples)
    if sample_weight is None:
        return np.ones(known.count), np.arange(known.count)
    weights = as_floats(aligned(sample_weight, known, "sample_weight"), "sample_weight")
    if weights.ndim == 0:
        weights = np.full(known.count, float(weights))
    if weights.shape != (known.count,):
        raise InputError(f"got weights of shape {weights.shape} for {known.count} samples: give one for each")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise InputError(
            f"sample_weight holds values that are negative or not finite (sample {known.name(wrong[0])} has "
            f"{weights[wrong[0]]:g}; {len(wrong)} such): give 0 to leave a sample out"
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise InputError("sample_weight adds up to infinity: divide it by its largest value")
    kept = np.flatnonzero(weights)
    if len(kept) == 0:
        raise InputError("every sample weight is zero: no sample is left to train on")
    return weights, kept
