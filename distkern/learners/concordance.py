"""Concordance of risks with survival times: Harrell's C, and Uno's, which corrects for censoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.compiled.preferences import sums_of_overtakers
from distkern.core.alignment import aligned
from distkern.core.containers import as_floats
from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.parameters import one_of
from distkern.core.typing import Array, Floats
from distkern.learners.survival_times import checked_times, samples_with_times
from distkern.learners.validation import positive


def concordance_index(
    time: Any,
    event: Any,
    risk: Any,
    method: str = "harrell",
    *,
    train: tuple[Any, Any] | None = None,
    tau: float | None = None,
    strata: Any = None,
) -> float:
    r"""Fraction of the comparable pairs in which the sample with the earlier event has the higher risk.

    .. math::

        C = \frac{\sum_{(i,j) \in P} v_i \bigl([r_i > r_j] + \tfrac12 [r_i = r_j]\bigr)}{\sum_{(i,j) \in P} v_i}

    where P contains the pairs with an event at t_i, and t_j > t_i, or t_j = t_i censored. Harrell's v_i = 1: sums are
    exact integers. Uno's v_i = 1 / G(t_i)², with G(t) the Kaplan-Meier estimate of the chance that the time of a
    training sample is not censored up to t; it does not depend on how many samples are censored when. Either takes
    O(m log m). Harrell et al., JAMA 247 (1982); Uno et al., Statistics in Medicine 30 (2011).

    Parameters
    ----------
    time, event
        Time of each sample, and whether the event was observed, (m,); see `survival_y`.
    risk
        r, (m,): a higher risk stands for an earlier event, as `KernelCox` and `SurvivalSVM` predict it.
    method
        ``"harrell"`` or ``"uno"``.
    train
        Times and events of the training samples, from which G is estimated; for ``"uno"`` only.
    tau
        Only events before this time count; all by default. With Uno's method, G must be positive there.
    strata
        Stratum of each sample, such as the cohort, (m,): only pairs of one stratum are compared.

    Raises
    ------
    InputError
        If there is no comparable pair; a time is missing, infinite or negative, an event is not 0 or 1, or a risk is
        not finite; the message names the samples. If ``train`` is missing or not needed, or G is 0 at an event.

    See Also
    --------
    ranking_error : The same idea without censoring.
    sksurv.metrics.concordance_index_censored : The same, with the counts of pairs.

    Examples
    --------
    >>> concordance_index([1.0, 2.0, 3.0], [1, 1, 0], [0.9, 0.1, 0.5])
    0.6666666666666666
    """
    one_of(method, "method", ("harrell", "uno"))
    samples = samples_with_times(time)
    times, events = checked_times(time, event, samples)
    risks = as_floats(aligned(risk, samples, "risk"), "risk")
    if risks.shape != times.shape:
        raise InputError(f"got risk of shape {risks.shape} for {len(times)} samples: give one for each")
    wrong = np.flatnonzero(~np.isfinite(risks))
    if len(wrong):
        raise InputError(f"risk must be finite; sample {samples.name(wrong[0])} has {risks[wrong[0]]}")
    if (train is None) == (method == "uno"):
        need = "train= is needed for" if train is None else "train= is only for"
        raise InputError(f"{need} the method 'uno': the times and events of the training samples")
    counted = events if tau is None else events & (times < positive(tau, "tau"))
    weights = counted.astype(np.float64)
    if train is not None:
        known = samples_with_times(train[0])
        weights[counted] = _inverse_squares(*checked_times(*train, known), times[counted])
    groups = None if strata is None else encoded_labels(strata, samples, "strata")[1]
    found = concordant_pairs(times, events, risks, weights, groups)
    return found.index()


@dataclass(frozen=True)
class ConcordantPairs:
    """Sums over comparable pairs; they add up over strata and folds.

    Parameters
    ----------
    found
        Twice the weight of the concordant pairs, plus the weight of the pairs of equal risk.
    comparable
        Twice the weight of all comparable pairs.
    """

    found: float
    comparable: float

    def __add__(self, other: ConcordantPairs) -> ConcordantPairs:
        return ConcordantPairs(self.found + other.found, self.comparable + other.comparable)

    def index(self) -> float:
        """Concordance index.

        Raises
        ------
        InputError
            If there is no comparable pair.
        """
        if not self.comparable > 0:
            raise InputError(
                "there is no comparable pair: no sample of a later time than that of an event; give more samples, or "
                "larger strata"
            )
        return self.found / self.comparable


def concordant_pairs(
    time: Floats, event: Array, risk: Floats, weights: Floats | None = None, strata: Array | None = None
) -> ConcordantPairs:
    """Sums of the weights of events over comparable pairs, exact for whole weights up to 2⁵³; see `concordance_index`.

    Examples
    --------
    >>> concordant_pairs(np.array([1.0, 2.0, 3.0]), np.array([True, True, False]), np.array([0.9, 0.1, 0.5]))
    ConcordantPairs(found=4.0, comparable=6.0)
    """
    values = (event * (1.0 if weights is None else weights)).astype(np.float64)
    numbers = np.zeros(len(time), dtype=np.intp) if strata is None else np.unique(strata, return_inverse=True)[1]
    sums = ConcordantPairs(0.0, 0.0)
    for number in np.unique(numbers):
        own = np.flatnonzero(numbers == number)
        every = np.ones((len(own), 1))
        found, comparable = weighted_pairs(time[own], event[own], risk[own], values[own, None], every)
        sums += ConcordantPairs(float(found[0]), float(comparable[0]))
    return sums


def weighted_pairs(time: Floats, event: Array, risk: Floats, earlier: Floats, later: Floats) -> tuple[Floats, Floats]:
    """Sums over comparable pairs of the weight of the earlier sample times that of the later one, for each column.

    Parameters
    ----------
    earlier, later
        Weights of a sample as the earlier one, which must be 0 where it has no event, and as the later one,
        (m, columns) each.

    Returns
    -------
    Twice the sum over the concordant pairs plus that over pairs of equal risk, and twice the sum over all, (columns,).
    """
    order = np.lexsort((~event, time))  # events before censorings of the same time
    differs = np.r_[False, (np.diff(time[order]) != 0) | (np.diff(event[order].astype(np.int8)) != 0)]
    levels = np.empty(len(time), dtype=np.intp)
    levels[order] = np.cumsum(differs)

    def pairs(scores: Floats, strict: bool) -> Floats:
        out = np.empty_like(earlier)
        sums_of_overtakers(levels, np.argsort(-scores, kind="stable"), scores, scores, earlier, strict, out)
        return np.asarray((later * out).sum(axis=0))

    return pairs(risk, True) + pairs(risk, False), 2 * pairs(np.zeros_like(risk), False)


def chance_uncensored(time: Floats, event: Array, at: Floats) -> Floats:
    """Kaplan-Meier estimate G(t) of the chance that a time is not censored up to t, at some times."""
    order = np.lexsort((~event, time))  # events come before censorings of the same time
    sorted_times, left = time[order], len(time) - np.arange(len(time))
    factors = np.where(event[order], 1.0, 1.0 - 1.0 / left)
    return np.r_[1.0, np.cumprod(factors)][np.searchsorted(sorted_times, at, side="right")]


def _inverse_squares(time: Floats, event: Array, at: Floats) -> Floats:
    """1 / G(t)² at some times, with G estimated from the times of training samples."""
    G = chance_uncensored(time, event, at)
    if not (G > 0).all():
        first = float(at[G <= 0].min())
        raise InputError(
            f"all training samples are censored up to time {first:g}, at which there is an event: give tau={first:g} "
            "or less, so that only earlier events count"
        )
    return 1.0 / G**2
