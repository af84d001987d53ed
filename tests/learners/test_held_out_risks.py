"""Scores, groups and curves of held-out risks against loops over samples."""

import json

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import InputError, concordance_index, kaplan_meier, log_rank_test
from distkern.learners.held_out_risks import HeldOutRisks, group_names, inverse_square_chances, places_among


def drawn(seed, m=30, repeats=2, folds=3, strata=1):
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 12, m) / 2.0, rng.random(m) < 0.6
    risks = rng.integers(0, 6, (repeats, m)) / 4.0
    return HeldOutRisks(
        time,
        event,
        risks,
        rng.random((repeats, m)),
        rng.integers(1, 5, (repeats, m)) / 2.0,
        rng.integers(0, folds, (repeats, m)),
        None if strata == 1 else rng.integers(0, strata, m),
    )


def by_loops(held, samples):
    """Both indices of some samples, which may be listed several times."""
    strata = np.zeros(len(held.time), dtype=int) if held.strata is None else held.strata
    rows = []
    for risks, weights, folds in zip(held.risks, held.weights, held.folds, strict=True):
        sums = np.zeros((2, 2))
        for fold in np.unique(folds):
            for stratum in np.unique(strata):
                own = [i for i in samples if folds[i] == fold and strata[i] == stratum]
                where = held.time[own], held.event[own], risks[own]
                sums += [naive.concordant_pairs(*where), naive.concordant_pairs(*where, weights[own])]
        rows.append([found / comparable if comparable else np.nan for found, comparable in sums])
    return np.nanmean(rows, axis=0)


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 2))
def test_indices_of_drawn_samples_equal_loops(seed, folds, strata):
    held = drawn(seed, folds=folds, strata=strata)
    rng = np.random.default_rng(seed)
    draws = [np.arange(30), rng.integers(30, size=30), rng.integers(30, size=30)]
    counts = np.array([np.bincount(own, minlength=30) for own in draws], dtype=float).T
    np.testing.assert_allclose(held._indices(counts).T, [by_loops(held, own) for own in draws], rtol=1e-12)
    np.testing.assert_allclose(held.scores(draws=0)["value"], by_loops(held, range(30)), rtol=1e-12)


def test_one_fold_is_the_concordance_index():
    rng = np.random.default_rng(1)
    time, event, risk = rng.exponential(size=80), rng.random(80) < 0.5, rng.normal(size=80)
    train = rng.exponential(size=90) + 0.01, rng.random(90) < 0.7
    known = np.append(train[0], 50.0), np.append(train[1], True)
    weights = inverse_square_chances(*known, time)
    held = HeldOutRisks(time, event, risk[None], risk[None], weights[None], np.zeros((1, 80), dtype=int))
    expected = [concordance_index(time, event, risk), concordance_index(time, event, risk, "uno", train=known)]
    np.testing.assert_allclose(held.scores(draws=0)["value"], expected, rtol=1e-12)


def test_events_beyond_the_training_times_do_not_count():
    time, event, risk = np.array([1.0, 2.0, 6.0, 7.0]), np.ones(4, dtype=bool), np.array([3.0, 4.0, 1.0, 2.0])
    train = np.array([1.5, 5.0]), np.array([True, False])
    weights = inverse_square_chances(*train, time)
    assert weights.tolist() == [1, 1, 0, 0]
    held = HeldOutRisks(time, event, risk[None], risk[None], weights[None], np.zeros((1, 4), dtype=int))
    expected = concordance_index(time, event, risk, "uno", train=train, tau=5.0)
    assert held.scores(draws=0)["value"][1] == expected


def test_intervals_are_quantiles_of_drawn_samples():
    held = drawn(3, m=60)
    table = held.scores(draws=300, seed=1)
    assert (table["low"] < table["value"]).all()
    assert (table["value"] < table["high"]).all()
    assert held.scores(draws=300, seed=1).equals(table)
    narrow = held.scores(draws=300, seed=1, level=0.5)
    assert (narrow["low"] > table["low"]).all()
    for counts in held._drawn(7, 0):
        assert counts.shape == (60, 7)
        assert (counts[held.event].sum(axis=0) == held.event.sum()).all()
        assert (counts[~held.event].sum(axis=0) == (~held.event).sum()).all()


def test_groups_are_drawn_whole():
    held = drawn(0, m=60)
    grouped = HeldOutRisks(
        *(getattr(held, name) for name in ("time", "event", "risks", "places", "weights", "folds")),
        None,
        np.arange(60) // 3,
    )
    for counts in grouped._drawn(9, 0):
        np.testing.assert_array_equal(counts[::3], counts[1::3])
        assert (counts.sum(axis=0) == 60).all()


def test_risk_groups_are_cut_at_training_quantiles():
    held = drawn(5, m=40, repeats=3)
    for count in (2, 3, 4):
        mean = held.places.mean(axis=0)
        expected = [group_names(count)[min(int(place * count), count - 1)] for place in mean]
        assert held.risk_groups(count).tolist() == expected
        curves = held.curves(count)
        assert list(dict.fromkeys(curves.table["group"])) == [name for name in group_names(count) if name in expected]
        direct = kaplan_meier(held.time, held.event, held.risk_groups(count)).table
        for name in set(expected):
            own, other = (table[table["group"] == name].reset_index(drop=True) for table in (curves.table, direct))
            assert own.equals(other)
        found, theirs = held.log_rank(count), log_rank_test(held.time, held.event, held.risk_groups(count))
        assert (found.statistic, found.df) == pytest.approx((theirs.statistic, theirs.df))
    assert places_among(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.0, 2.0, 9.0])).tolist() == [0, 0.5, 1]


def test_strata_count_in_the_test():
    held = drawn(6, m=60, strata=2)
    expected = log_rank_test(held.time, held.event, held.risk_groups(), strata=held.strata)
    assert held.log_rank().statistic == pytest.approx(expected.statistic)


def test_a_file_keeps_all():
    held = drawn(7, strata=2)
    again = HeldOutRisks.from_dict(json.loads(json.dumps(held.to_dict())))
    for name in ("time", "event", "risks", "places", "weights", "folds", "strata"):
        np.testing.assert_allclose(getattr(again, name), getattr(held, name), rtol=1e-8)
        assert getattr(again, name).dtype == getattr(held, name).dtype
    assert again.groups is None


def test_mistakes_are_refused():
    held = drawn(8)
    with pytest.raises(InputError, match="level must be between 0 and 1"):
        held.scores(level=95)
    with pytest.raises(InputError, match="count"):
        held.risk_groups(1)
    none = HeldOutRisks(held.time, np.zeros(30, dtype=bool), held.risks, held.places, held.weights, held.folds)
    assert none.scores(draws=5)[["value", "low", "high"]].isna().all(axis=None)
