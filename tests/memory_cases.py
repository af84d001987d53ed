"""Work within a memory limit, for a child process: each case makes its data, and returns what is to be measured."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np

import distkern as dk

rng = np.random.default_rng(0)
SMALL = 60
"""Samples of the first run of a case, which loads and compiles all routines."""


def stored(kernel, X, folder, **options):
    return dk.compute_gram(kernel, X, store=Path(tempfile.mkdtemp(dir=folder)) / "k.zarr", progress=False, **options)


def points(samples, features=20):
    return rng.normal(size=(samples, features))


def filling(kernel, features, executor="threads", suffix="", **options):
    """`compute_gram` on a cohort in memory, or in a file."""

    def case(samples, limit, folder):
        X = points(samples, features)
        if suffix == ".npy":
            np.save(folder / f"{samples}.npy", X)
            X = folder / f"{samples}.npy"
        elif suffix == "sparse":
            import scipy.sparse as sp

            X = sp.random(samples, features, density=0.05, format="csr", random_state=0)
        given = {name: value(samples) if callable(value) else value for name, value in options.items()}
        return lambda: stored(kernel, X, folder, executor=executor, memory_limit=limit, **given)

    return case


def appending(samples, limit, folder):
    gram = stored(dk.Gaussian(3.0), points(samples), folder, tile=max(8, samples // 4))
    new = points(samples // 2)
    return lambda: dk.append_gram(gram, new, memory_limit=limit, progress=False)


def training(samples, limit, folder):
    X, y = points(samples), rng.permutation(np.arange(samples) % 2)
    return lambda: dk.train_classifier(X, y, kernel=dk.Gaussian(5.0), C=[1.0, 10.0], repeats=1, memory_limit=limit)


def training_survival(samples, limit, folder):
    X, y = points(samples), dk.survival_y(rng.exponential(size=samples), np.arange(samples) % 2)
    return lambda: dk.train_survival(X, y, kernel=dk.Gaussian(5.0), lam=[0.1, 1.0], repeats=1, memory_limit=limit)


def tau(missing="raise", **options):
    """`kendalltau_matrix` of as many features as samples are asked for."""

    def case(features, limit, folder):
        X = points(60, features)
        if missing == "pairwise":
            X[rng.random(X.shape) < 0.1] = np.nan
        return lambda: dk.kendalltau_matrix(X, missing=missing, memory_limit=limit, progress=False, **options)

    return case


def ranking(suffix, versus="rest"):
    """`rank_markers` of many samples in a file, or of sparse ones in memory."""

    def case(samples, limit, folder):
        groups = np.arange(samples) % 3
        if suffix == "sparse":
            import scipy.sparse as sp

            X = sp.random(samples, 3000, density=0.05, format="csr", random_state=0)
        else:
            X = folder / f"{samples}.npy"
            np.save(X, points(samples, 400))
        return lambda: dk.rank_markers(X, groups, versus=versus, memory_limit=limit, progress=False)

    return case


def scored_pairs(gaps=False, summary=False, **options):
    """`pair_scores` or `pair_summary` of as many features as samples are asked for."""

    def case(features, limit, folder):
        X = points(400, features)
        if gaps:
            X[rng.random(X.shape) < 0.1] = np.nan
        y = rng.integers(0, 2, 400)
        given = {"memory_limit": limit, "missing": "skip", "progress": False} | options
        return lambda: dk.pair_summary(X, y, **given) if summary else dk.pair_scores(X, y, **given)

    return case


def tau_of_cells(pairs=0, **options):
    """`kendalltau_matrix` of columns without their zeros: edges, or a list of ``pairs`` pairs for each feature."""

    def case(features, limit, folder):
        import scipy.sparse as sp

        X = sp.random(3000, features, density=0.05, format="csr", random_state=0)
        given = options | ({"pairs": rng.integers(0, features, (pairs * features, 2))} if pairs else {})
        return lambda: dk.kendalltau_matrix(X, memory_limit=limit, progress=False, **given)

    return case


def pair_rules(work):
    """Fit or cross-validate top-scoring pairs of as many features as samples are asked for."""

    def case(features, limit, folder):
        X, y = points(100, features), rng.permutation(np.arange(100) % 2)
        return lambda: work(X, y, limit)

    return case


def explaining(kernel, features):
    """`explain` a ridge regression on samples, and new samples."""

    def case(samples, limit, folder):
        X, new = points(samples, features), points(5, features)
        model = dk.KernelRidge(kernel=kernel).fit(X, rng.normal(size=samples))

        def run():
            explained = dk.explain(model, memory_limit=limit, progress=False)
            explained.contributions(new, memory_limit=limit, progress=False)

        return run

    return case


def scoring(samples, limit, folder):
    """`score_sets` of ten sets in cells in a file."""
    import anndata
    import pandas as pd
    import scipy.sparse as sp

    names = [f"g{k}" for k in range(2000)]
    X = sp.random(samples, len(names), density=0.05, format="csr", random_state=0)
    file = folder / f"{samples}.h5ad"
    anndata.AnnData(X, pd.DataFrame(index=list(map(str, range(samples)))), pd.DataFrame(index=names)).write_h5ad(file)
    sets = {f"set {k}": names[k::100] for k in range(10)}
    return lambda: dk.score_sets(file, sets, memory_limit=limit, progress=False)


def normalising(how):
    """Learn a target from many samples in a file, and put them on it, some at a time."""

    def case(samples, limit, folder):
        np.save(folder / f"{samples}.npy", points(samples, 2000))
        file, normalizer = folder / f"{samples}.npy", dk.QuantileNormalizer(how, memory_limit=limit)

        def run():
            for _ in normalizer.fit(file).blocks(file):
                pass

        return run

    return case


def learning_targets(make, samples_of=None):
    """Fit a model of ranks to many samples in a store, or in memory."""

    def case(samples, limit, folder):
        X, y = points(samples, 2000), rng.integers(0, 2, samples)
        data = X if samples_of == "memory" else dk.RankStore.write(X, tempfile.mkdtemp(dir=folder))
        return lambda: make(limit).fit(data, y)

    return case


def learning(make, targets="labels", of="store", tile=None):
    """Fit a learner to a stored matrix, an array of kernel values, or samples."""

    def case(samples, limit, folder):
        X = points(samples)
        y = rng.integers(0, 2, samples) if targets == "labels" else rng.normal(size=samples)
        y = dk.survival_y(np.exp(y), rng.random(samples) < 0.5) if targets == "survival" else y
        given = () if targets is None else (y,)
        kernel = dk.Gaussian(3.0)
        if of == "samples":
            model, data = make(limit).set_params(kernel=kernel), X
        elif of == "array":
            model, data = make(limit), kernel(X)
        elif of == "landmarks":
            model, data = make(limit), stored(kernel, X, folder, landmarks=30)
        else:
            model, data = make(limit), stored(kernel, X, folder, tile=tile and min(tile, samples))
        data = data if of != "view" else data.centered()
        return lambda: model.fit(data, *given)

    return case


def calling(function, tile=None):
    def case(samples, limit, folder):
        gram = stored(dk.Gaussian(3.0), points(samples), folder, tile=tile and min(tile, samples))
        return lambda: function(gram, limit)

    return case


LANDMARKS = {"landmarks": lambda samples: min(samples // 3, 400)}

CASES = {
    "gram Gaussian": (filling(dk.Gaussian(3.0), 20), 5000),
    "gram Gaussian serial": (filling(dk.Gaussian(3.0), 20, "serial"), 5000),
    "gram Gaussian float32": (filling(dk.Gaussian(3.0), 20, dtype="float32"), 5000),
    "gram Gaussian many features": (filling(dk.Gaussian(90.0), 4000), 1000),
    "gram Gaussian .npy": (filling(dk.Gaussian(90.0), 4000, suffix=".npy"), 1000),
    "gram Kendall": (filling(dk.Kendall(), 500), 1500),
    "gram Kendall dense .npy": (filling(dk.Kendall(), 3000, suffix=".npy"), 400),
    "gram Kendall sparse": (filling(dk.Kendall(), 3000, suffix="sparse"), 600),
    "gram Mallows": (filling(dk.Mallows(0.1), 200), 1500),
    "landmarks random": (filling(dk.Gaussian(3.0), 20, **LANDMARKS), 20000),
    "landmarks k-means++": (filling(dk.Gaussian(3.0), 20, landmark_choice="kmeans++", **LANDMARKS), 8000),
    "landmarks k-means++ wide": (filling(dk.Gaussian(60.0), 1500, landmark_choice="kmeans++", landmarks=20), 3000),
    "landmarks leverage": (filling(dk.Gaussian(3.0), 20, landmark_choice="leverage", **LANDMARKS), 8000),
    "landmarks k-means++ .npy": (
        filling(dk.Gaussian(40.0), 600, suffix=".npy", landmark_choice="kmeans++", landmarks=20),
        3000,
    ),
    "landmarks random sparse": (filling(dk.Kendall(), 20_000, suffix="sparse", landmarks=20), 600),
    "landmarks k-means++ sparse": (
        filling(dk.Kendall(), 3000, suffix="sparse", landmark_choice="kmeans++", landmarks=20),
        2000,
    ),
    "append": (appending, 3000),
    "tau": (tau(), 1500),
    "tau with p-values": (tau(pvalue=True), 1500),
    "tau pairwise with p-values": (tau("pairwise", pvalue=True), 1000),
    "markers .npy": (ranking(".npy"), 20_000),
    "markers .npy of each group": (ranking(".npy", "each"), 20_000),
    "markers sparse": (ranking("sparse"), 10_000),
    "scores of sets": (scoring, 20_000),
    "quantile median": (normalising("median"), 8000),
    "quantile mean": (normalising("mean"), 8000),
    "SUQUAN": (learning_targets(lambda limit: dk.SUQUANClassifier("spav", "normal", memory_limit=limit)), 6000),
    "SUQUAN in memory": (
        learning_targets(lambda limit: dk.SUQUANRegressor("bnd", "mean", tol=1e-3, memory_limit=limit), "memory"),
        3000,
    ),
    "SUQUAN search": (
        learning_targets(
            lambda limit: dk.SUQUANClassifierCV("spav", "normal", [0.1, 1.0, 10.0], cv=4, memory_limit=limit)
        ),
        4000,
    ),
    "SUQUAN search, few samples": (
        learning_targets(lambda limit: dk.SUQUANClassifierCV("spav", "normal", [0.1, 10.0], memory_limit=limit)),
        500,
    ),
    "pair scores": (scored_pairs(), 5000),
    "pair scores disjoint": (scored_pairs(k=20, disjoint=True, gaps=True), 2000),
    "top pairs": (pair_rules(lambda X, y, limit: dk.KTopScoringPairs("cv", memory_limit=limit).fit(X, y)), 3000),
    "top pairs evaluated": (
        pair_rules(lambda X, y, limit: dk.cross_validate_pairs(X, y, 3, [1, 5], [1.0], memory_limit=limit)),
        2000,
    ),
    "pair summary": (scored_pairs(gaps=True, summary=True), 2000),
    "pair scores of a filter": (scored_pairs(features="wilcoxon:50"), 5000),
    "tau edges": (tau(output="edges", fdr=0.5), 1500),
    "tau edges sparse": (tau_of_cells(output="edges"), 900),
    "tau list": (tau_of_cells(pairs=40), 1500),
    "explanation": (explaining(dk.Kendall(), 2000), 400),
    "explanation smoothed": (explaining(dk.SmoothedKendall(window=0.5), 600), 300),
    "training": (training, 800),
    "training of survival": (training_survival, 800),
    "SVC": (learning(lambda limit: dk.KernelSVC(memory_limit=limit)), 3000),
    "SVC small tiles": (learning(lambda limit: dk.KernelSVC(memory_limit=limit), tile=300), 3000),
    "SVC array": (learning(lambda limit: dk.KernelSVC(memory_limit=limit), of="array"), 2500),
    "SVC samples": (learning(lambda limit: dk.KernelSVC(memory_limit=limit), of="samples"), 1500),
    "SVR": (learning(lambda limit: dk.KernelSVR(memory_limit=limit), "numbers", tile=300), 2500),
    "ridge": (learning(lambda limit: dk.KernelRidge(memory_limit=limit), "numbers"), 3000),
    "ridge small tiles": (learning(lambda limit: dk.KernelRidge(10.0, memory_limit=limit), "numbers", tile=300), 3000),
    "discriminant": (learning(lambda limit: dk.KernelFisherDiscriminant(mu=1e3, memory_limit=limit), tile=300), 2400),
    "PCA": (learning(lambda limit: dk.KernelPCA(4, memory_limit=limit), None, tile=300), 3000),
    "k-means": (learning(lambda limit: dk.KernelKMeans(4, memory_limit=limit), None, tile=300), 2400),
    "standardizer": (learning(lambda limit: dk.KernelStandardizer(memory_limit=limit), None, tile=300), 3000),
    "rank SVM": (learning(lambda limit: dk.RankSVM(memory_limit=limit), "numbers", tile=300), 2000),
    "logistic": (learning(lambda limit: dk.KernelLogistic(memory_limit=limit), tile=300), 2400),
    "logistic landmarks": (learning(lambda limit: dk.KernelLogistic(memory_limit=limit), of="landmarks"), 3000),
    "Cox": (learning(lambda limit: dk.KernelCox(memory_limit=limit), "survival", tile=300), 2400),
    "Cox landmarks": (learning(lambda limit: dk.KernelCox(memory_limit=limit), "survival", of="landmarks"), 3000),
    "survival SVM": (learning(lambda limit: dk.SurvivalSVM(memory_limit=limit), "survival", tile=300), 2400),
    "LSR ranker": (learning(lambda limit: dk.LSRRanker(memory_limit=limit), "numbers", tile=300), 2000),
    "SGD ranker": (learning(lambda limit: dk.SGDRanker(memory_limit=limit, epochs=2), "numbers", tile=300), 1200),
    "neighbours": (calling(lambda gram, limit: dk.kernel_neighbors(gram, 15, memory_limit=limit), tile=300), 3000),
    "neighbours large tiles": (calling(lambda gram, limit: dk.kernel_neighbors(gram, 15, memory_limit=limit)), 3000),
    "silhouette": (
        calling(lambda gram, limit: dk.kernel_silhouette(gram, np.arange(len(gram)) % 5, memory_limit=limit), tile=300),
        3000,
    ),
    "difference of groups": (
        calling(
            lambda gram, limit: dk.mmd_test(gram, np.arange(len(gram)) % 2, permutations=500, memory_limit=limit),
            tile=300,
        ),
        3000,
    ),
    "analysis of variance": (
        calling(
            lambda gram, limit: dk.permanova(gram, np.arange(len(gram)) % 4, permutations=200, memory_limit=limit),
            tile=300,
        ),
        2000,
    ),
    "dependence on a covariate": (
        calling(
            lambda gram, limit: dk.hsic_test(
                gram, np.arange(len(gram), dtype=float), permutations=50, memory_limit=limit
            ),
            tile=300,
        ),
        2000,
    ),
    "numbers of clusters": (
        calling(lambda gram, limit: dk.cluster_numbers(gram, [2, 3], references=0, memory_limit=limit), tile=300),
        1500,
    ),
}


def work(name, limit):
    """Run a case on few samples; return the work on all."""
    folder = Path(tempfile.mkdtemp(prefix="distkern-memory-"))
    case, samples = CASES[name]
    warnings.simplefilter("ignore")
    for _ in range(2):
        outcome(case(SMALL, 2**40, folder))
    return case(samples, limit, folder)


def outcome(run):
    """What work ended with: a refusal is one, too."""
    try:
        run()
    except dk.MemoryLimitError as error:
        return str(error)
    return "done"
