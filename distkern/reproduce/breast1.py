"""Breast cancer 1 of Jiao & Vert (BC1) from the published measurements of 97 tumours (van 't Veer et al., 2002).

Table 1 of the paper has 23,624 of the 24,481 features, and 32 of the 34 training samples with a relapse; the paper does
not tell how they were chosen. These numbers come out exactly if the two training samples with many missing values (45
and 10 % of them; all others have less than 2 %) are left out first, and then all features with a missing value in
any sample that is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats

MOST_MISSING = 0.05
"""A training sample in which more than this fraction of the values is missing is left out."""

ARRAYS = ("X", "y", "is_test")
"""Arrays of the file of measurements."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Samples and features without missing values.

    Parameters
    ----------
    X, y
        Training samples (m, n) and their classes (m,).
    X_test, y_test
        Test samples (t, n) and their classes (t,).
    samples, features
        Masks over the training samples and the features of the file: true for those that were kept.
    """

    X: Floats
    y: Array
    X_test: Floats
    y_test: Array
    samples: Array
    features: Array


def read_measurements(path: str | Path) -> Prepared:
    """Read a file of measurements, and prepare it by `without_missing_values`.

    Parameters
    ----------
    path
        An ``.npz`` file with X (97, 24,481), NaN where a value is missing, y (97,), and is_test (97,), true for the
        samples of the test set.

    Raises
    ------
    InputError
        If the file lacks an array.
    """
    with np.load(path, allow_pickle=False) as arrays:
        lacking = [name for name in ARRAYS if name not in arrays.files]
        if lacking:
            raise InputError(f"{str(path)!r} has no array {lacking[0]!r}; it needs {', '.join(ARRAYS)}")
        X, y, is_test = (arrays[name] for name in ARRAYS)
    return without_missing_values(X.astype(np.float64), y, is_test.astype(bool))


def without_missing_values(X: Floats, y: Array, is_test: Array) -> Prepared:
    """Leave out training samples with many missing values, then features with a missing value in any sample left.

    Parameters
    ----------
    X, y, is_test
        All samples (m, n), NaN where a value is missing; their classes (m,); which of them are test samples (m,).

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0], [np.nan, np.nan, 1.0], [4.0, 5.0, 6.0], [7.0, np.nan, 9.0]])
    >>> found = without_missing_values(X, np.array(["a", "b", "b", "a"]), np.array([False, False, False, True]))
    >>> found.X, found.X_test, found.features
    (array([[1., 3.],
           [4., 6.]]), array([[7., 9.]]), array([ True, False,  True]))
    """
    missing = np.isnan(X)
    kept = is_test | (missing.mean(axis=1) <= MOST_MISSING)
    features = ~missing[kept].any(axis=0)
    train, test = kept & ~is_test, is_test
    return Prepared(X[train][:, features], y[train], X[test][:, features], y[test], kept[~is_test], features)
