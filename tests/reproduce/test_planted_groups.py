"""Planted groups: how ballots lose items, and that methods find groups that are far apart."""

from __future__ import annotations

import numpy as np
import pytest

from distkern.reproduce import planted_groups


@pytest.mark.parametrize("model", planted_groups.MODELS)
def test_ballots_are_drawn_in_equal_groups(model):
    values, groups = planted_groups.drawn(model, 30, np.random.default_rng(0))
    assert values.shape == (30, planted_groups.ITEMS)
    assert np.bincount(groups).tolist() == [10, 10, 10]
    assert all(len(set(row)) == planted_groups.ITEMS for row in values.tolist())


def test_ballots_keep_random_items_or_the_best():
    values, _ = planted_groups.drawn("Mallows", 30, np.random.default_rng(0))
    for kind in ("top", "interleaving"):
        ballots = planted_groups.with_gaps(values, kind, 4, np.random.default_rng(1))
        seen = ~np.isnan(ballots.values)
        assert (seen.sum(axis=1) == 4).all()
        assert set(ballots.kind) == {kind}
        assert np.array_equal(ballots.values[seen], values[seen])
        best = np.sort(values, axis=1)[:, -4:]
        is_best = np.sort(ballots.values[seen].reshape(-1, 4), axis=1) == best
        assert is_best.all() == (kind == "top")
    assert set(planted_groups.with_gaps(values, "top", planted_groups.ITEMS, np.random.default_rng(1)).kind) == {
        "total"
    }


@pytest.mark.slow
def test_groups_that_are_far_apart_are_found_by_all_methods(monkeypatch):
    monkeypatch.setattr(planted_groups, "DISPERSION", 2.0)
    monkeypatch.setattr(planted_groups, "OBSERVED", (0.9, 1.0))
    found = list(planted_groups.rows(quick=True))
    assert len(found) == 2 * (3 + 3 + 3)
    for row in found:
        assert row["rand"] > (0.99 if row["model"] == "Mallows" else 0.9), row
