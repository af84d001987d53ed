"""A cohort grows: the store ends as if it had been computed at once, and only what is new is computed."""

import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import with_slow
from scipy import sparse

from distkern import (
    CorruptTileError,
    Gaussian,
    InputError,
    Kendall,
    Linear,
    Mallows,
    MemoryLimitError,
    PartialKendall,
    SampleError,
    StoreError,
    StoreMismatchError,
    append_gram,
    compute_gram,
    open_gram,
    repair_gram,
)
from distkern.build import append, tasks
from distkern.kernels.kendall import Concordance
from distkern.store.location import Folder, location_of
from distkern.store.manifest import json_checksum
from distkern.store.tiles import GramStore

X = np.random.default_rng(0).normal(size=(40, 30))


def chunks(path, folders=("gram", "rows/prepared", "rows/digests")):
    files = (file for folder in folders for file in Path(path, folder).rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.name != "zarr.json"}


@pytest.mark.parametrize("kernel", with_slow([Linear() + 0.5 * Kendall()], [Kendall(), Gaussian(2.0)]))
def test_the_grown_store_holds_the_bytes_of_one_computed_at_once(kernel, tmp_path):
    whole = compute_gram(kernel, X, store=tmp_path / "whole.zarr", tile=7, executor="serial")
    path = tmp_path / "grown.zarr"
    compute_gram(kernel, X[:10], store=path, tile=7, executor="serial")
    for start, stop in ((10, 12), (12, 13), (13, 40)):
        grown = append_gram(path, X[start:stop], executor=2)
    np.testing.assert_array_equal(grown.to_numpy(), whole.to_numpy())
    np.testing.assert_array_equal(grown.diag(), whole.diag())
    assert chunks(path, ("gram", "rows/prepared")) == chunks(whole.path, ("gram", "rows/prepared"))
    assert grown.ids == whole.ids
    assert grown.verify() == []
    assert grown.info()["fingerprint"] == whole.info()["fingerprint"]


@settings(max_examples=3)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=3), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_values_do_not_depend_on_where_the_cohort_is_cut(tmp_path_factory, sizes, tile, seed):
    Y = np.random.default_rng(seed).integers(0, 4, size=(sum(sizes), 6)).astype(float)
    path = tmp_path_factory.mktemp("cut") / "k.zarr"
    stops = np.cumsum(sizes).tolist()
    compute_gram(Kendall(), Y[: stops[0]], store=path, tile=tile, executor="serial")
    for start, stop in pairwise(stops):
        grown = append_gram(path, Y[start:stop], executor="serial")
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(Y))
    assert grown.verify() == []
    again = compute_gram(Kendall(), Y, store=path, executor="serial")
    assert len(again.info()["runs"]) == len(grown.info()["runs"])  # nothing was left to compute


def test_only_pairs_with_a_new_sample_are_computed(tmp_path, monkeypatch):
    compute_gram(Kendall(), X[:33], store=tmp_path / "k.zarr", tile=10)
    computed = []
    original = Concordance.tile

    def counted(self, A, B):
        if len(A) > tasks.FEW:  # else it warms up
            computed.append((A.start, len(A), B.start, len(B)))
        return original(self, A, B)

    monkeypatch.setattr(Concordance, "tile", counted)
    append_gram(tmp_path / "k.zarr", X[33:], executor="serial")
    assert all(start + count > 33 for _, _, start, count in computed)
    assert sum(rows * cols for _, rows, _, cols in computed) == 33 * 7 + 7 * 7


def test_cluster_reads_added_samples_by_path(tmp_path, client):
    np.save(tmp_path / "first.npy", X[:25])
    np.save(tmp_path / "second.npy", X[25:])
    compute_gram(Kendall(ties="b"), tmp_path / "first.npy", store=tmp_path / "k.zarr", tile=6, executor=client)
    grown = append_gram(tmp_path / "k.zarr", tmp_path / "second.npy", executor=client)
    np.testing.assert_array_equal(grown.to_numpy(), Kendall(ties="b")(X))


class Stop(Exception):
    pass


def stop_after(count):
    def listen(event):
        if event.phase == "compute tiles" and event.done >= count:
            raise Stop

    return listen


