import math
import shutil
from collections import namedtuple

import numpy as np
import pytest

from distkern import (
    Gaussian,
    InputError,
    Kendall,
    MemoryLimitError,
    Serial,
    Threads,
    append_gram,
    compute_gram,
    plan_gram,
)
from distkern.build.plan import LARGEST_SIDE
from distkern.build.validate import validate
from distkern.engine.memory import USABLE

X = np.random.default_rng(0).normal(size=(40, 100))


def test_states_what_the_computation_takes(tmp_path):
    plan = plan_gram(Kendall(ties="b"), X, executor="serial", tile=16)
    assert (plan.tiles, plan.tile, plan.shape, plan.n_features) == (6, 16, (40, 40), 100)
    assert plan.kernel == {"kernel": "kendall", "ties": "b"}
    assert "6 tiles of side 16, upper triangle" in str(plan)
    compute_gram(Kendall(ties="b"), X, store=tmp_path / "k.zarr", executor="serial", tile=16)
    chunks = [file.stat().st_size for file in (tmp_path / "k.zarr").rglob("c/**/*") if file.is_file()]
    assert sum(chunks) == pytest.approx(plan.bytes_stored, rel=0.2)


def test_resolves_what_the_kernel_takes_from_the_data():
    assert plan_gram(Gaussian("median"), X).kernel["sigma"] == Gaussian("median").resolve(X).sigma


