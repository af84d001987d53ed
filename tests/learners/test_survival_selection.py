"""Nested cross-validation of survival models against loops over folds, and the arithmetic of its summary."""

import json

import naive
import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from distkern import (
    ArrayGram,
    Gaussian,
    InputError,
    KernelCox,
    KernelRidge,
    KernelStandardizer,
    SurvivalEvaluation,
    SurvivalSVM,
    compute_gram,
    concordance_index,
    cross_validate_gram,
    survival_y,
)
from distkern.core.errors import InputTypeError
from distkern.learners.concordance import concordant_pairs

RNG = np.random.default_rng(0)
M = 60
X = RNG.normal(size=(M, 5))
TIME = np.round(RNG.exponential(np.exp(-1.5 * X[:, 0])) * 10) + 1
EVENT = RNG.random(M) < 0.7
Y = survival_y(TIME, EVENT)
STRATA = np.arange(M) % 2
K = Gaussian(3.0)(X)
GRID = [0.01, 0.1, 1.0]
MODELS = {
    "cox": KernelCox(tol=1e-9),
    "svm": SurvivalSVM(tol=1e-8),
    "both": SurvivalSVM(rank_ratio=0.5, tol=1e-8),
    "after a step": make_pipeline(KernelStandardizer(), KernelCox(tol=1e-9)),
}


def by_loops(model, strata=None):
    """Twice the concordant pairs plus ties, twice the comparable pairs, and λ, of every outer fold of one repeat."""

    def pairs(lam, train, test):
        one = (model[-1] if hasattr(model, "steps") else model).set_params(lam=lam)
        part, new = K[np.ix_(train, train)], K[np.ix_(test, train)]
        if hasattr(model, "steps"):
            head = KernelStandardizer()
            part = head.fit_transform(ArrayGram(K)[np.ix_(train, train)])
            new = head.transform(ArrayGram(K)[np.ix_(test, train)])
        options = {} if strata is None else {"strata": strata[train]}
        risks = one.fit(part, Y[train], **options).predict(new)
        return concordant_pairs(TIME[test], EVENT[test], risks, strata=None if strata is None else strata[test])

    rows = []
    for fold, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, EVENT)):
        inner = list(StratifiedKFold(3, shuffle=True, random_state=fold).split(X[train], EVENT[train]))
        found = []
        for lam in GRID:
            sums = [pairs(lam, train[a], train[b]) for a, b in inner]
            found.append(sum(one.found for one in sums) / sum(one.comparable for one in sums))
        best = GRID[max(k for k in range(3) if found[k] >= max(found) - 1e-12)]
        one = pairs(best, train, test)
        rows.append((one.found, one.comparable, best))
    return np.array(rows).T


@pytest.mark.parametrize("name", MODELS)
def test_equals_loops_over_folds(name):
    found = cross_validate_gram(
        MODELS[name], ArrayGram(K), Y, scoring="concordance", lam=GRID, outer=3, inner=3, repeats=1
    )
    expected = by_loops(MODELS[name])
    np.testing.assert_array_equal([found.found, found.comparable, found.lam], expected)
    assert found.mean() == expected[0].sum() / expected[1].sum()
    assert found.mean() > 0.6


def test_strata_count_in_training_and_testing():
    options = {"scoring": "concordance", "lam": GRID, "outer": 3, "inner": 3, "repeats": 1}
    found = cross_validate_gram(MODELS["cox"], K, Y, strata=STRATA, **options)
    np.testing.assert_array_equal([found.found, found.comparable, found.lam], by_loops(KernelCox(tol=1e-9), STRATA))
    whole = cross_validate_gram(MODELS["cox"], K, Y, **options)
    assert found.comparable.sum() < whole.comparable.sum()


def test_stores_read_in_passes_give_the_same(tmp_path):
    stored = compute_gram(Gaussian(3.0), X, store=tmp_path / "g.zarr", tile=17, progress=False)
    options = {"scoring": "concordance", "outer": 3, "inner": 3, "repeats": 2}
    expected = cross_validate_gram(None, K, Y, **options)
    for gram, kernel, limit in (
        (stored, "precomputed", None),
        (stored, "precomputed", 700_000),
        (X, Gaussian(3.0), None),
    ):
        found = cross_validate_gram(None, gram, Y, kernel=kernel, max_bytes=limit, **options)
        np.testing.assert_array_equal(found.found, expected.found)
        np.testing.assert_array_equal(found.lam, expected.lam)
    assert found.repeat.tolist() == [0, 0, 0, 1, 1, 1]
    assert len(found.repeat_means()) == 2
    assert found.std() == pytest.approx(np.std(found.repeat_means(), ddof=1))


def test_one_lambda_needs_no_inner_folds():
    found = cross_validate_gram(KernelCox(0.05), K, Y, scoring="concordance", lam=None, outer=4, repeats=1)
    assert np.isnan(found.lam).all()
    assert json.loads(json.dumps(found.to_dict()))["lam"] == [None] * 4
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, EVENT))
    for (train, test), value in zip(splits, found.concordance, strict=True):
        risks = KernelCox(0.05).fit(K[np.ix_(train, train)], Y[train]).predict(K[np.ix_(test, train)])
        assert value == concordance_index(TIME[test], EVENT[test], risks)


