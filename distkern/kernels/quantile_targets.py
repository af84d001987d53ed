"""Targets of quantile normalisation: by formula, given, or learned from a cohort of any size.

A target is f_0 ≤ … ≤ f_{p−1}, the value of each rank. A learned one is, rank by rank, the mean or the median over the
samples of their sorted values. The mean takes one pass over the samples, with compensated sums in the order of the
samples. The median takes the sorted samples by blocks of ranks: in memory, or where they do not fit through a temporary
file, with the same bits.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from distkern.compiled.quantiles import add_rows
from distkern.core.allowance import allowed_bytes
from distkern.core.errors import InputError, MemoryLimitError, SampleError
from distkern.core.sentences import Argument, OptionalPart, Parameter
from distkern.core.typing import Floats, Indices
from distkern.core.units import readable_bytes
from distkern.core.validation import Names, first_wrong, name_of, refuse_infinite, refuse_nan
from distkern.core.warning import warn
from distkern.io.source import Source

LEARNED = ("median", "mean")
"""Targets that are learned from samples, by name."""

BY_FORMULA = ("normal", "uniform", "exponential", "cauchy")
"""Targets by name that are quantiles of a distribution."""

TIES = ("mean", "mid")
"""Treatments of equal values."""

MOST_SAMPLES = 20_000
"""Most samples that determine a median, unless more are asked for: a random subset above it, which is announced."""

LEARN_BYTES = 2**28
"""Bytes that learning a target may take where nothing else is allowed."""

FEWER = OptionalPart(", lower {most}, or raise {limit}", most=Parameter("max_samples"), limit=Parameter("memory_limit"))
"""What else helps where the sorted samples do not fit."""

PASS_BYTES = 2**26
"""Most bytes of samples that are read at a time."""

SHARES = 8
"""Memory of a pass over that of the samples that it reads at a time: read, checked, sorted, and copies of these."""


# By formula, or given -------------------------------------------------------------------------------------------------


def target_by_formula(name: str, n: int) -> Floats:
    """Quantiles of a distribution at u = (r + 1) / (n + 1) for the ranks r = 0 … n − 1.

    ``"normal"`` Φ⁻¹(u), ``"uniform"`` u, ``"exponential"`` −log(1 − u), ``"cauchy"`` tan(π (u − 1/2)).

    Examples
    --------
    >>> target_by_formula("uniform", 3), target_by_formula("cauchy", 3).round(12)
    (array([0.25, 0.5 , 0.75]), array([-1.,  0.,  1.]))
    """
    ranks = np.arange(n, dtype=np.float64)
    if name == "uniform":
        return (ranks + 1) / (n + 1)
    if name == "exponential":
        return np.log((n + 1) / (n - ranks))
    if name == "cauchy":
        return np.tan(np.pi * (2 * ranks + 1 - n) / (2 * (n + 1)))
    from scipy.special import ndtri  # here, so that workers need not load it for other targets

    return np.asarray(ndtri((ranks + 1) / (n + 1)), dtype=np.float64)


def checked_target(values: Any) -> Floats:
    """Validate a given target: two or more finite numbers in ascending order.

    Raises
    ------
    InputError
        If it is something else; names the first number out of order.

    Examples
    --------
    >>> checked_target([8, 9, 9, 11])
    array([ 8.,  9.,  9., 11.])
    >>> checked_target([1, 3, 2])
    Traceback (most recent call last):
    distkern.core.errors.InputError: the target must ascend, and number 2 is 2.0 after 3.0: sort it
    """
    try:
        target = np.array(np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan))
    except (TypeError, ValueError):
        target = np.zeros(())
    if target.ndim != 1 or len(target) < 2 or np.iscomplexobj(values):
        raise InputError(
            f"target must be {', '.join(map(repr, (*LEARNED, *BY_FORMULA)))}, or two numbers or more in ascending "
            f"order; got {values!r:.100}"
        )
    wrong = np.flatnonzero(~np.isfinite(target))
    if len(wrong):
        raise InputError(
            f"the target must be finite numbers, and number {wrong[0]} is {target[wrong[0]]}: leave it out"
        )
    falls = np.flatnonzero(target[1:] < target[:-1]) + 1
    if len(falls):
        first = int(falls[0])
        raise InputError(
            f"the target must ascend, and number {first} is {target[first]} after {target[first - 1]}: sort it"
        )
    return target


def refuse_other_length(target: Any, n: int) -> None:
    """Refuse a given target that does not have one number for each rank."""
    if len(target) != n:
        raise InputError(
            f"the target holds {len(target):,} numbers and the samples have {n:,} features: give one for each rank"
        )


# Learned --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learner:
    """How a target is learned.

    Parameters
    ----------
    how
        ``"mean"`` or ``"median"``, over the samples; or None: the samples are validated only.
    missing
        ``"interpolate"``: samples may have missing values, and the sorted observed ones are interpolated to all ranks.
        ``"error"``: they may not, and the message names the other treatment; None: there is no other one.
    max_samples
        Most samples that determine a median: a random subset of a larger cohort; None for all.
    seed
        Seed of that subset.
    limit
        Bytes of memory.
    """

    how: str | None
    missing: str | None = None
    max_samples: int | None = MOST_SAMPLES
    seed: int = 0
    limit: int | None = None

    def learn(self, source: Source) -> Floats:
        """Learn the target, (n,).

        Raises
        ------
        SampleError
            If a value is missing or infinite; names the sample and the feature.
        InputError
            If the values are so large that their mean is beyond what floating point holds.
        MemoryLimitError
            If the sorted samples fit neither in memory nor in the folder of temporary files.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            target = self._median(source) if self.how == "median" else self._mean(source)
        if not np.isfinite(target).all():
            raise InputError("the values are too large for a target: scale the data down")
        return np.maximum.accumulate(target)  # rounding must not turn two numbers around

    def validate(self, source: Source) -> None:
        """Refuse samples that `learn` would refuse."""
        for rows in self._blocks(source, np.arange(len(source))):
            read_block(source, rows, self.missing)

    def _mean(self, source: Source) -> Floats:
        sums, errors = np.zeros(source.shape[1]), np.zeros(source.shape[1])
        for rows in self._blocks(source, np.arange(len(source))):
            add_rows(self._sorted(source, rows), sums, errors)
        return (sums + errors) / len(source)

    def _median(self, source: Source) -> Floats:
        m, n = source.shape
        chosen = np.arange(m)
        if self.max_samples is not None and m > self.max_samples:
            chosen = np.sort(np.random.default_rng(self.seed).choice(m, self.max_samples, replace=False))
            warn(
                f"the median target is that of {len(chosen):,} random samples of {m:,}; the mean target takes all of "
                "them in one pass"
            )
        if 8 * len(chosen) * n <= self._allowed() // SHARES:
            return medians(np.concatenate([self._sorted(source, rows) for rows in self._blocks(source, chosen)]))
        return self._median_through_file(source, chosen)

    def _median_through_file(self, source: Source, chosen: Indices) -> Floats:
        n = source.shape[1]
        width = max(1, min(n, self._allowed() // (SHARES * 8 * len(chosen))))
        with _sorted_file(8 * len(chosen) * n, "" if self.missing is None else FEWER) as file:
            done = 0
            for rows in self._blocks(source, chosen):
                block = self._sorted(source, rows)
                for first in range(0, n, width):
                    part = block[:, first : first + width]
                    file.seek(8 * (first * len(chosen) + done * part.shape[1]))
                    file.write(np.ascontiguousarray(part).data)
                done += len(block)
            file.seek(0)
            widths = [min(width, n - first) for first in range(0, n, width)]
            return np.concatenate([medians(_read(file, len(chosen), columns)) for columns in widths])

    def _sorted(self, source: Source, rows: Indices) -> Floats:
        return sorted_samples(read_block(source, rows, self.missing), source.shape[1])

    def _blocks(self, source: Source, chosen: Indices) -> Iterator[Indices]:
        height = max(1, min(PASS_BYTES, self._allowed() // SHARES) // (8 * source.shape[1]))
        for start in range(0, len(chosen), height):
            yield chosen[start : start + height]

    def _allowed(self) -> int:
        known = [one for one in (self.limit, allowed_bytes()) if one is not None]
        return min(known, default=LEARN_BYTES)


def read_block(source: Source, rows: Indices | slice, missing: str | None = None) -> Any:
    """Read samples, as a canonical CSR array where zeros are not stored, and refuse values that cannot be ranked.

    Raises
    ------
    SampleError
        If a value is infinite, a sample has no value, or one is missing; see `Learner`.
    """
    block = source.read_sparse(rows) if source.sparse else source.read(rows)
    positions = range(len(source))[rows] if isinstance(rows, slice) else rows.tolist()
    ids = [str(k) if source.ids is None else source.ids[k] for k in positions]
    refuse_infinite(block, ids, source.features)
    if missing is None:
        refuse_nan(block, ids, source.features)
    elif missing == "error":
        _refuse_gaps(block, ids, source.features)
    else:
        _refuse_empty(block, ids)
    return block


def refuse_unranked(source: Source) -> None:
    """Refuse bags, and samples of one feature."""
    if source.ragged or source.shape[1] < 2:
        found = "bags have none" if source.ragged else "there is 1 (n_features = 1)"
        raise InputError(f"ranks compare two features or more, and {found}: give samples in rows, with more features")


def _refuse_gaps(block: Any, ids: Sequence[str], features: Names) -> None:
    """Refuse missing values, and name what takes them."""
    found = first_wrong(block, np.isnan)
    if found is not None:
        row, col = found
        raise SampleError(
            "sample {sample} has no value (NaN) for feature {feature}: fill it in, leave the sample or the feature "
            "out, or give {missing}",
            row,
            sample=name_of(row, ids),
            feature=name_of(col, features),
            missing=Argument("missing", "interpolate"),
        )


def _refuse_empty(block: Any, ids: Sequence[str]) -> None:
    """Refuse samples without a value."""
    for row in range(block.shape[0]):
        sparse = hasattr(block, "indptr")
        values = block.data[block.indptr[row] : block.indptr[row + 1]] if sparse else block[row]
        if len(values) == block.shape[1] and np.isnan(values).all():
            raise SampleError("sample {sample} has no value at all: leave it out", row, sample=name_of(row, ids))


def sorted_samples(block: Any, n: int) -> Floats:
    """Sorted values of each sample, (k, n); the observed ones of a sample with NaN are interpolated to all n ranks.

    Examples
    --------
    >>> sorted_samples(np.array([[5.0, 2.0, 3.0], [9.0, np.nan, 1.0]]), 3)
    array([[2., 3., 5.],
           [1., 5., 9.]])
    """
    if hasattr(block, "indptr"):
        result = np.zeros((block.shape[0], n))
        for row in range(block.shape[0]):
            values = np.sort(block.data[block.indptr[row] : block.indptr[row + 1]])
            below = int(np.searchsorted(values, 0))
            result[row, :below], result[row, n - len(values) + below :] = values[:below], values[below:]
    else:
        result = np.sort(block, axis=1)
    for row in np.flatnonzero(np.isnan(result[:, -1])).tolist():  # NaN is last
        observed = result[row, : n - int(np.isnan(result[row]).sum())]
        result[row] = np.interp(np.linspace(0, len(observed) - 1, n), np.arange(len(observed)), observed)
    return result


def medians(values: Floats) -> Floats:
    """Median of each column; the values lose their order."""
    return np.asarray(np.median(values, axis=0, overwrite_input=True), dtype=np.float64)


def _sorted_file(size: int, remedy: OptionalPart | str) -> Any:
    """Open a temporary file that vanishes when it is closed.

    Raises
    ------
    MemoryLimitError
        If its folder has no room for it.
    """
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if size > free:
        raise MemoryLimitError(
            "the sorted samples take {size}, and the folder {folder!r} of temporary files has {free}: set the variable "
            "TMPDIR to another folder{remedy}",
            size=readable_bytes(size),
            folder=folder,
            free=readable_bytes(free),
            remedy=remedy,
        )
    return tempfile.TemporaryFile(prefix="distkern-", suffix=".sorted")


def _read(file: BinaryIO, rows: int, columns: int) -> Floats:
    values = np.frombuffer(bytearray(file.read(8 * rows * columns)), dtype=np.float64)
    return values.reshape(rows, columns)
