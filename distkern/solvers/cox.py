"""The negative partial log-likelihood of the Cox model as a loss of `newton_cg`."""

from __future__ import annotations

import numpy as np

from distkern.compiled.cox import log_denominators, means_at_risk, sums_of_weights
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.solvers.losses import Product

TIES = ("breslow", "efron")
"""Treatments of events at one time."""

NO_EVENT = "there is no event: every time is censored, so that nothing can be learned; give samples with events"


class Cox:
    """Mean negative partial log-likelihood: L(f) = −(1/m) Σ_k (f_k − log D_k), a sum over the events k.

    By Breslow D_k = S_k, the sum of exp(f_j) over the samples j of the stratum with t_j ≥ t_k. By Efron D_k = S_k −
    (l/d) E_k for event number l = 0, …, d − 1 of the d events at one time, with E_k the sum of exp(f) over these. With
    p_jk the weight of sample j in D_k, the gradient is (Σ_k p_jk − e_j) / m, and the second derivative maps v to
    Σ_k p_jk (v_j − Σ_i p_ik v_i) / m. Both take O(m). A constant does not change L. Cox, "Regression models and
    life-tables", JRSS B 34 (1972); Breslow, Biometrics 30 (1974); Efron, JASA 72 (1977).

    Parameters
    ----------
    time, event
        Time t of each sample, and whether it is that of an event (e_j = 1), or only the last time known, (m,).
    ties
        ``"breslow"`` or ``"efron"``.
    strata
        Stratum of each sample, (m,): only samples of one stratum are compared. One stratum by default.

    Raises
    ------
    InputError
        If there is no event.

    Examples
    --------
    >>> loss = Cox(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    >>> loss.value(np.zeros((3, 1))) == np.log(3) / 3
    np.True_
    """

    columns, total = 1, 1.0

    def __init__(self, time: Floats, event: Array, ties: str = "breslow", strata: Array | None = None) -> None:
        self._m = len(time)
        codes = np.zeros(self._m, dtype=np.intp) if strata is None else np.unique(strata, return_inverse=True)[1]
        self._order: Indices = np.lexsort((np.asarray(time), codes))
        self._times = np.asarray(time, dtype=np.float64)[self._order]
        self._event = np.asarray(event, dtype=np.bool_)[self._order]
        if not self._event.any():
            raise InputError(NO_EVENT)
        codes = codes[self._order].astype(np.intp)
        firsts = np.flatnonzero(np.r_[True, (np.diff(self._times) != 0) | (np.diff(codes) != 0)])
        self._groups = np.append(firsts, self._m).astype(np.intp), codes[firsts]
        self._strata = codes
        self._shares = np.zeros(self._m)
        if ties == "efron":
            group = np.repeat(np.arange(len(firsts)), np.diff(self._groups[0]))
            counts = np.bincount(group, weights=self._event)
            before: Indices = np.cumsum(self._event) - self._event  # events before each sample
            number: Indices = before - before[firsts][group]
            self._shares[self._event] = (number / np.maximum(counts[group], 1.0))[self._event]

    def intercept(self) -> Floats:
        """Zero: a constant does not change the loss."""
        return np.zeros(1)

    def value(self, f: Floats) -> float:
        """L(f)."""
        sorted_f, logs = self._denominators(f)
        return float((logs[self._event] - sorted_f[self._event]).sum()) / self._m

    def gradient(self, f: Floats) -> Floats:
        """Gradient of L at f, (m, 1)."""
        sorted_f, logs = self._denominators(f)
        return self._scattered(self._sums(sorted_f, np.ones((self._m, 1)), logs) - self._event[:, None])

    def curvature(self, f: Floats) -> Product:
        """Product of vectors, (m, columns), with the second derivative of L at f."""
        sorted_f, logs = self._denominators(f)
        weights = self._sums(sorted_f, np.ones((self._m, 1)), logs)

        def product(V: Floats) -> Floats:
            rows = np.ascontiguousarray(V[self._order])
            means = np.zeros_like(rows)
            means_at_risk(sorted_f, rows, self._event, self._shares, *self._groups, logs, means)
            return self._scattered(weights * rows - self._sums(sorted_f, means, logs))

        return product

    def baseline(self, f: Floats) -> tuple[Floats, Floats, Indices]:
        """Breslow's estimate of the cumulative baseline hazard, H(t) = Σ 1/S_k over the events with t_k ≤ t.

        Returns the distinct times, H at each of them, and their strata as numbers, stratum by stratum. H of a stratum
        is NaN where its terms are beyond what float64 holds.
        """
        starts, strata = self._groups
        logs, sorted_f = np.full(self._m, np.inf), np.ascontiguousarray(f.ravel()[self._order])
        log_denominators(sorted_f, self._event, np.zeros(self._m), starts, strata, logs)
        with np.errstate(over="ignore"):
            steps = np.exp(-logs)  # 0 where a time is censored
        steps[self._event & ~((steps > 0) & (steps < np.inf))] = np.nan
        for stratum in np.unique(self._strata):
            own = self._strata == stratum
            steps[own] = np.cumsum(steps[own]) if np.isfinite(steps[own]).all() else np.nan
        return self._times[starts[:-1]], steps[starts[1:] - 1], strata

    # In the sorted order ---------------------------------------------------------------------------------------------

    def _denominators(self, f: Floats) -> tuple[Floats, Floats]:
        """Sorted scores, and log D at each event."""
        sorted_f, logs = np.ascontiguousarray(f[:, 0][self._order]), np.zeros(self._m)
        log_denominators(sorted_f, self._event, self._shares, *self._groups, logs)
        return sorted_f, logs

    def _sums(self, sorted_f: Floats, V: Floats, logs: Floats) -> Floats:
        out = np.empty_like(V)
        sums_of_weights(sorted_f, V, self._event, self._shares, *self._groups, logs, out)
        return out

    def _scattered(self, rows: Floats) -> Floats:
        """Rows in the order of the samples, divided by m."""
        out = np.empty_like(rows)
        out[self._order] = rows / self._m
        return out