def test_interrupted_append_resumes(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")
    before = open_gram(path)
    assert before[0, 24] == Kendall()(X[:25])[0, 24]
    with pytest.raises(Stop):
        append_gram(path, X[25:], executor="serial", progress=stop_after(20))
    done = int(np.count_nonzero(GramStore.opened(path).checksums()))
    assert 10 < done < 28
    np.testing.assert_array_equal(before.to_numpy(), Kendall()(X[:25]))  # what was there is read as ever
    with pytest.raises(StoreError, match="not complete"):
        append_gram(path, X[30:], executor="serial")
    grown = append_gram(path, X[25:], executor="serial")
    assert grown.info()["runs"][-1]["tiles_computed"] == 28 - done
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(X))
    assert grown.verify() == []


def test_compute_gram_with_all_samples_completes_an_interrupted_append(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")
    with pytest.raises(Stop):
        append_gram(path, X[25:], executor="serial", progress=stop_after(18))
    np.testing.assert_array_equal(compute_gram(Kendall(), X, store=path).to_numpy(), Kendall()(X))


def test_crash_before_the_manifest_is_written_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")

    def crash(self, before, after):
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "replace_root", crash)
        with pytest.raises(Stop):
            append_gram(path, X[25:], executor="serial")
    gram = open_gram(path)
    assert gram.is_complete
    assert gram.shape == (25, 25)
    assert gram.verify() == []
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X[:25]))
    grown = append_gram(path, X[25:28], executor="serial")  # fewer than those that crashed
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(X[:28]))


def test_earlier_handle_reads_cached_tiles_and_refuses_others(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")
    before, unread = open_gram(path), open_gram(path)
    before.to_numpy()
    append_gram(path, X[25:], executor="serial")
    np.testing.assert_array_equal(before.to_numpy(), Kendall()(X[:25]))  # its marks are those of its generation
    with pytest.raises(StoreError, match="has grown since it was opened"):
        unread.to_numpy()


def test_task_does_not_write_into_a_store_that_has_grown(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")
    old = GramStore.opened(path)
    stale = tasks.TileTask(
        old.path, old.manifest.id, Concordance(), 0, 4, *(tuple(sums) for sums in old.rows.checksums().tolist()[::4])
    )
    tasks.compute_tile(stale)
    append_gram(path, X[25:], executor="serial")
    before = chunks(path)
    with pytest.raises(StoreMismatchError, match="replaced by another store, or grew"):
        tasks.compute_tile(stale)
    assert chunks(path) == before


def test_client_does_not_write_its_checksums_into_another_store(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:12], store=path, tile=6, executor="serial")
    old = GramStore.opened(path)
    marks, prepared = old.checksums().copy(), old.rows.checksums()
    compute_gram(Kendall(), X[12:24], store=path, tile=6, executor="serial", overwrite=True)
    new = GramStore.opened(path)
    new.clear_checksums(new.grid.tiles())
    new.rows.clear_checksums([0, 1])
    for mark in (lambda: old.add_checksums(marks, 0), lambda: old.rows.add_checksums(prepared)):
        with pytest.raises(StoreMismatchError, match="replaced by another store"):
            mark()
    assert not new.checksums(refresh=True).any()
    assert not new.rows.checksums().any()


def test_undecodable_tile_is_computed_whole_and_not_kept(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")
    file = path / "gram" / "c" / "0" / "4"
    file.write_bytes(b"short")
    grown = append_gram(path, X[25:], executor="serial")
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(X))


def test_flipped_byte_of_a_tile_is_not_kept_under_a_new_checksum(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Linear(), X[:25], store=path, tile=6, executor="serial")
    file = path / "gram" / "c" / "0" / "4"  # values that are not compressed: any bytes can be decoded
    damaged = bytearray(file.read_bytes())
    damaged[6] ^= 1  # of entry (0, 24), which the append keeps
    file.write_bytes(damaged)
    grown = append_gram(path, X[25:], executor="serial")
    assert grown.verify() == []
    np.testing.assert_array_equal(grown.to_numpy(), Linear()(X))


def test_no_samples_are_added_while_prepared_samples_are_lost(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")
    append_gram(path, X[25:30], executor="serial")
    GramStore.opened(path).rows.clear_checksums([0])
    before = (path / "zarr.json").read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"some samples of .* are lost: run compute_gram .* all 30 samples"):
            append_gram(path, X[30:], executor="serial")
    assert (path / "zarr.json").read_bytes() == before
    compute_gram(Kendall(), X[:30], store=path, executor="serial")
    append_gram(path, X[30:], executor="serial")
    assert_holds(path, X)


@pytest.mark.parametrize("file", with_slow(["rows/prepared/codes/c/4/0"], ["rows/prepared/diagonal/c/4"]))
def test_damaged_block_is_prepared_again_with_the_samples_added_to_it(tmp_path, file):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")

    def interrupt(event):
        if event.phase == "prepare rows":
            raise Stop

    with pytest.raises(Stop):
        append_gram(path, X[25:], executor="serial", progress=interrupt)
    damaged = bytearray((path / file).read_bytes())
    damaged[0] ^= 1  # of sample 24, which is alone in its block
    (path / file).write_bytes(damaged)
    (wrong,) = open_gram(path).verify()
    assert "prepared rows 24–29" in wrong
    with pytest.raises(CorruptTileError, match=r"prepared rows 24–29 .* run repair_gram"):
        append_gram(path, X[25:], executor="serial")
    with pytest.raises(
        StoreError, match="their checksums were cleared: run compute_gram with the same kernel and data"
    ):
        repair_gram(path)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"some samples of .* are lost: run compute_gram .* all 40 samples"):
            append_gram(path, X[25:], executor="serial")
    compute_gram(Kendall(), X, store=path, executor="serial")
    assert_holds(path, X)
    assert append_gram(path, X[25:]).shape == (40, 40)


