"""A real file system of a few MiB that fills up, or becomes read-only, half-way through a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import unprivileged
from fault_injection import (
    KENDALL,
    SIDE,
    TILES,
    Disturbance,
    assert_undisturbed,
    last_run,
    tiles_done,
)
from mounts import ours, small_disk
from processes import distkern, surroundings

from distkern import StoreError, compute_gram, open_gram

pytestmark = pytest.mark.faults


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "4m") as disk:
        yield disk


@pytest.mark.parametrize("executor", ["serial", 2])
def test_full_disk_ends_the_run_with_one_error_and_the_run_goes_on_once_there_is_room(X, expected, disk, executor):
    store = disk.folder / "k.zarr"
    with pytest.raises(StoreError, match=rf"^cannot write to the store '{store}': No space left on device"):
        compute_gram(KENDALL, X, store=store, tile=SIDE, executor=executor, progress=Disturbance(10, disk.fill))
    done = tiles_done(store)
    assert 10 <= done <= 13
    assert open_gram(store).verify() == []
    disk.free()
    compute_gram(KENDALL, X, store=store, executor=executor)
    assert last_run(store)["tiles_computed"] == TILES - done
    assert_undisturbed(store, expected)
    assert not list(store.rglob("*.partial"))


@pytest.mark.parametrize("executor", ["serial", 2])
def test_read_only_disk_ends_the_run_with_one_error_and_the_run_goes_on_once_it_is_writable(
    X, expected, disk, executor
):
    store = disk.folder / "k.zarr"
    disturb = Disturbance(10, lambda: disk.remount("ro"))
    with pytest.raises(StoreError, match=rf"^cannot write to the store '{store}': Read-only file system"):
        compute_gram(KENDALL, X, store=store, tile=SIDE, executor=executor, progress=disturb)
    done = tiles_done(store)
    assert 10 <= done <= 13
    some = slice(0, SIDE)
    np.testing.assert_array_equal(open_gram(store).block(some, some), KENDALL(X[some]))  # it can still be read
    with pytest.raises(StoreError, match="Read-only file system"):
        compute_gram(KENDALL, X, store=store, executor=executor)
    disk.remount("rw")
    compute_gram(KENDALL, X, store=store, executor=executor)
    assert last_run(store)["tiles_computed"] == TILES - done
    assert_undisturbed(store, expected)


@pytest.fixture
def open_folder():
    """A folder that other users can access."""
    with tempfile.TemporaryDirectory(prefix="distkern-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, unprivileged.NOBODY, unprivileged.NOBODY)
        yield Path(folder)


@pytest.mark.parametrize("executor", ["serial", "2"])
def test_lost_permission_ends_the_run_with_one_error_and_the_run_goes_on_once_it_is_granted(
    expected, open_folder, tmp_path, executor
):
    store = open_folder / "k.zarr"
    words = [sys.executable, unprivileged.__file__, tmp_path / "loaded.zarr", store, executor]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, env=surroundings(), cwd=open_folder)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["user"] != 0
    assert found["said"] == 2 * [f"cannot write to the store '{store}': Permission denied"]
    assert found["readable"]
    assert 10 <= found["done"] <= 13
    assert found["computed"] == TILES - found["done"]
    assert_undisturbed(store, expected)


def test_command_line_reports_a_full_disk_in_one_line(X, expected, disk, tmp_path):
    np.save(tmp_path / "X.npy", X)
    store = disk.folder / "k.zarr"
    words = distkern("gram", tmp_path / "X.npy", store, "--kernel", "kendall", "--tile", SIDE, "--quiet")
    with pytest.raises(StoreError):
        compute_gram(KENDALL, X, store=store, tile=SIDE, executor="serial", progress=Disturbance(10, disk.fill))
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 3
    assert ended.stderr.splitlines() == [f"Error: cannot write to the store '{store}': No space left on device"]
    disk.free()
    compute_gram(KENDALL, X, store=store)
    assert_undisturbed(store, expected)


def test_disks_are_unmounted_after_an_error(tmp_path):
    def fail():
        with small_disk(tmp_path / "disk", "1m"):
            assert str(tmp_path / "disk") in dict(map(reversed, ours()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert str(tmp_path / "disk") not in dict(map(reversed, ours()))
