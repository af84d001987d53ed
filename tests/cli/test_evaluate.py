from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

import distkern as dk
from distkern import cross_validate_gram, open_gram
from distkern.cli.cohort import read_column
from distkern.cli.evaluate import read_evaluation
from distkern.core.errors import InputError
from distkern.learners.selection import GRID
from distkern.learners.survival_selection import LAMBDAS
from distkern.learners.training import LEARNERS

FAST = ("--repeats", 1, "--C", 0.1, "--C", 1, "--quiet")


def test_scores_equal_those_of_the_library(cohort, run, store):
    out = cohort / "result.json"
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", "--seed", 3, *FAST)
    result = run(*words, "--out", out)
    assert result.exit_code == 0
    assert result.stderr == ""
    expected = cross_validate_gram(None, open_gram(store), cohort.relapse, repeats=1, C=(0.1, 1), seed=3)
    assert re.search(rf"^accuracy +{100 * expected.mean():.2f} % \(\d.* to .* %\)$", result.stdout, re.MULTILINE)
    assert "24 samples" in result.stdout
    found = read_evaluation(out)
    assert np.array_equal(found.accuracy, expected.accuracy)
    assert found.settings["label"] == "relapse"


def test_result_is_replaced_only_with_overwrite(cohort, run, store):
    out = cohort / "result.json"
    out.write_text("precious")
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", "--out", out, *FAST)
    refused = run(*words)
    assert refused.exit_code == 3
    assert "--overwrite" in refused.stderr
    assert out.read_text() == "precious"
    printed = json.loads(run(*words, "--overwrite", "--json").stdout)
    assert printed["accuracy"]["sd"] is None
    assert printed["classes"] == {"yes": 12, "no": 12}
    assert read_evaluation(out).mean() == printed["accuracy"]["mean"]


def test_groups_stay_together(cohort, run, store):
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", "--inner", 2, *FAST)
    result = run(*words, "--outer", 2, "--groups", "centre", "--json")
    assert json.loads(result.stdout)["settings"]["grouped"] is True


def test_labels_are_read_from_every_format(cohort):
    import anndata
    import pandas

    obs = pandas.DataFrame({"relapse": pandas.Categorical(cohort.relapse)}, index=cohort.ids)
    anndata.AnnData(cohort.X, obs=obs).write_h5ad(cohort / "cohort.h5ad")
    ids = cohort.ids[::-1]
    for name, options in [
        ("clinical.csv", {}),
        ("columns.csv", {"samples": "columns"}),
        ("cohort.npz", {}),
        ("cohort.h5ad", {}),
    ]:
        assert read_column(cohort / name, "relapse", ids, **options) == ("relapse", cohort.relapse[::-1])
    assert read_column(cohort / "cohort.h5ad", None, ids)[0] == "relapse"


def test_labels_that_do_not_fit_are_explained(cohort, run, store):
    def said(file, *words):
        result = run("evaluate", store, "--labels", file, *FAST, *words)
        assert result.exit_code == 3
        return result.stderr

    clinical = cohort / "clinical.csv"
    assert "several columns" in said(clinical)
    assert "no column 'tumour'" in said(clinical, "--label", "tumour")
    assert "no column 'site'" in said(clinical, "--label", "relapse", "--groups", "site")
    assert "no file of labels" in said(cohort / "no.csv")
    lines = clinical.read_text().splitlines()
    (cohort / "part.csv").write_text("\n".join(lines[:-2]))
    assert "2 of 24 samples have no label in 'part.csv', the first of them 'p22'" in said(
        cohort / "part.csv", "--label", "relapse"
    )
    (cohort / "gap.csv").write_text("\n".join([*lines[:-1], "p23,NA,x"]))
    assert "'p23'" in said(cohort / "gap.csv", "--label", "relapse")
    (cohort / "one.csv").write_text("\n".join(["id,relapse", *(f"{name},yes" for name in cohort.ids)]))
    assert "two classes or more" in said(cohort / "one.csv")


def test_help_lists_the_default_values_of_C(run):
    words = [f"{value:g}" for value in GRID]
    listed = f"{', '.join(words[:-1])} and {words[-1]}"
    assert f"By default {listed}." in " ".join(run("evaluate", "--help").stdout.split())


