"""Explanations equal naive loops over pairs and samples, and add up to the decision values."""

import math
from itertools import combinations

import naive_explanation as naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from strategies import any_cohort

import distkern as dk
from distkern.core.errors import InputError
from distkern.learners.predictor import PreparedColumns

RNG = np.random.default_rng(3)
X, NEW = RNG.integers(0, 5, (20, 6)).astype(float), RNG.integers(0, 5, (4, 6)).astype(float)
TWO, THREE = np.array(["no", "yes"])[np.arange(20) % 2], np.array(["a", "b", "c"])[np.arange(20) % 3]
TARGET, TARGETS = RNG.normal(size=20), RNG.normal(size=(20, 2))
PAIRS = list(combinations(range(6), 2))
N = len(PAIRS)

KERNELS = {
    "kendall": (dk.Kendall(), naive.zero, N**-0.5),
    "tau-b": (dk.Kendall(ties="b"), naive.tau_b, 1.0),
    "normalized": (dk.Kendall().normalized(), naive.tau_b, 1.0),
    "partial": (dk.PartialKendall(), naive.partial("interleaving"), N**-0.5),
    "top": (dk.PartialKendall(kind="top"), naive.partial("top"), N**-0.5),
    "smoothed": (dk.SmoothedKendall(window=2.0), naive.smoothed(2.0), N**-0.5),
}
SURVIVAL = dk.survival_y(np.exp(TARGET), np.arange(len(TARGET)) % 3 > 0)
LEARNERS = {
    "svc": (dk.KernelSVC(tol=1e-9), TWO, "decision_function"),
    "svc, pairs": (dk.KernelSVC(decision_function_shape="ovo", tol=1e-9), THREE, "decision_function"),
    "svc, rest": (dk.KernelSVC(multi_class="ovr", tol=1e-9), THREE, "decision_function"),
    "svr": (dk.KernelSVR(epsilon=0.3, tol=1e-9), TARGET, "predict"),
    "fisher": (dk.KernelFisherDiscriminant(), TWO, "decision_function"),
    "fisher, classes": (dk.KernelFisherDiscriminant(), THREE, "decision_function"),
    "logistic": (dk.KernelLogistic(), TWO, "decision_function"),
    "logistic, classes": (dk.KernelLogistic(), THREE, "decision_function"),
    "cox": (dk.KernelCox(), SURVIVAL, "predict"),
    "survival svm": (dk.SurvivalSVM(rank_ratio=0.5), SURVIVAL, "predict"),
    "ridge": (dk.KernelRidge(), TARGET, "predict"),
    "ridge, targets": (dk.KernelRidge(), TARGETS, "predict"),
    "pca": (dk.KernelPCA(n_components=2), None, "transform"),
    "ranker": (dk.LSRRanker(), TARGET, "predict"),
    "rank svm": (dk.RankSVM(), TARGET, "predict"),
}


def with_gaps(values):
    values = values.copy()
    values[::3, 1] = np.nan
    values[1::4, 4] = np.nan
    return values


def linear(learner, method, samples):
    """Coefficients (m, machines) and intercepts of a learner, from its values at 0 and at unit vectors."""
    values = np.reshape(getattr(learner, method)(np.vstack([np.zeros(samples), np.eye(samples)])), (samples + 1, -1))
    return values[1:] - values[0], values[0]


def assert_explains(explained, coefficients, intercepts, training, new, unit, decisions):
    """Compare with naive sums: ``training`` and ``new`` are vectors ψ as the learner sees them."""
    machines = coefficients.shape[1]
    weights = [naive.combined(coefficients[:, k], training) for k in range(machines)]
    assert len(explained.machines) == machines
    np.testing.assert_allclose(explained.intercepts, intercepts, atol=1e-10)
    expected = [[unit * own[pair] for own in weights] for pair in zip(explained.first, explained.second, strict=True)]
    np.testing.assert_allclose(explained.weights, np.reshape(expected, explained.weights.shape), atol=1e-10)
    n = len(explained.names)
    for k, own in enumerate(weights):
        for i in range(n):
            total, size = sum(naive.of_feature(own, i, -1)), np.linalg.norm(naive.of_feature(own, i))
            np.testing.assert_allclose(explained.feature_weights[i, k], unit * total, atol=1e-10)
            np.testing.assert_allclose(explained.importances[i, k], unit * size, atol=1e-10)
    return [[{pair: own[pair] * vector[pair] for pair in own} for own in weights] for vector in new]


