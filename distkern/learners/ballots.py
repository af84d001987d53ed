"""Rankings as the input of learners: validated, with the items of the training rankings, found by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.feature_names import places_by_name
from distkern.core.rankings import Rankings
from distkern.core.typing import Floats
from distkern.core.validation import are_named
from distkern.core.weights import sample_weights
from distkern.learners.validation import labelled_table, samples_of, validated


def ballots_of(estimator: Any, X: Any, *, reset: bool) -> Rankings:
    """Validate rankings (m, n), and take the items of the training rankings, wherever they are among others.

    Parameters
    ----------
    estimator
        Gets ``n_features_in_`` and ``feature_names_in_`` if ``reset``.
    X
        `Rankings`, or a table of finite values with larger = preferred, equal = tied.
    reset
        Whether these are the training rankings.

    Raises
    ------
    InputError
        If there is one item, an item of the training rankings is missing, or a value of a table is not finite.
    """
    if not isinstance(X, Rankings):
        X = labelled_table(X)
        names = tuple(map(str, X.columns)) if hasattr(X, "iloc") else None
        places = None if reset else places_by_name(getattr(estimator, "feature_names_in_", None), names, "X")
        values = validated(estimator, X if places is None else X.iloc[:, places], reset=reset, dtype=np.float64)
        found = Rankings.from_ranks(values, items=getattr(estimator, "feature_names_in_", None))
    else:
        places = None if reset else places_by_name(getattr(estimator, "feature_names_in_", None), X.items, "X")
        found = X if places is None else _with_items(X, places)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            validated(estimator, found.values, reset=reset, dtype=np.float64, ensure_all_finite=False)
        if reset and are_named(X.items):
            estimator.feature_names_in_ = np.array(X.items, dtype=object)
    if found.n_items < 2:
        raise InputError("got n_features=1: a ranking has 2 items or more")
    return found


def weights_or_counts(X: Any, sample_weight: Any) -> Any:
    """The given weights, else the counts of `Rankings`, else None."""
    return X.counts if sample_weight is None and isinstance(X, Rankings) else sample_weight


def voters_of(X: Any, sample_weight: Any) -> Floats:
    """Number of voters of each ranking, (m,): the given weights, else the counts of `Rankings`, else 1."""
    return sample_weights(weights_or_counts(X, sample_weight), samples_of(X))[0]


def _with_items(ballots: Rankings, places: Any) -> Rankings:
    """Rankings of some of the items, in another order."""
    items = tuple(ballots.items[place] for place in places)
    return Rankings(ballots.values[:, places], items, ballots.kind, ballots.counts)
