"""Types of blood cells from profiles on another platform: Kendall's beside Spearman's nearest profile.

2,638 cells by droplets are labelled by 38 profiles of sorted cells on microarrays (`load_celltypes`), each cell alone.
A label counts as right if it is the type of the cell's published cluster: naive and memory CD4 T cells are CD4 T,
CD14+ and FCGR3A+ monocytes Monocyte, platelets Megakaryocyte. The published clusters come from the same counts, so that
they are a convention and not the truth.

SingleR compares by Spearman's correlation, takes the quantile 0.8 over the profiles of a label, and compares marker
genes: for each ordered pair of labels the 500 (2/3)^log₂(labels) genes whose medians differ most. All this is computed
with both kernels. Its last step, which compares the best labels again on their own markers, is left out.

    distkern reproduce cell-types --out docs/figures/cell-types.csv
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

from distkern.core.events import Listener, Progress, silent
from distkern.core.typing import Array, Floats
from distkern.datasets import load_celltypes
from distkern.kernels.kendall import Kendall
from distkern.kernels.quantile import Spearman
from distkern.learners.nearest_profile import NearestProfile
from distkern.reproduce.tables import Row

KERNELS = {"Kendall": Kendall(ties="b"), "Spearman": Spearman()}

QUANTILES = {"nearest": 1.0, "quantile 0.8": 0.8}

MARGIN = 0.002
"""Lead of the best label below which a cell is not assigned; not tuned."""

SUREST = 0.9
"""Part of the cells, those with the largest leads, on which kernels are compared whatever their units."""

QUICK = 10
"""Every so many cells of the smaller version."""


def rows(*, quick: bool = False, on_event: Listener = silent) -> Iterator[Row]:
    """Compute the table.

    Parameters
    ----------
    quick
        Label every tenth cell only.

    Yields
    ------
    dict
        A row for each kernel, choice of genes and score of a label: number of ``genes`` and ``cells``; ``accuracy`` and
        ``balanced`` accuracy if each cell gets its best label, ``surest``, the accuracy among the 90 % of the cells
        with the largest leads; ``unassigned``, the fraction of the cells whose lead is at most the margin, and
        ``assigned``, the accuracy of the others; ``identical``, the number of cells whose scores are the same to the
        last bit for counts, log(1 + count) and 10⁴ count / total; and the ``seconds`` of processor time.
    """
    cells, reference = load_celltypes("cells"), load_celltypes("reference")
    cells = cells[:: QUICK if quick else 1]
    truth, types = (data.obs["cell_type"].to_numpy().astype(str) for data in (cells, reference))
    total = cells.obs["total_counts"].to_numpy()
    done, all_rows = 0, len(KERNELS) * len(QUANTILES) * 2
    for genes, markers in (("all", None), ("markers", markers_of_singler(len(set(types))))):
        for score, quantile in QUANTILES.items():
            for name, kernel in KERNELS.items():
                model = NearestProfile(kernel, quantile, markers=markers).fit(reference, types)
                start = process_time()
                scores = model.scores(cells)
                seconds = process_time() - start
                others = [model.scores(_with(cells, values)) for values in forms(cells.X, total)]
                same = np.all([(scores == other).all(axis=1) for other in others], axis=0)
                about = {"kernel": name, "label": score, "compared": genes, "genes": len(model.features_)}
                found = measures(truth, scores, model.classes_)
                yield about | found | {"identical": int(same.sum()), "cells": len(cells), "seconds": seconds}
                done += 1
                on_event(Progress("cell types", done, all_rows))


def markers_of_singler(labels: int) -> int:
    """Number of marker genes that SingleR takes for each ordered pair of labels.

    Examples
    --------
    >>> markers_of_singler(2), markers_of_singler(13)
    (333, 112)
    """
    return round(500 * (2 / 3) ** np.log2(labels))


def forms(counts: Any, total: Array) -> Iterator[Any]:
    """log(1 + count) and 10⁴ count / total of sparse counts, in single precision as files have them."""
    scale = np.repeat(1e4 / total, np.diff(counts.indptr))
    for data in (np.log1p(counts.data), counts.data * scale):
        other = counts.copy()
        other.data = data.astype(np.float32)
        yield other


def measures(truth: Array, scores: Floats, labels: Array) -> Row:
    """Accuracies of the best labels, of the surest and of the assigned cells, and the part that is not assigned."""
    called, ascending = labels[scores.argmax(axis=1)], np.sort(scores, axis=1)
    lead, right = ascending[:, -1] - ascending[:, -2], called == truth
    surest = np.argsort(-lead, kind="stable")[: round(SUREST * len(lead))]
    assigned = lead > MARGIN
    return {
        "accuracy": float(right.mean()),
        "balanced": float(np.mean([right[truth == label].mean() for label in np.unique(truth)])),
        "surest": float(right[surest].mean()),
        "unassigned": float(1 - assigned.mean()),
        "assigned": float(right[assigned].mean()),
    }


def _with(cells: Any, values: Any) -> Any:
    other = cells.copy()
    other.X = values
    return other