def assert_contributes(found, expected, intercepts, decisions):
    """Compare contributions with naive ones, and their sums with the decision values."""
    np.testing.assert_allclose(found.decisions, decisions, atol=1e-10)
    np.testing.assert_allclose(found.of_features.sum(axis=1) + intercepts, decisions, atol=1e-10)
    for sample, of_machines in enumerate(expected):
        own = found.of_pairs[sample]
        np.testing.assert_allclose(own.contributions.sum(axis=0) + intercepts, decisions[sample], atol=1e-10)
        for k, numbers in enumerate(of_machines):
            both = zip(own.first.tolist(), own.second.tolist(), strict=True)
            listed = [numbers[min(pair), max(pair)] for pair in both]
            np.testing.assert_allclose(own.contributions[:, k], listed, atol=1e-10)
            for i in range(len(found.names)):
                half = sum(naive.of_feature(numbers, i)) / 2
                np.testing.assert_allclose(found.of_features[sample, i, k], half, atol=1e-10)


def check(model, gram, learner, method, phi, unit, samples, new, *, center=False, unit_norm=False):
    """Explain a fitted model with all pairs, and compare everything with naive loops."""
    coefficients, intercepts = linear(learner, method, len(samples))
    vectors = naive.entries(phi, samples)
    training = naive.standardized(vectors, vectors, center, unit_norm)
    fresh = naive.standardized(naive.entries(phi, new), vectors, center, unit_norm)
    predictor = model if gram is None else dk.CohortPredictor(model, gram)
    decisions = np.reshape(getattr(predictor, method)(new), (len(new), -1))
    explained = dk.explain(model, gram, k=10_000, executor="serial")
    expected = assert_explains(explained, coefficients, intercepts, training, fresh, unit, decisions)
    found = explained.contributions(new, k=10_000)
    assert_contributes(found, expected, intercepts, decisions)
    for own, entries in zip(found.of_pairs, naive.entries(phi, new), strict=True):
        above = [(entries[i, j] if i < j else -entries[j, i]) for i, j in zip(own.first, own.second, strict=True)]
        assert min(above, default=0) >= 0
    return explained


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("standardize", [False, True])
def test_every_learner_equals_the_naive_loops(learner, standardize):
    estimator, y, method = LEARNERS[learner]
    kernel, phi, unit = KERNELS["tau-b"]
    columns = PreparedColumns(kernel, kernel.prepare(X), n_features=6)
    model = make_pipeline(dk.KernelStandardizer(), estimator) if standardize else estimator
    model.fit(kernel(X), y)
    check(model, columns, estimator, method, phi, unit, X, NEW, center=standardize, unit_norm=standardize)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("standardize", [None, {}, {"unit_norm": False}, {"center": False}])
def test_every_kernel_equals_the_naive_loops(kernel, standardize):
    chosen, phi, unit = KERNELS[kernel]
    gaps = kernel in ("partial", "top")
    samples, new = (with_gaps(X), with_gaps(NEW)) if gaps else (X, NEW)
    learner = dk.KernelSVC(tol=1e-9)
    if standardize is None:
        model = dk.KernelSVC(tol=1e-9, kernel=chosen).fit(samples, TWO)
        learner.fit(chosen(samples), TWO)
        check(model, None, learner, "decision_function", phi, unit, samples, new)
        return
    model = make_pipeline(dk.KernelStandardizer(kernel=chosen, **standardize), learner).fit(samples, TWO)
    options = {"center": True, "unit_norm": True} | standardize
    check(model, None, learner, "decision_function", phi, unit, samples, new, **options)


def test_a_model_on_a_store_and_on_a_part_of_it(tmp_path):
    kernel, phi, unit = KERNELS["kendall"]
    gram = dk.compute_gram(kernel, X, store=tmp_path / "gram.zarr", tile=7, progress=False)
    learner = dk.KernelSVC(tol=1e-9)
    model = make_pipeline(dk.KernelStandardizer(), learner)
    train = np.arange(3, 18)
    for part, samples, y in ((gram, X, TWO), (gram[np.ix_(train, train)], X[train], TWO[train])):
        model.fit(part, y)
        check(model, part, learner, "decision_function", phi, unit, samples, NEW, center=True, unit_norm=True)
    view = gram.with_kernel(dk.Kendall(ties="b"))
    learner.fit(view, TWO)
    check(learner, view, learner, "decision_function", naive.tau_b, 1.0, X, NEW)


