"""Tests of covariates by cluster equal SciPy on expanded samples, and loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, kruskal

import distkern as dk
from distkern.core.errors import InputError


def voters(m=60, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], size=m),
            "age": rng.integers(18, 90, size=m),
            "urban": rng.random(m) < 0.5,
            "party": pd.Categorical(rng.choice(["x", "y", "z"], size=m)),
        },
        index=[f"voter {k}" for k in range(m)],
    )
    return table, rng.integers(0, 3, size=m)


def test_statistics_equal_those_of_scipy():
    table, labels = voters()
    found = dk.cluster_covariates(labels, table).tests.set_index("covariate")
    for name in ("sex", "urban", "party"):
        crossed = pd.crosstab(labels, table[name].astype(str)).to_numpy()
        expected = chi2_contingency(crossed, correction=False)
        assert found.loc[name, ["statistic", "pvalue", "df"]].tolist() == pytest.approx(list(expected[:3]))
        assert found.loc[name, "kind"] == "categories"
        cells = np.outer(crossed.sum(axis=1), crossed.sum(axis=0)) / crossed.sum()
        chi = sum((crossed[i, j] - cells[i, j]) ** 2 / cells[i, j] for i in range(3) for j in range(crossed.shape[1]))
        assert found.loc[name, "effect"] == pytest.approx(np.sqrt(chi / 60 / (min(crossed.shape) - 1)))
    expected = kruskal(*(table["age"][labels == c] for c in range(3)))
    assert found.loc["age", ["statistic", "pvalue"]].tolist() == pytest.approx(list(expected))
    ordered = found.sort_values("pvalue")["pvalue"].to_numpy()
    adjusted = [min(ordered[j] * 4 / (j + 1) for j in range(i, 4)) for i in range(4)]
    assert found.sort_values("pvalue")["adjusted"].tolist() == pytest.approx(adjusted)


def test_summary_has_shares_and_medians_of_each_cluster():
    table, labels = voters()
    summary = dk.cluster_covariates(labels, table).summary.set_index(["covariate", "value"])
    for c in range(3):
        own = table[labels == c]
        assert summary.loc[("sex", "f"), c] == pytest.approx((own["sex"] == "f").mean())
        assert summary.loc[("age", "median"), c] == own["age"].median()
        assert summary.loc[("urban", "True"), c] == pytest.approx(own["urban"].mean())


def test_weights_are_repeated_samples_and_missing_values_are_left_out():
    table, labels = voters()
    table = table.astype({"age": float})
    table.iloc[::7, 1] = np.nan
    table.iloc[3, 0] = None
    weights = np.random.default_rng(1).integers(0, 4, size=60)
    found = dk.cluster_covariates(labels, table, sample_weight=weights)
    repeated = np.repeat(np.arange(60), weights)
    expanded = dk.cluster_covariates(labels[repeated], table.iloc[repeated].reset_index(drop=True))
    pd.testing.assert_frame_equal(found.tests, expanded.tests)
    pd.testing.assert_frame_equal(found.summary, expanded.summary)
    assert found.tests.set_index("covariate").loc["sex", "samples"] == weights.sum() - weights[3]


def test_what_cannot_be_compared_has_no_p_value_or_is_refused():
    table, labels = voters()
    table["same"] = "all"
    table["constant"] = 1.0
    found = dk.cluster_covariates(labels, table).tests.set_index("covariate")
    assert found.loc[["same", "constant"], "pvalue"].isna().all()
    assert found.loc["sex", "adjusted"] >= found.loc["sex", "pvalue"]
    with pytest.raises(InputError, match="all samples are in one cluster"):
        dk.cluster_covariates(np.zeros(60), table)
    with pytest.raises(InputError, match="in another order"):
        dk.cluster_covariates(pd.Series(labels, index=table.index[::-1]), table)
    few = dk.cluster_covariates([0] * 58 + [1, 1], table).tests.set_index("covariate")
    assert few.loc["sex", "doubtful"]
