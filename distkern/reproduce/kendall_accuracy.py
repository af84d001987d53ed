"""Tables 1 and 2 of Jiao & Vert: the published accuracies of classifiers on ten cancer cohorts.

The protocol of the paper: every kernel is centred on the training samples and scaled to unit norm; an inner 5-fold
cross-validation chooses C of the support vector machines from 10⁻², …, 10³; the accuracy is averaged over 5 folds
repeated 10 times, or for BC1, LC2 and PC1 measured once on a test set of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

from distkern.core.errors import InputError


@dataclass(frozen=True)
class Cohort:
    """A data set of table 1.

    Parameters
    ----------
    title
        Name of the data set.
    features
        Number of features, before any preprocessing.
    classes
        Both classes, each with its numbers of training and test samples. Without a test set the latter is 0, and the
        published accuracies were cross-validated.
    """

    title: str
    features: int
    classes: tuple[tuple[str, int, int], tuple[str, int, int]]

    @property
    def cross_validated(self) -> bool:
        """Whether the published accuracy is a mean over 50 folds, and not that of one test set."""
        return not any(test for _, _, test in self.classes)

    @property
    def test_samples(self) -> int:
        """Number of samples of the test set; 0 without a test set."""
        return sum(test for _, _, test in self.classes)


COHORTS = {
    "BC1": Cohort("Breast cancer 1", 23624, (("non-relapse", 44, 7), ("relapse", 32, 12))),
    "BC2": Cohort("Breast cancer 2", 22283, (("non-relapse", 142, 0), ("relapse", 56, 0))),
    "BC3": Cohort("Breast cancer 3", 22283, (("poor prognosis", 71, 0), ("good prognosis", 138, 0))),
    "CT": Cohort("Colon tumour", 2000, (("tumour", 40, 0), ("normal", 22, 0))),
    "LA1": Cohort("Lung adenocarcinoma 1", 7129, (("poor prognosis", 24, 0), ("good prognosis", 62, 0))),
    "LC2": Cohort("Lung cancer 2", 12533, (("ADCA", 16, 134), ("MPM", 16, 15))),
    "MB": Cohort("Medulloblastoma", 7129, (("failure", 39, 0), ("survivor", 21, 0))),
    "OC": Cohort("Ovarian cancer", 15154, (("cancer", 162, 0), ("normal", 91, 0))),
    "PC1": Cohort("Prostate cancer 1", 12600, (("normal", 50, 9), ("tumour", 52, 25))),
    "PC2": Cohort("Prostate cancer 2", 12600, (("non-relapse", 13, 0), ("relapse", 8, 0))),
}
"""Table 1, by the abbreviations of table 2."""

DATASETS = tuple(COHORTS)
"""Columns of table 2."""

_TABLE = """
SVMkdtALL     78.95  71.31  67.34  85.78  70.98  97.99  63.67  99.48  100    58.40  79.39
SVMlinearTOP  84.21  69.29  67.11  84.19  63.92  97.32  65.17  99.41  85.29  55.70  77.16
SVMlinearALL  78.95  71.67  64.27  86.73  70.23  97.99  62.67  99.64  73.53  55.17  76.09
SVMkdtTOP     52.63  70.61  65.81  85.46  67.70  97.99  58.33  99.92  97.06  59.47  75.50
SVMpolyALL    68.42  71.62  63.66  78.43  70.53  98.66  61.17  99.28  79.41  54.23  74.54
KFDkdtALL     63.16  59.41  67.22  85.46  59.08  99.33  59.33  98.73  97.06  54.57  74.33
kTSP          57.89  58.22  64.47  87.23  61.70  97.99  56.00  99.92  100    56.83  74.03
SVMpolyTOP    63.16  69.44  66.26  79.14  65.98  99.33  60.00  99.21  88.24  49.10  73.99
KFDlinearALL  63.16  60.43  67.52  77.26  57.24  97.99  59.50  100    73.53  61.43  71.81
KFDpolyALL    63.16  60.48  67.38  75.10  58.52  97.99  60.33  100    73.53  57.43  71.39
TSP           68.42  49.58  57.80  85.61  58.96  95.97  52.67  99.80  76.47  51.83  69.71
SVMrbfALL     63.16  71.41  65.87  81.18  70.84  93.96  63.83  98.85  26.47  57.50  69.31
KFDrbfALL     63.16  60.48  66.03  83.71  58.73  97.32  59.67  98.46  26.47  49.87  66.39
APMV          84.21  65.98  33.96  64.49  33.60  89.93  42.17  85.19  73.53  46.00  61.91
"""

_ROWS = {line.split()[0]: tuple(map(float, line.split()[1:])) for line in _TABLE.strip().splitlines()}

METHODS = tuple(_ROWS)
"""Rows of table 2, best average first. The middle of a name is the kernel (kdt: Kendall; linear; poly: homogeneous of
degree 2; rbf: Gaussian with the median bandwidth), the end the features: all, or those in the top scoring pairs."""


def published(dataset: str, method: str) -> float:
    """Return a published accuracy of table 2, in per cent.

    Parameters
    ----------
    dataset
        A key of `COHORTS`, such as ``"CT"`` for the colon tumours.
    method
        One of `METHODS`, such as ``"SVMkdtALL"`` for the support vector machine with the Kendall kernel on all
        features.

    Raises
    ------
    InputError
        If the table has no such column or row.

    Examples
    --------
    >>> published("CT", "SVMkdtALL"), published("CT", "SVMlinearALL")
    (85.78, 86.73)
    """
    if dataset not in COHORTS:
        raise InputError(f"table 2 of Jiao & Vert has no data set {dataset!r}; it has {', '.join(DATASETS)}")
    return _row(method)[DATASETS.index(dataset)]


def published_average(method: str) -> float:
    """Return the published average over the ten data sets, in per cent.

    Raises
    ------
    InputError
        If the table has no such row.

    Examples
    --------
    >>> published_average("SVMkdtALL")
    79.39
    """
    return _row(method)[-1]


def citation(method: str) -> str:
    """Return the source of a number of table 2.

    Raises
    ------
    InputError
        If the table has no such row.

    Examples
    --------
    >>> citation("SVMkdtALL")
    'SVMkdtALL in table 2 of Jiao & Vert (2015)'
    """
    _row(method)
    return f"{method} in table 2 of Jiao & Vert (2015)"


def _row(method: str) -> tuple[float, ...]:
    if method not in _ROWS:
        raise InputError(f"table 2 of Jiao & Vert has no method {method!r}; it has {', '.join(METHODS)}")
    return _ROWS[method]
