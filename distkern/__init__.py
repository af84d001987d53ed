"""Distributed kernel methods for rankings and omics.

Pick a kernel, point it at a cohort, and get a Gram matrix that may be larger than any machine's memory; every learner
works on that matrix without caring where it lies. Names load when they are first used, so that a worker that computes
tiles never imports scikit-learn, pandas or matplotlib.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

if sys.platform == "win32":  # users of files and the rights to them are those of POSIX
    raise ImportError("distkern runs on Linux and macOS: on Windows, install and run it under WSL")

from distkern._version import __version__ as __version__

_HOMES = {
    "distkern.core.errors": (
        "CorruptTileError",
        "DistkernError",
        "IncompleteGramError",
        "InputError",
        "InputTypeError",
        "KernelNotFoundError",
        "MemoryLimitError",
        "MissingExtraError",
        "SampleError",
        "StoreError",
        "StoreMismatchError",
        "TaskError",
        "WorkerMismatchError",
    ),
    "distkern.core.bags": ("Bags",),
    "distkern.core.images": ("bags_from_images",),
    "distkern.core.pairwise_votes": ("PairwiseVotes",),
    "distkern.core.rankings": ("Rankings",),
    "distkern.kernels.bags.components": ("BagComponents", "bag_components"),
    "distkern.kernels.bags.exponential_family": ("ExponentialFamily",),
    "distkern.kernels.bags.fitted_gaussians": ("Bhattacharyya", "GeneralizedVariance"),
    "distkern.kernels.bags.kernelized": ("KernelBhattacharyya", "KernelIGV", "MeanMap"),
    "distkern.kernels.bags.witness": ("Witness", "witness"),
    "distkern.kernels.base": ("Kernel",),
    "distkern.kernels.bags.entropy": ("Entropy",),
    "distkern.kernels.convolution": ("Convolution",),
    "distkern.kernels.finite": ("Table", "network_kernel"),
    "distkern.kernels.kendall": ("Kendall",),
    "distkern.kernels.lowrank": ("LowRank",),
    "distkern.kernels.mallows": ("Mallows",),
    "distkern.kernels.pair_agreement": ("PairAgreement",),
    "distkern.kernels.partial": ("PartialKendall",),
    "distkern.kernels.partial_mallows": ("PartialMallows",),
    "distkern.kernels.permutation": ("Diffusion", "EqualRank"),
    "distkern.kernels.quantile": ("QuantileLinear", "Spearman"),
    "distkern.kernels.smoothed": ("SmoothedKendall", "draws_for"),
    "distkern.kernels.vectors": ("Gaussian", "Linear", "Polynomial"),
    "distkern.kernels.weighted": ("WeightedKendall",),
    "distkern.kernels.registry": ("from_spec",),
    "distkern.operators.array": ("ArrayGram",),
    "distkern.operators.sums": ("SumGram",),
    "distkern.engine.base": ("Executor",),
    "distkern.engine.executors": ("Serial", "Threads"),
    "distkern.engine.dask.executor": ("Dask",),
    "distkern.build.append": ("append_gram",),
    "distkern.build.compute": ("compute_gram", "plan_gram"),
    "distkern.pairs.correlation": ("kendalltau_matrix",),
    "distkern.pairs.networks": ("EdgeFile",),
    "distkern.build.repair": ("repair_gram",),
    "distkern.gram.base": ("StoredGram",),
    "distkern.gram.handle": ("Gram",),
    "distkern.gram.open": ("open_gram",),
    "distkern.gram.nystrom": ("NystromError", "NystromGram"),
    "distkern.io.bags": ("load_bags", "save_bags"),
    "distkern.io.collapse": ("collapse_features",),
    "distkern.io.expression": ("read_expression",),
    "distkern.io.gmt": ("read_gmt",),
    "distkern.io.rankings.read": ("read_rankings",),
    "distkern.io.rankings.write": ("write_rankings",),
    "distkern.learners.cox": ("KernelCox",),
    "distkern.learners.decomposition": ("KernelPCA",),
    "distkern.learners.discriminant": ("KernelFisherDiscriminant",),
    "distkern.learners.explain": ("Contributions", "Explanation", "explain"),
    "distkern.learners.logistic": ("KernelLogistic",),
    "distkern.learners.metrics": (
        "mean_absolute_difference",
        "mean_squared_difference",
        "ranking_error",
        "ranking_measures",
    ),
    "distkern.learners.ranking_mixture": ("ComponentNumbers", "choose_components"),
    "distkern.learners.rank_svm": ("RankSVM", "SGDRanker"),
    "distkern.learners.ranker_search": ("MLSRRankerCV",),
    "distkern.learners.ranking": ("LSRRanker", "MLSRRanker"),
    "distkern.learners.ridge": ("KernelRidge",),
    "distkern.learners.kaplan_meier": ("LogRankTest", "SurvivalCurves", "kaplan_meier", "log_rank_test"),
    "distkern.learners.kmeans": ("KernelKMeans",),
    "distkern.learners.all_pairs": ("AllPairsMajorityVote",),
    "distkern.learners.bootstrap_consensus": ("BootstrapConsensus", "bootstrap_consensus"),
    "distkern.learners.calibration": ("CalibratedClassifier",),
    "distkern.learners.cluster_numbers": ("ClusterNumbers", "cluster_numbers"),
    "distkern.learners.concordance": ("concordance_index",),
    "distkern.learners.consensus": ("Consensus", "cluster_consensus", "consensus_ranking"),
    "distkern.learners.agreement": ("Agreement", "kendall_w"),
    "distkern.learners.difference": ("DifferenceTest", "hsic_test", "mmd_test", "permanova"),
    "distkern.learners.external": ("predict_external",),
    "distkern.learners.held_out": ("HeldOut",),
    "distkern.learners.markers": ("rank_markers",),
    "distkern.learners.membership": ("Membership", "cluster_covariates"),
    "distkern.learners.mixture": ("MallowsMixture",),
    "distkern.learners.nearest_profile": ("NearestProfile",),
    "distkern.learners.neighbors": ("Neighbors", "kernel_neighbors", "write_neighbors"),
    "distkern.learners.pair_search": ("PairSearch", "cross_validate_pairs", "pair_grid"),
    "distkern.learners.pair_table": ("PairSummary", "pair_scores", "pair_summary"),
    "distkern.learners.pair_transformers": ("TopPairGenes", "TopPairs"),
    "distkern.learners.partition": ("kernel_medoids", "kernel_silhouette"),
    "distkern.learners.evaluation": ("Evaluation", "PermutationTest"),
    "distkern.learners.permutation": ("permutation_test",),
    "distkern.learners.preferences": ("GroupPreferences", "group_preferences", "pairwise_preferences"),
    "distkern.learners.plackett_luce": ("BradleyTerry", "PlackettLuce"),
    "distkern.learners.plackett_luce_mixture": ("PlackettLuceMixture",),
    "distkern.learners.quantile": ("QuantileNormalizer",),
    "distkern.learners.set_scores": ("score_sets",),
    "distkern.learners.standardizer": ("KernelStandardizer",),
    "distkern.learners.training": ("TrainedClassifier", "train_classifier"),
    "distkern.learners.suquan": ("SUQUANClassifier", "SUQUANRegressor"),
    "distkern.learners.survival_evaluation": ("SurvivalEvaluation",),
    "distkern.learners.survival_svm": ("SurvivalSVM",),
    "distkern.learners.survival_training": ("TrainedSurvival", "train_survival"),
    "distkern.learners.survival_times": ("survival_y",),
    "distkern.learners.suquan_search": ("SUQUANClassifierCV",),
    "distkern.learners.svm": ("KernelSVC",),
    "distkern.learners.svr": ("KernelSVR",),
    "distkern.learners.top_pairs": ("KTopScoringPairs", "TopScoringPair"),
    "distkern.learners.predictor": ("CohortPredictor",),
    "distkern.learners.persist": ("load_model", "save_model"),
    "distkern.learners.selection": ("cross_validate_gram",),
    "distkern.store.ranks": ("RankStore",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SUBPACKAGES = {"datasets": "distkern.datasets"}

__all__ = ["__version__", *sorted(_HOME_OF), *_SUBPACKAGES]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    if name in _SUBPACKAGES:
        return import_module(_SUBPACKAGES[name])
    raise AttributeError(f"module 'distkern' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
