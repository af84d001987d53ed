"""Stores on object storage, against a server that speaks the protocol of S3: all that holds on a disk holds there."""

import json
import os
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import obstore
import pytest

from distkern import (
    CorruptTileError,
    Gaussian,
    InputError,
    Kendall,
    Linear,
    Mallows,
    MissingExtraError,
    StoreError,
    StoreMismatchError,
    compute_gram,
    open_gram,
    repair_gram,
)
from distkern.store import location as places
from distkern.store.location import location_of
from distkern.store.tiles import GramStore

X = np.random.default_rng(0).integers(0, 50, (23, 40)).astype(float)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setitem(places.OPTIONS, "retry_config", {"max_retries": 1, "retry_timeout": timedelta(seconds=5)})


def folder_of(s3):
    return json.loads(s3.files()["study/k.zarr/zarr.json"])["attributes"]["distkern"]["folder"]


def chunks(s3):
    """Chunks by their names in the store."""
    below = f"study/k.zarr/{folder_of(s3)}/"
    return {key.removeprefix(below): value for key, value in s3.files(below).items() if "/c/" in key}


def on_disk(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in Path(path).rglob("c/**/*") if f.is_file()}


def change(s3, key, value):
    where = f"study/k.zarr/{folder_of(s3)}/{key}"
    obstore.delete(s3.objects, where) if value is None else obstore.put(s3.objects, where, value)


@pytest.mark.slow
def test_the_same_bytes_as_on_a_disk(s3, s3_client, tmp_path):
    for kernel in (Kendall(ties="b"), Gaussian("median")):
        compute_gram(kernel, X, store=tmp_path / "k.zarr", tile=8, executor="serial", overwrite=True)
        for executor in (2, s3_client) if kernel.name == "kendall" else (2,):
            gram = compute_gram(kernel, X, store=s3.url, tile=8, executor=executor, overwrite=True, progress=False)
            np.testing.assert_array_equal(gram.to_numpy(), kernel(X))
            assert chunks(s3) == on_disk(tmp_path / "k.zarr")
            assert executor == 2 or "Dask cluster" in gram.info()["runs"][0]["executor"]
    assert gram.path == s3.url
    assert {key.partition("/")[0] for key in s3.files("study/k.zarr")} == {"study"}


@pytest.mark.slow
def test_handle_of_a_store_on_object_storage(s3):
    gram = compute_gram(Kendall(), X, store=f"{s3.url}/", tile=8)
    again = pickle.loads(pickle.dumps(gram.with_kernel(Mallows(0.5))))
    np.testing.assert_array_equal(again.to_numpy(), Mallows(0.5)(X))
    np.testing.assert_array_equal(gram.cross(X[:3]).to_numpy(), Kendall()(X[:3], X))
    np.testing.assert_allclose(gram.matmat(np.ones(23)), Kendall()(X).sum(axis=1), rtol=1e-12)
    assert gram.verify() == []
    rectangular = compute_gram(Linear(), X[:5], X[5:], store=s3.url, tile=12, overwrite=True)
    np.testing.assert_array_equal(rectangular.to_numpy(), Linear()(X[:5], X[5:]))


@pytest.mark.slow
def test_interrupted_run_on_object_storage_resumes(s3):
    def interrupt(event):
        if event.phase == "compute tiles" and event.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compute_gram(Kendall(), X, store=s3.url, tile=6, executor="serial", progress=interrupt)
    assert open_gram(s3.url).info()["tiles_done"] == 3
    gram = compute_gram(Kendall(), X, store=s3.url, tile=12)
    assert [run["tiles_computed"] for run in gram.info()["runs"]] == [3, 7]
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))


