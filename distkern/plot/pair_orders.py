"""Pairs of features that tell classes apart: in which share of each class one is below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.learners.pair_rules_file import sides_of
from distkern.plot.axes import OKABE_ITO, open_frame, plain_legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDED = ("first", "second", "score")
"""Columns of a table of pairs beside the counts of two classes."""


@dataclass(frozen=True, eq=False)
class PairOrders:
    """Pairs of features, and how two classes order them.

    Parameters
    ----------
    names
        First and second feature of each pair.
    sides
        Names of the two classes: that against which, and that for which "first < second" speaks, or the reverse.
    shares
        Share of the samples of each class with first < second, (pairs, 2).
    """

    names: list[tuple[str, str]]
    sides: tuple[str, str]
    shares: Floats


def orders_of_model(model: Any, machine: str | int | None, chosen: Any) -> PairOrders:
    """Return the pairs of one problem of a fitted `KTopScoringPairs` or `TopScoringPair`."""
    problems = list(dict.fromkeys(model.problem_.tolist()))
    called = [f"{side} against {_side(other)}" for side, other in (sides_of(model, k) for k in problems)]
    problem = problems[chosen(machine, called, "machine")]
    own = np.flatnonzero(model.problem_ == problem)
    side, other = sides_of(model, problem)
    classes = model.classes_.tolist()
    of_side = np.array([label == side for label in classes])
    of_other = ~of_side if other is None else np.array([label == other for label in classes])
    less, observed = model.counts_[own, :, 0], model.observed_[own]
    shares = [_share(less[:, which].sum(axis=1), observed[:, which].sum(axis=1)) for which in (of_other, of_side)]
    names = [(str(a), str(b)) for a, b in model.pair_names_[own].tolist()]
    return PairOrders(names, (_side(other), str(side)), np.column_stack(shares))


def orders_of_table(table: Any) -> PairOrders:
    """Return the pairs of a table of `distkern.pair_scores`, of one class if it has several.

    Raises
    ------
    InputError
        If it holds pairs of several classes, or none.
    """
    if not len(table):
        raise InputError("the table holds no pair to draw")
    sides = [str(name).removeprefix("less_") for name in table.columns if str(name).startswith("less_")]
    counts = [_share(table[f"less_{side}"].to_numpy(), table[f"n_{side}"].to_numpy()) for side in sides]
    if "class" in table.columns:
        of = list(dict.fromkeys(map(str, table["class"])))
        if len(of) > 1:
            raise InputError(
                f"the table holds pairs of {len(of)} classes, {', '.join(map(repr, of[:5]))}: give the rows of one of "
                "them, as in table[table['class'] == name]"
            )
        sides = [of[0] if side == "class" else side for side in sides]
    names = [(str(a), str(b)) for a, b in zip(table["first"], table["second"], strict=True)]
    return PairOrders(names, (sides[0], sides[1]), np.column_stack(counts))


def is_table_of_pairs(found: Any) -> bool:
    """Whether a value is a table of `distkern.pair_scores`."""
    columns = list(map(str, getattr(found, "columns", ())))
    return all(name in columns for name in NEEDED) and sum(name.startswith("less_") for name in columns) == 2


def draw_orders(ax: Axes, found: PairOrders, k: int) -> None:
    """Draw the first k pairs, a line for each: the distance of its two dots is the score of the pair."""
    shares = found.shares[:k]
    rows = np.arange(len(shares))
    ax.hlines(rows, shares.min(axis=1), shares.max(axis=1), color="0.75", linewidth=2)
    dots = [
        ax.plot(shares[:, column], rows, "o", color=OKABE_ITO[colour], markersize=6)[0]
        for column, colour in ((0, 1), (1, 0))
    ]
    words: Sequence[str] = [f"{shorten(first)} < {shorten(second)}" for first, second in found.names[:k]]
    ax.set_yticks(rows, words, parse_math=False)
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-0.03, 1.03), xlabel="share of the samples with this order")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", linewidth=0.3)
    plain_legend(ax, dots, list(map(shorten, found.sides)), loc="lower left", bbox_to_anchor=(0, 1.01), ncols=2)
    open_frame(ax)


def _side(label: Any) -> str:
    return "the rest" if label is None else str(label)


def _share(less: Any, observed: Any) -> Floats:
    return np.divide(less, observed, out=np.full(len(less), np.nan), where=observed > 0, dtype=np.float64)
