"""Table 2 and figure 2 on small artificial cohorts: one that is cross-validated, and one with a test set."""

from pathlib import Path

import numpy as np
import pytest

from distkern import (
    ArrayGram,
    Gaussian,
    InputError,
    Kendall,
    KernelStandardizer,
    KernelSVC,
    Linear,
    Polynomial,
    cross_validate_gram,
)
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.reproduce import TABLES, cancer_cohorts, published
from distkern.reproduce.cancer_cohorts import KERNELS, accuracies, at_hand, load, sensitivities
from distkern.reproduce.kendall_accuracy import Cohort
from distkern.reproduce.tables import read_rows

COMMITTED = Path(__file__).parents[2] / "docs" / "figures" / "kendall-accuracy-random.csv"


def simulated(rng, classes, shift=1.0):
    """Samples of 30 features, some of which are higher in the second class."""
    counts, y = list(classes), np.repeat(["no", "yes"], classes)
    X = rng.normal(size=(sum(counts), 30))
    X[y == "yes", :6] += shift
    return X, y


def median_distance(X):
    return np.median([np.linalg.norm(a - b) for i, a in enumerate(X) for b in X[:i]])


@pytest.fixture
def data(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = simulated(rng, (13, 8))
    np.savez(tmp_path / "PC2.npz", X=X, y=y)
    X, y = simulated(rng, (14, 12), 2.0)
    X_test, y_test = simulated(rng, (4, 6), 2.0)
    np.savez(tmp_path / "breast1_vantveer.npz", X=X, y=y, X_test=X_test, y_test=y_test)
    small = {
        "PC2": Cohort("cross-validated", 30, (("non-relapse", 13, 0), ("relapse", 8, 0))),
        "BC1": Cohort("with a test set", 30, (("non-relapse", 14, 4), ("relapse", 12, 6))),
    }
    monkeypatch.setattr(cancer_cohorts, "COHORTS", cancer_cohorts.COHORTS | small)
    monkeypatch.setattr(cancer_cohorts, "KERNELS", {name: KERNELS[name] for name in ("kdt", "rbf")})
    monkeypatch.setattr(cancer_cohorts, "GRID", (0.1, 1.0, 10.0))
    return tmp_path


def test_there_is_a_row_for_every_classifier_and_kernel(data):
    rows = list(accuracies(data=data, cohorts=["PC2"], repeats=2, seed=1))
    assert [row["method"] for row in rows] == [
        f"{classifier}{kernel}ALL" for kernel in ("kdt", "rbf") for classifier in ("SVM", "KFD")
    ]
    assert [row["paper"] for row in rows] == [published("PC2", row["method"]) for row in rows]
    samples = load("PC2", data)
    for method, kernel, model, C in (
        ("SVMkdtALL", Kendall("b"), None, cancer_cohorts.GRID),
        (
            "KFDrbfALL",
            Gaussian(median_distance(samples.X) / np.sqrt(2)),
            cancer_cohorts.make_pipeline(KernelStandardizer(), KernelFisherDiscriminant(threshold=0.0)),
            None,
        ),
    ):
        row = next(row for row in rows if row["method"] == method)
        expected = 100 * cross_validate_gram(model, kernel(samples.X), samples.y, C=C, repeats=2, seed=1).repeat_means()
        np.testing.assert_allclose([row["repeat_1"], row["repeat_2"]], expected)
        assert row["ours"] == pytest.approx(expected.mean())
        assert row["std"] == pytest.approx(expected.std(ddof=1))


def test_a_test_set_is_used_for_testing_only(data):
    rows = list(accuracies(data=data, cohorts=["BC1"], repeats=3))
    samples = load("BC1", data)
    assert len(samples.train) == 26
    train, test = samples.train, samples.test
    kernel = Gaussian(median_distance(samples.X[train]) / np.sqrt(2))
    scaler = KernelStandardizer()
    fitted = scaler.fit_transform(ArrayGram(kernel(samples.X))[np.ix_(train, train)])
    model = KernelFisherDiscriminant(threshold=0.0).fit(fitted, samples.y[train])
    right = model.score(scaler.transform(ArrayGram(kernel(samples.X))[np.ix_(test, train)]), samples.y[test])
    row = next(row for row in rows if row["method"] == "KFDrbfALL")
    assert row["ours"] == pytest.approx(100 * right)
    assert "repeat_2" not in row  # no choice is random
    assert row["chance"] == 10.0  # one of ten samples
    svm = next(row for row in rows if row["method"] == "SVMkdtALL")
    assert "repeat_3" in svm
    assert all(svm[f"repeat_{number}"] % 10 == pytest.approx(0, abs=1e-9) for number in (1, 2, 3))


def test_the_relapses_of_breast_cancer_1_come_first(data):
    """As in the copy that the paper used: the authors' folds go by position."""
    samples = load("BC1", data)
    with np.load(data / "breast1_vantveer.npz") as file:
        X, y, X_test, y_test = (file[name] for name in ("X", "y", "X_test", "y_test"))
    rare = min(set(y), key=list(y).count)
    order = [k for k in range(26) if y[k] == rare] + [k for k in range(26) if y[k] != rare]
    assert len(order) == 26
    np.testing.assert_array_equal(samples.X, np.vstack([X[order], X_test]))
    np.testing.assert_array_equal(samples.y, [*y[order], *y_test])


def test_the_sensitivities_have_a_row_for_every_C(data):
    rows = list(sensitivities(data=data, cohorts=["PC2", "BC1"], repeats=2))
    assert [(row["cohort"], row["kernel"], row["C"]) for row in rows] == [
        (cohort, kernel, C) for cohort in ("PC2", "BC1") for kernel in ("kdt", "rbf") for C in (0.1, 1.0, 10.0)
    ]
    samples, row = load("PC2", data), rows[2]
    model = cancer_cohorts.make_pipeline(KernelStandardizer(), KernelSVC(C=10.0))
    expected = cross_validate_gram(model, Kendall("b")(samples.X), samples.y, C=None, repeats=2)
    assert row["accuracy"] == pytest.approx(100 * expected.mean("accuracy"))
    on_test = [row for row in rows if row["cohort"] == "BC1"]
    assert not any("repeat_2" in row for row in on_test)


def test_the_largest_difference_due_to_chance_follows_student_t():
    """Student's t with r − 1 degrees of freedom, on the difference of means of r and of 10 repetitions."""
    row = cancer_cohorts._beside("CT", "SVMkdtALL", np.array([84.0, 86.0, 88.0, 86.0]))
    assert row["std"] == pytest.approx(np.sqrt(8 / 3))
    assert row["chance"] == pytest.approx(5.8409 * np.sqrt(8 / 3) * np.sqrt(1 / 4 + 1 / 10), rel=1e-4)
    assert (row["difference"], row["within"]) == (0.22, "yes")
    assert cancer_cohorts._beside("CT", "SVMkdtALL", np.array([70.0, 70.1, 69.9, 70.0]))["within"] == "no"
    alone = cancer_cohorts._beside("CT", "SVMkdtALL", np.array([86.0]))
    assert (alone["chance"], alone["within"]) == (None, None)
    one_less = cancer_cohorts._beside("PC1", "SVMkdtALL", np.array([100 * 33 / 34]))
    assert (one_less["difference"], one_less["within"]) == (-2.94, "yes")
    assert cancer_cohorts._beside("PC1", "SVMkdtALL", np.array([100 * 32 / 34]))["within"] == "no"


def test_kernels_and_grid_are_those_of_the_paper():
    assert list(KERNELS.values()) == [Kendall("b"), Linear(), Polynomial(2, 0.0), Gaussian("median")]
    assert cancer_cohorts.GRID == (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


def test_the_cohorts_of_the_package_are_those_of_table_1():
    for name, shape in (("CT", (62, 2000)), ("MB", (60, 7129))):
        samples = load(name)
        assert samples.X.shape == shape
        assert len(samples.test) == 0
    assert at_hand(None) == ("CT", "MB")


def test_the_ovarian_spectra_are_scaled():
    X = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, 4.0], [2.0, 5.0, 8.0]])
    np.testing.assert_allclose(cancer_cohorts._scaled(X), [[0, 0, 0], [1, 0, 1 / 3], [0.5, 0, 1]])


