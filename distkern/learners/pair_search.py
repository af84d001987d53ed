"""Joint choice of the number of pairs and of C for support vector machines on top-scoring pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import check_cv

from distkern.compiled.products import inner_products
from distkern.core.errors import InputError
from distkern.core.events import Progress
from distkern.core.parameters import entries, flag, one_of
from distkern.core.typing import Floats, Indices
from distkern.core.units import counted
from distkern.core.validation import refuse_infinite, refuse_nan
from distkern.engine.progress import progress_listener
from distkern.io.source import Source
from distkern.kernels.pair_agreement import pair_signs, products_of_signs
from distkern.learners.base import SampleEstimator
from distkern.learners.folds import Folds, Split
from distkern.learners.memory import require_memory, within_limit
from distkern.learners.nested import JointEvaluation
from distkern.learners.pair_selection import (
    PairOptions,
    Ranked,
    Training,
    candidates,
    first_maximum,
    labelled,
    ranked_pairs,
    refuse_lacking,
)
from distkern.learners.pair_transformers import unique_features
from distkern.learners.selection import GRID
from distkern.learners.svm import KernelSVC
from distkern.learners.validation import labels_and_weights, positive, samples_of, with_own_errors
from distkern.operators.array import ArrayGram

Kind = Literal["agreement", "linear", "polynomial"]
KINDS = ("agreement", "linear", "polynomial")

FOLDS = 5
"""Number of folds by default."""

LARGEST = 5000
"""Largest number of pairs of the paper's grid."""

NO_NORM = 1e-12
"""A squared norm below this fraction of the largest is rounding: the sample equals the mean of the training samples."""


def pair_grid(largest: int = LARGEST, count: int = 30) -> Indices:
    """⌊exp(u log largest)⌋ for ``count`` equally spaced u from 0 to 1, even numbers less 1, without repetitions.

    Source: the numbers of pairs in the authors' program for Jiao & Vert, *The Kendall and Mallows kernels for
    permutations*, section 6.

    See Also
    --------
    cross_validate_pairs : Takes it.

    Examples
    --------
    >>> pair_grid().tolist()[:12]
    [1, 3, 5, 7, 9, 13, 17, 25, 33, 45, 61, 81]
    """
    exponents = np.linspace(0.0, 1.0, count) * np.log(largest)
    numbers = np.floor(np.exp(exponents)).astype(np.intp)
    return np.unique(numbers - (numbers % 2 == 0))


@dataclass(frozen=True, eq=False, repr=False)
class PairSearch:
    """Accuracy of support vector machines by number of pairs and C.

    Parameters
    ----------
    k, C
        Numbers of pairs, ascending, and values of C, ascending.
    accuracy
        Fraction of the test samples that are predicted correctly, (splits, k, C).
    kernel
        Kernel of the support vector machines.

    See Also
    --------
    cross_validate_pairs : Makes it.

    Examples
    --------
    >>> found = PairSearch(np.array([1, 3]), np.array([1.0]), np.array([[[0.5], [0.75]], [[0.5], [1.0]]]), "linear")
    >>> found
    <PairSearch: 3 pairs and C=1 predict 87.5 % correctly, the best of 2 numbers of pairs and 1 of C; 2 splits>
    >>> found.best, found.table()
    ((3, 1.0), [{'k': 1, 'C': 1.0, 'accuracy': 0.5}, {'k': 3, 'C': 1.0, 'accuracy': 0.875}])
    """

    k: Indices
    C: Floats
    accuracy: Floats
    kernel: str

    @property
    def mean(self) -> Floats:
        """Mean accuracy over the splits, (k, C)."""
        return np.asarray(self.accuracy.mean(axis=0))

    @property
    def best(self) -> tuple[int, float]:
        """The k and the C of highest mean accuracy: the smallest k on ties, then the smallest C."""
        row, column = np.unravel_index(first_maximum(self.mean.ravel()), self.mean.shape)
        return int(self.k[row]), float(self.C[column])

    def __repr__(self) -> str:
        k, C = self.best
        return (
            f"<PairSearch: {counted(k, 'pair')} and C={C:g} predict {self.mean.max():.1%} correctly, the best of "
            f"{counted(len(self.k), 'number')} of pairs and {len(self.C)} of C; {counted(len(self.accuracy), 'split')}>"
        ).replace("%", " %")

    def table(self) -> list[dict[str, Any]]:
        """One row for each k and C, with the mean accuracy: ``pandas.DataFrame(found.table())``."""
        return [
            {"k": int(k), "C": float(C), "accuracy": float(self.mean[row, column])}
            for row, k in enumerate(self.k)
            for column, C in enumerate(self.C)
        ]


