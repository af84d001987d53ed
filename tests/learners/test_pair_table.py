"""The table of pairs: names, counts, restrictions, groups, several classes, and errors that name the culprit."""

import naive_pairs as naive
import numpy as np
import pandas as pd
import pytest

from distkern import pair_scores, pair_summary
from distkern.core.errors import InputError, InputTypeError, SampleError, StoreMismatchError

GENES = [f"gene {k}" for k in range(12)]


@pytest.fixture
def cohort():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 6, (20, 12)).astype(float), columns=GENES, index=[f"p{k}" for k in range(20)])
    y = pd.Series(np.array(["ill", "well"])[np.arange(20) % 2], index=frame.index)
    frame.loc[y == "well", GENES[:4]] += 2
    return frame, y


def rows_of(table):
    return list(zip(table["first"], table["second"], table["score"], strict=True))


def expected_rows(frame, y, positive="well", **options):
    own, other = frame[y == positive].to_numpy().tolist(), frame[y != positive].to_numpy().tolist()
    found = naive.ordered_pairs([[(own, other)]], frame.shape[1], **options)
    return [(frame.columns[i], frame.columns[j], float(s)) for s, _, i, j in found]


def test_table_equals_the_naive_one(cohort):
    frame, y = cohort
    table = pair_scores(frame, y, k=None)
    assert rows_of(table) == expected_rows(frame, y)
    assert list(table.columns) == [
        *("first", "second", "score", "secondary", "less_ill", "greater_ill", "n_ill"),
        *("less_well", "greater_well", "n_well"),
    ]
    for row in table.itertuples():
        for label in ("ill", "well"):
            own = frame[y == label]
            assert getattr(row, f"less_{label}") == (own[row.first] < own[row.second]).sum()
            assert getattr(row, f"greater_{label}") == (own[row.first] > own[row.second]).sum()
            assert getattr(row, f"n_{label}") == 10
    pd.testing.assert_frame_equal(pair_scores(frame, y, k=5), table[:5])


def test_positions_stand_for_names_that_are_absent(cohort):
    frame, y = cohort
    table = pair_scores(frame.to_numpy(), y.to_numpy(), k=3)
    named = pair_scores(frame, y, k=3)
    assert [GENES[int(k)] for k in table["first"]] == named["first"].tolist()


def test_restrictions_by_name(cohort):
    frame, y = cohort
    chosen = GENES[2:9]
    everything = expected_rows(frame, y)
    assert rows_of(pair_scores(frame, y, None, features=chosen)) == [
        row for row in everything if {row[0], row[1]} <= set(chosen)
    ]
    assert rows_of(pair_scores(frame, y, None, pivot="gene 3")) == [row for row in everything if "gene 3" in row]
    listed = [("gene 5", "gene 1"), ("gene 0", "gene 11")]
    assert rows_of(pair_scores(frame, y, None, pairs=listed)) == [
        row for row in everything if {row[0], row[1]} in [set(pair) for pair in listed]
    ]
    table = pair_scores(frame, y, None, features="wilcoxon:4")
    assert len({*table["first"], *table["second"]}) <= 4
    pd.testing.assert_frame_equal(table, pair_scores(frame, y, None, features=4))
    disjoint = pair_scores(frame, y, None, disjoint=True)
    ends = [*disjoint["first"], *disjoint["second"]]
    assert len(set(ends)) == len(ends) == 12
    assert rows_of(pair_scores(frame, y, None, min_score=0.6)) == [row for row in everything if row[2] >= 0.6]


def test_several_classes_have_a_table_each(cohort):
    frame, _ = cohort
    y = pd.Series(np.array(["a", "b", "c"])[np.arange(20) % 3], index=frame.index)
    table = pair_scores(frame, y, k=4)
    assert table["class"].tolist() == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    for label in "abc":
        part = table[table["class"] == label]
        assert rows_of(part) == expected_rows(frame, y, label)[:4]
        assert part["n_class"].tolist() == [(y == label).sum()] * 4
        assert part["n_rest"].tolist() == [(y != label).sum()] * 4


