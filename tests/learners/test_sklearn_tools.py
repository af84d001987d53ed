"""Tools of scikit-learn on a Gram matrix: the values that they have on an array, or one sentence that refuses them."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RepeatedStratifiedKFold,
    cross_val_predict,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import resample, shuffle

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError
from distkern.kernels.vectors import Gaussian
from distkern.learners.decomposition import KernelPCA
from distkern.learners.kmeans import KernelKMeans
from distkern.learners.ridge import KernelRidge
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC

RNG = np.random.default_rng(0)
Y = np.repeat(["a", "b"], 15)[RNG.permutation(30)]
X = RNG.normal(size=(30, 4)) + (Y == "a")[:, None]


@pytest.fixture(scope="module")
def gram(tmp_path_factory):
    return compute_gram(Gaussian(2.0), X, store=tmp_path_factory.mktemp("tools") / "k.zarr", progress=False)


SVC = KernelSVC(tol=1e-11)  # where a looser solver stops depends on the last bits of the kernel values
PIPELINE = make_pipeline(KernelStandardizer(diagonal=1.0), SVC)
TOOLS = {
    "train_test_split": lambda K: [np.asarray(part) for part in train_test_split(K, random_state=0)],
    "shuffle": lambda K: [np.asarray(shuffle(K, random_state=0))],
    "resample": lambda K: [np.asarray(resample(K, random_state=0, n_samples=40))],
    "cross_val_predict": lambda K: [cross_val_predict(PIPELINE, K, Y, cv=3, method="decision_function")],
    "cross_validate": lambda K: [
        cross_validate(SVC, K, Y, cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0))["test_score"]
    ],
    "learning_curve": lambda K: learning_curve(SVC, K, Y, cv=3, train_sizes=[0.5, 1.0])[1:],
    "validation_curve": lambda K: validation_curve(SVC, K, Y, param_name="C", param_range=[0.1, 1.0], cv=3),
    "permutation_test_score": lambda K: permutation_test_score(SVC, K, Y, cv=3, n_permutations=4, random_state=0),
    "GridSearchCV": lambda K: [GridSearchCV(PIPELINE, {"kernelsvc__C": [0.1, 1.0]}, cv=3).fit(K, Y).best_score_],
    "TransformedTargetRegressor": lambda K: [
        TransformedTargetRegressor(KernelRidge(), func=np.exp, inverse_func=np.log).fit(K, 2 + X[:, 0]).predict(K)
    ],
    "CalibratedClassifierCV": lambda K: [CalibratedClassifierCV(SVC, cv=3, ensemble=False).fit(K, Y).predict_proba(K)],
    "BaggingClassifier": lambda K: [BaggingClassifier(SVC, 3, random_state=0).fit(K, Y).predict_proba(K)],
    "OneVsRestClassifier": lambda K: [OneVsRestClassifier(SVC).fit(K, Y).decision_function(K)],
    "FixedThresholdClassifier": lambda K: [FixedThresholdClassifier(SVC, threshold=0.2).fit(K, Y).predict(K)],
    "clusters and components": lambda K: [
        make_pipeline(KernelStandardizer(), KernelPCA(2)).fit(K).transform(K),
        KernelKMeans(2, random_state=0).fit_predict(K),
    ],
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in log")
@pytest.mark.parametrize("tool", TOOLS)
def test_a_stored_matrix_gives_what_its_array_gives(gram, tool):
    """``gram[rows, ...]`` is how scikit-learn takes some rows."""
    for one, other in zip(TOOLS[tool](gram), TOOLS[tool](gram.to_numpy()), strict=True):
        if np.asarray(one).dtype.kind == "f":
            np.testing.assert_allclose(one, other, atol=1e-9)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("as_array", [False, True])
def test_a_part_of_the_rows_is_no_training_matrix(gram, as_array):
    K = gram.to_numpy() if as_array else gram
    train, _, y_train, _ = train_test_split(K, Y, random_state=0)
    for fit in (
        lambda: KernelSVC().fit(train, y_train),
        lambda: KernelKMeans(2).fit(train),
        lambda: CalibratedClassifierCV(KernelSVC(), cv=3, ensemble=True).fit(K, Y),
    ):
        with pytest.raises(
            InputError, match=r"must be square.* \(train_test_split slices rows only: split the positions"
        ):
            fit()


def test_rows_and_columns_take_an_ellipsis(gram):
    K = gram.to_numpy()
    for key in (([1, 5], ...), (..., [1, 5]), ..., (slice(3), ..., [2]), (2, ...), (..., 2), ([1],)):
        np.testing.assert_array_equal(np.asarray(gram[key]), K[key])
    np.testing.assert_array_equal(np.asarray(list(gram[:3])), K[:3])


def test_voting_takes_models_of_one_matrix(gram):
    models = [("svc", KernelSVC()), ("standard", PIPELINE)]
    found = VotingClassifier(models).fit(gram, Y).predict(gram)
    np.testing.assert_array_equal(found, VotingClassifier(models).fit(gram.to_numpy(), Y).predict(gram.to_numpy()))
