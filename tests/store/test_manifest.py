"""A manifest from a stranger is refused or read as it says: no other error, and no memory for what it claims."""

import copy
import json
import tracemalloc

import numpy as np
import pytest
from documents import rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import with_slow

from distkern import DistkernError, Gaussian, Kendall, StoreError, append_gram, compute_gram, open_gram
from distkern.store.manifest import CohortVersion, Manifest, folder_in_root, json_checksum
from distkern.store.tiles import GramStore

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (7, 6)).astype(float)
CASES = {
    "counts": (Kendall(ties="b"), X, None),
    "floats": (Gaussian(2.0), X[:4], X[4:]),
    "collapsed": (Kendall(), X[RNG.integers(0, 3, 9)], None),
}
DEEP = "[" * 100_000 + "]" * 100_000
MEMORY = 100 * 2**20
VALUES = st.one_of(
    st.sampled_from(
        [None, True, False, -1, 0, 1, 2, 7, 8, 10**9, 2**31, 2**63, 10**30, 1.5, -0.0, float("nan"), float("inf")]
    ),
    st.sampled_from(["", "x", "rows", "..", "../../secret", "0" * 32, "NaN", "int64", "float32", "object", "r*", "|O"]),
    st.sampled_from([[], {}, [1], [10**9, 10**9], [[[]]], {"kernel": "linear"}, {"name": "pickle"}, {"name": "gzip"}]),
    st.just(DEEP),
    st.integers(-(2**70), 2**70),
    st.text(max_size=5),
)
DEEP_JSON = json.dumps(DEEP)


