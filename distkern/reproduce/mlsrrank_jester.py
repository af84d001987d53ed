"""Table III of Zhou et al. on Jester: how well one reader's ratings of jokes keep their differences, MSD and M1D.

As in the paper: a joke is the vector of its ratings by 300 reference reviewers, drawn from those who rated 20 to 40, 40
to 60 or 60 to 80 jokes; 300 test reviewers are drawn from those who rated 50 or more; half of a reviewer's jokes, at
random, train a ranker, the others test it; all of it ten times. As in Cortes et al. (2007), whose setup it is, a rating
that a reference reviewer did not give is his median. The paper does not say how ratings are scaled; here they are, from
(−10, 10) to (0, 1), for else no two jokes would be alike at any of its widths. Its parameters are those of the best
value on the test jokes, which flatters; the same with parameters that the training jokes choose stands beside it.

The paper drew from the 73,421 readers of Jester; the file at hand, Jester5k of recommenderlab, is a sample of 5,000 of
whom nobody rated less than 36, so that its readers of 20 to 40 jokes are those of 36 to 40.

    distkern reproduce jester --data FOLDER --out jester.csv
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.metrics import mean_absolute_difference, mean_squared_difference
from distkern.learners.ranker_search import LAMS, WIDTHS, paper_kernel
from distkern.reproduce.cells import Cell
from distkern.reproduce.tables import Row
from distkern.solvers.holdout import HoldOut

GROUPS = {"20-40": (20, 40), "40-60": (40, 60), "60-80": (60, 80)}
"""Ratings of the reference reviewers, from and to."""

REVIEWERS, REPEATS, TEST_RATINGS = 300, 10, 50
"""Reference reviewers and test reviewers, repetitions, and the fewest ratings of a test reviewer."""

RATIOS = (0.5, 1.0, 2.0)
"""v₂ / v₁ that are tried."""

PUBLISHED = {
    ("msd", "LSRRank"): (41.39, 41.24, 41.29),
    ("msd", "MLSRRank"): (39.54, 39.54, 40.42),
    ("m1d", "LSRRank"): (4.76, 4.76, 4.75),
    ("m1d", "MLSRRank"): (4.63, 4.73, 4.71),
}
"""Means that the table prints for the groups. Those of MLSRRank for 20-40 and 40-60 are the same there, ±1.61 too."""

MEASURES = {"msd": mean_squared_difference, "m1d": mean_absolute_difference}


def load_ratings(path: str | os.PathLike[str]) -> Floats:
    """Read ratings (readers, jokes) between −10 and 10, NaN where there is none, from ``ratings`` of an ``.npz`` file.

    Raises
    ------
    InputError
        If the file holds no such array.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            ratings = np.asarray(file["ratings"], dtype=np.float64)
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{os.fspath(path)!r} holds no array 'ratings': convert Jester5k of recommenderlab") from error
    if ratings.ndim != 2 or np.nanmax(np.abs(ratings)) > 10:
        raise InputError(f"ratings must be (readers, jokes) between -10 and 10; got shape {ratings.shape}")
    return ratings


