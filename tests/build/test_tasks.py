"""Tasks: they refuse changed data and other stores, and never store numbers beyond range."""

import numpy as np
import pytest

from distkern import (
    InputError,
    Kendall,
    Linear,
    StoreMismatchError,
    compute_gram,
    open_gram,
)
from distkern.build import tasks
from distkern.kernels.kendall import Concordance
from distkern.store.tiles import GramStore

X = np.random.default_rng(0).normal(size=(20, 30))


def test_data_that_change_after_validation_are_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    create = GramStore.create.__func__

    def change_then_create(cls, *args, **kwargs):
        np.save(tmp_path / "x.npy", X + 1)
        return create(cls, *args, **kwargs)

    monkeypatch.setattr(GramStore, "create", classmethod(change_then_create))
    with pytest.raises(StoreMismatchError, match="not the samples that were checked"):
        compute_gram(Kendall(), tmp_path / "x.npy", store=tmp_path / "k.zarr")


def test_task_does_not_write_into_a_store_that_replaced_its_own(tmp_path, monkeypatch):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=10)
    old = GramStore.opened(tmp_path / "k.zarr")
    stale = tasks.TileTask(
        old.path, old.manifest.id, Concordance(), 0, 1, *(tuple(sums) for sums in old.rows.checksums().tolist())
    )
    tasks.compute_tile(stale)
    tile = Concordance.tile

    def replaced_meanwhile(self, A, B):
        monkeypatch.undo()
        compute_gram(Kendall(), -X[::-1], store=tmp_path / "k.zarr", tile=10, overwrite=True)
        return tile(self, A, B)

    monkeypatch.setattr(Concordance, "tile", replaced_meanwhile)
    with pytest.raises(StoreMismatchError, match="was replaced by another store"):
        tasks.compute_tile(stale)
    assert open_gram(tmp_path / "k.zarr").verify() == []


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize(
    ("kernel", "scale", "dtype", "said"),
    [
        (Linear(), 1e200, "float64", "scale the data down"),
        (Linear() ** 50, 1e10, "float64", "so scale them"),
        (Linear(), 1e25, "float32", "or use dtype='float64'"),
    ],
)
def test_numbers_beyond_range_are_never_stored(tmp_path, kernel, scale, dtype, said):
    with pytest.raises(InputError, match=said):
        compute_gram(kernel, X * scale, store=tmp_path / "k.zarr", dtype=dtype)
    if kernel != Linear() or dtype == "float32":  # other numbers are refused before there is a store
        assert not open_gram(tmp_path / "k.zarr").is_complete
    else:
        assert not (tmp_path / "k.zarr").exists()
