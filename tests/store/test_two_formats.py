"""Stores of format 1 and of format 2 side by side: each one keeps the digests that it has."""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fixed_cohorts import numbers

import distkern as dk
from distkern.io.digests import dense_digests, sample_digests
from distkern.store.tiles import GramStore

ARCHIVE = Path(__file__).parent / "data" / "version-1.zip"
NO_LOOSER = {"executor": "serial", "progress": False}

TIED = (numbers(21, 12, 7) % 4).astype(float) + np.eye(12, 7) * 9
NEW = (numbers(22, 5, 7) % 4).astype(float) + np.eye(5, 7) * 9
NAMED = pd.DataFrame(TIED, [f"patient {row}" for row in range(12)], [f"GENE{column}" for column in range(7)])
"""Cohorts of ``test_version_1.py``, of which the archive was made."""


@pytest.fixture
def stores(tmp_path):
    zipfile.ZipFile(ARCHIVE).extractall(tmp_path)
    return tmp_path


def kept(path):
    store = GramStore.opened(str(path))
    return store.manifest.format, store.rows.all_digests()


def test_a_new_store_has_digests_that_leave_zeros_out(tmp_path):
    dk.compute_gram(dk.Kendall(ties="b"), NAMED, store=tmp_path / "new.zarr", **NO_LOOSER)
    number, digests = kept(tmp_path / "new.zarr")
    assert number == 2
    np.testing.assert_array_equal(digests, sample_digests(TIED))


def test_one_of_format_1_keeps_its_format_and_its_digests_when_it_is_completed_and_when_it_grows(stores):
    dk.compute_gram(dk.Kendall(ties="b"), NAMED, store=stores / "interrupted.zarr", **NO_LOOSER)
    dk.append_gram(stores / "growing.zarr", NEW, **NO_LOOSER)
    for name, samples in (("interrupted", TIED), ("growing", np.concatenate([TIED, NEW]))):
        number, digests = kept(stores / f"{name}.zarr")
        assert number == 1
        np.testing.assert_array_equal(digests, dense_digests(samples))


def test_a_sample_that_changed_is_found_in_both(stores):
    gram = dk.compute_gram(dk.Kendall(ties="b"), NAMED, store=stores / "new.zarr", **NO_LOOSER)
    changed = NAMED.copy()
    changed.iloc[7, 2] += 9
    for path in (gram.path, stores / "ordered.zarr"):
        with pytest.raises(dk.StoreMismatchError, match="fingerprint: stored"):
            dk.compute_gram(dk.Kendall(ties="b"), changed, store=path, **NO_LOOSER)


def test_a_model_of_one_takes_the_matrix_of_the_other(stores):
    """Their digests cannot be compared, so that only kernels, views and names are."""
    old = dk.open_gram(stores / "ordered.zarr")
    new = dk.compute_gram(dk.Kendall(ties="b"), NAMED, store=stores / "new.zarr", **NO_LOOSER)
    y = np.arange(12.0) % 5
    for first, second in ((old, new), (new, old)):
        model = dk.KernelRidge().fit(first.centered(), y)
        np.testing.assert_allclose(model.predict(second.centered()), model.predict(first.centered()), rtol=1e-12)
