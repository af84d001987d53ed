from __future__ import annotations

import json
import warnings

import anndata
import numpy as np
import pandas as pd
import pytest

from distkern import kendalltau_matrix


def frame(cohort):
    return pd.DataFrame(cohort.X, columns=cohort.genes, index=cohort.ids)


def edges(cohort, **options):
    options = {"output": "edges"} | options
    return kendalltau_matrix(frame(cohort), pvalue=True, executor="serial", progress=False, **options)


def read(path):
    return pd.read_csv(path, float_precision="round_trip")


def test_the_network_is_that_of_python(cohort, run):
    out = cohort / "net.csv"
    result = run("tau", cohort / "rows.csv", "--samples", "rows", "--out", out, "--fdr", 0.5, "--min-tau", 0.2)
    assert result.exit_code == 0
    expected = edges(cohort, fdr=0.5, min_tau=0.2)
    pd.testing.assert_frame_equal(read(out), expected, check_exact=True)
    assert result.stdout == f"{len(expected)} edges, 105 pairs tested\n"
    assert result.stderr.endswith(f"written to {out}\n")
    assert "compute tiles" in result.stderr
    default = run("tau", cohort / "cohort.npz", "--out", cohort / "2.csv", "-q")
    assert default.stderr == ""
    assert len(read(cohort / "2.csv")) == len(edges(cohort)) < len(expected)


def test_a_file_is_replaced_only_if_asked(cohort, run):
    out = cohort / "net.csv"
    out.write_text("precious")
    words = ("tau", cohort / "X.npy", "--out", out)
    refused = run(*words)
    assert refused.exit_code == 3
    assert "or --overwrite to replace it" in refused.stderr
    assert out.read_text() == "precious"
    found = json.loads(run(*words, "--overwrite", "--json").stdout)
    assert (found["path"], found["tests"], found["undefined"]) == (str(out), 105, 0)
    assert len(read(out)) == found["edges"]


def test_finished_parts_are_kept_in_a_store(cohort, run):
    words = ("tau", cohort / "X.npy", "--fdr", 1, "--store", cohort / "parts", "--out")
    assert run(*words, cohort / "first.csv").exit_code == 0
    changed = {part: part.stat().st_mtime_ns for part in (cohort / "parts").glob("tile-*.npz")}
    assert changed
    assert run(*words, cohort / "second.csv").exit_code == 0
    assert {part: part.stat().st_mtime_ns for part in changed} == changed
    pd.testing.assert_frame_equal(read(cohort / "second.csv"), read(cohort / "first.csv"), check_exact=True)
    other = run("tau", cohort / "X.npy", "--store", cohort / "parts", "--out", cohort / "third.csv")
    assert (other.exit_code, "give the path of a new folder" in other.stderr) == (3, True)
    twice = run("tau", cohort / "X.npy", "--store", cohort / "one.csv", "--out", cohort / "one.csv")
    assert (twice.exit_code, (cohort / "one.csv").exists()) == (2, False)


def test_a_list_of_pairs_is_written_whole_or_tested(cohort, run):
    pairs = pd.DataFrame({"first": ["g3", "g1"], "second": ["g0", "g9"]})
    pairs.to_csv(cohort / "pairs.csv", index=False)
    words = ("tau", cohort / "cohort.npz", "--pairs", cohort / "pairs.csv", "--out")
    assert run(*words, cohort / "list.csv").stdout == "2 pairs, 2 pairs tested\n"
    expected = edges(cohort, pairs=pairs, output="matrix")
    pd.testing.assert_frame_equal(read(cohort / "list.csv"), expected, check_exact=True)
    run(*words, cohort / "tested.csv", "--fdr", 1)
    expected = edges(cohort, pairs=pairs, fdr=1)
    pd.testing.assert_frame_equal(read(cohort / "tested.csv"), expected, check_exact=True)
    (cohort / "pairs.csv").write_text("first,second\ng3,g99\n")
    refused = run(*words, cohort / "3.csv")
    assert refused.exit_code == 3
    assert "'g99', which is no feature" in refused.stderr


def test_strata_come_from_the_cohort_or_another_file(cohort, run):
    centres = [f"centre{k // 3}" for k in range(24)]
    expected = edges(cohort, strata=centres, fdr=1)
    options = ("--strata", cohort / "clinical.csv", "--stratum", "centre", "--fdr", 1)
    assert run("tau", cohort / "cohort.npz", "--out", cohort / "1.csv", *options).exit_code == 0
    pd.testing.assert_frame_equal(read(cohort / "1.csv"), expected, check_exact=True)
    adata = anndata.AnnData(frame(cohort), obs=pd.DataFrame({"centre": centres}, index=cohort.ids))
    adata.write_h5ad(cohort / "cohort.h5ad")
    run("tau", cohort / "cohort.h5ad", "--stratum", "centre", "--fdr", 1, "--out", cohort / "2.csv")
    pd.testing.assert_frame_equal(read(cohort / "2.csv"), expected, check_exact=True)
    assert run("tau", cohort / "X.npy", "--stratum", "centre", "--out", cohort / "3.csv").exit_code == 3


def test_two_tables_are_matched_by_the_ids_of_their_samples(cohort, run):
    ages = pd.DataFrame({"age": np.arange(24.0) ** 2 % 11}, index=cohort.ids)
    ages.iloc[::-1].to_csv(cohort / "ages.csv")
    words = ("tau", cohort / "rows.csv", "--samples", "rows", "--against", cohort / "ages.csv", "--fdr", 1)
    assert run(*words, "--out", cohort / "1.csv").exit_code == 0
    pd.testing.assert_frame_equal(read(cohort / "1.csv"), edges(cohort, Y=ages, fdr=1), check_exact=True)


def test_missing_values_and_constant_features(cohort, run):
    cohort.X[3, 2], cohort.X[:, 5] = np.nan, 1.0
    np.save(cohort / "X.npy", cohort.X)
    words = ("tau", cohort / "X.npy", "--out", cohort / "1.csv", "--fdr", 1)
    refused = run(*words)
    assert refused.exit_code == 3
    assert "choose --missing drop-samples or --missing pairwise" in refused.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        dropped = run(*words, "--missing", "drop-samples", "--alternative", "less")
    assert "Warning: 1 of 24 samples lack a value" in dropped.stderr
    assert "Warning: 1 of 15 features have no tau" in dropped.stderr
    assert "14 pairs have no p-value" in dropped.stderr
    assert run(*words, "--missing", "pairwise", "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--fdr", 0), 2), (("--min-tau", 2), 2), (("--values", "ranks"), 2), (("--missing", "omit"), 2), ((), 3)],
)
def test_wrong_usage_and_wrong_endings(cohort, run, words, code):
    out = cohort / ("net.csv" if words else "net.xlsx")
    assert run("tau", cohort / "X.npy", "--out", out, *words).exit_code == code
    assert not out.exists()
