"""Kaplan-Meier curves of groups, and the log-rank test of their difference."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import CensoredData, chi2, ecdf

from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.survival_times import checked_times, samples_with_times

LEVEL = 0.95
"""Coverage of confidence limits."""

ROUNDING = 1e-12
"""Survival within this of 1/2 counts as 1/2."""


@dataclass(frozen=True, eq=False)
class SurvivalCurves:
    """Kaplan-Meier curves of one or more groups.

    Parameters
    ----------
    table
        DataFrame with a row for each group and time: group, time, at_risk (samples whose time is this or later),
        events, censored (numbers at this time), survival just after this time, standard_error, low and high.
    medians
        DataFrame with a row for each group: group, samples, events, median, low and high; NaN where a curve, or a
        limit of it, does not reach 1/2.

    See Also
    --------
    kaplan_meier : Makes it.
    """

    table: Any
    medians: Any


def kaplan_meier(time: Any, event: Any, groups: Any = None, *, level: float = LEVEL) -> SurvivalCurves:
    r"""Estimate the chance to have no event up to each time, for each group.

    .. math::

        S(t) = \prod_{t_i \le t} \Bigl(1 - \frac{d_i}{n_i}\Bigr), \qquad
        \operatorname{se}(t) = S(t) \sqrt{\sum_{t_i \le t} \frac{d_i}{n_i (n_i - d_i)}}

    where d_i events happen at time t_i among the n_i samples whose times are t_i or later. Kaplan & Meier (1958), JASA
    53; the standard error is Greenwood's. Limits are those of log(−log S), so that they lie between 0 and 1; they are 1
    before the first event, and NaN where S is 0. The median is the first time at which S is at most 1/2, and its limits
    are the first times at which those of S are (Brookmeyer & Crowley, 1982). The curves and their limits are computed
    by SciPy.

    Parameters
    ----------
    time, event
        Time of each sample, and whether the event was observed, (m,); see `survival_y`.
    groups
        Group of each sample, (m,); one group of all by default.
    level
        Coverage of the limits.

    Raises
    ------
    InputError
        If a time is missing, infinite or negative, an event is not 0 or 1, or a group is missing; the message names the
        samples. If there is no sample.

    See Also
    --------
    log_rank_test : Whether the curves differ.
    distkern.plot.plot_survival : The figure.
    sksurv.nonparametric.kaplan_meier_estimator : One curve.

    Examples
    --------
    >>> found = kaplan_meier([1.0, 2.0, 2.0, 3.0], [1, 1, 0, 1])
    >>> found.table[["time", "at_risk", "events", "survival"]].values.tolist()
    [[1.0, 4.0, 1.0, 0.75], [2.0, 3.0, 1.0, 0.5], [3.0, 1.0, 1.0, 0.0]]
    >>> found.medians["median"].tolist()
    [2.0]
    """
    import pandas as pd

    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1; got {level!r}")
    times, events, names, codes = _given(time, event, groups)
    tables, medians = [], []
    for code, name in enumerate(names):
        own = codes == code
        table = _curve(times[own], events[own], level)
        reached = {end: _first_at_half(table["time"], table[end]) for end in ("survival", "low", "high")}
        tables.append({"group": [name] * len(table["time"]), **table})
        about = {"group": name, "samples": int(own.sum()), "events": int(events[own].sum())}
        medians.append(about | {"median": reached["survival"], "low": reached["low"], "high": reached["high"]})
    return SurvivalCurves(pd.concat([pd.DataFrame(one) for one in tables], ignore_index=True), pd.DataFrame(medians))


@dataclass(frozen=True, eq=False)
class LogRankTest:
    """Test of whether groups have the same survival.

    Parameters
    ----------
    statistic
        χ², about distributed as chi-squared with ``df`` degrees of freedom if the groups do not differ.
    pvalue
        Chance of a statistic at least as large if the groups do not differ.
    df
        Degrees of freedom: the number of groups less one, of groups that share strata.
    table
        DataFrame with a row for each group: group, samples, events, and expected, the number of events expected if the
        groups did not differ.

    See Also
    --------
    log_rank_test : Makes it.
    """

    statistic: float
    pvalue: float
    df: int
    table: Any


def log_rank_test(time: Any, event: Any, groups: Any, strata: Any = None) -> LogRankTest:
    r"""Test whether two or more groups have the same survival.

    .. math::

        \chi^2 = (O - E)^\top V^- (O - E), \qquad E_g = \sum_t d_t \frac{n_{gt}}{n_t}, \qquad
        V_{gh} = \sum_t d_t \frac{n_t - d_t}{n_t - 1} \frac{n_{gt}}{n_t} \Bigl([g = h] - \frac{n_{ht}}{n_t}\Bigr)

    where O are the numbers of events of the groups, and d_t events happen at time t among n_t samples at risk, n_gt of
    them of group g. Sums are also over strata, so that samples are compared within their stratum only. Mantel (1966);
    Peto & Peto (1972), JRSS A 135. With two groups and no strata it equals `scipy.stats.logrank`.

    Parameters
    ----------
    time, event
        Time of each sample, and whether the event was observed, (m,); see `survival_y`.
    groups
        Group of each sample, (m,).
    strata
        Stratum of each sample, such as the hospital, (m,).

    Raises
    ------
    InputError
        If a time, event, group or stratum cannot be used; the message names the samples. If no two groups are at risk
        together when an event happens.

    See Also
    --------
    kaplan_meier : The curves.
    scipy.stats.logrank : Two groups, without strata.

    Examples
    --------
    >>> found = log_rank_test([1.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 1, 1, 0], ["high", "high", "high", "low", "low"])
    >>> found.df, round(found.pvalue, 3), found.table["expected"].round(2).tolist()
    (1, 0.063, [1.43, 2.57])
    """
    import pandas as pd

    times, events, names, codes = _given(time, event, groups)
    stratum_of = np.zeros(len(times), dtype=np.intp)
    if strata is not None:
        stratum_of = encoded_labels(strata, samples_with_times(time), "strata")[1]
    count = len(names)
    expected, covariance = np.zeros(count), np.zeros((count, count))
    for number in np.unique(stratum_of):
        own = stratum_of == number
        more, spread = _expected(times[own], events[own], codes[own], count)
        expected, covariance = expected + more, covariance + spread
    df = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if not df:
        raise InputError(
            "no two groups are at risk together when an event happens: give two groups or more with samples that live "
            "past an event, and strata that contain several groups"
        )
    observed = np.bincount(codes, weights=events, minlength=count)
    excess = observed - expected
    statistic = float(excess @ np.linalg.pinv(covariance, hermitian=True) @ excess)
    sizes = np.bincount(codes, minlength=count)
    table = pd.DataFrame({"group": names, "samples": sizes, "events": observed.astype(int), "expected": expected})
    return LogRankTest(statistic, float(chi2.sf(statistic, df)), df, table)


# Parts -----------------------------------------------------------------------------------------------------------


def _given(time: Any, event: Any, groups: Any) -> tuple[Floats, Array, list[Any], Indices]:
    """Times, events, names of the groups, and the number of the group of each sample."""
    samples = samples_with_times(time)
    times, events = checked_times(time, event, samples)
    if not len(times):
        raise InputError("there is no sample: give a time and an event for each")
    if groups is None:
        return times, events, ["all"], np.zeros(len(times), dtype=np.intp)
    names, codes = encoded_labels(groups, samples, "groups")
    return times, events, np.asarray(names).tolist(), codes


def _curve(time: Floats, event: Array, level: float) -> dict[str, Array]:
    """Columns of the table of one group."""
    curve = ecdf(CensoredData.right_censored(time, ~event)).sf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no limits where S is 1 or 0
        limits = curve.confidence_interval(level, method="log-log")
    at, numbers = np.unique(time, return_inverse=True)
    ends, events = np.bincount(numbers), np.bincount(numbers, weights=event).astype(np.intp)
    at_risk = len(time) - np.r_[0, np.cumsum(ends)[:-1]]
    survival = curve.probabilities
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(survival > 0, survival * np.sqrt(np.cumsum(events / (at_risk * (at_risk - events)))), 0.0)
    before = np.cumsum(events) == 0
    return {
        "time": at,
        "at_risk": at_risk,
        "events": events,
        "censored": ends - events,
        "survival": survival,
        "standard_error": error,
        "low": np.where(before, 1.0, limits.low.probabilities),
        "high": np.where(before, 1.0, limits.high.probabilities),
    }


def _first_at_half(time: Array, curve: Array) -> float:
    reached = np.flatnonzero(curve <= 0.5 + ROUNDING)  # NaN is not
    return float(time[reached[0]]) if len(reached) else float("nan")


def _expected(time: Floats, event: Array, codes: Indices, count: int) -> tuple[Floats, Floats]:
    """Expected numbers of events of the groups in one stratum, and the covariance of the observed ones."""
    at, numbers = np.unique(time, return_inverse=True)
    ends = np.zeros((len(at), count))
    np.add.at(ends, (numbers, codes), 1.0)
    at_risk = np.cumsum(ends[::-1], axis=0)[::-1]  # of each group
    all_at_risk, events = at_risk.sum(axis=1), np.bincount(numbers, weights=event)
    shares = at_risk / all_at_risk[:, None]
    factor = events * (all_at_risk - events) / np.maximum(all_at_risk - 1, 1)
    return events @ shares, np.diag(factor @ shares) - (shares * factor[:, None]).T @ shares
