"""Do orders help? Kernels of orders beside kernels of values and top-scoring pairs, on the cohorts that ship.

Within a cohort, samples are held out by five stratified folds, which are repeated and the same for all methods. Across
platforms, one breast cohort trains and all tumours of the other are called, each alone, by the genes that both have. In
between stand changes of known kind: folds of one cohort, where the tumours that are called have lost their logarithm,
or where each gene is shifted by an effect of the platform on that gene.

All kernels have the same support vector machine (`distkern.reproduce.comparison.machine`): centred and scaled to unit
norm on the training samples, classes counted alike; five inner folds of the training samples choose C, and the window
with it, by the mean balanced accuracy. The bandwidth is the median distance between training samples, and the number of
top-scoring pairs is chosen by their authors' rule on training samples. No parameter sees a test sample.

    distkern reproduce kernels-compared --out docs/figures/kernels-compared.csv
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from time import process_time
from typing import Any

import numpy as np

from distkern.core.events import Listener, Progress, silent
from distkern.core.typing import Floats, Indices
from distkern.datasets import load_celltypes, load_colon, load_medulloblastoma, load_qsar
from distkern.kernels.kendall import Kendall
from distkern.kernels.quantile import Spearman
from distkern.kernels.smoothed import SmoothedKendall
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.held_out import HeldOut
from distkern.reproduce.comparison import (
    Method,
    Question,
    about,
    across,
    changed,
    compared,
    held_out,
    on_samples,
    on_training,
    own_deviation,
    top_pairs,
    within,
    z_scores,
)
from distkern.reproduce.suquan_breast import COHORTS, ENDPOINTS, load, load_pair
from distkern.reproduce.tables import Row

REPEATS = 2
"""Repetitions of the folds within a cohort."""

WINDOWS = (0.3, 1.0, 3.0)
"""Windows to choose from, in standard deviations of the values of a sample."""

CELLS = 150
"""Cells of each type: the first of the file."""

SEEN = 0.2
"""Least part of these cells in which a gene is seen."""

LONG = 1.0
"""Seconds from which on a run is measured once."""

SHIFTS = (0.3, 1.0)
"""Standard deviations of the shifts of single genes, in mean standard deviations of the values of a tumour."""

# The questions -------------------------------------------------------------------------------------------------------


def questions(repeats: int = REPEATS, seed: int = 0) -> Iterator[Question]:
    """Yield all questions, one at a time."""
    yield expression("colon", load_colon, repeats, seed)
    for name in COHORTS:
        yield from (breast(name, endpoint, repeats, seed) for endpoint in ENDPOINTS)
    yield within("T cells", *t_cells(), repeats, seed)
    for name in ("dhfr", "cox2"):
        compounds = load_qsar(name)
        y = (compounds.y > np.median(compounds.y)).astype(np.intp)
        yield within(name.upper(), compounds.X, y, repeats, seed)
    pair = load_pair()
    for trained, tested in permutations(COHORTS):
        for endpoint in ENDPOINTS:
            known, new = (cohort.patients(endpoint, genes) for cohort, genes in (pair[trained], pair[tested]))
            name = f"{trained.upper()} → {tested.upper()}, {endpoint}"
            yield across(name, (known.X, known.y), (new.X, new.y), seed)
    vdx = breast("vdx", "receptor", repeats, seed)
    yield changed("without the logarithm", vdx, np.exp2)
    for size in SHIFTS:
        yield changed(f"genes shifted by {size:g}", vdx, shifted(size, seed))
    yield expression("medulloblastoma", load_medulloblastoma, repeats, seed)  # the largest


def expression(name: str, loaded: Callable[..., Any], repeats: int, seed: int) -> Question:
    """Folds of a cohort with two classes; the second of their names is the positive one."""
    X, labels = loaded(return_X_y=True)
    return within(name, X.astype(np.float64), (labels == np.unique(labels)[1]).astype(np.intp), repeats, seed)


def breast(name: str, endpoint: str, repeats: int, seed: int) -> Question:
    """Folds of one breast cohort, on its probes without missing values."""
    cohort = load(name)
    patients = cohort.patients(endpoint, cohort.complete)
    return within(f"{name.upper()}, {endpoint}", patients.X, patients.y, repeats, seed)


def t_cells() -> tuple[Floats, Indices]:
    """log(1 + 10⁴ count / total) of the first CD4 and CD8 T cells (0 and 1), on the genes that are seen in enough.

    Examples
    --------
    >>> X, y = t_cells()
    >>> X.shape, int(y.sum()), float((X == 0).mean().round(2))
    ((300, 686), 150, 0.53)
    """
    cells = load_celltypes("cells")
    types = cells.obs["cell_type"].to_numpy()
    rows = np.concatenate([np.flatnonzero(types == name)[:CELLS] for name in ("CD4 T", "CD8 T")])
    counts = cells.X[rows].toarray().astype(np.float64)
    X = np.log1p(1e4 * counts / cells.obs["total_counts"].to_numpy()[rows, None])
    return X[:, (counts > 0).mean(axis=0) >= SEEN], np.repeat([0, 1], CELLS)


def shifted(size: float, seed: int) -> Callable[[Floats], Floats]:
    """A change that adds to each gene, in all samples alike, a normal number.

    Its standard deviation is ``size`` times the mean standard deviation within a sample.
    """

    def change(X: Floats) -> Floats:
        return X + size * X.std(axis=1).mean() * np.random.default_rng(seed).normal(size=X.shape[1])

    return change


# The methods ---------------------------------------------------------------------------------------------------------


def _linear(X: Floats, train: Indices, test: Indices) -> list[Floats]:
    return [Linear()(z_scores(X, train))]


def _linear_apart(X: Floats, train: Indices, test: Indices) -> list[Floats]:
    Z = z_scores(X, train)
    Z[test] = z_scores(X, test)[test]
    return [Linear()(Z)]


def _gaussian(X: Floats, train: Indices, test: Indices) -> list[Floats]:
    return [Gaussian("median").resolve(X[train])(X)]


def _gaussian_scaled(X: Floats, train: Indices, test: Indices) -> list[Floats]:
    return _gaussian(z_scores(X, train), train, test)


LINEAR = on_training("linear, z-scores", _linear)
"""What all methods are compared with."""

METHODS = (
    LINEAR,
    on_training("Gaussian, z-scores", _gaussian_scaled),
    on_training("Gaussian, values", _gaussian),
    on_samples("Kendall", Kendall(ties="b")),
    on_samples("Spearman", Spearman()),
    on_samples("smoothed Kendall", *map(SmoothedKendall, WINDOWS), of=own_deviation),
    top_pairs("top-scoring pairs"),
)
"""Methods that call each new sample alone."""

APART = on_training("linear, z-scores of the new cohort", _linear_apart)
"""Needs all new samples at once; not within a cohort."""

# The table -----------------------------------------------------------------------------------------------------------


def rows(*, repeats: int = REPEATS, seed: int = 0, quick: bool = False, on_event: Listener = silent) -> Iterator[Row]:
    """Compute the table.

    Parameters
    ----------
    repeats
        Repetitions of the folds within a cohort.
    seed
        Seed of the folds, of the shifts and of the bootstrap.
    quick
        Compute one repetition, on every fifth feature.

    Yields
    ------
    dict
        A row for each ``question`` and ``method``: its ``setting``, the numbers of tested ``samples``, of ``positive``
        ones and of ``features``; ``balanced`` accuracy and the area under the curve ``auc``, each with the ends of its
        95 % interval; ``gain``, by how much the former is above that of the linear kernel on the same samples, with its
        interval; and ``seconds`` of processor time to choose the parameters, train and predict in one split. Intervals
        are those of a bootstrap of the tested samples: other training samples would change more.
    """
    asked = list(questions(1 if quick else repeats, seed))
    done, total = 0, sum(len(methods_of(question)) for question in asked)
    for whole in asked:
        question = every_fifth(whole) if quick else whole
        base = None
        for method in methods_of(question):
            found, seconds = measured(method, question)
            base = found if base is None else base
            yield (about(question) | {"method": method.name} | compared(found, base, seed) | {"seconds": seconds})
            done += 1
            on_event(Progress("kernels compared", done, total))


def methods_of(question: Question) -> tuple[Method, ...]:
    """The methods that are tried on a question, the linear kernel first."""
    return METHODS if question.setting == "within" else (*METHODS, APART)


def measured(method: Method, question: Question) -> tuple[HeldOut, float]:
    """Predictions of a method for all tested samples, and the processor time for one split, from the samples on.

    Of two runs that are short the lesser time counts: the first may compile, or load what is compiled.
    """
    times: list[float] = []
    while len(times) < 2 and sum(times) < LONG:
        start = process_time()
        call = method.start(question.X, question.y)
        call(question.repeats[0][0])
        times.append(process_time() - start)
    return held_out(question, call), min(times)


def every_fifth(question: Question) -> Question:
    """The question on every fifth feature."""
    return replace(question, X=np.ascontiguousarray(question.X[:, ::5]))
