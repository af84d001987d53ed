"""Supervised quantile normalisation as estimators."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.pipeline import make_pipeline

import distkern as dk
from distkern.core.errors import InputError, SampleError

RNG = np.random.default_rng(0)
M, P = 80, 10
X = RNG.normal(size=(M, P)).round(1)
SCORE = X @ RNG.normal(size=P)
Y = np.where(SCORE > 0, "well", "ill")
THREE = np.array(["a", "b", "c"])[np.digitize(SCORE, [-1.5, 1.5])]
FRAME = pd.DataFrame(X, index=[f"s{i}" for i in range(M)], columns=[f"g{j}" for j in range(P)])


def options(constraint):
    return {"constraint": constraint} | ({"trace_norm": 4.0, "tol": 1e-2} if constraint == "trace" else {})


ALL = ["spav", "bnd", "ridge", "svd", "trace", "fixed"]


def test_fixed_is_the_linear_model_on_normalised_samples():
    for target in ("median", "cauchy", np.arange(P) ** 2.0):
        model = dk.SUQUANClassifier("fixed", target, lam=0.05, tol=1e-9).fit(X, Y)
        linear = LogisticRegression(C=1 / (2 * M * 0.05), tol=1e-9, max_iter=100_000)
        pipeline = make_pipeline(dk.QuantileNormalizer(target), linear).fit(X, Y)
        np.testing.assert_allclose(model.predict_proba(X), pipeline.predict_proba(X), atol=1e-5)
        centred = pipeline[-1].coef_[0] - pipeline[-1].coef_[0].mean()  # zero at the minimum, which lbfgs comes near
        np.testing.assert_allclose(model.coef_, centred, atol=1e-5)
        regressor = dk.SUQUANRegressor("fixed", target, lam=0.05, tol=1e-9).fit(X, SCORE)
        ridge = make_pipeline(dk.QuantileNormalizer(target), SklearnRidge(alpha=M * 0.05)).fit(X, SCORE)
        np.testing.assert_allclose(regressor.predict(X), ridge.predict(X), atol=1e-5)


@pytest.mark.parametrize("constraint", ALL)
def test_one_sample_is_predicted_alone(constraint):
    model = dk.SUQUANClassifier(**options(constraint)).fit(X, Y)
    together = model.decision_function(X)
    alone = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(M)])
    np.testing.assert_allclose(alone, together, rtol=1e-12)
    stretched = np.exp(X) * RNG.uniform(1, 9, (M, 1))  # the same order within each sample
    np.testing.assert_allclose(model.decision_function(stretched), together, rtol=1e-12)
    assert model.score(X, Y) > 0.75
    np.testing.assert_array_equal(model.predict(X) == "well", together > 0)


@pytest.mark.parametrize("constraint", ["spav", "svd", "trace"])
def test_a_store_of_ranks_gives_the_same_model(constraint, tmp_path):
    target = np.sort(X, axis=1).mean(axis=0)
    model = dk.SUQUANClassifier(target=target, **options(constraint)).fit(FRAME, Y)
    store = dk.RankStore.write(FRAME, tmp_path / "ranks")
    other = dk.SUQUANClassifier(target=target, **options(constraint)).fit(store, pd.Series(Y, index=FRAME.index))
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(other.decision_function(store), model.decision_function(FRAME))
    assert list(other.feature_names_in_) == list(FRAME.columns)
    assert other.score(store, Y) == model.score(FRAME, Y)


@pytest.mark.parametrize("constraint", ["bnd", "svd", "trace"])
def test_a_saved_model_predicts_as_before(constraint, tmp_path):
    model = dk.SUQUANClassifier(**options(constraint)).fit(FRAME, Y)
    loaded = dk.load_model(dk.save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict_proba(FRAME), model.predict_proba(FRAME))
    regressor = dk.SUQUANRegressor("bnd").fit(FRAME, SCORE)
    again = dk.load_model(dk.save_model(regressor, tmp_path / "regressor.npz"))
    np.testing.assert_array_equal(again.predict(FRAME), regressor.predict(FRAME))


def test_features_go_by_name():
    model = dk.SUQUANClassifier("bnd").fit(FRAME, Y)
    wider = FRAME.assign(other=9.0)[["other", *FRAME.columns[::-1]]]
    np.testing.assert_array_equal(model.decision_function(wider), model.decision_function(FRAME))
    with pytest.raises(InputError, match=r"lacks 1 of the 10 features .* 'g3'"):
        model.predict(FRAME.drop(columns="g3"))
    with pytest.raises(InputError, match="ranks among 9 features"):
        model.predict(dk.RankStore.of(FRAME.drop(columns="g3")))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("constraint", ["spav", "bnd", "ridge", "fixed"])
def test_several_classes_share_a_target(constraint, loss):
    model = dk.SUQUANClassifier(constraint, loss=loss).fit(X, THREE)
    assert model.coef_.shape == (3, P)
    assert model.target_.shape == (P,)
    assert model.score(X, THREE) > 0.6
    assert (np.diff(model.objective_) <= 0).all()
    assert hasattr(model, "predict_proba") == (loss == "logistic")
    if loss == "logistic":
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_the_attributes_of_each_constraint():
    svd = dk.SUQUANClassifier("svd").fit(X, Y)
    assert svd.singular_values_[0] >= svd.singular_values_[1] > 0
    trace = dk.SUQUANClassifier(**options("trace")).fit(X, Y)
    M_ = trace.coef_ @ trace.target_.T
    assert np.linalg.svd(M_, compute_uv=False).sum() <= 4 * (1 + 1e-9)
    assert 0 <= trace.gap_ <= 1e-2 * trace.objective_[0]
    smooth = dk.SUQUANClassifier("spav", gamma=1.0).fit(X, Y)
    assert (np.diff(smooth.target_) >= 0).all()
    assert len(smooth.objective_) == 2
    assert smooth.n_passes_ > 0
    np.testing.assert_allclose(
        smooth.normalizer_.transform(X) @ smooth.coef_ + smooth.intercept_, smooth.decision_function(X)
    )
    with pytest.raises(AttributeError, match="does not ascend"):
        dk.SUQUANClassifier("ridge", target="cauchy").fit(X, Y).normalizer_  # noqa: B018
    assert not hasattr(smooth, "singular_values_")


def test_weights_count_as_repetitions():
    weights = RNG.integers(0, 3, M)
    repeated = np.repeat(np.arange(M), weights)
    target = np.linspace(-1, 1, P)
    one = dk.SUQUANClassifier("bnd", target).fit(X, Y, weights)
    other = dk.SUQUANClassifier("bnd", target).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-4)


GAPS = np.where(RNG.random((M, P)) < 0.1, np.nan, X)
GAPS[:, 0] = X[:, 0]


def on_target(samples, target, ties="mean"):
    """Samples on a target, where a missing value has the mean of the target."""
    phi = dk.QuantileNormalizer(target, ties, "interpolate").fit(samples).transform(samples)
    return np.where(np.isnan(phi), np.mean(target), phi)


@pytest.mark.parametrize("samples", [X, GAPS], ids=["whole", "gaps"])
@pytest.mark.parametrize("ties", ["mean", "mid"])
def test_ties_and_missing_values_are_those_of_the_normalizer(samples, ties):
    target = np.arange(P) ** 2.0
    given = {"ties": ties, "missing": "interpolate", "tol": 1e-9}
    model = dk.SUQUANClassifier("fixed", target, lam=0.05, **given).fit(samples, Y)
    phi = on_target(samples, target, ties)
    linear = LogisticRegression(C=1 / (2 * M * 0.05), tol=1e-9, max_iter=100_000).fit(phi, Y)
    np.testing.assert_allclose(model.predict_proba(samples), linear.predict_proba(phi), atol=1e-5)
    regressor = dk.SUQUANRegressor("fixed", target, lam=0.05, **given).fit(samples, SCORE)
    ridge = SklearnRidge(alpha=M * 0.05).fit(phi, SCORE)
    np.testing.assert_allclose(regressor.predict(samples), ridge.predict(phi), atol=1e-5)
    store = dk.RankStore.of(samples, "interpolate")
    again = dk.SUQUANClassifier("fixed", target, lam=0.05, **given).fit(store, Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert (model.normalizer_.ties, model.normalizer_.missing) == (ties, "interpolate")


@pytest.mark.parametrize("ties", ["mean", "mid"])
@pytest.mark.parametrize("constraint", ["spav", "bnd", "svd", "trace"])
def test_learned_targets_with_ties_and_missing_values(constraint, ties):
    given = options(constraint) | {"ties": ties, "missing": "interpolate"}
    model = dk.SUQUANClassifier(**given).fit(GAPS, Y)
    F, W = (V.reshape(P, -1) for V in (model.target_, model.coef_))
    steps = np.triu(np.ones((P, P)))  # ascending targets that any target is made of
    basis = np.stack([on_target(GAPS, step, ties) for step in steps], axis=2)  # Φ is linear in f
    coefficients = np.linalg.solve(steps.T, F)
    Z = np.einsum("ijk,kc,jc->i", basis, coefficients, W) + model.intercept_
    np.testing.assert_allclose(model.decision_function(GAPS), Z, atol=1e-9)
    assert model.score(GAPS, Y) > 0.75
    if constraint in ("spav", "bnd"):
        loss = np.logaddexp(0, -np.where(Y == "well", 1, -1) * Z).mean()
        rough = 0.5 * 0.1 * (np.diff(model.target_) ** 2).sum() if constraint == "spav" else 0
        assert np.isclose(model.objective_[-1], loss + 0.01 * (model.coef_**2).sum() + rough)
        assert model.objective_[1] < model.objective_[0]


def test_a_missing_value_contributes_nothing_to_a_learned_model():
    model = dk.SUQUANClassifier("bnd", missing="interpolate").fit(X, Y)
    one = np.full((1, P), np.nan)
    one[0, [2, 7]] = [5.0, 1.0]
    ends = model.target_[[-1, 0]]  # two observed values: the ends of the target
    expected = model.coef_[[2, 7]] @ ends + model.intercept_
    np.testing.assert_allclose(model.decision_function(one), expected, atol=1e-9)
    with pytest.raises(SampleError, match="missing"):
        dk.SUQUANClassifier("bnd").fit(X, Y).predict(one)
    gaps = dk.RankStore.of(GAPS, "interpolate")
    with pytest.raises(SampleError, match="missing='interpolate'"):
        dk.SUQUANClassifier("bnd", "normal").fit(gaps, Y)


def test_weights_of_classes_equal_scikit_learn():
    weights = RNG.random(M)
    for class_weight, sample_weight in (("balanced", None), ({"ill": 3, "well": 0.5}, None), ("balanced", weights)):
        model = dk.SUQUANClassifier("fixed", "normal", lam=0.05, tol=1e-9, class_weight=class_weight)
        model.fit(X, Y, sample_weight)
        factors = dict(zip(model.classes_, model.class_weight_, strict=True))
        total = (np.array([factors[label] for label in Y]) * (1 if sample_weight is None else weights)).sum()
        linear = LogisticRegression(C=1 / (2 * total * 0.05), tol=1e-9, max_iter=100_000, class_weight=factors)
        phi = dk.QuantileNormalizer("normal").fit_transform(X)
        linear.fit(phi, Y, sample_weight)
        np.testing.assert_allclose(model.predict_proba(X), linear.predict_proba(phi), atol=1e-5)
    np.testing.assert_allclose(model.class_weight_, M / (2 * np.array([(Y == "ill").sum(), (Y == "well").sum()])))
    with pytest.raises(InputError, match="class_weight"):
        dk.SUQUANClassifier(class_weight="even").fit(X, Y)


def test_a_degenerate_model_says_so():
    same = np.tile(np.arange(5.0), (6, 1))
    with pytest.warns(UserWarning, match="explain nothing"):
        model = dk.SUQUANClassifier("bnd", "uniform").fit(same, [0, 1, 0, 1, 0, 1])
    assert model.degenerate_
    assert np.corrcoef(model.target_, np.arange(5))[0, 1] > 0.999


WRONG = {
    "constraint": ({"constraint": "none"}, "constraint must be"),
    "gamma": ({"constraint": "bnd", "gamma": 1.0}, "gamma is the weight of the roughness of spav"),
    "trace": ({"constraint": "trace"}, "trace_norm"),
    "no trace": ({"trace_norm": 1.0}, "trace_norm"),
    "lam": ({"lam": 0.0}, "lam must be"),
    "target": ({"target": [1.0, 2.0]}, "2 numbers"),
    "order": ({"target": np.arange(P)[::-1]}, "must ascend"),
    "loss": ({"loss": "hinge"}, "loss"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_named(name):
    params, message = WRONG[name]
    with pytest.raises(InputError, match=message):
        dk.SUQUANClassifier(**params).fit(X, Y)


def test_wrong_data_is_named():
    gap = FRAME.copy()
    gap.loc["s3", "g2"] = np.nan
    with pytest.raises(SampleError, match=r"s3.*g2"):
        dk.SUQUANClassifier("bnd", "normal").fit(gap, Y)
    with pytest.raises(InputError, match="1 class"):
        dk.SUQUANClassifier().fit(X, np.repeat("ill", M))
    with pytest.raises(InputError, match="two classes"):
        dk.SUQUANClassifier("svd").fit(X, THREE)
    with pytest.raises(InputError, match="two classes"):
        dk.SUQUANRegressor("svd").fit(X, SCORE)
    with pytest.raises(InputError, match="store of ranks has none"):
        dk.SUQUANClassifier().fit(dk.RankStore.of(X), Y)
    with pytest.raises(InputError, match="2 columns"):
        dk.SUQUANRegressor().fit(X, X[:, :2])


@pytest.mark.parametrize("constraint", ["bnd", "spav"])
def test_the_simulation_of_the_slides(constraint):
    """A Cauchy target is corrected, and predicts new samples about as well as the true one."""
    draws, p, m = np.random.default_rng(3), 60, 500
    true = ndtri((np.arange(p) + 1) / (p + 1))
    samples = draws.permuted(np.tile(true, (2 * m, 1)), axis=1)
    y = draws.random(2 * m) < expit(samples @ draws.normal(size=p))
    cauchy = np.tan(np.pi * (np.arange(p) - (p - 1) / 2) / (p + 1))
    cauchy *= np.sqrt(p) / np.linalg.norm(cauchy)  # the scale of a learned target, so that lam means the same
    cases = (("fixed", cauchy), ("fixed", "normal"), (constraint, cauchy))
    fixed, known, learned = (dk.SUQUANClassifier(how, f, lam=0.02).fit(samples[:m], y[:m]) for how, f in cases)
    scores = [model.score(samples[m:], y[m:]) for model in (fixed, learned, known)]
    assert np.corrcoef(learned.target_, true)[0, 1] > 0.9
    assert scores[0] + 0.03 < scores[1]
    assert abs(scores[1] - scores[2]) < 0.04