@pytest.mark.filterwarnings("ignore:.*tie.* all features")  # drawn samples may be constant
@given(any_cohort, st.booleans(), st.booleans(), st.data())
def test_drawn_cohorts_with_ties_infinities_and_constants(samples, center, unit_norm, data):
    y = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(samples), max_size=len(samples))), dtype=float)
    kernel, phi = dk.Kendall(), naive.zero
    learner = dk.KernelRidge(alpha=0.5)
    steps = [dk.KernelStandardizer(center=center, unit_norm=unit_norm), learner]
    model = make_pipeline(*steps)
    try:
        model.fit(kernel(samples), y)
    except dk.InputError:  # a sample equals the mean, so that it has norm zero
        return
    columns = PreparedColumns(kernel, kernel.prepare(samples), n_features=samples.shape[1])
    unit = (samples.shape[1] * (samples.shape[1] - 1) / 2) ** -0.5
    check(model, columns, learner, "predict", phi, unit, samples, samples[:2], center=center, unit_norm=unit_norm)


# Lists and tables ----------------------------------------------------------------------------------------------------


def named(values, names="ABCDEF", ids=None):
    return pd.DataFrame(values.copy(), columns=list(names), index=ids)


def test_the_heaviest_pairs_come_first_and_ties_are_in_order():
    samples = named(np.array([[1.0, 2, 3, 0, 0, 9], [3.0, 2, 1, 0, 0, 9]]))
    model = dk.KernelRidge(kernel=dk.Kendall()).fit(samples, [1.0, -1.0])
    model.dual_coef_ = np.array([0.75, -0.75])  # exactly opposite, which the rounding of the solver need not keep
    whole = dk.explain(model)
    assert whole.pairs["first"].tolist() == ["A", "A", "B"]  # the other weights are 0
    assert whole.pairs["second"].tolist() == ["B", "C", "C"]
    assert whole.pairs["weight"].nunique() == 1
    assert dk.explain(model, k=2).pairs.equals(whole.pairs.head(2))
    assert whole.features["feature"].tolist() == list("ABCDEF")
    np.testing.assert_allclose(whole.feature_weights.sum(axis=0), 0, atol=1e-12)


def test_a_higher_rank_of_a_feature_of_positive_weight_raises_the_decision_value():
    model = dk.KernelSVC(kernel=dk.Kendall()).fit(named(X), TWO)
    explained = dk.explain(model)
    top = int(np.argmax(explained.feature_weights[:, 0]))
    low, high = NEW[:1].copy(), NEW[:1].copy()
    low[0, top], high[0, top] = -9, 9
    with pytest.warns(UserWarning, match="feature names"):
        assert model.decision_function(high) > model.decision_function(low)


def test_tables_of_several_machines_have_columns_for_each():
    model = dk.KernelSVC(kernel=dk.Kendall(), decision_function_shape="ovo").fit(named(X), THREE)
    explained = dk.explain(model, k=3)
    names = ["a against b", "a against c", "b against c"]
    assert list(explained.machines) == names
    assert explained.pairs.columns.tolist() == ["first", "second", *(f"weight {name}" for name in names)]
    assert 3 <= len(explained.pairs) <= 9
    assert explained.features.columns.tolist()[:3] == ["feature", "weight a against b", "importance a against b"]
    found = explained.contributions(named(NEW, ids=list("pqrs")), k=2)
    assert found.pairs.columns.tolist()[:3] == ["sample", "first", "second"]
    assert found.pairs.columns.tolist()[3:] == [f"contribution {name}" for name in names]
    assert found.features["sample"].unique().tolist() == list("pqrs")
    assert len(found.features) == 4 * 6
    scores = found.scores
    for name in names:
        total = scores[f"intercept {name}"] + scores[f"listed pairs {name}"] + scores[f"other pairs {name}"]
        np.testing.assert_allclose(total, scores[f"decision {name}"], atol=1e-10)


def test_samples_without_names_have_numbers_as_text():
    model = dk.KernelSVC(kernel=dk.Kendall()).fit(X, TWO)
    explained = dk.explain(model, k=1)
    assert explained.names == tuple("012345")
    assert explained.contributions(NEW).samples == tuple("0123")
    about = "1 of the heaviest pairs of 6 features, Kendall(ties='zero')"
    assert repr(explained) == f"<Explanation of 'yes against no': {about}>"
    assert repr(explained.contributions(NEW)) == "<Contributions to 'yes against no': 4 samples, 6 features>"


