"""The pairs of features and the features that decide in a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.parameters import one_of, whole_number
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Floats
from distkern.learners.explain import Contributions, Explanation
from distkern.learners.top_pairs import KTopScoringPairs
from distkern.plot.axes import OKABE_ITO, ink, new_or_given, open_frame, shorten
from distkern.plot.pair_orders import draw_orders, is_table_of_pairs, orders_of_model, orders_of_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSITIVE, NEGATIVE = OKABE_ITO[0], OKABE_ITO[1]


def plot_pairs(
    explained: Any,
    *,
    machine: str | int | None = None,
    sample: str | int | None = None,
    k: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw the pairs of features that decide: of an explanation, of rules, or of a table of scores.

    Of an explanation, or of its contributions to a sample, the heaviest pairs are bars. A bar to the right speaks for
    the positive class: as a weight where the first feature is above the second, as a contribution in this sample, where
    it is (or both are equal).

    Of top-scoring pairs each has two dots: the shares of the samples of both classes in which the first feature is
    below the second. Their distance is the score of the pair, if no score was aggregated over groups of samples.

    Parameters
    ----------
    explained
        From `distkern.explain`, or its contributions to new samples; a fitted `distkern.KTopScoringPairs` or
        `distkern.TopScoringPair`; or a table of `distkern.pair_scores`.
    machine
        Name or position of the machine, or of the problem of rules, if there are several: ``"B against the rest"``.
    sample
        Name or position of the sample, for contributions to several samples.
    k
        Number of pairs.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there are several machines or samples and none is chosen, or the chosen one does not exist.

    See Also
    --------
    plot_features : Single features.
    distkern.explain : The explanation.

    Examples
    --------
    >>> from distkern import Kendall, KernelRidge, explain
    >>> model = KernelRidge(kernel=Kendall()).fit([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], [1.0, 0.0])
    >>> [text.get_text() for text in plot_pairs(explain(model), k=1).get_yticklabels()]
    ['1 above 2']
    >>> from distkern import KTopScoringPairs
    >>> X = [[1.0, 2.0, 5.0], [1.0, 3.0, 5.0], [2.0, 1.0, 5.0], [4.0, 1.0, 5.0]]
    >>> rules = KTopScoringPairs(k=1).fit(X, ["ill", "ill", "well", "well"])
    >>> [text.get_text() for text in plot_pairs(rules).get_yticklabels()]
    ['1 < 0']
    """
    if isinstance(explained, KTopScoringPairs) or is_table_of_pairs(explained):
        if sample is not None:
            raise InputError("sample= is for contributions: leave it out for pairs of a whole cohort")
        if not isinstance(explained, KTopScoringPairs):
            found = orders_of_table(explained)
        else:
            check_is_fitted(explained)
            found = orders_of_model(explained, machine, _chosen)
        count, ax = whole_number(k, "k", 1), new_or_given(ax)
        draw_orders(ax, found, count)
        return ax
    at, of = _machine(explained, machine), _sample(explained, sample)
    names = explained.names
    if isinstance(explained, Explanation):
        first, second, numbers, label = explained.first, explained.second, explained.weights[:, at], "weight"
    else:
        own = explained.of_pairs[of]
        numbers, label = own.contributions[:, at], "contribution"
        first, second = own.first, own.second
    words = [f"{shorten(names[i])} above {shorten(names[j])}" for i, j in zip(first, second, strict=True)]
    return _draw(ax, words, numbers, k, f"{label} of a pair", explained, at, of)


def plot_features(
    explained: Explanation | Contributions,
    *,
    by: str = "weight",
    machine: str | int | None = None,
    sample: str | int | None = None,
    k: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw the features that decide in a model, or the features that moved the decision value of a sample most.

    Parameters
    ----------
    explained
        From `distkern.explain`, or its contributions to new samples.
    by
        Of an explanation: ``"weight"``, to the right if a high rank speaks for the positive class; or ``"importance"``.
    machine, sample, ax
        See `plot_pairs`.
    k
        Number of features.

    Raises
    ------
    InputError
        See `plot_pairs`.

    See Also
    --------
    plot_pairs : Pairs of features.
    distkern.explain : The explanation.

    Examples
    --------
    >>> from distkern import Kendall, KernelRidge, explain
    >>> model = KernelRidge(kernel=Kendall()).fit([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], [1.0, 0.0])
    >>> plot_features(explain(model), by="importance").get_xlabel()
    'importance of a feature'
    """
    one_of(by, "by", ("weight", "importance"))
    at, of = _machine(explained, machine), _sample(explained, sample)
    words = [shorten(name) for name in explained.names]
    if isinstance(explained, Contributions):
        numbers, by = explained.of_features[of, :, at], "contribution"
    else:
        numbers = (explained.feature_weights if by == "weight" else explained.importances)[:, at]
    return _draw(ax, words, numbers, k, f"{by} of a feature", explained, at, of)


def _draw(
    ax: Axes | None,
    words: Sequence[str],
    numbers: Floats,
    k: int,
    label: str,
    explained: Explanation | Contributions,
    machine: int,
    sample: int,
) -> Axes:
    """Draw the k largest numbers as bars, the largest on top."""
    order = np.argsort(-np.abs(numbers), kind="stable")[: whole_number(k, "k", 1)]
    values = numbers[order]
    ax = new_or_given(ax)
    places = np.arange(len(order))
    ax.barh(places, values, color=np.where(values < 0, NEGATIVE, POSITIVE), height=0.75, linewidth=0)
    ax.set_yticks(places, [words[at] for at in order], parse_math=False)
    ax.set(ylim=(len(order) - 0.4, -0.6))
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=5)
    if (values < 0).any():
        ax.axvline(0, color=ink(), linewidth=0.7)
    ax.set_xlabel(label, parse_math=False)
    title = str(explained.machines[machine])
    if isinstance(explained, Contributions):
        title = f"{explained.samples[sample]}: f = {explained.decisions[sample, machine]:.3g}\n{title}"
    ax.set_title(
        title, parse_math=False, wrap=True
    )  # names of samples and classes may be longer than the axes are wide
    open_frame(ax)
    return ax


def _machine(explained: Explanation | Contributions, machine: str | int | None) -> int:
    if not isinstance(explained, (Explanation, Contributions)):
        raise InputError(
            "give what distkern.explain returns, or its contributions, and for pairs also fitted top-scoring pairs or "
            f"a table of pair_scores, not a {type(explained).__name__}"
        )
    return _chosen(machine, explained.machines, "machine")


def _sample(explained: Explanation | Contributions, sample: str | int | None) -> int:
    if isinstance(explained, Contributions):
        return _chosen(sample, explained.samples, "sample")
    if sample is not None:
        raise InputError("sample= is for contributions: draw explanation.contributions(new)")
    return 0


def _chosen(given: str | int | None, names: Sequence[str], what: str) -> int:
    """Position of a machine or a sample that is given by name or position; the only one by default."""
    if given is None and len(names) == 1:
        return 0
    if given is None:
        raise InputError(f"there are {len(names):,} {what}s: choose one with {what}=, such as {names[0]!r}")
    if isinstance(given, str) and given in names:
        return list(names).index(given)
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and 0 <= given < len(names):
        return int(given)
    raise InputError(f"there is no {what} {given!r} among {len(names):,}{did_you_mean(given, names)}")
