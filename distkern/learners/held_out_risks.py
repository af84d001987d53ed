"""Risks of samples that a survival model has not seen, and what they are worth: concordance, groups, curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.parameters import whole_number
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.concordance import chance_uncensored, weighted_pairs
from distkern.learners.held_out import DRAWS, LEVEL
from distkern.learners.kaplan_meier import LogRankTest, SurvivalCurves, kaplan_meier, log_rank_test

SCORES = ("Harrell's C", "Uno's C")
"""Scores of held-out risks."""

GROUPS = 2
"""Number of risk groups."""

BATCH = 2**18
"""Bootstrap weights that are summed at a time."""

DIGITS = 9
"""Significant digits of numbers in a file."""


@dataclass(frozen=True, eq=False)
class HeldOutRisks:
    """Risks of samples that the model has not seen: of cross-validation, or of another cohort.

    Parameters
    ----------
    time, event
        Time of each sample, and whether the event was observed, (m,).
    risks
        Risk of each sample in each repetition, by the model of its fold, (repeats, m).
    places
        Place of each risk among those of the training samples of its model, from 0 (lowest) to 1, (repeats, m). Risks
        of different models are not comparable, and places are.
    weights
        1 / G(t)² of each sample, with G estimated from the times of its training part (see `concordance_index`); 0
        where G is 0, (repeats, m).
    folds
        Fold of each sample, whose risks belong to one model, (repeats, m).
    strata
        Number of the stratum of each sample, (m,): only samples of one stratum are compared; None for one of all.
    groups
        Number of the group of each sample, (m,), whose samples are drawn together for intervals; None for none.

    Examples
    --------
    >>> time, event, risks = np.array([1.0, 2.0, 3.0]), np.array([True, True, False]), np.array([[0.9, 0.1, 0.5]])
    >>> found = HeldOutRisks(time, event, risks, risks, np.ones((1, 3)), np.zeros((1, 3), dtype=int))
    >>> found.scores(draws=0).set_index("score")["value"].round(3).to_dict()
    {"Harrell's C": 0.667, "Uno's C": 0.667}
    >>> found.risk_groups().tolist()
    ['high risk', 'low risk', 'high risk']
    """

    time: Floats
    event: Array
    risks: Floats
    places: Floats
    weights: Floats
    folds: Indices
    strata: Indices | None = None
    groups: Indices | None = None

    def scores(self, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0) -> Any:
        """Table of concordance indices, with intervals of a bootstrap of the samples with and without an event.

        Pairs are those within a fold and a stratum. A score is the mean over the repetitions. For an interval samples
        (or whole groups) are drawn with replacement, and all their repetitions with them. It tells what other samples
        of this population would change, and not what other training samples would.

        Parameters
        ----------
        level
            Coverage of the intervals.
        draws
            Bootstrap samples; 0 for no intervals.
        seed
            Seed of the bootstrap.

        Returns
        -------
        DataFrame with the columns score, value, low and high, and a row for Harrell's and for Uno's index; NaN without
        a comparable pair. For Uno's, events at times at which all training samples are censored do not count.
        """
        import pandas as pd

        if not 0 < level < 1:
            raise InputError(f"level must be between 0 and 1; got {level!r}")
        whole_number(draws, "draws", 0)
        table = pd.DataFrame({"score": SCORES, "value": self._indices(np.ones((len(self.time), 1)))[:, 0]})
        if draws:
            drawn = np.concatenate([self._indices(counts) for counts in self._drawn(draws, seed)], axis=1)
            tails = [(1 - level) / 2, (1 + level) / 2]
            known = [own[~np.isnan(own)] for own in drawn]
            ends = [np.quantile(own, tails) if len(own) else (np.nan, np.nan) for own in known]
            table["low"], table["high"] = zip(*ends, strict=True)
        return table

    def risk_groups(self, count: int = GROUPS) -> Array:
        """Risk group of each sample, (m,), by the mean of its places over the repetitions.

        A place is in group g of ``count`` if it is from (g − 1)/count to g/count: the cut-offs are quantiles of the
        training risks of each model, so that each sample is grouped alone.
        """
        return np.array(group_names(count))[self._group_numbers(count)]

    def curves(self, count: int = GROUPS, *, level: float = LEVEL) -> SurvivalCurves:
        """Kaplan-Meier curves of the risk groups, the lowest first; see `kaplan_meier`."""
        found = kaplan_meier(self.time, self.event, self._group_numbers(count), level=level)
        return SurvivalCurves(_named(found.table, count), _named(found.medians, count))

    def log_rank(self, count: int = GROUPS) -> LogRankTest:
        """Log-rank test of the risk groups, within strata if there are any; see `log_rank_test`.

        Held-out risks of one cross-validation depend on one another a little, so that its p-value is approximate.

        Raises
        ------
        InputError
            If no two risk groups are at risk together when an event happens.
        """
        found = log_rank_test(self.time, self.event, self._group_numbers(count), strata=self.strata)
        return LogRankTest(found.statistic, found.pvalue, found.df, _named(found.table, count))

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON: numbers with nine digits."""
        out: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value.dtype.kind == "f":
                value = np.array([f"{x:.{DIGITS}g}" for x in value.ravel()], dtype=np.float64).reshape(value.shape)
            out[field.name] = None if value is None else value.tolist()
        return out

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> HeldOutRisks:
        """Restore risks from the output of `to_dict`."""
        kinds: dict[str, Any] = dict.fromkeys(("time", "risks", "places", "weights"), np.float64) | {"event": np.bool_}
        given = {field.name: values[field.name] for field in fields(cls)}
        found: dict[str, Any] = {
            name: None if value is None else np.array(value, dtype=kinds.get(name, np.intp))
            for name, value in given.items()
        }
        return cls(**found)

    # Parts ---------------------------------------------------------------------------------------------------------

    def _group_numbers(self, count: int) -> Indices:
        whole_number(count, "count", 2)
        return np.minimum((self.places.mean(axis=0) * count).astype(np.intp), count - 1)

    def _drawn(self, draws: int, seed: int) -> Iterator[Floats]:
        """Draw samples with replacement, with and without an event, or whole groups: numbers of times, (m, draws)."""
        rng, m = np.random.default_rng(seed), len(self.time)
        if self.groups is None:
            units, numbers = self.event.astype(np.intp), np.arange(m)
        else:
            numbers = np.unique(self.groups, return_inverse=True)[1]
            units = np.zeros(numbers.max() + 1, dtype=np.intp)
        members = [np.flatnonzero(units == unit) for unit in np.unique(units)]
        at_once = max(1, BATCH // m)
        for start in range(0, draws, at_once):
            counts = np.zeros((len(units), min(at_once, draws - start)))
            for column in range(counts.shape[1]):
                for own in members:
                    np.add.at(counts[:, column], rng.choice(own, len(own)), 1.0)
            yield counts[numbers]

    def _indices(self, counts: Floats) -> Floats:
        """Harrell's and Uno's index of weighted samples, (2, columns); mean over the repetitions."""
        columns, found = counts.shape[1], []
        later = np.concatenate([counts, counts], axis=1)
        strata = np.zeros(len(self.time), dtype=np.intp) if self.strata is None else self.strata
        for risks, weights, folds in zip(self.risks, self.weights, self.folds, strict=True):
            earlier = later * self.event[:, None]
            earlier[:, columns:] *= weights[:, None]
            sums = np.zeros((2, 2 * columns))
            parts = np.unique(np.stack([folds, strata]), axis=1, return_inverse=True)[1].ravel()
            for part in range(parts.max() + 1):
                own = np.flatnonzero(parts == part)
                sums += weighted_pairs(self.time[own], self.event[own], risks[own], earlier[own], later[own])
            with np.errstate(invalid="ignore"):
                found.append(np.where(sums[1] > 0, sums[0] / sums[1], np.nan))
        values = np.array(found)
        known = (values == values).sum(axis=0)
        return (np.nansum(values, axis=0) / np.where(known, known, np.nan)).reshape(2, columns)


def places_among(training: Floats, risks: Floats) -> Floats:
    """Place of each risk among those of the training samples, from 0 to 1; equal ones count one half."""
    known = np.sort(training)
    below, up_to = (np.searchsorted(known, risks, side=side) for side in ("left", "right"))
    return (below + up_to) / (2 * len(known))


def inverse_square_chances(time: Floats, event: Array, at: Floats) -> Floats:
    """1 / G(t)² at some times, with G of training samples; 0 where G is 0."""
    G = chance_uncensored(time, event, at)
    return np.divide(1.0, G**2, out=np.zeros_like(G), where=G > 0)


def group_names(count: int) -> list[str]:
    """Names of risk groups, the lowest first.

    Examples
    --------
    >>> group_names(3), group_names(4)[1]
    (['low risk', 'middle risk', 'high risk'], 'risk group 2 of 4')
    """
    if whole_number(count, "count", 2) > 3:
        return [f"risk group {number} of {count}" for number in range(1, count + 1)]
    return ["low risk", "middle risk", "high risk"] if count == 3 else ["low risk", "high risk"]


def _named(table: Any, count: int) -> Any:
    """Replace the numbers of groups by their names."""
    names = group_names(count)
    return table.assign(group=[names[number] for number in table["group"]])