def test_equal_samples_are_still_computed_once(tmp_path):
    Y = np.tile(X[:5], (4, 1))
    gram = compute_gram(Kendall(), Y, store=tmp_path / "k.zarr")
    assert gram.info()["shape"] == [5, 5]
    new = np.concatenate([X[3:8], X[6:7]])
    grown = append_gram(gram, new)
    assert grown.info()["shape"] == [8, 8]
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(np.concatenate([Y, new])))
    same = append_gram(grown, X[:2])
    assert same.shape == (28, 28)
    np.testing.assert_array_equal(same.to_numpy(), Kendall()(np.concatenate([Y, new, X[:2]])))
    assert compute_gram(Kendall(), np.concatenate([Y, new, X[:2]]), store=tmp_path / "k.zarr").is_complete


def test_store_that_computes_each_sample_does_so_for_equal_added_ones(tmp_path):
    gram = compute_gram(Kendall(), X[:3], store=tmp_path / "k.zarr")
    every = np.concatenate([X[:3], *[X[:3]] * 3])
    grown = append_gram(gram, every[3:])
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(every))
    runs = len(grown.info()["runs"])
    assert len(compute_gram(Kendall(), every, store=tmp_path / "k.zarr").info()["runs"]) == runs


def test_rows_are_added_to_a_rectangular_matrix(tmp_path):
    gram = compute_gram(Gaussian(2.0), X[:9], X[20:], store=tmp_path / "k.zarr", tile=7)
    grown = append_gram(gram, X[9:20])
    whole = compute_gram(Gaussian(2.0), X[:20], X[20:], store=tmp_path / "whole.zarr", tile=7)
    np.testing.assert_array_equal(grown.to_numpy(), whole.to_numpy())
    np.testing.assert_array_equal(grown.row_diag(), whole.row_diag())


def by_landmarks(kernel, samples, path, **options):
    return compute_gram(kernel, samples, store=path, landmarks=[0, 3, 7, 11], tile=6, executor="serial", **options)


def true_entries(gram):
    return GramStore.opened(gram.path).manifest.landmark_columns.true_entries.to_json()


@pytest.mark.slow
def test_grown_landmark_store_equals_one_of_all_samples(tmp_path):
    for number, kernel in enumerate((Gaussian(2.0), Kendall(ties="b"), Linear() + 0.5 * Kendall())):
        grown = by_landmarks(kernel, X[:15], tmp_path / f"{number}.zarr")
        for start, stop in ((15, 16), (16, 40)):
            before, grown = true_entries(grown), append_gram(grown, X[start:stop], executor="serial")
            assert true_entries(grown) != before
        whole = by_landmarks(kernel, X, tmp_path / f"{number}-whole.zarr")
        assert chunks(grown.path, ("gram", "rows/prepared")) == chunks(whole.path, ("gram", "rows/prepared"))
        assert true_entries(grown) == true_entries(whole)
        assert grown.error() == whole.error()
        (first, second), values = true_entries(grown)["pairs"], true_entries(grown)["values"]
        assert max(second) == 39
        np.testing.assert_allclose(values, kernel.stored()(X)[first, second], rtol=1e-12, atol=1e-12)
        view = grown.with_kernel(Kendall()) if number == 1 else grown
        assert view.error().rms > 0


