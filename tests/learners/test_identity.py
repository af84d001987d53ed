"""A fitted model refuses a matrix that contradicts its training matrix: other data, another kernel or another view.

Predictions through the wrong matrix looked right: 0.80 became 0.45 (GPyTorch#1787).
"""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

from distkern.build.append import append_gram
from distkern.build.compute import compute_gram
from distkern.core.bags import Bags
from distkern.core.errors import InputError
from distkern.gram.open import open_gram
from distkern.kernels.bags.kernelized import MeanMap
from distkern.kernels.kendall import Kendall
from distkern.kernels.lowrank import LowRank
from distkern.kernels.mallows import Mallows
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.cox import KernelCox
from distkern.learners.decomposition import KernelPCA
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.kmeans import KernelKMeans
from distkern.learners.logistic import KernelLogistic
from distkern.learners.persist import load_model, save_model
from distkern.learners.predictor import CohortPredictor, PreparedColumns
from distkern.learners.rank_svm import RankSVM, SGDRanker
from distkern.learners.ranking import LSRRanker, MLSRRanker
from distkern.learners.ridge import KernelRidge
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.survival_svm import SurvivalSVM
from distkern.learners.survival_times import survival_y
from distkern.learners.svm import KernelSVC
from distkern.learners.svr import KernelSVR
from distkern.operators.array import ArrayGram
from distkern.operators.sums import SumGram
from distkern.store.tiles import GramStore

