"""Table III of Zhou et al. on Jester: mean squared and absolute errors of differences between ratings of one reader.

As in the paper, a joke is the vector of its ratings by 300 reference reviewers, drawn from those who rated 20 to 40, 40
to 60 or 60 to 80 jokes. 300 test reviewers are drawn from those who rated 50 or more jokes. A random half of the jokes
of a test reviewer trains a ranker, the other half tests it. All of this is repeated ten times. A missing rating of a
reference reviewer is replaced by the median of that reviewer, as in Cortes et al. (2007), who defined this setup. The
paper does not state how ratings are scaled; we scale them from (−10, 10) to (0, 1), since otherwise all kernel values
between different jokes would be near 0 at its widths. The paper chooses parameters on the test jokes, which is
optimistic; results with parameters chosen on the training jokes are given too.

The paper used the 73,421 readers of Jester. Our file, Jester5k of recommenderlab, is a sample of 5,000 readers with 36
or more ratings, so that the group of 20 to 40 ratings contains readers with 36 to 40.

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
"""Least and most ratings of a reference reviewer."""

REVIEWERS, REPEATS, TEST_RATINGS = 300, 10, 50
"""Numbers of reference and of test reviewers, repetitions, and the least number of ratings of a test reviewer."""

RATIOS = (0.5, 1.0, 2.0)
"""Values of v₂ / v₁ that are tried."""

PUBLISHED = {
    ("msd", "LSRRank"): (41.39, 41.24, 41.29),
    ("msd", "MLSRRank"): (39.54, 39.54, 40.42),
    ("m1d", "LSRRank"): (4.76, 4.76, 4.75),
    ("m1d", "MLSRRank"): (4.63, 4.73, 4.71),
}
"""Published means by group; the paper prints the same number for MLSRRank on 20-40 and 40-60."""

MEASURES = {"msd": mean_squared_difference, "m1d": mean_absolute_difference}


def load_ratings(path: str | os.PathLike[str]) -> Floats:
    """Read the array ``ratings`` of an ``.npz`` file: (readers, jokes), between −10 and 10, NaN for missing ratings.

    Raises
    ------
    InputError
        If the file has no such array.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            ratings = np.asarray(file["ratings"], dtype=np.float64)
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{os.fspath(path)!r} has no array 'ratings': convert Jester5k of recommenderlab") from error
    if ratings.ndim != 2 or np.nanmax(np.abs(ratings)) > 10:
        raise InputError(f"ratings must be (readers, jokes) between -10 and 10; got shape {ratings.shape}")
    return ratings


def settings(count: int) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Return positions of kernels in `WIDTHS`, and their weights: single kernels, and with ``count=2`` also pairs."""
    alone: list[tuple[tuple[int, ...], tuple[float, ...]]] = [((t,), (1.0,)) for t in range(len(WIDTHS))]
    if count == 1:
        return alone
    return alone + [(pair, (1.0, ratio)) for pair, ratio in product(combinations(range(len(WIDTHS)), 2), RATIOS)]


def jokes_as_samples(ratings: Floats, reviewers: Indices) -> Floats:
    """Return jokes as vectors of ratings (jokes, reviewers) in (0, 1); missing ratings become the reviewer's median."""
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
    """Compute the Jester columns of table III: LSRRank, MLSRRank, and a constant score.

    Parameters
    ----------
    path
        File of `load_ratings`.
    repeats, reviewers
        Repetitions, and numbers of reference and of test reviewers.
    groups
        Keys of `GROUPS`.
    seed
        Seed of the reviewers and the halves.

    Returns
    -------
    list of Cell
        Mean and standard deviation over the repetitions, with parameters chosen on the test jokes (as in the paper),
        with parameters chosen by leave-one-out on the training jokes, and of a constant score.
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
    """Return means over test reviewers on test jokes, on left-out training jokes, and of a constant score."""
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
    """Return all measures of all vectors of scores, (measures, vectors)."""
    return np.array([[measure(truth, score) for score in scores] for measure in MEASURES.values()])


def rows(*, data: str | os.PathLike[str] | None = None, repeats: int = REPEATS, seed: int = 0) -> Iterator[Row]:
    """Yield the rows of the Jester columns, from ``jester5k.npz`` in the folder ``data``.

    Raises
    ------
    InputError
        If no folder is given, or it has no such file.
    """
    if data is None:
        raise InputError("the ratings of Jester do not ship with distkern: give the folder of jester5k.npz as data=")
    yield from (cell.row() for cell in run(Path(data, "jester5k.npz"), repeats=repeats, seed=seed))
