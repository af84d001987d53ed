"""Stratified cross-validation splits, nested, by samples or by groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.parameters import one_of, whole_number
from distkern.core.typing import Array, Indices

Split = tuple[Indices, Indices]

Nested = tuple[Indices, Indices, list[Split]]
"""Training and test positions of an outer fold, and its inner folds as positions within the training part."""

MOST_SEED = 2**31 - 1
"""Largest seed: that of the last fold must be one of NumPy, less than 2³²."""


@dataclass(frozen=True, eq=False)
class Folds:
    """Nested stratified splits, validated before any model is fitted.

    Parameters
    ----------
    labels, groups
        Label and group of each sample, (m,); no groups if None.
    inner
        Number of inner folds; None for none.
    seed
        Seed of the shuffles.
    """

    labels: Array
    groups: Array | None
    inner: int | None
    seed: int

    def outer(self, count: int, repeats: int) -> Iterator[Nested]:
        """Training and test positions of each outer split, and its inner splits as positions within the training part.

        ``count`` is the number of outer folds.
        """
        whole_number(repeats, "repeats", 1)
        if whole_number(self.seed, "seed", 0) > MOST_SEED:
            raise InputError(f"seed must be at most {MOST_SEED:,}; got {self.seed!r}")
        every = np.arange(len(self.labels))
        for repeat in range(repeats):
            for fold, (train, test) in enumerate(self._split(every, count, self.seed + repeat, "outer")):
                seed = self.seed + repeat * count + fold
                yield train, test, list(self._split(train, self.inner, seed, "inner")) if self.inner is not None else []

    def leaving_out(self, units: Array) -> Iterator[Nested]:
        """Splits of which each leaves out the samples of one unit, such as a cohort or a group, and their inner splits.

        Raises
        ------
        InputError
            If there is one unit only, or a class is in no sample of a training part.
        """
        found = np.unique(units)
        if len(found) < 2:
            raise InputError(
                f"all samples are of {found[0].item()!r}: two cohorts or groups are needed to leave one out"
            )
        for number, unit in enumerate(found):
            train, test = np.flatnonzero(units != unit), np.flatnonzero(units == unit)
            absent = np.setdiff1d(self.labels, self.labels[train])
            if len(absent):
                raise InputError(
                    f"{np.asarray(unit).item()!r} has all samples of class {absent.item(0)!r}: it cannot be left out"
                )
            yield train, test, list(self._split(train, self.inner, self.seed + number, "inner")) if self.inner else []

    def _split(self, samples: Indices, count: int, seed: int, which: str) -> Iterator[Split]:
        labels = self.labels[samples]
        self._check(samples, count, which)
        options = {"n_splits": count, "shuffle": True, "random_state": seed}
        if self.groups is None:
            yield from StratifiedKFold(**options).split(labels, labels)
            return
        for train, test in StratifiedGroupKFold(**options).split(labels, labels, self.groups[samples]):
            absent = np.setdiff1d(labels, labels[train])
            if len(absent):
                raise InputError(
                    f"one of the {count} {which} folds of groups takes all samples of class {absent.item(0)!r}: "
                    "use fewer folds, another seed or smaller groups"
                )
            yield train, test

    def _check(self, samples: Indices, count: int, which: str) -> None:
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 2:
            raise InputError(f"there must be 2 {which} folds or more, not {count!r}")
        labels = self.labels[samples]
        where = "" if which == "outer" else " of the training part of an outer fold"
        for label in np.unique(labels):
            of_class = labels == label
            units, size = "samples", int(of_class.sum())
            if self.groups is not None:
                units, size = "groups", len(np.unique(self.groups[samples][of_class]))
            if size < count:
                raise InputError(
                    f"class {np.asarray(label).item()!r} has {size} {units}{where}, too few for {count} {which} folds: "
                    "use fewer folds, or leave the class out"
                )


def left_out(outer: int | str, cohorts: Any, groups: Array | None, samples: Any) -> tuple[str, Array] | None:
    """What each split leaves out: the cohorts, or the groups; None for a number of outer folds.

    Returns
    -------
    The name of the protocol, and the unit of each sample, (m,).
    """
    if cohorts is not None:
        names, codes = encoded_labels(cohorts, samples, "cohorts")
        return "leave-one-cohort-out", np.asarray(names)[codes]
    if not isinstance(outer, str):
        return None
    one_of(outer, "outer", ("leave-one-group-out",))
    if groups is None:
        raise InputError("leave-one-group-out needs groups: name the group of each sample")
    return "leave-one-group-out", groups