def test_missing_and_wrong_data_are_refused(data, tmp_path):
    assert at_hand(data) == ("BC1", "CT", "MB", "PC2")
    with pytest.raises(InputError, match="no cohort 'BC9'"):
        load("BC9")
    with pytest.raises(InputError, match="does not ship with distkern: give the folder"):
        load("OC")
    with pytest.raises(InputError, match=r"there is no file '.*ovarian_petricoin\.npz'"):
        load("OC", tmp_path)
    arrays = dict(np.load(data / "PC2.npz"))
    np.savez(data / "PC2.npz", X=arrays["X"][1:], y=arrays["y"][1:])
    with pytest.raises(InputError, match=r"the data of PC2 are not those of table 1: 30 features and .*\(12, 0\)"):
        load("PC2", data)


def test_the_registry_finds_every_function():
    for table in TABLES.values():
        assert table.name == "kendall-wilcoxon" or {"repeats", "quick"} & set(table.options())
        assert table.source.startswith(("Jiao", "Zhou", "Kondor", "Cuturi", "Suquan", "van de Vijver", "Novershtern"))


def test_the_committed_table_agrees_with_table_2(monkeypatch):
    rows = read_rows(COMMITTED)
    cells = {(row["cohort"], row["method"]): row for row in rows}
    assert len(cells) == len(rows) == 8 * len({row["cohort"] for row in rows})
    for (cohort, method), row in cells.items():
        values = np.array([float(value) for name, value in row.items() if name.startswith("repeat_") and value])
        again = cancer_cohorts._beside(cohort, method, values)
        assert float(row["paper"]) == published(cohort, method)
        assert float(row["ours"]) == pytest.approx(again["ours"], abs=1e-3)
        assert row["within"] == again["within"]
    assert [cell for cell, row in cells.items() if row["within"] == "no"] == [
        ("BC1", "SVMlinearALL"),
        ("CT", "SVMrbfALL"),
    ]
    # Fisher's discriminant has no C to choose: one repetition computed now agrees with the table up to two samples
    monkeypatch.setattr(cancer_cohorts, "KERNELS", {"kdt": KERNELS["kdt"]})
    (_, now) = accuracies(cohorts=["CT"], repeats=1)
    assert float(cells["CT", "KFDkdtALL"]["repeat_1"]) == pytest.approx(now["repeat_1"], abs=100 * 2.1 / 62)
