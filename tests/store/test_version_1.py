"""Stores that an earlier version wrote, of format 1: they open, go on where they were interrupted, and grow.

``data/version-1.zip`` was written by the code of November 2026, from the cohorts below.
"""

import zipfile
from pathlib import Path

import naive
import numpy as np
import pandas as pd
import pytest
from fixed_cohorts import BAGS, X, numbers, sparse_counts

import distkern as dk

ARCHIVE = Path(__file__).parent / "data" / "version-1.zip"
NO_LOOSER = {"executor": "serial", "progress": False}

TIED = (numbers(21, 12, 7) % 4).astype(float) + np.eye(12, 7) * 9
NEW = (numbers(22, 5, 7) % 4).astype(float) + np.eye(5, 7) * 9
ALL = np.concatenate([TIED, NEW])
EQUAL = TIED[numbers(23, 30) % 6]
NAMED = pd.DataFrame(TIED, [f"patient {row}" for row in range(12)], [f"GENE{column}" for column in range(7)])


@pytest.fixture
def stores(tmp_path):
    zipfile.ZipFile(ARCHIVE).extractall(tmp_path)
    return tmp_path


def twin(k, rows, cols=None):
    return np.array([[k(list(x), list(y)) for y in (rows if cols is None else cols)] for x in rows])


def tau_b(x, y):
    return naive.kendall(x, y, "b")


def median_gaussian(x, y):
    distances = [np.linalg.norm(a - b) for i, a in enumerate(X[5:]) for b in X[5:][:i]]
    return naive.gaussian(x, y, float(np.median(distances)))


VALUES = {
    "ordered": lambda: twin(tau_b, TIED),
    "rectangular": lambda: twin(median_gaussian, X[:5], X[5:]),
    "grown": lambda: twin(naive.kendall, ALL),
    "equal": lambda: twin(naive.kendall, EQUAL),
    "sparse": lambda: twin(naive.kendall, sparse_counts(8, 26, 120).toarray()[:5], sparse_counts(8, 26, 120).toarray()),
    "sum": lambda: twin(lambda x, y: naive.kendall(x, y) + 0.5 * naive.gaussian(x, y, 1.0), X),
}


@pytest.mark.parametrize("name", VALUES)
def test_they_open_with_the_values_of_the_naive_twin(stores, name):
    gram = dk.open_gram(stores / f"{name}.zarr")
    assert gram.is_complete
    assert gram.verify(progress=False) == []
    expected, tolerance = VALUES[name](), 1e-6 if name == "rectangular" else 1e-12
    np.testing.assert_allclose(gram.to_numpy()[: len(expected)], expected, rtol=tolerance)


def test_names_of_samples_and_features_and_the_log_of_runs_are_read(stores):
    gram = dk.open_gram(stores / "ordered.zarr")
    assert gram.ids == tuple(NAMED.index)
    assert gram.features == tuple(NAMED.columns)
    assert [run["state"] for run in gram.info()["runs"]] == ["finished"]


def test_an_interrupted_one_is_completed_with_the_bytes_of_one_that_was_not(stores):
    path = stores / "interrupted.zarr"
    assert not dk.open_gram(path).is_complete
    dk.compute_gram(dk.Kendall(ties="b"), NAMED, store=path, **NO_LOOSER)
    assert dk.open_gram(path).verify(progress=False) == []
    for part in ("gram", "rows/prepared"):
        for file in (stores / "ordered.zarr" / part).rglob("*"):
            other = path / file.relative_to(stores / "ordered.zarr")
            assert file.is_dir() or file.read_bytes() == other.read_bytes(), file


def test_one_that_was_interrupted_while_it_grew_is_completed(stores):
    gram = dk.append_gram(stores / "growing.zarr", NEW, **NO_LOOSER)
    np.testing.assert_array_equal(gram.to_numpy(), dk.open_gram(stores / "grown.zarr").to_numpy())
    assert gram.verify(progress=False) == []


def test_it_grows(stores):
    frame = pd.DataFrame(NEW, [f"patient {row}" for row in range(12, 17)], NAMED.columns)
    gram = dk.append_gram(stores / "ordered.zarr", frame, **NO_LOOSER)
    np.testing.assert_allclose(gram.to_numpy(), twin(tau_b, ALL), rtol=1e-12)
    assert gram.ids == (*NAMED.index, *frame.index)


def test_landmarks_and_true_entries_are_read_and_an_interrupted_one_is_completed(stores):
    gram = dk.open_gram(stores / "landmarks.zarr")
    expected = twin(lambda x, y: naive.gaussian(x, y, 0.7), X)
    np.testing.assert_allclose(gram.part.to_numpy(), expected[:, gram.landmarks], rtol=1e-12)
    off = np.abs(gram.to_numpy() - expected)[~np.eye(14, dtype=bool)]
    assert gram.error().largest == pytest.approx(off.max(), rel=1e-9)
    asked = {"landmarks": 4, "landmark_choice": "kmeans++", "landmark_seed": 3}
    again = dk.compute_gram(dk.Gaussian(0.7), X, store=stores / "landmarks-interrupted.zarr", **asked, **NO_LOOSER)
    assert again.is_complete
    np.testing.assert_array_equal(again.to_numpy(), gram.to_numpy())


def test_bags_are_read_and_compared_with_new_ones(stores):
    gram = dk.open_gram(stores / "bags.zarr")
    np.testing.assert_allclose(gram.to_numpy(), dk.MeanMap(dk.Gaussian(0.5))(BAGS), rtol=1e-12)
    np.testing.assert_allclose(gram.cross(BAGS).to_numpy(), gram.to_numpy(), rtol=1e-12)


def test_another_computation_in_its_place_is_refused(stores):
    with pytest.raises(dk.StoreMismatchError, match="holds another computation"):
        dk.compute_gram(dk.Kendall(ties="b"), NAMED + np.eye(12, 7), store=stores / "ordered.zarr", **NO_LOOSER)