@pytest.mark.parametrize(
    ("model", "y", "options", "message"),
    [
        (KernelRidge(), Y, {}, "KernelRidge is no survival model"),
        (KernelCox(strata=STRATA), Y, {}, "strata are split with the samples"),
        (KernelCox(kernel=Gaussian(1.0)), Y, {}, "leave its kernel at 'precomputed'"),
        (None, Y, {"C": [1.0]}, "C= is for classifiers"),
        (None, Y, {"lam": [0.0]}, "lam must be a positive"),
        (None, Y, {"lam": []}, "lam must be"),
        (None, TIME, {}, "y must be a structured array"),
        (None, Y, {"strata": [1]}, "got strata of shape"),
        (None, survival_y(TIME, np.arange(M) < 2), {}, "class 'event' has 2 samples"),
        (None, Y, {"scoring": "auc"}, "scoring must be one of accuracy, concordance"),
        (None, STRATA, {"scoring": "accuracy", "strata": STRATA}, "strata= is for survival models"),
        (None, STRATA, {"scoring": "accuracy", "lam": [1.0]}, "KernelSVC has no parameter lam to choose"),
        (None, Y, {"cohorts": np.zeros(M)}, "two cohorts or groups are needed"),
        (None, Y, {"outer": "leave-one-group-out"}, "needs groups"),
        (None, Y, {"outer": "leave-one-cohort-out"}, "outer must be"),
        (None, Y, {"cohorts": np.where(EVENT, "a", "b")}, "has all samples of class"),
    ],
)
def test_mistakes_are_refused(model, y, options, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        cross_validate_gram(model, K, y, **({"scoring": "concordance"} | options))


def test_cohorts_and_groups_are_left_out():
    cohorts = np.array(["ams", "rot", "par"])[np.arange(M) % 3]
    options = {"scoring": "concordance", "lam": GRID, "inner": 3}
    found = cross_validate_gram(MODELS["cox"], K, Y, cohorts=cohorts, **options)
    assert found.settings["outer"] == "leave-one-cohort-out"
    assert found.repeat.tolist() == [0, 0, 0]
    for number, name in enumerate(np.unique(cohorts)):
        train, test = np.flatnonzero(cohorts != name), np.flatnonzero(cohorts == name)
        risks = KernelCox(found.lam[number], tol=1e-9).fit(K[np.ix_(train, train)], Y[train])
        assert found.concordance[number] == risks.score(K[np.ix_(test, train)], Y[test])
    same = cross_validate_gram(
        MODELS["cox"], K, Y, groups=np.arange(M) % 3, outer="leave-one-group-out", **options | {"inner": 2}
    )
    assert same.settings["outer"] == "leave-one-group-out"
    assert same.n_test.tolist() == [20, 20, 20]
    assert same.settings["grouped"]


@pytest.mark.parametrize("name", ["cox", "svm", "after a step"])
def test_held_out_risks_are_those_of_each_fold(name):
    found = cross_validate_gram(MODELS[name], K, Y, scoring="concordance", lam=[0.1], outer=3, repeats=2)
    held, model = found.held_out, MODELS[name]
    for repeat in range(2):
        splits = StratifiedKFold(3, shuffle=True, random_state=repeat).split(X, EVENT)
        for fold, (train, test) in enumerate(splits):
            (fitted,) = (model[-1] if hasattr(model, "steps") else model).fit_path(
                K[np.ix_(train, train)], Y[train], [0.1]
            )
            known, new = fitted.predict(K[np.ix_(train, train)]), fitted.predict(K[np.ix_(test, train)])
            if hasattr(model, "steps"):
                head = KernelStandardizer()
                part = head.fit_transform(ArrayGram(K)[np.ix_(train, train)])
                (fitted,) = model[-1].fit_path(part, Y[train], [0.1])
                known, new = fitted.predict(part), fitted.predict(head.transform(ArrayGram(K)[np.ix_(test, train)]))
            np.testing.assert_allclose(held.risks[repeat, test], new, rtol=1e-6, atol=1e-8)
            assert (held.folds[repeat, test] == fold).all()
            places = [(np.sum(known < risk) + np.sum(known <= risk)) / (2 * len(train)) for risk in new]
            np.testing.assert_allclose(held.places[repeat, test], places, atol=1e-12)
            chances = [naive.still_observed(TIME[train], EVENT[train], at) for at in TIME[test]]
            expected = [1 / chance**2 if chance > 0 else 0.0 for chance in chances]
            np.testing.assert_allclose(held.weights[repeat, test], expected, rtol=1e-10)
    assert held.scores(draws=0)["value"][0] == pytest.approx(found.mean(), rel=1e-12)


def test_an_evaluation_survives_a_file():
    found = cross_validate_gram(None, K, Y, scoring="concordance", strata=STRATA, groups=np.arange(M) // 2, repeats=2)
    again = SurvivalEvaluation.from_dict(json.loads(json.dumps(found.to_dict())))
    np.testing.assert_array_equal(again.concordance, found.concordance)
    assert again.settings == found.settings
    assert again.external is None
    for left, right in zip(
        again.held_out.scores(draws=20).to_numpy()[:, 1:],
        found.held_out.scores(draws=20).to_numpy()[:, 1:],
        strict=True,
    ):
        np.testing.assert_allclose(left.astype(float), right.astype(float), rtol=1e-7)
    assert again.held_out.log_rank().pvalue == found.held_out.log_rank().pvalue
    older = {key: value for key, value in found.to_dict().items() if key not in ("held_out", "external")}
    assert SurvivalEvaluation.from_dict(older).held_out is None
    with pytest.raises(InputError, match="has the fields"):
        SurvivalEvaluation.from_dict({"found": [1]})
