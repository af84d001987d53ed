"""Input validation shared by the learners: parameters, training matrices, labels, targets and sample weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import are_named, refuse_other_features
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import require_symmetric


def with_own_errors(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function of scikit-learn or NumPy; raise its errors as `InputError` or `InputTypeError`."""
    try:
        return function(*args, **options)
    except ValueError as error:
        raise InputError(str(error)) from error
    except TypeError as error:
        raise InputTypeError(str(error)) from error


def validated(estimator: Any, X: Any, **options: Any) -> Array:
    """Validate X with scikit-learn's `validate_data`; names of columns that are no text are compared as text.

    scikit-learn itself ignores such names, among them integers (Entrez numbers) and the tuples of a MultiIndex.
    """
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2 and not all(isinstance(name, str) for name in X.columns):
        names = tuple(map(str, X.columns))
        if not options.get("reset", True):
            known = getattr(estimator, "feature_names_in_", None)
            refuse_other_features(None if known is None else tuple(known), names, "X")
        if are_named(names):
            X = X.copy(deep=False)
            X.columns = list(names)
    return with_own_errors(validate_data, estimator, X, **options)


# Parameters ----------------------------------------------------------------------------------------------------------


def positive(value: Any, name: str) -> float:
    """Validate a parameter that must be a positive finite number."""
    if not (_is_number(value) and 0 < value < np.inf):
        raise InputError(f"{name} must be a positive finite number; got {value!r}")
    return float(value)


def not_negative(value: Any, name: str) -> float:
    """Validate a parameter that must be a finite number of at least 0."""
    if not (_is_number(value) and 0 <= value < np.inf):
        raise InputError(f"{name} must be a finite number of 0 or more; got {value!r}")
    return float(value)


def whole(value: Any, name: str) -> int:
    """Validate a parameter that must be an integer of at least 1."""
    if not (isinstance(value, (int, np.integer)) and value >= 1):
        raise InputError(f"{name} must be a whole number of 1 or more; got {value!r}")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


# Matrices ------------------------------------------------------------------------------------------------------------


def require_square(X: Any) -> None:
    """Refuse a training matrix whose rows and columns are not the same samples in the same order."""
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"the training matrix must be square, a row and a column for every sample; it has shape {tuple(X.shape)}: "
            "slice rows and columns alike, as in gram[np.ix_(train, train)] (train_test_split slices rows only: split "
            "the positions np.arange(len(gram)) instead)"
        )
    if isinstance(X, BaseGram) and not X.is_symmetric:
        raise InputError(
            "the rows and the columns of the training matrix are not the same samples in the same order: slice both "
            "alike, as in gram[np.ix_(train, train)]"
        )


def as_training_gram(gram: Any) -> BaseGram:
    """Validate a training matrix, and convert an array to a Gram matrix.

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
    """Refuse a matrix whose columns are not the training samples of a model, by sample name.

    Samples without names are named by position, "0", "1", …. Such names identify nothing in a slice, which may number
    its samples again. They are therefore compared in one case only: both sets of names are numbers and the matrix is
    symmetric.

    Parameters
    ----------
    known
        Names of the training samples, or None if unknown.
    gram
        Matrix with ``col_ids``, as many as ``known``.

    Raises
    ------
    InputError
        If a column differs; the message names the first one.
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


# Labels, targets and weights -----------------------------------------------------------------------------------------


def labels_and_weights(y: Any, sample_weight: Any, samples: int) -> tuple[Array, Floats, Indices]:
    """Validate labels and weights.

    Returns labels and weights of the samples of nonzero weight, and the positions of these samples.
    """
    _refuse_complex(y)
    labels = with_own_errors(column_or_1d, y, warn=True)
    missing = _missing(labels)
    if len(missing):
        raise InputError(f"the label of sample {missing[0]} is missing (y contains NaN or None; {len(missing)} such)")
    with_own_errors(check_classification_targets, labels)
    if labels.shape != (samples,):
        raise InputError(f"got labels of shape {labels.shape} for {samples} samples: give one for each")
    weights, kept = sample_weights(sample_weight, samples)
    classes = np.unique(labels[kept])
    if len(classes) < 2:
        raise InputError(f"got 1 class, {classes.item(0)!r}: a classifier needs samples of two or more")
    return labels[kept], weights[kept], kept


def targets_and_weights(y: Any, sample_weight: Any, samples: int) -> tuple[Floats, Floats, Indices]:
    """Validate targets (samples,) or (samples, outputs) and weights.

    Returns targets and weights of the samples of nonzero weight, and the positions of these samples.
    """
    if y is None:
        raise InputError("requires y to be passed, but the target y is None: give a number for every sample")
    _refuse_complex(y)
    targets = with_own_errors(np.asarray, y, dtype=np.float64)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = with_own_errors(column_or_1d, y, warn=True).astype(np.float64)
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
    if with_own_errors(np.asarray, y).dtype.kind == "c":
        raise InputError("Complex data not supported: the numbers in y are complex; give real ones")


def sample_weights(sample_weight: Any, samples: int) -> tuple[Floats, Indices]:
    """Validate sample weights; return all weights, and the positions of the nonzero ones."""
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