@pytest.mark.slow
def test_true_entries_of_a_grown_store_of_equal_sparse_and_single_samples(tmp_path):
    few = np.random.default_rng(5).permuted(np.tile(np.arange(12.0), (14, 1)), axis=1)
    many = few[np.random.default_rng(4).integers(0, 14, 60)]
    many[:14] = few
    grown = append_gram(by_landmarks(Kendall(), many[:35], tmp_path / "e.zarr"), many[35:], executor="serial")
    assert grown.info()["samples_computed"] == [14, 4]
    assert true_entries(grown) == true_entries(by_landmarks(Kendall(), many, tmp_path / "all-e.zarr"))

    thin = np.random.default_rng(1).poisson(0.1, size=(40, 200)).astype(float)
    thin[0, :60] = 1.0
    grown = by_landmarks(Kendall(), sparse.csr_array(thin[:20]), tmp_path / "s.zarr")
    grown = append_gram(grown, sparse.csr_array(thin[20:]), executor="serial")
    assert grown.info()["sparse"]
    assert true_entries(grown) == true_entries(by_landmarks(Kendall(), sparse.csr_array(thin), tmp_path / "all-s.zarr"))

    one = compute_gram(Linear(), X[:1], store=tmp_path / "o.zarr", landmarks=[0], executor="serial")
    assert true_entries(one)["values"] == []
    whole = compute_gram(Linear(), X, store=tmp_path / "all-o.zarr", landmarks=[0], executor="serial")
    assert true_entries(append_gram(one, X[1:], executor="serial")) == true_entries(whole)


def test_only_true_entries_with_a_new_sample_are_computed_and_few_blocks_are_read_twice(tmp_path, monkeypatch):
    gram = by_landmarks(Kendall(), X[:33], tmp_path / "k.zarr")
    computed, read = [], []
    pair_values, prepared_block = append.pair_values, append.prepared_block
    monkeypatch.setattr(
        append, "pair_values", lambda kernel, pairs, *more: computed.append(pairs) or pair_values(kernel, pairs, *more)
    )
    monkeypatch.setattr(
        append, "prepared_block", lambda store, side, block: read.append(block) or prepared_block(store, side, block)
    )
    before = true_entries(gram)
    after = true_entries(append_gram(gram, X[33:], executor="serial"))
    (pairs,) = computed
    assert (pairs[1] >= 33).all()
    kept = [pair for pair in zip(*after["pairs"], strict=True) if pair[1] < 33]
    assert len(kept) + pairs.shape[1] == len(after["values"]) == 1000
    assert abs(len(kept) - 1000 * 33 * 32 / (40 * 39)) < 60  # four standard deviations
    assert {*kept} <= {*zip(*before["pairs"], strict=True)}
    assert sorted({*read}) == [0, 1, 2, 3, 4, 5]
    assert len(read) < 3 * 6


def test_damaged_true_entries_are_not_kept(tmp_path):
    gram = by_landmarks(Linear(), X[:33], tmp_path / "k.zarr")
    file = tmp_path / "k.zarr" / "zarr.json"
    whole = json.loads(file.read_text())
    whole["attributes"]["distkern"]["error_sample"]["values"][0] += 1
    whole["attributes"]["checksum"] = json_checksum(whole["attributes"]["distkern"])
    file.write_text(json.dumps(whole))
    with pytest.raises(StoreError, match=r"true entries .* do not match"):
        append_gram(gram, X[33:])
    assert open_gram(gram.path).shape == (33, 33)


def test_sparse_samples_are_added_if_they_fit_the_width_of_the_store(tmp_path):
    rng = np.random.default_rng(1)
    dense = rng.poisson(0.1, size=(30, 200)).astype(float)
    dense[0, :60] = 1.0
    gram = compute_gram(Kendall(), sparse.csr_array(dense[:20]), store=tmp_path / "k.zarr", tile=8)
    assert gram.info()["sparse"]
    grown = append_gram(gram, sparse.csr_array(dense[20:26]))
    grown = append_gram(grown, dense[26:])  # however they come
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(dense))
    with pytest.raises(InputError, match=r"sample '30' has 150 values that are not zero, and .* has room for"):
        append_gram(grown, (np.arange(200)[None, :] < 150).astype(float))


