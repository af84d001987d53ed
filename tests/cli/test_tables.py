"""Tables keep to the width of a terminal, and are plain elsewhere."""

from __future__ import annotations

import re
import sys

import pandas as pd
import pytest
from terminals import on_terminal, plain

from distkern.cli.common import print_table
from distkern.cli.tables import print_columns, print_frame

LONG = " ".join(f"word{number}" for number in range(40))


@pytest.fixture
def terminal(monkeypatch):
    """A function that makes stdout a terminal of 60 columns without colours."""

    def make():
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", "60")
        monkeypatch.setenv("NO_COLOR", "1")

    return make


def test_long_values_go_on_below_their_beginning(terminal, capsys):
    terminal()
    count = print_table([("store", "cohort.zarr"), ("samples", LONG)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == count > 2
    assert max(map(len, lines)) <= 60
    assert lines[0] == "store    cohort.zarr"
    assert all(line.startswith(" " * 9 + "word") for line in lines[2:])
    assert " ".join(line[9:] for line in lines[1:]) == LONG


def test_elsewhere_every_row_is_a_line(capsys):
    assert print_table([("store", "cohort.zarr"), ("samples", LONG)]) == 2
    assert capsys.readouterr().out == f"store    cohort.zarr\nsamples  {LONG}\n"
    print_table([("k = 2", "a"), ("cluster 0", "b")], aligned=False)
    assert capsys.readouterr().out == "k = 2  a\ncluster 0  b\n"


def test_columns_keep_to_the_terminal(terminal, capsys):
    terminal()
    print_columns(["name", "value"], [["first", "1.5"], [LONG, "20"]], [False, True])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert re.fullmatch(r"first +1\.5", lines[2].strip())
    assert "word39" in " ".join(lines)


def test_columns_elsewhere(capsys):
    print_columns(["name", "value"], [["first", "1.5"], ["b", "20"]], [False, True])
    assert capsys.readouterr().out == "name   value\nfirst    1.5\nb         20\n"


def test_a_frame_is_the_given_text_elsewhere(terminal, capsys, monkeypatch):
    terminal()
    table = pd.DataFrame({"sample": ["a", "b"], "risk": [0.123456789, float("nan")], "unsure": [True, None]})
    print_frame(table, "as it was")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["sample", "risk", "unsure"]
    assert lines[2:] == [["a", "0.123457", "True"], ["b"]]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    print_frame(table, "as it was")
    assert capsys.readouterr().out == "as it was\n"


def test_a_command_on_a_narrow_terminal(store):
    code, text = on_terminal("info", store, columns=70)
    assert code == 0
    lines = plain(text).splitlines()
    assert max(map(len, lines)) <= 70 + len(str(store))  # a path is not divided
    assert any(line.startswith("kernel") for line in lines)
