"""SUQUAN on the breast cohorts: labels, models and errors by other means, and the committed table."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from distkern.datasets import load_breast
from distkern.reproduce import suquan_breast
from distkern.reproduce.suquan_breast import (
    BASELINES,
    COHORTS,
    ENDPOINTS,
    METHODS,
    REPEATS,
    Patients,
    Setting,
    across,
    auc,
    choose,
    fit,
    fold_error,
    load,
    load_pair,
    placement_error,
    placements,
    settings,
    within,
)
from distkern.reproduce.tables import REPEATED, read_rows
from distkern.store.ranks import RankStore

COMMITTED = Path(__file__).parents[2] / "docs" / "figures" / "suquan-breast.csv"


def patients(seed=0, m=40, p=12, ties=False):
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 2
    X = rng.normal(size=(m, p)) + np.outer(y, np.arange(p) < 2) * 1.5
    X = np.round(X) if ties else X
    return Patients(X, y, RankStore.of(X))


# The patients ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COHORTS)
def test_labels_are_metastasis_within_six_years_and_the_receptor(name):
    cohort, obs = load(name), load_breast(name, features="probes").obs
    for i, (event, days) in enumerate(zip(obs["e.dmfs"], obs["t.dmfs"], strict=True)):
        if not math.isnan(days) and days > 6 * 365.25:
            expected = 0
        elif event == 1:
            expected = 1
        else:  # lost before, or unknown
            expected = -1
        assert cohort.labels["metastasis"][i] == expected
    assert cohort.labels["receptor"].tolist() == [int(er == "positive") for er in obs["er"]]


def test_patients_of_unknown_outcome_and_probes_with_gaps_are_left_out():
    counts = {}
    for name, endpoint in product(COHORTS, ENDPOINTS):
        cohort = load(name)
        chosen = cohort.patients(endpoint, cohort.complete)
        assert not np.isnan(chosen.X).any()
        counts[name, endpoint] = (*chosen.X.shape, int(chosen.y.sum()))
    assert counts == {
        ("nki", "metastasis"): (123, 712, 41),
        ("nki", "receptor"): (150, 712, 112),
        ("vdx", "metastasis"): (135, 966, 45),
        ("vdx", "receptor"): (150, 966, 85),
    }


def test_shared_genes_are_the_same_in_both_cohorts():
    (nki, left), (vdx, right) = load_pair().values()
    assert nki.names[left].tolist() == vdx.names[right].tolist()
    assert not np.isnan(nki.X[:, left]).any()
    lacking = set(nki.names) & set(vdx.names) - set(nki.names[left])
    assert all(np.isnan(nki.X[:, nki.names == gene]).any() for gene in lacking)
    assert len(left) + len(lacking) == 254


def test_some_patients_keep_their_ranks():
    everyone = patients(ties=True)
    some = everyone.take(np.array([3, 1, 8]))
    again = RankStore.of(everyone.X[[3, 1, 8]])
    np.testing.assert_array_equal(some.ranks.ranks, again.ranks)
    np.testing.assert_array_equal(some.ranks.groups, again.groups)
    tested = np.concatenate([test.X for _, test in everyone.splits(4, [0, 1])])
    assert sorted(map(tuple, tested)) == sorted(map(tuple, everyone.X))
    assert {int(test.y.sum()) for _, test in everyone.splits(4, [0, 1])} == {5}


# The models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
def test_fixed_targets_are_logistic_regression_of_scikit_learn_on_normalised_values(monkeypatch, ties):
    monkeypatch.setattr(suquan_breast, "TOL", 1e-9)
    (train, test), *_ = patients(ties=ties).splits(2, [0])
    m, p = train.X.shape
    median = np.median(np.sort(train.X, axis=1), axis=0)
    for method, target in (("GAUS", norm.ppf(np.arange(1, p + 1) / (p + 1))), ("MEDIAN", median)):
        f = (target - target.mean()) / target.std()

        def normalised(X, f=f):
            low, high = (rankdata(X, method=side, axis=1).astype(int) for side in ("min", "max"))
            sums = np.concatenate([[0], np.cumsum(f)])
            return (sums[high] - sums[low - 1]) / (high - low + 1)

        expected = LogisticRegression(C=1 / (2 * m * 0.03), tol=1e-10, max_iter=10_000)
        expected.fit(normalised(train.X), train.y)
        np.testing.assert_allclose(
            fit(method, Setting(0.03), train)(test), expected.decision_function(normalised(test.X)), atol=1e-5
        )


def test_raw_values_are_divided_by_one_number(monkeypatch):
    monkeypatch.setattr(suquan_breast, "TOL", 1e-9)
    (train, test), *_ = patients().splits(2, [0])
    scaled = [Patients(1000 * part.X, part.y, part.ranks) for part in (train, test)]
    one, other = (fit("RAW", Setting(0.1), a)(b) for a, b in ((train, test), scaled))
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_inner_folds_choose_the_first_of_the_best_settings():
    inner = list(patients(3).splits(3, [5]))
    for method in ("GAUS", "SPAV"):
        means = []
        for setting in settings(method):
            found = [roc_auc_score(test.y, fit(method, setting, train)(test)) for train, test in inner]
            means.append(sum(found) / 3)
        assert choose(method, inner) == settings(method)[int(np.argmax(np.round(means, 12)))]


# Errors ---------------------------------------------------------------------------------------------------------------


def test_placements_count_pairs_and_errors_are_those_of_de_long():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30)
    scores = [np.round(rng.normal(size=30) + y, 1) for _ in range(2)]
    found = [placements(y, one) for one in scores]
    positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == 0)

    def psi(score, i, j):
        return 1.0 if score[i] > score[j] else 0.5 if score[i] == score[j] else 0.0

    for score, (of_positives, of_negatives) in zip(scores, found, strict=True):
        assert of_positives == pytest.approx([np.mean([psi(score, i, j) for j in negatives]) for i in positives])
        assert of_negatives == pytest.approx([np.mean([psi(score, i, j) for i in positives]) for j in negatives])
        assert of_positives.mean() == pytest.approx(auc(y, score)) == pytest.approx(of_negatives.mean())
    covariances = sum(np.cov(np.array([a[side], b[side]])) / len(a[side]) for a, b in [found] for side in (0, 1))
    expected = math.sqrt(covariances[0, 0] + covariances[1, 1] - 2 * covariances[0, 1])
    differences = [a - b for a, b in zip(*found, strict=True)]
    assert placement_error(*differences) == pytest.approx(expected)
    assert placement_error(*found[0]) == pytest.approx(math.sqrt(covariances[0, 0]))


def test_the_error_of_folds_does_not_vanish_with_repetitions():
    values = np.array([60.0, 70.0, 65.0, 75.0, 80.0])
    once, often = fold_error(values), fold_error(np.tile(values, 1000))
    assert once == pytest.approx(np.std(values, ddof=1) * math.sqrt(1 / 5 + 1 / 4))
    assert often == pytest.approx(np.std(values) / 2, rel=1e-3)


# The table ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def one_setting(monkeypatch):
    monkeypatch.setattr(suquan_breast, "LAMBDAS", (0.1,))
    monkeypatch.setattr(suquan_breast, "GAMMAS", (1.0,))


@pytest.mark.slow
@pytest.mark.usefixtures("one_setting")
def test_rows_within_a_cohort_average_the_same_folds_of_all_methods():
    cohort, events = patients(1), []
    found = {row["method"]: row for row in within("it", "receptor", cohort, 2, 7, events.append)}
    assert list(found) == list(METHODS)
    folds = [split for repeat in range(2) for split in cohort.splits(5, [7, repeat])]
    by_hand = {
        method: [100 * auc(test.y, fit(method, Setting(0.1, 1.0 if method == "SPAV" else None), train)(test))
                 for train, test in folds]
        for method in ("GAUS", "MEDIAN", "SPAV")
    }  # fmt: skip
    row = found["SPAV"]
    assert row["auc"] == pytest.approx(np.mean(by_hand["SPAV"]))
    assert row["error"] == pytest.approx(fold_error(np.array(by_hand["SPAV"])))
    for baseline in BASELINES:
        over = np.array(by_hand["SPAV"]) - by_hand[baseline]
        assert row[f"over_{baseline}"] == pytest.approx(over.mean())
        assert row[f"over_{baseline}_error"] == pytest.approx(fold_error(over))
        assert found[baseline][f"over_{baseline}"] is None
    assert [row[f"{REPEATED}{n}"] for n in (1, 2)] == pytest.approx(np.reshape(by_hand["SPAV"], (2, 5)).mean(axis=1))
    assert (row["patients"], row["positive"]) == (40, 20)
    assert len(events) == 10


@pytest.mark.usefixtures("one_setting")
def test_rows_across_cohorts_test_all_patients_of_the_other():
    train, test = patients(1), patients(2, m=30)
    found = {row["method"]: row for row in across(("a", "b"), "receptor", train, test)}
    scores = {method: fit(method, Setting(0.1), train)(test) for method in ("BND", "GAUS")}
    assert found["BND"]["auc"] == pytest.approx(100 * roc_auc_score(test.y, scores["BND"]))
    gain = 100 * (roc_auc_score(test.y, scores["BND"]) - roc_auc_score(test.y, scores["GAUS"]))
    assert found["BND"]["over_GAUS"] == pytest.approx(gain)
    assert (found["BND"]["train"], found["BND"]["test"], found["BND"]["patients"]) == ("a", "b", 30)


def kept():
    return {(row["train"], row["test"], row["endpoint"], row["method"]): row for row in read_rows(COMMITTED)}


def test_the_committed_table_is_complete():
    found = kept()
    pairs = [(a, a) for a in COHORTS] + [COHORTS, COHORTS[::-1]]
    assert list(found) == [(*pair, *rest) for pair in pairs for rest in product(ENDPOINTS, METHODS)]
    for (train, test, _, _), row in found.items():
        repeated = [float(row[f"{REPEATED}{n}"]) for n in range(1, REPEATS + 1) if row[f"{REPEATED}{n}"]]
        assert len(repeated) == (REPEATS if train == test else 0)
        if repeated:
            assert float(row["auc"]) == pytest.approx(np.mean(repeated), abs=1e-3)


@pytest.mark.slow
def test_some_cells_of_the_committed_table_are_reproduced():
    (nki, left), (vdx, right) = load_pair().values()
    for endpoint in ENDPOINTS:
        train, test = vdx.patients(endpoint, right), nki.patients(endpoint, left)
        for row in across(("vdx", "nki"), endpoint, train, test, methods=("GAUS", "MEDIAN", "BND")):
            found = kept()["vdx", "nki", endpoint, row["method"]]
            assert row["auc"] == pytest.approx(float(found["auc"]), abs=1)  # other machines may choose another λ
            assert row["error"] == pytest.approx(float(found["error"]), abs=0.3)


def test_the_page_prints_the_numbers_of_the_table():
    page = (COMMITTED.parents[1] / "reproduction.md").read_text(encoding="utf-8")
    section = page.split("## The slides on SUQUAN: breast cancer")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    found, pairs = kept(), [(a, a) for a in COHORTS] + [COHORTS, COHORTS[::-1]]
    columns = next(line for line in lines if "BND − MEDIAN" in line)[1:]
    for (train, test), endpoint in product(pairs, ENDPOINTS):
        name = f"{train.upper() if train == test else f'{train.upper()} → {test.upper()}'}, {endpoint}"
        aucs, gains = (line for line in lines if line[0] == name)
        row = found[train, test, endpoint, "RAW"]
        assert aucs[1] == f"{row['patients']}, {row['positive']}"
        assert aucs[2:] == [f"{float(found[train, test, endpoint, method]['auc']):.1f}" for method in METHODS]
        for column, printed in zip(columns, gains[1:], strict=True):
            method, _, baseline = column.partition(" − ")
            cell = found[train, test, endpoint, method]
            gain, error = float(cell[f"over_{baseline}"]), float(cell[f"over_{baseline}_error"])
            assert printed == f"{gain:+.1f} ± {error:.1f}".replace("-", "−")
