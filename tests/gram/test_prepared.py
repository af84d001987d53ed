"""Prepared samples whose checksums are right and whose values are not: compiled code would walk out of its arrays."""

import json
import shutil

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import with_slow

from distkern import (
    Bags,
    DistkernError,
    Entropy,
    EqualRank,
    Gaussian,
    Kendall,
    MeanMap,
    PairAgreement,
    PartialKendall,
    PartialMallows,
    QuantileLinear,
    SmoothedKendall,
    Spearman,
    StoreError,
    WeightedKendall,
    compute_gram,
    open_gram,
    repair_gram,
)
from distkern.store.checksums import checksum
from distkern.store.layout import DIAGONAL
from distkern.store.manifest import json_checksum
from distkern.store.tiles import GramStore

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (9, 8)).astype(float)
SPARSE = sp.csr_array(np.where(RNG.random((9, 40)) < 0.1, RNG.integers(-4, 5, (9, 40)), 0).astype(float))
CASES = {
    "dense": (Kendall(ties="b"), X),
    "sparse": (Kendall(), SPARSE),
    "partial": (PartialKendall(), np.where(X == 3, np.nan, X)),
    "draws": (PartialMallows(0.1, draws=5), np.where(X == 3, np.nan, X)),
    "weighted": (WeightedKendall("multiplicative"), X),
    "smoothed": (SmoothedKendall(0.5, noise="gaussian"), X),
    "copies": (SmoothedKendall(0.5, method="monte-carlo", draws=3), X),
    "bags": (Entropy(), Bags.from_arrays(list(RNG.integers(0, 3, (9, 4, 2)).astype(float))).rows()),
    "based": (MeanMap(Kendall()), Bags.from_arrays(list(RNG.normal(size=(9, 4, 3)))).rows()),
    "ranks": (Spearman(), X),
    "quantiles": (QuantileLinear("median"), X),
    "pairs": (PairAgreement([(0, 1), (5, 2), (7, 0)]), X),
    "sum": (EqualRank().normalized() + 2.0 * Gaussian(2.0), X),
}


@pytest.fixture(scope="module", params=with_slow(["sparse", "sum"], ["draws", "copies"]))
def own(request, tmp_path_factory):
    """A store, its kernel and its samples."""
    kernel, samples = CASES[request.param]
    path = tmp_path_factory.mktemp("own") / "k.zarr"
    compute_gram(kernel, samples, store=path, tile=3, executor="serial", progress=False)
    return path, kernel, samples


def forge(path, name, place, value):
    """Change one value that is prepared of samples 3 to 5, with its checksum, and forget the tiles."""
    store = GramStore.opened(path)
    block = slice(3, 6)
    array = store.read(f"rows/prepared/{name}", block)
    array.flat[place % array.size] = value
    store.write(f"rows/prepared/{name}", block, array)
    marks = store.rows.checksums()
    marks[1, store.rows.names.index(name)] = checksum(array)
    store.write("rows/marks", ..., marks)
    store.clear_checksums(list(store.grid.tiles()))
    assert store.rows.read(1)[name].tobytes() == array.tobytes()


def uses(path, kernel, samples):
    """All that computes with prepared samples."""
    yield lambda: compute_gram(kernel, samples, store=path, executor="serial", progress=False)
    yield lambda: open_gram(path).cross(samples[:2])
    yield lambda: open_gram(path).prepared_columns()


@settings(max_examples=2)
@given(st.data())
def test_forged_samples_are_refused_or_could_be_another_sample(own, tmp_path_factory, data):
    whole, kernel, samples = own
    path = tmp_path_factory.mktemp("forged") / "k.zarr"
    shutil.copytree(whole, path)
    store = GramStore.opened(path)
    name = data.draw(st.sampled_from([name for name in store.rows.names if name != DIAGONAL]))
    array = store.read(f"rows/prepared/{name}")
    floats, n = array.dtype.kind == "f", samples.shape[1]
    ends = np.finfo(array.dtype) if floats else np.iinfo(array.dtype)
    values = [ends.min, ends.max, 0, 1, n - 1, n, *([np.nan, np.inf] if floats else [])]
    forge(path, name, data.draw(st.integers(0, array.size)), data.draw(st.sampled_from(values)))
    said = []
    for use in uses(path, kernel, samples):
        try:
            with np.errstate(all="ignore"):
                use()
        except DistkernError as error:
            said.append(str(error))
    forged = [words for words in said if "cannot have prepared them" in words]
    assert not forged or len(said) == 3, said  # all refuse it, or all compute with what could be another sample
    shutil.rmtree(path)


INDICES = {
    "dense": ("order", "codes", "tied"),
    "sparse": ("places", "scores", "nonzeros"),
    "partial": ("order", "balance", "observed"),
    "draws": ("members", "order", "whole"),
    "weighted": ("kept", "order"),
    "smoothed": ("values",),
    "copies": ("copies.codes",),
    "bags": ("counts",),
    "based": ("points.order",),
}
FIRST = [(case, INDICES[case][0]) for case in ("dense", "sparse", "partial", "bags", "based")]
OTHERS = [(case, name) for case, names in INDICES.items() for name in names if (case, name) not in FIRST]


@pytest.mark.parametrize(("case", "name"), with_slow(FIRST, OTHERS))
def test_forged_indices_are_refused_by_name_wherever_they_are_used(tmp_path, case, name):
    (kernel, samples), path = CASES[case], tmp_path / "k.zarr"
    compute_gram(kernel, samples, store=path, tile=3, executor="serial", progress=False)
    dtype = GramStore.opened(path).read(f"rows/prepared/{name}").dtype
    forge(path, name, 0, np.nan if dtype.kind == "f" else np.iinfo(dtype).max)
    for use in uses(path, kernel, samples):
        with pytest.raises(StoreError, match=r"k.zarr' holds prepared samples 3–5 that match their checksum, but"):
            use()


def test_repair_refuses_forged_samples(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X, store=path, tile=3, executor="serial", progress=False)
    forge(path, "order", 0, 60_000)
    store = GramStore.opened(path)
    marks = store.checksums(refresh=True)
    marks[1, 2] = 2**32 + 1  # a tile that does not match
    store.write("marks", ..., marks)
    with pytest.raises(StoreError, match="holds prepared samples 3–5 that match their checksum, but Concord"):
        repair_gram(path, executor="serial", progress=False)


@pytest.mark.parametrize(
    ("features", "said"), [(9, "but Gaussian"), (2**45, "a sample of .* would take .* more than there is")]
)
def test_a_store_of_more_features_than_its_samples_have_is_refused(tmp_path, features, said):
    path = tmp_path / "k.zarr"
    compute_gram(Gaussian(1.0), X, store=path, tile=3, executor="serial", progress=False)
    document = json.loads((path / "zarr.json").read_bytes())
    plan = document["attributes"]["distkern"] | {"n_features": features}
    document["attributes"] = {"distkern": plan, "checksum": json_checksum(plan)}
    (path / "zarr.json").write_text(json.dumps(document))
    with pytest.raises(StoreError, match=said):
        open_gram(path).prepared_columns()
