"""Quantile normalisation with a frozen target, one sample at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from distkern.compiled.quantiles import put_on_target
from distkern.core.errors import InputError, InputTypeError
from distkern.core.events import Progress
from distkern.core.files import as_path, refuse_existing
from distkern.core.parameters import one_of, whole_number
from distkern.core.typing import Floats
from distkern.core.validation import are_named, name_of
from distkern.core.warning import warn
from distkern.engine.executors import usable_cores
from distkern.engine.progress import progress_listener
from distkern.io.source import Source, as_source
from distkern.io.writing import cohort_written, refuse_unknown_suffix
from distkern.kernels.quantile_targets import (
    BY_FORMULA,
    LEARNED,
    MOST_SAMPLES,
    TIES,
    Learner,
    checked_target,
    read_block,
    refuse_other_length,
    refuse_unranked,
    target_by_formula,
)
from distkern.learners.base import SampleEstimator
from distkern.learners.memory import BLOCK_BYTES, memory_allowed, require_memory, row_blocks
from distkern.learners.registry import saveable
from distkern.learners.validation import refuse_misaligned

COPIES = 4
"""Memory of a block over that of its values: read, checked, put on the target, and handed over."""

NAMED = 3
"""Most constant samples that a warning names."""


@saveable
class QuantileNormalizer(OneToOneFeatureMixin, TransformerMixin, SampleEstimator):
    """Φ_f(x)_j = f[rank(x)_j]: the value of each feature becomes the target's value of its rank within the sample.

    The target f_0 ≤ … ≤ f_{p−1} is learned from the training samples once. A new sample is put on it alone, without the
    cohort. This is quantile normalisation across the features of each sample, so that all samples have the same
    distribution. scikit-learn's ``quantile_transform`` works on each feature across the samples instead.

    Source: Vert's slides on supervised quantile normalisation (SUQUAN), "Standard full quantile normalization", with
    [Π_x]_jr = 1 where feature j has rank r (the slide prints the transpose); Bolstad et al., "A comparison of
    normalization methods for high density oligonucleotide array data" (2003).

    Parameters
    ----------
    target
        ``"median"`` or ``"mean"``: rank by rank over the sorted training samples. With u = (r + 1) / (p + 1) for the
        rank r from 0: ``"normal"`` Φ⁻¹(u), ``"uniform"`` u, ``"exponential"`` −log(1 − u), ``"cauchy"``
        tan(π (u − 1/2)). Or p numbers in ascending order.
    ties
        What equal values become. ``"mean"``: the mean of f over their ranks, which is the expectation over all ways of
        breaking the ties. ``"mid"``: f at their middle rank, linear between two ranks, as in limma.
    missing
        ``"error"``: NaN is refused. ``"interpolate"``: the q observed values of a sample take f interpolated to q
        points, NaN stays NaN, and f is learned from the sorted observed values interpolated to p points, as in limma.
    max_samples
        Most samples that determine the median: it is that of a random subset of a larger cohort, which is announced.
        None for all samples. The mean always takes all of them.
    random_state
        Seed of that subset.
    memory_limit
        Memory, in bytes or text such as ``"2GiB"``; by default half of the available memory. Sorted samples beyond it
        go to a temporary file.

    Attributes
    ----------
    target_
        f, (p,), ascending.
    n_features_in_
        p.
    feature_names_in_
        Names of the features; only if the training samples have them.

    Raises
    ------
    SampleError
        If a value is infinite, or NaN with ``missing="error"``, or a sample has no value; the sample is named.
    InputError
        If there are fewer than two features, or a given target does not ascend, is not finite, or does not have a
        number for each feature.

    Warns
    -----
    UserWarning
        If samples to transform are constant: all their values become equal. If they have another number of features
        than the target: it is interpolated to their number.

    See Also
    --------
    QuantileLinear : The kernel of the normalised samples.
    SUQUANClassifier : Learns the target from labels.
    distkern.plot.plot_targets : The figure of targets.
    sklearn.preprocessing.QuantileTransformer : Features across samples instead.

    Notes
    -----
    Samples are rows, in any container or file that `compute_gram` takes; files are read in blocks. Values have the unit
    of the target. All zeros of a sparse sample are one tie group. O(p log p) per sample. The mean takes one pass; its
    sums are compensated, and are added in the order of the samples.

    Where training and new samples both have names of features, the names decide: the features of the training samples
    are taken in their order, wherever they are among others. If some are lacking, the rest is put on the interpolated
    target.

    Examples
    --------
    >>> normalizer = QuantileNormalizer(target="mean").fit([[5, 2, 3, 4], [4, 1, 4, 2], [3, 4, 6, 8]])
    >>> normalizer.target_.round(3)
    array([2.   , 3.   , 4.667, 5.667])
    >>> normalizer.transform([[4, 1, 4, 2]]).round(3)
    array([[5.167, 2.   , 5.167, 3.   ]])
    """

    target_: Floats

    def __init__(
        self,
        target: Any = "median",
        ties: str = "mean",
        missing: str = "error",
        *,
        max_samples: int | None = MOST_SAMPLES,
        random_state: int = 0,
        memory_limit: int | str | None = None,
    ) -> None:
        self.target = target
        self.ties = ties
        self.missing = missing
        self.max_samples = max_samples
        self.random_state = random_state
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any = None) -> QuantileNormalizer:
        """Learn the target from training samples (m, p).

        Raises
        ------
        SampleError, InputError
            See the class.
        MemoryLimitError
            If sorted samples fit neither in memory nor in the folder of temporary files.
        """
        self._check()
        refuse_misaligned(y, X)
        source = self._samples(X, reset=True)
        refuse_unranked(source)
        n = source.shape[1]
        by_name = isinstance(self.target, str)
        given = None if by_name and self.target in (*LEARNED, *BY_FORMULA) else checked_target(self.target)
        if given is not None:
            refuse_other_length(given, n)
        learner = self._learner()
        if learner.how is not None:
            self.target_ = learner.learn(source)
            return self
        learner.validate(source)
        self.target_ = target_by_formula(self.target, n) if given is None else given
        return self

    def transform(self, X: Any) -> Floats:
        """Put samples (k, p) on the target, each alone: (k, p), float64.

        Raises
        ------
        SampleError, InputError
            See the class.
        MemoryLimitError
            If the result does not fit in memory; `blocks` takes some samples at a time.
        """
        source = self._source(X)
        m, n = source.shape
        block = min(8 * m * n, BLOCK_BYTES)
        require_memory(8 * m * n + COPIES * block, self.memory_limit, f"normalising {m:,} samples of {n:,} features")
        out = np.empty((m, n))
        for rows, values in self._blocks(source):
            out[rows] = values
        return out

    def blocks(self, X: Any) -> Iterator[tuple[slice, Floats]]:
        """Put samples of any number on the target, some at a time: their rows, and their values (rows, p).

        Raises
        ------
        SampleError, InputError
            See the class.

        Examples
        --------
        >>> normalizer = QuantileNormalizer("uniform").fit([[1, 2, 3]])
        >>> [(rows.stop, values.tolist()) for rows, values in normalizer.blocks([[2, 3, 1], [0, 5, 9]])]
        [(2, [[0.5, 0.75, 0.25], [0.25, 0.5, 0.75]])]
        """
        return self._blocks(self._source(X))

    def write(
        self,
        X: Any,
        path: str | os.PathLike[str],
        *,
        like: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: Any = False,
    ) -> Path:
        """Put samples of any number on the target, and write them to a file, some at a time.

        Parameters
        ----------
        X
            Samples.
        path
            File, with samples in rows: ``.csv``, ``.tsv``, ``.txt``, ``.tab``, also with ``.gz``, ``.npy`` or
            ``.h5ad``.
        like
            An ``.h5ad`` file of the same samples, whose annotations an ``.h5ad`` file takes over; X if that is the path
            of one.
        overwrite
            Replace an existing file.
        progress
            As for `compute_gram`.

        Raises
        ------
        SampleError, InputError
            See the class; and if the file exists, cannot be written, or its suffix is another one.
        """
        target = as_path(path)
        refuse_unknown_suffix(target)
        refuse_existing(target, overwrite)
        if like is None and isinstance(X, (str, os.PathLike)) and as_path(X).suffix.lower() == ".h5ad":
            like = X
        source, listener = self._source(X), progress_listener(progress)
        about = source.shape, source.ids, source.features
        with cohort_written(target, *about, like=None if like is None else as_path(like), overwrite=overwrite) as write:
            for rows, values in self._blocks(source):
                write(values)
                listener(Progress("write samples", rows.stop, len(source)))
        return target

    # Samples ---------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        one_of(self.ties, "ties", TIES)
        one_of(self.missing, "missing", ("error", "interpolate"))
        if self.max_samples is not None:
            whole_number(self.max_samples, "max_samples", 1)
        whole_number(self.random_state, "random_state", 0)

    def _learner(self) -> Learner:
        how = self.target if isinstance(self.target, str) and self.target in LEARNED else None
        limit = memory_allowed(self.memory_limit)
        return Learner(how, self.missing, self.max_samples, int(self.random_state), limit)

    def _source(self, X: Any) -> Source:
        """View new samples with the features that are put on the target, in their order.

        Raises
        ------
        InputError
            If X has fewer than two of them.
        """
        check_is_fitted(self)
        self._check()
        refuse_other_length(checked_target(self.target_), self.n_features_in_)  # of a file, it may be anything
        other = self._of_another_size(X)
        if other is not None:
            warn(
                f"X has {other.shape[1]:,} features and the target {self.n_features_in_:,} numbers: the target is "
                "interpolated to the number of features"
            )
            return other
        source, places = self._found_by_name(X)
        found = places[places >= 0]
        if len(found) < len(places):
            names = self.feature_names_in_[places < 0].tolist()
            named = ", ".join(map(repr, names[:NAMED])) + (", …" if len(names) > NAMED else "")
            if len(found) < 2:
                raise InputError(
                    f"X has {len(found)} of the {len(places):,} features of the training samples (it lacks {named}): "
                    "give samples with features of the same names"
                )
            warn(
                f"X lacks {len(names):,} of {len(places):,} features ({named}): the target is interpolated to the "
                f"{len(found):,} that it has, which are returned"
            )
        return source if np.array_equal(found, np.arange(source.shape[1])) else source.with_features(found)

    def _of_another_size(self, X: Any) -> Source | None:
        """View samples whose number of features is not that of the target, where not both have names; else None."""
        self._refuse_gram(X)
        try:
            source = as_source(X)
        except (InputError, InputTypeError):  # an array-like of scikit-learn, or wrong: see `_found_by_name`
            return None
        named = hasattr(self, "feature_names_in_") and source.features is not None and are_named(source.features)
        alike = source.shape[1] in (1, self.n_features_in_)
        return None if named or alike or source.ragged else source

    def _blocks(self, source: Source) -> Iterator[tuple[slice, Floats]]:
        """Put samples on the target, some at a time; warn of constant ones in the end."""
        constant: list[int] = []
        limit = min(BLOCK_BYTES, memory_allowed(self.memory_limit) // (2 * COPIES))
        with ThreadPoolExecutor(usable_cores(), thread_name_prefix="distkern") as pool:
            for rows in row_blocks(*source.shape, limit):
                block = read_block(source, rows, self.missing)
                height = -(-block.shape[0] // usable_cores())
                parts = [block[first : first + height] for first in range(0, block.shape[0], height)]
                found = list(pool.map(lambda part: put_on_target(part, self.target_, self.ties), parts))
                distinct = np.concatenate([numbers for _, numbers in found])
                constant += (np.flatnonzero(distinct == 1) + rows.start).tolist()
                yield rows, np.concatenate([values for values, _ in found])
        _warn_of_constant(constant, source)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "interpolate"
        return tags


def _warn_of_constant(constant: list[int], source: Source) -> None:
    if constant:
        named = ", ".join(name_of(row, source.ids) for row in constant[:NAMED]) + (
            ", …" if len(constant) > NAMED else ""
        )
        one = len(constant) == 1
        warn(
            f"{len(constant):,} sample{'' if one else 's'} of {len(source):,} {'is' if one else 'are'} constant "
            f"({named}): all values of such a sample stay equal"
        )
