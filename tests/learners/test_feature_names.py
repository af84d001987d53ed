"""Names of features decide in every learner that takes samples, also names that are no text (sklearn#7242, #12936)."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from distkern.build.append import append_gram
from distkern.build.compute import compute_gram
from distkern.core.errors import InputError
from distkern.gram.open import open_gram
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.decomposition import KernelPCA
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.kmeans import KernelKMeans
from distkern.learners.mixture import MallowsMixture
from distkern.learners.persist import load_model, save_model
from distkern.learners.plackett_luce import PlackettLuce
from distkern.learners.predictor import CohortPredictor
from distkern.learners.ranker_search import MLSRRankerCV
from distkern.learners.ranking import LSRRanker, MLSRRanker
from distkern.learners.ridge import KernelRidge
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.operators.array import ArrayGram

RNG = np.random.default_rng(0)
X = RNG.permuted(np.tile(np.arange(5.0), (20, 1)), axis=1)
Y = np.array(["a", "b"])[(X[:, 0] > X[:, 1]).astype(int)]
NAMES = {
    "Entrez numbers": [7157, 4609, 672, 675, 5728],
    "positions": range(5),
    "a MultiIndex": pd.MultiIndex.from_tuples([(f"gene {k}", k) for k in range(5)]),
    "text and numbers": ["TP53", 4609, "BRCA1", 675, 5728.0],
    "text": list("abcde"),
    "years": pd.period_range("2000", periods=5, freq="Y"),
}
LEARNERS = [
    KernelSVC(kernel=Gaussian(2.0)),
    KernelFisherDiscriminant(kernel=Linear()),
    KernelRidge(kernel=Linear()),
    KernelKMeans(2, kernel=Linear(), random_state=0),
    KernelPCA(2, kernel=Linear()),
    KernelStandardizer(kernel=Linear()),
    LSRRanker(kernel=Linear()),
    MLSRRanker([Linear(), Gaussian(2.0)]),
    MLSRRankerCV([Linear()], lams=[0.1]),
    MallowsMixture(1, random_state=0),
    PlackettLuce(),
    make_pipeline(KernelStandardizer(kernel=Gaussian(2.0)), KernelSVC()),
]


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_features_are_found_by_name(learner, names):
    frame = pd.DataFrame(X, columns=names)
    classifies = getattr(learner.__sklearn_tags__(), "estimator_type", "") == "classifier"
    model = clone(learner).fit(frame, Y if classifies else X[:, 0])
    call = model.predict if hasattr(model, "predict") else model.transform
    call(frame[:3].copy())
    call(frame[:3].rename(columns=str) if isinstance(names, list) else frame[:3])
    if isinstance(names, range):
        with pytest.raises(InputError, match="same features in another order"):
            call(frame.iloc[:, ::-1])
        assert not hasattr(model, "feature_names_in_")
        call(X[:3])
        return
    turned = frame.iloc[:, ::-1]
    turned.insert(2, "another", 0.5)
    np.testing.assert_array_equal(call(turned), call(frame))
    assert list(model.feature_names_in_) == [str(name) for name in frame.columns]
    with pytest.raises(InputError, match=r"X lacks 1 of the 5 features that are needed"):
        call(frame.iloc[:, 1:])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        call(X[:3])


@pytest.mark.parametrize("names", [NAMES["Entrez numbers"], range(100, 105)])
def test_kernel_values_in_a_frame_are_aligned_by_the_names_of_the_samples(names):
    K = pd.DataFrame(Linear()(X[:5]), columns=names)
    model = KernelRidge().fit(K, X[:5, 0])
    with pytest.raises(InputError, match="another order"):
        model.predict(K.iloc[:, ::-1])


def test_frames_of_kernel_values_and_matrices_compare_their_names():
    names, K = list("vwxyz"), Linear()(X[:5])
    gram, frame = ArrayGram(K, row_ids=names), pd.DataFrame(K, columns=names)
    for model in (KernelRidge().fit(gram, X[:5, 0]), KernelRidge().fit(frame, X[:5, 0])):
        expected = model.predict(K) if hasattr(model, "training_ids_") else model.predict(frame)
        for same in (gram, frame, pd.DataFrame(K, columns=names)):
            np.testing.assert_array_equal(model.predict(same), expected)
        for turned in (gram[:, ::-1], frame.iloc[:, ::-1]):
            with pytest.raises(InputError, match=r"number 0 is 'z', not 'v'|same order as they were in fit"):
                model.predict(turned)
    if_by_position = KernelRidge().fit(ArrayGram(K), X[:5, 0])
    np.testing.assert_array_equal(if_by_position.predict(frame), expected)


def test_matrices_compare_names_of_any_type(tmp_path):
    frame = pd.DataFrame(X, columns=NAMES["Entrez numbers"])
    gram = compute_gram(Kendall(), frame, store=tmp_path / "k.zarr", progress=False)
    model = KernelSVC().fit(gram, Y)
    loaded = load_model(save_model(model, tmp_path / "model.npz", gram))
    assert list(loaded.feature_names_in_) == ["7157", "4609", "672", "675", "5728"]
    calls = [
        lambda new: gram.cross(new).to_numpy(),
        CohortPredictor(model, gram).predict,
        loaded.predict,
        lambda new: append_gram(gram, new, ids=[f"new {k}" for k in range(len(new))], progress=False),
    ]
    for call in calls:
        with pytest.raises(InputError, match="lacks 2 of the 5 features that are needed: '7157', '4609'"):
            call(frame.iloc[:, 2:])
    for call in calls[:3]:
        np.testing.assert_array_equal(call(frame.iloc[:, ::-1].assign(**{"1": 0.0})), call(frame))
        with pytest.warns(UserWarning, match=r"does not have valid feature names, .* \('7157', '4609', '672', …\)"):
            call(X)
    calls[-1](frame.iloc[:, ::-1])
    np.testing.assert_array_equal(open_gram(gram.path).to_numpy()[20:, :20], Kendall()(frame))


def test_a_frame_is_not_changed():
    frame = pd.DataFrame(X, columns=NAMES["Entrez numbers"])
    KernelSVC(kernel=Linear()).fit(frame, Y).predict(frame)
    assert list(frame.columns) == NAMES["Entrez numbers"]


class DataArray:
    """What is read of an xarray.DataArray."""

    def __init__(self, data, **coords):
        self.data, self.shape, self.ndim, self.dims = data, data.shape, data.ndim, ("x", "y")
        self.coords = {dim: SimpleNamespace(values=np.array(names)) for dim, names in coords.items()}

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype)

    def __len__(self):
        return len(self.data)


DataArray.__module__ = "xarray.core.dataarray"


def test_labelled_arrays_of_kernel_values_are_compared():
    names, K = list("vwxyz"), Linear()(X[:5])
    labelled, turned = DataArray(K, x=names, y=names), DataArray(K[:, ::-1], x=names, y=names[::-1])
    for fitted_on in (ArrayGram(K, row_ids=names), labelled, pd.DataFrame(K, columns=names)):
        model = KernelRidge().fit(fitted_on, X[:5, 0])
        np.testing.assert_allclose(model.predict(labelled), KernelRidge().fit(K, X[:5, 0]).predict(K))
        with pytest.raises(InputError, match=r"number 0 is 'z', not 'v'|same order as they were in fit"):
            model.predict(turned)
    np.testing.assert_allclose(KernelRidge().fit(K, X[:5, 0]).predict(DataArray(K)), model.predict(labelled))
