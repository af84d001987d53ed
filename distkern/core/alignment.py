"""The one alignment of values that carry names with the samples that they belong to.

Names decide wherever both sides have names: a pandas Series as labels, weights or groups must have the names of the
samples, in their order. Values without names, and those of samples without names, are taken by position.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.containers import AxisNames, plain
from distkern.core.errors import InputError
from distkern.core.typing import Array, Indices


@dataclass(frozen=True)
class SampleNames:
    """The samples of a matrix or a cohort, as far as they have names.

    Parameters
    ----------
    count
        Number of samples.
    ids
        Their names; None if they have only positions.
    positions
        Their positions in the whole matrix, if these are known: a slice of a matrix keeps those of its parent.
    sliced
        Whether they are some samples of a matrix.
    whose
        What they are the samples of, for messages.
    listed
        The names as a Python expression, for messages.
    """

    count: int
    ids: tuple[str, ...] | None = None
    positions: Indices | None = None
    sliced: bool = False
    whose: str = "the matrix"
    listed: str = "list(gram.ids)"

    def take(self, rows: Indices) -> SampleNames:
        """Select some samples, which keep their names and positions."""
        ids = None if self.ids is None else tuple(self.ids[row] for row in rows)
        positions = np.arange(self.count)[rows] if self.positions is None else self.positions[rows]
        return SampleNames(len(rows), ids, positions, True, self.whose, self.listed)

    def name(self, position: int) -> str:
        """Return the name of a sample for messages: its own name in quotes, else its position."""
        return str(position) if self.ids is None else repr(self.ids[position])

    @property
    def numbered(self) -> bool:
        """Whether the names are the positions, as in a matrix of samples without names."""
        positions = range(self.count) if self.positions is None else self.positions
        return self.ids is not None and all(
            name == str(position) for name, position in zip(self.ids, positions, strict=True)
        )


def as_sample_names(samples: Any) -> SampleNames:
    """Convert a Gram matrix, a list of names or a number of samples to `SampleNames`; return other values as is."""
    if isinstance(samples, (int, np.integer)):
        return SampleNames(int(samples))
    if isinstance(samples, (tuple, list)):
        return SampleNames(len(samples), tuple(samples))
    return getattr(samples, "row_samples", samples)


def aligned(values: Any, samples: Any, what: str) -> Array:
    """Check that an array-like has the names of the samples in their order, and return its values.

    Parameters
    ----------
    values
        Labels, weights, groups or targets, (m,) or (m, k). A pandas Series or DataFrame has names unless its index
        counts from 0. Missing and masked values become NaN or None.
    samples
        The m samples: `SampleNames`, a Gram matrix, or their number.
    what
        Name of the values in messages.

    Raises
    ------
    InputError
        If both sides have names and they are not the same names in the same order, or the values are one text.

    Warns
    -----
    UserWarning
        If samples in memory and the values have numbers as names on one side and texts on the other: such numbers
        remain of a default index after some rows were taken, so that the values are taken by position.

    Examples
    --------
    >>> import pandas as pd
    >>> samples = SampleNames(2, ("p", "q"))
    >>> aligned(pd.Series([1, 2], index=["p", "q"]), samples, "y"), aligned([1, 2], samples, "y")
    (array([1, 2]), array([1, 2]))
    >>> aligned(pd.Series([1, 2], index=["q", "p"]), samples, "y")
    Traceback (most recent call last):
    distkern.core.errors.InputError: y has the samples of the matrix in another order (number 0 is 'q', not 'p'): ...
    """
    if isinstance(values, str):
        raise InputError(
            f"{what} must hold a value for each sample, not the text {values!r}: give the values of the column of this "
            f"name, as in X.obs[{values!r}]"
        )
    found = plain(values, what)
    refuse_other_names(found.names[0] if found.names else None, samples, what)
    return found.values


def refuse_other_names(names: AxisNames, samples: Any, what: str, remedy: str | None = None) -> None:
    """Refuse names that differ from the names of the samples, or are in another order.

    Nothing is compared if one side has no names.

    Parameters
    ----------
    names
        Names that the values carry, or None.
    samples
        See `aligned`.
    what
        What carries the names, for messages.
    remedy
        How to align it, for messages; by default as a pandas object.

    Raises
    ------
    InputError
        If the names differ, or are the same in another order.

    Examples
    --------
    >>> refuse_other_names(("p", "x"), SampleNames(2, ("p", "q")), "y")
    Traceback (most recent call last):
    distkern.core.errors.InputError: y has no value for 1 of 2 samples of the matrix, the first of them 'q': ...
    """
    known = as_sample_names(samples)
    if names is None or known.ids is None or tuple(names) == known.ids:
        return
    align = remedy or f"align it, as in {what}.loc[{known.listed}]"
    if sorted(names) == sorted(known.ids):
        raise _other_order(names, known, what, align)
    if len(names) == known.count and _taken_by_position(names, known, what):
        return
    raise _other_names(names, known, what, align)


def _taken_by_position(names: Sequence[str], known: SampleNames, what: str) -> bool:
    """Whether the names of one side only count the rows of a table: numbers, where the other side has texts."""
    assert known.ids is not None
    if known.numbered:  # the matrix has no names of its own
        return True
    mine, theirs = _numbers(names), _numbers(known.ids)
    if mine is not None and known.positions is not None and np.array_equal(mine, known.positions):
        return True
    if (mine is None) == (theirs is None):
        return False
    rows = theirs if mine is None else mine
    assert rows is not None
    if not known.sliced and (np.diff(rows) == 1).all():
        return True
    if known.positions is not None or np.array_equal(np.sort(rows), np.arange(known.count)):
        return False
    numbered, named = (known.whose, what) if mine is None else (what, known.whose)
    warnings.warn(
        f"{numbered} has numbers as names and {named} has texts, so that {what} is taken by position: give {what} the "
        f"names of the samples, or no names, as in {what}.to_numpy()",
        UserWarning,
        stacklevel=2,
    )
    return True


def _numbers(names: Sequence[str]) -> Indices | None:
    """Names as whole numbers; None if one of them is a text."""
    if not all(name.isascii() and name.isdecimal() and len(name) < 16 for name in names):
        return None
    return np.array(list(map(int, names)), dtype=np.int64)


def _other_order(names: Sequence[str], known: SampleNames, what: str, align: str) -> InputError:
    assert known.ids is not None
    first = next(k for k, pair in enumerate(zip(names, known.ids, strict=True)) if pair[0] != pair[1])
    return InputError(
        f"{what} has the samples of {known.whose} in another order (number {first} is {names[first]!r}, not "
        f"{known.ids[first]!r}): {align}"
    )


def _other_names(names: Sequence[str], known: SampleNames, what: str, align: str) -> InputError:
    assert known.ids is not None
    mine, theirs = set(names), set(known.ids)
    absent = [name for name in known.ids if name not in mine]
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if not names:
        return InputError(f"{what} is empty: give a value for each of the {known.count} samples of {known.whose}")
    if not mine & theirs:
        return InputError(
            f"{what} and {known.whose} have no name in common ({names[0]!r} is not {known.ids[0]!r}): give {what} the "
            f"names of the samples and {align}; without names it is taken by position"
        )
    if repeated is not None:
        return InputError(f"{what} has the sample {repeated!r} more than once: give one value for each sample")
    if absent:
        return InputError(
            f"{what} has no value for {len(absent)} of {known.count} samples of {known.whose}, the first of them "
            f"{absent[0]!r}: add them, or leave those samples out, and {align}"
        )
    stranger = next(name for name in names if name not in theirs)
    return InputError(f"{what} has the sample {stranger!r}, which {known.whose} does not have: {align}")
