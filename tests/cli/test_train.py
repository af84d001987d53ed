"""``distkern train`` and ``distkern predict``: from two files to called patients."""

from __future__ import annotations

import gzip
import json

import anndata
import numpy as np
import pandas as pd
import pytest

import distkern as dk
from distkern.datasets import load_breast


@pytest.fixture(scope="module")
def breast(tmp_path_factory):
    """Tables of two hospitals, with samples in columns, their labels, and a trained model."""
    folder = tmp_path_factory.mktemp("breast")
    for name in ("nki", "vdx"):
        adata = load_breast(name)
        frame = adata.to_df().dropna(axis=1).T
        frame.index.name = "gene"
        frame.to_csv(folder / f"{name}.csv")
        adata.obs[["er", "grade"]].rename_axis("id").to_csv(folder / f"{name}-clinical.csv")
    return folder


@pytest.fixture(scope="module")
def model(breast, run_in_module):
    words = ("--samples", "columns", "--labels", breast / "nki-clinical.csv", "--label", "er", "--repeats", "1", "-q")
    result = run_in_module("train", breast / "nki.csv", *words, "--out", breast / "er.model")
    assert result.exit_code == 0, result.output
    return breast / "er.model", result


@pytest.fixture(scope="module")
def run_in_module():
    from click.testing import CliRunner

    from distkern.cli.main import main

    return lambda *words: CliRunner().invoke(main, [*map(str, words)])


def test_training_prints_the_estimate_and_saves_a_card_without_names(model, breast):
    path, result = model
    for words in (
        "150 samples × 662 features",
        "112 positive, 38 negative",
        "balanced accuracy",
        "AUC",
    ):
        assert words in result.output
    loaded = dk.load_model(path)
    assert loaded.card["kernel"] == {"kernel": "kendall", "ties": "zero"}
    assert loaded.card["classes"] == {"negative": 38, "positive": 112}
    assert loaded.card["label"] == "er"
    assert loaded.card["validation"]["balanced_accuracy"] > 0.8
    content = path.read_bytes()
    assert not any(
        name.encode() in content or name.encode("utf-32-le") in content for name in load_breast("nki").obs_names
    )
    assert len(content) < 300_000
    direct = dk.train_classifier(load_breast("nki").to_df().dropna(axis=1), load_breast("nki").obs["er"], repeats=1)
    new = load_breast("nki").to_df().dropna(axis=1)
    np.testing.assert_allclose(loaded.predict_proba(new), direct.predictor.predict_proba(new), atol=1e-9)


def test_the_page_shows_the_evaluation_and_the_card(breast, run_in_module, tmp_path):
    words = ("--samples", "columns", "--labels", breast / "nki-clinical.csv", "--label", "er", "--repeats", "1", "-q")
    files = ("--out", tmp_path / "er.model", "--report", tmp_path / "er.html")
    result = run_in_module("train", breast / "nki.csv", *words, "--C", 1, "--inner", 2, *files)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "er.html").read_text(encoding="utf-8")
    card = dk.load_model(tmp_path / "er.model").card
    for part in (
        "the class of &#39;er&#39;: negative or positive",
        "38 negative, 112 positive",
        "150 × 662; found by name",
    ):
        assert text.count(part) == 1, part
    assert f"balanced accuracy {card['validation']['balanced_accuracy']:.3f}" in text
    assert not any(name in text for name in load_breast("nki").obs_names)
    assert run_in_module("train", breast / "nki.csv", *words, *files).exit_code == 3  # both files exist
    (tmp_path / "er.model").unlink()
    assert run_in_module("train", breast / "nki.csv", *words, *files).exit_code == 3
    same = ("--out", tmp_path / "new", "--report", tmp_path / "new")
    assert run_in_module("train", breast / "nki.csv", *words, *same).exit_code == 2


def test_calls_of_the_same_platform_have_reasons(model, breast, run_in_module):
    path, _ = model
    out = breast / "calls.csv"
    result = run_in_module("predict", path, breast / "nki.csv", "--samples", "columns", "--out", out, "--overwrite")
    assert result.exit_code == 0, result.output
    table = pd.read_csv(out)
    reasons = [f"reason_{k}" for k in (1, 2, 3)]
    assert list(table) == ["sample", "call", "probability", "unsure", "missing_features", *reasons]
    frame = load_breast("nki").to_df().dropna(axis=1)
    loaded = dk.load_model(path)
    assert table["sample"].tolist() == list(frame.index)
    assert table["call"].tolist() == loaded.predict(frame).tolist()
    chances = loaded.predict_proba(frame)
    called = [list(loaded.classes_).index(label) for label in table["call"]]
    np.testing.assert_allclose(table["probability"], chances[np.arange(150), called], atol=1e-6)
    assert table["unsure"].tolist() == (loaded.predict_set(frame).sum(axis=1) != 1).tolist()
    assert (table["missing_features"] == 0).all()
    first, order, second, _, side = table["reason_1"][0].split()
    heaviest = dk.explain(loaded).contributions(frame.iloc[:1], k=1).pairs.iloc[0]
    assert {first, second} == {heaviest["first"], heaviest["second"]}
    assert (order == ">") == (frame[first].iloc[0] > frame[second].iloc[0])
    assert side == ("positive" if heaviest["contribution"] > 0 else "negative")


