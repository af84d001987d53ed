"""Input validation shared by the learners: parameters, training matrices, labels, targets and sample weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from distkern.core.alignment import SampleNames, aligned, as_sample_names
from distkern.core.containers import as_floats, plain, plain_values
from distkern.core.errors import InputError, InputTypeError
from distkern.core.feature_names import refuse_other_order
from distkern.core.labels import checked_labels, sorted_labels
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import are_named
from distkern.core.warning import warn
from distkern.core.weights import sample_weights
from distkern.io.source import as_source
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import require_symmetric
from distkern.store.ranks import RankStore


def with_own_errors(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function of scikit-learn or NumPy; raise its errors as `InputError` or `InputTypeError`."""
    try:
        return function(*args, **options)
    except ValueError as error:
        raise InputError(str(error)) from error
    except TypeError as error:
        raise InputTypeError(str(error)) from error
    except OverflowError as error:
        raise InputError(f"a number is too large: {error}") from error


def validated(estimator: Any, X: Any, **options: Any) -> Array:
    """Validate X with scikit-learn's `validate_data`; names of columns that are no text are compared as text.

    scikit-learn itself ignores such names, among them integers (Entrez numbers) and the tuples of a MultiIndex. It also
    takes masked values as if they were valid, so that they are NaN before it sees them.
    """
    X = labelled_table(X)
    if isinstance(X, (np.ma.MaskedArray, list, tuple)) or type(X).__module__.startswith("dask"):
        X = plain_values(X, "X")
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2 and not all(isinstance(name, str) for name in X.columns):
        names = tuple(map(str, X.columns))
        if not options.get("reset", True):
            known = getattr(estimator, "feature_names_in_", None)
            refuse_other_order(tuple(map(str, range(len(names)))) if known is None else tuple(known), names, "X")
        if are_named(names):
            X = X.copy(deep=False)
            X.columns = list(names)
    return with_own_errors(validate_data, estimator, X, **options)


def labelled_table(X: Any) -> Any:
    """Turn a labelled array of two axes, as of xarray, into a DataFrame, whose names are compared; leave all else."""
    if not hasattr(X, "coords"):
        return X
    values, (rows, cols) = plain(X, "X") if getattr(X, "ndim", 0) == 2 else (plain_values(X, "X"), (None, None))
    if rows is None and cols is None:
        return values
    from pandas import DataFrame  # xarray depends on it

    return DataFrame(values, index=rows, columns=cols)


# Parameters ----------------------------------------------------------------------------------------------------------


def positive(value: Any, name: str) -> float:
    """Validate a parameter that must be a positive finite number."""
    if not 0 < _number(value) < np.inf:
        raise InputError(f"{name} must be a positive finite number; got {value!r}")
    return float(value)


def not_negative(value: Any, name: str) -> float:
    """Validate a parameter that must be a finite number of at least 0."""
    if not 0 <= _number(value) < np.inf:
        raise InputError(f"{name} must be a finite number of 0 or more; got {value!r}")
    return float(value)


def fraction(value: Any, name: str) -> float:
    """Validate a parameter that must be a number from 0 to 1."""
    if isinstance(value, bool) or not 0 <= _number(value) <= 1:
        raise InputError(f"{name} must be a fraction from 0 to 1, not {value!r}")
    return float(value)


REPEATS = 2**31 - 1
"""Most starts or passes, as for the counts of kernels: no computer finishes more."""


def whole(value: Any, name: str, most: int | None = None) -> int:
    """Validate a parameter that must be an integer of at least 1, and at most ``most``."""
    if isinstance(value, bool) or not (isinstance(value, (int, np.integer)) and value >= 1):
        raise InputError(f"{name} must be a whole number of 1 or more; got {value!r}")
    if most is not None and value > most:
        raise InputError(f"{name} must be at most {most:,}; got {value!r}")
    return int(value)