def test_groups_are_compared_within_themselves(cohort):
    frame, y = cohort
    groups = np.array(["array", "sequencing"])[(np.arange(20) // 2) % 2]
    shifted = frame.copy()
    table = pair_scores(shifted, y, None, groups=groups)
    parts = [
        tuple(frame[(y == label) & (groups == group)].to_numpy().tolist() for label in ("well", "ill"))
        for group in ("array", "sequencing")
    ]
    found = naive.ordered_pairs([[part] for part in parts], 12)
    assert [(GENES[i], GENES[j]) for _, _, i, j in found] == list(zip(table["first"], table["second"], strict=True))
    lonely = groups.copy()
    lonely[y == "ill"] = "array"
    with pytest.warns(UserWarning, match="1 of 2 groups hold one side only .* 'sequencing'"):
        table = pair_scores(frame, y, 3, groups=lonely)
    assert (table["n_well"] == ((y == "well") & (lonely == "array")).sum()).all()


def test_missing_values_are_named_or_skipped(cohort):
    frame, y = cohort
    frame.iloc[3, 2] = np.nan
    with pytest.raises(SampleError, match=r"sample 'p3' has no value .* feature 'gene 2'"):
        pair_scores(frame, y)
    table = pair_scores(frame, y, None, missing="skip")
    assert rows_of(table) == expected_rows(frame, y)
    assert set(table["n_well"]) == {9, 10}


def test_a_store_keeps_the_parts(cohort, tmp_path):
    frame, y = cohort
    table = pair_scores(frame, y, 7, store=tmp_path / "pairs")
    pd.testing.assert_frame_equal(pair_scores(frame, y, 7, store=tmp_path / "pairs"), table)
    with pytest.raises(StoreMismatchError, match="another cohort, or with other parameters"):
        pair_scores(frame, y[::-1].to_numpy(), 7, store=tmp_path / "pairs")


def test_wrong_input_is_named(cohort):
    frame, y = cohort
    for given, message in (
        ({"k": 0}, "k must be a whole number of 1 or more"),
        ({"disjoint": "yes"}, "disjoint must be True or False"),
        ({"min_score": 2}, "min_score must be a fraction from 0 to 1"),
        ({"min_observed": "half"}, "min_observed must be a fraction"),
        ({"features": ["gene 1", "TP53"]}, "features has 'TP53', which is no feature"),
        ({"pivot": "TP53"}, "pivot has 'TP53', which is no feature"),
        ({"pairs": [("gene 1", "TP53")]}, "pairs has 'TP53', which is no feature"),
        ({"missing": "drop"}, "missing must be one of"),
        ({"rest": "all"}, "rest must be one of"),
        ({"group_agg": "max"}, "group_agg must be one of"),
    ):
        with pytest.raises((InputError, InputTypeError), match=message):
            pair_scores(frame, y, **given)
    with pytest.raises(InputError, match="a pair takes two features, and there is 1"):
        pair_scores(frame[["gene 1"]], y)
    with pytest.raises(InputError, match="got 1 class"):
        pair_scores(frame, ["ill"] * 20)
    with pytest.raises(InputError, match="y has the samples of X in another order"):
        pair_scores(frame, y.sample(frac=1.0, random_state=0))


def test_constant_samples_are_named(cohort):
    frame, y = cohort
    frame.iloc[4] = 1.0
    with pytest.warns(UserWarning, match="1 sample ties all features, .*'p4'"):
        pair_scores(frame, y)
    frame.iloc[:] = 1.0
    with pytest.raises(InputError, match="every sample is constant"):
        pair_scores(frame, y)


def test_summary_equals_the_table_of_all_pairs(cohort):
    frame, y = cohort
    table, found = pair_scores(frame, y, k=None), pair_summary(frame, y, bins=8)
    assert list(found.features["feature"]) == GENES
    for row in found.features.itertuples():
        own, other = table[table["first"] == row.feature], table[table["second"] == row.feature]
        assert row.mean_score == pytest.approx((own["score"].sum() + other["score"].sum()) / 11)
        assert row.mean_signed == pytest.approx((own["score"].sum() - other["score"].sum()) / 11)
    assert found.distribution["pairs"].sum() == 12 * 11 // 2
    for row in found.distribution[1:].itertuples():
        inside = (table["score"] >= row.low) & ((table["score"] < row.high) | (row.high == 1))
        assert row.pairs == inside.sum()


def test_summary_of_several_classes_and_wrong_input(cohort):
    frame, _ = cohort
    y = np.array(["a", "b", "c"])[np.arange(20) % 3]
    found = pair_summary(frame.to_numpy(), y, bins=4)
    assert repr(found) == "<PairSummary: 12 features, and 66 pairs by score in 4 bins>"
    assert found.features["class"].tolist() == ["a"] * 12 + ["b"] * 12 + ["c"] * 12
    assert found.features["feature"].tolist() == [str(k) for k in range(12)] * 3
    assert found.distribution["class"].tolist() == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    alone = pair_summary(frame.to_numpy(), np.where(y == "b", "y", "n"), bins=4)
    own = found.features[found.features["class"] == "b"].drop(columns="class").reset_index(drop=True)
    pd.testing.assert_frame_equal(own, alone.features)
    for given, message in (({"bins": 0}, "bins must be a whole"), ({"bins": 10**6}, "bins must be at most 10,000")):
        with pytest.raises(InputError, match=message):
            pair_summary(frame, y, **given)