@pytest.mark.slow
def test_a_store_is_replaced_in_one_request_and_nothing_of_the_old_one_remains(s3):
    old = compute_gram(Kendall(), X, store=s3.url, tile=8)
    with pytest.raises(StoreError, match="exists"):
        compute_gram(Linear(), X, store=s3.url, resume=False)
    with pytest.raises(StoreMismatchError, match="holds another computation"):
        compute_gram(Linear(), X, store=s3.url, tile=12)
    new = compute_gram(Linear(), X, store=s3.url, tile=12, overwrite=True)
    np.testing.assert_array_equal(new.to_numpy(), Linear()(X))
    assert {key.split("/")[2] for key in s3.files("study/k.zarr")} == {"zarr.json", folder_of(s3)}
    with pytest.raises(StoreMismatchError, match="was replaced by another store"):
        old._store.refuse_if_changed()


@pytest.mark.slow
def test_a_store_that_was_copied_from_a_disk_is_opened_completed_and_replaced(s3, tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=8)
    for file in (tmp_path / "k.zarr").rglob("*"):
        if file.is_file():
            obstore.put(s3.objects, f"study/k.zarr/{file.relative_to(tmp_path / 'k.zarr')}", file.read_bytes())
    np.testing.assert_array_equal(open_gram(s3.url).to_numpy(), Kendall()(X))
    assert len(compute_gram(Kendall(), X, store=s3.url, tile=12).info()["runs"]) == 1
    compute_gram(Linear(), X, store=s3.url, tile=12, overwrite=True)
    assert {key.split("/")[2] for key in s3.files("study/k.zarr")} == {"zarr.json", folder_of(s3)}


@pytest.mark.slow
def test_a_store_that_was_copied_to_a_disk_is_the_same_store(s3, tmp_path):
    compute_gram(Kendall(), X, store=s3.url, tile=8)
    for key, value in s3.files("study/k.zarr").items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(value)
    gram = open_gram(tmp_path / "study" / "k.zarr")
    assert gram.verify() == []
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))


