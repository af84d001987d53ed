"""The machines of every learner give its own decision values, alone and after a standardizer."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import distkern as dk
from distkern.io.source import as_source
from distkern.learners.machines import in_feature_space, machines_of

RNG = np.random.default_rng(7)
X, NEW = RNG.normal(size=(24, 6)), RNG.normal(size=(5, 6))
TWO, THREE = np.array(["no", "yes"])[np.arange(24) % 2], np.array(["a", "b", "c"])[np.arange(24) % 3]
TARGET, TARGETS = RNG.normal(size=24), RNG.normal(size=(24, 2))
SURVIVAL = dk.survival_y(np.exp(TARGET), np.arange(24) % 3 > 0)
PAIRS_OF_CLASSES = ("a against b", "a against c", "b against c")

LEARNERS = {
    "svc": (dk.KernelSVC, {}, TWO, "decision_function", ("yes against no",)),
    "svc, pairs": (dk.KernelSVC, {"decision_function_shape": "ovo"}, THREE, "decision_function", PAIRS_OF_CLASSES),
    "svc, rest": (
        dk.KernelSVC,
        {"multi_class": "ovr"},
        THREE,
        "decision_function",
        ("a against the rest", "b against the rest", "c against the rest"),
    ),
    "svr": (dk.KernelSVR, {"epsilon": 0.5}, TARGET, "predict", ("f",)),
    "fisher": (dk.KernelFisherDiscriminant, {}, TWO, "decision_function", ("yes against no",)),
    "fisher, classes": (dk.KernelFisherDiscriminant, {}, THREE, "decision_function", ("a", "b", "c")),
    "ridge": (dk.KernelRidge, {}, TARGET, "predict", ("f",)),
    "ridge, targets": (dk.KernelRidge, {}, TARGETS, "predict", ("target 0", "target 1")),
    "pca": (dk.KernelPCA, {"n_components": 2}, None, "transform", ("kernelpca0", "kernelpca1")),
    "pca, not centred": (
        dk.KernelPCA,
        {"n_components": 2, "center": False},
        None,
        "transform",
        ("kernelpca0", "kernelpca1"),
    ),
    "ranker": (dk.LSRRanker, {}, TARGET, "predict", ("score",)),
    "logistic": (dk.KernelLogistic, {}, TWO, "decision_function", ("yes against no",)),
    "logistic, classes": (dk.KernelLogistic, {}, THREE, "decision_function", ("a", "b", "c")),
    "cox": (dk.KernelCox, {}, SURVIVAL, "predict", ("risk",)),
    "survival svm": (dk.SurvivalSVM, {"rank_ratio": 0.5}, SURVIVAL, "predict", ("risk",)),
    "rank svm": (dk.RankSVM, {}, TARGET, "predict", ("score",)),
    "sgd": (dk.SGDRanker, {"random_state": 0, "epochs": 3}, TARGET, "predict", ("score",)),
}


@pytest.fixture(params=LEARNERS)
def case(request):
    return LEARNERS[request.param]


@pytest.mark.parametrize("standardize", [None, {}, {"unit_norm": False}, {"center": False}])
@pytest.mark.parametrize("on", ["samples", "matrix"])
def test_decision_values_are_those_of_the_model(case, on, standardize):
    make, params, y, method, names = case
    kernel = dk.Kendall(ties="zero")
    steps = [] if standardize is None else [dk.KernelStandardizer(**standardize)]
    steps = [*steps, make(**params)]
    if on == "samples":
        steps[0].set_params(kernel=kernel)
    model = make_pipeline(*steps) if len(steps) > 1 else steps[0]
    gram = None
    if on == "matrix":
        gram = dk.learners.predictor.PreparedColumns(kernel, kernel.prepare(X), n_features=6)
        model.fit(kernel(X), y)
        expected = getattr(dk.CohortPredictor(model, gram), method)(NEW)
    else:
        expected = getattr(model.fit(X, y), method)(NEW)
    known = in_feature_space(model, gram)
    found = known.decided(as_source(NEW))
    assert known.machines.names == names
    np.testing.assert_allclose(found.values, np.reshape(expected, (5, -1)), atol=1e-10)


def test_pipelines_searches_and_predictors_are_unwrapped(tmp_path):
    gram = dk.compute_gram(dk.Kendall(ties="b"), X, store=tmp_path / "gram.zarr", progress=False)
    model = make_pipeline(dk.KernelStandardizer(), "passthrough", dk.KernelSVC())
    search = GridSearchCV(model, {"kernelsvc__C": [1.0, 10.0]}, cv=2).fit(gram, TWO)
    expected = dk.CohortPredictor(search, gram).decision_function(NEW)
    for one, matrix in ((search, gram), (dk.CohortPredictor(search, gram), None), (search.best_estimator_, gram)):
        np.testing.assert_allclose(
            in_feature_space(one, matrix).decided(as_source(NEW)).values[:, 0], expected, atol=1e-10
        )
    path = dk.save_model(search.best_estimator_, tmp_path / "model.npz", gram=gram)
    found = in_feature_space(dk.load_model(path)).decided(as_source(NEW))
    np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-10)


def test_a_multiscale_ranker_of_one_kernel_has_a_machine():
    kernel = dk.Kendall()
    model = dk.MLSRRanker([kernel], weights=[2.0]).fit(X, TARGET)
    np.testing.assert_allclose(
        in_feature_space(model).decided(as_source(NEW)).values[:, 0], model.predict(NEW), atol=1e-10
    )
    values = kernel(X)
    assert machines_of(dk.MLSRRanker().fit([values], TARGET)).names == ("score",)
    with pytest.raises(dk.InputError, match="2 kernels"):
        machines_of(dk.MLSRRanker().fit([values, values], TARGET))


def test_what_has_no_machine_is_refused(tmp_path):
    gram = dk.compute_gram(dk.Kendall(), X, store=tmp_path / "gram.zarr", progress=False)
    svc = dk.KernelSVC().fit(gram, TWO)
    with pytest.raises(NotFittedError):
        in_feature_space(dk.KernelSVC(), gram)
    with pytest.raises(dk.InputTypeError, match="a fitted model, not 3"):
        in_feature_space(3)
    with pytest.raises(dk.InputTypeError, match="KernelKMeans has no decision function"):
        in_feature_space(dk.KernelKMeans(2).fit(gram), gram)
    with pytest.raises(dk.InputError, match=r"explain\(model, gram\)"):
        in_feature_space(svc)
    with pytest.raises(dk.InputError, match="kernel values only"):
        in_feature_space(dk.KernelSVC().fit(gram.to_numpy(), TWO), dk.ArrayGram(gram.to_numpy()))
    with pytest.raises(dk.InputError, match="the matrix itself"):
        in_feature_space(dk.KernelSVC().fit(gram.centered(), TWO), gram.centered())
    with pytest.raises(dk.InputError, match="leave the matrix out"):
        in_feature_space(dk.KernelSVC(kernel=dk.Kendall()).fit(X, TWO), gram)
    with pytest.raises(dk.InputError, match="there is KernelPCA before"):
        in_feature_space(make_pipeline(dk.KernelPCA(2), LogisticRegression()).fit(gram, TWO), gram)
    other = dk.compute_gram(dk.Kendall(ties="b"), X, store=tmp_path / "b.zarr", progress=False)
    with pytest.raises(dk.InputError, match="fitted on values of"):
        in_feature_space(svc, other)


def test_a_matrix_of_landmarks_is_refused(tmp_path):
    gram = dk.compute_gram(dk.Kendall(), X, store=tmp_path / "gram.zarr", landmarks=6, progress=False)
    with pytest.raises(dk.InputError, match="by landmarks"):
        in_feature_space(dk.KernelRidge().fit(gram, TARGET), gram)


def test_samples_that_do_not_fit_are_refused_before_they_are_read(tmp_path):
    gram = dk.compute_gram(dk.Kendall(), X, store=tmp_path / "gram.zarr", progress=False)
    with pytest.raises(dk.MemoryLimitError, match="reading 24 samples of 6 features needs 1,440 bytes"):
        in_feature_space(dk.KernelRidge().fit(gram, TARGET), gram, 1000)
