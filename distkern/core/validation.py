"""Checks of samples before a kernel computes with them. Each message names the culprit and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from distkern.core.errors import InputError, SampleError
from distkern.core.sentences import Argument, Sentence
from distkern.core.typing import Array
from distkern.core.warning import warn

Names = Sequence[str] | None


def name_of(position: int, names: Names) -> str:
    """Return the name of a sample or feature for messages: its own name if it has one, else its position."""
    return f"number {position}" if names is None else repr(names[position])


def refuse_nan(X: Any, ids: Names = None, features: Names = None) -> None:
    """Raise SampleError at the first NaN, of samples in an array or in a canonical SciPy CSR array."""
    if wrong := first_wrong(X, np.isnan):
        row, col = wrong
        raise SampleError(
            "sample {sample} has no value (NaN) for feature {feature}: leave the feature or the sample out, or fill "
            "the value in, before computing this kernel",
            row,
            sample=name_of(row, ids),
            feature=name_of(col, features),
        )


def refuse_infinite(X: Any, ids: Names = None, features: Names = None) -> None:
    """Raise SampleError at the first infinite value, because inner products with it are not finite."""
    if wrong := first_wrong(X, np.isinf):
        row, col = wrong
        raise SampleError(
            "sample {sample} has an infinite value for feature {feature}: this kernel needs finite values (kernels on "
            "orderings accept infinite ones)",
            row,
            sample=name_of(row, ids),
            feature=name_of(col, features),
        )


def first_wrong(X: Any, is_wrong: Callable[[Array], Array]) -> tuple[int, int] | None:
    """First sample and feature with a wrong value; a zero is none, so that a sparse array is not made dense."""
    if not hasattr(X, "indptr"):
        where = is_wrong(X)
        row, col = np.argwhere(where)[0].tolist() if where.any() else (-1, -1)
    else:
        wrong = np.flatnonzero(is_wrong(X.data))[:1]
        row, col = int(np.searchsorted(X.indptr, wrong, "right").sum()) - 1, int(X.indices[wrong].sum())
    return None if row < 0 else (row, col)


def refuse_not_finite(
    values: Array, rows: Names = None, cols: Names = None, *, same: bool = False, dtype: str = "float64"
) -> None:
    """Raise SampleError at the first kernel value that is infinite or NaN, with the names of its two samples.

    Parameters
    ----------
    values
        k(x, y), (samples, samples), or k(x, x), (samples,).
    rows, cols
        Names of the samples x and of the samples y; positions by default.
    same
        Whether rows and columns are the same samples.
    dtype
        Type as which the values are stored.
    """
    with np.errstate(over="ignore"):
        wrong = ~np.isfinite(values.astype(dtype, copy=False))
    if not wrong.any():
        return
    lone = np.flatnonzero(wrong if values.ndim == 1 else wrong.diagonal() if same else [])
    row, col = (int(lone[0]),) * 2 if len(lone) else (int(position) for position in np.argwhere(wrong)[0])
    alone = same or values.ndim == 1
    whose = name_of(row, rows) if alone and row == col else f"{name_of(row, rows)} and {name_of(col, cols)}"
    raise SampleError(
        "{value} is {number} for {samples} {whose}, no number that {dtype} holds: {remedy}{wider}",
        row,
        value="k(x, x)" if alone and row == col else "k(x, y)",
        number=float(values[row] if values.ndim == 1 else values[row, col]),
        samples="sample" if alone and row == col else "the samples",
        whose=whose,
        dtype=dtype,
        remedy="the values are too large or too small for the parameters of the kernel, so scale them",
        wider=Sentence(", or use {dtype}", dtype=Argument("dtype", "float64")) if dtype == "float32" else "",
    )


def refuse_constant(X: Any, ids: Names = None, remedy: str | Sentence = "leave it out") -> None:
    """Raise SampleError at the first sample whose features are all tied, because it orders no pair."""
    constant = are_constant(X)
    if constant.any():
        raise constant_sample(int(np.flatnonzero(constant)[0]), ids, remedy)


def are_constant(X: Any) -> Array:
    """Whether all values of each sample are equal."""
    if not hasattr(X, "indptr"):
        return X.min(axis=1) == X.max(axis=1)
    filled, n = np.diff(X.indptr), X.shape[1]
    constant = filled == 0
    for row in np.flatnonzero(filled == n).tolist():
        values = X.data[X.indptr[row] : X.indptr[row + 1]]
        constant[row] = values.min() == values.max()
    return constant


def constant_sample(row: int, ids: Names, remedy: str | Sentence) -> SampleError:
    """Return the error for a sample whose features are all tied."""
    return SampleError(
        "sample {sample} is constant, so it orders no pair of features: {remedy}",
        row,
        sample=name_of(row, ids),
        remedy=remedy,
    )


def warn_of_constant(constant: Array, ids: Names = None, start: int = 0) -> None:
    """Warn of new samples that order no pair of features: a model predicts the same for all of them.

    Parameters
    ----------
    constant
        Whether each sample does not order any.
    ids
        Names of all samples.
    start
        Position of the first of these samples among all.

    Examples
    --------
    >>> warn_of_constant(np.array([False, False]), ["patient 1", "patient 2"])
    """
    rows = (np.flatnonzero(constant) + start).tolist()
    if rows:
        named = ", ".join(name_of(row, ids) for row in rows[:3]) + (", …" if len(rows) > 3 else "")
        which = "1 sample ties" if len(rows) == 1 else f"{len(rows):,} samples tie"
        warn(f"{which} all features, so that what is predicted there says nothing of the sample: {named}")


def refuse_single_feature(X: Any) -> None:
    """Raise InputError if there are fewer than two features."""
    if X.shape[1] < 2:
        raise InputError(f"kernels on orderings compare pairs of features; the samples have {X.shape[1]}")


def some_names(names: Sequence[str]) -> str:
    """Return the first three names in quotes, for messages."""
    return ", ".join(map(repr, names[:3])) + (", …" if len(names) > 3 else "")


def are_named(names: Names) -> bool:
    """Whether features have names of their own: neither None nor the positions "0", "1" and so on."""
    return names is not None and any(name != str(position) for position, name in enumerate(names))


def warn_without_names(known: Names, new: Names, whose: str) -> None:
    """Warn if the stored or training samples have names of features and the new ones do not: position decides then.

    Examples
    --------
    >>> warn_without_names(("TP53", "MYC"), ("TP53", "MYC"), "X")
    >>> warn_without_names(None, ("TP53", "MYC"), "X")
    """
    if known is not None and are_named(known) and not are_named(new):
        warn(
            f"{whose} does not have valid feature names, but the earlier samples have some ({some_names(known)}): its "
            "columns are taken to be the same features in the same order"
        )
