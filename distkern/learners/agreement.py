"""How much rankings agree with one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, rankdata

from distkern.core.errors import InputError
from distkern.core.parameters import whole_number
from distkern.core.rankings import Rankings
from distkern.core.typing import Floats

CELLS = 2**24
"""Permuted ranks in memory at a time."""


@dataclass(frozen=True)
class Agreement:
    """Kendall's coefficient of concordance of some rankings.

    Parameters
    ----------
    w
        W, from 0 to 1: 1 if all rankings are the same.
    statistic, df, pvalue
        m (n − 1) W for m rankings of n items, its degrees of freedom n − 1, and the p-value by the χ² distribution.
    permutation_pvalue
        The p-value of permutations of the items within each ranking; None if there were none.
    mean_spearman
        Mean of Spearman's correlation over the pairs of rankings, (m W − 1) / (m − 1), without ties.
    voters, items
        m and n.

    See Also
    --------
    kendall_w : Makes it.
    """

    w: float
    statistic: float
    df: int
    pvalue: float
    permutation_pvalue: float | None
    mean_spearman: float
    voters: int
    items: int

    def __str__(self) -> str:
        permuted = "" if self.permutation_pvalue is None else f", {self.permutation_pvalue:.4g} by permutations"
        return f"W {self.w:.4f} of {self.voters:,} rankings of {self.items} items, p = {self.pvalue:.4g}{permuted}"


def kendall_w(rankings: Any, *, permutations: int = 0, random_state: int = 0) -> Agreement:
    r"""Kendall's W: the agreement of rankings, and its p-value.

    .. math::

        W = \frac{12\, S}{m^2 (n^3 - n) - m \sum_v T_v}, \qquad
        S = \sum_j \Bigl( R_j - \tfrac{m (n + 1)}{2} \Bigr)^2, \qquad T_v = \sum_g (t_g^3 - t_g)

    with R_j the sum of the mid-ranks of item j over m rankings of n items, and t_g the sizes of the groups of tied
    items of ranking v. If rankings are independent and uniform, m (n − 1) W has about a χ² distribution with n − 1
    degrees of freedom; where n or m is small, permutations are better.

    Source: Kendall & Babington Smith, *The problem of m rankings* (1939); Kendall, *Rank correlation methods*, chapter
    6, for ties.

    Parameters
    ----------
    rankings
        `Rankings`, whose counts are numbers of voters, or an array of scores or ranks (m, n), all in one direction.
    permutations
        Number of permutations, in which each voter's ranking is permuted on its own; 0 for none.
    random_state
        Seed of the permutations.

    Raises
    ------
    InputError
        If a ranking lacks an item, ties all items, or there are fewer than two voters or items.

    See Also
    --------
    consensus_ranking : The ranking on which they agree best.
    scipy.stats.friedmanchisquare : The test of the same statistic.

    Examples
    --------
    >>> found = kendall_w([[1, 2, 3, 4], [1, 3, 2, 4], [2, 1, 3, 4]], permutations=999)
    >>> print(found)
    W 0.7778 of 3 rankings of 4 items, p = 0.0719, 0.044 by permutations
    """
    whole_number(permutations, "permutations", 0)
    known = rankings if isinstance(rankings, Rankings) else Rankings.from_ranks(rankings)
    values, counts = known.values, known.counts
    wrong = np.flatnonzero(np.isnan(values).any(axis=1))
    if len(wrong):
        raise InputError(
            f"ranking {wrong[0]} lacks an item ({len(wrong)} such): W compares complete rankings; leave them out, or "
            "leave the items out"
        )
    m, n = int(counts.sum()), values.shape[1]
    if m < 2 or n < 2:
        raise InputError(f"agreement needs two rankings and two items, and there are {m} of {n}")
    ranks = rankdata(values, axis=1)
    ties = n**3 - n - 12 * ((ranks - (n + 1) / 2) ** 2).sum(axis=1)
    flat = np.flatnonzero(ties >= n**3 - n)
    if len(flat):
        raise InputError(f"ranking {flat[0]} ties all items ({len(flat)} such): leave it out")
    most = (m**2 * (n**3 - n) - m * float(counts @ ties)) / 12
    spread = _spread(counts @ ranks)
    w = spread / most
    permuted = None
    if permutations:
        null = np.array(_null(ranks, counts, permutations, random_state))
        permuted = (1 + int((null >= spread * (1 - 1e-12)).sum())) / (1 + permutations)
    statistic = m * (n - 1) * w
    pvalue = float(chi2.sf(statistic, n - 1))
    return Agreement(w, statistic, n - 1, pvalue, permuted, (m * w - 1) / (m - 1), m, n)


def _spread(sums: Floats) -> float:
    """S of sums of ranks."""
    return float(((sums - sums.mean()) ** 2).sum())


def _null(ranks: Floats, counts: Any, permutations: int, seed: int) -> list[float]:
    """S of rankings whose items are permuted, each voter's on its own."""
    rng, n = np.random.default_rng(seed), ranks.shape[1]
    out = []
    at_once = max(1, CELLS // n)
    voters = np.repeat(np.arange(len(ranks)), counts)
    for _ in range(permutations):
        sums = np.zeros(n)
        for start in range(0, len(voters), at_once):
            sums += rng.permuted(ranks[voters[start : start + at_once]], axis=1).sum(axis=0)
        out.append(_spread(sums))
    return out