class _Samples(SampleEstimator):
    """Validates samples as the estimators do."""

    def source(self, X: Any) -> Source:
        return self._samples(X, reset=True)


@within_limit
def cross_validate_pairs(
    X: Any,
    y: Any,
    folds: Any = FOLDS,
    k_grid: Any = None,
    C_grid: Sequence[float] = GRID,
    kernel: Kind = "agreement",
    *,
    groups: Any = None,
    disjoint: bool = False,
    features: Any = None,
    pairs: Any = None,
    pivot: Any = None,
    missing: str = "error",
    multi_class: str = "ovr",
    rest: str = "pooled",
    group_agg: str = "mean",
    seed: int = 0,
    executor: Any = None,
    progress: Any = None,
    memory_limit: int | str | None = None,
) -> PairSearch:
    """Evaluate support vector machines on the best k pairs, for all k and C of a grid jointly.

    In each split the pairs are ranked on the training samples, a kernel of the best k is centred and scaled to unit
    norm on them, and a `KernelSVC` is fitted for each C. One pass over all pairs of features serves all splits whose
    test sets do not overlap, and in rank order the kernel matrix of k pairs is a sum that grows: K_k = K_{k−1} + v_k
    v_kᵀ.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 6: SVMkdtTOP (``"agreement"``),
    SVMlinearTOP and SVMpolyTOP, whose inner folds choose (k, C).

    Parameters
    ----------
    X, y
        Samples (m, n), in any container or file that `compute_gram` takes, and labels (m,).
    folds
        Number of stratified folds, a splitter of scikit-learn, or splits: positions of training and test samples.
    k_grid
        Numbers of pairs; `pair_grid` by default. Numbers for which a split has too few pairs are left out.
    C_grid
        Values of C.
    kernel
        ``"agreement"``: `PairAgreement` of the pairs. ``"linear"``, ``"polynomial"``: ⟨x, y⟩ or ⟨x, y⟩² on the unique
        features of the pairs.
    groups
        Group of each sample, such as the platform that measured it, (m,), as for `KTopScoringPairs`.
    disjoint, features, pairs, pivot, missing, multi_class, rest, group_agg
        Which pairs compete and how they are scored, as for `KTopScoringPairs`. Of several classes, the best k pairs of
        each binary problem are taken. The linear and the polynomial kernel refuse missing values in any case.
    seed
        Seed that shuffles stratified folds.
    executor, progress
        As for `compute_gram`.
    memory_limit
        Memory for the ranks of the samples and for the kernel matrices, in bytes or text such as ``"2GiB"``; by default
        half of the available memory.

    Returns
    -------
    PairSearch
        ``best`` is (k, C); ``table()`` and ``accuracy`` hold the rest.

    Raises
    ------
    InputError
        If a parameter or a split cannot be used, or a split has no pair that separates its classes.
    SampleError
        If a value is missing; for the linear and the polynomial kernel, also if it is infinite.
    MemoryLimitError
        If the kernel matrix of one split does not fit in memory.

    See Also
    --------
    KTopScoringPairs : The pairs alone, without a machine.
    pair_grid : Numbers of pairs to try.

    Notes
    -----
    A sample that equals the mean of the training samples, on the chosen pairs, has no direction: its kernel values are
    0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 12)), np.repeat(["ill", "well"], 20)
    >>> X[:20, 0] += 2
    >>> found = cross_validate_pairs(X, y, k_grid=[1, 3, 5], C_grid=[0.1, 1.0])
    >>> found.mean.shape, found.best[0] in (1, 3, 5)
    ((3, 2), True)
    """
    one_of(kernel, "kernel", KINDS), one_of(multi_class, "multi_class", ("ovr", "ovo"))
    one_of(missing, "missing", ("error", "skip")), flag(disjoint, "disjoint")
    numbers = pair_grid() if k_grid is None else candidates(entries(k_grid, "k_grid"), None)
    C = np.unique([positive(value, "C_grid") for value in entries(C_grid, "C_grid")])
    if not len(C):
        raise InputError("C_grid is empty: give a value of C or more")
    source, samples = _Samples().source(X), samples_of(X)
    labels, _, _ = labels_and_weights(y, None, samples)
    training = labelled(source, samples, labels, groups, multi_class)
    splits = _splits(folds, training, seed)
    needed = 8 * 5 * max(len(train) + len(test) for train, test in splits) ** 2
    require_memory(needed, memory_limit, "the kernel matrix of a split")
    options = PairOptions(disjoint, features, pairs, pivot, missing, 0.5, rest, group_agg, executor)
    listener = progress_listener(progress)
    ranked: list[Ranked] = [[] for _ in splits]
    for batch in _batches(splits, len(source)):
        part, of_sample = _batch(training, splits, batch)
        left_out = [[fold] for fold in range(len(batch))]
        found = ranked_pairs(part, options, int(numbers[-1]), listener, of_sample, left_out)
        for number, of_split in zip(batch, found, strict=True):
            ranked[number] = of_split
    most = min(len(pairs) for of_split in ranked for pairs in of_split)
    if not (numbers <= most).any():
        raise InputError(f"a split has {most} pairs that separate its classes, fewer than the least of k_grid")
    numbers = numbers[numbers <= most]
    accuracy = np.empty((len(splits), len(numbers), len(C)))
    for number, split in enumerate(splits):
        accuracy[number] = _of_split(training, split, ranked[number], numbers, C, kernel)
        listener(Progress("evaluate", number + 1, len(splits)))
    return PairSearch(numbers, C, accuracy, kernel)


