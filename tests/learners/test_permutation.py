"""Permutation tests of cross-validated scores, against loops over permutations, folds and values."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline

import distkern as dk
from distkern.learners import permutation
from distkern.operators.array import ArrayGram
from distkern.solvers.label_smoothers import FisherSmoother

RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 8))
Y = np.where(X[:, 0] + RNG.normal(size=48) > 0, "yes", "no")
K = dk.Kendall()(X)
GRID = [0.01, 1.0, 100.0]
MODELS = {
    "Fisher": make_pipeline(dk.KernelStandardizer(), dk.KernelFisherDiscriminant()),
    "Fisher on the kernel": dk.KernelFisherDiscriminant(),
    "ridge": make_pipeline(dk.KernelStandardizer(), dk.KernelRidge()),
    "machine": make_pipeline(dk.KernelStandardizer(), dk.KernelSVC()),
}


def decided(model, name, value, known, codes, new):
    """Decision values of new samples, by a model that is fitted once."""
    model = clone(model)
    last = model[-1] if hasattr(model, "steps") else model
    last.set_params(**{name: value})
    if isinstance(last, dk.KernelRidge):
        return model.fit(known, 2.0 * codes - 1).predict(new)
    return model.fit(known, codes).decision_function(new)


def nested(model, gram, codes, splits, name, grid):
    """The whole procedure for one labeling, in loops."""
    scores = np.empty(len(codes))
    for train, test, inner in splits:
        own = codes[train]
        accuracies = []
        for value in grid:
            right = []
            for part, held_out in inner:
                a, b = train[part], train[held_out]
                found = decided(model, name, value, gram[np.ix_(a, a)], own[part], gram[np.ix_(b, a)])
                right.append(np.mean((found > 0) == own[held_out]))
            accuracies.append(np.mean(right))
        best = grid[int(np.argmax(np.array(accuracies) >= max(accuracies) - 1e-12))]
        scores[test] = decided(model, name, best, gram[np.ix_(train, train)], own, gram[np.ix_(test, train)])
    return scores


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "auc"])
@pytest.mark.parametrize("name", MODELS)
def test_every_score_is_that_of_the_whole_procedure_in_loops(name, scoring, monkeypatch):
    model, drawn = MODELS[name], []
    draw = permutation.permuted
    monkeypatch.setattr(permutation, "permuted", lambda *given: drawn.append(draw(*given)) or drawn[-1])
    found = dk.permutation_test(
        model, K, Y, permutations=5, values=GRID, outer=3, inner=3, scoring=scoring, random_state=3
    )
    seed = int(np.random.default_rng(3).integers(2**31))
    splits, codes = permutation._splits(48, None, 3, 3, seed), (Y == "yes").astype(int)
    last = model[-1] if hasattr(model, "steps") else model
    parameter = {"KernelSVC": "C", "KernelRidge": "alpha", "KernelFisherDiscriminant": "mu"}[type(last).__name__]
    expected = []
    for labels in (codes, *drawn):
        scores = nested(model, ArrayGram(K), labels, splits, parameter, GRID)
        if scoring == "auc":  # pairs within a fold
            pairs = [sum(labels[test]) * sum(1 - labels[test]) for _, test, _ in splits]
            areas = [roc_auc_score(labels[test], scores[test]) for _, test, _ in splits]
            expected.append(np.average(areas, weights=pairs))
        else:
            expected.append(balanced_accuracy_score(labels, scores > 0))
    np.testing.assert_allclose([found.score, *found.null], expected, atol=1e-12)
    assert found.pvalue == (1 + sum(found.null >= found.score)) / 6


@pytest.mark.parametrize("mu", [1e-3, 1.0, 1e3])
def test_fishers_discriminant_of_all_labelings_has_the_signs_of_single_fits(mu):
    rng = np.random.default_rng(4)
    labels = (rng.random((36, 20)) < 0.4).astype(int)
    found = FisherSmoother.of(K[:36, :36].copy(), K[36:, :36], mu).scores(labels)
    for column in range(20):
        own = dk.KernelFisherDiscriminant(mu=mu).fit(K[:36, :36], labels[:, column]).decision_function(K[36:, :36])
        ratio = found[:, column] / own
        assert (ratio > 0).all()
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    np.testing.assert_array_equal(FisherSmoother.of(K[:3, :3].copy(), K[4:5, :3], mu).scores(np.ones((3, 1))), 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Fisher", "machine"])
def test_p_values_are_uniform_where_labels_do_not_belong_to_samples(name):
    rng, found = np.random.default_rng(1), []
    for draw in range(120 if name == "Fisher" else 25):
        samples = rng.normal(size=(24, 3))
        test = dk.permutation_test(
            MODELS[name], samples @ samples.T, rng.permutation(np.arange(24) % 2), permutations=19,
            outer=3, inner=3, values=[0.1, 10.0], random_state=draw, scoring="auc",
        )  # fmt: skip
        found.append(test.pvalue)
    assert kstest(np.array(found) - rng.random(len(found)) / 20, "uniform").pvalue > 1e-3


def test_labels_are_permuted_within_blocks_and_folds_keep_groups():
    groups = np.repeat(np.arange(12), 4)
    drawn = permutation.permuted((Y == "yes").astype(int), groups, np.random.default_rng(0))
    for group in range(12):
        assert drawn[groups == group].sum() == (Y[groups == group] == "yes").sum()
    for train, test, inner in permutation._splits(48, groups, 3, 3, 5):
        assert not set(groups[train]) & set(groups[test])
        for part, held_out in inner:
            assert not set(groups[train[part]]) & set(groups[train[held_out]])
    found = dk.permutation_test(None, K, Y, permutations=9, groups=groups, outer=3, inner=3)
    assert found.settings["blocks"] == 12
    with pytest.raises(dk.InputError, match="every block, or group, has samples of one class only"):
        dk.permutation_test(None, K, Y, groups=np.where(Y == "yes", 1, 0))
    whole = dk.permutation_test(None, K, Y, permutations=9, groups=groups, blocks=np.zeros(48), outer=3, inner=3)
    assert whole.score == found.score


def test_a_sequential_test_stops_early_where_p_is_large():
    noise = np.random.default_rng(2).normal(size=(40, 3))
    found = dk.permutation_test(None, noise @ noise.T, np.arange(40) % 2, permutations=2000, stop_at=10)
    assert found.permutations < 2000
    assert found.pvalue == 10 / found.permutations
    assert (found.null >= found.score - 1e-12).sum() == 10
    assert found.null[-1] >= found.score - 1e-12
    timed = dk.permutation_test(MODELS["machine"], K, Y, permutations=10_000, time_limit=0.0, values=[1.0])
    assert timed.permutations == 1


def test_several_classes_and_permutations_that_leave_a_class_out():
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    found = dk.permutation_test(MODELS["machine"], K, three, permutations=4, values=[1.0], outer=3, inner=2)
    assert 0 < found.score < 1
    rare = np.where(np.arange(48) < 2, "rare", "common")
    tested = dk.permutation_test(MODELS["machine"], K, rare, permutations=20, values=[0.1, 1.0], outer=3, inner=2)
    assert tested.permutations == 20


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"y": ["a"] * 48}, "got 1 class, 'a'"),
        ({"scoring": "brier"}, "scoring must be one of"),
        ({"permutations": 0}, "permutations"),
        ({"stop_at": 0}, "stop_at"),
        ({"y": np.arange(48) % 3, "scoring": "auc"}, "auc is for two classes, and there are 3"),
        ({"outer": 60}, "48 samples are too few for 60 × 5 folds"),
        ({"values": []}, "there is none"),
        ({"values": [-1.0]}, "values must be a positive"),
    ],
)
def test_what_cannot_be_is_refused(given, said):
    with pytest.raises(dk.InputError, match=said):
        dk.permutation_test(None, K, **({"y": Y} | given))


def test_a_model_without_decision_values_is_refused():
    with pytest.raises(dk.InputTypeError, match=r"KernelRidge has no decision_function: .*, or labels of two"):
        dk.permutation_test(dk.KernelRidge(), K, np.arange(48) % 3)
