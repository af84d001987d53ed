"""Survival models on the command line: the same numbers as the library, from two files to risks of new patients."""

from __future__ import annotations

import json

import anndata
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import distkern as dk
from distkern.cli.evaluate import read_evaluation
from distkern.cli.main import main
from distkern.datasets import load_breast
from distkern.learners.external import predict_external_survival

QUICK = ("--lam", 0.1, "--lam", 1, "--outer", 3, "--inner", 3, "--repeats", 2, "-q")
TIMES = ("--time", "t.rfs", "--event", "e.rfs")


def run(*words):
    result = CliRunner().invoke(main, [*map(str, words)])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of two hospitals with samples in columns, their times, and a store of one."""
    folder = tmp_path_factory.mktemp("survival")
    for name in ("nki", "vdx"):
        adata = load_breast(name)
        adata = adata[adata.obs["t.rfs"].notna()]
        frame = adata.to_df().dropna(axis=1).iloc[:, :120].T
        frame.rename_axis("gene").to_csv(folder / f"{name}.csv")
        obs = adata.obs[["t.rfs", "e.rfs", "grade"]].copy()
        obs["dead"] = np.where(obs["e.rfs"] == 1, "TRUE", "False")
        obs["hospital"] = np.array(["a", "b"])[np.arange(len(obs)) % 2]
        obs["room"] = np.arange(len(obs)) // 2
        obs["odd"] = np.where(obs["e.rfs"] == 1, "relapsed", "no")
        obs["late"] = [*obs["t.rfs"].astype(int).astype(str)[:-1], "long"]
        obs.rename_axis("id").sample(frac=1, random_state=1).to_csv(folder / f"{name}-clinical.csv")
        anndata.AnnData(frame.T.to_numpy(), obs, pd.DataFrame(index=frame.index)).write_h5ad(folder / f"{name}.h5ad")
    assert (
        run(
            "gram", folder / "nki.csv", folder / "nki.zarr", "--samples", "columns", "--kernel", "kendall", "-q"
        ).exit_code
        == 0
    )
    return folder


def cohort(name):
    adata = load_breast(name)
    adata = adata[adata.obs["t.rfs"].notna()]
    y = dk.survival_y(adata.obs["t.rfs"], adata.obs["e.rfs"])
    return adata.to_df().dropna(axis=1).iloc[:, :120], y


@pytest.fixture(scope="module")
def result(folder):
    words = ("evaluate", folder / "nki.zarr", "--labels", folder / "nki-clinical.csv", *TIMES, *QUICK)
    done = run(*words, "--out", folder / "result.json", "--scores", folder / "scores.csv")
    assert done.exit_code == 0, done.output
    return done


def test_evaluation_equals_the_library(folder, result):
    _, y = cohort("nki")
    expected = dk.cross_validate_gram(
        None, dk.open_gram(folder / "nki.zarr"), y, scoring="concordance", lam=[0.1, 1.0], outer=3, inner=3, repeats=2
    )
    found = read_evaluation(folder / "result.json")
    np.testing.assert_array_equal(found.concordance, expected.concordance)
    np.testing.assert_array_equal(found.lam, expected.lam)
    table = pd.read_csv(folder / "scores.csv")
    scores = expected.held_out.scores(seed=0)
    assert table["score"].tolist() == ["Harrell's C", "Uno's C"]
    np.testing.assert_allclose(table[["value", "low", "high"]], scores[["value", "low", "high"]], rtol=1e-12)
    value, low, high = scores.loc[0, ["value", "low", "high"]]
    lines = dict(line.split("  ", 1) for line in result.stdout.splitlines() if "  " in line)
    assert lines["Harrell's C"].strip() == f"{value:.4f} ± {expected.std():.4f} ({low:.4f} to {high:.4f})"
    assert lines["log-rank p"].strip() == f"{expected.held_out.log_rank().pvalue:.2g}"
    median = expected.held_out.curves().medians.iloc[1]
    assert lines["high risk"].strip().startswith(f"{median['samples']} samples, {median['events']} events, median ")
    assert f"{len(y)} samples" in result.stdout
    assert "53 events, 93 censored" in result.stdout


def test_events_may_be_words_and_strata_groups_and_cohorts_are_columns(folder, result):
    words = (
        "evaluate",
        folder / "nki.zarr",
        "--labels",
        folder / "nki-clinical.csv",
        "--time",
        "t.rfs",
        *QUICK,
        "--json",
    )
    words = (*words, "--event", "dead")
    plain = json.loads(run(*words).stdout)
    assert plain["concordance"]["mean"] == read_evaluation(folder / "result.json").mean()
    y = cohort("nki")[1]
    hospital = np.array(["a", "b"])[np.arange(len(y)) % 2]
    for more, options in (
        (("--strata", "hospital"), {"strata": hospital}),
        (("--groups", "room"), {"groups": (np.arange(len(y)) // 2).astype(str)}),
        (("--leave-out", "hospital"), {"cohorts": hospital}),
    ):
        found = json.loads(run(*words, *more, "--learner", "survival-svm").stdout)
        gram = dk.open_gram(folder / "nki.zarr")
        expected = dk.cross_validate_gram(
            dk.SurvivalSVM(), gram, y, scoring="concordance", lam=[0.1, 1.0], outer=3, inner=3, repeats=2, **options
        )
        assert found["concordance"]["mean"] == expected.mean()
        assert found["settings"]["learner"] == "survival-svm"
    three = json.loads(run(*words, "--risk-groups", 3).stdout)["risk_groups"]["held out"]
    assert [one["group"] for one in three["groups"]] == ["low risk", "middle risk", "high risk"]


def test_another_cohort_is_predicted(folder):
    words = ("evaluate", folder / "nki.zarr", "--labels", folder / "nki-clinical.csv", *TIMES, *QUICK)
    other = (
        "--external",
        folder / "vdx.csv",
        "--external-samples",
        "columns",
        "--external-labels",
        folder / "vdx-clinical.csv",
    )
    refused = run(*words, *other)
    assert refused.exit_code == 3
    assert "--missing interleaving" in refused.output
    done = run(*words, *other, "--missing", "interleaving", "--out", folder / "other.json")
    assert done.exit_code == 0, done.output
    assert "121 samples of 'vdx.csv', by a model of all: 41 events, 80 censored" in done.stdout
    found = read_evaluation(folder / "other.json").external
    X, y = cohort("nki")
    new, truth = cohort("vdx")
    lam = dk.train_survival(X, y, lam=[0.1, 1.0], outer=3, inner=3, repeats=1).card["lam"]
    gram = dk.open_gram(folder / "nki.zarr")
    model = dk.KernelCox(lam).fit(gram, y)
    predictor = dk.CohortPredictor(model, gram, missing="interleaving")
    expected = predict_external_survival(predictor, new, truth, training=y, training_risks=model.predict(gram))
    np.testing.assert_allclose(found.risks, expected.risks, rtol=1e-6)
    np.testing.assert_allclose(found.scores(draws=0)["value"], expected.scores(draws=0)["value"], rtol=1e-8)


@pytest.fixture(scope="module")
def model(folder):
    words = (
        "train",
        folder / "nki.csv",
        "--samples",
        "columns",
        "--labels",
        folder / "nki-clinical.csv",
        *TIMES,
        *QUICK,
    )
    done = run(*words, "--out", folder / "risk.model", "--report", folder / "risk.html")
    assert done.exit_code == 0, done.output
    assert "cut-offs of the risk" in done.stdout
    page = (folder / "risk.html").read_text(encoding="utf-8")
    assert page.count("the risk of &#39;e.rfs&#39; by &#39;t.rfs&#39;, and a risk group") == 1
    assert "146 samples × 120 features of 'nki.csv' by 't.rfs' and 'e.rfs': 53 events, 93 censored" in done.stdout
    return folder / "risk.model"


def test_a_trained_model_predicts_risks(folder, model):
    X, y = cohort("nki")
    direct = dk.train_survival(X, y, lam=[0.1, 1.0], outer=3, inner=3, repeats=2)
    loaded = dk.load_model(model)
    assert loaded.card == json.loads(json.dumps(direct.card)) | {
        "time": "t.rfs",
        "event": "e.rfs",
        "cohort": loaded.card["cohort"],
    }
    out = folder / "risks.csv"
    words = ("predict", model, folder / "nki.csv", "--samples", "columns", "--at", 1825, "--at", "99999", "-q")
    done = run(*words, "--out", out)
    assert done.exit_code == 0, done.output
    table = pd.read_csv(out)
    columns = [
        "sample",
        "risk",
        "risk_group",
        "median_survival",
        "survival_at_1825",
        "survival_at_99999",
        "missing_features",
    ]
    assert list(table)[:7] == columns
    assert table["sample"].tolist() == list(X.index)
    np.testing.assert_allclose(table["risk"], direct.predictor.predict(X), rtol=1e-9)
    np.testing.assert_allclose(table["median_survival"], direct.predictor.predict_median(X))
    np.testing.assert_allclose(
        table["survival_at_1825"], direct.predictor.predict_survival_function(X, [1825])[:, 0], atol=1e-6
    )
    assert table["survival_at_99999"].isna().all()
    cutoff = direct.card["risk_groups"]["cutoffs"][0]
    assert (table["risk_group"] == np.where(table["risk"] >= cutoff, "high risk", "low risk")).all()
    assert "73 low risk, 73 high risk" in done.stdout
    first, _, second, _, *side = table["reason_1"][0].split()
    heaviest = dk.explain(loaded).contributions(X.iloc[:1], k=1).pairs.iloc[0]
    assert {first, second} == {heaviest["first"], heaviest["second"]}
    assert side == ["higher" if heaviest["contribution"] > 0 else "lower", "risk"]
    printed = json.loads(run(*words, "--json").stdout)
    assert printed["calls"][0]["survival_at_99999"] is None
    assert printed["card"]["learner"] == "cox"


def test_missing_features_and_anndata(folder, model):
    refused = run("predict", model, folder / "vdx.csv", "--samples", "columns")
    assert refused.exit_code == 3
    assert "--missing interleaving" in refused.output
    words = (
        "predict",
        model,
        folder / "vdx.h5ad",
        "--missing",
        "interleaving",
        "--at",
        1000,
        "--out",
        folder / "v.h5ad",
    )
    done = run(*words)
    assert done.exit_code == 0, done.output
    obs = anndata.read_h5ad(folder / "v.h5ad").obs
    X, _ = cohort("vdx")
    loaded = dk.load_model(model)
    loaded.missing = "interleaving"
    np.testing.assert_allclose(obs["risk"], loaded.predict(X), rtol=1e-6)
    assert set(obs["risk_group"]) <= {"low risk", "high risk"}
    assert obs["survival_at_1000"].between(0, 1).all()


def test_training_from_one_file_and_with_strata(folder):
    words = ("train", folder / "nki.h5ad", *TIMES, "--strata", "hospital", "--learner", "cox", *QUICK, "--json")
    done = run(*words, "--out", folder / "strata.model")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["stratified"] is True
    table = run("predict", folder / "strata.model", folder / "nki.h5ad", "--out", folder / "s.csv")
    assert table.exit_code == 0, table.output
    assert "median_survival" not in pd.read_csv(folder / "s.csv")
    refused = run("predict", folder / "strata.model", folder / "nki.h5ad", "--at", 100)
    assert refused.exit_code == 3
    assert "fitted with strata" in refused.output
    svm = ("--learner", "survival-svm", "--out", folder / "svm.model", "--kernel", "spearman")
    assert run("train", folder / "nki.h5ad", *TIMES, *QUICK, *svm).exit_code == 0
    refused = run("predict", folder / "svm.model", folder / "nki.h5ad", "--at", 100)
    assert "knows no chance of survival" in refused.output


EVALUATE = ("evaluate", "nki.zarr", "--labels", "nki-clinical.csv")
TRAIN = ("train", "nki.csv", "--samples", "columns", "--out", "x.model", "--labels", "nki-clinical.csv")


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        ((*EVALUATE, "--time", "t.rfs"), "needs --time and --event together", 2),
        ((*EVALUATE, "--learner", "cox"), "--learner cox needs times", 2),
        ((*EVALUATE, *TIMES, "--learner", "svm"), "--learner svm is for classes: choose cox or survival-svm", 2),
        ((*EVALUATE, *TIMES, "--C", "1"), "--C is for classes", 2),
        ((*EVALUATE, *TIMES, "--label", "grade"), "--label is for classes", 2),
        ((*EVALUATE, *TIMES, "--permutations", "9"), "--permutations is for classes", 2),
        ((*EVALUATE, *TIMES, "--missing", "interleaving"), "--missing is for another cohort", 2),
        ((*EVALUATE, "--label", "grade", "--strata", "hospital"), "--strata is for survival", 2),
        ((*EVALUATE, "--label", "grade", "--risk-groups", "3"), "--risk-groups is for survival", 2),
        ((*EVALUATE, "--time", "t.rfs", "--event", "odd"), "write 1 or true", 3),
        ((*EVALUATE, "--time", "late", "--event", "e.rfs"), "has the time 'long' in column 'late'", 3),
        ((*EVALUATE, "--time", "days", "--event", "e.rfs"), "has no column 'days'", 3),
        ((*TRAIN, *TIMES, "--calibration", "isotonic"), "--calibration is for classes", 2),
        (("train", "nki.csv", "--samples", "columns", "--out", "x.model", *TIMES), "in a file of their own", 3),
        (
            ("predict", "risk.model", "nki.csv", "--samples", "columns", "--error", "0.2"),
            "--error is for a model of classes",
            2,
        ),
    ],
)
def test_what_cannot_be_is_refused(folder, model, words, said, code):
    files = {path.name for path in folder.iterdir()} | {"x.model"}
    result = run(*(folder / word if word in files else word for word in words))
    assert result.exit_code == code, result.output
    assert said in result.output
    assert not (folder / "x.model").exists()


def test_a_sample_without_a_time_is_named(folder):
    table = pd.read_csv(folder / "nki-clinical.csv", index_col=0)
    name = table.index[3]
    table.loc[name, "t.rfs"] = np.nan
    table.to_csv(folder / "gap.csv")
    result = run("evaluate", folder / "nki.zarr", "--labels", folder / "gap.csv", *TIMES, *QUICK)
    assert result.exit_code == 3
    assert repr(name) in result.output
    table.loc[name, "t.rfs"] = -1
    table.to_csv(folder / "gap.csv")
    result = run("evaluate", folder / "nki.zarr", "--labels", folder / "gap.csv", *TIMES, *QUICK)
    assert f"{name!r} has -1" in result.output