# Splits --------------------------------------------------------------------------------------------------------------


def _splits(folds: Any, training: Training, seed: int) -> list[Split]:
    """Training and test positions of each split."""
    labels = training.classes[training.codes]
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        return [(train, test) for train, test, _ in Folds(labels, None, None, seed).outer(int(folds), 1)]
    splits = with_own_errors(lambda: list(check_cv(folds, labels, classifier=True).split(labels, labels)))
    out: list[Split] = []
    for number, (first, second) in enumerate(splits):
        train, test = (np.ravel(with_own_errors(np.asarray, part, np.intp)) for part in (first, second))
        both = np.concatenate([train, test])
        if not len(train) or not len(test) or len(np.unique(both)) < len(both):
            raise InputError(f"split number {number} of folds holds a sample twice, or none to train or to test")
        if both.min() < 0 or both.max() >= len(labels):
            raise InputError(f"split number {number} of folds has positions beyond the {len(labels)} samples")
        refuse_lacking(training, train, number)
        out.append((train, test))
    if not out:
        raise InputError("folds holds no split: give one or more")
    return out


def _batches(splits: Sequence[Split], count: int) -> Iterator[list[int]]:
    """Group splits of the same samples whose test sets do not overlap: one pass over the pairs serves them."""
    waiting = list(range(len(splits)))
    unions = [np.sort(np.concatenate(split)).tobytes() for split in splits]
    while waiting:
        batch, tested = [], np.zeros(count, dtype=bool)
        for number in waiting:
            test = splits[number][1]
            if unions[number] == unions[waiting[0]] and not tested[test].any():
                batch.append(number)
                tested[test] = True
        waiting = [number for number in waiting if number not in batch]
        yield batch


