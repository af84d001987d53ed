"""Scores of permuted labels, and of the labels as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from distkern.core.errors import InputTypeError
from distkern.plot.axes import OKABE_ITO, new_or_given, open_frame, plain_legend
from distkern.plot.evaluation import METRIC_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.evaluation import PermutationTest

BINS = 40
"""Number of bars between the lowest and the highest of all scores."""


def plot_null(permutation_test: PermutationTest, *, ax: Axes | None = None) -> Axes:
    """Draw how often permuted labels had which score, the score of the labels as they are, and the p-value.

    Parameters
    ----------
    permutation_test
        Result of `distkern.permutation_test`, or the attribute ``permutation_test`` of a `distkern.Evaluation`.
    ax
        Axes to draw on; by default those of a new figure.

    See Also
    --------
    distkern.permutation_test : The test.

    Examples
    --------
    >>> from distkern import PermutationTest
    >>> test = PermutationTest(0.9, 0.25, np.array([0.4, 0.5, 0.6]), "balanced_accuracy", {}, 0.1)
    >>> [text.get_text() for text in plot_null(test).get_legend().get_texts()]
    ['3 permutations of the labels', 'labels as they are: 90.0 %, p = 0.25']
    """
    from distkern.learners.evaluation import PermutationTest

    if not isinstance(permutation_test, PermutationTest):
        raise InputTypeError(
            f"the result of distkern.permutation_test is needed, not {type(permutation_test).__name__}"
        )
    ax = new_or_given(ax)
    test, unit = permutation_test, 1.0 if permutation_test.scoring == "auc" else 100.0
    ends = min(test.null.min(), test.score), max(test.null.max(), test.score)
    counts, edges = np.histogram(unit * test.null, bins=BINS, range=(unit * ends[0], unit * ends[1]))
    bars = ax.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=OKABE_ITO[0], alpha=0.75, linewidth=0)
    line = ax.axvline(unit * test.score, color=OKABE_ITO[5], linewidth=1.8)
    observed = f"{test.score:.3f}" if test.scoring == "auc" else f"{100 * test.score:.1f} %"
    names = [
        f"{test.permutations:,} permutations of the labels",
        f"labels as they are: {observed}, p = {test.pvalue:.2g}",
    ]
    plain_legend(ax, [bars, line], names, loc="lower left", bbox_to_anchor=(0, 1.01), ncols=1)
    ax.set(xlabel=METRIC_NAMES[test.scoring] + ("" if test.scoring == "auc" else " (%)"), ylabel="permutations")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    open_frame(ax)
    return ax
