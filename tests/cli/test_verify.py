from __future__ import annotations

import json

import numpy as np

from distkern import Linear, compute_gram, open_gram


def _flip(path):
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)


def test_intact_store_passes(run, store):
    result = run("verify", store)
    assert result.exit_code == 0
    assert "6 of 6 tiles done, all match" in result.stdout
    assert json.loads(run("verify", store, "--json").stdout)["whole"] is True


def test_damaged_tile_is_found_and_recomputed(run, store):
    before = open_gram(store).to_numpy()
    _flip(store / "gram" / "c" / "0" / "1")
    found = run("verify", store)
    assert found.exit_code == 3
    assert "tile (0, 1)" in found.stdout
    assert f"`distkern verify --repair {store}`" in found.stderr
    assert run("verify", store, "--json").exit_code == 3
    repaired = run("verify", store, "--repair", "--json")
    assert repaired.exit_code == 0
    assert json.loads(repaired.stdout)["repaired"] == 1
    assert run("verify", store).exit_code == 0
    assert np.array_equal(open_gram(store).to_numpy(), before)


def test_damaged_samples_are_prepared_again_from_the_data(cohort, run, store):
    _flip(next(file for file in (store / "rows" / "prepared" / "codes" / "c").rglob("*") if file.is_file()))
    refused = run("verify", store, "--repair")
    assert refused.exit_code == 3
    assert "run `distkern gram` with the same kernel and data again" in refused.stderr
    words = ("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "kendall", "--ties", "b")
    assert run(*words).exit_code == 0
    assert run("verify", store).exit_code == 0


def test_damaged_names_are_reported_in_whole_sentences(run, tmp_path):
    store = tmp_path / "x.zarr"
    compute_gram(Linear(), np.eye(4), store=store)
    (chunk,) = [path for path in (store / "rows" / "ids").rglob("*") if path.is_file() and path.name != "zarr.json"]
    content = bytearray(chunk.read_bytes())
    content[-1] ^= 1
    chunk.write_bytes(content)
    done = run("verify", store)
    assert done.exit_code == 3
    assert "names of the rows" in done.stdout
    assert "Truechecksum" not in done.stdout
    assert "overwrite=True" not in done.stdout
