"""Every public estimator passes scikit-learn's own checks; each expected failure states its reason."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import distkern as dk
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.ballots import ballots_of

PUBLIC = [
    value
    for value in (getattr(dk, name) for name in dk.__all__)
    if isinstance(value, type) and issubclass(value, BaseEstimator)
]
"""All public estimators: a new one is checked without a change of this file."""

SAMPLES = Gaussian(sigma=1.0)

VARIANTS = {
    dk.KernelSVC: [{"kernel": SAMPLES, "tol": 1e-9, "multi_class": "ovr"}],
    dk.KernelSVR: [{"kernel": SAMPLES, "tol": 1e-9}],
    dk.KernelFisherDiscriminant: [{"kernel": SAMPLES, "solver": "direct"}],
    dk.KernelPCA: [{"n_components": 1, "kernel": Linear(), "eigen_solver": "lanczos"}],
    dk.KernelKMeans: [{"n_clusters": 3, "kernel": Linear(), "n_init": 2}],
    dk.KernelRidge: [{"kernel": SAMPLES, "solver": "cg", "tol": 1e-10}],
    dk.KernelStandardizer: [{"unit_norm": False}, {"kernel": Linear()}],
    dk.MLSRRanker: [{"kernels": [SAMPLES, Linear()], "weights": [1.0, 2.0]}],
    dk.MLSRRankerCV: [{"kernels": [SAMPLES, Gaussian(sigma=3.0)], "lams": [0.01, 1.0]}],
    dk.QuantileNormalizer: [{"target": "normal", "missing": "interpolate"}, {"target": "mean", "ties": "mid"}],
    dk.KernelLogistic: [{"kernel": SAMPLES, "tol": 1e-10}, {"kernel": SAMPLES, "multi_class": "ovr"}],
    dk.RankSVM: [{"kernel": Linear(), "loss": "squared_hinge"}],
    dk.SUQUANClassifier: [
        {"constraint": "bnd", "n_iter": 2, "target": "normal"},
        {"constraint": "ridge", "loss": "squared_hinge"},
        {"constraint": "fixed", "target": "mean"},
    ],
    dk.SUQUANClassifierCV: [
        {"target": "normal", "lams": [0.1, 10.0], "gammas": [1.0], "cv": 2},
        {"constraint": "fixed", "target": "uniform", "lams": [0.1], "cv": 2},
    ],
    dk.SUQUANRegressor: [{"constraint": "fixed"}, {"constraint": "trace", "trace_norm": 1.0, "max_iter": 20}],
    dk.AllPairsMajorityVote: [
        {"weighted": True},
        {"weighted": True, "kernel": "precomputed"},
        {"missing": "skip"},
        {"zero": "paper"},
    ],
    dk.KTopScoringPairs: [{"k": 1, "missing": "skip", "min_pairs": 0.0, "weights": "score"}],
    dk.NearestProfile: [{"kernel": SAMPLES}, {"kernel": SAMPLES, "quantile": 0.8, "markers": 2, "missing": "drop"}],
}
"""Parameters to check besides the default ones; by default a kernel of samples where there is such a parameter."""

DEFAULTS = {
    dk.CalibratedClassifier: {"estimator": dk.KernelSVC(kernel=SAMPLES)},
    dk.KernelKMeans: {"n_clusters": 3},
    dk.KernelPCA: {"n_components": 2},
    dk.MallowsMixture: {"n_components": 2, "n_init": 2},
    dk.PlackettLuceMixture: {"n_components": 2, "n_init": 1, "tol": 1e-2},
    dk.SUQUANClassifierCV: {"lams": [0.1, 10.0], "gammas": [0.1], "cv": 2},
    dk.TopPairGenes: {"k": 1},
    dk.TopPairs: {"k": 1},
}
"""Parameters without which the default estimator is slow or a check does not apply."""


class WithTimes:
    """Takes the numbers that the checks pass as y for the times of events, all of which were observed."""

    def fit(self, X, y, **options):
        if y is not None and np.asarray(y).dtype.fields is None:
            y = np.real(np.asarray(y)).astype(float)  # the check of complex values is for those of X
            y = dk.survival_y(y - y.min() + 1.0, np.ones(len(y)))
        return super().fit(X, y, **options)

    def score(self, X, y, **options):
        return super().score(X, dk.survival_y(np.asarray(y) - np.min(y) + 1.0, np.ones(len(y))), **options)


class KernelCox(WithTimes, dk.KernelCox):
    """The Cox model for the checks."""


class SurvivalSVM(WithTimes, dk.SurvivalSVM):
    """The survival support vector machine for the checks."""


class BradleyTerry(dk.BradleyTerry):
    """Compares the largest and the smallest value of each row that the checks pass, also as the pairs of a forecast."""

    def _ballots(self, X, *, reset):
        values = ballots_of(self, X, reset=reset).values
        kept = np.full(values.shape, False)
        rows, last = np.arange(len(values)), values.shape[1] - 1
        kept[rows, values.argmax(axis=1)] = kept[rows, last - values[:, ::-1].argmin(axis=1)] = True
        return dk.Rankings.from_ranks(np.where(kept, values, np.nan), kind="interleaving")

    def predict_proba(self, X):
        compared = ~np.isnan(self._ballots(X, reset=False).values)
        return super().predict_proba([np.flatnonzero(np.append(row, ~row))[:2] for row in compared])


CHECKED = {dk.BradleyTerry: BradleyTerry, dk.KernelCox: KernelCox, dk.SurvivalSVM: SurvivalSVM}
"""Estimators whose y or X the checks do not know."""


def cases(cls):
    cls, params = CHECKED.get(cls, cls), VARIANTS.get(cls)
    first = cls(**DEFAULTS.get(cls, {}))
    default = [{"kernel": SAMPLES}] if "kernel" in first.get_params(deep=False) else []
    others = [cls(**options) for options in (default if params is None else params)]
    return others if cls is dk.MLSRRankerCV else [first, *others]  # its default searches over many kernels


def takes_samples(estimator):
    return getattr(estimator, "kernel", None) != "precomputed"


ESTIMATORS = [estimator for cls in PUBLIC for estimator in cases(cls)]

EVERYDAY = [next((one for one in cases(cls) if takes_samples(one)), cases(cls)[0]) for cls in PUBLIC]
"""One estimator of each class, with a kernel of samples where there is one: precomputed kernels skip some checks."""

OTHERS = [estimator for estimator in ESTIMATORS if repr(estimator) not in map(repr, EVERYDAY)]

NEEDS_DIAGONAL = (
    "the check transforms a bare array of other rows than the training matrix, which does not contain k(x, x) of its "
    "rows: unit norm and distances require it, as documented"
)
NOT_SYMMETRIC = (
    "the check passes a matrix that is not symmetric as a precomputed kernel, and this error comes before the one label"
)
NOT_A_GRAM_MATRIX = (
    "the check rounds a kernel matrix to integers or subtracts its mean; the result is not positive semidefinite, and "
    "is refused"
)
ROUNDED = ["check_estimators_dtypes", "check_positive_only_tag_during_fit"]
NOT_KERNEL_VALUES = "the check passes samples to an estimator whose tag says that it takes kernel values"
SEEDS_BY_POSITION = (
    "the check reorders the samples, and a random state draws seeds by position, as in scikit-learn's KMeans; weights "
    "and repetitions in the same order agree (tests/learners/test_kmeans.py)"
)
TIES = "the check passes samples with tied features, which are not total rankings and have no probability"
INFINITE = "the check requires that infinite values are refused; only the order of values counts, and theirs is clear"
NO_ORDER = "the check passes two features whose order is the same in both classes, so that no pair tells them apart"
OTHER_SIZES = (
    "the check requires that samples with another number of features are refused; the target is interpolated to their "
    "number and the user is told, as documented (tests/learners/test_quantile.py)"
)
ONE_ORDER = (
    "the check passes two features whose order says nothing of the response; the model is degenerate and warns of it, "
    "as documented (tests/learners/test_suquan.py)"
)
UNWEIGHTED = (
    "the median target is that of the samples, whose weights do not count; with another target weights are repetitions "
    "(the variants, and tests/learners/test_suquan.py)"
)
NO_PAIR = "the check passes samples whose values are all equal, which order no pair of features and are refused by name"
TWO_FEATURES = "the check requires that blobs in a plane are told apart; the order of two features has two states only"
NO_RANKINGS = "the check requires that blobs of points are found; rankings of two items only state which one is larger"

WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
SPARSE = [f"check_estimator_sparse_{kind}" for kind in ("tag", "array", "matrix")]
OTHER_ROWS = [
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_methods_sample_order_invariance",
]
TIED = [
    "check_estimators_dtypes",
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
]
DEGENERATE = {
    dk.SUQUANClassifier: ["check_classifier_data_not_an_array", "check_class_weight_classifiers"],
    dk.SUQUANClassifierCV: ["check_classifier_data_not_an_array", "check_class_weight_classifiers"],
    dk.SUQUANRegressor: [
        "check_estimators_overwrite_params",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
    ],
}


def expected_failures(estimator):
    """Reasons by the name of the check."""
    precomputed = getattr(estimator, "kernel", None) == "precomputed"
    if isinstance(estimator, dk.KernelStandardizer) and precomputed and estimator.unit_norm:
        return dict.fromkeys(OTHER_ROWS, NEEDS_DIAGONAL)
    if isinstance(estimator, dk.KernelFisherDiscriminant) and precomputed:
        return {"check_classifiers_one_label_sample_weights": NOT_SYMMETRIC} | dict.fromkeys(ROUNDED, NOT_A_GRAM_MATRIX)
    if isinstance(estimator, (dk.KernelCox, dk.SurvivalSVM)) and precomputed:
        return dict.fromkeys(ROUNDED, NOT_A_GRAM_MATRIX)
    if isinstance(estimator, dk.KernelLogistic) and precomputed:
        return {"check_decision_proba_consistency": NOT_KERNEL_VALUES} | dict.fromkeys(ROUNDED, NOT_A_GRAM_MATRIX)
    if isinstance(estimator, dk.RankSVM) and precomputed:
        return {"check_positive_only_tag_during_fit": NOT_A_GRAM_MATRIX}
    if isinstance(estimator, (dk.KernelRidge, dk.KernelSVC, dk.KernelSVR)) and precomputed:
        return dict.fromkeys(ROUNDED, NOT_A_GRAM_MATRIX)
    if isinstance(estimator, dk.LSRRanker) and precomputed:
        return {"check_estimators_dtypes": NOT_A_GRAM_MATRIX}
    if isinstance(estimator, dk.MallowsMixture):
        return dict.fromkeys(TIED, TIES) | {"check_clustering": NO_RANKINGS}
    if isinstance(estimator, dk.PlackettLuceMixture):
        return {"check_clustering": NO_RANKINGS}
    if isinstance(estimator, dk.AllPairsMajorityVote):
        refused = estimator.kernel == "precomputed" or estimator.missing == "skip"
        return {} if refused else {"check_estimators_nan_inf": INFINITE}
    if isinstance(estimator, (dk.KTopScoringPairs, dk.TopPairs, dk.TopPairGenes)):
        classifies = isinstance(estimator, dk.KTopScoringPairs)
        infinite = {} if estimator.missing == "skip" else {"check_estimators_nan_inf": INFINITE}
        return infinite | ({"check_classifier_data_not_an_array": NO_ORDER} if classifies else {})
    if isinstance(estimator, (dk.SUQUANClassifier, dk.SUQUANClassifierCV, dk.SUQUANRegressor)):
        learned = estimator.target in ("median", "mean") and estimator.constraint != "trace"
        alike = [] if estimator.constraint in ("fixed", "trace") else DEGENERATE[type(estimator)]
        if getattr(estimator, "loss", "logistic") != "logistic":
            alike = [check for check in alike if check != "check_class_weight_classifiers"]
        return dict.fromkeys(alike, ONE_ORDER) | (dict.fromkeys(WEIGHTS, UNWEIGHTED) if learned else {})
    if isinstance(estimator, dk.NearestProfile) and estimator.kernel is None:
        constant = ["check_estimators_dtypes", "check_classifier_data_not_an_array", *SPARSE]
        others = {"check_classifiers_train": TWO_FEATURES, "check_estimators_nan_inf": INFINITE}
        return dict.fromkeys(constant, NO_PAIR) | others
    if isinstance(estimator, dk.QuantileNormalizer):
        return {"check_transformer_general": OTHER_SIZES}
    if isinstance(estimator, dk.KernelKMeans) and precomputed:
        return dict.fromkeys(OTHER_ROWS, NEEDS_DIAGONAL) | {"check_clustering": NOT_KERNEL_VALUES}
    if isinstance(estimator, dk.KernelKMeans):
        return dict.fromkeys(WEIGHTS, SEEDS_BY_POSITION)
    return {}


@pytest.mark.filterwarnings("ignore:.*tie.* all features")  # some checks pass samples of zeros
@parametrize_with_checks(EVERYDAY, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*tie.* all features")
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_failures)
def test_scikit_learn_check_of_other_parameters(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_every_public_estimator_can_be_saved(cls):
    from distkern.learners.persist import estimators

    assert estimators()[cls.__name__] is cls


def test_all_estimators_are_found():
    assert len(PUBLIC) >= 13
    assert {type(estimator) for estimator in ESTIMATORS} == {CHECKED.get(cls, cls) for cls in PUBLIC}
