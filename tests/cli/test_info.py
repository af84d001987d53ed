from __future__ import annotations

import json


def test_info_describes_the_store(run, store):
    table = run("info", store).stdout
    for text in ("Kendall(ties='b')", "24 × 24 int32, symmetric", "p00, p01, p02, …", "6 of 6 done", "run 1"):
        assert text in table
    assert json.loads(run("info", store, "--json").stdout)["tiles_done"] == 6