RNG = np.random.default_rng(0)
X = RNG.permuted(np.tile(np.arange(6.0), (24, 1)), axis=1) + RNG.normal(scale=0.1, size=(24, 6))
OTHER = X + RNG.normal(size=X.shape)
Y = np.array(["a", "b"])[(X[:, 0] > X[:, 1]).astype(int)]
TRAIN, TEST = np.arange(16), np.arange(16, 24)
WHOLE, CROSS = np.ix_(TRAIN, TRAIN), np.ix_(TEST, TRAIN)
IDS = [f"p{k}" for k in range(24)]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Stored matrices: of two kernels, of other data under the same names, without names, and at landmarks."""
    folder = tmp_path_factory.mktemp("stores")

    def stored(name, kernel, samples=X, ids=IDS, **options):
        return compute_gram(kernel, samples, ids=ids, store=folder / name, progress=False, **options)

    return {
        "kendall": stored("k", Kendall()),
        "linear": stored("l", Linear()),
        "other data": stored("o", Kendall(), OTHER),
        "nameless": stored("n", Kendall(), ids=None),
        "landmarks": stored("y", Kendall(), landmarks=8),
        "rectangle": compute_gram(Kendall(), X[TEST], X[TRAIN], store=folder / "r", progress=False),
        "other rectangle": compute_gram(Kendall(), X[TEST], OTHER[TRAIN], store=folder / "q", progress=False),
    }


MODELS = [
    (KernelSVC(), ("predict", "decision_function")),
    (KernelFisherDiscriminant(), ("predict", "decision_function", "transform")),
    (KernelRidge(), ("predict",)),
    (KernelSVR(), ("predict",)),
    (KernelKMeans(2, random_state=0), ("predict", "transform", "score")),
    (KernelPCA(2), ("transform",)),
    (KernelStandardizer(), ("transform",)),
    (LSRRanker(), ("predict",)),
    (MLSRRanker(), ("predict",)),
    (RankSVM(), ("predict",)),
    (KernelLogistic(), ("predict", "decision_function", "predict_proba")),
    (KernelCox(), ("predict",)),
    (SurvivalSVM(), ("predict",)),
    (SGDRanker(random_state=0), ("predict",)),
    (make_pipeline(KernelStandardizer(), KernelSVC()), ("predict", "decision_function")),
]


@pytest.mark.parametrize(("model", "methods"), MODELS, ids=lambda value: type(value).__name__)
def test_every_method_of_every_learner_refuses_another_matrix(stores, model, methods):
    gram = stores["kendall"]
    target = (
        survival_y(np.exp(X[:, 0]), np.arange(len(X)) % 3 > 0)
        if hasattr(model, "_fit_to") and not hasattr(model, "predict_proba")
        else Y
        if hasattr(model, "classes_") or "classifier" in str(model.__sklearn_tags__().estimator_type)
        else X[:, 0]
    )
    model = clone(model).fit(gram[WHOLE], target[TRAIN])
    for method in methods:
        call = getattr(model, method)
        call(gram[CROSS])
        call(gram[WHOLE].cross(X[TEST]))
        for wrong in (stores["linear"][CROSS], stores["linear"][WHOLE].cross(X[TEST])):
            with pytest.raises(InputError, match=r"fitted on values of Kendall\(.*\), and .* values of Linear\(\)"):
                call(wrong)
        with pytest.raises(InputError, match="16 of 16 have other data, the first is number 0, 'p0'"):
            call(stores["other data"][CROSS])
        with pytest.raises(InputError, match="approximated by 8 landmarks"):
            call(stores["landmarks"][CROSS])


def test_another_kernel_on_the_same_stored_values_is_another_kernel(stores):
    gram = stores["kendall"]
    model = KernelSVC().fit(gram, Y)
    with pytest.raises(InputError, match=r"Kendall\(ties='zero'\), and .* values of Mallows\(lam=0.5"):
        model.predict(gram.with_kernel(Mallows(0.5)))
    with pytest.raises(InputError, match=r"Mallows\(lam=0.5.* values of Mallows\(lam=0.25"):
        KernelSVC().fit(gram.with_kernel(Mallows(0.5)), Y).predict(gram.with_kernel(Mallows(0.25)))
    model.predict(gram.with_kernel(Kendall()))


def test_names_by_position_do_not_hide_other_samples_or_another_order(stores):
    gram = stores["nameless"]
    model = KernelSVC().fit(gram[WHOLE], Y[TRAIN])
    assert np.mean(model.predict(gram[CROSS]) == Y[TEST]) > 0.8
    with pytest.raises(InputError, match="fitted on, in another order"):
        model.predict(gram[np.ix_(TEST, TRAIN[::-1])])
    with pytest.raises(InputError, match="8 of 16 have other data, the first is number 8"):
        model.predict(gram[np.ix_(TEST, [*range(8), *range(16, 24)])])
    turned = KernelRidge().fit(gram[np.ix_(TRAIN[::-1], TRAIN[::-1])], X[TRAIN[::-1], 0])
    expected = KernelRidge().fit(gram[WHOLE], X[TRAIN, 0]).predict(gram[CROSS])
    np.testing.assert_allclose(turned.predict(gram[np.ix_(TEST, TRAIN[::-1])]), expected, rtol=1e-9)


def test_views_must_be_those_of_the_training_matrix(stores):
    gram = stores["linear"]
    views = {
        "raw": gram,
        "centred": gram.centered(),
        "centred on some": gram.centered(on=TRAIN),
        "unit norm": gram.unit_norm(),
        "both": gram.centered(on=TRAIN).unit_norm(),
        "sum": SumGram([gram, stores["kendall"]], [1.0, 2.0]),
    }
    for fitted, view in views.items():
        model = KernelRidge().fit(view[WHOLE], X[TRAIN, 0])
        for given, other in views.items():
            if fitted == given:
                model.predict(other[CROSS])
            else:
                with pytest.raises(InputError, match=r"fitted on values of Linear|fitted on values of 1 × Linear"):
                    model.predict(other[CROSS])
    own = KernelRidge().fit(gram[WHOLE].centered(), X[TRAIN, 0])
    expected = KernelRidge().fit(views["centred on some"][WHOLE], X[TRAIN, 0]).predict(views["centred on some"][CROSS])
    np.testing.assert_allclose(own.predict(gram.centered(on=TRAIN)[CROSS]), expected, rtol=1e-9)
    with pytest.raises(InputError, match=r"centred on 16 samples, .* centred on 24 samples.* KernelStandardizer"):
        own.predict(gram.centered()[CROSS])
    with pytest.raises(InputError, match=r"the same on other samples, .* \(\w{8}, not \w{8}\)"):
        own.predict(gram.centered(on=TRAIN + 1)[CROSS])


def test_rectangles_carry_the_identity_of_their_columns(stores):
    model = KernelSVC().fit(stores["nameless"][WHOLE], Y[TRAIN])
    expected = model.decision_function(stores["nameless"][CROSS])
    np.testing.assert_allclose(model.decision_function(stores["rectangle"]), expected, rtol=1e-12)
    with pytest.raises(InputError, match="16 of 16 have other data"):
        model.predict(stores["other rectangle"])


def test_landmarks_are_part_of_the_identity(stores, tmp_path):
    gram = stores["landmarks"]
    model = KernelRidge().fit(gram[WHOLE], X[TRAIN, 0])
    np.testing.assert_allclose(model.predict(gram[WHOLE].cross(X[TEST])), model.predict(gram[CROSS]), atol=1e-10)
    other = compute_gram(Kendall(), X, ids=IDS, landmarks=list(range(8)), store=tmp_path / "other.zarr", progress=False)
    for wrong in (other, stores["kendall"]):
        with pytest.raises(InputError, match="approximated by 8 landmarks, and"):
            model.predict(wrong[CROSS])


def test_a_grown_store_keeps_the_identity_of_its_samples(tmp_path):
    gram = compute_gram(Kendall(), X[TRAIN], store=tmp_path / "k.zarr", tile=5, progress=False)
    model = KernelSVC().fit(gram, Y[TRAIN])
    expected = model.decision_function(gram.cross(X[TEST]))
    grown = append_gram(gram, X[TEST], progress=False)
    np.testing.assert_allclose(model.decision_function(grown[CROSS]), expected, atol=1e-12)
    np.testing.assert_allclose(CohortPredictor(model, grown[:, TRAIN]).decision_function(X[TEST]), expected, atol=1e-12)
    with pytest.raises(InputError, match="have other data"):
        model.predict(grown[:, TEST[0] - 8 : TEST[-1] + 1])


def test_equal_samples_that_are_stored_once_have_an_identity(tmp_path):
    few = np.tile(np.argsort(X[:3], axis=1).astype(float), (4, 1))
    gram = compute_gram(Kendall(), few, store=tmp_path / "k.zarr", progress=False)
    assert gram.info()["samples_computed"] == [3, 3]
    assert gram.identity.digests.shape == (12, 32)
    np.testing.assert_array_equal(gram.identity.digests[:3], gram.identity.digests[9:])
    model = KernelRidge().fit(gram, few[:, 0])
    model.predict(gram[:, np.arange(12)])


def test_arrays_have_no_identity_and_are_taken_as_they_are(stores):
    gram = stores["kendall"]
    model = KernelSVC().fit(gram, Y)
    expected = model.decision_function(gram)
    np.testing.assert_allclose(model.decision_function(gram.to_numpy()), expected, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(ArrayGram(gram.to_numpy(), row_ids=IDS)), expected, atol=1e-12)
    model.fit(gram.to_numpy(), Y)
    assert not any(hasattr(model, name) for name in ("training_digests_", "training_values_", "training_ids_"))
    model.predict(stores["linear"])


def test_several_matrices_are_compared_as_their_sum(stores):
    first, second = stores["kendall"], stores["linear"]
    model = MLSRRanker(weights=[1.0, 2.0], lam=0.1).fit([first[WHOLE], second[WHOLE]], X[TRAIN, 0])
    expected = model.predict([first.to_numpy()[CROSS], second.to_numpy()[CROSS]])
    np.testing.assert_allclose(model.predict([first[CROSS], second[CROSS]]), expected, atol=1e-12)
    np.testing.assert_allclose(model.predict([first[CROSS], second.to_numpy()[CROSS]]), expected, atol=1e-12)
    with pytest.raises(InputError, match=r"1 × Kendall.* \+ 0.5 × Linear.* 1 × Linear"):
        model.predict([second[CROSS], first[CROSS]])
    with pytest.raises(InputError, match="have other data"):
        model.predict([stores["other data"][CROSS], second[CROSS]])


# Predictors and files ------------------------------------------------------------------------------------------------


def test_a_model_is_not_saved_or_combined_with_another_matrix(stores, tmp_path):
    model = KernelSVC().fit(stores["kendall"], Y)
    search = GridSearchCV(KernelSVC(), {"C": [1.0]}, cv=2).fit(stores["kendall"], Y)
    for wrong in (stores["linear"], stores["other data"]):
        for fitted in (model, make_pipeline(KernelStandardizer(), KernelSVC()).fit(stores["kendall"], Y), search):
            with pytest.raises(InputError, match="fitted on"):
                CohortPredictor(fitted, wrong)
        with pytest.raises(InputError, match="fitted on"):
            save_model(model, tmp_path / "model.npz", wrong)
        assert not (tmp_path / "model.npz").exists()
    with pytest.raises(InputError, match=r"values of Kendall.* values of Linear"):
        CohortPredictor(model, PreparedColumns(Linear(), Linear().prepare(X), IDS))


def test_the_identity_is_saved_with_the_model(stores, tmp_path):
    gram = stores["kendall"]
    view = gram.centered(on=TRAIN)
    for number, (part, wrong) in enumerate([(gram, stores["linear"]), (view, gram), (gram, stores["other data"])]):
        model = KernelSVC().fit(part[WHOLE], Y[TRAIN])
        path = save_model(model, tmp_path / f"{number}.npz")
        for loaded in (load_model(path), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(loaded.training_digests_, part[WHOLE].identity.digests)
            np.testing.assert_array_equal(loaded.decision_function(part[CROSS]), model.decision_function(part[CROSS]))
            with pytest.raises(InputError, match="fitted on"):
                loaded.predict(wrong[CROSS])
    with_samples = load_model(save_model(model, tmp_path / "samples.npz", gram[WHOLE]))
    again = load_model(save_model(with_samples, tmp_path / "again.npz"))
    for loaded in (with_samples, again):
        np.testing.assert_array_equal(loaded.gram.identity.digests, gram[WHOLE].identity.digests)
        with pytest.raises(InputError, match="have other data"):
            KernelSVC().fit(stores["other data"][WHOLE], Y[TRAIN]).predict(loaded.gram.cross(X[TEST]))


def test_a_model_without_identity_is_not_compared(stores, tmp_path):
    """Files of earlier versions do not tell the training matrix."""
    model = KernelSVC().fit(stores["kendall"], Y)
    del model.training_digests_, model.training_values_
    load_model(save_model(model, tmp_path / "model.npz")).predict(stores["linear"])


@pytest.mark.parametrize(
    "damage",
    [
        {"training_values_": {"view": "centred"}},
        {"training_values_": {"view": "sum", "of": [["x", {"kernel": "linear"}]]}},
        {"training_digests_": np.zeros((24, 16))},
        {"training_digests_": np.zeros((24, 3), dtype=np.uint8)},
        {"training_digests_": np.zeros((7, 16), dtype=np.uint8)},
    ],
    ids=["no values", "no factor", "no bytes", "no width", "too few"],
)
def test_a_file_with_an_impossible_identity_is_damaged(stores, tmp_path, damage):
    model = KernelSVC().fit(stores["kendall"], Y)
    vars(model).update(damage)
    with pytest.raises(InputError, match="damaged"):
        load_model(save_model(model, tmp_path / "model.npz"))


def test_cross_validation_reads_the_digests_once(stores, monkeypatch):
    gram, read = open_gram(stores["kendall"].path), []
    reader = GramStore.read

    def watched(self, name, where=...):
        read.append(name)
        return reader(self, name, where)

    monkeypatch.setattr(GramStore, "read", watched)
    expected = cross_val_predict(KernelSVC(), gram.to_numpy(), Y, cv=4)
    np.testing.assert_array_equal(cross_val_predict(KernelSVC(), gram, Y, cv=4), expected)
    assert read.count("rows/digests") == 1


def test_damaged_digests_leave_the_matrix_usable(tmp_path):
    gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", progress=False)
    gram._store.write("rows/digests", slice(0, 1), np.zeros((1, 32), dtype=np.uint8))
    with pytest.warns(UserWarning, match="models cannot compare .* digests .* do not match their checksum"):
        model = KernelSVC().fit(gram, Y)
    assert model.training_values_ == Kendall().spec()
    assert not hasattr(model, "training_digests_")


def test_bags_are_compared_by_kernel_and_name(tmp_path):
    bags = Bags.from_arrays([points[:, None] for points in X])
    gram = compute_gram(MeanMap(Gaussian(1.0)), bags, store=tmp_path / "k.zarr", progress=False)
    model = KernelSVC().fit(gram, Y)
    assert gram.identity.digests is None
    with pytest.raises(InputError, match=r"sigma=1.0.* sigma=|sigma=1.0"):
        model.predict(compute_gram(MeanMap(Gaussian(3.0)), bags, store=tmp_path / "o.zarr", progress=False))


def test_landmarks_in_a_kernel_are_compared_but_not_kept(tmp_path):
    kernels = [LowRank(Gaussian(1.0), landmarks=tuple(map(tuple, X[part]))) for part in (slice(0, 16), slice(4, 20))]
    grams = [compute_gram(k, X, store=tmp_path / f"{n}.zarr", progress=False) for n, k in enumerate(kernels)]
    model = KernelRidge().fit(grams[0], X[:, 0])
    assert len(str(model.training_values_)) < 100
    model.predict(grams[0].cross(X[:2]))
    CohortPredictor(model, PreparedColumns(kernels[0], grams[0].prepared_columns())).predict(X[:2])
    with pytest.raises(InputError, match=r"the kernel 'low-rank', .* other parameters \(\w{8}, not \w{8}\)"):
        model.predict(grams[1])