def test_only_stores_are_replaced_on_object_storage(s3):
    obstore.put(s3.objects, "study/chapter1.tex", b"precious")
    for url in (f"s3://{s3.bucket}/study", f"s3://{s3.bucket}/study/"):
        for overwrite in (False, True):
            with pytest.raises(StoreError, match="is not a distkern store"):
                compute_gram(Kendall(), X, store=url, overwrite=overwrite)
    obstore.put(s3.objects, "study/zarr.json", b'{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    with pytest.raises(StoreError, match="is not a distkern store"):
        compute_gram(Kendall(), X, store=f"s3://{s3.bucket}/study", overwrite=True)
    assert s3.files()["study/chapter1.tex"] == b"precious"


@pytest.mark.faults
def test_damaged_and_lost_objects_are_noticed_and_repaired(s3):
    compute_gram(Kendall(), X, store=s3.url, tile=12)
    before = chunks(s3)
    damaged = bytearray(before["gram/c/0/1"])
    damaged[len(damaged) // 2] ^= 1
    change(s3, "gram/c/0/1", bytes(damaged))
    change(s3, "gram/c/1/1", b"short")
    change(s3, "gram/c/0/0", None)
    with pytest.raises(CorruptTileError, match=r"tile \(0, 0\)"):
        open_gram(s3.url).to_numpy()
    assert len(open_gram(s3.url).verify()) == 3
    assert repair_gram(s3.url) == 3
    assert chunks(s3) == before
    change(s3, "rows/prepared/untied/c/0", None)
    with pytest.raises(StoreError, match="compute_gram with the same kernel and data"):
        repair_gram(s3.url)
    assert compute_gram(Kendall(), X, store=s3.url, tile=12).info()["runs"][-1]["blocks_prepared"] == 1
    change(s3, "marks/zarr.json", None)
    with pytest.raises(StoreError, match="has lost its array 'marks'"):
        open_gram(s3.url).info()


@pytest.mark.slow
def test_no_more_bytes_of_a_long_object_are_read_than_the_array_has(s3):
    gram = compute_gram(Gaussian(3.0), X, store=s3.url, tile=12)
    held = chunks(s3)
    for more in (bytes(2**24), None):
        for key in ("gram/c/0/1", "rows/prepared/squares/c/1"):
            change(s3, key, b"" if more is None else held[key] + more)
        s3.sent.clear()
        assert [found.partition(" of ")[0] for found in gram.verify()] == ["tile (0, 1)", "the prepared rows 12–22"]
        assert 0 < sum(s3.sent.values()) < 2**20


@pytest.mark.slow
def test_prepared_arrays_of_a_block_are_read_concurrently(s3, monkeypatch):
    compute_gram(Kendall(), X, store=s3.url, tile=12)
    store = GramStore.opened(s3.url)
    together = threading.Barrier(len(store.rows.names), timeout=30)
    answer = s3._app

    def waiting(environ, respond):
        if "/prepared/" in environ["PATH_INFO"] and "/c/1" in environ["PATH_INFO"]:
            together.wait()  # for the requests for all other arrays
        return answer(environ, respond)

    monkeypatch.setattr(s3, "_app", waiting)
    assert store.rows.read(1).keys() == {"codes", "diagonal", "order", "tied", "untied"}


@pytest.mark.faults
def test_two_clients_at_once_create_one_store_and_both_complete_it(s3):
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(compute_gram, Kendall(), X, store=s3.url, tile=8, executor="serial") for _ in range(2)]
        for run in runs:
            np.testing.assert_array_equal(run.result().to_numpy(), Kendall()(X))
    assert open_gram(s3.url).is_complete
    assert open_gram(s3.url).verify() == []
    assert {key.split("/")[2] for key in s3.files("study/k.zarr")} == {"zarr.json", folder_of(s3)}


@pytest.mark.faults
def test_one_of_two_creators_of_different_stores_succeeds(s3, monkeypatch):
    put = places.Objects.put

    def slow(self, key, value):
        if key.endswith("digests/c/0/0") and not s3.files("study/k.zarr/zarr.json"):
            monkeypatch.setattr(places.Objects, "put", put)
            compute_gram(Kendall(), X, store=s3.url, tile=12)
        put(self, key, value)

    monkeypatch.setattr(places.Objects, "put", slow)
    with pytest.raises(StoreMismatchError, match="holds another computation"):
        compute_gram(Linear(), X, store=s3.url, tile=12)
    gram = open_gram(s3.url)
    assert gram.verify() == []
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))
    assert {key.split("/")[2] for key in s3.files("study/k.zarr")} == {"zarr.json", folder_of(s3)}


@pytest.mark.faults
def test_files_of_a_killed_creator_are_no_store_and_are_swept_when_old(s3, monkeypatch):
    left = f"study/k.zarr/{'0' * 32}/gram/zarr.json"
    obstore.put(s3.objects, left, b"{}")
    with pytest.raises(StoreError, match="there is no store"):
        open_gram(s3.url)
    compute_gram(Kendall(), X, store=s3.url, tile=12)
    assert left in s3.files("study/k.zarr")  # it may be that of a live one

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(UTC) + timedelta(days=1)

    monkeypatch.setattr(places, "datetime", Tomorrow)
    gram = compute_gram(Kendall(), X, store=s3.url, tile=12)
    assert left not in s3.files("study/k.zarr")
    assert gram.verify() == []


def test_requests_are_few_and_never_list_what_a_store_holds(s3):
    compute_gram(Kendall(), X, store=s3.url, tile=4)
    with s3.counting() as opening:
        gram = open_gram(s3.url)
        gram.info()
    assert [method for method, _, _ in opening] == ["GET"] * len(opening)
    # the root and the kernel asked for; the marks, a row of blocks an object; the list of runs and a run
    assert len(opening) == 2 + 1 + 6 + 2
    store = GramStore.opened(s3.url)
    store.read_tile(0, 1)
    with s3.counting() as reading:
        store.read_tile(3, 4)
    assert [key.partition("gram/")[2] for _, key, _ in reading] == ["c/3/4"]
    with s3.counting() as writing:
        store.write_tile(3, 4, np.zeros((4, 4)))
    assert [method for method, _, _ in writing] == ["PUT"]
    with s3.counting() as looking:
        store.refuse_if_changed()
    assert [(method, key) for method, key, _ in looking] == [("GET", "study/k.zarr/zarr.json")]
    with s3.counting() as resuming:
        compute_gram(Kendall(), X, store=s3.url, executor="serial")
    assert len(resuming) < 40
    assert [key for _, key, lists in resuming if lists] == ["", ""]  # what was spooled; the folders at the prefix