def test_view_keeps_its_kernel_after_an_append(tmp_path):
    gram = compute_gram(Kendall(), X[:20], store=tmp_path / "k.zarr").with_kernel(Mallows(0.1))
    grown = append_gram(gram, X[20:])
    assert grown.kernel == Mallows(0.1)
    np.testing.assert_allclose(grown.to_numpy(), Mallows(0.1)(X), rtol=1e-14)
    with pytest.raises(SampleError, match="'40'"):
        append_gram(grown.with_kernel(Kendall(ties="b")), np.ones((1, 30)))


def test_samples_with_missing_values_are_added(tmp_path):
    Y = X.copy()
    Y[np.random.default_rng(3).random(Y.shape) < 0.3] = np.nan
    gram = compute_gram(PartialKendall(), Y[:20], store=tmp_path / "k.zarr", tile=6)
    np.testing.assert_array_equal(append_gram(gram, Y[20:]).to_numpy(), PartialKendall()(Y))


def test_features_that_were_dropped_are_dropped_again(tmp_path):
    Y = X.copy()
    Y[3, 7] = np.nan
    gram = compute_gram(Kendall(), Y[:20], store=tmp_path / "k.zarr", missing="drop-features")
    expected = Kendall()(np.delete(Y, 7, axis=1))
    np.testing.assert_array_equal(append_gram(gram, Y[20:]).to_numpy(), expected)


def test_a_repeated_call_adds_nothing_twice(tmp_path):
    gram = append_gram(compute_gram(Kendall(), X[:25], store=tmp_path / "k.zarr"), X[25:])
    runs = len(gram.info()["runs"])
    again = append_gram(tmp_path / "k.zarr", X[25:])
    assert again.shape == (40, 40)
    assert len(again.info()["runs"]) == runs
    assert append_gram(again, X[25:], ids=[f"twin {k}" for k in range(15)]).shape == (55, 55)


@pytest.fixture(params=["disk", pytest.param("s3", marks=pytest.mark.faults)])
def shared(request, tmp_path):
    """A store of 20 samples that other clients reach too."""
    path = str(tmp_path / "k.zarr") if request.param == "disk" else request.getfixturevalue("s3").url
    compute_gram(Kendall(), X[:20], store=path, tile=10, executor="serial")
    return path


def just_before(owner, name, monkeypatch, do):
    """Let another client do something at the last moment before this one does what has a name."""
    original = getattr(owner, name)

    def late(*args):
        monkeypatch.setattr(owner, name, original)
        do()
        return original(*args)

    monkeypatch.setattr(owner, name, late)


def overtaken(path, monkeypatch, do):
    """Let another client do something when this one has written all but the plan."""
    just_before(type(location_of(path)), "replace_root", monkeypatch, do)


def assert_holds(path, samples):
    gram = open_gram(path)
    assert gram.is_complete
    assert gram.verify() == []
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(samples))


def test_two_clients_that_add_different_samples_at_once_both_succeed(shared, monkeypatch):
    overtaken(shared, monkeypatch, lambda: append_gram(shared, X[20:33], executor="serial"))
    append_gram(shared, X[33:], executor="serial")
    assert_holds(shared, X)
    assert len(open_gram(shared).info()["generations"]) == 3


def test_two_clients_that_add_the_same_samples_at_once_both_succeed(shared, monkeypatch):
    overtaken(shared, monkeypatch, lambda: append_gram(shared, X[20:], executor="serial"))
    assert append_gram(shared, X[20:], executor="serial").shape == (40, 40)
    assert_holds(shared, X)
    assert len(open_gram(shared).info()["runs"]) == 2


@pytest.mark.slow
def test_second_client_completes_the_same_samples_and_is_refused_with_others(shared, monkeypatch):
    def interrupted():
        with pytest.raises(Stop):
            append_gram(shared, X[20:33], executor="serial", progress=stop_after(6))

    overtaken(shared, monkeypatch, interrupted)
    with pytest.raises(StoreError, match=r"not complete.* let the call end that fills it, or run it again"):
        append_gram(shared, X[33:], executor="serial")
    append_gram(shared, X[20:33], executor="serial")
    append_gram(shared, X[33:35], executor="serial")
    assert_holds(shared, X[:35])


