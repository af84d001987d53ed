from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import distkern as dk


@pytest.fixture
def model(cohort, store):
    """A model on the store, in a file that holds its samples."""
    gram = dk.open_gram(store)
    made = make_pipeline(dk.KernelStandardizer(), dk.KernelSVC()).fit(gram, cohort.relapse)
    return dk.save_model(made, cohort / "relapse.npz", gram=gram)


def test_tables_equal_those_of_the_library(cohort, run, model):
    words = ("explain", model, "-k", 5, "--pairs", cohort / "pairs.csv", "--features", cohort / "genes.csv", "--quiet")
    result = run(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    expected = dk.explain(dk.load_model(model), k=5)
    pd.testing.assert_frame_equal(pd.read_csv(cohort / "pairs.csv"), expected.pairs)
    pd.testing.assert_frame_equal(pd.read_csv(cohort / "genes.csv"), expected.features)
    assert "yes against no; Kendall(ties='b')" in result.stdout
    assert "15 features, the first 10 (all in" in result.stdout
    assert expected.pairs["first"][0] in result.stdout
    printed = json.loads(run("explain", model, "-k", 5, "--json", "-q").stdout)
    assert printed["machines"] == ["yes against no"]
    assert [row["first"] for row in printed["pairs"]] == expected.pairs["first"].tolist()


def test_contributions_of_new_samples_add_up(cohort, run, model):
    new = cohort.write("new.csv", cohort.X[:3] + 0.005, ["n1", "n2", "n3"])
    files = [cohort / name for name in ("scores.csv", "pairs.csv", "genes.csv")]
    words = ("explain", model, "--new", new, "--samples", "rows", "--scores", files[0], "--pairs", files[1])
    result = run(*words, "--features", files[2], "-q")
    assert result.exit_code == 0
    assert "\n45 contributions of features, the first 10" in result.stdout  # 3 samples × 15 features
    assert "\n3 scores (all in" in result.stdout
    scores, pairs, features = map(pd.read_csv, files)
    expected = dk.load_model(model).decision_function(dk.read_expression(new, samples="rows"))
    np.testing.assert_allclose(scores["decision"], expected)
    for number, name in enumerate(("n1", "n2", "n3")):
        total = features.loc[features["sample"] == name, "contribution"].sum() + scores["intercept"][number]
        np.testing.assert_allclose(total, expected[number])
    assert pairs.columns.tolist() == ["sample", "first", "second", "contribution"]


def test_a_model_without_its_samples_needs_the_store(cohort, run, store):
    model = dk.save_model(dk.KernelSVC().fit(dk.open_gram(store), cohort.relapse), cohort / "bare.npz")
    result = run("explain", model)
    assert result.exit_code == 3
    assert "--store STORE" in result.stderr
    assert run("explain", model, "--store", store, "-q").exit_code == 0


def test_a_model_with_its_samples_needs_no_store(run, model, store):
    result = run("explain", model, "--store", store)
    assert result.exit_code == 2
    assert "leave out --store" in result.stderr


def test_options_of_new_samples_need_new_samples(cohort, run, model):
    result = run("explain", model, "--scores", cohort / "s.csv", "--samples", "rows")
    assert result.exit_code == 2
    assert "--scores and --samples are about new samples: add --new" in result.stderr


def test_files_are_replaced_only_with_overwrite(cohort, run, model):
    out = cohort / "pairs.csv"
    out.write_text("precious")
    refused = run("explain", model, "--pairs", out)
    assert refused.exit_code == 3
    assert "--overwrite" in refused.stderr
    assert out.read_text() == "precious"
    assert run("explain", model, "--pairs", out, "--overwrite", "-q").exit_code == 0
    assert out.read_text().startswith("first,second,weight\n")