@pytest.mark.usefixtures("impatient")
def test_answer_of_a_server_becomes_one_sentence(s3, monkeypatch):
    with pytest.raises(StoreError, match=r"^cannot look for the store 's3://nowhere/k.zarr': NoSuchBucket: [^\n]*$"):
        compute_gram(Kendall(), X, store="s3://nowhere/k.zarr")
    with pytest.raises(StoreError, match=r"cannot open the store 's3://nowhere/k\.zarr': NoSuchBucket"):
        open_gram("s3://nowhere/k.zarr")
    gram = compute_gram(Kendall(), X, store=s3.url, tile=12)
    s3.fails["PUT"] = ("403 Forbidden", "AccessDenied")
    with pytest.raises(StoreError, match=r"^cannot create the store .*: AccessDenied: as .*: check the cr"):
        compute_gram(Kendall(), X, store=s3.url, tile=12, overwrite=True)
    np.testing.assert_array_equal(open_gram(s3.url).to_numpy(), Kendall()(X))  # the old one is as it was
    s3.fails["GET"] = ("400 Bad Request", "ExpiredToken")
    with pytest.raises(StoreError, match=r"^cannot read the store .*: ExpiredToken: as the test wants it$"):
        gram.to_numpy()
    s3.fails["GET"] = ("503 Slow Down", "SlowDown")
    with pytest.raises(StoreError, match=r"SlowDown|503 Service Unavailable"):  # older obstore keeps the code only
        open_gram(s3.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match=r"^cannot open the store .*error sending request$"):
        open_gram(s3.url)


@pytest.mark.faults
def test_lost_permission_is_reported_and_the_run_resumes_later(s3):
    def forbid(event):
        if event.phase == "compute tiles" and event.done == 2:
            s3.fails["PUT"] = ("403 Forbidden", "AccessDenied")

    with pytest.raises(Exception, match="AccessDenied") as caught:
        compute_gram(Kendall(), X, store=s3.url, tile=6, executor="serial", progress=forbid)
    assert type(caught.value).__name__ in ("TaskError", "StoreError")
    s3.fails.clear()
    gram = compute_gram(Kendall(), X, store=s3.url, tile=12)
    assert 0 < gram.info()["runs"][-1]["tiles_computed"] < 10
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://host/k.zarr", r"cannot lie at ftp:// .* with s3://, gs://, az://"),
        ("memory://k.zarr", "cannot lie at memory://"),
        ("s3://bucket", "names no store: give s3://bucket/name.zarr"),
        ("s3:///k.zarr", "names no store"),
        ("s3://bucket/a/../k.zarr", "names no store"),
        (Path("s3://bucket/k.zarr"), "is a URL that pathlib has shortened"),
    ],
)
def test_urls_that_name_no_store_are_refused(url, message):
    for call in (lambda: open_gram(url), lambda: compute_gram(Kendall(), X, store=url)):
        with pytest.raises(InputError, match=message):
            call()


def test_without_obstore_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'distkern\[cloud\]'"):
        open_gram("s3://bucket/k.zarr")


