from __future__ import annotations

import json

import numpy as np

from distkern import open_gram


def _flip(path):
    held = bytearray(path.read_bytes())
    held[30] ^= 1
    path.write_bytes(held)


def test_info(run, store):
    table = run("info", store).stdout
    for text in ("Kendall(ties='b')", "24 × 24 int32, symmetric", "p00, p01, p02, …", "6 of 6 done", "run 1"):
        assert text in table
    assert json.loads(run("info", store, "--json").stdout)["tiles_done"] == 6


def test_a_whole_store(run, store):
    result = run("verify", store)
    assert result.exit_code == 0
    assert "6 of 6 tiles done, all match" in result.stdout
    assert json.loads(run("verify", store, "--json").stdout)["whole"] is True


def test_a_damaged_tile_is_found_and_recomputed(run, store):
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


def test_damaged_samples_come_back_from_the_data(cohort, run, store):
    _flip(next(file for file in (store / "rows" / "prepared" / "codes" / "c").rglob("*") if file.is_file()))
    refused = run("verify", store, "--repair")
    assert refused.exit_code == 3
    assert "run `distkern gram` with the same kernel and data again" in refused.stderr
    words = ("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "kendall", "--ties", "b")
    assert run(*words).exit_code == 0
    assert run("verify", store).exit_code == 0


def test_a_store_on_object_storage(cohort, run, s3):
    words = ("gram", cohort / "rows.csv", s3.url, "--samples", "rows", "--kernel", "kendall", "--tile", 10)
    assert "6 of 6" not in run("plan", *words[1:]).stdout
    computed = run(*words)
    assert computed.exit_code == 0
    assert computed.stdout.startswith(f"{s3.url}: complete 24 × 24 Gram matrix")
    assert "nothing was computed" in run(*words).stderr
    assert "6 of side 10, 6 of them done" in run("plan", *words[1:]).stdout
    assert "6 of 6 done" in run("info", s3.url).stdout
    verified = json.loads(run("verify", s3.url, "--json").stdout)
    assert (verified["path"], verified["whole"]) == (s3.url, True)
    scored = run("evaluate", s3.url, "--labels", cohort / "clinical.csv", "--label", "relapse", "--repeats", 1)
    assert scored.exit_code == 0, scored.output
    for url, message in (("ftp://host/k.zarr", "cannot lie at ftp://"), ("s3://nowhere/k.zarr", "NoSuchBucket")):
        refused = run("info", url)
        assert refused.exit_code == 3
        assert message in refused.stderr
