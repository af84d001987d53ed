"""Checks that the learners share, each with a message that says what to do, and the promise about memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from distkern.core.errors import InputError, InputTypeError, MemoryLimitError
from distkern.core.sentences import OptionalPart, Parameter
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import parse_bytes
from distkern.engine.memory import available_memory
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite, require_symmetric

MEMORY_FRACTION = 0.5
"""Share of the memory available now that a learner takes unless ``memory_limit`` states another amount."""

BLOCK_BYTES = 2**26
"""Bytes of one block of kernel values while a matrix is read or computed piece by piece."""

BLOCKS_OF_VIEW = 8
"""Blocks in memory at a time, at most, while a view of views of a Gram matrix is read piece by piece."""


def refused_as_ours(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function of scikit-learn and raise its complaints as distkern's errors."""
    try:
        return function(*args, **options)
    except ValueError as error:
        raise InputError(str(error)) from error
    except TypeError as error:
        raise InputTypeError(str(error)) from error


def validated(estimator: Any, X: Any, **options: Any) -> Array:
    """Let scikit-learn check X."""
    return refused_as_ours(validate_data, estimator, X, **options)


def positive(value: Any, name: str) -> float:
    """Check that a parameter is a positive finite number."""
    if not (_is_number(value) and 0 < value < np.inf):
        raise InputError(f"{name} must be a positive finite number; got {value!r}")
    return float(value)


def not_negative(value: Any, name: str) -> float:
    """Check that a parameter is a finite number of 0 or more."""
    if not (_is_number(value) and 0 <= value < np.inf):
        raise InputError(f"{name} must be a finite number of 0 or more; got {value!r}")
    return float(value)


