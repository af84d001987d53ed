from __future__ import annotations

import json
import re

import numpy as np
import pytest

from distkern import Linear, compute_gram, open_gram
from distkern.core.errors import InputError
from distkern.io.source import as_source


def test_info_describes_the_store(run, store):
    table = run("info", store).stdout
    for text in ("Kendall(ties='b')", "24 × 24 int32, symmetric", "p00, p01, p02, …", "6 of 6 done", "run 1"):
        assert text in table
    assert json.loads(run("info", store, "--json").stdout)["tiles_done"] == 6


CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]")


@pytest.mark.parametrize("command", ["info", "status"])
@pytest.mark.parametrize("as_json", [False, True])
def test_names_in_a_store_of_others_cannot_control_the_terminal(tmp_path, run, command, as_json):
    names = ("s\x1b]0;title\x07", "b\tc", "C1 \x9b2J \u202e")
    source = as_source(np.eye(3))
    source.ids = names  # as another program could have written them
    compute_gram(Linear(), source, store=tmp_path / "gram.zarr", progress=False)
    done = run(command, tmp_path / "gram.zarr", *["--json"] * as_json)
    assert done.exit_code == 0, done.stderr
    assert not CONTROLS.search(done.stdout + done.stderr)
    assert open_gram(tmp_path / "gram.zarr").ids == names
    if command == "info" and not as_json:
        assert r"s\x1b]0;title\x07, b\tc, C1 \x9b2J \u202e" in done.stdout


def test_a_store_whose_name_holds_control_characters_is_refused(tmp_path, run):
    done = run("info", tmp_path / "a\x1b[2J.zarr")
    assert done.exit_code == 3
    assert not CONTROLS.search(done.stdout + done.stderr)
    with pytest.raises(InputError, match=r"the path of the store, .* contains an escape code"):
        compute_gram(Linear(), np.eye(2), store=tmp_path / "a\x1b[2J.zarr", progress=False)
