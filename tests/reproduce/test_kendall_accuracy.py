import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.reproduce.kendall_accuracy import COHORTS, DATASETS, METHODS, citation, published, published_average


def test_the_table_is_complete():
    assert len(METHODS) == 14
    assert DATASETS == ("BC1", "BC2", "BC3", "CT", "LA1", "LC2", "MB", "OC", "PC1", "PC2")
    values = np.array([[published(dataset, method) for dataset in DATASETS] for method in METHODS])
    assert values.shape == (14, 10)
    assert ((values > 25) & (values <= 100)).all()


def test_the_numbers_of_the_colon_cohort():
    assert published("CT", "SVMkdtALL") == 85.78
    assert published("CT", "SVMlinearALL") == 86.73
    assert published("CT", "kTSP") == 87.23


@pytest.mark.parametrize("method", METHODS)
def test_the_published_average_is_the_mean_of_the_columns(method):
    mean = np.mean([published(dataset, method) for dataset in DATASETS])
    assert published_average(method) == pytest.approx(mean, abs=0.0051)  # printed with two decimals


def test_methods_are_sorted_by_average():
    averages = [published_average(method) for method in METHODS]
    assert averages == sorted(averages, reverse=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dataset", [name for name in DATASETS if not COHORTS[name].cross_validated])
def test_accuracies_on_a_test_set_are_whole_numbers_of_samples(dataset, method):
    right = published(dataset, method) / 100 * COHORTS[dataset].test_samples
    assert right == pytest.approx(round(right), abs=0.01)


def test_three_cohorts_have_a_test_set():
    assert {name: cohort.test_samples for name, cohort in COHORTS.items() if not cohort.cross_validated} == {
        "BC1": 19,
        "LC2": 149,
        "PC1": 34,
    }
    assert COHORTS["CT"].test_samples == 0


def test_the_colon_cohort_is_that_of_the_package():
    from distkern.datasets import load_colon

    X, y = load_colon(return_X_y=True)
    assert X.shape == (62, COHORTS["CT"].features)
    assert {name: int((y == name).sum()) for name, _, _ in COHORTS["CT"].classes} == {"tumour": 40, "normal": 22}


def test_an_unknown_name_is_refused_with_the_known_names():
    with pytest.raises(InputError, match=r"'colon'.*BC1, BC2.*CT"):
        published("colon", "SVMkdtALL")
    for lookup in (lambda: published("CT", "SVM"), lambda: published_average("SVM"), lambda: citation("SVM")):
        with pytest.raises(InputError, match=r"'SVM'.*SVMkdtALL"):
            lookup()
