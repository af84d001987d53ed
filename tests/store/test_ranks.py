"""A store of ranks: written once, resumable, checked; and passes over it that do not depend on threads."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from distkern.compiled.quantiles import put_on_target
from distkern.core.errors import InputError, SampleError, StoreError, StoreMismatchError
from distkern.store import ranks as module
from distkern.store.ranks import RankStore

rng = np.random.default_rng(0)
X = rng.integers(0, 6, (23, 7)).astype(float)
X[5] = rng.permutation(7)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 4)


def naive_ranks(samples):
    return [[sum(y < value for y in row) for value in row] for row in samples]


@pytest.mark.usefixtures("small_blocks")
def test_a_folder_and_memory_hold_the_same(tmp_path):
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(23)], columns=[f"g{j}" for j in range(7)])
    written, of = RankStore.write(frame, tmp_path / "ranks"), RankStore.of(sparse.csr_array(X))
    for store in (written, of, RankStore.open(tmp_path / "ranks")):
        assert store.ranks.tolist() == naive_ranks(X.tolist())
        assert store.ranks.dtype == np.uint16
        assert store.groups.tolist() == [len(set(row)) for row in X.tolist()]
        assert store.digest == of.digest
        store.verify()
    assert written.features == tuple(frame.columns)
    assert written.ids == tuple(frame.index)
    assert "23 samples" in repr(written)
    assert RankStore.of(written) is written


@pytest.mark.usefixtures("small_blocks")
def test_passes_equal_dense_products_with_any_number_of_threads(monkeypatch):
    W, F = rng.normal(size=(7, 3)), np.sort(rng.normal(size=(7, 3)), axis=0)
    store, results = RankStore.of(X), []
    phi = [put_on_target(X, F[:, c].copy())[0] for c in range(3)]
    for cores in (1, 3):
        monkeypatch.setattr(module, "usable_cores", lambda cores=cores: cores)
        Z = np.empty((23, 3))

        def respond(rows, z, Z=Z):
            Z[rows] = z
            return np.tanh(z)

        results.append((*store.pass_over(W, F, respond, by_feature=True, by_rank=True), Z))
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
    by_feature, by_rank, Z = results[0]
    np.testing.assert_allclose(Z, np.stack([phi[c] @ W[:, c] for c in range(3)], axis=1))
    np.testing.assert_allclose(by_feature, np.stack([phi[c].T @ np.tanh(Z[:, c]) for c in range(3)], axis=1))
    np.testing.assert_allclose((F * by_rank).sum(axis=0), (Z * np.tanh(Z)).sum(axis=0))  # f'∂f = Σ ρ z = w'∂w
    alone = store.pass_over(None, F, lambda rows, z: np.tanh(Z[rows]), by_feature=True)
    np.testing.assert_array_equal(alone[0], by_feature)
    assert alone[1] is None
    some = store.pass_over(W, F, lambda rows, z: np.tanh(z), by_feature=np.array([2]), by_rank=np.array([0, 2]))
    np.testing.assert_array_equal(some[0], by_feature[:, [2]])
    np.testing.assert_allclose(some[1], by_rank[:, [0, 2]], atol=1e-12)


@pytest.mark.parametrize("room", [0, 5, 500])
def test_passes_do_not_depend_on_which_ties_have_rows_of_their_own(room, monkeypatch):
    """Dense products, with room for the tie groups of no sample, of some and of all."""
    monkeypatch.setattr(module, "ROOM", 10**9)
    monkeypatch.setattr(module, "LEAST_ROOM", room)
    W, F, rho = rng.normal(size=(7, 9)), rng.normal(size=(7, 9)), rng.normal(size=(23, 9))
    store, outputs = RankStore.of(X), np.empty((23, 9))
    ranks = store.ranks.copy()

    def respond(rows, Z):
        outputs[rows] = Z
        return rho[rows]

    by_feature, by_rank = store.pass_over(W, F, respond, by_feature=True, by_rank=np.array([1, 8]))
    phi = np.stack([store.normalised(F[:, c].copy()) for c in range(9)])
    steps = np.stack([put_on_target(X, (np.arange(7) >= r) * 1.0)[0] for r in range(7)])
    by_sample = steps - np.concatenate([steps[1:], np.zeros((1, *X.shape))])  # Π_ijr: put_on_target wants f to ascend
    np.testing.assert_allclose(phi, np.einsum("rij,rc->cij", by_sample, F), atol=1e-12)
    np.testing.assert_allclose(outputs, np.einsum("cij,jc->ic", phi, W), atol=1e-12)
    np.testing.assert_allclose(by_feature, np.einsum("cij,ic->jc", phi, rho), atol=1e-12)
    expected = np.einsum("rij,ic,jc->rc", by_sample, rho, W)
    np.testing.assert_allclose(by_rank, expected[:, [1, 8]], atol=1e-12)
    np.testing.assert_array_equal(store.ranks, ranks)  # the ranks in memory are not touched


@pytest.mark.usefixtures("small_blocks")
def test_what_is_remembered_of_ties_changes_no_bit(tmp_path, monkeypatch):
    W, F = rng.normal(size=(7, 2)), rng.normal(size=(7, 2))
    results = []
    for remembered in (0, 300, 10**6):
        monkeypatch.setattr(module, "REMEMBERED", remembered)
        for store in (RankStore.of(X), RankStore.write(X, tmp_path / "ranks")):
            for _ in range(2):
                results.append(store.pass_over(W, F, lambda rows, Z: np.tanh(Z), by_feature=True, by_rank=True))
            known = store._ties.blocks.values()
            assert sum(ties.nbytes for ties in known) <= remembered
            assert (len(known) == 6) == (remembered == 10**6)
    for one, two in results:
        np.testing.assert_array_equal(one, results[0][0])
        np.testing.assert_array_equal(two, results[0][1])


def test_normalised_samples():
    f = np.array([-3.0, -1, 0, 1, 5, 6, 9])
    np.testing.assert_allclose(RankStore.of(X).normalised(f), put_on_target(X, f)[0])


class Interrupt(Exception):
    pass


@pytest.mark.usefixtures("small_blocks")
def test_an_interrupted_store_goes_on(tmp_path, monkeypatch):
    real, calls = module.first_ranks, []

    def stops(values, *out):
        calls.append(len(values))
        if len(calls) == 4:
            raise Interrupt
        real(values, *out)

    monkeypatch.setattr(module, "first_ranks", stops)
    with pytest.raises(Interrupt):
        RankStore.write(X, tmp_path / "ranks")
    with pytest.raises(StoreError, match="not finished \\(3 of 6 blocks\\)"):
        RankStore.open(tmp_path / "ranks")
    with (tmp_path / "ranks" / "blocks.txt").open("a") as lines:
        lines.write("cut o")  # what a crash may leave
    other = X.copy()
    other[1, 0] += 9
    with pytest.raises(StoreMismatchError, match="samples 0 to 3 have other values"):
        RankStore.write(other, tmp_path / "ranks")
    events = []
    store = RankStore.write(X, tmp_path / "ranks", progress=events.append)
    assert (events[-1].done, events[-1].total) == (23, 23)
    assert len(calls) == 4 + 3
    assert store.digest == RankStore.of(X).digest
    RankStore.write(X, tmp_path / "ranks")
    assert len(calls) == 7 + 6  # those of the store in memory


@pytest.mark.usefixtures("small_blocks")
def test_damage_is_found(tmp_path):
    store = RankStore.write(X, tmp_path / "ranks")
    written = np.load(tmp_path / "ranks" / "ranks.npy", mmap_mode="r+")
    written[9, 2] += 1
    written.flush()
    with pytest.raises(StoreError, match="samples 8 to 11"):
        store.verify()
    file = tmp_path / "ranks" / "ranks.npy"
    whole = file.read_bytes()
    file.write_bytes(whole[:-2])
    with pytest.raises(StoreError, match="too short"):
        store.normalised(np.arange(7.0))
    file.write_bytes(whole)
    (tmp_path / "ranks" / "groups.npy").write_bytes(b"no array")
    with pytest.raises(StoreError, match="damaged"):
        RankStore.open(tmp_path / "ranks")
    described = json.loads((tmp_path / "ranks" / "ranks.json").read_text())
    (tmp_path / "ranks" / "ranks.json").write_text(json.dumps(described | {"format": 99}))
    with pytest.raises(StoreError, match="another version"):
        RankStore.open(tmp_path / "ranks")


def test_what_is_refused(tmp_path):
    with pytest.raises(InputError, match="two features or more"):
        RankStore.of([[1.0], [2.0]])
    with pytest.raises(SampleError, match="NaN"):
        RankStore.of([[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(StoreError, match="holds no ranks"):
        RankStore.open(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="exists and holds no ranks"):
        RankStore.write(X, tmp_path)
    RankStore.write(X, tmp_path / "ranks")
    with pytest.raises(StoreMismatchError, match="samples differ"):
        RankStore.write(X[:5], tmp_path / "ranks")


def test_more_than_65535_features_take_four_bytes():
    row = np.arange(65_537.0)[::-1]
    store = RankStore.of(row[None])
    assert store.ranks.dtype == np.uint32
    assert store.ranks[0, :2].tolist() == [65_536, 65_535]


@pytest.mark.usefixtures("small_blocks")
def test_missing_values_are_kept_if_asked_for(tmp_path):
    gaps = X.copy()
    gaps[3, [1, 4]] = gaps[20, 0] = np.nan
    written, of = RankStore.write(gaps, tmp_path / "ranks", "interpolate"), RankStore.of(gaps, "interpolate")
    for store in (written, RankStore.open(tmp_path / "ranks"), of):
        assert store.missing == "interpolate"
        assert store.gap() == (3, 1)
        assert np.argwhere(store.ranks == 7).tolist() == [[3, 1], [3, 4], [20, 0]]
        assert store.digest == of.digest
    assert RankStore.of(X, "interpolate").gap() is None
    assert RankStore.of(X).gap() is None
    f = np.array([-3.0, -1, 0, 1, 5, 6, 9])
    phi = put_on_target(gaps, f)[0]
    np.testing.assert_allclose(of.normalised(f), np.where(np.isnan(phi), f.mean(), phi), atol=1e-12)
    with pytest.raises(StoreMismatchError, match="missing differ"):
        RankStore.write(X, tmp_path / "ranks")
    with pytest.raises(InputError, match="missing must be"):
        RankStore.of(X, "skip")
    with pytest.raises(SampleError, match="no value at all"):
        RankStore.of(np.full((1, 3), np.nan), "interpolate")


def test_equal_values_may_have_their_middle_rank():
    f = np.array([-3.0, -1, 0, 1, 5, 6, 9])
    store = RankStore.of(X)
    other = store.with_ties("mid")
    np.testing.assert_allclose(other.normalised(f), put_on_target(X, f, "mid")[0], atol=1e-12)
    np.testing.assert_allclose(store.normalised(f), put_on_target(X, f, "mean")[0], atol=1e-12)
    assert not np.allclose(other.normalised(f), store.normalised(f))
    with pytest.raises(InputError, match="ties must be"):
        store.with_ties("first")
