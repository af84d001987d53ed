"""Damaged bytes and metadata, and stores of other versions: no wrong byte is read, and nothing finished is lost."""

import contextlib
import json
import os
import time

import numpy as np
import pytest
from fault_injection import stored

from distkern import (
    CorruptTileError,
    IncompleteGramError,
    Kendall,
    StoreError,
    append_gram,
    compute_gram,
    open_gram,
    repair_gram,
)
from distkern.store.runs import run_names
from distkern.store.tiles import GramStore

pytestmark = pytest.mark.faults

SMALL = np.random.default_rng(0).normal(size=(20, 50))


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), SMALL, store=path, tile=6, executor="serial")
    return path


def flip_a_byte(file, position=20):
    damaged = bytearray(file.read_bytes())
    damaged[position] ^= 1
    file.write_bytes(damaged)


def test_flipped_byte_of_a_tile_is_found_named_and_repaired(store):
    before = stored(store)
    flip_a_byte(store / "gram" / "c" / "1" / "2")
    gram = open_gram(store)
    with pytest.raises(CorruptTileError, match=r"tile \(1, 2\) .* \(rows 6–11, columns 12–17\).*repair_gram"):
        gram.to_numpy()
    with pytest.raises(CorruptTileError):
        gram.matmat(np.ones(20))
    assert np.isfinite(gram[:6].to_numpy()).all()  # other tiles can be read
    (wrong,) = gram.verify()
    assert "tile (1, 2)" in wrong
    assert repair_gram(store, executor="serial") == 1
    assert stored(store) == before
    assert open_gram(store).verify() == []
    assert repair_gram(store) == 0


def test_truncated_and_lost_tiles_are_found_and_repaired(store):
    (store / "gram" / "c" / "0" / "1").write_bytes(b"short")
    (store / "gram" / "c" / "0" / "3").unlink()
    assert len(open_gram(store).verify()) == 2
    assert repair_gram(store) == 2
    np.testing.assert_array_equal(open_gram(store).to_numpy(), Kendall()(SMALL))


def test_damaged_prepared_samples_are_found_and_prepared_again(store):
    flip_a_byte(store / "rows" / "prepared" / "codes" / "c" / "1" / "0")
    assert "prepared rows 6–11" in open_gram(store).verify()[0]
    with pytest.raises(CorruptTileError, match="prepared rows 6–11"):
        open_gram(store).cross(SMALL[:2])
    with pytest.raises(StoreError, match="compute_gram with the same kernel and data"):
        repair_gram(store)
    gram = compute_gram(Kendall(), SMALL, store=store)
    assert gram.info()["runs"][-1]["blocks_prepared"] == 1
    assert gram.info()["runs"][-1]["tiles_computed"] == 0
    assert gram.verify() == []


@pytest.mark.parametrize("samples", [SMALL, SMALL[[0, 1, 2, 1, 0, 0, 2, 2]]])
def test_damaged_digests_are_found_and_no_samples_are_added(store, samples):
    compute_gram(Kendall(), samples, store=store, tile=6, overwrite=True)
    append_gram(store, SMALL[:2] + 1, executor="serial")
    assert open_gram(store).verify() == []
    (digests,) = store.glob("rows/digests.*/c/0/0")
    flip_a_byte(digests)
    before, root = stored(store), (store / "zarr.json").read_bytes()
    (wrong,) = open_gram(store).verify()
    assert "the digests of the rows" in wrong
    for samples in (SMALL[:2] + 1, SMALL[:2] + 2):
        with pytest.raises(CorruptTileError, match=r"the digests of the rows .* do not match their checksum"):
            append_gram(store, samples, executor="serial")
    assert (stored(store), (store / "zarr.json").read_bytes()) == (before, root)
    assert np.isfinite(open_gram(store).to_numpy()).all()


def test_store_of_another_format_is_refused(store):
    description = json.loads((store / "zarr.json").read_text())
    description["attributes"]["distkern"] |= {"format": 99, "version": "7.0"}
    (store / "zarr.json").write_text(json.dumps(description))
    for call in (lambda: open_gram(store), lambda: compute_gram(Kendall(), SMALL, store=store)):
        with pytest.raises(StoreError, match=r"format 99, written by distkern 7\.0"):
            call()


def test_old_temporary_files_are_deleted_and_recent_ones_are_kept(store):
    stale, fresh = store / "gram" / "c" / "0" / "9.partial", store / "gram" / "c" / "0" / "8.partial"
    stale.write_text("x")
    fresh.write_text("x")
    os.utime(stale, (time.time() - 7200,) * 2)
    compute_gram(Kendall(), SMALL, store=store)
    assert (stale.exists(), fresh.exists()) == (False, True)


def test_failed_write_ends_the_run_with_one_error_and_the_run_can_go_on(tmp_path, monkeypatch):
    path = tmp_path / "k.zarr"
    write = GramStore.write_tile
    written = []

    def full(self, i, j, values):
        if len(written) >= 3:
            raise OSError(28, "No space left on device")
        written.append((i, j))
        return write(self, i, j, values)

    monkeypatch.setattr(GramStore, "write_tile", full)
    with pytest.raises(Exception, match="No space left on device") as caught:
        compute_gram(Kendall(), SMALL, store=path, tile=6, executor="serial")
    assert type(caught.value).__name__ == "TaskError"
    monkeypatch.undo()
    gram = compute_gram(Kendall(), SMALL, store=path)
    assert gram.info()["runs"][-1]["tiles_computed"] == 10 - 3
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(SMALL))


# Metadata -----------------------------------------------------------------------------------------------------------


