"""Training of survival models: the same as its steps, and files that predict new samples."""

import json

import naive
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

import distkern as dk
from distkern import InputError, concordance_index, survival_y, train_survival
from distkern.learners.concordance import concordant_pairs
from distkern.learners.external import predict_external_survival

RNG = np.random.default_rng(0)
GENES = [f"g{k}" for k in range(6)]
M = 80
X = pd.DataFrame(RNG.normal(size=(M, 6)), index=[f"p{k}" for k in range(M)], columns=GENES)
TIME = np.round(RNG.exponential(np.exp(-X["g0"] + X["g1"])) * 20) + 1
EVENT = pd.Series(RNG.random(M) < 0.7, index=X.index)
Y = survival_y(TIME, EVENT)
HOSPITAL = np.array(["ams", "rot"])[np.arange(M) % 2]
K = dk.Kendall()(X.to_numpy())
OPTIONS = {"lam": [0.01, 0.1, 1.0], "repeats": 1, "inner": 3, "outer": 3}


@pytest.mark.parametrize("learner", ["cox", "survival-svm"])
def test_the_model_is_that_of_its_steps(learner, tmp_path):
    trained = train_survival(X, Y, learner=learner, risk_groups=3, **OPTIONS)
    model = {"cox": dk.KernelCox(), "survival-svm": dk.SurvivalSVM()}[learner]
    expected = dk.cross_validate_gram(model, K, Y, scoring="concordance", **OPTIONS)
    np.testing.assert_array_equal(trained.evaluation.concordance, expected.concordance)
    sums = []
    for lam in OPTIONS["lam"]:
        found = comparable = 0
        for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, EVENT):
            one = model.set_params(lam=lam).fit(K[np.ix_(train, train)], Y[train])
            pairs = concordant_pairs(Y["time"][test], Y["event"][test], one.predict(K[np.ix_(test, train)]))
            found, comparable = found + pairs.found, comparable + pairs.comparable
        sums.append(found / comparable)
    lam = OPTIONS["lam"][max(k for k in range(3) if sums[k] >= max(sums) - 1e-12)]
    card = trained.card
    assert (card["lam"], card["learner"], card["events"]) == (lam, learner, int(EVENT.sum()))
    whole = model.set_params(lam=lam).fit(K, Y)
    risks = trained.predictor.predict(X[GENES[::-1]])
    np.testing.assert_allclose(risks, whole.predict(K), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(card["risk_groups"]["cutoffs"], np.quantile(whole.predict(K), [1 / 3, 2 / 3]), rtol=1e-6)
    assert card["risk_groups"]["names"] == ["low risk", "middle risk", "high risk"]
    value, low, high = card["validation"]["Harrell's C"]
    assert value == pytest.approx(expected.mean())
    assert low < value < high
    assert 0 <= card["validation"]["log_rank_pvalue"] <= 1
    path = dk.save_model(trained.predictor, tmp_path / "risk.model")
    assert not any(name.encode() in path.read_bytes() for name in X.index)
    loaded = dk.load_model(path)
    assert loaded.card == json.loads(json.dumps(card))
    np.testing.assert_array_equal(loaded.predict(X), trained.predictor.predict(X))
    if learner == "cox":
        times = [5.0, 20.0]
        curves = loaded.predict_survival_function(X, times)
        np.testing.assert_allclose(curves, whole.predict_survival_function(K, times), rtol=1e-6)
        np.testing.assert_allclose(loaded.predict_median(X), whole.predict_median(K))
    else:
        assert not hasattr(loaded, "predict_survival_function")


def test_strata_keep_their_baselines_and_names_decide(tmp_path, monkeypatch):
    hospital = pd.Series(HOSPITAL, index=X.index)
    y = pd.DataFrame({"event": EVENT, "time": np.asarray(TIME)}, index=X.index)
    trained = train_survival(X, y, strata=hospital, **OPTIONS)
    with pytest.raises(InputError, match="strata has the samples"):
        train_survival(X, y, strata=hospital[::-1], **OPTIONS)
    assert trained.evaluation.settings["stratified"]
    loaded = dk.load_model(dk.save_model(trained.predictor, tmp_path / "risk.model"))
    whole = dk.KernelCox(trained.card["lam"]).fit(K, Y, strata=HOSPITAL)
    expected = whole.predict_survival_function(K, [10.0], HOSPITAL)
    monkeypatch.setattr("distkern.learners.predictor.row_blocks", lambda m, n: [slice(0, 30), slice(30, m)])
    np.testing.assert_allclose(loaded.predict_survival_function(X, [10.0], hospital), expected, rtol=1e-6)
    np.testing.assert_allclose(loaded.predict_median(X, hospital), whole.predict_median(K, HOSPITAL))
    with pytest.raises(InputError, match="fitted with strata"):
        loaded.predict_median(X)


def test_medians_are_where_survival_reaches_one_half():
    model = dk.KernelCox(0.1).fit(K, survival_y(np.minimum(TIME, 25), EVENT & (TIME < 25)))
    medians = model.predict_median(K)
    at = model.baseline_times_
    curves = model.predict_survival_function(K, at)
    for median, curve in zip(medians, curves, strict=True):
        reached = [time for time, chance in zip(at, curve, strict=True) if chance <= 0.5]
        assert median == reached[0] if reached else np.isnan(median)
    assert 0 < np.isnan(medians).sum() < M


def test_another_cohort():
    known, new = slice(0, 50), slice(50, M)
    model = dk.KernelCox(0.1, kernel=dk.Kendall()).fit(X[known], Y[known])
    held = predict_external_survival(model, X[new], Y[new], training=Y[known], training_risks=model.predict(X[known]))
    risks = model.predict(X[new])
    cut = np.median(model.predict(X[known]))
    assert held.risk_groups().tolist() == np.where(risks > cut, "high risk", "low risk").tolist()
    found = held.scores(draws=0)["value"].tolist()
    assert found[0] == concordance_index(Y["time"][new], Y["event"][new], risks)
    weights = []
    for at in Y["time"][new]:
        chance = naive.still_observed(Y["time"][known], Y["event"][known], at)
        weights.append(1 / chance**2 if chance > 0 else 0.0)
    pairs = naive.concordant_pairs(Y["time"][new], Y["event"][new], risks, weights)
    assert found[1] == pytest.approx(pairs[0] / pairs[1])


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (np.zeros(M), {}, "y must be a structured array"),
        (Y[:5], {}, "got"),
        (Y, {"learner": "svm"}, "learner must be one of cox, survival-svm"),
        (Y, {"risk_groups": 1}, "risk_groups"),
        (survival_y(TIME, np.arange(M) < 2), {}, "class 'event' has 2 samples"),
    ],
)
def test_mistakes_are_refused(y, options, message):
    with pytest.raises(InputError, match=message):
        train_survival(X, y, **options)
