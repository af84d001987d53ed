"""Random rankings from the Mallows model."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.rankings import Rankings


def sample_mallows(
    consensus: Any, dispersion: float, size: int, *, random_state: int | np.random.Generator | None = None
) -> Rankings:
    r"""Draw independent total rankings with probability :math:`\exp(-\theta\, d(x, \sigma)) / \psi(\theta)`.

    d is the number of discordant pairs. The rankings are exact draws by repeated insertion: the j-th best item of the
    consensus is inserted before v of the j − 1 better items with probability proportional to exp(−θ v), because each
    of these v pairs becomes discordant. Doignon, Pekeč and Regenwetter, "The repeated insertion model for rankings",
    Psychometrika 69 (2004).

    Parameters
    ----------
    consensus
        σ, (n,): value of each item; larger = preferred.
    dispersion
        θ ≥ 0; with 0 all rankings have the same probability.
    size
        Number of rankings.
    random_state
        Seed or generator.

    Returns
    -------
    Rankings
        With values 1 to n, larger = preferred.

    Raises
    ------
    InputError
        If the consensus ties items, or θ is negative or not finite.

    Examples
    --------
    >>> sample_mallows([3, 1, 2], 8.0, 3, random_state=0).values
    array([[3., 1., 2.],
           [3., 1., 2.],
           [3., 1., 2.]])
    """
    values = np.asarray(consensus, dtype=np.float64)
    if values.ndim != 1 or len(values) < 1 or len(np.unique(values)) < len(values):
        raise InputError("the consensus must be a list of different values, one for each item, larger = preferred")
    if not 0 <= dispersion < np.inf:
        raise InputError(f"the dispersion must be a finite number of 0 or more; got {dispersion!r}")
    random, n = np.random.default_rng(random_state), len(values)
    ranks = np.empty((size, n), dtype=np.int64)  # of the items inserted so far, in the order of the consensus
    for item in range(n):
        chances = np.cumsum(np.exp(-dispersion * np.arange(item + 1)))
        rank = item - np.searchsorted(chances, random.random(size) * chances[-1], side="right").clip(max=item)
        ranks[:, :item] += ranks[:, :item] >= rank[:, None]
        ranks[:, item] = rank
    drawn = np.empty((size, n))
    drawn[:, np.argsort(-values)] = n - ranks
    return Rankings.from_ranks(drawn)