def test_listed_contributions_are_the_largest():
    model = dk.KernelSVC(kernel=dk.Kendall(ties="b")).fit(X, TWO)
    explained = dk.explain(model)
    every, few = explained.contributions(NEW, k=100), explained.contributions(NEW, k=4)
    for whole, part in zip(every.of_pairs, few.of_pairs, strict=True):
        np.testing.assert_array_equal(part.contributions, whole.contributions[:4])
        sizes = np.abs(whole.contributions[:, 0])
        assert (np.diff(sizes) <= 0).all()


def test_many_new_samples_are_taken_in_batches():
    model = dk.KernelSVC(kernel=dk.Kendall(ties="b")).fit(X, TWO)
    explained = dk.explain(model)
    found = explained.contributions(X)
    for sample in (0, 7, 8, 19):
        alone = explained.contributions(X[sample : sample + 1])
        np.testing.assert_allclose(found.of_features[sample], alone.of_features[0], atol=1e-12)
        np.testing.assert_allclose(found.of_pairs[sample].contributions, alone.of_pairs[0].contributions, atol=1e-12)


# Names of features ---------------------------------------------------------------------------------------------------


def test_features_of_new_samples_are_found_by_name():
    model = dk.KernelSVC(kernel=dk.Kendall()).fit(named(X), TWO)
    explained = dk.explain(model)
    expected = explained.contributions(named(NEW)).of_features
    shuffled = named(NEW)[list("FBDACE")].assign(other=1.0)
    np.testing.assert_array_equal(explained.contributions(shuffled).of_features, expected)
    with pytest.raises(dk.InputError, match=r"lacks 2 of the 6 features that are needed: 'B', 'D'"):
        explained.contributions(shuffled.drop(columns=["B", "D"]))
    twice = pd.concat([shuffled, named(NEW)[["A"]]], axis=1)
    with pytest.raises(dk.InputError, match="two features of X are called 'A'"):
        explained.contributions(twice)
    with pytest.warns(UserWarning, match="names"):
        np.testing.assert_array_equal(explained.contributions(NEW).of_features, expected)
    with pytest.raises(dk.InputError, match="X has 5 features, and the earlier samples have 6"):
        explained.contributions(NEW[:, :5])


def test_features_that_were_dropped_from_a_store_may_be_there(tmp_path):
    samples = named(X)
    samples.iloc[2, 3] = np.nan
    gram = dk.compute_gram(dk.Kendall(), samples, store=tmp_path / "g.zarr", missing="drop-features", progress=False)
    model = dk.KernelSVC().fit(gram, TWO)
    explained = dk.explain(model, gram)
    assert explained.names == tuple("ABCEF")
    decisions = dk.CohortPredictor(model, gram).decision_function(named(NEW))
    found = explained.contributions(named(NEW))
    np.testing.assert_allclose(found.of_features.sum(axis=1)[:, 0] + found.intercepts, decisions, atol=1e-10)
    np.testing.assert_array_equal(explained.contributions(named(NEW)[list("FECBA")]).of_features, found.of_features)


def test_samples_that_a_kernel_refuses_are_named():
    model = dk.KernelSVC(kernel=dk.Kendall(ties="b")).fit(named(X), TWO)
    explained = dk.explain(model)
    with pytest.raises(dk.SampleError, match="'q'"):
        explained.contributions(named(np.ones((2, 6)) * [[1], [2]] + [[0, 1, 0, 0, 0, 0], [0] * 6], ids=["p", "q"]))


# Parameters ----------------------------------------------------------------------------------------------------------


def test_wrong_parameters_and_other_kernels_are_refused():
    model = dk.KernelSVC(kernel=dk.Kendall()).fit(X, TWO)
    with pytest.raises(dk.InputError, match="k must be a whole number"):
        dk.explain(model, k=0)
    with pytest.raises(dk.MemoryLimitError, match="all pairs of 6 features"):
        dk.explain(model, memory_limit=1000)
    with pytest.raises(dk.MemoryLimitError, match="4 decision values"):
        dk.explain(model).contributions(NEW, memory_limit=1000)
    with pytest.raises(dk.InputError, match="Fit the model on Kendall"):
        dk.explain(dk.KernelSVC(kernel=dk.Mallows(0.1)).fit(X, TWO))


