"""Metrics for rankers: ranking error and errors of pairwise differences.

The signature is that of scikit-learn's metrics: use ``make_scorer(ranking_error, greater_is_better=False)`` for a
scorer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from distkern.compiled.preferences import sums_of_overtakers
from distkern.core.alignment import SampleNames, refuse_other_names
from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.typing import Floats


def ranking_error(y_true: Any, y_pred: Any) -> float:
    r"""Mean loss over all pairs; a pair in the wrong order loses the difference of its targets.

    .. math::

        \frac1{|P|} \sum_{(i, j) \in P} (y_i - y_j)\bigl(1[f_i < f_j] + \tfrac12 1[f_i = f_j]\bigr),
        \qquad P = \{(i, j): y_i > y_j\}

    Agarwal, Dugar and Sengupta, "Ranking chemical structures for drug discovery", J. Chem. Inf. Model. 50 (2010).

    Parameters
    ----------
    y_true
        y, (m,).
    y_pred
        f, (m,); a larger score ranks higher.

    Returns
    -------
    float
        Error in the unit of y; 0 if all pairs are in the right order.

    Raises
    ------
    InputError
        If all targets are equal, the shapes differ, or a value is not finite.

    See Also
    --------
    ranking_measures : All such measures.
    concordance_index : Targets that are censored.

    Notes
    -----
    O(m log m).

    Examples
    --------
    >>> ranking_error([3.0, 2.0, 0.0], [0.2, 0.5, 0.1])  # one of three pairs is wrong, and its targets differ by 1.0
    0.3333333333333333
    """
    y, f = _checked(y_true, y_pred)
    levels = np.unique(y, return_inverse=True)[1].astype(np.intp)
    pairs = ordered_pairs(levels)
    if pairs == 0:
        raise InputError("all targets are equal: there is no pair to rank; give targets that differ")
    y = y - y.mean()
    order = np.argsort(-f, kind="stable")
    values, lost = np.column_stack([np.ones(len(y)), y]), np.empty((len(y), 2))
    total = 0.0
    for strict in (True, False):
        sums_of_overtakers(levels, order, f, f, values, strict, lost)
        total += float(y @ lost[:, 0] - lost[:, 1].sum()) / 2
    return max(total, 0.0) / pairs


def ordered_pairs(levels: Any) -> int:
    """Number of pairs with different levels."""
    sizes = np.bincount(levels).astype(object)  # Python integers do not overflow
    return int((sizes.sum() ** 2 - (sizes**2).sum()) // 2)


def mean_squared_difference(y_true: Any, y_pred: Any) -> float:
    r"""Mean over all pairs of the squared error of their difference.

    .. math::

        \frac1{m^2} \sum_{i, j} \bigl((y_i - y_j) - (f_i - f_j)\bigr)^2 = 2 \operatorname{Var}(y - f)

    Called MSD in Cortes, Mohri and Rastogi, "Magnitude-preserving ranking algorithms", ICML (2007).

    Parameters
    ----------
    y_true, y_pred
        y and f, (m,).

    Returns
    -------
    float
        Error in the squared unit of y; invariant to a constant added to all scores.

    Raises
    ------
    InputError
        If the shapes differ, or a value is not finite.

    See Also
    --------
    ranking_measures : All such measures.

    Examples
    --------
    >>> mean_squared_difference([1.0, 2.0], [5.0, 7.0])
    0.5
    """
    y, f = _checked(y_true, y_pred)
    return float(2 * np.var(y - f))


def mean_absolute_difference(y_true: Any, y_pred: Any) -> float:
    r"""Mean over all pairs of the absolute error of their difference.

    .. math::

        \frac1{m^2} \sum_{i, j} \bigl|(y_i - y_j) - (f_i - f_j)\bigr|

    Called M1D in Cortes, Mohri and Rastogi, "Magnitude-preserving ranking algorithms", ICML (2007).

    Parameters
    ----------
    y_true, y_pred
        y and f, (m,).

    Returns
    -------
    float
        Error in the unit of y; invariant to a constant added to all scores.

    Raises
    ------
    InputError
        If the shapes differ, or a value is not finite.

    See Also
    --------
    ranking_measures : All such measures.

    Notes
    -----
    O(m log m), by sorting the errors.

    Examples
    --------
    >>> mean_absolute_difference([1.0, 2.0], [5.0, 7.0])
    0.5
    """
    y, f = _checked(y_true, y_pred)
    errors = np.sort(y - f)
    m = len(errors)
    return float(2 * ((2 * np.arange(m) - m + 1) @ (errors - errors.mean())) / m**2)


def ranking_measures(y_true: Any, y_pred: Any) -> dict[str, float]:
    """All ranking metrics by name.

    Parameters
    ----------
    y_true, y_pred
        y and f, (m,).

    Returns
    -------
    dict
        ``error`` (`ranking_error`), ``corr`` (Pearson), ``tau`` (Kendall's tau-b), ``somers_d`` (Somers' D of the
        scores given the targets: concordant less discordant pairs, of the pairs with different targets), ``rho``
        (Spearman), ``msd`` (`mean_squared_difference`) and ``m1d`` (`mean_absolute_difference`). A correlation with
        constant scores is NaN; their Somers' D is 0.

    See Also
    --------
    ranking_error, mean_absolute_difference, mean_squared_difference : One of them.

    Examples
    --------
    >>> ranking_measures([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])["tau"]
    1.0
    """
    y, f = _checked(y_true, y_pred)
    constant = np.ptp(f) == 0
    error = ranking_error(y, f)
    tau = float("nan") if constant else float(stats.kendalltau(y, f)[0])
    ordered, scored = (ordered_pairs(np.unique(values, return_inverse=True)[1]) for values in (y, f))
    return {
        "error": error,
        "corr": float("nan") if constant else float(stats.pearsonr(y, f)[0]),
        "tau": tau,
        "somers_d": 0.0 if constant else tau * math.sqrt(scored / ordered),
        "rho": float("nan") if constant else float(stats.spearmanr(y, f)[0]),
        "msd": mean_squared_difference(y, f),
        "m1d": mean_absolute_difference(y, f),
    }


def _checked(y_true: Any, y_pred: Any) -> tuple[Floats, Floats]:
    of_targets, of_scores = plain(y_true, "y_true"), plain(y_pred, "y_pred")
    y, f = as_floats(of_targets.values, "y_true"), as_floats(of_scores.values, "y_pred")
    names = (*of_scores.names, None)[0]
    if names is not None:
        known = SampleNames(len(names), names, whose="y_pred", listed="y_pred.index")
        refuse_other_names((*of_targets.names, None)[0], known, "y_true")
    if y.ndim != 1 or y.shape != f.shape or not len(y):
        raise InputError(f"targets have shape {y.shape} and scores {f.shape}: give one of each for every sample")
    if not (np.isfinite(y) & np.isfinite(f)).all():
        raise InputError("targets or scores hold values that are missing or not finite")
    return y, f
