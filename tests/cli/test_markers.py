from __future__ import annotations

import json

import anndata
import pandas as pd
import pytest

from distkern import rank_markers


@pytest.fixture
def expected(cohort):
    def table(**options):
        frame = pd.DataFrame(cohort.X, index=cohort.ids, columns=cohort.genes)
        return rank_markers(frame, cohort.relapse, progress=False, **options)

    return table


def read(path):
    """A table whose groups are the texts of a file, read to the last digit."""
    return pd.read_csv(path, float_precision="round_trip")


def same(found, table):
    expected = table.assign(group=table["group"].astype(str), versus=table["versus"].astype(str))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_the_table_is_that_of_the_library(run, cohort, expected):
    out = cohort / "markers.csv"
    words = ["--samples", "rows", "--labels", cohort / "clinical.csv", "--label", "relapse", "--out", out]
    result = run("markers", cohort / "rows.csv", *words, "--top", 2, "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    table = expected()
    same(read(out), table)
    lines = result.stdout.splitlines()
    assert lines[0] == f"24 samples of '{cohort / 'rows.csv'}' by 'relapse': 12 yes, 12 no"
    best = table[(table["group"] == "yes")].iloc[0]
    assert f"yes against rest  {best['feature']} (auroc {best['auroc']:.3f}, q {best['q']:.2g}), g" in result.stdout
    refused = run("markers", cohort / "rows.csv", *words)
    assert refused.exit_code == 3
    assert "--overwrite" in refused.stderr


def test_a_label_in_the_table_strata_and_other_options(run, cohort, expected):
    out = cohort / "markers.csv"
    run("markers", cohort / "columns.csv", "--samples", "columns", "--label", "relapse", "--out", out, "--threads", 1)
    same(read(out), expected())
    words = ["--labels", cohort / "clinical.csv", "--label", "relapse", "--strata", "centre", "--json"]
    words += ["--no-continuity", "--overwrite", "--samples", "rows", "--versus", "no", "--out", out]
    printed = json.loads(run("markers", cohort / "rows.csv", *words).stdout)
    centres = [f"centre{number // 3}" for number in range(24)]
    same(read(out), expected(versus="no", strata=centres, continuity=False))
    assert printed["groups"] == {"yes": 12, "no": 12}
    assert [row["feature"] for row in printed["markers"]] == read(out)["feature"][:5].tolist()
    assert (printed["label"], printed["out"]) == ("relapse", str(out))


def test_groups_in_anndata(run, cohort, expected):
    obs = pd.DataFrame({"relapse": cohort.relapse}, index=cohort.ids)
    adata = anndata.AnnData(cohort.X, obs=obs, var=pd.DataFrame(index=cohort.genes))
    adata.write_h5ad(cohort / "cohort.h5ad")
    out = cohort / "markers.csv"
    result = run("markers", cohort / "cohort.h5ad", "--label", "relapse", "--versus", "each", "--out", out, "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    same(read(out), expected(versus="each"))


def test_wrong_usage_and_bad_input(run, cohort):
    table = (cohort / "rows.csv", "--samples", "rows")
    result = run("markers", *table)
    assert (result.exit_code, "--label" in result.stderr) == (2, True)
    result = run("markers", *table, "--label", "relapse", "--strata", "centre")
    assert (result.exit_code, "save them as --labels FILE" in result.stderr) == (2, True)
    labels = ("--labels", cohort / "clinical.csv", "--label", "relapse")
    result = run("markers", *table, *labels, "--versus", "maybe")
    assert (result.exit_code, "--versus maybe is neither 'rest' nor 'each'" in result.stderr) == (3, True)
    result = run("markers", *table, *labels, "--fold-change", "ratio")
    assert (result.exit_code, "choose --fold-change difference" in result.stderr) == (3, True)
    result = run("markers", *table, "--labels", cohort / "clinical.csv", "--label", "stage")
    assert (result.exit_code, "no column 'stage'" in result.stderr) == (3, True)
