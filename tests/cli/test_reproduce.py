from __future__ import annotations

import json

import pytest

from distkern import reproduce
from distkern.reproduce.tables import Table, read_rows


def made_up(*, repeats=10, seed=0, on_event=None):
    """Rows for the tests below."""
    yield {"cohort": "CT", "paper": 85.78, "ours": 85.0 + seed, "repeat_1": 84.0}
    if repeats == 3:
        raise KeyboardInterrupt
    yield {"cohort": "MB", "paper": 63.67, "ours": float("nan"), "note": "undefined"}


@pytest.fixture(autouse=True)
def table(monkeypatch):
    entry = Table("made-up", f"{__name__}:made_up", "Somebody (2015), table 9", "rows for tests")
    monkeypatch.setattr(entry.__class__, "_function", lambda self: made_up)
    monkeypatch.setattr(reproduce, "TABLES", {"made-up": entry})


def test_rows_are_printed_in_columns(run):
    result = run("reproduce", "made-up")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Somebody (2015), table 9: rows for tests",
        "cohort  paper  ours  note",
        "CT      85.78    85",
        "MB      63.67        undefined",
    ]
    assert result.stderr.splitlines()[0] == "CT  85.78  85"
    assert run("reproduce", "made-up", "--quiet").stderr == ""


def test_file_names_the_command_that_made_it(run, tmp_path):
    out = tmp_path / "rows.csv"
    assert run("reproduce", "made-up", "--seed", 0, "--repeats", 2, "--out", out).exit_code == 0
    lines = out.read_text().splitlines()
    assert lines[0] == "# distkern reproduce made-up --repeats 2 --seed 0"
    assert lines[1].startswith("# distkern ")
    assert lines[2] == "# Somebody (2015), table 9"
    assert read_rows(out)[0] == {"cohort": "CT", "paper": "85.78", "ours": "85", "repeat_1": "84", "note": ""}
    assert read_rows(out)[1]["ours"] == ""
    refused = run("reproduce", "made-up", "--out", out)
    assert refused.exit_code == 3
    assert "--overwrite" in refused.stderr
    assert run("reproduce", "made-up", "--out", out, "--overwrite").exit_code == 0


def test_interruption_loses_no_row(run, tmp_path):
    out = tmp_path / "rows.csv"
    result = run("reproduce", "made-up", "--repeats", 3, "--out", out)
    assert result.exit_code == 5
    assert f"the finished rows are in '{out}'" in result.stderr
    assert [row["cohort"] for row in read_rows(out)] == ["CT"]


def test_rows_are_printed_as_json(run):
    found = json.loads(run("reproduce", "made-up", "--seed", 2, "--json").stdout)
    assert found["rows"][0] == {"cohort": "CT", "paper": 85.78, "ours": 87.0, "repeat_1": 84.0}
    assert found["rows"][1]["ours"] is None
    assert found["made"][0] == "distkern reproduce made-up --seed 2"


def test_tables_are_listed(run):
    assert "made-up  rows for tests (Somebody (2015), table 9)" in run("reproduce", "--list").stdout
    assert json.loads(run("reproduce", "--list", "--json").stdout)[0]["table"] == "made-up"


def test_unknown_table_or_option_is_wrong_usage(run):
    assert "give a table: made-up" in run("reproduce").stderr
    assert "there is no table 'table-2': made-up" in run("reproduce", "table-2").stderr
    result = run("reproduce", "made-up", "--cohort", "CT")
    assert result.exit_code == 2
    assert "the table made-up takes no --cohort; it takes --repeats, --seed" in result.stderr
