"""A disk that fills up and is freed, or becomes read-only half-way and writable again: real ones, a few MiB small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nobody
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
from processes import distkern, surroundings

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
def test_a_disk_that_becomes_read_only_ends_in_one_sentence_and_once_writable_the_run_goes_on(
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


@pytest.fixture
def open_folder():
    """A folder that other users reach, too."""
    with tempfile.TemporaryDirectory(prefix="distkern-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, nobody.NOBODY, nobody.NOBODY)
        yield Path(folder)


@pytest.mark.parametrize("executor", ["serial", "2"])
def test_another_user_who_loses_permission_half_way_is_told_and_once_it_is_back_the_run_goes_on(
    expected_of_few, open_folder, tmp_path, executor
):
    store = open_folder / "k.zarr"
    words = [sys.executable, nobody.__file__, tmp_path / "loaded.zarr", store, executor]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, env=surroundings(), cwd=open_folder)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["user"] != 0
    assert found["said"] == 2 * [f"cannot write to the store '{store}': Permission denied"]
    assert found["readable"]
    assert 10 <= found["done"] <= 13
    assert found["computed"] == TILES - found["done"]
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