def files_of(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.fixture(scope="module", params=with_slow(["counts"], ["collapsed", "floats"]))
def valid(request, tmp_path_factory):
    """A store, its files, and a place to write changed ones."""
    kernel, rows, cols = CASES[request.param]
    path = tmp_path_factory.mktemp("valid") / "k.zarr"
    gram = compute_gram(kernel, rows, cols, store=path, tile=3, executor="serial", progress=False)
    return path, files_of(path), gram.to_numpy()


def places_in(value, here=()):
    """Every place in a JSON document."""
    yield here
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places_in(child, (*here, key))


def changed(draw, document):
    """The document with one value dropped, renamed or replaced."""
    *above, last = draw(st.sampled_from(list(places_in(document))[1:]))
    holder = document
    for key in above:
        holder = holder[key]
    what = draw(st.sampled_from(["drop", "replace", "replace", "more"]))
    if what == "drop":
        del holder[last]
    elif what == "more" and isinstance(holder[last], int) and not isinstance(holder[last], bool):
        holder[last] += draw(st.integers(-3, 3))
    else:
        holder[last] = copy.deepcopy(draw(VALUES))
    return document


def text_of(document):
    return json.dumps(document).replace(DEEP_JSON, DEEP).encode()


def read_from(path):
    """Open a store, read all of it and verify it: its values and what is wrong; None where it is refused."""
    tracemalloc.start()
    refused = ""
    try:
        gram = open_gram(path)
        gram.info()
        repr(gram), gram.row_ids, gram.col_ids, gram.features, gram.dropped, gram.row_diag(), gram.col_diag()
        wrong = gram.verify(progress=False)
        return gram.to_numpy(), wrong
    except DistkernError as error:
        refused = str(error)
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MEMORY
        assert len(refused) < 1000
        assert "\n" not in refused


def read_with(valid, key, held):
    """Read the store while one of its files holds something else."""
    path, files, _ = valid
    try:
        (path / key).write_bytes(held)
        return read_from(path)
    finally:
        (path / key).write_bytes(files[key])


def damaged(draw, held, *more):
    """Other bytes: none of the old ones, some of them, all but one bit, or those and more."""
    how = draw(st.sampled_from(["bytes", "cut", "flip", *more]))
    if how == "bytes":
        return draw(st.binary(max_size=200))
    if how == "cut":
        return held[: draw(st.integers(0, len(held) - 1))]
    if how == "longer":
        return held + draw(st.binary(min_size=1, max_size=5))
    if how == "json":
        return text_of(changed(draw, json.loads(held)))
    flipped = bytearray(held)
    flipped[draw(st.integers(0, len(held) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(flipped)


@pytest.mark.parametrize(
    ("kind", "more"), [("zarr.json", ["json"] * 4), ("/c/", ["longer"])], ids=["metadata", "values"]
)
@settings(max_examples=6)
@given(data=st.data())
def test_damaged_bytes_are_refused_or_do_not_matter(valid, kind, more, data):
    _, files, values = valid
    key = data.draw(st.sampled_from(sorted(key for key in files if kind in key)))
    if found := read_with(valid, key, damaged(data.draw, files[key], *more)):
        np.testing.assert_array_equal(found[0], values)


@settings(max_examples=40)
@given(st.data())
def test_manifest_changed_with_its_checksum_is_refused_or_read_as_it_says(valid, data):
    _, files, values = valid
    document = json.loads(files["zarr.json"])
    for _ in range(data.draw(st.integers(1, 2))):
        document["attributes"]["distkern"] = changed(data.draw, document["attributes"]["distkern"])
    text = text_of(document)
    try:
        document["attributes"]["checksum"] = json_checksum(json.loads(text)["attributes"]["distkern"])
        text = text_of(document)
    except RecursionError:
        pass  # too deep for a checksum, and for a reader
    if found := read_with(valid, "zarr.json", text):
        assert all(np.array(found[0].shape) <= values.shape)


@pytest.fixture
def store(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=3, executor="serial")
    return tmp_path / "k.zarr"


def test_claimed_sizes_are_compared_with_the_free_memory_first(store):
    rewrite(store, "marks/zarr.json", shape=[10**9, 10**9])
    np.testing.assert_array_equal(open_gram(store).to_numpy(), Kendall()(X))  # the plan knows of three blocks
    claims = {"shape": [10**9] * 2, "samples": [10**9] * 2}
    rewrite(store, "zarr.json", **claims, generations=[claims], tile=1, tiles=10**9 * (10**9 + 1) // 2)
    with pytest.raises(StoreError, match=r"would take [0-9,]+ bytes of memory, more than there is"):
        open_gram(store)


def test_a_store_of_another_kernel_or_type_is_refused(store):
    for entries, message in (
        ({"kernel": {"kernel": "nobody"}}, "its kernel cannot be built"),
        ({"kernel": {"kernel": "mallows", "lam": -1}}, "its kernel cannot be built"),
        ({"kernel": {"kernel": "linear"}}, "its stored values do not fit its kernel"),
        ({"dtype": "float32"}, "its stored values do not fit"),
        ({"folder": "../elsewhere"}, "'folder' cannot be '../elsewhere'"),
        ({"prepared": {"../../x": ["int8", []]}}, "'prepared' cannot be"),
        ({"prepared": {"untied": ["object", []]}}, "'prepared' cannot be"),
        ({"tile": 2}, "'tiles' cannot be 6 beside the rest"),
        ({"seconds": float("inf")}, "'seconds' cannot be inf"),
    ):
        before = (store / "zarr.json").read_bytes()
        rewrite(store, "zarr.json", **entries)
        with pytest.raises(StoreError, match=message):
            open_gram(store)
        (store / "zarr.json").write_bytes(before)
    assert open_gram(store).is_complete


@pytest.fixture(scope="module")
def manifests(tmp_path_factory):
    """Manifests of a symmetric matrix, a rectangular one, one of equal samples, one that has grown, and landmarks."""
    folder, options = tmp_path_factory.mktemp("manifests"), {"executor": "serial", "progress": False}
    for name, (kernel, rows, cols) in CASES.items():
        compute_gram(kernel, rows, cols, store=folder / name, tile=3, **options)
    append_gram(compute_gram(Kendall(), X[:4], store=folder / "grown", tile=3, **options), X[4:], **options)
    compute_gram(Gaussian(2.0), X, store=folder / "landmarks", landmarks=3, **options)
    return {path.name: GramStore.opened(path).manifest for path in folder.iterdir()}


def test_manifest_is_read_as_it_was_written(manifests):
    for manifest in manifests.values():
        assert Manifest.from_json("k.zarr", json.loads(json.dumps(manifest.to_json()))) == manifest
        assert Manifest.from_root("k.zarr", manifest.to_root()) == manifest


def test_document_without_a_manifest_is_that_of_something_else():
    for attributes in ({}, {"distkern": 1}, {"distkern": {"tile": 3}}, {"distkern_bags": 1}):
        assert Manifest.from_root("k.zarr", json.dumps({"attributes": attributes}).encode()) is None
    with pytest.raises(StoreError, match=r"'zarr\.json' is no JSON"):
        Manifest.from_root("k.zarr", b"{")


def test_grown_manifest_has_one_more_version(manifests):
    first = manifests["counts"]
    size = CohortVersion((11, 11), (11, 11))
    grown = first.grown(size, bytes_stored=99)
    assert grown.versions == (*first.versions, size)
    assert (grown.shape, grown.samples, grown.tiles, grown.bytes_stored) == ((11, 11), (11, 11), 10, 99)
    assert grown.seconds == pytest.approx(first.seconds * grown.grid.entries / first.grid.entries)
    assert grown.id != first.id
    assert grown.array_name("rows", "ids") == f"rows/ids.{grown.id}"
    assert first.array_name("rows", "ids") == "rows/ids"
    assert grown.as_made().size == first.size
    stored = manifests["grown"]
    assert [version.samples[0] for version in stored.versions] == [4, 7]
    assert stored.to_json()["generations"] == [{"shape": [n, n], "samples": [n, n]} for n in (4, 7)]


def test_manifest_of_landmarks_keeps_positions_and_true_entries(manifests):
    manifest = manifests["landmarks"]
    columns = manifest.landmark_columns
    pairs, values = columns.true_entries.arrays("k.zarr")
    assert manifest.shape == (7, len(columns.positions))
    np.testing.assert_allclose(values, Gaussian(2.0)(X)[pairs[0], pairs[1]], rtol=1e-12)
    entries = manifest.to_json()
    for key, value, said in (
        ("landmark_positions", [0, 1], "the landmarks are not 3 of its 7 samples"),
        ("landmark_positions", [0, 0, 1], "'landmark_positions' cannot be"),
        ("landmark_positions", [0, 1, 7], "the landmarks are not 3 of its 7 samples"),
        ("landmarks", None, "'landmarks' cannot be None"),
        ("error_sample", {"pairs": [[0], [7]], "values": [1.0], "checksum": 1}, "samples that are not there"),
        ("error_sample", {"pairs": [[0], []], "values": [1.0], "checksum": 1}, "'error_sample' cannot be"),
    ):
        with pytest.raises(StoreError, match=said):
            Manifest.from_json("k.zarr", entries | {key: value})


def test_manifest_of_another_format_names_the_version_that_wrote_it(manifests):
    document = json.loads(manifests["counts"].to_root())
    document["attributes"]["distkern"] |= {"format": 3, "version": "9.1"}
    with pytest.raises(StoreError, match=r"has store format 3, written by distkern 9\.1; .* reads formats 1 and 2"):
        Manifest.from_root("k.zarr", json.dumps(document).encode())


def test_the_folder_of_a_store_is_read_from_its_root(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X, store=path, executor="serial", progress=False)
    raw, folder = (path / "zarr.json").read_bytes(), "0123456789abcdef" * 2
    document = json.loads(raw)
    assert folder_in_root(str(path), raw) == document["attributes"]["distkern"].get("folder", "")
    document["attributes"]["distkern"]["folder"] = folder
    assert folder_in_root(str(path), json.dumps(document).encode()) == folder
    assert folder_in_root(str(path), None) is None
    assert folder_in_root(str(path), b"{}") is None