def _number(value: Any) -> float:
    """A number as a float: infinity where it is too large for one, NaN where it is no number."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf


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


def named_gram(values: Floats, given: Any) -> ArrayGram:
    """Validated kernel values as an operator, with the names of the table or labelled array that they come from."""
    rows = cols = None
    if hasattr(given, "iloc"):
        rows, cols = plain(given.iloc[:, :0]).names[0], plain(given.iloc[:0]).names[1]
    elif hasattr(given, "coords"):
        rows, cols = plain(given).names
    return ArrayGram(values, row_ids=rows, col_ids=cols)


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


# Samples -------------------------------------------------------------------------------------------------------------


def samples_of(X: Any) -> SampleNames:
    """Names of the samples of anything that a learner takes: a matrix, a cohort or an array."""
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], BaseGram):  # the matrices of several kernels
        return X[0].row_samples
    if isinstance(X, BaseGram):
        return X.row_samples
    if isinstance(X, RankStore):
        return cohort_names(X.ids, len(X), "list(X.ids)")
    if isinstance(X, (np.ndarray, list, tuple)):
        return SampleNames(len(X))
    if hasattr(X, "iloc"):
        return cohort_names(plain(X.iloc[:, :0]).names[0], len(X))
    try:
        source = as_source(X)
    except InputTypeError:  # array-likes of scikit-learn
        return SampleNames(len(np.asarray(X)))
    return cohort_names(source.ids, len(source), "list(adata.obs_names)" if hasattr(X, "obs_names") else "X.index")


def cohort_names(ids: Sequence[str] | None, count: int, listed: str = "X.index") -> SampleNames:
    """Names of the samples of a cohort, whose positions in a larger one are not known."""
    return SampleNames(count, None if ids is None else tuple(ids), whose="X", listed=listed)


def refuse_misaligned(y: Any, X: Any) -> None:
    """Refuse labels or targets, which a transformer ignores, with the names of other samples.

    The transformed samples are an array without names, so that the next step of a pipeline cannot compare them.
    """
    if hasattr(y, "iloc") or hasattr(y, "coords"):
        aligned(y, samples_of(X), "y")


# Labels, targets and weights -----------------------------------------------------------------------------------------


def labels_and_weights(y: Any, sample_weight: Any, samples: Any) -> tuple[Array, Floats, Indices]:
    """Validate labels and weights.

    Parameters
    ----------
    y, sample_weight
        Label and weight of each sample, (m,); all weights are 1 if None.
    samples
        The m samples: a Gram matrix, `SampleNames`, or their number.

    Returns
    -------
    Labels and weights of the samples of nonzero weight, and the positions of these samples.

    Raises
    ------
    InputError
        If a label is missing or a weight is wrong, there is one class, or the names differ from those of the samples.
    """
    known = as_sample_names(samples)
    if known.count == 0:
        raise InputError("got 0 samples: a classifier needs samples of two or more classes")
    labels = checked_labels(with_own_errors(column_or_1d, _real(aligned(y, known, "y")), warn=True), known, "y")
    sorted_labels(labels, "y")  # refuses texts beside numbers
    with_own_errors(check_classification_targets, labels)
    weights, kept = sample_weights(sample_weight, known)
    classes = np.unique(labels[kept])
    if len(classes) < 2:
        raise InputError(f"got 1 class, {classes.tolist()[0]!r}: a classifier needs samples of two or more")
    return labels[kept], weights[kept], kept


def targets_and_weights(y: Any, sample_weight: Any, samples: Any) -> tuple[Floats, Floats, Indices]:
    """Validate targets (m,) or (m, outputs) and weights (m,) of samples; see `labels_and_weights`.

    Returns targets and weights of the samples of nonzero weight, and the positions of these samples.
    """
    if y is None:
        raise InputError("requires y to be passed, but the target y is None: give a number for every sample")
    known = as_sample_names(samples)
    given = _real(aligned(y, known, "y"))
    if given.ndim == 2 and given.shape[1] == 1:
        given = with_own_errors(column_or_1d, given, warn=True)
    if given.ndim not in (1, 2) or len(given) != known.count:
        raise InputError(f"got targets of shape {given.shape} for {known.count} samples: give one for each")
    weights, kept = sample_weights(sample_weight, known)
    targets = _numbers_of(given)
    missing = np.flatnonzero(~np.isfinite(targets.reshape(known.count, -1)[kept]).all(axis=1))
    if len(missing):
        raise InputError(
            f"the target of sample {known.name(kept[missing[0]])} is missing or infinite (y contains NaN or infinity; "
            f"{len(missing)} such): give numbers, or leave those samples out"
        )
    return targets[kept], weights[kept], kept


def _numbers_of(values: Array) -> Floats:
    """Numbers, also those written as text; None becomes NaN."""
    return with_own_errors(np.asarray, values, dtype=np.float64) if values.dtype.kind in "OUST" else as_floats(values)


def _real(values: Array) -> Array:
    if values.dtype.kind == "c":
        raise InputError("Complex data not supported: the numbers in y are complex; give real ones")
    return values


def class_weights(class_weight: Any, classes: Array, labels: Array) -> Floats:
    """Validate weights of classes, and return one for each class, (classes,).

    Parameters
    ----------
    class_weight
        A dict from label to weight, ``"balanced"``, or None.
    classes
        The labels, sorted.
    labels
        Labels of the samples that count for ``"balanced"``: those of nonzero weight.

    Raises
    ------
    InputError
        If a weight is not a positive finite number, or the dict has labels that no sample has and lacks others.

    Warns
    -----
    UserWarning
        If the dict has a weight for each class, and also for a label that no sample has.

    Examples
    --------
    >>> class_weights({"a": 2}, np.array(["a", "b"]), np.array(["a", "b"]))
    array([2., 1.])
    """
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            if not 0 < _number(weight) < np.inf:
                raise InputError(
                    f"class_weight must hold positive finite numbers; class {_item(label)!r} has {weight!r}: to leave "
                    "a class out, leave out its samples"
                )
        unknown = [label for label in class_weight if label not in set(classes.tolist())]
        absent = [label for label in classes.tolist() if label not in class_weight]
        if unknown and absent:
            raise InputError(
                f"class_weight has a weight for {_item(unknown[0])!r}, which is no class, and none for class "
                f"{absent[0]!r}: the classes are {', '.join(map(repr, classes.tolist()[:10]))}"
            )
        if unknown:
            warn(f"class_weight has a weight for {_item(unknown[0])!r}, which no sample has")
        return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    if class_weight is not None and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise InputError(
            f'class_weight must be a dict from label to weight, "balanced" or None; got {class_weight!r:.100}'
        )
    return with_own_errors(compute_class_weight, class_weight, classes=classes, y=labels)


def _item(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