def test_client_that_came_second_leaves_no_files(tmp_path, monkeypatch):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:20], store=path, tile=6, executor="serial")
    overtaken(str(path), monkeypatch, lambda: append_gram(path, X[20:], executor="serial"))
    append_gram(path, X[20:], executor="serial")
    names = {f"{what}{of}" for what in ("ids", "digests") for of in ("", f".{open_gram(path).info()['id']}")}
    assert {entry.name for entry in (path / "rows").iterdir()} == names | {"marks", "prepared", "zarr.json"}
    assert not list(tmp_path.rglob("*.partial"))


def test_client_that_adds_samples_while_another_validates_its_own_comes_first(shared, monkeypatch):
    from distkern.build import append

    just_before(append, "look", monkeypatch, lambda: append_gram(shared, X[20:26], executor="serial"))
    append_gram(shared, X[26:], executor="serial")
    assert_holds(shared, X)


def test_only_one_of_many_clients_on_a_disk_replaces_the_root(tmp_path):
    location = location_of(str(tmp_path))
    location.put("zarr.json", b"0")
    roots = [bytes([k]) * 1000 for k in range(1, 9)]
    together = Barrier(len(roots))

    def replace(root):
        together.wait()
        return location.replace_root(b"0", root)

    with ThreadPoolExecutor(len(roots)) as pool:
        won = list(pool.map(replace, roots))
    assert sum(won) == 1
    assert location.root() == (tmp_path / "zarr.json").read_bytes() == roots[won.index(True)]


def test_client_killed_after_the_claim_of_the_root_has_made_the_store_grow(tmp_path, monkeypatch):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:20], store=path, tile=6, executor="serial")
    old = (path / "zarr.json").read_bytes()
    put = Folder.put

    def killed(self, key, value):
        if key == "zarr.json":
            raise Stop
        put(self, key, value)

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "put", killed)
        with pytest.raises(Stop):
            append_gram(path, X[20:33], executor="serial")
    assert (path / "zarr.json").read_bytes() == old
    assert open_gram(path).shape == (33, 33)
    with pytest.raises(StoreError, match="not complete"):
        append_gram(path, X[33:], executor="serial")
    append_gram(path, X[20:33], executor="serial")
    assert_holds(path, X[:33])
    assert (path / "zarr.json").read_bytes() != old


def test_late_write_of_a_slow_client_removes_no_samples(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:20], store=path, tile=6, executor="serial")
    names = ("zarr.json", "gram/zarr.json", "marks/zarr.json", "rows/marks/zarr.json", "rows/prepared/untied/zarr.json")
    old = {name: (path / name).read_bytes() for name in names}
    append_gram(path, X[20:33], executor="serial")
    new = {name: (path / name).read_bytes() for name in names}
    for name, document in old.items():
        (path / name).write_bytes(document)
    assert_holds(path, X[:33])
    compute_gram(Kendall(), X[:33], store=path, executor="serial")
    assert {name: (path / name).read_bytes() for name in names} == new


def test_interrupted_append_is_not_completed_under_other_names(tmp_path):
    compute_gram(Kendall(), X[:25], store=tmp_path / "k.zarr", tile=6, executor="serial")
    with pytest.raises(Stop):
        append_gram(tmp_path / "k.zarr", X[25:], executor="serial", progress=stop_after(18))
    with pytest.raises(StoreError, match="other names"):
        append_gram(tmp_path / "k.zarr", X[25:], ids=[f"q{k}" for k in range(15)])


def test_handle_of_a_store_replaced_by_another_kernel_adds_nothing(tmp_path):
    gram = compute_gram(Kendall(), X[:20], store=tmp_path / "k.zarr")
    compute_gram(Linear(), X[:20], store=tmp_path / "k.zarr", overwrite=True)
    with pytest.raises(StoreMismatchError, match="replaced by a store of another kernel"):
        append_gram(gram, X[20:])
    assert append_gram(tmp_path / "k.zarr", X[20:]).kernel == Linear()


