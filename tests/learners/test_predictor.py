"""CohortPredictor: the same answers for raw samples as the model gives for their kernel values."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError, InputTypeError, SampleError
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Linear
from distkern.learners import predictor
from distkern.learners.decomposition import KernelPCA
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.explain import explain
from distkern.learners.kmeans import KernelKMeans
from distkern.learners.persist import load_model, save_model
from distkern.learners.predictor import CohortPredictor, PreparedColumns
from distkern.learners.ranking import LSRRanker
from distkern.learners.ridge import KernelRidge
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.learners.svr import KernelSVR
from distkern.operators.array import ArrayGram


@pytest.fixture
def cohort():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(36, 8)), np.array(["no", "yes"])[np.arange(36) % 2]
    X[1::2, :4] += 1.0
    return X, y


@pytest.fixture
def gram(cohort, tmp_path):
    return compute_gram(Kendall("b"), cohort[0], store=tmp_path / "cohort.zarr", tile=10, progress=False)


TRAIN, TEST = np.arange(24), np.arange(24, 36)
MODELS = [
    lambda: make_pipeline(KernelStandardizer(), KernelSVC()),
    lambda: KernelSVC(C=3.0),
]


@pytest.mark.parametrize("make", MODELS)
def test_equals_the_model_on_kernel_values(cohort, gram, make):
    X, y = cohort
    train = gram[np.ix_(TRAIN, TRAIN)]
    model = make().fit(train, y[TRAIN])
    new = CohortPredictor(model, train)
    expected = model.decision_function(gram[np.ix_(TEST, TRAIN)])
    np.testing.assert_allclose(new.decision_function(X[TEST]), expected, atol=1e-12)
    np.testing.assert_array_equal(new.predict(X[TEST]), model.predict(gram[np.ix_(TEST, TRAIN)]))
    assert new.score(X[TEST], y[TEST]) == model.score(gram[np.ix_(TEST, TRAIN)], y[TEST])
    np.testing.assert_array_equal(new.classes_, ["no", "yes"])
    assert "KernelSVC" in repr(new)


@pytest.mark.parametrize("make", MODELS)
def test_prepared_columns_are_equivalent_to_the_gram(cohort, gram, make):
    X, y = cohort
    model = make().fit(gram, y)
    columns = PreparedColumns(gram.kernel, gram.prepared_columns(), gram.col_ids)
    assert columns.shape == (36, 36)
    assert "36 samples" in repr(columns)
    expected = CohortPredictor(model, gram).decision_function(X[:5] + 0.1)
    np.testing.assert_array_equal(CohortPredictor(model, columns).decision_function(X[:5] + 0.1), expected)


def test_training_samples_can_be_used_as_new_samples(cohort, gram):
    X, y = cohort
    model = MODELS[0]().fit(gram, y)
    np.testing.assert_allclose(
        CohortPredictor(model, gram).decision_function(X), model.decision_function(gram), atol=1e-10
    )


def test_many_samples_are_processed_in_blocks(cohort, gram, monkeypatch):
    X, y = cohort
    model = MODELS[0]().fit(gram, y)
    whole = CohortPredictor(model, gram)
    expected = whole.decision_function(X)
    parts = []

    class Watched(PreparedColumns):
        def cross(self, X):
            parts.append(len(X))
            return super().cross(X)

    monkeypatch.setattr(
        predictor, "row_blocks", lambda rows, cols: (slice(i, min(i + 16, rows)) for i in range(0, rows, 16))
    )
    frame = pd.DataFrame(X, index=[f"patient {i}" for i in range(36)])
    watched = CohortPredictor(model, Watched(gram.kernel, gram.prepared_columns()))
    np.testing.assert_allclose(watched.decision_function(frame), expected, atol=1e-12)
    assert parts == [16, 16, 4]
    frame.iloc[20, 3] = np.nan
    with pytest.raises(SampleError, match="'patient 20'"):
        watched.predict(frame)
    np.testing.assert_array_equal(watched.predict(X[:2].tolist()), whole.predict(X[:2]))


def test_misuse_is_refused(cohort, gram):
    X, y = cohort
    with pytest.raises(NotFittedError):
        CohortPredictor(KernelSVC(), gram)
    with pytest.raises(InputError, match="its own predict"):
        CohortPredictor(KernelSVC(kernel=Linear()).fit(X, y), gram)
    model = KernelSVC().fit(gram[np.ix_(TRAIN, TRAIN)], y[TRAIN])
    with pytest.raises(InputError, match="24 samples and the Gram matrix has 36"):
        CohortPredictor(model, gram)
    with pytest.raises(InputError, match="features"):
        CohortPredictor(model, gram[np.ix_(TRAIN, TRAIN)]).predict(X[:, :3])
    on_array = KernelSVC().fit(gram.to_numpy(), y)
    for other in (gram.to_numpy(), pd.DataFrame(gram.to_numpy()), X, str(gram.path)):
        with pytest.raises(InputTypeError, match=f"that knows its samples, not {type(other).__name__}: fit the model"):
            CohortPredictor(on_array, other)
        with pytest.raises(InputTypeError, match="that knows its samples"):
            explain(on_array, other)
    values_only = ArrayGram(gram.to_numpy())
    with pytest.raises(InputError, match="kernel values only"):
        CohortPredictor(KernelSVC().fit(values_only, y), values_only).predict(X)
    with pytest.raises(InputError, match="names for 36"):
        PreparedColumns(gram.kernel, gram.prepared_columns(), ["a"])


# All methods of the model --------------------------------------------------------------------------------------------

TARGETS = np.arange(36.0) % 7


@pytest.mark.parametrize(
    ("model", "target", "methods"),
    [
        (KernelSVC(probability=True), "y", ("predict", "decision_function", "predict_proba", "predict_log_proba")),
        pytest.param(KernelSVC(), "y", ("predict", "decision_function"), marks=pytest.mark.slow),
        (KernelFisherDiscriminant(), "y", ("predict", "decision_function", "transform", "get_feature_names_out")),
        (KernelRidge(), "numbers", ("predict",)),
        *(pytest.param(model, "numbers", ("predict",), marks=pytest.mark.slow) for model in (KernelSVR(), LSRRanker())),
        (KernelKMeans(2, random_state=0), None, ("predict", "transform", "get_feature_names_out")),
        *(
            pytest.param(model, None, ("transform", "get_feature_names_out"), marks=pytest.mark.slow)
            for model in (KernelPCA(3), KernelStandardizer())
        ),
        (make_pipeline(KernelStandardizer(), KernelSVC(probability=True)), "y", ("predict", "predict_proba")),
        (make_pipeline(KernelStandardizer(), KernelPCA(3)), None, ("transform", "get_feature_names_out")),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_has_what_its_model_has_also_from_a_file(cohort, gram, tmp_path, model, target, methods):
    X, y = cohort
    targets = {"y": y, "numbers": TARGETS, None: None}[target]
    model = clone(model).fit(gram, targets)
    cross = gram.cross(X)
    loaded = load_model(save_model(model, tmp_path / "model.npz", gram))
    for new in (CohortPredictor(model, gram), loaded):
        assert isinstance(new, CohortPredictor)
        for name in ("predict", "decision_function", "predict_proba", "predict_log_proba", "transform", "set_output"):
            assert hasattr(new, name) == hasattr(model, name), name
        for name in methods:
            if name == "get_feature_names_out":
                assert list(new.get_feature_names_out()) == list(model.get_feature_names_out())
                frame = new.set_output(transform="pandas").transform(pd.DataFrame(X[:2], index=["s", "t"]))
                new.set_output(transform="default")
                assert list(frame.index) == ["s", "t"]
                assert list(frame.columns) == list(model.get_feature_names_out())
                np.testing.assert_allclose(frame, new.transform(X[:2]), atol=1e-12)
            else:
                expected = np.asarray(getattr(model, name)(cross))
                found = getattr(new, name)(X)
                if expected.dtype.kind == "f":
                    np.testing.assert_allclose(found, expected, atol=1e-10)
                else:
                    np.testing.assert_array_equal(found, expected)
        assert hasattr(new, "score") == hasattr(model, "score")
        if hasattr(model, "score"):
            assert new.score(X, targets) == pytest.approx(model.score(cross, targets))
        assert new.n_features_in_ == 8
        assert not hasattr(new, "feature_names_in_")
        for name, value in vars(model).items():
            if name.endswith("_") and not name.startswith("_") and name not in ("n_features_in_", "kernel_"):
                np.testing.assert_array_equal(getattr(new, name), value)
        tags = get_tags(new)
        assert (tags.estimator_type, tags.input_tags.pairwise) == (get_tags(model).estimator_type, False)


def test_scores_count_weights_in_blocks_too(cohort, gram, monkeypatch):
    X, y = cohort
    weights, cross = np.arange(36.0), gram.cross(X)
    classifier, clusters = KernelSVC(C=0.05).fit(gram, y), KernelKMeans(2, random_state=0).fit(gram)
    expected = classifier.score(cross, y, weights), clusters.score(cross, sample_weight=weights)
    monkeypatch.setattr(
        predictor, "row_blocks", lambda rows, cols: (slice(i, min(i + 16, rows)) for i in range(0, rows, 16))
    )
    assert CohortPredictor(classifier, gram).score(X, y, weights) == pytest.approx(expected[0])
    assert CohortPredictor(clusters, gram).score(X, sample_weight=weights) == pytest.approx(expected[1])
    assert CohortPredictor(clusters, gram).score(X) == pytest.approx(clusters.score(cross))


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_a_search_scores_as_it_was_told(cohort, gram, scoring):
    X, y = cohort
    search = GridSearchCV(MODELS[0](), {"kernelsvc__C": [0.1, 1.0]}, scoring=scoring, cv=3).fit(gram, y)
    assert CohortPredictor(search, gram).score(X[:9], y[:9]) == pytest.approx(search.score(gram.cross(X[:9]), y[:9]))


def test_what_the_model_does_not_have_is_missing(cohort, gram):
    new = CohortPredictor(KernelSVC().fit(gram, cohort[1]), PreparedColumns(gram.kernel, gram.prepared_columns()))
    for name in ("predict_proba", "transform", "means_", "n_features_in_", "anything", "_private_"):
        assert not hasattr(new, name), name
    assert pickle.loads(pickle.dumps(new)).classes_.tolist() == ["no", "yes"]


def test_views_say_how_to_take_new_samples(cohort, gram):
    X, y = cohort
    for view in (gram.centered(), gram.unit_norm(), gram.centered()[:, :]):
        new = CohortPredictor(KernelSVC().fit(view, y), view)
        with pytest.raises(InputError, match="cannot take new samples: fit a pipeline of a KernelStandardizer"):
            new.predict(X)
