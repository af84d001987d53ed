from __future__ import annotations

import csv
import json

import anndata
import numpy as np
import pandas as pd
import pytest

from distkern import KernelSVC, KTopScoringPairs, load_model, save_model
from distkern.learners.folds import Folds


@pytest.fixture
def frame(cohort):
    return pd.DataFrame(cohort.X, columns=cohort.genes, index=cohort.ids)


def train(cohort, *words):
    return ("pairs", cohort / "rows.csv", "--samples", "rows", "--labels", cohort / "clinical.csv", *words)


def rows_of(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_table_model_and_votes_equal_those_of_the_library(run, cohort, frame):
    files = {name: cohort / f"{name}.out" for name in ("model", "table", "votes")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    result = run(*train(cohort, "--label", "relapse", "-k", 3, "-q", *options))
    assert (result.exit_code, result.stderr) == (0, "")
    model = KTopScoringPairs(3).fit(frame, cohort.relapse)
    assert model.rules() in result.stdout
    assert "24 samples of 'rows.csv' by 'relapse': 12 yes, 12 no" in result.stdout
    loaded = load_model(files["model"])
    np.testing.assert_array_equal(loaded.votes(frame), model.votes(frame))
    assert (loaded.executor, loaded.progress) == (None, False)
    table = rows_of(files["table"])
    assert [[row["first"], row["second"]] for row in table] == model.pair_names_.tolist()
    np.testing.assert_allclose([float(row["score"]) for row in table], model.scores_)
    for row, counts in zip(table, model.counts_, strict=True):
        for label, (less, greater) in zip(["no", "yes"], counts.tolist(), strict=True):
            assert (int(row[f"less_{label}"]), int(row[f"greater_{label}"]), row[f"n_{label}"]) == (less, greater, "12")
        assert (row["votes_for"], row["against"]) == ("yes", "no")
    votes = rows_of(files["votes"])
    assert [row["id"] for row in votes] == cohort.ids
    assert [row["predicted"] for row in votes] == model.predict(frame).tolist()
    np.testing.assert_allclose([float(row["decision"]) for row in votes], model.decision_function(frame))
    names = [f"{a}<{b}" for a, b in model.pair_names_]
    np.testing.assert_array_equal([[int(row[name]) for name in names] for row in votes], model.votes(frame))
    again = run(*train(cohort, "--label", "relapse", "-k", 3, "--model", files["model"]))
    assert again.exit_code == 3
    assert "--overwrite" in again.stderr


def test_a_range_is_chosen_from_and_printed_as_json(run, cohort, frame):
    words = ("--label", "relapse", "-k", "1-4", "--json")
    printed = json.loads(run(*train(cohort, *words, "--choose", "cv", "--inner", 3, "--seed", 2)).stdout)
    model = KTopScoringPairs("cv", k_range=(1, 4), cv=3, random_state=2).fit(frame, cohort.relapse)
    np.testing.assert_allclose(printed["k_path"], model.k_path_)
    assert [[pair["first"], pair["second"]] for pair in printed["pairs"]] == model.pair_names_.tolist()
    assert printed["predicted"] == dict(zip(cohort.ids, model.predict(frame).tolist(), strict=True))
    assert printed["accuracy"] == pytest.approx(model.score(frame, cohort.relapse))
    assert printed["classes"] == {"no": 12, "yes": 12}
    text = run(*train(cohort, "--label", "relapse", "-k", "2-4")).stdout
    assert "of 2 to 4, chosen by variance" in text
    assert " % of the training samples" in text.replace(", of", " of")


@pytest.mark.parametrize("groups", [None, "site"])
def test_accuracy_is_estimated_on_samples_that_chose_nothing(run, cohort, frame, groups):
    site = np.array([f"site {number // 3 % 2}" for number in range(24)])
    labels = np.array(cohort.relapse)
    pd.DataFrame({"relapse": labels, "site": site}, index=cohort.ids).to_csv(cohort / "clinical.csv")
    words = ("--label", "relapse", "-k", 3, "--folds", 4, "--seed", 7, *(("--groups", groups) if groups else ()))
    printed = json.loads(run(*train(cohort, *words, "--json")).stdout)["held_out"]
    expected = np.empty(24, dtype=object)
    for fit, test, _ in Folds(labels, None, None, 7).outer(4, 1):
        model = KTopScoringPairs(3).fit(frame.iloc[fit], labels[fit], site[fit] if groups else None)
        expected[test] = model.predict(frame.iloc[test])
    assert printed["folds"] == 4
    assert printed["accuracy"] == pytest.approx(np.mean(expected == labels))
    assert printed["balanced_accuracy"] == pytest.approx(np.mean(expected == labels))  # the classes are of one size
    text = run(*train(cohort, *words)).stdout
    assert f"{np.mean(expected == labels):.2%}".replace("%", " %") in text
    assert "in 4 folds, by pairs that the other folds chose" in text


@pytest.mark.parametrize("options", [("--overlapping",), ("--features", 6), ("--groups", "site"), ("--threads", 2)])
def test_options_are_those_of_the_estimator(run, cohort, frame, options):
    site = [f"site {number // 3 % 2}" for number in range(24)]
    pd.DataFrame({"relapse": cohort.relapse, "site": site}, index=cohort.ids).to_csv(cohort / "clinical.csv")
    printed = json.loads(run(*train(cohort, "--label", "relapse", "-k", 3, "--json", *options)).stdout)
    given = {"--overlapping": {"disjoint": False}, "--features": {"features": 6}}.get(options[0], {})
    model = KTopScoringPairs(3, **given).fit(frame, cohort.relapse, site if options[0] == "--groups" else None)
    assert [[pair["first"], pair["second"]] for pair in printed["pairs"]] == model.pair_names_.tolist()


def test_labels_in_the_file_of_the_cohort(run, cohort, frame):
    expected = KTopScoringPairs(2).fit(frame, cohort.relapse).pair_names_.tolist()
    obs = pd.DataFrame({"relapse": cohort.relapse, "site": ["a", "b", "b", "a"] * 6}, index=cohort.ids)
    anndata.AnnData(frame.to_numpy(), obs=obs, var=pd.DataFrame(index=cohort.genes)).write_h5ad(cohort / "c.h5ad")
    for words in (("columns.csv", "--samples", "columns"), ("cohort.npz",), ("c.h5ad",)):
        result = run("pairs", cohort / words[0], *words[1:], "--label", "relapse", "-k", 2, "--json")
        assert result.exit_code == 0, result.output
        assert [[p["first"], p["second"]] for p in json.loads(result.stdout)["pairs"]] == expected
    grouped = run("pairs", cohort / "c.h5ad", "--label", "relapse", "--groups", "site", "-k", 2)
    assert grouped.exit_code == 0


def test_a_model_is_applied_to_other_samples(run, cohort, frame):
    model = cohort / "model.json"
    assert run(*train(cohort, "--label", "relapse", "-k", 3, "--model", model)).exit_code == 0
    fitted = load_model(model)
    new = frame.iloc[:9, ::-1].rename(index=lambda name: f"new {name}")
    new.to_csv(cohort / "new.csv", index_label="id")
    words = ("pairs", cohort / "new.csv", "--samples", "rows", "--apply", model)
    result = run(*words, "--votes", cohort / "votes.csv")
    assert result.exit_code == 0, result.output
    assert [row["predicted"] for row in rows_of(cohort / "votes.csv")] == fitted.predict(new).tolist()
    assert "accuracy" not in result.stdout
    pd.DataFrame({"relapse": cohort.relapse[:9]}, index=new.index).to_csv(cohort / "new-labels.csv")
    scored = json.loads(run(*words, "--labels", cohort / "new-labels.csv", "--json").stdout)
    assert scored["accuracy"] == pytest.approx(fitted.score(new, cohort.relapse[:9]))
    new.drop(columns=fitted.pair_names_[0, 0]).to_csv(cohort / "new.csv", index_label="id")
    refused = run(*words)
    assert refused.exit_code == 3
    assert "lacks 1 feature that 1 of 3 pairs compare" in refused.stderr
    assert "give --absent abstain" in refused.stderr
    abstaining = run(*words, "--absent", "abstain")
    assert abstaining.exit_code == 0
    gone = fitted.pair_names_[0, 0]
    assert f"'{gone}': 1 of 3 pairs abstain in every sample" in abstaining.stdout
    assert json.loads(run(*words, "--absent", "abstain", "--json").stdout)["absent"] == [gone]
    assert scored["absent"] == []


def test_labels_that_are_no_classes_of_the_model_are_refused(run, cohort):
    model = cohort / "model.json"
    assert run(*train(cohort, "--label", "relapse", "-k", 1, "--model", model)).exit_code == 0
    other = pd.DataFrame({"relapse": ["1", "0"] * 12}, index=cohort.ids)  # the same classes in other words
    other.to_csv(cohort / "numbers.csv")
    words = ("pairs", cohort / "rows.csv", "--samples", "rows", "--apply", model, "--labels", cohort / "numbers.csv")
    refused = run(*words)
    assert refused.exit_code == 3
    said = "'relapse' holds the label '0', which is no class of the model 'model.json' (its classes are 'no', 'yes')"
    assert said in refused.stderr


def test_folds_are_refused_before_the_pairs_are_counted(run, cohort):
    refused = run(*train(cohort, "--label", "relapse", "-k", 1, "--folds", 13))
    assert refused.exit_code == 3
    assert "class 'no' has 12 samples, too few for 13 outer folds" in refused.stderr
    assert "score pairs" not in refused.stderr


def test_three_classes(run, cohort, frame):
    labels = ["a", "b", "c"] * 8
    pd.DataFrame({"type": labels}, index=cohort.ids).to_csv(cohort / "types.csv")
    words = ("pairs", cohort / "rows.csv", "--samples", "rows", "--labels", cohort / "types.csv", "-k", 2, "-q")
    for choice in ("ovr", "ovo"):
        assert run(*words, "--multi-class", choice, "--votes", cohort / f"{choice}.csv").exit_code == 0
        model = KTopScoringPairs(2, multi_class=choice).fit(frame, labels)
        rows = rows_of(cohort / f"{choice}.csv")
        np.testing.assert_allclose(
            [[float(row[f"decision {label}"]) for label in "abc"] for row in rows], model.decision_function(frame)
        )


def test_missing_values(run, cohort, frame):
    frame.mask(np.random.default_rng(0).random(frame.shape) < 0.05).to_csv(cohort / "rows.csv", index_label="id")
    refused = run(*train(cohort, "--label", "relapse", "-k", 2))
    assert refused.exit_code == 3
    assert "has no value" in refused.stderr
    words = train(cohort, "--label", "relapse", "-k", 2, "--missing", "skip", "--model", cohort / "m.json")
    assert run(*words).exit_code == 0
    complete = cohort / "complete.json"
    cohort.write("complete.csv", cohort.X)
    words = ("pairs", cohort / "complete.csv", "--samples", "rows", "--labels", cohort / "clinical.csv")
    assert run(*words, "--label", "relapse", "-k", 12, "--overlapping", "--model", complete).exit_code == 0
    words = ("pairs", cohort / "rows.csv", "--samples", "rows", "--apply", complete)
    assert "has no value" in run(*words).stderr
    assert run(*words, "--missing", "skip").exit_code == 0
    model = load_model(cohort / "m.json")
    frame.loc["p03", model.pair_names_[:, 0]] = np.nan
    frame.to_csv(cohort / "rows.csv", index_label="id")
    words = (
        "pairs",
        cohort / "rows.csv",
        "--samples",
        "rows",
        "--apply",
        cohort / "m.json",
        "--votes",
        cohort / "v.csv",
    )
    result = run(*words, "--labels", cohort / "clinical.csv", "--label", "relapse")
    assert result.exit_code == 0, result.output
    assert "1 undecided" in result.stdout
    assert "of these samples that are decided" in result.stdout
    assert [row["id"] for row in rows_of(cohort / "v.csv") if not row["predicted"] and not row["decision"]] == ["p03"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "training needs labels"),
        (("--labels", "clinical.csv"), 3, "several columns"),
        (("--labels", "clinical.csv", "--label", "death"), 3, "no column 'death'"),
        (("--labels", "clinical.csv", "--label", "relapse", "-k", "0"), 2, "must ascend from at least 1"),
        (("--labels", "clinical.csv", "--label", "relapse", "-k", "many"), 2, "such as 4 or a range"),
        (("--labels", "clinical.csv", "--label", "relapse", "-k", "9"), 3, "ask for fewer, or give --overlapping"),
        (
            ("--labels", "clinical.csv", "--label", "relapse", "--features", "99"),
            3,
            "--features 99 is not from 2 to 15",
        ),
        (("--labels", "clinical.csv", "--label", "relapse", "--memory-limit", "1KiB"), 3, "may take 1"),
        (("--labels", "clinical.csv", "--label", "relapse", "--groups", "centre"), 3, ""),
        (("--apply", "model.json", "--model", "x.json"), 2, "--apply trains nothing: leave out --model"),
        (("--apply", "model.json", "--groups", "centre"), 2, "leave out --groups"),
        (("--apply", "model.json", "--folds", "3"), 2, "leave out --folds"),
        (("--apply", "model.json", "-k", "3"), 2, "leave out -k"),
        (("--apply", "model.json", "--choose", "variance"), 2, "leave out --choose"),
        (("--apply", "model.json", "--inner", "3"), 2, "leave out --inner"),
        (("--apply", "model.json", "--seed", "1"), 2, "leave out --seed"),
        (("--apply", "model.json", "--overlapping"), 2, "leave out --overlapping"),
        (("--apply", "model.json", "--features", "9"), 2, "leave out --features"),
        (("--apply", "model.json", "--multi-class", "ovo"), 2, "leave out --multi-class"),
        (("--apply", "nowhere.json"), 3, "there is no file"),
        (("--apply", "svm.npz"), 3, "a model of another kind (KernelSVC)"),
        (("--labels", "clinical.csv", "--model", "x", "--table", "x"), 2, "name one file twice"),
        (("--labels", "clinical.csv", "--model", "nowhere/x"), 3, "there is no folder"),
    ],
)
def test_wrong_usage_and_bad_input(run, cohort, monkeypatch, words, code, said):
    monkeypatch.chdir(cohort.folder)
    save_model(KernelSVC().fit(np.eye(2), ["a", "b"]), cohort / "svm.npz")
    if "centre" in words and "--apply" not in words:
        table = pd.DataFrame({"relapse": cohort.relapse, "centre": cohort.relapse}, index=cohort.ids)
        table.to_csv(cohort / "clinical.csv")
        said = "no group holds both sides of class 'yes' against class 'no'"
    result = run("pairs", "rows.csv", "--samples", "rows", *words)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.stderr.split())
