"""Event times with censoring, and the events: the y of survival learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.alignment import SampleNames, aligned, as_sample_names
from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats

FORM = "a structured array with one field of truth values (event) and one of numbers (time), as survival_y makes it"


def survival_y(time: Any, event: Any) -> Array:
    """Join times and events to the structured array that survival learners take, as scikit-survival does.

    Parameters
    ----------
    time
        Time of each sample, 0 or more, (m,), in any unit: until the event, or the last time without it.
    event
        Whether the event was observed, (m,): True or 1, or False or 0 if the time is censored.

    Returns
    -------
    ndarray
        (m,), with the fields ``event`` (bool) and ``time`` (float64).

    Raises
    ------
    InputError
        If a time is missing, infinite or negative, an event is not 0 or 1, their numbers differ, or both have names and
        these differ. The message names the samples.

    See Also
    --------
    KernelCox, SurvivalSVM : Take it.
    sksurv.util.Surv : Makes the same arrays.

    Examples
    --------
    >>> survival_y([5.0, 8.0], [1, 0])
    array([( True, 5.), (False, 8.)], dtype=[('event', '?'), ('time', '<f8')])
    >>> survival_y([5.0, -8.0], [1, 0])
    Traceback (most recent call last):
    distkern.core.errors.InputError: times must be 0 or more and not missing; sample 1 has -8 (1 such): ...
    """
    samples = samples_with_times(time)
    times, events = checked_times(time, event, samples)
    out = np.empty(samples.count, dtype=[("event", np.bool_), ("time", np.float64)])
    out["event"], out["time"] = events, times
    return out


def samples_with_times(time: Any) -> SampleNames:
    """Names of the samples to which times belong, if these carry names."""
    found = plain(time, "time")
    names = found.names[0] if found.names else None
    count = len(found.values) if getattr(found.values, "ndim", 0) else 0
    return SampleNames(count, None if names is None else tuple(names), whose="time", listed="time.index")


def checked_times(time: Any, event: Any, samples: Any) -> tuple[Floats, Array]:
    """Validate times (float64) and events (bool) of samples: a Gram matrix, `SampleNames`, or their number."""
    known = as_sample_names(samples)
    times, events = as_floats(aligned(time, known, "time"), "time"), as_floats(aligned(event, known, "event"), "event")
    for what, values in (("time", times), ("event", events)):
        if values.shape != (known.count,):
            raise InputError(f"got {what} of shape {values.shape} for {known.count} samples: give one for each")
    _refuse(~((times >= 0) & (times < np.inf)), times, known, "times must be 0 or more and not missing")
    _refuse((events != 0) & (events != 1), events, known, "events must be 1 (observed) or 0 (censored)")
    return times, events == 1


def _refuse(wrong: Array, values: Floats, known: SampleNames, rule: str) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        first = [f"{known.name(place)} has {values[place]:g}" for place in places[:3]]
        raise InputError(f"{rule}; sample {', sample '.join(first)} ({len(places)} such): leave such samples out")


def times_and_events(y: Any, samples: Any) -> tuple[Floats, Array]:
    """Times (float64) and events (bool) of the y of a survival learner.

    Parameters
    ----------
    y
        Structured array with one field of truth values and one of numbers, whatever their names; or a DataFrame with
        such columns, whose names must be those of the samples.
    samples
        The m samples: a Gram matrix, `SampleNames`, or their number.

    Raises
    ------
    InputError
        If y has another form, a time is missing, infinite or negative, or the names are not those of the samples.
    """
    if y is None:
        raise InputError(f"requires y to be passed, but the target y is None: give {FORM}")
    if hasattr(y, "iloc") and getattr(y, "ndim", 0) == 2:
        kinds = {name: y[name].dtype for name in y.columns if y.columns.is_unique}
    else:
        y = np.asarray(y)
        kinds = {} if y.dtype.fields is None else {name: y.dtype[name] for name in y.dtype.names}
    events = [name for name, kind in kinds.items() if getattr(kind, "kind", "") == "b"]
    times = [name for name, kind in kinds.items() if getattr(kind, "kind", "") in "iuf"]
    if len(kinds) != 2 or len(events) != 1 or len(times) != 1:
        given = f"fields {dict(kinds)}" if kinds else f"an array of {getattr(y, 'dtype', type(y).__name__)}"
        raise InputError(f"y must be {FORM}; got {given}")
    return checked_times(y[times[0]], y[events[0]], samples)