def test_another_platform_is_refused_or_averaged(model, breast, run_in_module):
    path, _ = model
    words = ("predict", path, breast / "vdx.csv", "--samples", "columns", "--out", breast / "vdx-calls.csv")
    refused = run_in_module(*words)
    assert refused.exit_code == 3
    assert "lacks 457 of the 662 features" in refused.output
    assert "--missing interleaving" in refused.output
    assert not (breast / "vdx-calls.csv").exists()
    assert run_in_module(*words, "--missing", "interleaving").exit_code == 0
    table = pd.read_csv(breast / "vdx-calls.csv")
    assert (table["missing_features"] == 457).all()
    assert table["reason_1"].str.fullmatch(r"\S+ (on average )?[<>=] \S+ for (positive|negative)").all()
    lacking = set(load_breast("nki").to_df().dropna(axis=1)) - set(load_breast("vdx").to_df().dropna(axis=1))
    for reason in table["reason_1"]:
        first, second = reason.replace("on average ", "").split()[:3:2]
        assert ("on average" in reason) == bool({first, second} & lacking)
    right = table["call"].to_numpy() == load_breast("vdx").obs["er"].to_numpy()
    assert right.mean() > 0.75


def test_training_on_the_features_of_the_other_cohort(breast, run_in_module):
    words = ("--samples", "columns", "--labels", breast / "nki-clinical.csv", "--label", "er", "--repeats", "1", "-q")
    out = breast / "common.model"
    common = run_in_module("train", breast / "nki.csv", *words, "--features", breast / "vdx.csv", "--out", out)
    assert common.exit_code == 0, common.output
    assert "× 205 features" in common.output
    with gzip.open(breast / "vdx.csv.gz", "wb") as file:  # a second line of a gene is no matter: names are read alone
        file.write((breast / "vdx.csv").read_bytes() + (breast / "vdx.csv").read_bytes().splitlines()[-1] + b"\n")
    more = ("--features", breast / "vdx.csv.gz", "--out", breast / "again.model")
    assert "× 205 features" in run_in_module("train", breast / "nki.csv", *words, *more).output
    listed = breast / "genes.txt"
    listed.write_text("ESR1\nGATA3\nAGTR1\nTBC1D9\nnothing\n")
    few = run_in_module(
        "train",
        breast / "nki.csv",
        *words,
        "--features",
        listed,
        "--learner",
        "fisher",
        "--json",
        "--out",
        breast / "few.model",
    )
    assert few.exit_code == 0, few.output
    card = json.loads(few.stdout)
    assert (card["learner"], card["C"], card["label"]) == ("fisher", None, "er")
    assert sorted(dk.load_model(breast / "few.model").feature_names_in_) == ["AGTR1", "ESR1", "GATA3", "TBC1D9"]
    found = run_in_module("predict", out, breast / "vdx.csv", "--samples", "columns", "--out", breast / "called.h5ad")
    assert found.exit_code == 0, found.output
    adata = anndata.read_h5ad(breast / "called.h5ad")
    assert adata.obs["prediction"].isin(["positive", "negative"]).all()
    assert adata.obs["probability"].between(0.5, 1).mean() > 0.9
    assert adata.n_vars == 657


def test_rules_are_applied_by_the_same_command(breast, run_in_module):
    words = ("--samples", "columns", "--labels", breast / "nki-clinical.csv", "--label", "er", "-k", "3", "-q")
    assert run_in_module("pairs", breast / "nki.csv", *words, "--model", breast / "rules.json").exit_code == 0
    result = run_in_module("predict", breast / "rules.json", breast / "nki.csv", "--samples", "columns", "--json")
    assert result.exit_code == 0, result.output
    calls = json.loads(result.stdout)["calls"]
    frame = load_breast("nki").to_df().dropna(axis=1)
    rules = dk.load_model(breast / "rules.json")
    assert [call["call"] for call in calls] == rules.predict(frame).tolist()
    words = ("predict", breast / "rules.json", breast / "vdx.csv", "--samples", "columns", "--json", "--missing")
    refused = run_in_module(*words, "interleaving")
    assert refused.exit_code == 3
    assert "--missing interleaving is for a kernel model" in refused.output
    abstained = run_in_module(*words, "abstain")
    assert abstained.exit_code == 0, abstained.output
    assert len(json.loads(abstained.stdout)["calls"]) == 150
    first, order, second, _, side = calls[0]["reason_1"].split()
    assert [first, second] == rules.pair_names_[0].tolist()
    assert (order == "<") == bool(frame[first].iloc[0] < frame[second].iloc[0])
    assert side == str(rules.classes_[1 if order == "<" else 0])


BESIDE = ("--samples", "columns", "--labels", "vdx-clinical.csv", "--label", "er", "--out", "x.model")


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("train", "nki.csv", "--samples", "columns", "--out", "x.model"), "training needs labels", 2),
        (("train", "nki.csv", *BESIDE), "none of the 150 samples of the cohort is in 'vdx-clinical.csv'", 3),
        (("predict", "nki.csv", "nki.csv", "--samples", "columns"), "is not a model", 3),
        (("predict", "er.model", "nki.csv", "--samples", "columns", "--out", "calls.xlsx"), "must end with .csv", 3),
        (("predict", "er.model", "nki.csv", "--samples", "rows"), "is transposed: its samples are called", 3),
    ],
)
def test_what_cannot_be_is_refused(model, breast, run_in_module, words, said, code):
    files = {path.name for path in breast.iterdir()} | {"x.model", "calls.xlsx"}
    result = run_in_module(*(breast / word if word in files else word for word in words))
    assert result.exit_code == code, result.output
    assert said in result.output
    assert not (breast / "x.model").exists()


def test_a_model_is_not_overwritten_unless_asked(model, breast, run_in_module):
    words = ("--samples", "columns", "--labels", breast / "nki-clinical.csv", "--label", "er")
    result = run_in_module("train", breast / "nki.csv", *words, "--out", breast / "er.model")
    assert result.exit_code == 3
    assert "--overwrite" in result.output
