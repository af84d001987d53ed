"""A disk that fills up and is freed, or becomes read-only half-way and writable again: real ones, a few MiB small."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from disturbed import (
    KENDALL,
    SIDE,
    TILES,
    Disturbance,
    assert_undisturbed,
    few_features,
    last_run,
    tiles_done,
    undisturbed,
)
from mounts import ours, small_disk
from processes import distkern

from distkern import StoreError, compute_gram, open_gram


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "4m") as disk:
        yield disk


@pytest.fixture
def few():
    return few_features()


@pytest.fixture
def expected_of_few(few, tmp_path):
    return undisturbed(few, tmp_path)


@pytest.mark.parametrize("executor", ["serial", 2])
def test_a_disk_that_fills_up_ends_in_one_sentence_and_once_freed_the_run_goes_on(few, expected_of_few, disk, executor):
    store = disk.folder / "k.zarr"
    with pytest.raises(StoreError, match=rf"^cannot write to the store '{store}': No space left on device"):
        compute_gram(KENDALL, few, store=store, tile=SIDE, executor=executor, progress=Disturbance(10, disk.fill))
    done = tiles_done(store)
    assert 10 <= done <= 13
    assert open_gram(store).verify() == []
    disk.free()
    compute_gram(KENDALL, few, store=store, executor=executor)
    assert last_run(store)["tiles_computed"] == TILES - done
    assert_undisturbed(store, expected_of_few)
    assert not list(store.rglob("*.partial"))


@pytest.mark.parametrize("executor", ["serial", 2])
def test_permission_lost_half_way_ends_in_one_sentence_and_once_back_the_run_goes_on(
    few, expected_of_few, disk, executor
):
    store = disk.folder / "k.zarr"
    disturb = Disturbance(10, lambda: disk.remount("ro"))
    with pytest.raises(StoreError, match=rf"^cannot write to the store '{store}': Read-only file system"):
        compute_gram(KENDALL, few, store=store, tile=SIDE, executor=executor, progress=disturb)
    done = tiles_done(store)
    assert 10 <= done <= 13
    some = slice(0, SIDE)
    np.testing.assert_array_equal(open_gram(store).block(some, some), KENDALL(few[some]))  # it can be read
    with pytest.raises(StoreError, match="Read-only file system"):
        compute_gram(KENDALL, few, store=store, executor=executor)
    disk.remount("rw")
    compute_gram(KENDALL, few, store=store, executor=executor)
    assert last_run(store)["tiles_computed"] == TILES - done
    assert_undisturbed(store, expected_of_few)


def test_the_command_line_says_a_full_disk_in_one_line(few, expected_of_few, disk, tmp_path):
    np.save(tmp_path / "X.npy", few)
    store = disk.folder / "k.zarr"
    words = distkern("gram", tmp_path / "X.npy", store, "--kernel", "kendall", "--tile", SIDE, "--quiet")
    with pytest.raises(StoreError):
        compute_gram(KENDALL, few, store=store, tile=SIDE, executor="serial", progress=Disturbance(10, disk.fill))
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 3
    assert ended.stderr.splitlines() == [f"Error: cannot write to the store '{store}': No space left on device"]
    disk.free()
    assert subprocess.run(words, timeout=60).returncode == 0
    assert_undisturbed(store, expected_of_few)


def test_disks_are_gone_after_an_error(tmp_path):
    def fail():
        with small_disk(tmp_path / "disk", "1m"):
            assert str(tmp_path / "disk") in dict(map(reversed, ours()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert str(tmp_path / "disk") not in dict(map(reversed, ours()))