def test_view_refuses_samples_for_which_the_stored_kernel_is_not_defined(tmp_path):
    gram = compute_gram(Kendall(ties="b"), X[:20], store=tmp_path / "k.zarr")
    with pytest.raises(SampleError, match="'20'"):
        append_gram(gram.with_kernel(Mallows(0.1)), np.ones((1, 30)))
    assert np.isfinite(open_gram(tmp_path / "k.zarr").to_numpy()).all()


def test_a_pickled_handle_is_not_another_matrix_later(tmp_path):
    gram = compute_gram(Kendall(), X[:20], store=tmp_path / "k.zarr")
    kept = pickle.dumps(gram)
    np.testing.assert_array_equal(pickle.loads(kept).to_numpy(), Kendall()(X[:20]))
    append_gram(gram, X[20:])
    with pytest.raises(StoreMismatchError, match="has grown, since it was opened"):
        pickle.loads(kept)


def test_names(tmp_path):
    frame = pd.DataFrame(X, index=[f"p{k}" for k in range(40)], columns=[f"g{k}" for k in range(30)])
    gram = compute_gram(Kendall(), frame[:20], store=tmp_path / "k.zarr")
    with pytest.raises(InputError, match="holds a sample named 'p3' already"):
        append_gram(gram, frame[3:4])
    with pytest.raises(InputError, match="lacks 1 of the 30 features that are needed: 'g0'"):
        append_gram(gram, frame[20:].iloc[:, 1:])
    with pytest.raises(InputError, match="29 features"):
        append_gram(gram, X[20:, 1:])
    grown = append_gram(gram, frame[20:].iloc[:, ::-1].assign(another=1.0))
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(X))
    assert grown.ids == tuple(frame.index)
    with pytest.warns(UserWarning, match=r"new samples does not have valid feature names, .* \('g0', 'g1', 'g2', …\)"):
        assert append_gram(grown, X[:2]).ids[-2:] == ("40", "41")
    named = pd.DataFrame(X[2:4], columns=frame.columns)
    assert append_gram(tmp_path / "k.zarr", named, ids=["x", "y"]).ids[-2:] == ("x", "y")


def test_what_cannot_fit_is_refused_before_anything_changes(tmp_path):
    gram = compute_gram(Kendall(), X[:20], store=tmp_path / "k.zarr")
    before = json.loads((tmp_path / "k.zarr" / "zarr.json").read_text())
    with pytest.raises(MemoryLimitError, match="raise memory_limit="):
        append_gram(gram, X[20:], memory_limit=1000)
    with pytest.raises(SampleError, match="'20'"):
        append_gram(gram, np.full((1, 30), np.nan))
    assert json.loads((tmp_path / "k.zarr" / "zarr.json").read_text()) == before


@pytest.mark.slow
def test_memory_limit_holds_when_an_append_resumes(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X[:25], store=path, tile=6, executor="serial")
    with pytest.raises(Stop):
        append_gram(path, X[25:], executor="serial", progress=stop_after(18))
    done = np.count_nonzero(GramStore.opened(path).checksums())
    with pytest.raises(MemoryLimitError, match=r"tiles of side 6.* may take 1000 B.*raise memory_limit="):
        append_gram(path, X[25:], executor="serial", memory_limit=1000)
    assert np.count_nonzero(GramStore.opened(path).checksums()) == done
    append_gram(path, X[25:], executor="serial", memory_limit="1GiB")
    assert_holds(path, X)


def test_compute_gram_names_a_store_of_the_first_samples(tmp_path):
    compute_gram(Kendall(), X[:25], store=tmp_path / "k.zarr")
    with pytest.raises(StoreMismatchError, match=r"holds the first 25 of these 40 samples: add the others"):
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    with pytest.raises(StoreMismatchError, match="holds another computation"):
        compute_gram(Kendall(), X[::-1], store=tmp_path / "k.zarr")


def test_a_tile_that_the_user_chose_may_be_larger_than_the_first_samples(tmp_path):
    compute_gram(Kendall(), X[:2], store=tmp_path / "k.zarr", tile=16)
    grown = append_gram(tmp_path / "k.zarr", X[2:])
    assert grown.info()["tiles"] == 6
    np.testing.assert_array_equal(grown.to_numpy(), Kendall()(X))
    assert os.path.exists(tmp_path / "k.zarr" / "gram" / "c" / "2" / "2")