def whole(value: Any, name: str) -> int:
    """Check that a parameter is a whole number of 1 or more."""
    if not (isinstance(value, (int, np.integer)) and value >= 1):
        raise InputError(f"{name} must be a whole number of 1 or more; got {value!r}")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def row_blocks(rows: int, cols: int, limit: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut rows into runs whose ``cols`` float64 values each take at most ``limit`` bytes (one row at least)."""
    height = max(1, limit // max(1, 8 * cols))
    for start in range(0, rows, height):
        yield slice(start, min(start + height, rows))


def memory_at_work(rows: int, cols: int, blocks: int = 1) -> int:
    """Bytes of the blocks through which kernel values are read or checked, beside the values themselves."""
    return blocks * min(8 * rows * cols, BLOCK_BYTES)


def memory_allowed(limit: int | str | None) -> int:
    """Bytes a learner may take: the limit given, or ``MEMORY_FRACTION`` of what this process can still take now."""
    return int(available_memory() * MEMORY_FRACTION) if limit is None else parse_bytes(limit)


def require_memory(needed: int, limit: int | str | None, what: str) -> None:
    """Refuse work that cannot fit, before it starts.

    Raises
    ------
    MemoryLimitError
        If more bytes are needed than allowed; both are named.
    """
    allowed = memory_allowed(limit)
    if needed > allowed:
        source = f"{MEMORY_FRACTION:.0%} of the memory available now" if limit is None else "memory_limit"
        raise MemoryLimitError(
            "{what} needs {needed:,} bytes of memory and {allowed:,} are allowed ({source}): use fewer samples or a "
            "machine with more memory{limit}",
            what=what,
            needed=needed,
            allowed=allowed,
            source=source,
            limit=OptionalPart(", or raise {memory_limit}", memory_limit=Parameter("memory_limit")),
        )


def require_square(X: Any) -> None:
    """Refuse a training matrix whose rows and columns cannot be the same samples."""
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"the training matrix must be square, a row and a column for every sample; it has shape {tuple(X.shape)}"
        )
    if isinstance(X, BaseGram) and not X.is_symmetric:
        raise InputError(
            "the rows and the columns of the training matrix are not the same samples in the same order: slice both "
            "alike, as in gram[np.ix_(train, train)]"
        )


def as_training_gram(gram: Any) -> BaseGram:
    """Take a Gram matrix as it is, and an array for one, if its rows and columns can be the same samples.

    Raises
    ------
    InputError
        If the matrix is not square and symmetric, or a value of an array is not finite.
    """
    if isinstance(gram, BaseGram):
        require_square(gram)
        return gram
    matrix = ArrayGram(gram)
    require_square(matrix)
    require_symmetric(matrix.values)
    return matrix


def refuse_other_columns(known: Sequence[str] | None, gram: Any) -> None:
    """Refuse a matrix whose columns are other samples than those that a model was fitted on, as far as both have names.

    Positions name nothing: samples without names may be numbered in the matrix that they were taken from, or anew. Only
    where a model is given a matrix of samples with themselves, numbered otherwise, they are other samples for sure.

    Parameters
    ----------
    known
        Names of the training samples; None where they are not known.
    gram
        Matrix with ``col_ids``, as many as are known.

    Raises
    ------
    InputError
        Names the first column that differs.
    """
    new = tuple(gram.col_ids)
    if known is None or tuple(known) == new:
        return
    if _are_positions(known) or _are_positions(new):
        numbered = all(name.isdecimal() for name in (*known, *new))
        if not (numbered and getattr(gram, "is_symmetric", False)):
            return
    column = next(k for k, pair in enumerate(zip(known, new, strict=True)) if pair[0] != pair[1])
    raise InputError(
        f"the columns of the Gram matrix are not the samples that the model was fitted on: number {column} is "
        f"{new[column]!r}, not {known[column]!r}; give kernel values with the training samples as columns, as in "
        "gram[np.ix_(test, train)]"
    )


def _are_positions(names: Sequence[str]) -> bool:
    return all(name == str(position) for position, name in enumerate(names))


def read_matrix(gram: BaseGram) -> Floats:
    """Read a Gram matrix block by block into one array, so that no view needs temporaries of the whole size.

    Raises
    ------
    InputError
        If it holds values that are not finite.
    """
    values = np.empty(gram.shape)
    for rows, cols, block in gram.tiles():
        values[np.ix_(rows, cols)] = finite(block)
    return values


def labels_and_weights(y: Any, sample_weight: Any, samples: int) -> tuple[Array, Floats, Indices]:
    """Check labels and weights: labels and weights of the samples that count, and the positions of those."""
    _refuse_complex(y)
    labels = refused_as_ours(column_or_1d, y, warn=True)
    missing = _missing(labels)
    if len(missing):
        raise InputError(f"the label of sample {missing[0]} is missing (y contains NaN or None; {len(missing)} such)")
    refused_as_ours(check_classification_targets, labels)
    if labels.shape != (samples,):
        raise InputError(f"got labels of shape {labels.shape} for {samples} samples: give one for each")
    weights, kept = sample_weights(sample_weight, samples)
    classes = np.unique(labels[kept])
    if len(classes) < 2:
        raise InputError(f"got 1 class, {classes.item(0)!r}: a classifier needs samples of two or more")
    return labels[kept], weights[kept], kept


def targets_and_weights(y: Any, sample_weight: Any, samples: int) -> tuple[Floats, Floats, Indices]:
    """Check targets, (samples,) or (samples, outputs), and weights: those that count, and the positions of them."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None: give a number for every sample")
    _refuse_complex(y)
    targets = refused_as_ours(np.asarray, y, dtype=np.float64)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = refused_as_ours(column_or_1d, y, warn=True).astype(np.float64)
    if targets.ndim not in (1, 2) or len(targets) != samples:
        raise InputError(f"got targets of shape {targets.shape} for {samples} samples: give one for each")
    weights, kept = sample_weights(sample_weight, samples)
    missing = np.flatnonzero(~np.isfinite(targets.reshape(samples, -1)[kept]).all(axis=1))
    if len(missing):
        raise InputError(
            f"the target of sample {kept[missing[0]]} is missing or infinite (y contains NaN or infinity; "
            f"{len(missing)} such): give numbers, or leave those samples out"
        )
    return targets[kept], weights[kept], kept


def _refuse_complex(y: Any) -> None:
    if refused_as_ours(np.asarray, y).dtype.kind == "c":
        raise InputError("Complex data not supported: the numbers in y are complex; give real ones")


def sample_weights(sample_weight: Any, samples: int) -> tuple[Floats, Indices]:
    """Check weights: all of them, and the positions of those that are not zero."""
    weights = np.ones(samples) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(samples, float(weights))
    if weights.shape != (samples,):
        raise InputError(f"got weights of shape {weights.shape} for {samples} samples: give one for each")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError("sample_weight holds values that are negative or not finite: give 0 to leave a sample out")
    kept = np.flatnonzero(weights)
    if len(kept) == 0:
        raise InputError("every sample weight is zero: no sample is left to train on")
    return weights, kept


def _missing(labels: Array) -> Indices:
    if labels.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(labels))
    if labels.dtype.kind != "O":
        return np.empty(0, dtype=np.intp)
    absent = [value is None or type(value).__name__ in ("NAType", "NaTType") or value != value for value in labels]
    return np.flatnonzero(absent)