def test_a_relative_path_means_the_same_to_workers_in_another_folder(tmp_path, client, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the workers were started elsewhere
    np.save("x.npy", X)
    gram = compute_gram(Kendall(), "x.npy", store="k.zarr/", tile=6)
    assert gram.path == str(tmp_path / "k.zarr")
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))
    os.chdir("/")
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.zarr", "x.npy"]


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert compute_gram(Kendall(), X, store="~/k.zarr").path == str(tmp_path / "k.zarr")
    assert open_gram("~/k.zarr").is_complete
    with pytest.raises(InputError, match="store must be a path or a URL, not None"):
        compute_gram(Kendall(), X, store=None)


def test_an_interrupted_creation_leaves_nothing_behind(tmp_path):
    left = tmp_path / "k.zarr.0123456789abcdef0123456789abcdef.new"
    left.mkdir()
    os.utime(left, (time.time() - 7200,) * 2)
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    assert [path.name for path in tmp_path.iterdir()] == ["k.zarr"]


def test_sweeping_leaves_what_only_looks_like_an_unfinished_store(tmp_path):
    own, unfinished = tmp_path / "k.zarr.v2.new", tmp_path / f"k.zarr.{'0' * 32}.new"
    for folder in (own, unfinished):
        folder.mkdir()
        os.utime(folder, (time.time() - 10_000,) * 2)
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    assert own.exists()
    assert not unfinished.exists()


@pytest.mark.parametrize("replaced", [None, "k.zarr"])
def test_a_folder_that_cannot_be_built_is_an_error_and_leaves_nothing_behind(tmp_path, monkeypatch, replaced):
    location = location_of(str(tmp_path / "k.zarr"))
    if replaced:
        location.create({"a": b"1"}, None)

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        location.create({"b/c": b"2"}, replaced)
    assert [path.name for path in tmp_path.iterdir()] == ([replaced] if replaced else [])
    assert location.get("a") == (b"1" if replaced else None)


def test_who_comes_second_leaves_the_folder_of_the_first(tmp_path):
    location = location_of(str(tmp_path / "k.zarr"))
    location.create({"a": b"1"}, None)
    location.create({"a": b"2"}, None)
    assert location.get("a") == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["k.zarr"]


def test_sweeping_finishes_the_root_of_a_client_that_was_killed(tmp_path):
    place = location_of(str(tmp_path))
    old, new = b'{"attributes": {"old": 1}}', b'{"attributes": {"new": 2}}'
    place.put("zarr.json", old)
    assert place.replace_root(old, new)
    place.put("zarr.json", old)  # as if the client had been killed before it wrote the root
    assert place.root() == new
    place.sweep("")
    assert (tmp_path / "zarr.json").read_bytes() == new


def test_temporary_arrays_of_a_day_are_kept_and_those_of_eight_days_are_deleted(tmp_path):
    (tmp_path / "zarr.json").write_bytes(b"{}")
    for days in (1, 8):
        folder = tmp_path / "scratch" / f"{days}"
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - 86_400 * days,) * 2)
    location_of(str(tmp_path)).sweep("")
    assert [folder.name for folder in (tmp_path / "scratch").iterdir()] == ["1"]


def test_sweeping_deletes_old_unfinished_stores_on_object_storage(s3, monkeypatch):
    place, other = location_of(s3.url), "0123456789abcdef" * 2
    for key in (f"{other}/rows/zarr.json", "notes.txt"):
        obstore.put(s3.objects, f"study/k.zarr/{key}", b"{}")
    place.sweep("")
    assert f"study/k.zarr/{other}/rows/zarr.json" in s3.files()  # an hour has not passed
    monkeypatch.setattr(places, "STALE_SECONDS", -10)
    place.sweep("")
    assert list(s3.files()) == ["study/k.zarr/notes.txt"]


def test_of_two_clients_that_replace_a_root_one_succeeds(tmp_path):
    place = location_of(str(tmp_path))
    place.put("zarr.json", b"{}")
    assert place.replace_root(b"{}", b'{"first": 1}')
    assert not place.replace_root(b"{}", b'{"second": 2}')
    assert place.root() == place.get("zarr.json") == b'{"first": 1}'