def _batch(training: Training, splits: Sequence[Split], batch: Sequence[int]) -> tuple[Training, Indices]:
    """The samples of a batch, and the number of the split that tests each; one more for those that none tests."""
    train, test = splits[batch[0]]
    both = np.sort(np.concatenate([train, test]))
    fold = np.full(len(training.codes), len(batch), dtype=np.intp)
    for number, split in enumerate(batch):
        fold[splits[split][1]] = number
    codes = np.full_like(training.codes, -1)
    codes[both] = training.codes[both]
    part = Training(training.source, training.classes, codes, training.group_names, training.groups, training.binary)
    return part, fold


# Kernel matrices -----------------------------------------------------------------------------------------------------


def _of_split(training: Training, split: Split, ranked: Ranked, numbers: Indices, C: Floats, kernel: Kind) -> Floats:
    """Accuracy for each k and C, (k, C), on the test samples of a split."""
    train, test = split
    both = np.concatenate([train, test])
    codes, own = training.codes[both], np.arange(len(train))
    others = np.arange(len(train), len(both))
    out = np.empty((len(numbers), len(C)))
    for row, values in enumerate(_grown(training.source, both, ranked, numbers, kernel)):
        gram = ArrayGram(standardised(values, len(train)))
        joint = JointEvaluation(None, _machine(training), gram, codes, training.classes)
        scores = joint.scores([(own, others)], [C.tolist()])[0]
        out[row] = [np.mean(joint.binary.decide(of_value) == codes[others]) for of_value in scores]
    return out


def _machine(training: Training) -> KernelSVC:
    return KernelSVC(multi_class="ovr" if training.binary.one_vs_rest else "ovo")


def _grown(source: Source, rows: Indices, ranked: Ranked, numbers: Indices, kernel: Kind) -> Iterator[Floats]:
    """Kernel matrices of the best k pairs for ascending k; each is the one before it plus what its new pairs add."""
    orders = [np.column_stack([pairs.first, pairs.second])[: numbers[-1]] for pairs in ranked]
    used = np.unique(np.concatenate(orders))
    values = np.ascontiguousarray(source.read(rows)[:, used])
    names = [str(row) if source.ids is None else source.ids[row] for row in rows]
    features = [str(k) for k in used] if source.features is None else [source.features[k] for k in used]
    if kernel != "agreement":
        refuse_nan(values, names, features)
        refuse_infinite(values, names, features)
    total, known, before = np.zeros((len(rows), len(rows))), np.zeros(len(used), dtype=bool), 0
    for number in numbers:
        new = np.concatenate([np.searchsorted(used, order[before:number]) for order in orders])
        before = number
        if kernel == "agreement":
            signs = pair_signs(values, new[:, 0], new[:, 1])
            total += products_of_signs(signs, signs)
        else:
            added = unique_features(new)
            added = added[~known[added]]
            known[added] = True
            part = values[:, added]
            total += inner_products(part, part)
        yield total**2 if kernel == "polynomial" else total


def standardised(values: Floats, count: int) -> Floats:
    """Kernel values, centred on the first ``count`` samples and scaled to unit norm; 0 for samples without a norm.

    Examples
    --------
    >>> standardised(np.outer([1.0, 3.0, 2.0], [1.0, 3.0, 2.0]), 2)
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    means = values[:, :count].mean(axis=1)
    centred = values - means[:, None] - means[None, :] + means[:count].mean()
    squares = centred.diagonal().copy()
    without = squares <= NO_NORM * max(float(np.abs(values.diagonal()).max()), np.finfo(float).tiny)
    norms = np.sqrt(np.where(without, 1.0, squares))
    centred /= norms[:, None]
    centred /= norms[None, :]
    centred[without] = 0.0
    centred[:, without] = 0.0
    return centred