def half(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def lose(file):
    file.unlink()


def alter(file):
    file.write_text(file.read_text().replace('"tile": 6,', '"tile": 7,'))


UNREADABLE = r"^the metadata of '.*k\.zarr' are damaged \('zarr\.json' is no JSON\): restore a copy of them"
CHANGED = r"^the metadata of '.*k\.zarr' are damaged \(.*checksum.*\): restore a copy of them"
ELSE = r"^'.*k\.zarr' is not a distkern store"


@pytest.mark.parametrize(
    ("damage", "said"), [(half, UNREADABLE), (flip_a_byte, UNREADABLE), (alter, CHANGED), (lose, ELSE)]
)
def test_store_with_a_damaged_plan_is_refused_and_not_changed(store, damage, said):
    before = stored(store)
    damage(store / "zarr.json")
    for call in (open_gram, lambda path: compute_gram(Kendall(), SMALL, store=path)):
        with pytest.raises(StoreError, match=said):
            call(store)
    assert stored(store) == before


@pytest.mark.parametrize("damage", [half, flip_a_byte, lose])
def test_folder_that_cannot_be_recognised_as_a_store_is_never_overwritten(store, damage):
    before = stored(store)
    damage(store / "zarr.json")
    with pytest.raises(StoreError, match=rf"{ELSE} and will not be overwritten"):
        compute_gram(Kendall(), SMALL, store=store, overwrite=True)
    assert stored(store) == before


def test_lost_checksums_cost_only_their_tiles(store):
    before = stored(store)
    (store / "marks" / "c" / "1" / "0").unlink()
    with pytest.raises(IncompleteGramError, match=r"tile \(1, 1\)"):
        open_gram(store).to_numpy()
    gram = compute_gram(Kendall(), SMALL, store=store)
    assert gram.info()["runs"][-1]["tiles_computed"] == 3
    assert stored(store) == before


@pytest.mark.parametrize("position", [13, 14, 17, 18, 20, 22])
def test_damaged_checksum_costs_only_its_tile(store, position):
    """The tile counts as not done, or as damaged."""
    before = stored(store)
    flip_a_byte(store / "marks" / "c" / "0" / "0", position)
    compute_gram(Kendall(), SMALL, store=store, executor="serial")
    repair_gram(store, executor="serial")
    assert sum(run["tiles_computed"] for run in open_gram(store).info()["runs"][1:]) == 1
    assert stored(store) == before


@pytest.mark.parametrize("position", [13, 18])
def test_damaged_checksum_of_prepared_samples_costs_no_tile(store, position):
    before = stored(store)
    flip_a_byte(store / "rows" / "marks" / "c" / "0" / "0", position)
    with contextlib.suppress(StoreError):  # it asks to prepare them again, as the next call does
        repair_gram(store)
    compute_gram(Kendall(), SMALL, store=store, executor="serial")
    assert [(run["blocks_prepared"], run["tiles_computed"]) for run in open_gram(store).info()["runs"][1:]] == [(1, 0)]
    assert stored(store) == before


def empty(file):
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [empty, half, lose, flip_a_byte])
@pytest.mark.parametrize("what", ["the log of a run", "the list of runs"])
def test_damaged_logs_of_runs_are_ignored(store, what, damage):
    (name,) = run_names(GramStore.opened(store))
    damage(store / "runs" / name / "zarr.json" if what == "the log of a run" else store / "runs" / "zarr.json")
    gram = open_gram(store)
    assert gram.info()["runs"] == []
    assert gram.status()["state"] == "complete"
    GramStore.opened(store).clear_checksums([(1, 2)])
    grown = append_gram(compute_gram(Kendall(), SMALL, store=store), SMALL[:2] + 1)
    assert [run["state"] for run in grown.info()["runs"]] == ["finished", "finished"]
    assert grown.verify() == []


def test_metadata_are_flushed_to_the_disk_before_they_are_renamed(store, monkeypatch):
    """Otherwise a power failure could replace a good file by an empty one."""
    synced, moves = set(), []
    sync, replace, rename = os.fsync, os.replace, os.rename

    def recorded_sync(opened):
        synced.add(os.fstat(opened).st_ino)
        sync(opened)

    def recorded_replace(source, target):
        if os.path.basename(target) == "zarr.json":  # other files are chunks, which have checksums
            moves.append(os.stat(source).st_ino)
        replace(source, target)

    def recorded_rename(source, target):
        moves.append(os.stat(source / "zarr.json").st_ino)
        rename(source, target)

    for name, instead in {"fsync": recorded_sync, "replace": recorded_replace, "rename": recorded_rename}.items():
        monkeypatch.setattr(os, name, instead)
    append_gram(store, SMALL[:2] + 1, executor="serial")
    assert len(moves) > 5
    assert set(moves) <= synced


METADATA = ["gram", "marks", "rows", "rows/marks", "rows/ids", "rows/prepared/codes", "runs"]


@pytest.mark.filterwarnings("ignore:Object at:zarr.errors.ZarrUserWarning")
@pytest.mark.parametrize("damage", [half, lose])
@pytest.mark.parametrize("file", [*(f"{name}/zarr.json" for name in METADATA), "marks/c/1/0", "rows/marks/c/0/0"])
def test_damaged_metadata_are_rewritten_or_raise_a_store_error(store, file, damage):
    before = stored(store)
    damage(store / file)
    with contextlib.suppress(StoreError):
        compute_gram(Kendall(), SMALL, store=store, executor="serial")
        np.testing.assert_array_equal(open_gram(store).to_numpy(), Kendall()(SMALL))
    assert stored(store).keys() >= before.keys() - {file}
