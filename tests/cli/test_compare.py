from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import distkern as dk
from distkern import open_gram


def test_two_groups_are_compared(cohort, run, store):
    out = cohort / "test.json"
    words = ("compare", store, "--labels", cohort / "clinical.csv", "--label", "relapse", "--permutations", 99)
    done = run(*words, "--out", out, "--quiet")
    assert done.exit_code == 0, done.output
    expected = dk.mmd_test(open_gram(store), cohort.relapse, permutations=99)
    kept = json.loads(out.read_text())
    assert (kept["method"], kept["statistic"], kept["pvalue"]) == ("mmd", expected.statistic, expected.pvalue)
    assert kept["null"] == expected.null.tolist()
    assert "MMD²" in done.stdout
    assert "99 permutations" in done.stdout
    refused = run(*words, "--out", out, "--quiet")
    assert refused.exit_code == 3
    assert "--overwrite" in refused.stderr


def test_labels_choose_the_test(cohort, run, store):
    clinical = pd.read_csv(cohort / "clinical.csv", index_col=0)
    clinical["age"] = np.linspace(30, 80, len(clinical)).round(1)
    clinical["stage"] = np.array(["I", "II", "III"])[np.arange(len(clinical)) % 3]
    clinical["grade"] = np.arange(len(clinical)) % 3
    clinical.to_csv(cohort / "more.csv")
    words = ("compare", store, "--labels", cohort / "more.csv", "--permutations", 49, "--quiet", "--json")
    gram = open_gram(store)
    ages = dict(zip(clinical.index.astype(str), clinical["age"], strict=True))
    cases = {
        ("stage",): ("permanova", None),
        ("age",): ("hsic", dk.hsic_test(gram, [ages[name] for name in gram.ids], permutations=49)),
        ("grade",): ("permanova", None),
        ("grade", "--covariate", "numbers"): ("hsic", None),
        ("stage", "--method", "hsic"): ("hsic", None),
        ("stage", "--strata", "relapse"): ("permanova", None),
    }
    for (label, *more), (method, expected) in cases.items():
        done = run(*words, "--label", label, *more)
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert found["method"] == method
        if expected is not None:
            assert (found["statistic"], found["pvalue"]) == (expected.statistic, expected.pvalue)
    assert json.loads(run(*words, "--label", "grade", "--covariate", "numbers").stdout)["settings"]["sigma"] > 0


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--label", "relapse", "--covariate", "numbers"), "no numbers: give --covariate categories", 3),
        (("--label", "relapse", "--method", "mmd", "--covariate", "categories"), "--covariate is for --method hsic", 2),
        (("--label", "centre", "--method", "mmd"), "MMD compares two groups, and there are 8", 3),
        (("--label", "nothing"), "nothing", 3),
    ],
)
def test_what_cannot_be_compared_is_refused(cohort, run, store, words, said, code):
    done = run("compare", store, "--labels", cohort / "clinical.csv", "--permutations", 9, "-q", *words)
    assert done.exit_code == code, done.output
    assert said in done.stderr + done.stdout