def test_threads_and_one_thread_give_the_same_bits():
    samples = RNG.normal(size=(30, 600))
    model = dk.KernelSVC(kernel=dk.Kendall()).fit(samples, np.arange(30) % 2)
    one, other = dk.explain(model, executor="serial"), dk.explain(model, executor=3, progress=False)
    np.testing.assert_array_equal(one.importances, other.importances)
    np.testing.assert_array_equal(one.feature_weights, other.feature_weights)
    assert one.pairs.equals(other.pairs)
    ranks = samples.argsort(axis=1).argsort(axis=1) + 1
    coefficients = np.zeros(30)
    coefficients[model.support_] = model.dual_coef_[0]
    by_ranks = coefficients @ (2 * ranks - 601) / (600 * 599 / 2)  # Σ_j sgn(x_i − x_j) = 2 r_i − n − 1
    np.testing.assert_allclose(one.feature_weights[:, 0], by_ranks, atol=1e-12)


def test_a_model_without_support_vectors_weighs_nothing():
    model = dk.KernelSVR(kernel=dk.Kendall(), epsilon=100.0).fit(X, TARGET)
    explained = dk.explain(model)
    assert len(explained.pairs) == 0
    assert not explained.importances.any()
    found = explained.contributions(NEW)
    np.testing.assert_allclose(found.decisions[:, 0], model.predict(NEW))
    assert len(found.pairs) == 0


@pytest.mark.parametrize("ties", ["zero", "b"])
@pytest.mark.parametrize("standardize", [False, True])
def test_contributions_of_incomplete_samples_add_up_to_their_decision_values(ties, standardize):
    names = list("ABCDEF")
    training, new = pd.DataFrame(X, columns=names), pd.DataFrame(NEW, columns=names).drop(columns="C")
    new.iloc[1, [0, 3]] = np.nan
    kernel = dk.Kendall(ties=ties)
    last = dk.KernelRidge(alpha=0.1) if standardize else dk.KernelRidge(alpha=0.1, kernel=kernel)
    steps = [dk.KernelStandardizer(kernel=kernel)] if standardize else []
    fitted = make_pipeline(*steps, last).fit(training, TARGET)
    model = dk.CohortPredictor(fitted, missing="interleaving")
    explained = dk.explain(model, k=N)
    found = explained.contributions(new, k=N, missing="interleaving")
    assert found.decisions[:, 0] == pytest.approx(model.predict(new), abs=1e-10)
    total = explained.intercepts + found.of_features.sum(axis=1)
    assert total[:, 0] == pytest.approx(found.decisions[:, 0], abs=1e-10)
    if standardize:
        return
    signed = {(row.first, row.second): row.weight for row in explained.pairs.itertuples()}
    signed |= {(second, first): -weight for (first, second), weight in signed.items()}
    for number, x in enumerate(new.reindex(columns=names).to_numpy()):
        expected = {(i, j): float(naive.naive.expected_direction(x, i, j, "interleaving")) for i, j in PAIRS}
        seen = x[~np.isnan(x)]
        signs = [np.sign(a - b) for a, b in combinations(seen, 2)]
        length = math.sqrt(sum(s * s for s in signs) / (len(signs) if ties == "zero" else sum(s * s for s in signs)))
        unit = N**-0.5 if ties == "zero" else 1.0  # the scale that all samples have belongs to the weights
        scale = length / math.sqrt(sum(e * e for e in expected.values())) / unit
        rows = found.pairs[found.pairs["sample"] == str(number)]
        listed = {(row.first, row.second): row.contribution for row in rows.itertuples()}
        for (i, j), e in expected.items():
            first, second = names[i], names[j]
            contribution = listed.get((first, second), listed.get((second, first), 0.0))
            assert contribution == pytest.approx(signed.get((first, second), 0.0) * e * scale, abs=1e-10)


def test_incomplete_samples_are_refused_unless_asked_for():
    kernel = dk.Kendall()
    model = dk.KernelRidge(kernel=kernel).fit(pd.DataFrame(X, columns=list("ABCDEF")), TARGET)
    new = pd.DataFrame(NEW, columns=list("ABCDEF")).drop(columns="C")
    with pytest.raises(InputError, match="'C'"):
        dk.explain(model).contributions(new)