def test_ids_with_spaces_are_matched(cohort, run):
    ids = [f" {name} " for name in cohort.ids]
    file = cohort.write("spaces.csv", cohort.X, ids)
    assert run("gram", file, cohort / "s.zarr", "--samples", "rows", "--kernel", "kendall").exit_code == 0
    assert list(open_gram(cohort / "s.zarr").ids) == cohort.ids
    np.savez(cohort / "spaces.npz", X=cohort.X, samples=ids)
    assert run("gram", cohort / "spaces.npz", cohort / "n.zarr", "--kernel", "kendall").exit_code == 0
    words = ("--labels", cohort / "clinical.csv", "--label", "relapse", *FAST)
    one, two = (run("evaluate", cohort / name, *words, "--json") for name in ("s.zarr", "n.zarr"))
    assert one.exit_code == two.exit_code == 0
    assert json.loads(one.stdout)["accuracy"] == json.loads(two.stdout)["accuracy"]


def test_rectangular_matrix_is_not_evaluated(cohort, run):
    words = ("--against", cohort / "rows.csv", "--samples", "rows", "--kernel", "linear")
    assert run("gram", cohort / "rows.csv", cohort / "x.zarr", *words).exit_code == 0
    result = run("evaluate", cohort / "x.zarr", "--labels", cohort / "clinical.csv", "--label", "relapse")
    assert result.exit_code == 3
    assert "test × training" in result.stderr


def test_file_that_is_not_an_evaluation_is_refused(tmp_path):
    file = tmp_path / "result.json"
    for text in ("{", "[]", '{"accuracy": 1}'):
        file.write_text(text)
        with pytest.raises(InputError, match="not a file of `distkern evaluate --out`"):
            read_evaluation(file)
    with pytest.raises(InputError, match="there is no evaluation"):
        read_evaluation(tmp_path / "no.json")


def test_limit_of_memory_reaches_the_solver(cohort, run, store):
    """It had limited the matrix that is read only, and not what the classifier keeps."""
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", *FAST, "--json")
    free, limited = (json.loads(run(*words, *more).stdout) for more in ((), ("--memory-limit", "64MiB")))
    assert limited["accuracy"] == free["accuracy"]
    assert limited["settings"]["estimator"].count(f"memory_limit={2**25}") == 2
    refused = run(*words, "--memory-limit", "1kB")
    assert refused.exit_code == 3
    assert "bytes of memory" in refused.stderr


