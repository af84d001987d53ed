"""Samples as codes of their orderings, feature by feature: what the scores of pairs are counted from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from distkern.compiled.pair_signs import code_rows, double_ranks, list_counts, rank_sum_scores
from distkern.core.errors import InputError, MemoryLimitError, SampleError
from distkern.core.parameters import one_of
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Indices
from distkern.core.units import readable_bytes
from distkern.core.validation import Names, name_of
from distkern.engine.memory import share_of
from distkern.io.source import Source, as_source
from distkern.pairs.contrasts import Cells, Contrast

Missing = Literal["error", "skip"]
MISSING = ("error", "skip")

BLOCK_ENTRIES = 2**19
"""Values of the cohort that are coded at a time: 4 MiB."""

RANK_ENTRIES = 2**25
"""Mid-ranks that are held at a time: 128 MiB, or less where less is allowed."""


@dataclass(frozen=True)
class SignCodes:
    """Dense codes of p features in m samples: code_i < code_j in a sample exactly where x_i < x_j.

    Parameters
    ----------
    codes
        (p, m), int16 for p ≤ 65,534, else int32; in a row a feature, in a column a sample. Samples are sorted by cell.
        Codes are only compared with codes of the same column. The lowest number of the type stands for a missing value.
    starts
        Columns start[c] to start[c + 1] are the samples of cell c, (c + 1,).
    rows
        Position in the cohort of the sample of each column, (m,).
    features, ids
        Names of the features, (p,), and of the samples of the cohort, or None.
    plain
        Whether a cell has neither ties nor missing values, (c,).
    rank_sums, observed
        Sum of 2R over the observed samples of a cell, R the mid-rank of the feature in a sample among the observed
        features, and the number of these samples, int64 (c, p).
    constant
        Positions in the cohort of the samples that tie all their features.
    ranked
        Number of features among which R is the mid-rank: those of the cohort.
    """

    codes: Array
    starts: Indices
    rows: Indices
    features: Names
    ids: Names
    plain: Array
    rank_sums: Array
    observed: Array
    constant: Indices
    ranked: int

    @property
    def sizes(self) -> Indices:
        """Number of samples of each cell, (c,)."""
        return np.diff(self.starts)

    @property
    def lowest(self) -> int:
        """Code of a missing value."""
        return int(np.iinfo(self.codes.dtype).min)

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return bool((self.observed == self.sizes[:, None]).all())

    def take(self, features: Indices) -> SignCodes:
        """Return the codes of some features, in this order; R stays the mid-rank among all features."""
        names = None if self.features is None else tuple(self.features[k] for k in features)
        rank_sums, observed = (np.ascontiguousarray(part[:, features]) for part in (self.rank_sums, self.observed))
        return replace(self, codes=self.codes[features], features=names, rank_sums=rank_sums, observed=observed)


def sign_codes(X: Any, cells: Cells | Array, *, missing: Missing = "error") -> SignCodes:
    """Code the samples of a cohort.

    Parameters
    ----------
    X
        Samples in rows: whatever `compute_gram` takes. ±infinity are values like others.
    cells
        Cells of the samples, or the number of the cell of each sample, (m,); a sample of a negative cell takes no part.
    missing
        ``"error"`` refuses NaN; ``"skip"`` leaves a sample out of the pairs of a feature that it lacks.

    Raises
    ------
    SampleError
        If a value is missing and ``missing="error"``; the first sample and feature are named.
    InputError
        If there are fewer than two features, or two features have the same name.
    MemoryLimitError
        If the codes do not fit in memory.

    Examples
    --------
    >>> found = sign_codes([[3.0, 1.0, 2.0], [5.0, 5.0, 7.0]], [1, 0])
    >>> found.rows.tolist(), (found.codes - found.codes.min()).tolist(), found.plain.tolist()
    ([1, 0], [[0, 2], [0, 0], [1, 1]], [False, True])
    """
    one_of(missing, "missing", MISSING)
    source = as_source(X)
    refuse_without_pairs(source)
    of_sample = np.asarray(cells.of_sample if isinstance(cells, Cells) else cells, dtype=np.intp)
    if of_sample.shape != (len(source),):
        raise InputError(f"got {of_sample.shape} cells for {len(source):,} samples: give one for each")
    count, p = int(of_sample.max(initial=-1)) + 1, source.shape[1]
    rows = np.argsort(of_sample, kind="stable")[np.count_nonzero(of_sample < 0) :]
    columns = np.full(len(source), -1, dtype=np.intp)
    columns[rows] = np.arange(len(rows))
    dtype = np.dtype(np.int16 if p <= 65_534 else np.int32)
    _require_memory(p, len(rows), count, dtype)
    codes = np.empty((p, len(rows)), dtype=dtype)
    rank_sums, observed = np.zeros((2, count, p), dtype=np.int64)
    plain, constant = np.ones(count, dtype=bool), np.zeros(len(source), dtype=bool)
    height = max(1, BLOCK_ENTRIES // p)
    for start in range(0, len(source), height):
        used = start + np.flatnonzero(of_sample[start : start + height] >= 0)
        values = source.read(slice(start, min(start + height, len(source))))
        values = values if len(used) == len(values) else values[used - start]
        if missing == "error":
            _refuse_missing(values, used, source)
        block, tied = np.empty(values.shape, dtype=codes.dtype), np.empty(len(used), dtype=bool)
        lowest = int(np.iinfo(codes.dtype).min)
        code_rows(values, of_sample[used], block, lowest, rank_sums, observed, plain, tied)
        codes[:, columns[used]] = block.T
        constant[used] = tied
    return SignCodes(
        codes=codes,
        starts=np.searchsorted(of_sample[rows], np.arange(count + 1)),
        rows=rows,
        features=source.features,
        ids=source.ids,
        plain=plain,
        rank_sums=rank_sums,
        observed=observed,
        constant=np.flatnonzero(constant),
        ranked=p,
    )


def _require_memory(p: int, samples: int, cells: int, dtype: np.dtype[Any]) -> None:
    """Refuse codes that do not fit in memory, with the sums of the cells and a block of the cohort."""
    needed = p * (samples * dtype.itemsize + 16 * cells) + 24 * max(p, min(BLOCK_ENTRIES, samples * p))
    if needed > (may := share_of(None, 1)):
        raise MemoryLimitError(
            f"the codes of {samples:,} samples of {p:,} features take {readable_bytes(needed)} and may take "
            f"{readable_bytes(may)}: use fewer samples or features, or a machine with more memory"
        )


def refuse_without_pairs(source: Source) -> None:
    """Refuse bags, samples of one feature, and two features of the same name.

    Raises
    ------
    InputError
        Names what is wrong.
    """
    if source.ragged or source.shape[1] < 2:
        found = "bags have none" if source.ragged else "there is 1 (n_features = 1)"
        raise InputError(f"a pair takes two features, and {found}: give samples in rows, with more features")
    refuse_same_names(source.features)


def refuse_same_names(features: Names) -> None:
    """Refuse two features of the same name."""
    if features is not None and len(set(features)) < len(features):
        twice = next(name for name, times in Counter(features).items() if times > 1)
        raise InputError(f"two features are called {twice!r}, and pairs go by name: rename one or leave it out")


def _refuse_missing(values: Array, rows: Indices, source: Source) -> None:
    lacking = np.isnan(values)
    if lacking.any():
        row, col = np.argwhere(lacking)[0].tolist()
        raise SampleError(
            "sample {sample} has no value (NaN) for feature {feature}: fill it in, or choose {skip}",
            int(rows[row]),
            sample=name_of(int(rows[row]), source.ids),
            feature=name_of(col, source.features),
            skip=Argument("missing", "skip"),
        )


def pair_counts(codes: SignCodes, first: Any, second: Any) -> tuple[Array, Array, Array]:
    """L, G and n of pairs of features by cell.

    Parameters
    ----------
    first, second
        Positions of the two features of each pair, (q,).

    Returns
    -------
    Numbers of samples of each cell with x_first < x_second, with x_first > x_second, and with both values observed;
    int64 (q, c) each.

    Examples
    --------
    >>> codes = sign_codes([[3.0, 1.0], [5.0, 5.0], [1.0, 2.0]], [0, 0, 1])
    >>> [counts.tolist() for counts in pair_counts(codes, [0], [1])]
    [[[0, 1]], [[1, 0]], [[2, 1]]]
    """
    first, second = (np.asarray(side, dtype=np.intp) for side in (first, second))
    less, greater, observed = np.empty((3, len(first), len(codes.plain)), dtype=np.int64)
    list_counts(codes.codes, codes.lowest, codes.starts, first, second, less, greater, observed)
    return less, greater, observed


def positions_of(features: Any, names: Names, count: int, what: str = "features") -> Indices:
    """Positions of features that are given by name, or by position.

    Parameters
    ----------
    features
        Names, or positions, of any shape.
    names, count
        Names of all features, if they have any, and their number.
    what
        Name of the argument in messages.

    Raises
    ------
    InputError
        If a name is unknown, or a position does not exist.

    Examples
    --------
    >>> positions_of(["MYC", "TP53"], ("TP53", "MYC"), 2).tolist(), positions_of([1], None, 2).tolist()
    ([1, 0], [1])
    """
    given = np.asarray(features)
    if given.size == 0:
        return np.empty(given.shape, dtype=np.intp)
    if given.dtype.kind in "iu":
        wrong = given[(given < 0) | (given >= count)]
        if wrong.size:
            raise InputError(f"{what} has position {wrong.flat[0]}, and there are {count:,} features, from 0")
        return given.astype(np.intp)
    known = {name: position for position, name in enumerate(names or ())}
    places = [known.get(str(name), -1) for name in given.flat]
    if -1 in places:
        unknown = str(given.flat[places.index(-1)])
        remedy = "give names of features" if names is not None else "the features have no names: give positions"
        raise InputError(f"{what} has {unknown!r}, which is no feature of the cohort: {remedy}")
    return np.array(places, dtype=np.intp).reshape(given.shape)


# The filter ----------------------------------------------------------------------------------------------------------


def wilcoxon_features(codes: SignCodes, contrasts: Sequence[Contrast], count: int) -> list[Indices]:
    """Positions of the n features that differ most between the two sides of each contrast, by largest abs(z).

    z is the standardised rank sum (Wilcoxon, corrected for ties) of the mid-ranks within samples of one feature. The
    ⌈n/2⌉ features of the largest z and the ⌊n/2⌋ of the smallest are taken.

    Raises
    ------
    InputError
        If there are fewer than n features.
    """
    p = len(codes.codes)
    if not 2 <= count <= p:
        raise InputError(
            "{features} is not from 2 to {p:,}, the number of features of the samples: give such a number",
            features=Argument("features", count),
            p=p,
        )
    sides = np.zeros((len(contrasts), codes.codes.shape[1]), dtype=np.int8)
    for number, contrast in enumerate(contrasts):
        for cells, sign in ((contrast.positive, 1), (contrast.negative, -1)):
            for cell in cells:
                sides[number, codes.starts[cell] : codes.starts[cell + 1]] = sign
    scores = np.empty((len(contrasts), p))
    held = min(RANK_ENTRIES, share_of(None, 1) // 16)
    step = max(1, held // max(1, codes.codes.shape[1]))
    for start in range(0, p, step):
        features = np.arange(start, min(start + step, p))
        part = np.empty((len(contrasts), len(features)))
        rank_sum_scores(_mid_ranks(codes, features), sides, part)
        scores[:, features] = part
    return [_most_different(row, count) for row in scores]


def _mid_ranks(codes: SignCodes, features: Indices) -> Array:
    """2R of some features, int32 (f, m); −1 where missing."""
    m = codes.codes.shape[1]
    ranks = np.empty((len(features), m), dtype=np.int32)
    height = max(1, BLOCK_ENTRIES // len(codes.codes))
    for start in range(0, m, height):
        block = np.ascontiguousarray(codes.codes[:, start : start + height].T)
        part = np.empty((len(block), len(features)), dtype=np.int32)
        double_ranks(block, codes.lowest, features, part)
        ranks[:, start : start + height] = part.T
    return ranks


def _most_different(scores: Array, count: int) -> Indices:
    """Positions of the ⌈n/2⌉ largest and the ⌊n/2⌋ smallest scores, by largest size; the first of equal ones."""
    up = np.argsort(-scores, kind="stable")[: count - count // 2]
    down = [k for k in np.argsort(scores, kind="stable").tolist() if k not in set(up.tolist())][: count // 2]
    chosen = np.array([*up.tolist(), *down], dtype=np.intp)
    return chosen[np.lexsort((chosen, -np.abs(scores[chosen])))]
