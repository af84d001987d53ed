from __future__ import annotations

import json

import pytest

FAST = ("--repeats", 1, "--C", 0.1, "--C", 1, "--quiet")


@pytest.mark.slow
def test_report_is_written_once(cohort, run, store):
    result, page = cohort / "result.json", cohort / "page.html"
    labels = ("--labels", cohort / "clinical.csv", "--label", "relapse")
    assert run("evaluate", store, *labels, "--out", result, *FAST).exit_code == 0
    words = ("report", store, "--evaluation", result, "--out", page, *labels)
    assert run(*words, "--reference", 85.78, "--reference-label", "the paper").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "85.78" in text
    for said in ("Scores on samples that were not trained on", "None of these numbers promises anything"):
        assert text.count(said) == 1
    assert run(*words).exit_code == 3
    assert json.loads(run(*words, "--overwrite", "--json").stdout)["bytes"] == page.stat().st_size


@pytest.mark.parametrize(
    "words", [("--label", "x"), ("--reference-label", "x"), ("--reference", 80), ("--reference", 180)]
)
def test_options_without_their_partner_are_wrong_usage(run, words):
    assert run("report", "x.zarr", "--out", "page.html", *words).exit_code == 2
