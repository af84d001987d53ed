from __future__ import annotations

import json

import pandas as pd
import pytest

from distkern import score_sets

pytestmark = pytest.mark.filterwarnings("default")  # the command prints warnings
SETS = {"one": ["g3", "g1"], "two_UP": ["g0", "g5"], "two_DN": ["g7", "X"], "none": ["Y"]}


@pytest.fixture
def sets(cohort):
    path = cohort / "sets.gmt"
    path.write_text("".join("\t".join([name, "", *genes]) + "\n" for name, genes in SETS.items()))
    return path


@pytest.mark.parametrize("method", ["ucell", "singscore"])
def test_the_table_is_that_of_the_library(run, cohort, sets, method):
    frame = pd.DataFrame(cohort.X, index=pd.Index(cohort.ids, name="id"), columns=cohort.genes)
    out = cohort / "scores.csv"
    words = ["--samples", "columns", "--label", "relapse", "--method", method, "--out", out]
    words += ["--max-rank", 8] if method == "ucell" else []
    result = run("score-sets", cohort / "columns.csv", sets, *words, "--up-down", "_UP", "_DN")
    assert result.exit_code == 0
    assert "the cohort lacks genes of 2 of 3 sets: 3 of 4 genes of 'two' remain (without 'X')" in result.stderr
    with pytest.warns(UserWarning, match="lacks genes"):
        expected = score_sets(frame, SETS, method=method, max_rank=8, up_down=("_UP", "_DN"), progress=False)
    found = pd.read_csv(out, index_col="id", float_precision="round_trip")
    pd.testing.assert_frame_equal(found, expected.rename_axis("id"), check_exact=True)
    lines = result.stdout.splitlines()
    assert lines[0] == f"{method} of 3 sets in 24 samples of '{cohort / 'columns.csv'}'"
    one = expected["one"]
    assert lines[1] == f"one   mean {one.mean():.4f}, from {one.min():.4f} to {one.max():.4f}"
    assert lines[3] == "none  no score"


def test_json_and_bad_input(run, cohort, sets):
    result = run("score-sets", cohort / "rows.csv", sets, "--samples", "rows", "--json", "--max-rank", 1)
    assert (result.exit_code, "only 1 are ranked: raise --max-rank" in result.stderr) == (3, True)
    result = run("score-sets", cohort / "rows.csv", sets, "--samples", "rows", "--json", "--negative-weight", 0.5)
    printed = json.loads(result.stdout)
    assert (printed["samples"], printed["method"], printed["out"]) == (24, "ucell", None)
    assert printed["sets"]["none"] is None
    assert set(printed["sets"]["one"]) == {"mean", "min", "max"}
    for option in ("--max-rank", "--negative-weight"):
        words = ("--samples", "rows", "--method", "singscore", option, 1)
        result = run("score-sets", cohort / "rows.csv", sets, *words)
        assert (result.exit_code, f"{option} is for --method ucell: leave it out" in result.stderr) == (2, True)
    sets.write_text("no tabs\n")
    result = run("score-sets", cohort / "rows.csv", sets, "--samples", "rows")
    assert (result.exit_code, "line 1 of 'sets.gmt' has no tab" in result.stderr) == (3, True)
