"""Every estimator passes scikit-learn's own checks; each exception states its reason."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.decomposition import KernelPCA
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.kmeans import KernelKMeans
from distkern.learners.mixture import MallowsMixture
from distkern.learners.rank_svm import RankSVM, SGDRanker
from distkern.learners.ranker_search import MLSRRankerCV
from distkern.learners.ranking import LSRRanker, MLSRRanker
from distkern.learners.ridge import KernelRidge
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.learners.svr import KernelSVR

NEEDS_DIAGONAL = (
    "the check transforms other rows than the training matrix as a bare array, which does not hold k(x, x) of its "
    "rows: unit norm and distances ask for it then, as documented"
)

SOLVER_TOLERANCE = (
    "the check wants weights and repetitions to agree to 1e-7, and the solver stops at tol=1e-3; with tol=1e-9, as in "
    "the next estimator of the list, they do"
)

NOT_SYMMETRIC = (
    "the check gives a precomputed kernel a matrix that is not symmetric, which is told before the one label is"
)
NOT_A_GRAM_MATRIX = (
    "the check cuts a kernel matrix to whole numbers or takes its mean from it, which leaves no positive semidefinite "
    "one: that is refused"
)
NO_PAIRS = "the check gives samples as they are to an estimator that says it takes kernel values"

SEEDS_BY_PLACE = (
    "the check reorders the samples, and a random state draws other seeds from other places, as in scikit-learn's "
    "KMeans; in the same order repeated samples and their weights agree (tests/learners/test_kmeans.py)"
)

TIES = "the check gives samples whose features are tied, which are no total rankings and have no probability"

NO_RANKINGS = "the check wants blobs of points found, and a ranking of two items knows only which of them is larger"

ESTIMATORS = [
    KernelSVC(),
    KernelSVC(kernel=Linear()),
    KernelSVC(kernel=Gaussian(sigma=1.0), tol=1e-9),
    KernelFisherDiscriminant(),
    KernelFisherDiscriminant(kernel=Gaussian(sigma=1.0), solver="direct"),
    KernelPCA(n_components=2),
    KernelPCA(n_components=1, kernel=Linear(), eigen_solver="lanczos"),
    KernelKMeans(3),
    KernelKMeans(3, kernel=Linear(), n_init=2),
    MallowsMixture(2, n_init=2),
    KernelSVC(multi_class="ovr"),
    KernelSVR(),
    KernelSVR(kernel=Gaussian(sigma=1.0), tol=1e-9),
    KernelStandardizer(),
    KernelStandardizer(unit_norm=False),
    KernelStandardizer(kernel=Linear()),
    KernelRidge(),
    KernelRidge(kernel=Gaussian(sigma=1.0), solver="cg", tol=1e-10),
    LSRRanker(),
    LSRRanker(kernel=Linear()),
    MLSRRanker(),
    MLSRRanker(kernels=[Gaussian(sigma=1.0), Linear()], weights=[1.0, 2.0]),
    RankSVM(),
    RankSVM(kernel=Gaussian(sigma=1.0)),
    RankSVM(kernel=Linear(), loss="squared_hinge"),
    SGDRanker(kernel=Gaussian(sigma=1.0)),
    MLSRRankerCV(kernels=[Gaussian(sigma=1.0), Gaussian(sigma=3.0)], lams=[0.01, 1.0]),
]


def expected_failures(estimator):
    if isinstance(estimator, KernelStandardizer) and estimator.kernel == "precomputed" and estimator.unit_norm:
        return {
            "check_fit_idempotent": NEEDS_DIAGONAL,
            "check_methods_subset_invariance": NEEDS_DIAGONAL,
            "check_methods_sample_order_invariance": NEEDS_DIAGONAL,
        }
    if isinstance(estimator, KernelSVC) and estimator.kernel == Linear():
        return {
            "check_sample_weight_equivalence_on_dense_data": SOLVER_TOLERANCE,
            "check_sample_weight_equivalence_on_sparse_data": SOLVER_TOLERANCE,
        }
    if isinstance(estimator, KernelFisherDiscriminant) and estimator.kernel == "precomputed":
        return {"check_classifiers_one_label_sample_weights": NOT_SYMMETRIC}
    if isinstance(estimator, (KernelRidge, LSRRanker)) and estimator.kernel == "precomputed":
        names = ["check_estimators_dtypes"]
        if isinstance(estimator, KernelRidge):
            names.append("check_positive_only_tag_during_fit")
        return dict.fromkeys(names, NOT_A_GRAM_MATRIX)
    if isinstance(estimator, MallowsMixture):
        return {
            "check_estimators_dtypes": TIES,
            "check_sample_weights_pandas_series": TIES,
            "check_sample_weights_not_an_array": TIES,
            "check_sample_weights_shape": TIES,
            "check_sample_weights_not_overwritten": TIES,
            "check_clustering": NO_RANKINGS,
        }
    if isinstance(estimator, KernelKMeans):
        if estimator.kernel == Linear():
            return {
                "check_sample_weight_equivalence_on_dense_data": SEEDS_BY_PLACE,
                "check_sample_weight_equivalence_on_sparse_data": SEEDS_BY_PLACE,
            }
        return {
            "check_clustering": NO_PAIRS,
            "check_fit_idempotent": NEEDS_DIAGONAL,
            "check_methods_subset_invariance": NEEDS_DIAGONAL,
            "check_methods_sample_order_invariance": NEEDS_DIAGONAL,
        }
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
