"""Samples, targets and parameters in all containers, good, odd and bad, each with what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import anndata
import dask.array
import numpy as np
import pandas as pd
from scipy import sparse


@dataclass(frozen=True, eq=False)
class Given:
    """Input and its meaning.

    Parameters
    ----------
    value
        What is given.
    values
        Its meaning as plain numbers or labels, with NaN or None for what is missing; None if it has no meaning.
    what
        The container in words.
    plain
        Whether it must be accepted.
    ids, features
        Names that the samples and features must have; None where they have none.
    by_position
        For values with names of their own: what they mean beside samples without names.
    """

    value: Any
    values: Any
    what: str
    plain: bool = False
    ids: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    by_position: Any = None

    def beside(self, named: bool) -> Any:
        """The meaning beside samples that have names, or none."""
        return self.values if named or self.by_position is None else self.by_position


ODD_NUMBERS: tuple[Any, ...] = (
    float("nan"), float("inf"), -float("inf"), -1, 0, -0.0, 1e308, 5e-324, 1e-170, 2**63, 10**400, "1", "", "median",
    None, True, False, [1.0], (), {}, np.array(1.0), np.array([1.0, 2.0]), np.float32(0.5), np.int64(3), 2 + 0j,
    Fraction(1, 2), Decimal("0.5"), b"1", pd.NA, np.ma.masked, datetime(2020, 1, 1), np.datetime64("2020"), object,
    float, "auto", "ж", "a\nb",
)  # fmt: skip
"""Values for a parameter that is a number, or for any other."""

NAMES = "abcdefghijklmnopqrstuvwxyz"


def pick(rng: np.random.Generator, among: Sequence[Any]) -> Any:
    """One of several things, whatever their types."""
    return among[int(rng.integers(len(among)))]


def numbers(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Values of samples, in one of many ranges."""
    match int(rng.integers(7)):
        case 0 | 1:
            return rng.normal(size=(m, n))
        case 2 | 3:
            return rng.integers(0, 4, (m, n)).astype(np.float64)
        case 4:
            return rng.normal(size=(m, n)) * 10.0 ** rng.integers(-200, 200)
        case 5:
            return rng.normal(size=(m, n)) + 10.0 ** rng.integers(1, 9)
        case _:
            return np.repeat(rng.normal(size=(1, n)), m, axis=0)


