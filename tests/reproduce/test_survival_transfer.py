"""Risks across platforms: the data, the protocol, and the findings that the page states."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import distkern as dk
from distkern.reproduce import survival_transfer
from distkern.reproduce.survival_transfer import CANDIDATES, RECEPTOR, relapses
from distkern.reproduce.tables import read_rows

TABLE = Path(__file__).parents[2] / "docs" / "figures" / "survival-transfer.csv"


def test_tumours_are_those_with_a_time():
    X, y, new, truth, (negative, new_negative) = relapses("nki", "vdx")
    assert X.shape == (146, 205)
    assert new.shape == (121, 205)
    assert (int(y["event"].sum()), int(truth["event"].sum())) == (53, 41)
    obs = dk.datasets.load_breast("vdx").obs.loc[new.index]
    np.testing.assert_array_equal(truth["time"], obs["t.rfs"])
    np.testing.assert_array_equal(new_negative == 1, obs["er"] == "negative")
    assert len(negative) == 146


def test_scores_equal_the_concordance_of_the_risks():
    X, y, new, truth, _ = relapses("nki", "vdx")
    model = dk.KernelCox(0.1, kernel=dk.Kendall()).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survival_transfer, "DRAWS", 50)
        found = survival_transfer.scores(model, new, truth, y, model.predict(X), 0)
    risks = model.predict(new)
    assert found["harrell"] == dk.concordance_index(truth["time"], truth["event"], risks)
    assert found["low"] < found["harrell"] < found["high"]
    assert found["high_risk"] == (risks > np.median(model.predict(X))).sum()
    groups = risks > np.median(model.predict(X))
    if 0 < groups.sum() < len(groups):
        assert found["log_rank"] == pytest.approx(dk.log_rank_test(truth["time"], truth["event"], groups).pvalue)
    uno = dk.concordance_index(truth["time"], truth["event"], risks, "uno", train=(y["time"], y["event"]))
    assert found["uno"] == pytest.approx(uno)


@pytest.mark.slow
def test_the_table_on_the_page_is_what_the_command_computes():
    few = tuple(one for one in CANDIDATES if one.name.startswith("Kendall, Cox"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survival_transfer, "CANDIDATES", few)
        rows = list(survival_transfer.rows(quick=True))
    stored = pd.DataFrame(read_rows(TABLE))
    assert [(row["trained"], row["method"]) for row in rows] == [
        (trained, name) for trained in ("nki", "vdx") for name in (few[0].name, RECEPTOR)
    ]
    for row in rows:
        same = (stored["trained"] == row["trained"]) & (stored["method"] == row["method"])
        (own,) = stored[same].to_dict(orient="records")
        for name in ("harrell", "low", "high", "uno"):
            assert float(own[name]) == pytest.approx(row[name], abs=2e-3)