def test_a_cohort_is_left_out_and_scores_have_intervals(cohort, run, store):
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", "--inner", 2, *FAST)
    table = cohort / "scores.csv"
    result = run(*words, "--leave-out", "centre", "--scores", table, "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["settings"]["outer"] == "leave-one-cohort-out"
    assert printed["settings"]["cohorts"] == "centre"
    lines = table.read_text().splitlines()
    assert lines[0] == "samples,score,value,low,high"
    assert [line.split(",")[1] for line in lines[1:]] == [row["score"] for row in printed["intervals"]]
    for row in printed["intervals"]:
        assert row["low"] <= row["value"] + 1e-9, row
        assert row["value"] <= row["high"] + 1e-9, row
    shown = run(*words, "--leave-out", "centre")
    pooled = {row["score"]: row["value"] for row in printed["intervals"]}
    for name in ("accuracy", "balanced accuracy"):  # cohorts differ in size: all samples count alike
        assert re.search(rf"^{name} +{100 * pooled[name]:.2f} % \(", shown.stdout, re.MULTILINE)
    for name in ("sensitivity", "specificity", "Brier score", "leave-one-cohort-out"):
        assert name in shown.stdout


def test_labels_are_permuted_on_request(cohort, run, store):
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", "--inner", 2, *FAST)
    printed = json.loads(run(*words, "--outer", 3, "--permutations", 19, "--json").stdout)
    found = printed["permutations"]
    direct = dk.permutation_test(
        make_pipeline(dk.KernelStandardizer(), dk.KernelSVC()),
        open_gram(store),
        cohort.relapse,
        permutations=19,
        values=[0.1, 1],
        outer=3,
        inner=2,
    )
    assert (found["pvalue"], found["score"], found["permutations"]) == (direct.pvalue, direct.score, 19)
    assert "p-value" in run(*words, "--outer", 3, "--permutations", 3).stdout
    within = json.loads(run(*words, "--leave-out", "centre", "--permutations", 19, "--json").stdout)["permutations"]
    assert within["blocks"] == len(set(read_column(cohort / "clinical.csv", "centre", open_gram(store).ids)[1]))
    few = json.loads(run(*words, "--outer", 3, "--permutations", 999, "--permutation-time", 0.001, "--json").stdout)
    assert few["permutations"]["permutations"] == 1
    refused = run(*words, "--permutation-time", 5)
    assert (refused.exit_code, "say how many" in refused.stderr) == (2, True)


def split_in_two(cohort):
    """A cohort for the store, and another one with its features in another order, and one feature less."""
    table = pd.read_csv(cohort / "rows.csv", index_col=0)
    new = table.iloc[:12].iloc[:, ::-1].drop(columns=table.columns[3])
    new.to_csv(cohort / "new.csv")
    return cohort / "new.csv", table.columns[3]


@pytest.mark.parametrize("learner", ["svm", "fisher", "logistic"])
def test_other_cohort_is_predicted_by_a_model_of_all_samples(cohort, run, store, learner):
    new, lacking = split_in_two(cohort)
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", "--inner", 2, "--learner")
    protocol = ("--outer", 2, "--repeats", 1, "--quiet")
    other = ("--external", new, "--external-labels", cohort / "clinical.csv", "--external-samples", "rows")
    refused = run(*words, learner, *other, *protocol)
    assert refused.exit_code == 3
    assert lacking in refused.stderr
    out, table = cohort / "result.json", cohort / "scores.csv"
    done = run(*words, learner, *other, *protocol, "--missing", "interleaving", "--out", out, "--scores", table)
    assert done.exit_code == 0, done.output
    assert f"12 samples of {new.name!r}, by a model of all" in done.stdout
    found = read_evaluation(out)
    y = np.array(cohort.relapse)[:12]
    assert np.array(found.classes)[found.external.truth].tolist() == y.tolist()
    model = make_pipeline(dk.KernelStandardizer(), LEARNERS[learner]())
    gram = open_gram(store)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    if learner != "fisher":
        name, values = {"svm": ("kernelsvc__C", GRID), "logistic": ("kernellogistic__lam", LAMBDAS[::-1])}[learner]
        plain = clone(model).set_params(kernelstandardizer__diagonal=1.0)  # tau-b
        search = GridSearchCV(plain, {name: values}, cv=folds).fit(gram.to_numpy(), cohort.relapse)
        model.set_params(**search.best_params_)
    fitted = dk.CalibratedClassifier(model).fit(gram, cohort.relapse)
    predictor = dk.CohortPredictor(fitted, gram, missing="interleaving")
    expected = predictor.predict_proba(pd.read_csv(new, index_col=0))
    assert np.allclose(found.external.probabilities[0], expected, atol=1e-6)
    assert found.held_out.probabilities is not None
    rows = pd.read_csv(table)
    assert set(rows["samples"]) == {"held out", "external"}


def test_options_of_another_cohort_and_learner_are_not_ignored(cohort, run, store):
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", "--quiet")
    for more, named in (
        (("--missing", "interleaving"), "--external"),
        (("--external-samples", "rows"), "--external"),
        (("--lam", 1), "--learner logistic"),
        (("--learner", "fisher", "--C", 1), "--learner svm"),
    ):
        refused = run(*words, *more)
        assert refused.exit_code == 2, more
        assert named in refused.stderr


def test_external_labels_of_another_kind_are_refused(cohort, run, store):
    new, _ = split_in_two(cohort)
    clinical = pd.read_csv(cohort / "clinical.csv", index_col=0)
    clinical["relapse"] = clinical["relapse"].map({"yes": "1", "no": "0"})
    clinical.to_csv(cohort / "other.csv")
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relapse", *FAST, "--inner", 2)
    refused = run(
        *words,
        "--external",
        new,
        "--external-labels",
        cohort / "other.csv",
        "--external-samples",
        "rows",
        "--missing",
        "interleaving",
    )
    assert refused.exit_code == 3
    assert "no class of the model" in refused.stderr