def settings(count: int) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Kernels by their number in `WIDTHS`, and their weights: one kernel alone, and with ``count=2`` every two too."""
    alone: list[tuple[tuple[int, ...], tuple[float, ...]]] = [((t,), (1.0,)) for t in range(len(WIDTHS))]
    if count == 1:
        return alone
    return alone + [(pair, (1.0, ratio)) for pair, ratio in product(combinations(range(len(WIDTHS)), 2), RATIOS)]


def jokes_as_samples(ratings: Floats, reviewers: Indices) -> Floats:
    """Jokes as vectors (jokes, reviewers) of ratings, scaled to (0, 1); what a reviewer did not rate is his median."""
    chosen = ratings[reviewers]
    medians = np.nanmedian(chosen, axis=1, keepdims=True)
    return (np.where(np.isnan(chosen), medians, chosen).T + 10) / 20


def run(
    path: str | os.PathLike[str],
    *,
    repeats: int = REPEATS,
    reviewers: int = REVIEWERS,
    groups: Sequence[str] = tuple(GROUPS),
    seed: int = 0,
) -> list[Cell]:
    """Compute the Jester columns of table III: LSRRank and MLSRRank, and the same score for all jokes.

    Parameters
    ----------
    path
        File of `load_ratings`.
    repeats, reviewers
        Repetitions, and numbers of reference and of test reviewers.
    groups
        Keys of `GROUPS`.
    seed
        Of the reviewers and the halves.

    Returns
    -------
    list of Cell
        Mean and standard deviation over the repetitions, with the parameters that are best on the test jokes (as in the
        paper) and with those that leaving training jokes out chooses; and of a constant score.
    """
    ratings, cells = load_ratings(path), []
    for group in groups:
        found = [_repetition(ratings, GROUPS[group], reviewers, seed + repeat) for repeat in range(repeats)]
        tested, left_out, constant = (np.array(part) for part in zip(*found, strict=True))
        for number, measure in enumerate(MEASURES):
            for method, count in (("LSRRank", 1), ("MLSRRank", 2)):
                columns = len(settings(count)) * len(LAMS)
                printed = PUBLISHED[measure, method][list(GROUPS).index(group)]
                for about, guide in (("best on the test jokes", tested), ("chosen on the training jokes", left_out)):
                    best = int(guide[:, number, :columns].mean(axis=0).argmin())
                    about = f"{about}: {_described(best)}"
                    cells.append(_cell(group, method, about, measure, printed, tested[:, number, best]))
            cells.append(_cell(group, "constant", "no ranker", measure, float("nan"), constant[:, number]))
    return cells


def _cell(group: str, method: str, about: str, measure: str, printed: float, values: Floats) -> Cell:
    std = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return Cell(f"III, Jester {group}", method, about, measure, printed, float(values.mean()), std)


def _described(column: int) -> str:
    kernels, weights = settings(2)[column // len(LAMS)]
    widths = ", ".join(f"{WIDTHS[t]:g}" for t in kernels)
    return f"σ = {widths}; v = {', '.join(f'{v:g}' for v in weights)}; λ = {LAMS[column % len(LAMS)]:g}"


def _repetition(ratings: Floats, span: tuple[int, int], reviewers: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Means over test reviewers: (measures, settings) on test jokes and on left-out training jokes; of a constant."""
    rng, counts = np.random.default_rng(seed), (~np.isnan(ratings)).sum(axis=1)
    able = np.flatnonzero((counts >= span[0]) & (counts <= span[1]))
    if len(able) < reviewers:
        raise InputError(f"{len(able)} readers rated {span[0]} to {span[1]} jokes; {reviewers} are needed")
    reference = rng.choice(able, reviewers, replace=False)
    tested = rng.choice(np.setdiff1d(np.flatnonzero(counts >= TEST_RATINGS), reference), reviewers, replace=False)
    samples = jokes_as_samples(ratings, reference)
    grams = [paper_kernel(width)(samples) for width in WIDTHS]
    sums = [sum(grams[t] / v for t, v in zip(*setting, strict=True)) for setting in settings(2)]
    found = [_one_reviewer(sums, ratings[reader], rng) for reader in tested]
    on_test, left_out, constant = (np.mean(part, axis=0) for part in zip(*found, strict=True))
    return on_test, left_out, constant


def _one_reviewer(sums: list[Any], ratings: Floats, rng: Any) -> tuple[Floats, Floats, Floats]:
    rated = rng.permutation(np.flatnonzero(~np.isnan(ratings)))
    train, test = np.sort(rated[: len(rated) // 2]), np.sort(rated[len(rated) // 2 :])
    m, known, truth = len(train), ratings[train], ratings[test]
    singles = [np.array([i]) for i in range(m)]
    scores, left = [], []
    for K in sums:
        spectrum = HoldOut(K[np.ix_(train, train)])
        projected = spectrum.vectors.T @ known
        cross = K[np.ix_(test, train)] @ spectrum.vectors
        for lam in LAMS:
            shrink = 1 / (spectrum.eigenvalues + m * lam / 2)
            scores.append(cross @ (shrink * projected))
            left.append(spectrum.predictions(known, singles, [(m - 1) * lam / 2] * m))
    return _measured(truth, scores), _measured(known, left), _measured(truth, [np.zeros(len(truth))])[:, 0]


def _measured(truth: Floats, scores: Sequence[Array]) -> Floats:
    """Each measure of each vector of scores, (measures, vectors)."""
    return np.array([[measure(truth, score) for score in scores] for measure in MEASURES.values()])


def rows(*, data: str | os.PathLike[str] | None = None, repeats: int = REPEATS, seed: int = 0) -> Iterator[Row]:
    """Rows of the columns on Jester, from ``jester5k.npz`` in the folder ``data``.

    Raises
    ------
    InputError
        If no folder is given, or the file is not there.
    """
    if data is None:
        raise InputError("the ratings of Jester do not ship with distkern: give the folder of jester5k.npz as data=")
    yield from (cell.row() for cell in run(Path(data, "jester5k.npz"), repeats=repeats, seed=seed))
