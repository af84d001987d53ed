"""The page of a model that was trained: its evaluation and its card."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from pages import Page, assert_self_contained

import distkern as dk
from distkern.report import write_report


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    cohort = pd.DataFrame(rng.normal(size=(60, 4)), columns=["ESR1", "TBC1D9", "GATA3", "KRT5"])
    cohort.index = [f"patient {k}" for k in range(60)]
    labels = np.where(cohort["ESR1"] + rng.normal(size=60) > cohort["KRT5"], "positive", "negative")
    return cohort, labels, dk.train_classifier(cohort, labels, repeats=2, inner=2, C=[0.1, 1.0])


def test_the_page_tells_the_card(tmp_path, trained):
    _, labels, found = trained
    given = {"gram": found.gram, "evaluation": found.evaluation, "card": found.card | {"label": "er"}}
    path = write_report(tmp_path / "page.html", labels=labels, **given)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert_self_contained(page, text)
    counts = {name: int((labels == name).sum()) for name in ("negative", "positive")}
    for words in (
        "Predicts the class of 'er': negative or positive",
        "Learner support vector machine",
        "Probabilities a sigmoid of decision values of samples that were not trained on",
        "Kernel Kendall(ties='zero')",
        "Samples × features 60 × 4; found by name",
        f"{counts['negative']} negative, {counts['positive']} positive",
        f"2 × 5 outer and 2 inner folds, seed 0: balanced accuracy {found.evaluation.mean('balanced_accuracy'):.3f}",
        f"distkern {dk.__version__}, numpy {np.__version__}",
        f"C {found.card['C']:g}, chosen by folds of all samples",
        "k(x, y) = (n c − n d ) / (n (n − 1) / 2)",
        "dk.save_model(trained.predictor, 'classifier.model')",
        "On another platform decision values may be shifted: there neither is promised without a check.",
    ):
        assert page.text.count(words) == 1, words
    assert page.text.startswith("Prediction of 'er' with the Kendall kernel")
    assert "The model Predicts" in page.text
    assert "patient" not in text


def test_the_matrix_of_a_model_is_that_of_its_samples(trained):
    cohort, _, found = trained
    np.testing.assert_allclose(found.gram.to_numpy(), dk.Kendall()(cohort.to_numpy()))


@pytest.mark.parametrize("learner", ["fisher", "logistic"])
def test_other_learners(tmp_path, trained, learner):
    cohort, labels, _ = trained
    grid = {"lam": [0.1, 1.0]} if learner == "logistic" else {}
    found = dk.train_classifier(cohort, labels, learner=learner, repeats=1, inner=2, **grid)
    path = write_report(
        tmp_path / "page.html", gram=found.gram, labels=labels, evaluation=found.evaluation, card=found.card
    )
    page = Page(path.read_text(encoding="utf-8"))
    assert {"fisher": "Fisher's discriminant", "logistic": "logistic regression"}[learner] in page.text
    code = f"learner='{learner}', lam=[0.1, 1.0]," if grid else f"learner='{learner}', outer=5"
    assert code.replace("[0.1, 1.0]", "[1.0, 0.1]") in page.text


@pytest.mark.parametrize("learner", ["cox", "survival-svm"])
def test_the_page_of_a_survival_model(tmp_path, trained, learner):
    cohort, labels, _ = trained
    days = np.where(labels == "positive", 2000.0, 500.0) + np.arange(60)
    y = dk.survival_y(days, np.arange(60) % 4 > 0)
    found = dk.train_survival(cohort, y, learner=learner, lam=[0.1, 1.0], repeats=1, inner=2, risk_groups=3)
    card = found.card | {"time": "days", "event": "relapse"}
    path = write_report(tmp_path / "page.html", gram=found.gram, evaluation=found.evaluation, card=card)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert_self_contained(page, text)
    value, low, high = card["validation"]["Harrell's C"]
    for words in (
        "Predicts the risk of 'relapse' by 'days', and a risk group: low risk, middle risk, high risk",
        {"cox": "Learner Cox's model", "survival-svm": "Learner survival support vector machine"}[learner],
        ", ".join(f"{cutoff:.4g}".replace("-", "−") for cutoff in card["risk_groups"]["cutoffs"]),
        "Events 45; the last time is",
        f"1 × 5 outer and 2 inner folds, seed 0: Harrell's C {value:.3f} ({low:.3f} to {high:.3f})",
        f"kernel=dk.Kendall(ties='zero'), learner='{learner}', lam=[0.1, 1.0], outer=5, repeats=1, inner=2, seed=0, "
        "risk_groups=3)",
        "the cut-offs of the risk groups are not promised without a check",
    ):
        assert page.text.count(words) == 1, words
    assert "patient" not in text
    np.testing.assert_allclose(found.gram.to_numpy(), dk.Kendall()(cohort.to_numpy()))


@pytest.mark.slow
def test_the_code_on_the_page_trains_the_same_model(tmp_path, trained):
    cohort, labels, found = trained
    cohort.to_csv(tmp_path / "cohort.csv")
    np.save(tmp_path / "y.npy", labels)
    loading = (
        "import numpy as np\nimport pandas as pd\n"
        "X, y = pd.read_csv('cohort.csv', index_col=0, float_precision='round_trip'), np.load('y.npy')"
    )
    given = {"gram": found.gram, "evaluation": found.evaluation, "card": found.card, "loading": loading}
    page = Page(write_report(tmp_path / "page.html", labels=labels, **given).read_text(encoding="utf-8"))
    code = "".join(page.words).split("How to reproduce it")[1].split("Software versions")[0]
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(found.evaluation.mean()), str(found.evaluation.std())]
    new = cohort.iloc[:5]
    again = dk.load_model(tmp_path / "classifier.model").predict_proba(new)
    np.testing.assert_allclose(again, found.predictor.predict_proba(new), atol=1e-12)
