"""Identities of matrices: they follow every view, and agree only where samples, kernel and views are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.operators.array import ArrayGram
from distkern.operators.identity import Identity, agree, total
from distkern.operators.sums import SumGram

DIGESTS = np.random.default_rng(0).integers(0, 256, size=(5, 16), dtype=np.uint8)
LINEAR, GAUSSIAN = {"kernel": "linear"}, {"kernel": "gaussian", "sigma": 2.0}
VALUES = np.diag([4.0, 1.0, 9.0, 1.0, 1.0]) + 1.0


def matrix(values=LINEAR, digests=DIGESTS):
    return ArrayGram(VALUES, identity=Identity(digests, values))


def test_arrays_have_none_and_neither_have_their_views():
    gram = ArrayGram(VALUES)
    for view in (gram, gram[1:], gram.centered(), gram.unit_norm(), SumGram([gram, matrix()])):
        assert view.identity is None


def test_slices_take_the_columns():
    part = matrix()[np.ix_([0, 1], [4, 2])][:, [1]].identity
    np.testing.assert_array_equal(part.digests, DIGESTS[[2]])
    assert part.values == LINEAR


def test_views_say_what_was_done_and_on_which_samples():
    gram = matrix()
    on_some = gram.centered(on=[0, 3]).unit_norm()[:, [4]].identity
    mark = {"samples": 2, "digest": gram.identity.take(np.array([3, 0])).mark()["digest"]}
    assert on_some.values == {"view": "unit norm", "of": {"view": "centred", "of": LINEAR, "on": mark}}
    np.testing.assert_array_equal(on_some.digests, DIGESTS[[4]])
    assert gram.centered().identity.values["on"]["samples"] == 5
    assert not agree(gram.centered().identity.values, gram.centered(on=[0, 1, 2, 3]).identity.values)
    assert not agree(gram.centered(on=[0, 0, 1]).identity.values, gram.centered(on=[0, 1, 1]).identity.values)
    assert not agree(gram.centered().unit_norm().identity.values, gram.unit_norm().centered().identity.values)


def test_a_sum_knows_its_parts_and_their_factors():
    first, second = matrix(), matrix(GAUSSIAN, DIGESTS[::-1])
    whole = SumGram([first, second], [2.0, 0.5]).identity
    assert whole.values == {"view": "sum", "of": [[2.0, LINEAR], [0.5, GAUSSIAN]]}
    np.testing.assert_array_equal(whole.digests, np.hstack([DIGESTS, DIGESTS[::-1]]))
    assert not agree(whole.values, SumGram([second, first], [0.5, 2.0]).identity.values)
    assert total([first.identity, Identity(None, GAUSSIAN)], [1.0, 1.0]).digests is None
    assert total([first.identity, None], [1.0, 1.0]) is None


@given(st.permutations(range(5)))
def test_marks_do_not_depend_on_the_order(order):
    whole = Identity(DIGESTS, LINEAR)
    assert whole.take(np.array(order)).mark() == whole.mark()
    assert whole.take(np.array(order)[:4]).mark() != whole.mark()


def test_what_is_not_known_agrees():
    unknown = Identity(None, LINEAR)
    assert unknown.mark() is None
    assert unknown.take(np.array([1])).digests is None
    centred = Identity(DIGESTS, LINEAR).on("centred", Identity(DIGESTS, LINEAR).mark()).values
    assert agree(unknown.on("centred", None).values, centred)
    assert agree(centred, unknown.on("centred", None).values)
    assert not agree(unknown.on("centred", None).values, unknown.unit_norm().values)


@pytest.mark.parametrize(
    "other",
    [LINEAR, {"kernel": "gaussian"}, {"kernel": "gaussian", "sigma": 2.5}, {"kernel": "gaussian", "width": 2.0}],
)
def test_other_kernels_do_not_agree(other):
    assert not agree(GAUSSIAN, other)
    assert not agree(other, GAUSSIAN)
    assert agree(GAUSSIAN, dict(reversed(GAUSSIAN.items())))
    assert agree(GAUSSIAN, {"kernel": "gaussian", "sigma": np.nextafter(2.0, 3.0)})
    assert not agree({"seed": 10**15}, {"seed": 10**15 + 1})
    assert agree({"kernel": "x", "p": [float("nan"), 1]}, {"kernel": "x", "p": (float("nan"), 1)})


def test_marks_of_two_kinds_of_digests_are_compared_by_their_number_of_samples():
    longer = np.random.default_rng(1).integers(0, 256, size=(5, 32), dtype=np.uint8)
    of_old, of_new = (Identity(digests, GAUSSIAN) for digests in (DIGESTS, longer))
    centred = of_old.on("centred", of_old.mark()).values
    assert agree(centred, of_new.on("centred", of_new.mark()).values)
    assert not agree(centred, of_new.on("centred", of_new.take(np.arange(4)).mark()).values)
    assert not agree(
        of_new.on("centred", of_new.mark()).values, of_new.on("centred", of_old.mark() | {"digest": "0" * 64}).values
    )