def test_fewer_samples_are_measured_where_each_takes_much_memory(monkeypatch):
    usual = validate(Gaussian(1.0), X, None, None, "error").sample
    monkeypatch.setattr("distkern.build.validate.MEASURED_BYTES", 3 * usual.nbytes // len(usual))
    few = validate(Gaussian(1.0), X, None, None, "error").sample
    assert (len(usual), len(few)) == (16, 3)
    assert plan_gram(Gaussian(1.0), X, tile=8).bytes_per_task > 0


def test_there_are_tiles_for_every_worker():
    assert plan_gram(Kendall(), X, executor=4).tiles >= 4


def test_a_plan_for_workers_that_are_not_there():
    few, many = plan_gram(Kendall(), X, workers=1), plan_gram(Kendall(), X, workers=100, memory_limit="1GiB")
    assert (few.workers, many.workers) == (1, 100)
    assert many.tiles > 100 > few.tiles
    assert many.elapsed == pytest.approx(many.seconds * math.ceil(many.tiles / 100) / many.tiles)
    assert many.worker_hours == pytest.approx(many.elapsed * 100 / 3600)
    assert many.bytes_per_worker > many.bytes_per_task
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(InputError, match="workers must be a whole number"):
            plan_gram(Kendall(), X, workers=wrong)


def test_memory_limits_the_tile_side():
    X = np.random.default_rng(0).normal(size=(400, 100))
    roomy = plan_gram(Kendall(), X, executor="serial")
    tight = plan_gram(Kendall(), X, executor="serial", memory_limit=1_000_000)
    assert tight.tile < roomy.tile
    assert tight.bytes_per_task <= 1_000_000
    assert plan_gram(Kendall(), X, executor=2, memory_limit=2_000_000).bytes_per_task <= 1_000_000


def test_tiles_that_cannot_fit_are_refused_before_any_work(tmp_path):
    with pytest.raises(MemoryLimitError, match="raise memory_limit="):
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr", memory_limit="1kB")
    with pytest.raises(MemoryLimitError, match=r"largest tile that fits is [1-9]"):
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr", memory_limit="400kB", executor="serial", tile=40)
    assert not (tmp_path / "k.zarr").exists()


class Elsewhere(Serial):
    """Workers with all the memory they could want, who see nothing of what lies in this process."""

    remote = True
    workers = 4

    def memory_per_task(self, limit):
        return 2**40


@pytest.mark.slow
def test_what_this_process_prepares_for_a_cluster_fits_its_own_memory(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 100))
    roomy = plan_gram(Kendall(), X, executor=Elsewhere())
    asked = []
    monkeypatch.setattr("distkern.build.look.Threads", lambda workers: asked.append(workers) or Threads(workers))
    monkeypatch.setattr("distkern.build.look.usable_cores", lambda: 64)
    np.save(tmp_path / "x.npy", X)
    for limit, free in ((200_000, 2**30), (None, 200_000)):  # a sample takes 24 × 100 + 2 × 508 bytes
        monkeypatch.setattr("distkern.engine.memory.available_memory", lambda free=free: int(free / USABLE) + 1)
        tight = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", executor=Elsewhere(), memory_limit=limit).info()
        assert tight["tile"] == 200_000 // 3416 < roomy.tile
        by_path = plan_gram(Kendall(), tmp_path / "x.npy", executor=Elsewhere(), memory_limit=limit)
        assert by_path.tile == roomy.tile  # the workers prepare it
        shutil.rmtree(tmp_path / "k.zarr")
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr", executor=Elsewhere(), memory_limit=limit, tile=20)
        shutil.rmtree(tmp_path / "k.zarr")
    look, again, prepare = asked[::3], asked[1::3], asked[2::3]
    assert look == again == 4 * [1]
    assert prepare == 2 * [1, 200_000 // (20 * 3416)]  # blocks side by side


def test_samples_too_large_for_this_process_are_refused_unless_they_are_prepared(tmp_path):
    store = tmp_path / "k.zarr"
    with pytest.raises(MemoryLimitError, match=r"preparing samples that lie in the memory of this process on tiles of"):
        compute_gram(Kendall(), X, store=store, executor=Elsewhere(), memory_limit=3000)
    with pytest.raises(MemoryLimitError, match=r"3\.3 KiB and may take 2\.9 KiB: raise memory_limit="):
        plan_gram(Kendall(), X, executor=Elsewhere(), memory_limit=3000)
    assert not store.exists()
    compute_gram(Kendall(), X[:30], store=tmp_path / "grows.zarr", executor="serial", tile=10)
    with pytest.raises(MemoryLimitError, match=r"preparing samples that lie in the memory of this process on tiles of"):
        append_gram(tmp_path / "grows.zarr", X[30:], executor=Elsewhere(), memory_limit=30_000)
    append_gram(tmp_path / "grows.zarr", X[30:], executor=Elsewhere(), memory_limit=40_000)

    def interrupt(event):
        if event.phase == "compute tiles" and event.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compute_gram(Kendall(), X, store=store, executor="serial", tile=10, progress=interrupt)
    compute_gram(Kendall(), X, store=store, executor=Elsewhere(), memory_limit=3000)


@pytest.mark.parametrize(("tile", "kept"), [(10**9, 6), (10**30, 6), (LARGEST_SIDE + 1, 6), (6, 6), (7, 7), (60, 60)])
def test_a_tile_beyond_the_largest_has_at_most_all_samples(tmp_path, tile, kept):
    """Zarr writes whole tiles: one of 10⁹ rows would take 8 · 10¹⁸ bytes."""
    X = np.arange(30.0).reshape(6, 5)
    plan = plan_gram(Kendall(), X, tile=tile)
    assert (plan.tile, plan.tiles) == (kept, 1)
    gram = compute_gram(Kendall(), X, X[:2], store=tmp_path / "k.zarr", tile=tile, progress=False)
    assert gram.info()["tile"] == kept
    assert sum(one.stat().st_size for one in (tmp_path / "k.zarr" / "gram").rglob("*")) < 20_000


def test_a_tile_beyond_the_samples_is_planned_as_it_is_written():
    X = np.arange(30.0).reshape(6, 5)
    assert plan_gram(Gaussian(1.0), X, tile=LARGEST_SIDE).bytes_per_task > 2 * 8 * LARGEST_SIDE**2
    with pytest.raises(MemoryLimitError, match="the largest tile that fits is"):
        plan_gram(Gaussian(1.0), X, tile=LARGEST_SIDE, memory_limit="64MiB")


def test_full_disk_is_refused_before_any_work(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 1000, 1000))
    with pytest.raises(MemoryLimitError, match=r"the disk of .* has 1000 B"):
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    assert not (tmp_path / "k.zarr").exists()


@pytest.mark.parametrize(
    ("params", "said"),
    [({"tile": 0}, "tile"), ({"tile": True}, "tile"), ({"tile": 2.5}, "tile"), ({"dtype": "int8"}, "dtype")],
)
def test_bad_parameters_are_refused(params, said):
    with pytest.raises(InputError, match=said):
        plan_gram(Kendall(), X, **params)
