"""Planted groups of voters, found again from partial ballots: kernel k-means beside mixtures of models.

Three groups of voters are drawn, each by a Mallows model (dispersion 0.35) around a consensus of its own, or by a
Plackett-Luce model whose worths fall by a factor of two from one item to the next. Each ballot then loses items:
``interleaving``, each voter ranks a random part of the items; ``top``, the voter names the best ones only. Methods know
the number of groups. The adjusted Rand index compares what they find with the groups: 1 if they agree, about 0 by
chance.

    distkern reproduce planted-groups --out docs/figures/planted-groups.csv
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from distkern.core.events import Listener, Progress, silent
from distkern.core.rankings import Rankings
from distkern.core.typing import Floats, Indices
from distkern.datasets.mallows import sample_mallows
from distkern.kernels.partial import PartialKendall
from distkern.learners.kmeans import KernelKMeans
from distkern.learners.mixture import MallowsMixture
from distkern.learners.plackett_luce_mixture import PlackettLuceMixture
from distkern.reproduce.tables import Row

GROUPS, ITEMS, VOTERS, DRAWS = 3, 10, 600, 5
"""Groups, items, voters and data sets of each case."""

DISPERSION = 0.35
"""Dispersion θ of the Mallows models."""

RATIO = 2.0
"""Ratio of the worths of two neighbours in a Plackett-Luce model."""

OBSERVED = (0.3, 0.6, 0.9, 1.0)
"""Parts of the items that a ballot ranks."""


def rows(*, quick: bool = False, on_event: Listener = silent) -> Iterator[Row]:
    """Compute the table.

    Parameters
    ----------
    quick
        One draw of 150 voters instead of five of 600.

    Yields
    ------
    dict
        A row for each model of the groups, kind of gaps, observed part of the items and method: mean adjusted Rand
        index over the draws ``rand``, its standard error ``error``, and ``draws``.
    """
    voters, draws = (150, 1) if quick else (VOTERS, DRAWS)
    cases = [(model, kind, part) for model in MODELS for kind in ("interleaving", "top") for part in OBSERVED]
    cases = [case for case in cases if case[1] == "interleaving" or case[2] < 1]
    for done, (model, kind, part) in enumerate(cases, start=1):
        found: dict[str, list[float]] = {name: [] for name in METHODS}
        for draw in range(draws):
            rng = np.random.default_rng([draw, done])
            whole, groups = drawn(model, voters, rng)
            ballots = with_gaps(whole, kind, round(part * ITEMS), rng)
            for name, method in METHODS.items():
                found[name].append(adjusted_rand_score(groups, method(ballots, draw)))
        on_event(Progress("evaluate", done, len(cases)))
        for name, values in found.items():
            spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
            gaps = "none" if part == 1 else kind
            yield {"model": model, "gaps": gaps, "observed": part, "method": name} | {
                "rand": float(np.mean(values)),
                "error": spread,
                "draws": len(values),
            }


def drawn(model: str, voters: int, rng: np.random.Generator) -> tuple[Floats, Indices]:
    """Draw total ballots of all groups (voters, items), larger = preferred; and the group of each."""
    groups = np.repeat(np.arange(GROUPS), voters // GROUPS)
    return np.concatenate([MODELS[model](voters // GROUPS, rng) for _ in range(GROUPS)]), groups


def with_gaps(whole: Floats, kind: str, kept: int, rng: np.random.Generator) -> Rankings:
    """Keep some items of each ballot: random ones, or the best."""
    if kept >= whole.shape[1]:
        return Rankings.from_ranks(whole)
    lasting = np.argsort(-whole if kind == "top" else rng.random(whole.shape), axis=1)[:, :kept]
    values = np.full(whole.shape, np.nan)
    np.put_along_axis(values, lasting, np.take_along_axis(whole, lasting, axis=1), axis=1)
    return Rankings.from_ranks(values, kind=kind)  # type: ignore[arg-type]


def _of_mallows(count: int, rng: np.random.Generator) -> Floats:
    return sample_mallows(rng.permutation(ITEMS).astype(np.float64), DISPERSION, count, random_state=rng).values


def _of_plackett_luce(count: int, rng: np.random.Generator) -> Floats:
    worths = np.log(RATIO) * rng.permutation(ITEMS)
    return worths + rng.gumbel(size=(count, ITEMS))


MODELS: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "Mallows": _of_mallows,
    "Plackett-Luce": _of_plackett_luce,
}

MALLOWS = "mixture of Mallows models"


def _by_kernel(ballots: Rankings, seed: int) -> Any:
    kernel = PartialKendall().normalized()
    return KernelKMeans(GROUPS, kernel=kernel, n_init=10, random_state=seed).fit(ballots).labels_


METHODS: dict[str, Callable[[Rankings, int], Any]] = {
    "kernel k-means, Kendall": _by_kernel,
    MALLOWS: lambda ballots, seed: MallowsMixture(GROUPS, n_init=3, random_state=seed).fit_predict(ballots),
    "mixture of Plackett-Luce models": lambda ballots, seed: PlackettLuceMixture(
        GROUPS, n_init=3, random_state=seed
    ).fit_predict(ballots),
}
