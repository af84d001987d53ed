"""Groups of real voters, found again where their ballots lose items: kernel k-means beside mixtures of models.

The 5,738 ballots of the APA rank five candidates. 1,000 readers of Jester rate the fifteen jokes that most readers
rate; equal ratings are ordered at random. Nobody knows true groups here. So each method finds three groups in the whole
ballots, then again in ballots of which each ranks a random part of the items. The adjusted Rand index compares both,
and what a method finds with what kernel k-means finds in the same ballots.

    distkern reproduce hidden-items --data FOLDER --out docs/figures/hidden-items.csv
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from distkern.core.events import Listener, Progress, silent
from distkern.core.rankings import Rankings
from distkern.core.typing import Indices
from distkern.datasets import load_apa
from distkern.reproduce.mlsrrank_jester import load_ratings
from distkern.reproduce.planted_groups import METHODS, OBSERVED, with_gaps
from distkern.reproduce.tables import Row

READERS, JOKES = 1000, 15
"""Readers and jokes of Jester."""


def rows(
    *, data: str | os.PathLike[str] | None = None, quick: bool = False, seed: int = 0, on_event: Listener = silent
) -> Iterator[Row]:
    """Compute the table: the ballots of the APA, and those of Jester from ``jester5k.npz`` in a folder.

    Parameters
    ----------
    data
        Folder of ``jester5k.npz``; without it, the APA only.
    quick
        Some of the voters.
    seed
        Seed of the items that ballots keep, of the orders of equal ratings and of the methods.

    Yields
    ------
    dict
        A row for each set of ballots, observed part of the items and method: adjusted Rand index ``rand_whole`` with
        the groups that the method finds in the whole ballots, and ``rand_kernel`` with those that kernel k-means finds
        in the same ballots.
    """
    ballots = {"APA": load_apa()[::10].expand() if quick else load_apa().expand()}
    if data is not None:
        ballots["Jester"] = rated(Path(data, "jester5k.npz"), 150 if quick else READERS, seed)
    for done, (name, whole) in enumerate(ballots.items()):
        kept = sorted({max(2, round(part * whole.n_items)) for part in OBSERVED}, reverse=True)
        first: dict[str, Indices] = {}
        for step, count in enumerate(kept):
            hidden = with_gaps(whole.values, "interleaving", count, np.random.default_rng([seed, count]))
            found = {method: find(hidden, seed) for method, find in METHODS.items()}
            first = first or found
            on_event(Progress("evaluate", done * len(kept) + step + 1, len(ballots) * len(kept)))
            reference = next(iter(found.values()))
            for method, labels in found.items():
                yield {"ballots": name, "items": whole.n_items, "ranked": count, "method": method} | {
                    "rand_whole": float(adjusted_rand_score(first[method], labels)),
                    "rand_kernel": float(adjusted_rand_score(reference, labels)),
                }


def rated(path: Path, readers: int, seed: int) -> Rankings:
    """Ballots of readers who rated all of the jokes that most readers rate."""
    ratings = load_ratings(path)
    jokes = np.sort(np.argsort(np.isnan(ratings).sum(axis=0), kind="stable")[:JOKES])
    complete = ratings[:, jokes][~np.isnan(ratings[:, jokes]).any(axis=1)][:readers]
    by_rating = np.lexsort((np.random.default_rng(seed).random(complete.shape), complete), axis=1)
    values = np.empty(complete.shape)
    np.put_along_axis(values, by_rating, np.arange(1.0, JOKES + 1)[None, :], axis=1)
    return Rankings.from_ranks(values, items=[f"joke {joke + 1}" for joke in jokes])
