"""Calls across platforms: the protocol, and the findings that the page states."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from distkern.reproduce import transfer


@pytest.mark.slow
def test_scores_and_intervals():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(80) < 0.3, "b", "a")
    decisions = (truth == "b") + rng.normal(size=80)
    predicted = np.where(decisions > 0.5, "b", "a")
    found = transfer.scores(truth, predicted, decisions, np.array(["a", "b"]), 0)
    assert found["balanced"] == balanced_accuracy_score(truth, predicted)
    assert found["auc"] == roc_auc_score(truth == "b", decisions)
    assert found["low"] < found["balanced"] < found["high"]
    recalls = [(predicted == truth)[truth == label] for label in ("a", "b")]
    error = np.sqrt(sum(own.mean() * (1 - own.mean()) / len(own) for own in recalls)) / 2  # of a mean of two fractions
    assert found["high"] - found["low"] == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_genes_are_those_that_both_cohorts_have_in_every_tumour():
    X, y, new, truth = transfer.shared("nki", "vdx")
    assert X.shape == new.shape == (150, 205)
    assert list(X.columns) == list(new.columns)
    assert not X.isna().to_numpy().any()
    assert not new.isna().to_numpy().any()
    assert [(y == "positive").sum(), (truth == "positive").sum()] == [112, 85]


@pytest.fixture(scope="module")
def table():
    few = [one for one in transfer.CANDIDATES if "vote" in one.name or "nine" in one.name or "raw" in one.name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transfer, "CANDIDATES", (*few, transfer.CANDIDATES[-1]))
        return list(transfer.rows(quick=True))


@pytest.mark.slow
def test_orders_transfer_and_values_do_not(table):
    assert [(row["trained"], row["called"]) for row in table] == [("nki", "vdx")] * 5 + [("vdx", "nki")] * 5
    for row in table:
        if row["method"] == "linear on raw values":
            assert row["balanced"] < 0.55
            assert row["auc"] > 0.9  # the order of the tumours is right, the threshold is not
        if row["method"] in ("weighted vote of all pairs", "nine top-scoring pairs"):
            assert row["balanced"] > 0.8
        if row["method"] == transfer.WITH_COHORT:
            assert row["balanced"] > 0.85


@pytest.mark.slow
def test_one_candidate_is_chosen_by_the_training_cohort_alone(table):
    for trained, _ in transfer.DIRECTIONS:
        own = [row for row in table if row["trained"] == trained]
        chosen = [row for row in own if row["chosen"]]
        assert len(chosen) == 1
        names = {one.name: one.eligible for one in transfer.CANDIDATES}
        assert names[chosen[0]["method"]]
        assert chosen[0]["training"] == max(row["training"] for row in own if names.get(row["method"]))


@pytest.mark.slow
def test_committed_table_holds_what_is_computed_and_its_choice_is_that_of_the_training_cohort(table):
    known = pd.read_csv(Path(__file__).parents[2] / "docs" / "figures" / "transfer.csv", comment="#")
    eligible = {one.name for one in transfer.CANDIDATES if one.eligible}
    for _, own in known.groupby("trained"):
        assert eligible < set(own["method"])
        among = own[own["method"].isin(eligible)]
        assert own.loc[own["chosen"] == 1, "method"].tolist() == [among.loc[among["training"].idxmax(), "method"]]
    for row in table:  # with fewer candidates and repetitions
        same = known[(known["trained"] == row["trained"]) & (known["method"] == row["method"])]
        assert same["balanced"].item() == pytest.approx(row["balanced"], abs=1e-4)
