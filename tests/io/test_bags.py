"""Bags on disk: they are saved and loaded unchanged, read in parts, and refused if damaged."""

import json
import pickle

import numpy as np
import pytest
from marks import with_slow

from distkern import (
    Bags,
    Entropy,
    Gaussian,
    GeneralizedVariance,
    InputError,
    KernelIGV,
    MeanMap,
    append_gram,
    compute_gram,
    load_bags,
    open_gram,
    save_bags,
)
from distkern.io import bags as stored
from distkern.io.digests import sample_digests
from distkern.io.source import as_source


def some_bags(count=11, largest=9, labels=None, seed=0):
    rng = np.random.default_rng(seed)
    points = [rng.normal(size=(size, 3)) for size in [largest, *rng.integers(4, largest + 1, count - 1)]]
    weights = [rng.uniform(0.5, 2, len(part)) for part in points]
    return Bags.from_arrays(points, weights, [f"bag {number}" for number in range(count)], labels)


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of two points and of three offsets."""
    monkeypatch.setattr(stored, "CHUNK_BYTES", 48)
    monkeypatch.setattr(stored, "OFFSETS", 3)


LABELS = {
    "none": None,
    "text": ["ill", "well, ü"] * 5 + ["ill"],
    "object": np.array(["a", "bc"] * 5 + ["a"], dtype=object),
    "int": np.arange(11, dtype=np.int16),
    "float": np.linspace(0, 1, 11) / 3,
    "bool": [True] * 10 + [False],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_saved_bags_are_loaded_unchanged(tmp_path, small_chunks, labels):
    bags = some_bags(labels=labels)
    again = load_bags(save_bags(bags, tmp_path / "deep" / "bags.zarr"))
    assert again == bags
    assert (again.labels is None) == (labels is None)
    assert labels is None or again.labels.dtype == bags.labels.dtype
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["bags.zarr"]


def test_rows_of_stored_bags_equal_rows_in_memory(tmp_path, small_chunks):
    bags = some_bags()
    source = as_source(str(save_bags(bags, tmp_path / "bags.zarr")))
    assert (source.ids, source.ragged, source.portable) == (bags.ids, True, True)
    sent = pickle.dumps(source.nameless())
    assert len(sent) < 1000
    elsewhere, rows, memory = pickle.loads(sent), bags.rows(), as_source(bags)
    for some in (slice(None), slice(3, 7), slice(4, 4), [5], [9, 2, 3, 3, 10], np.empty(0, dtype=int)):
        np.testing.assert_array_equal(elsewhere.read(some), rows[some])
        np.testing.assert_array_equal(memory.read(some), rows[some])
        np.testing.assert_array_equal(elsewhere.part(np.arange(11)[::-1]).read(some), rows[::-1][some])
    np.testing.assert_array_equal(sample_digests(source.read(slice(None))), sample_digests(rows))


def test_padding_to_larger_bags_keeps_both_sources_portable(tmp_path):
    source = as_source(save_bags(some_bags(), tmp_path / "bags.zarr"))
    wide = source.widened(1 + 20 * 4)
    assert (wide.portable, wide.ragged, wide.shape, wide.ids) == (True, True, (11, 81), source.ids)
    assert Bags.from_rows(wide.read(slice(None)), wide.ids) == load_bags(tmp_path / "bags.zarr")
    assert wide.read([]).shape == (0, 81)
    with pytest.raises(InputError, match="the largest of these bags has 9 points"):
        source.widened(1 + 3 * 4)


@pytest.mark.parametrize(
    "kernel",
    with_slow([KernelIGV(Gaussian("median"))], [Entropy(bandwidth=0.5, draws=64), GeneralizedVariance(eta=0.1)]),
    ids=lambda k: k.name,
)
def test_run_resumes_with_stored_bags_or_bags_in_memory(tmp_path, small_chunks, kernel):
    bags = some_bags()
    path = save_bags(bags, tmp_path / "bags.zarr")
    gram = compute_gram(kernel, bags, store=tmp_path / "gram.zarr", tile=4, executor="serial")
    again = compute_gram(kernel, path, store=tmp_path / "gram.zarr", executor="serial")
    assert len(again.info()["runs"]) == 1
    other = compute_gram(kernel, path, store=tmp_path / "other.zarr", tile=4, executor="serial")
    assert other.info()["fingerprint"] == gram.info()["fingerprint"]
    np.testing.assert_array_equal(other.to_numpy(), gram.to_numpy())
    np.testing.assert_array_equal(kernel(str(path)), kernel(bags))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", with_slow([MeanMap(Gaussian("median"))], [Entropy(bandwidth=0.5, draws=64)]), ids=lambda k: k.name
)
def test_tasks_and_client_read_few_bags_at_a_time(tmp_path, monkeypatch, kernel):
    bags, read, take = some_bags(30), [], stored.StoredBagsReader.take
    for module in ("distkern.kernels.base", "distkern.build.look"):
        monkeypatch.setattr(f"{module}.STRIP_BYTES", 8 * bags.rows().shape[1] * 5)
    monkeypatch.setattr("distkern.build.look.LOOK_BYTES", 8 * bags.rows().shape[1] * 5)
    monkeypatch.setattr("distkern.build.validate.MEASURED", 4)
    monkeypatch.setattr(stored.StoredBagsReader, "take", lambda self, rows: read.append(rows) or take(self, rows))
    path = save_bags(bags, tmp_path / "bags.zarr")
    gram = compute_gram(kernel, path, store=tmp_path / "gram.zarr", tile=5, executor="serial")
    assert max(len(np.arange(30)[rows]) for rows in read) == 5
    whole = compute_gram(kernel, bags, store=tmp_path / "whole.zarr", tile=5, executor="serial")
    np.testing.assert_array_equal(gram.to_numpy(), whole.to_numpy())


def test_workers_read_their_own_bags(tmp_path, small_chunks, client):
    kernel, bags, new = MeanMap(Gaussian(1.0)), some_bags(labels=LABELS["text"]), some_bags(5, 12)
    paths = save_bags(new, tmp_path / "new.zarr"), save_bags(bags, tmp_path / "bags.zarr")
    far = compute_gram(kernel, *paths, store=tmp_path / "far.zarr", tile=4, executor=client)
    near = compute_gram(kernel, new, bags, store=tmp_path / "near.zarr", tile=4, executor="serial")
    np.testing.assert_array_equal(far.to_numpy(), near.to_numpy())


def test_stored_bags_are_appended_to_a_store(tmp_path):
    kernel, bags = MeanMap(Gaussian(1.0)), some_bags()
    first, last = (save_bags(bags[part], tmp_path / f"{part.start}.zarr") for part in (slice(0, 7), slice(7, 11)))
    compute_gram(kernel, first, store=tmp_path / "gram.zarr", executor="serial")
    grown = append_gram(tmp_path / "gram.zarr", last, executor="serial")
    whole = compute_gram(kernel, bags, store=tmp_path / "whole.zarr", executor="serial")
    assert grown.ids == bags.ids
    np.testing.assert_array_equal(grown.to_numpy(), whole.to_numpy())


def test_damaged_bags_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "CHUNK_BYTES", 1200)
    bags = some_bags(labels=LABELS["text"])
    path, rng, refused = save_bags(bags, tmp_path / "bags.zarr"), np.random.default_rng(1), []
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    for file in files:
        whole = file.read_bytes()
        flipped = bytearray(whole)
        flipped[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
        for damaged in (bytes(flipped), whole[: len(whole) // 2], b"", None):
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            try:
                assert load_bags(path) == bags, file
                np.testing.assert_array_equal(as_source(path).read(slice(None)), bags.rows())
            except InputError as error:
                refused.append(str(error))
            file.write_bytes(whole)
    assert len(refused) > 3 * len(files)
    assert all(str(path) in said for said in refused)


def test_a_fill_value_beyond_float64_is_damage(tmp_path):
    path = save_bags(some_bags(), tmp_path / "bags.zarr")
    file = path / "values" / "zarr.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"fill_value": 10**400}))
    with pytest.raises(InputError, match=r"bags in .* are damaged"):
        load_bags(path)


def test_missing_and_other_folders_are_refused_by_name(tmp_path):
    gram = compute_gram(MeanMap(), some_bags(), store=tmp_path / "gram.zarr", executor="serial")
    path = save_bags(some_bags(), tmp_path / "bags.zarr")
    with pytest.raises(InputError, match="there is no store of bags"):
        load_bags(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"gram\.zarr' holds no bags: give the folder that save_bags"):
        load_bags(gram.path)
    with pytest.raises(InputError, match="exists: give another path, or overwrite=True"):
        save_bags(some_bags(), path)
    with pytest.raises(InputError, match="exists and holds no bags, and nothing else is replaced"):
        save_bags(some_bags(), gram.path, overwrite=True)
    with pytest.raises(InputError, match="is a URL: give a path"):
        save_bags(some_bags(), "s3://bucket/bags.zarr")
    with pytest.raises(InputError, match="labels of object cannot be stored"):
        save_bags(some_bags(2, labels=np.array([1, "a"], dtype=object)), tmp_path / "other.zarr")
    open_gram(gram.path).to_numpy()
    root = path / "zarr.json"
    root.write_text(root.read_text().replace('"distkern_bags": 1', '"distkern_bags": 2'))
    with pytest.raises(InputError, match="holds bags in format 2, and format 1 is read: update distkern"):
        as_source(path)


def test_bags_are_replaced_atomically_and_only_on_request(tmp_path):
    old, new = some_bags(), some_bags(seed=1)
    path = save_bags(old, tmp_path / "bags.zarr")

    def fail(event):
        if event.phase == "write offsets":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_bags(new, path, overwrite=True, on_event=fail)
    assert load_bags(path) == old
    save_bags(new, path, overwrite=True)
    assert load_bags(path) == new
    assert [file.name for file in tmp_path.iterdir()] == ["bags.zarr"]


def test_bags_that_change_between_two_reads_are_refused(tmp_path):
    path = save_bags(some_bags(), tmp_path / "bags.zarr")
    sent = pickle.dumps(as_source(path))
    save_bags(some_bags(4), path, overwrite=True)
    with pytest.raises(InputError, match="holds other bags than when it was opened"):
        pickle.loads(sent).read([0])
