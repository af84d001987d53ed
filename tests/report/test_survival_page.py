"""The page of a survival evaluation states what the evaluation found."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from pages import Page, assert_self_contained

import distkern as dk
from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.report import write_report

RNG = np.random.default_rng(0)
M = 60
X = RNG.normal(size=(M, 8))
TIME = np.round(RNG.exponential(np.exp(-1.5 * X[:, 0])) * 100) + 1
EVENT = RNG.random(M) < 0.7
Y = dk.survival_y(TIME, EVENT)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return dk.compute_gram(dk.Kendall(), X, store=folder / "s.zarr", executor="serial", progress=False)


def evaluated(gram, **given):
    options = {"outer": 3, "inner": 2, "repeats": 2, "lam": [0.1, 1.0]} | given
    return dk.cross_validate_gram(dk.KernelCox(), gram, Y, scoring="concordance", **options)


def made(tmp_path, **given):
    text = write_report(tmp_path / "survival.html", **given).read_text(encoding="utf-8")
    return Page(text), text


def test_the_page_states_concordance_groups_and_protocol(tmp_path, stored):
    found = evaluated(stored, strata=np.arange(M) % 2)
    page, text = made(tmp_path, gram=stored, evaluation=found)
    scores = found.held_out.scores()
    for _, row in scores.iterrows():
        assert f"{row['value']:.3f}" in page.text
        assert f"{row['score']}, {row['low']:.3f} to {row['high']:.3f}" in page.text
    assert f"± {found.std():.3f}" in page.text
    assert f"{found.held_out.log_rank().pvalue:.2g} p-value of the log-rank test" in page.text
    for _, row in found.held_out.curves().medians.iterrows():
        assert f"{row['group']} {row['samples']} {row['events']} {row['median']:g}" in page.text
    for words in (
        f"on 60 samples with {EVENT.sum()} events, with the Kendall kernel",
        "2 repeats of 3-fold cross-validation",
        "chose among 0.1, 1",
        "only samples of one stratum are compared",
        "None of these numbers promises anything for another platform",
        "evaluation = dk.cross_validate_gram(dk.KernelCox(), gram, y, scoring='concordance', lam=[0.1, 1.0], outer=3, "
        "inner=2, repeats=2, seed=0, strata=strata)",
        "y = dk.survival_y(time, event)",
        "s.zarr",
    ):
        assert words in page.text, words
    assert len(page.all("svg")) == 3
    assert_self_contained(page, text)


def test_command_line_from_the_evaluation_to_the_page(tmp_path, stored):
    table = pd.DataFrame({"days": TIME, "relapse": EVENT, "site": np.arange(M) % 3}, index=stored.ids)
    table.rename_axis("id").to_csv(tmp_path / "clinical.csv")
    new = pd.DataFrame(X[:20] + 0.01, index=[f"n{k}" for k in range(20)])
    new.rename_axis("id").to_csv(tmp_path / "new.csv")
    table.iloc[:20].set_axis(new.index).rename_axis("id").to_csv(tmp_path / "new-clinical.csv")
    words = ["evaluate", stored.path, "--labels", tmp_path / "clinical.csv", "--time", "days", "--event", "relapse"]
    words += ["--leave-out", "site", "--inner", 2, "--lam", 0.1, "--risk-groups", 3, "--out", tmp_path / "r.json"]
    words += ["--external", tmp_path / "new.csv", "--external-samples", "rows"]
    words += ["--external-labels", tmp_path / "new-clinical.csv", "-q"]
    done = CliRunner().invoke(main, [*map(str, words)])
    assert done.exit_code == 0, done.output
    words = ["report", stored.path, "--evaluation", tmp_path / "r.json", "--out", tmp_path / "r.html"]
    done = CliRunner().invoke(main, [*map(str, words)])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    page = Page(text)
    assert_self_contained(page, text)
    assert len(page.all("svg")) == 4
    for said in (
        "leave one cohort out, 3 times",
        "middle risk",
        "Another cohort: new.csv",
        "Time days",
        "cohorts=cohorts",
    ):
        assert said in page.text, said


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"labels": np.zeros(M)}, "are for classes"),
        ({"reference": 80.0}, "are for classes"),
        ({"gram": np.eye(M + 1)}, "is of 60 samples, the matrix of 61"),
    ],
)
def test_what_does_not_belong_together_is_refused(tmp_path, stored, change, fault):
    with pytest.raises(InputError, match=fault):
        write_report(tmp_path / "x.html", **({"gram": stored, "evaluation": evaluated(stored, repeats=1)} | change))
    assert not (tmp_path / "x.html").exists()


def test_an_evaluation_of_another_kernel_or_version_is_refused(tmp_path, stored):
    found = evaluated(stored, repeats=1)
    found.settings["kernel"] = {"kernel": "linear"}
    with pytest.raises(InputError, match="the evaluation is of the kernel"):
        write_report(tmp_path / "x.html", gram=stored, evaluation=found)
    older = {key: value for key, value in evaluated(stored, repeats=1).to_dict().items() if key != "held_out"}
    with pytest.raises(InputError, match="has no risks of its test samples"):
        write_report(tmp_path / "x.html", gram=stored, evaluation=dk.SurvivalEvaluation.from_dict(older))
