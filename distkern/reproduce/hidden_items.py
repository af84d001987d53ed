"""Groups of real voters, found again where their ballots lose items: kernel k-means beside mixtures of models.

The 5,738 ballots of the APA rank five candidates. 1,000 readers of Jester rate the fifteen jokes that most readers
rate; equal ratings are ordered at random. Nobody knows true groups here. So each method finds three groups in the whole
ballots, then again in ballots that rank a random part of the items. The adjusted Rand index compares both, and what a
method finds with what kernel k-means finds in the same ballots. Four more files, of the R package PLMIX,
have ballots that are partial as they come: 2,262 citizens of Germany on four goals of politics, 435 people on six car
configurations, the voters of Dublin West in 2002, of whom 3,000 are drawn, and 36 races of NASCAR.

    distkern reproduce hidden-items --data FOLDER --out docs/figures/hidden-items.csv
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
from sklearn.metrics import adjusted_rand_score

from distkern.core.events import Listener, Progress, silent
from distkern.core.rankings import Rankings
from distkern.core.typing import Indices
from distkern.datasets import load_apa
from distkern.io.rankings.read import read_rankings
from distkern.reproduce.mlsrrank_jester import load_ratings
from distkern.reproduce.planted_groups import METHODS, OBSERVED, with_gaps
from distkern.reproduce.tables import Row

READERS, JOKES = 1000, 15
"""Readers and jokes of Jester."""

VOTERS = 3000
"""Most voters of a file; of more, so many are drawn."""

FILES = {
    "Germany": "plmix_german_orderings_counts.csv",
    "cars": "plmix_carconf_orderings_counts.csv",
    "Dublin West": "plmix_dublinwest_orderings_counts.csv",
    "NASCAR": "plmix_nascar_orderings_counts.csv",
}
"""Orderings with 0 for a place that is left empty, and counts; a folder may have some of them."""


def rows(
    *, data: str | os.PathLike[str] | None = None, quick: bool = False, seed: int = 0, on_event: Listener = silent
) -> Iterator[Row]:
    """Compute the table: the ballots of the APA, and of the files in a folder.

    Parameters
    ----------
    data
        Folder of ``jester5k.npz`` and of `FILES`, which may lack some; without it, the APA only.
    quick
        Some of the voters.
    seed
        Seed of the items that ballots keep, of the orders of equal ratings, of the voters that are drawn and of the
        methods.

    Yields
    ------
    dict
        A row for each set of ballots, mean number of ranked items and method: adjusted Rand index ``rand_whole`` with
        the groups that the method finds in the whole ballots, and ``rand_kernel`` with those that kernel k-means finds
        in the same ballots.
    """
    cases = [*hidden("APA", load_apa()[::10].expand() if quick else load_apa().expand(), seed)]
    if data is not None:
        jester = Path(data, "jester5k.npz")
        if jester.exists():
            cases += hidden("Jester", rated(jester, 150 if quick else READERS, seed), seed)
        for name, file in FILES.items():
            if Path(data, file).exists():
                cases.append((name, drawn(Path(data, file), 150 if quick else VOTERS, seed)))
    first: dict[str, dict[str, Indices]] = {}
    for done, (name, ballots) in enumerate(cases, start=1):
        found = {method: find(ballots, seed) for method, find in METHODS.items()}
        whole = first.setdefault(name, found)
        reference = next(iter(found.values()))
        ranked = float((~np.isnan(ballots.values)).sum(axis=1).mean())
        on_event(Progress("evaluate", done, len(cases)))
        for method, labels in found.items():
            yield {"ballots": name, "items": ballots.n_items, "ranked": ranked, "method": method} | {
                "rand_whole": float(adjusted_rand_score(whole[method], labels)),
                "rand_kernel": float(adjusted_rand_score(reference, labels)),
            }


def hidden(name: str, whole: Rankings, seed: int) -> Iterator[tuple[str, Rankings]]:
    """Total ballots, whole and with ever fewer items."""
    for count in sorted({max(2, round(part * whole.n_items)) for part in OBSERVED}, reverse=True):
        yield name, with_gaps(whole.values, "interleaving", count, np.random.default_rng([seed, count]))


def drawn(path: Path, most: int, seed: int) -> Rankings:
    """Ballots of a file, a row a voter, of at most so many."""
    voters = cast(Rankings, read_rankings(path, values="orderings", gaps="top", blank="0")).expand()
    return voters[np.sort(np.random.default_rng(seed).permutation(len(voters))[:most])]


def rated(path: Path, readers: int, seed: int) -> Rankings:
    """Ballots of readers who rated all of the jokes that most readers rate."""
    ratings = load_ratings(path)
    jokes = np.sort(np.argsort(np.isnan(ratings).sum(axis=0), kind="stable")[:JOKES])
    complete = ratings[:, jokes][~np.isnan(ratings[:, jokes]).any(axis=1)][:readers]
    by_rating = np.lexsort((np.random.default_rng(seed).random(complete.shape), complete), axis=1)
    values = np.empty(complete.shape)
    np.put_along_axis(values, by_rating, np.arange(1.0, JOKES + 1)[None, :], axis=1)
    return Rankings.from_ranks(values, items=[f"joke {joke + 1}" for joke in jokes])
