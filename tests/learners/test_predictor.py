"""CohortPredictor: the same answers for raw samples as the model gives for their kernel values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError, SampleError
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Linear
from distkern.learners import predictor
from distkern.learners.predictor import CohortPredictor, PreparedColumns
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
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
    values_only = ArrayGram(gram.to_numpy())
    with pytest.raises(InputError, match="kernel values only"):
        CohortPredictor(KernelSVC().fit(values_only, y), values_only).predict(X)
    with pytest.raises(InputError, match="names for 36"):
        PreparedColumns(gram.kernel, gram.prepared_columns(), ["a"])
