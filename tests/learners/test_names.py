"""Labels, weights, groups and neighbours with names, in every learner (markeR#34, rnasplice#223).

The right answer is that of the same values in the order of the matrix, without names.
"""

import re
import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from marks import with_slow
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

import distkern as dk
from distkern.operators.lowrank import ArrayFeatures, LowRankGram
from distkern.plot import plot_gram, plot_kernel_pca, plot_silhouettes
from distkern.report import write_cluster_report, write_report

M = 24
RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(0, 1, (M // 2, 4)), RNG.normal(1.5, 1, (M // 2, 4))])
IDS = [f"s{i}" for i in range(M)]
FRAME = pd.DataFrame(X, index=IDS, columns=list("abcd"))
KERNEL = dk.Gaussian(1.0)
LABELS = pd.Series(np.repeat(["ill", "well"], M // 2), index=IDS)
TARGETS = pd.Series(X[:, 0], index=IDS)
WEIGHTS = pd.Series(1.0 + np.arange(M) % 3, index=IDS)
GROUPS = pd.Series(np.arange(M) // 4, index=IDS)
SURVIVAL = dk.survival_y(np.exp(X[:, 0]), np.arange(M) % 3 > 0)
SPLITS = GroupKFold(3)


@pytest.fixture(scope="module")
def gram(tmp_path_factory):
    return dk.compute_gram(KERNEL, FRAME, store=tmp_path_factory.mktemp("names") / "gram.zarr", progress=False)


@pytest.fixture(scope="module")
def unnamed(tmp_path_factory):
    return dk.compute_gram(KERNEL, X, store=tmp_path_factory.mktemp("names") / "gram.zarr", progress=False)


def search():
    return dk.MLSRRankerCV("precomputed", n_kernels=1, lams=[0.1], cv=SPLITS)


def kmeans():
    return dk.KernelKMeans(2, n_init=2, random_state=0)


CASES = {
    "KernelSVC y": lambda g, v: dk.KernelSVC().fit(g, v(LABELS)).dual_coef_,
    "KernelSVC weight": lambda g, v: dk.KernelSVC().fit(g, LABELS, v(WEIGHTS)).dual_coef_,
    "KernelSVC score": lambda g, v: dk.KernelSVC().fit(g, LABELS).score(g, v(LABELS)),
    "KernelSVC score weight": lambda g, v: dk.KernelSVC(C=0.01).fit(g, LABELS).score(g, LABELS, v(WEIGHTS)),
    "KernelSVC one-vs-rest": lambda g, v: dk.KernelSVC(multi_class="ovr").fit(g, v(GROUPS.astype(str))).dual_coef_,
    "KernelFisherDiscriminant y": lambda g, v: dk.KernelFisherDiscriminant().fit(g, v(LABELS)).dual_coef_,
    "KernelFisherDiscriminant score": lambda g, v: dk.KernelFisherDiscriminant().fit(g, LABELS).score(g, v(LABELS)),
    "KernelRidge y": lambda g, v: dk.KernelRidge().fit(g, v(TARGETS)).dual_coef_,
    "KernelRidge two targets": lambda g, v: dk.KernelRidge().fit(g, v(FRAME[["a", "b"]])).dual_coef_,
    "KernelRidge weight": lambda g, v: dk.KernelRidge().fit(g, TARGETS, v(WEIGHTS)).dual_coef_,
    "KernelRidge score": lambda g, v: dk.KernelRidge().fit(g, TARGETS).score(g, v(TARGETS)),
    "KernelSVR y": lambda g, v: dk.KernelSVR().fit(g, v(TARGETS)).dual_coef_,
    "KernelSVR weight": lambda g, v: dk.KernelSVR().fit(g, TARGETS, v(WEIGHTS)).dual_coef_,
    "LSRRanker y": lambda g, v: dk.LSRRanker().fit(g, v(TARGETS)).dual_coef_,
    "LSRRanker score": lambda g, v: dk.LSRRanker().fit(g, TARGETS).score(g, v(TARGETS)),
    "MLSRRanker y": lambda g, v: dk.MLSRRanker().fit([g, g], v(TARGETS)).dual_coef_,
    "MLSRRankerCV y": lambda g, v: search().fit([g, g], v(TARGETS), groups=GROUPS).best_score_,
    "MLSRRankerCV groups": lambda g, v: search().fit([g, g], TARGETS, groups=v(GROUPS)).best_score_,
    "KernelLogistic y": lambda g, v: dk.KernelLogistic().fit(g, v(LABELS)).dual_coef_,
    "KernelLogistic weight": lambda g, v: dk.KernelLogistic().fit(g, LABELS, v(WEIGHTS)).dual_coef_,
    "KernelLogistic score": lambda g, v: dk.KernelLogistic().fit(g, LABELS).score(g, v(LABELS)),
    "KernelCox strata": lambda g, v: dk.KernelCox().fit(g, SURVIVAL, strata=v(GROUPS)).dual_coef_,
    "KernelCox score": lambda g, v: dk.KernelCox().fit(g, SURVIVAL).score(g, SURVIVAL, strata=v(GROUPS)),
    "cross_validate_gram strata": lambda g, v: (
        dk.cross_validate_gram(
            None, g, SURVIVAL, scoring="concordance", lam=[1], outer=2, repeats=1, strata=v(GROUPS % 2)
        ).found
    ),
    "train_survival groups": lambda g, v: (
        dk.train_survival(FRAME, SURVIVAL, lam=[1], outer=2, repeats=1, groups=v(GROUPS)).evaluation.found
    ),
    "RankSVM y": lambda g, v: dk.RankSVM().fit(g, v(TARGETS)).dual_coef_,
    "RankSVM groups": lambda g, v: dk.RankSVM().fit(g, TARGETS, groups=v(GROUPS)).dual_coef_,
    "SGDRanker y": lambda g, v: dk.SGDRanker(epochs=1, random_state=0).fit(g, v(TARGETS)).dual_coef_,
    "KernelKMeans weight": lambda g, v: kmeans().fit(g, sample_weight=v(WEIGHTS)).inertia_,
    "KernelKMeans score": lambda g, v: kmeans().fit(g).score(g, sample_weight=v(WEIGHTS)),
    "cluster_numbers weight": lambda g, v: (
        dk.cluster_numbers(g, [2], sample_weight=v(WEIGHTS), n_init=2, random_state=0).inertia
    ),
    "kernel_medoids labels": lambda g, v: list(dk.kernel_medoids(g, v(LABELS)).values()),
    "kernel_medoids weight": lambda g, v: list(dk.kernel_medoids(g, LABELS, sample_weight=v(WEIGHTS)).values()),
    "kernel_silhouette labels": lambda g, v: dk.kernel_silhouette(g, v(LABELS)),
    "kernel_silhouette weight": lambda g, v: dk.kernel_silhouette(g, LABELS, sample_weight=v(WEIGHTS)),
    "cross_validate_gram y": lambda g, v: dk.cross_validate_gram(None, g, v(LABELS), C=[1], repeats=1).accuracy,
    "cross_validate_gram groups": lambda g, v: (
        dk.cross_validate_gram(None, g, LABELS, C=[1], outer=2, repeats=1, groups=v(GROUPS)).accuracy
    ),
    "cluster_consensus labels": lambda g, v: [c.distance for c in dk.cluster_consensus(FRAME, v(LABELS)).values()],
    "consensus_ranking weight": lambda g, v: dk.consensus_ranking(FRAME, sample_weight=v(WEIGHTS)).distance,
    "MallowsMixture weight": lambda g, v: (
        dk.MallowsMixture(random_state=0).fit(FRAME, sample_weight=v(WEIGHTS)).weights_
    ),
    "PlackettLuce weight": lambda g, v: dk.PlackettLuce().fit(FRAME, sample_weight=v(WEIGHTS)).worths_,
    "KTopScoringPairs y": lambda g, v: dk.KTopScoringPairs(1).fit(FRAME, v(LABELS)).scores_,
    "KTopScoringPairs groups": lambda g, v: dk.KTopScoringPairs(1).fit(FRAME, LABELS, v(GROUPS % 3)).scores_,
    "KTopScoringPairs score": lambda g, v: dk.KTopScoringPairs(1).fit(FRAME, LABELS).score(FRAME, v(LABELS)),
    "TopPairs y": lambda g, v: dk.TopPairs(1).fit_transform(FRAME, v(LABELS)),
    "cross_validate_pairs y": lambda g, v: dk.cross_validate_pairs(FRAME, v(LABELS), 2, [1], [1.0]).accuracy,
    "cross_validate_pairs groups": lambda g, v: (
        dk.cross_validate_pairs(FRAME, LABELS, 2, [1], [1.0], groups=v(GROUPS % 3)).accuracy
    ),
    "samples with a kernel": lambda g, v: dk.KernelSVC(kernel=KERNEL).fit(FRAME, v(LABELS)).dual_coef_,
    "AnnData with a kernel": lambda g, v: dk.KernelSVC(kernel=KERNEL).fit(AnnData(FRAME), v(LABELS)).dual_coef_,
    "table of kernel values": lambda g, v: dk.KernelSVC().fit(pd.DataFrame(KERNEL(X), IDS, IDS), v(LABELS)).dual_coef_,
    "pipeline of samples": lambda g, v: (
        make_pipeline(dk.KernelStandardizer(kernel=KERNEL), dk.KernelSVC()).fit(FRAME, v(LABELS))[-1].dual_coef_
    ),
    "components of samples": lambda g, v: dk.KernelPCA(2, kernel=KERNEL).fit_transform(FRAME, v(LABELS)),
    "distances of samples": lambda g, v: kmeans().set_params(kernel=KERNEL).fit_transform(FRAME, v(LABELS)),
    "CohortPredictor score": lambda g, v: dk.CohortPredictor(dk.KernelSVC().fit(g, LABELS), g).score(FRAME, v(LABELS)),
    "rank_markers groups": lambda g, v: dk.rank_markers(FRAME, v(LABELS))["auroc"],
    "rank_markers strata": lambda g, v: dk.rank_markers(FRAME, LABELS, strata=v(GROUPS % 2))["auroc"],
    "ranking_error": lambda g, v: dk.ranking_error(TARGETS, v(TARGETS**2)),
    "diagonal": lambda g, v: dk.ArrayGram(np.eye(M), row_diag=v(WEIGHTS), row_ids=IDS).row_diag(),
    "product": lambda g, v: g.matmat(v(TARGETS)),
    "mask of rows": lambda g, v: g[v(LABELS == "ill")].to_numpy(),
    "mask of columns": lambda g, v: g[:, v(LABELS == "ill")].to_numpy(),
    "centring samples": lambda g, v: g.centered(v(LABELS == "ill")).grand_mean,
}


@pytest.mark.parametrize("case", CASES)
def test_every_learner_refuses_the_names_of_other_samples(gram, case):
    run = CASES[case]
    order = np.random.default_rng(1).permutation(M)
    for changed, message in (
        (lambda values: values.iloc[order], "another order"),
        (lambda values: values.set_axis([f"z{i}" for i in range(M)]), "no name in common"),
    ):
        with pytest.raises(dk.InputError, match=message):
            run(gram, changed)
    expected = run(gram, lambda values: values.to_numpy())
    for right in (lambda values: values, lambda values: values.reset_index(drop=True)):
        np.testing.assert_array_equal(run(gram, right), expected)


@pytest.mark.parametrize("draw", ["gram", "pca", "silhouettes", "report", "clusters"])
def test_figures_and_pages_refuse_the_names_of_other_samples(gram, draw, tmp_path):
    numbers = dk.cluster_numbers(gram, [2], n_init=1, random_state=0)
    scores, path = pd.Series(np.linspace(0, 1, M), index=IDS), tmp_path / "page.html"
    make = {
        "gram": lambda: plot_gram(gram, LABELS.iloc[::-1]),
        "pca": lambda: plot_kernel_pca(gram, LABELS.iloc[::-1]),
        "silhouettes": lambda: plot_silhouettes(scores, LABELS, sample_weight=WEIGHTS.iloc[::-1]),
        "report": lambda: write_report(path, gram=gram, labels=LABELS.iloc[::-1]),
        "clusters": lambda: write_cluster_report(path, gram, numbers, sample_weight=WEIGHTS.iloc[::-1]),
    }[draw]
    with pytest.raises(dk.InputError, match=r"another order .*list\(gram.ids\)|another order .*silhouettes.index"):
        make()


@pytest.mark.parametrize(
    "labels",
    with_slow([LABELS], [LABELS.reset_index(drop=True), LABELS.to_numpy()]),
    ids=["own", "default", "no"],
)
@pytest.mark.parametrize("matrix", ["gram", "unnamed", "landmarks", "sum", "array", "view", "features"])
def test_scikit_learn_slices_a_lazy_matrix_and_labels_by_position(matrix, labels, request, tmp_path):
    exact = request.getfixturevalue("unnamed" if matrix == "unnamed" else "gram")
    options = {"store": tmp_path / "landmarks.zarr", "landmarks": 8, "progress": False}
    K = {
        "landmarks": lambda: dk.compute_gram(KERNEL, FRAME, **options),
        "sum": lambda: dk.SumGram([exact, exact.unit_norm()]),
        "array": lambda: dk.ArrayGram(exact.to_numpy(), row_ids=IDS),
        "view": lambda: exact.centered(),
        "features": lambda: LowRankGram(*[ArrayFeatures(X, IDS)] * 2),
    }.get(matrix, lambda: exact)()
    model = make_pipeline(dk.KernelStandardizer(), dk.KernelSVC())
    expected = cross_val_score(model, K, LABELS.to_numpy(), cv=3, error_score="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(cross_val_score(model, K, labels, cv=3, error_score="raise"), expected)
        inner = GridSearchCV(dk.KernelSVC(), {"C": [1, 10]}, cv=2, error_score="raise")
        cross_val_score(inner, K, labels, cv=2, error_score="raise")
        a, b, c, d = train_test_split(FRAME, LABELS, random_state=0)
        dk.KernelSVC(kernel=KERNEL).fit(a, c).score(b, d)


@pytest.mark.parametrize(
    ("samples", "labels"),
    [(X, LABELS.reset_index(drop=True)), (FRAME, LABELS), (pd.DataFrame(X), LABELS.reset_index(drop=True))],
)
def test_scikit_learn_splits_samples_and_labels(samples, labels):
    train, test, of_train, of_test = train_test_split(samples, labels, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dk.KernelSVC(kernel=KERNEL).fit(train, of_train).score(test, of_test) == 1


def test_a_table_whose_rows_and_columns_are_in_unlike_orders_is_refused():
    K = pd.DataFrame(np.eye(3), index=list("abc"), columns=list("acb"))
    for learn in (dk.KernelPCA(1).fit, dk.ArrayGram, lambda gram: dk.kernel_neighbors(gram, 1)):
        if learn is dk.ArrayGram:
            assert not learn(K).is_symmetric
            continue
        with pytest.raises(dk.InputError, match="not the same samples in the same order"):
            learn(K)


# Masks, missing labels and weights of classes ------------------------------------------------------------------------


def test_masked_kernel_values_labels_and_targets_are_missing():
    """Masks of NumPy and of dask were dropped (sklearn#10186, scipy#20123)."""
    K = KERNEL(X)
    mask = np.zeros((M, M), dtype=bool)
    mask[0, 1] = mask[1, 0] = True
    for masked in (np.ma.array(K, mask=mask), da.from_array(np.ma.array(K, mask=mask), asarray=False)):
        for learn in (dk.KernelSVC().fit, dk.KernelFisherDiscriminant().fit, dk.kernel_silhouette):
            with pytest.raises(dk.InputError, match="NaN"):
                learn(masked, LABELS.to_numpy())
        with pytest.raises(dk.InputError, match="NaN"):
            dk.KernelSVC().fit(K, LABELS).predict(masked)
    one = np.arange(M) == 3
    for learn, y in ((dk.KernelRidge(), TARGETS), (dk.KernelSVR(), TARGETS), (dk.RankSVM(), TARGETS)):
        with pytest.raises(dk.InputError, match="target of sample 3 is missing"):
            learn.fit(K, np.ma.array(y, mask=one))
    with pytest.raises(dk.InputError, match="label of sample 3 is missing"):
        dk.KernelSVC().fit(K, np.ma.array(LABELS, mask=one))
    with pytest.raises(dk.InputError, match="sample 3 has nan"):
        dk.KernelSVC().fit(K, LABELS.to_numpy(), np.ma.array(np.ones(M), mask=one))


@pytest.mark.parametrize(
    "learn",
    [
        lambda labels: dk.KernelSVC().fit(np.eye(M), labels),
        lambda labels: dk.KernelFisherDiscriminant().fit(np.eye(M), labels),
        lambda labels: dk.kernel_medoids(np.eye(M), labels),
        lambda labels: dk.kernel_silhouette(np.eye(M), labels),
        lambda labels: dk.cluster_consensus(X, labels),
        lambda labels: dk.RankSVM().fit(np.eye(M), TARGETS.to_numpy(), groups=labels),
        lambda labels: search().fit([np.eye(M)], TARGETS.to_numpy(), groups=labels),
        lambda labels: dk.cross_validate_gram(None, np.eye(M), np.tile(["a", "b"], M // 2), groups=labels),
        lambda labels: plot_kernel_pca(np.eye(M), labels),
    ],
)
def test_missing_labels_and_labels_that_look_alike_are_refused_everywhere(learn):
    """NaN was a cluster and a group of its own (scikit-learn#25953); ``Male`` and ``Male `` were two classes."""
    for missing, message in ((None, "of sample 5 is missing"), ("ill ", "blanks"), ("", "of sample 5 is ''")):
        with pytest.raises(dk.InputError, match=message):
            learn([*LABELS.tolist()[:5], missing, *LABELS.tolist()[6:]])
    with pytest.raises(dk.InputError, match="of sample 5 is missing"):
        learn(np.where(np.arange(M) == 5, np.nan, np.arange(M) // 12))


def test_labels_are_returned_as_they_were_given():
    K = KERNEL(X)
    for labels in (LABELS.to_numpy(), LABELS.to_numpy().astype(object), LABELS.astype("category")):
        assert list(dk.kernel_medoids(K, np.asarray(labels))) == ["ill", "well"]
        assert list(dk.cluster_consensus(X, np.asarray(labels))) == ["ill", "well"]


@pytest.mark.parametrize("weight", [-2, 0, np.nan, np.inf, "5", None, 1j])
def test_a_class_weight_that_is_no_positive_number_is_refused(weight):
    model = dk.KernelSVC(class_weight={"ill": weight, "well": 1})
    with pytest.raises(dk.InputError, match="class_weight must hold positive finite numbers; class 'ill' has"):
        model.fit(np.eye(M), LABELS)
    with pytest.raises(dk.InputError, match="class 'ill' has"):
        dk.cross_validate_gram(model, np.eye(M), LABELS, repeats=1)


def test_class_weights_of_unknown_classes():
    with pytest.raises(dk.InputError, match="weight for 'Ill', which is no class, and none for class 'ill'"):
        dk.KernelSVC(class_weight={"Ill": 2, "well": 1}).fit(np.eye(M), LABELS)
    with pytest.raises(dk.InputError, match="dict from label to weight"):
        dk.KernelSVC(class_weight=pd.Series({"ill": 1.0})).fit(np.eye(M), LABELS)
    with pytest.warns(UserWarning, match="weight for 'x', which no sample has"):
        model = dk.KernelSVC(class_weight={"ill": 2, "well": 1, "x": 3}).fit(np.eye(M), LABELS)
    assert model.class_weight_.tolist() == [2, 1]


def test_balanced_weights_count_samples_with_a_weight():
    weights = np.r_[np.zeros(6), np.ones(M - 6)]  # 6 ill and 12 well are left
    model = dk.KernelSVC(class_weight="balanced").fit(KERNEL(X), LABELS.to_numpy(), weights)
    np.testing.assert_allclose(model.class_weight_, [18 / (2 * 6), 18 / (2 * 12)])


def test_priors_with_names_are_those_of_the_classes():
    K, fit = KERNEL(X), lambda priors: dk.KernelFisherDiscriminant(priors=priors).fit(KERNEL(X), LABELS.to_numpy())
    assert fit(pd.Series([0.9, 0.1], index=["ill", "well"])).intercept_ == fit([0.9, 0.1]).intercept_
    assert fit([0.9, 0.1]).predict(K).tolist().count("ill") >= fit([0.1, 0.9]).predict(K).tolist().count("ill")
    with pytest.raises(dk.InputError, match=r"another order .*model\.classes_"):
        fit(pd.Series([0.1, 0.9], index=["well", "ill"]))


# Samples with a kernel, and neighbours -------------------------------------------------------------------------------


def test_functions_of_kernel_values_take_samples_with_a_kernel(gram):
    adata = AnnData(FRAME)
    for samples in (adata, FRAME, X):
        found, expected = dk.kernel_neighbors(samples, 5, kernel=KERNEL), dk.kernel_neighbors(gram, 5)
        np.testing.assert_array_equal(found.indices, expected.indices)
        labels = LABELS.to_numpy()
        assert dk.kernel_medoids(samples, labels, kernel=KERNEL) == dk.kernel_medoids(gram, labels)
        silhouettes = dk.kernel_silhouette(samples, labels, kernel=KERNEL)
        np.testing.assert_allclose(silhouettes, dk.kernel_silhouette(gram, labels), atol=1e-12)
        one = dk.cross_validate_gram(None, samples, labels, kernel=KERNEL, C=[1], repeats=1)
        assert one.mean() == dk.cross_validate_gram(None, gram, labels, C=[1], repeats=1).mean()
    dk.write_neighbors(adata, dk.kernel_neighbors(adata, 5, kernel=KERNEL))
    with pytest.raises(dk.InputError, match="kernel must be"):
        dk.kernel_neighbors(adata, 5, kernel="gaussian")


def test_neighbours_of_other_cells_are_not_written(gram, unnamed):
    numbered = [str(i) for i in range(M)]
    cells = lambda names: AnnData(pd.DataFrame(X[: len(names)], list(names), list("abcd")))  # noqa: E731
    order = np.random.default_rng(1).permutation(M)
    shuffled = unnamed[np.ix_(order, order)]
    for adata, neighbors in (
        (cells(IDS[::-1]), dk.kernel_neighbors(gram, 5)),
        (cells([f"z{i}" for i in range(M)]), dk.kernel_neighbors(gram, 5)),
        (cells(numbered[::-1]), dk.kernel_neighbors(unnamed, 5)),
        (cells(numbered), dk.kernel_neighbors(shuffled, 5)),
        (cells(numbered[:12]), dk.kernel_neighbors(unnamed[12:, 12:], 5)),
    ):
        with pytest.raises(dk.InputError, match=re.escape("adata[list(neighbors.ids)]")):
            dk.write_neighbors(adata, neighbors)
        assert "distances" not in adata.obsp
    dk.write_neighbors(cells(IDS), dk.kernel_neighbors(gram, 5))
    dk.write_neighbors(cells(IDS), dk.kernel_neighbors(unnamed, 5))  # the matrix has no names
    dk.write_neighbors(cells(numbered[12:]), dk.kernel_neighbors(KERNEL(X[12:]), 5))  # nor has an array
