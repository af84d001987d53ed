"""Names of samples and metadata of rankings: kept where a row is still one sample, and no part of equality."""

from __future__ import annotations

import numpy as np
import pytest

from distkern import Kendall, KernelKMeans, Rankings
from distkern.core.errors import InputError
from distkern.io.source import as_source
from distkern.kernels.partial import unobserved_last

VOTES = Rankings([[1, 2], [2, 1], [1, 2]], ("a", "b"), ("total",) * 3, [5, 1, 2], ("x", "y", "z"), {"title": "t"})


def test_rows_keep_their_names_unless_one_is_taken_twice():
    assert VOTES[1:].ids == ("y", "z")
    assert VOTES[[2, 0]].ids == ("z", "x")
    assert VOTES[np.array([True, False, True])].ids == ("x", "z")
    assert VOTES[[0, 0]].ids is None
    assert VOTES[1:].metadata == unobserved_last(VOTES).metadata == {"title": "t"}
    assert unobserved_last(VOTES).ids == VOTES.ids


def test_rows_that_are_no_longer_one_sample_have_no_name():
    assert VOTES.distinct()[0].ids is None
    assert VOTES.expand().ids is None


def test_names_are_no_part_of_equality():
    assert Rankings(VOTES.values, VOTES.items, VOTES.kind, VOTES.counts) == VOTES


def test_names_reach_the_learners():
    assert as_source(VOTES).ids == ("x", "y", "z")
    assert as_source(VOTES).counts.tolist() == [5, 1, 2]
    assert as_source(VOTES).rows(slice(1, 3)).counts.tolist() == [1, 2]
    model = KernelKMeans(2, kernel=Kendall(), random_state=0).fit(VOTES, sample_weight=VOTES.counts)
    assert model.labels_[0] == model.labels_[2] != model.labels_[1]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (("x", "y"), "2 ids for 3 rankings: give one per ranking"),
        (("x", "y", "x"), "two samples have the name 'x'"),
        (("x", "y", "a\nb"), "contains a line break"),
    ],
)
def test_wrong_names_are_refused(ids, message):
    with pytest.raises(InputError, match=message):
        Rankings(VOTES.values, VOTES.items, VOTES.kind, VOTES.counts, ids)
