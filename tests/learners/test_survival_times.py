"""The y of survival learners."""

import numpy as np
import pandas as pd
import pytest

from distkern import InputError, survival_y
from distkern.learners.survival_times import times_and_events

TIME, EVENT = [5.0, 0.0, 2.5], [1, 0, 1]


def test_it_is_the_array_of_scikit_survival():
    y = survival_y(TIME, EVENT)
    assert y.dtype.names == ("event", "time")
    assert y["event"].tolist() == [True, False, True]
    assert y["time"].tolist() == TIME
    util = pytest.importorskip("sksurv.util")
    np.testing.assert_array_equal(util.Surv.from_arrays(np.array(EVENT, dtype=bool), TIME), y)


@pytest.mark.parametrize(
    "y",
    [
        survival_y(TIME, np.array(EVENT, dtype=bool)),
        np.array([(5.0, True), (0.0, False), (2.5, True)], dtype=[("days", np.float32), ("relapse", bool)]),
        np.array([(5, True), (0, False), (2, True)], dtype=[("days", int), ("relapse", bool)]),
        pd.DataFrame({"t": TIME, "e": [True, False, True]}),
    ],
)
def test_fields_are_told_by_their_types(y):
    time, event = times_and_events(y, 3)
    assert time.dtype == np.float64
    assert time[:2].tolist() == TIME[:2]
    assert event.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("time", "event", "message"),
    [
        (
            [1.0, np.nan, -2.0],
            EVENT,
            r"times must be 0 or more and not missing; sample 1 has nan, sample 2 has -2 \(2 such",
        ),
        ([1.0, np.inf, 2.0], EVENT, "sample 1 has inf"),
        (TIME, [1, 2, 0], r"events must be 1 \(observed\) or 0 \(censored\); sample 1 has 2"),
        (TIME, [1, np.nan, 0], "sample 1 has nan"),
        (TIME, [1, 0], r"got event of shape \(2,\) for 3 samples"),
        (
            pd.Series(TIME, index=list("abc")),
            pd.Series(EVENT, index=list("acb")),
            "event has the samples of time in another order",
        ),
        (pd.Series([1.0, -1.0, 2.0], index=list("abc")), EVENT, "sample 'b' has -1"),
    ],
)
def test_wrong_times_are_refused_by_name(time, event, message):
    with pytest.raises(InputError, match=message):
        survival_y(time, event)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (TIME, "y must be a structured array .* got an array of float64"),
        (np.zeros((3, 2)), "y must be a structured array"),
        (np.zeros(3, dtype=[("a", float), ("b", float)]), "got fields"),
        (np.zeros(3, dtype=[("a", bool), ("b", bool)]), "got fields"),
        (np.zeros(3, dtype=[("a", bool), ("b", float), ("c", float)]), "got fields"),
        (survival_y([1.0], [1]), r"got time of shape \(1,\) for 3 samples"),
        (pd.DataFrame({"t": TIME, "e": [True, False, True]}, index=list("abd")), "y has no value|time has no value"),
    ],
)
def test_other_forms_are_refused(y, message):
    from distkern.core.alignment import SampleNames

    with pytest.raises(InputError, match=message):
        times_and_events(y, SampleNames(3, tuple("abc")))
