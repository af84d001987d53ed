"""Ballots of the 1980 election of the American Psychological Association: 15,449 voters, five candidates."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from distkern.core.rankings import Rankings

CANDIDATES = ("1", "2", "3", "4", "5")


def load_apa(*, partial: bool = False) -> Rankings:
    """Load the election of the American Psychological Association, 1980: rankings of five candidates.

    The file lists the candidates of each ballot from best to worst (an ordering). In the returned `distkern.Rankings` a
    larger value is preferred: 5 for the first choice, 4 for the second, and so on.

    Parameters
    ----------
    partial
        Load all 15,449 ballots instead of the 5,738 that rank all candidates. Voters could name any number of
        candidates. Candidates without a name on the ballot come last: the kind is ``"top"`` and their value NaN.

    Returns
    -------
    120 distinct rankings for 5,738 voters, or 205 for 15,449; the number of voters of each is in ``counts``.

    References
    ----------
    Diaconis (1988), Group Representations in Probability and Statistics, p. 96; Diaconis (1989), A generalization of
    spectral analysis with application to ranked data, Annals of Statistics 17:949-979.

    Examples
    --------
    >>> votes = load_apa()
    >>> votes
    <Rankings: 120 rankings of 5 items (total), 5,738 voters>
    >>> first = votes.counts @ (votes.values == 5)
    >>> dict(zip(votes.items, (100 * first / first.sum()).round().astype(int).tolist()))
    {'1': 18, '2': 14, '3': 28, '4': 20, '5': 20}
    >>> load_apa(partial=True)
    <Rankings: 205 rankings of 5 items (top), 15,449 voters>
    """
    with files("distkern.datasets").joinpath("data", "apa_ballots.csv").open("rb") as stream:
        table = np.loadtxt(stream, delimiter=",", skiprows=1, dtype=np.int64)
    ballots, counts = table[:, :-1], table[:, -1]
    # the file numbers candidates from 1 and pads with 0; subtracting 1 gives positions, padded with −1
    if partial:
        return Rankings.from_orderings(ballots - 1, kind="top", counts=counts, items=CANDIDATES)
    full = ballots.min(axis=1) > 0
    return Rankings.from_orderings(ballots[full] - 1, kind="total", counts=counts[full], items=CANDIDATES)