def _names(count: int, prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{NAMES[k % 26]}{k}" for k in range(count))


def samples(rng: np.random.Generator, m: int, n: int) -> Given:
    """Samples in a container: mostly whole numbers and names, sometimes with gaps, sometimes without any meaning."""
    draw = rng.random()
    if draw < 0.55:
        return _whole(rng, numbers(rng, m, n))
    if draw < 0.75:
        return _with_gaps(rng, numbers(rng, m, n))
    return _without_meaning(rng, m, n)


def _whole(rng: np.random.Generator, X: np.ndarray) -> Given:
    ids, features = _names(len(X), "s"), _names(X.shape[1], "f")
    whole = np.round(np.clip(X, -1e6, 1e6))
    frame = pd.DataFrame(X, index=list(ids), columns=list(features))
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    options = [
        Given(X, X, "array", True),
        Given(np.asfortranarray(X), X, "array in Fortran's order", True),
        Given(np.repeat(X, 2, axis=1)[:, ::2], X, "every second column of an array", True),
        Given(X.tolist(), X, "list of lists", True),
        Given(tuple(map(tuple, X)), X, "tuple of tuples"),
        Given(whole.astype(np.int64), whole, "array of int64", True),
        Given(whole.astype(np.int64).astype(object), whole, "array of Python integers"),
        Given((X > 0), (X > 0).astype(float), "array of bool"),
        Given(single, single.astype(np.float64), "array of float32", bool(np.isfinite(single).all())),
        Given(frame, X, "DataFrame", True, ids, features),
        Given(frame.astype("Float64"), X, "DataFrame of Float64", False, ids, features),
        Given(frame.set_axis(range(5, 5 + X.shape[1]), axis=1), X, "DataFrame with integers as columns"),
        Given(np.ma.masked_array(X), X, "masked array without a mask"),
        Given(np.ma.masked_array(X, mask=np.zeros(X.shape, bool)), X, "masked array with nothing masked"),
        Given(dask.array.from_array(X, chunks=(2, -1)), X, "Dask array"),
        Given(sparse.csr_matrix(X), X, "CSR matrix"),
        Given(sparse.coo_array(X), X, "COO array"),
        Given(anndata.AnnData(X, frame[[]], frame.T[[]]), X, "AnnData", False, ids, features),
        Given(np.matrix(X), X, "np.matrix"),
        Given(X.astype(str), X, "array of text with numbers"),
        Given(X[:, :, None], None, "array of three dimensions"),
    ]
    return pick(rng, options)


def _with_gaps(rng: np.random.Generator, X: np.ndarray) -> Given:
    gaps = rng.random(X.shape) < 0.2
    gaps[rng.integers(len(X)), rng.integers(X.shape[1])] = True
    meant = np.where(gaps, np.nan, X)
    frame = pd.DataFrame(meant, index=list(_names(len(X), "s")), columns=list(_names(X.shape[1], "f")))
    objects = np.where(gaps, None, X.astype(object))
    masked = np.ma.masked_array(X, mask=gaps)
    return pick(
        rng,
        [
            Given(meant, meant, "array with NaN"),
            Given(objects, meant, "array with None"),
            Given(objects.tolist(), meant, "list with None"),
            Given(masked, meant, "masked array"),
            Given(np.ma.masked_array(np.where(gaps, 0.0, X), mask=gaps), meant, "masked array of zeros"),
            Given(
                [np.ma.masked_array(row, mask=hole) for row, hole in zip(X, gaps, strict=True)], meant, "masked rows"
            ),
            Given(frame, meant, "DataFrame with NaN"),
            Given(frame.astype("Float64"), meant, "DataFrame of Float64 with NA"),
            Given(frame.astype(object).where(~gaps, pd.NA), meant, "DataFrame of objects with NA"),
            Given(dask.array.from_array(masked, chunks=(2, -1)), meant, "Dask array with masked blocks"),
            Given(dask.array.from_array(meant, chunks=(-1, 2)), meant, "Dask array with NaN"),
            Given(anndata.AnnData(meant), meant, "AnnData with NaN"),
        ],
    )


def _without_meaning(rng: np.random.Generator, m: int, n: int) -> Given:
    X = rng.normal(size=(m, n))
    text = np.array([[f"w{i}{j}" for j in range(n)] for i in range(m)])
    mixed = X.astype(object)
    mixed[0, 0] = "high"
    infinite = X.copy()
    infinite[rng.integers(m), rng.integers(n)] = pick(rng, [np.inf, -np.inf])
    return pick(
        rng,
        [
            Given(infinite, infinite, "array with an infinite value"),
            Given(text, None, "text"),
            Given(mixed, None, "numbers and a word"),
            Given(X + 1j, None, "complex numbers"),
            Given(np.zeros((0, n)), None, "no samples"),
            Given(np.zeros((m, 0)), None, "no features"),
            Given([], None, "an empty list"),
            Given([[]] * m, None, "empty rows"),
            Given(X[0], None, "one dimension"),
            Given(X[None], None, "three dimensions"),
            Given(3.0, None, "a number"),
            Given(None, None, "None"),
            Given("X", None, "a word"),
            Given({"a": [1, 2]}, None, "a dict"),
            Given({1, 2}, None, "a set"),
            Given((row for row in X), None, "a generator"),
            Given([[1.0, 2.0], [3.0]], None, "rows of unequal lengths"),
            Given(np.full((m, n), np.datetime64("2020-01-01")), None, "dates"),
            Given(pd.DataFrame({"a": ["x"] * m, "b": range(m)}), None, "a DataFrame with text"),
            Given(pd.Series(X[0]), None, "a Series"),
            Given(object(), None, "an object"),
            Given(np.full((m, n), np.nan), np.full((m, n), np.nan), "nothing but NaN"),
        ],
    )


def targets(rng: np.random.Generator, y: np.ndarray, ids: Sequence[str]) -> Given:
    """Labels or numbers of samples with names ``ids``, in a container, good or bad."""
    number = y.dtype.kind == "f"
    order = rng.permutation(len(y))
    named = pd.Series(y, index=list(ids))
    missing = y.astype(object)
    missing[rng.integers(len(y))] = pick(rng, [None, np.nan, pd.NA, pd.NaT])
    infinite = y.copy()
    mask = np.zeros(len(y), bool)
    mask[rng.integers(len(y))] = True
    if number:
        infinite[0] = np.inf
    return pick(
        rng,
        [
            Given(y, y, "array", True),
            Given(list(y), y, "list", True),
            Given(y.astype(object), y, "array of objects"),
            Given(pd.Series(y), y, "Series", True),
            Given(named, y, "Series with the ids", True),
            Given(named.iloc[order], y, "Series with the ids in another order", by_position=y[order]),
            Given(pd.Series(y, index=[f"z{k}" for k in range(len(y))]), None, "Series with other ids", by_position=y),
            Given(pd.Series(y, index=[*ids[:-1], ids[0]]), None, "Series with an id twice", by_position=y),
            Given(pd.Series(y).astype("category"), y, "categorical Series"),
            Given(pd.Series(y).convert_dtypes(), y, "Series of nullable values"),
            Given(pd.DataFrame({"y": y}), y, "DataFrame of one column"),
            Given(y[:, None], y, "one column"),
            Given(np.ma.masked_array(y, mask=False), y, "masked array with nothing masked"),
            Given(np.ma.masked_array(y, mask=mask), None, "masked array"),
            Given(missing, None, "objects with a gap"),
            Given(list(missing), None, "list with a gap"),
            Given(pd.Series(missing, index=list(ids)), None, "Series with a gap"),
            Given(pd.Series(missing).astype("category"), None, "categorical Series with a gap"),
            Given(infinite if number else y[:0], None, "an infinite value" if number else "nothing"),
            Given(y[:-1], None, "one too few"),
            Given(np.append(y, y[:1]), None, "one too many"),
            Given([], None, "an empty list"),
            Given(None, None, "None"),
            Given(5, None, "a number"),
            Given("label", None, "a word"),
            Given([y], None, "a list in a list"),
            Given(
                [[value, value] for value in y] if not number else np.stack([y] * 2, 1)[None], None, "more dimensions"
            ),
            Given({"a": 1}, None, "a dict"),
            Given(y + 1j if number else np.array([object() for _ in y]), None, "complex numbers or objects"),
            Given(dask.array.from_array(y), y, "Dask array"),
        ],
    )


def weights(rng: np.random.Generator, m: int, ids: Sequence[str]) -> Given:
    """Weights of samples, good or bad."""
    w = rng.integers(1, 4, m).astype(np.float64)
    bad = w.copy()
    bad[rng.integers(m)] = pick(rng, [-1.0, np.nan, np.inf, -1e-300])
    mask = np.zeros(m, bool)
    mask[0] = True
    order = rng.permutation(m)
    named = pd.Series(w, index=list(ids)).iloc[order]
    return pick(
        rng,
        [
            Given(None, np.ones(m), "no weights", True),
            Given(w, w, "weights", True),
            Given(list(w), w, "list of weights", True),
            Given(named, w, "weights in another order", by_position=w[order]),
            Given(pd.Series(w, index=[f"z{k}" for k in range(m)]), None, "weights with other ids", by_position=w),
            Given(bad, None, "a weight that is negative or missing"),
            Given(np.ma.masked_array(w, mask=mask), None, "masked weights"),
            Given(np.zeros(m), None, "weights that are all zero"),
            Given(w[:-1], None, "too few weights"),
            Given(w.astype(str), w, "weights as text"),
            Given(w[:, None] * np.ones(2), None, "a matrix of weights"),
            Given("balanced", None, "a word"),
            Given(w + 0j, None, "complex weights"),
        ],
    )
