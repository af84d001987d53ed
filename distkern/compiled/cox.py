"""Sums over risk sets of the Cox model, in O(m) once the samples are sorted by stratum and time.

Each event k has a denominator D_k = S_k − φ_k E_k: S_k is the sum of exp(f) over the samples of its stratum whose time
is not earlier, E_k the sum over the events at the same time, and φ_k the share of E_k that is taken off: 0 by Breslow,
and l/d for event number l = 0, 1, … of d at one time by Efron. Sample j has the weight p_jk = exp(f_j) (1 − φ_k) / D_k
if it has an event at the time of k, exp(f_j) / D_k if it is at risk otherwise, and 0 else. All sums are relative to
their largest term, so that no score overflows.

The samples of one time of one stratum are a group: ``starts`` are the first positions of all groups, and the number of
samples; ``strata`` are the strata of the groups. All arrays are in the sorted order.
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def log_denominators(f, event, shares, starts, strata, out):  # type: ignore[no-untyped-def]
    """Fill log D_k at the position of each event.

    Parameters
    ----------
    f, event, shares
        Score, whether there is an event, and φ of each sample, (m,).
    starts, strata
        (groups + 1,) and (groups,).
    out
        (m,); positions of censored samples are left as they are.
    """
    groups = strata.shape[0]
    top, total = -np.inf, 0.0
    for group in range(groups - 1, -1, -1):
        if group == groups - 1 or strata[group] != strata[group + 1]:
            top, total = -np.inf, 0.0
        highest = top
        for k in range(starts[group], starts[group + 1]):
            highest = max(highest, f[k])
        total *= np.exp(top - highest)
        top = highest
        dying = 0.0
        for k in range(starts[group], starts[group + 1]):
            if event[k]:
                dying += np.exp(f[k] - top)
            else:
                total += np.exp(f[k] - top)
        for k in range(starts[group], starts[group + 1]):
            if event[k]:
                out[k] = top + np.log(total + (1.0 - shares[k]) * dying)
        total += dying


@compiled
def means_at_risk(f, V, event, shares, starts, strata, logs, out):  # type: ignore[no-untyped-def]
    """Fill Σ_j p_jk V_j at the position of each event k: means of the rows of V with the weights of its risk set.

    Parameters
    ----------
    f, event, shares, starts, strata
        See `log_denominators`.
    V
        (m, columns).
    logs
        log D_k, (m,).
    out
        (m, columns); rows of censored samples are left as they are.
    """
    groups, columns = strata.shape[0], V.shape[1]
    total, dying = np.zeros(columns), np.zeros(columns)
    top = -np.inf
    for group in range(groups - 1, -1, -1):
        if group == groups - 1 or strata[group] != strata[group + 1]:
            top = -np.inf
            total[:] = 0.0
        highest = top
        for k in range(starts[group], starts[group + 1]):
            highest = max(highest, f[k])
        rescaled = np.exp(top - highest)
        top = highest
        for c in range(columns):
            total[c] *= rescaled
            dying[c] = 0.0
        for k in range(starts[group], starts[group + 1]):
            weight = np.exp(f[k] - top)
            for c in range(columns):
                if event[k]:
                    dying[c] += weight * V[k, c]
                else:
                    total[c] += weight * V[k, c]
        for k in range(starts[group], starts[group + 1]):
            if event[k]:
                scale = np.exp(top - logs[k])
                for c in range(columns):
                    out[k, c] = scale * (total[c] + (1.0 - shares[k]) * dying[c])
        for c in range(columns):
            total[c] += dying[c]


@compiled
def sums_of_weights(f, V, event, shares, starts, strata, logs, out):  # type: ignore[no-untyped-def]
    """Fill Σ_k p_jk V_k for each sample j: sums over the events k in whose risk sets the sample is.

    Parameters
    ----------
    f, event, shares, starts, strata
        See `log_denominators`.
    V
        (m, columns); only rows of events count.
    logs
        log D_k, (m,).
    out
        (m, columns), filled.
    """
    groups, columns = strata.shape[0], V.shape[1]
    total, taken = np.zeros(columns), np.zeros(columns)
    unit = np.inf  # log D of the last event, which never increases within a stratum; sums are multiplied by exp(unit)
    for group in range(groups):
        if group == 0 or strata[group] != strata[group - 1]:
            unit = np.inf
            total[:] = 0.0
        taken[:] = 0.0
        for k in range(starts[group], starts[group + 1]):
            if event[k]:
                rescaled = np.exp(logs[k] - unit)
                unit = logs[k]
                for c in range(columns):
                    total[c] = total[c] * rescaled + V[k, c]
                    taken[c] = taken[c] * rescaled + shares[k] * V[k, c]
        for k in range(starts[group], starts[group + 1]):
            weight = np.exp(f[k] - unit)
            for c in range(columns):
                out[k, c] = weight * (total[c] - taken[c] if event[k] else total[c])
