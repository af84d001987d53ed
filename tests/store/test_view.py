"""A store that is asked for another kernel of its family answers for that kernel from then on, or says so."""

from __future__ import annotations

import json

import numpy as np
import pytest
from marks import with_slow

import distkern as dk
from distkern.store.documents import group_document
from distkern.store.tiles import GramStore
from distkern.store.view import GROUP

X = np.random.default_rng(0).normal(size=(7, 6))
MALLOWS = dk.Mallows(lam=50, scaled=True)


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "k.zarr"
    dk.compute_gram(dk.Kendall(ties="b"), X, store=path, executor="serial", progress=False)
    return path


def asked(store, kernel):
    return dk.compute_gram(kernel, X, store=store, executor="serial", progress=False)


def test_store_answers_for_the_kernel_that_was_asked_for_last(store):
    assert dk.open_gram(store).kernel == dk.Kendall(ties="b")
    asked(store, MALLOWS)
    opened = dk.open_gram(store)
    assert opened.kernel == MALLOWS
    np.testing.assert_allclose(opened.to_numpy(), MALLOWS(X), rtol=1e-13)
    assert (opened.info()["kernel"], opened.info()["first_kernel"]) == (MALLOWS.spec(), dk.Kendall(ties="b").spec())
    assert opened.status()["kernel"] == MALLOWS.spec()
    asked(store, dk.Kendall(ties="b"))
    assert dk.open_gram(store).kernel == dk.Kendall(ties="b")


def test_store_of_one_kernel_has_no_record(store):
    asked(store, dk.Kendall(ties="b"))
    assert not (store / GROUP).exists()


def test_kernel_is_chosen_when_it_is_opened(store):
    assert dk.open_gram(store, kernel=MALLOWS).kernel == MALLOWS
    assert dk.open_gram(store).kernel == dk.Kendall(ties="b")
    with pytest.raises(dk.InputError, match=r"Linear\(\) is not made of .* computed for Kendall\(ties='b'\)"):
        dk.open_gram(store, kernel=dk.Linear())


def test_description_of_a_view_names_its_kernel(store):
    assert dk.open_gram(store).with_kernel(MALLOWS).info()["kernel"] == MALLOWS.spec()


def test_new_samples_must_suit_the_kernel_that_was_asked_for(tmp_path):
    path = tmp_path / "z.zarr"
    dk.compute_gram(dk.Kendall(), X, store=path, executor="serial", progress=False)
    handle = dk.open_gram(path)
    asked(path, dk.Kendall(ties="b"))
    with pytest.raises(dk.InputError, match=r"constant|same value"):
        dk.append_gram(handle, np.ones((1, 6)), executor="serial", progress=False)
    grown = dk.append_gram(path, X[:1] * [1, -1, 1, -1, 1, -1], executor="serial", progress=False)
    assert grown.kernel == dk.open_gram(path).kernel == dk.Kendall(ties="b")


@pytest.mark.parametrize(
    "record",
    [
        b"{",
        group_document({}),
        group_document({"kernel": MALLOWS.spec(), "checksum": 1}),
        group_document({"kernel": {"kernel": "none"}, "checksum": 1}),
        group_document({"kernel": [1], "checksum": 1}),
    ],
)
def test_damaged_record_is_an_error_and_not_another_kernel(store, record):
    asked(store, MALLOWS)
    (store / GROUP / "zarr.json").write_bytes(record)
    with pytest.raises(dk.StoreError, match="last asked for is damaged"):
        dk.open_gram(store)
    assert dk.open_gram(store, kernel=MALLOWS).kernel == MALLOWS
    asked(store, MALLOWS)
    assert dk.open_gram(store).kernel == MALLOWS


def test_changed_record_is_an_error(store):
    asked(store, MALLOWS)
    file = store / GROUP / "zarr.json"
    document = json.loads(file.read_text())
    document["attributes"]["kernel"]["lam"] = 5
    file.write_text(json.dumps(document))
    with pytest.raises(dk.StoreError, match="damaged"):
        dk.open_gram(store)


def test_store_that_cannot_be_written_says_that_it_does_not_remember(store, monkeypatch):
    def refuse(self, name, attributes):
        raise dk.StoreError("cannot write to the store 'k.zarr': Read-only file system")

    monkeypatch.setattr(GramStore, "write_group", refuse)
    with pytest.warns(RuntimeWarning, match="Read-only file system, so that .* does not know .* with_kernel"):
        gram = asked(store, MALLOWS)
    assert gram.kernel == MALLOWS


def test_features_under_other_names_are_refused(tmp_path):
    import pandas

    names = list("abcdef")
    path = tmp_path / "n.zarr"
    dk.compute_gram(dk.Kendall(), pandas.DataFrame(X, columns=names), store=path, executor="serial", progress=False)
    with pytest.raises(dk.StoreMismatchError, match=r"same features under other names .*'a' there, 'f' here"):
        dk.compute_gram(
            dk.Kendall(), pandas.DataFrame(X, columns=names[::-1]), store=path, executor="serial", progress=False
        )


# A store that is gone ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda gram: gram.to_numpy(),
        lambda gram: gram @ np.ones(7),
        lambda gram: gram.info(),
        lambda gram: gram.status(),
        lambda gram: gram.is_complete,
        lambda gram: gram.verify(progress=False),
        lambda gram: gram.row_ids,
        lambda gram: gram.diag(),
        lambda gram: gram.cross(X[:1]),
        lambda gram: gram.to_dask().compute(scheduler="synchronous"),
    ],
)
@pytest.mark.parametrize("used_before", with_slow([False], [True]))
def test_store_that_was_moved_is_not_said_to_be_unfinished_or_damaged(store, use, used_before):
    gram = dk.open_gram(store)
    if used_before:
        gram.to_numpy()
        gram.diag()
    store.rename(store.with_name("elsewhere.zarr"))
    said = ""
    try:
        use(gram)
    except dk.StoreError as error:
        said = str(error)
    assert ("there is no store at" in said) or (used_before and said == "")  # what is in memory needs no store
    assert "not computed" not in said
    assert "damaged" not in said
    assert dk.open_gram(store.with_name("elsewhere.zarr")).is_complete
