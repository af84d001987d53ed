"""The mutation script changes one place at a time, undoes it, and goes on where it stopped."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"

MODULE = '''"""A module."""


def largest(values, *, strict=True):
    """The largest value; 1 + 1 in a text is left alone."""
    found = 0
    for value in values:
        if value > found and not (strict and value == 7):
            found = value
    if found < 0:
        raise ValueError(f"{found} is less than {1 + 1}")
    return found
'''

TEST = """
from pkg import largest


def test_largest():
    assert largest([1, 3, 2]) == 3
"""


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import mutations

    return mutations


@pytest.fixture
def root(tmp_path):
    (tmp_path / "distkern" / "store").mkdir(parents=True)
    (tmp_path / "distkern" / "store" / "ä.py").write_text(f"# ä\n{MODULE}")
    return tmp_path


def test_each_change_replaces_one_place_of_the_code(script, root):
    text = (root / "distkern/store/ä.py").read_bytes()
    found = list(script.mutations_of(root, "distkern/store/ä.py"))
    assert {(change.before, change.after) for change in found} == {
        ("True", "False"),
        ("0", "1"),
        ("value > found and not (strict and value == 7)", "(value > found or not (strict and value == 7))"),
        ("value > found", "(value >= found)"),
        ("not (strict and value == 7)", "(strict and value == 7)"),
        ("strict and value == 7", "(strict or value == 7)"),
        ("value == 7", "(value != 7)"),
        ("7", "8"),
        ("found < 0", "(found <= 0)"),
        ('raise ValueError(f"{found} is less than {1 + 1}")', "pass"),
    }
    for change in found:
        assert text[change.start : change.stop].decode() == change.before
        assert change.applied(text).decode() == text.decode()[: len(text[: change.start].decode())] + change.after + (
            text[change.stop :].decode()
        )
        assert text.decode().splitlines()[change.line - 1].count(change.before.splitlines()[0]) >= 1
    assert len({change.id for change in found}) == len(found)


def test_the_same_seed_draws_the_same_changes(script, root):
    first, again, other = (script.drawn(root, ["store"], 4, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert len(script.drawn(root, ["store"], 100, 0)) == 11


def test_a_module_is_tested_by_the_file_that_mirrors_it(script):
    root = FOLDER.parent
    assert script.tests_of(root, "distkern/store/grid.py") == ["distkern/store/grid.py", "tests/store/test_grid.py"]
    assert script.tests_of(root, "distkern/gram/base.py") == ["distkern/gram/base.py", "tests/gram/test_handle.py"]
    assert script.tests_of(root, "distkern/store/new.py") == ["distkern/store/new.py", "tests/store"]
    for module, tests in script.TESTED_BY.items():
        assert (root / "distkern" / f"{module}.py").exists(), module
        assert all((root / "tests" / test).exists() for test in tests), module


def test_results_are_kept_in_a_file_and_the_last_one_counts(script, root, tmp_path, capsys):
    (mutation, other) = script.drawn(root, ["store"], 2, 0)
    file = tmp_path / "results.jsonl"
    for one in (mutation, other):
        script.write(file, script.Result(one.id, "survived", "", 1.0, script.asdict(one)))
    script.main(["--out", str(file), "--equivalent", mutation.id, "the value is not used"])
    with file.open("a") as lines:
        lines.write('{"id": "cut o')  # as a killed process leaves
    found = script.read(file)
    assert {found[mutation.id].status, found[other.id].status} == {"equivalent", "survived"}
    script.main(["--out", str(file), "--summary"])
    printed = capsys.readouterr().out
    assert "| all | 0 | 1 | 0 | 1 | 0 |" in printed
    assert f"equivalent: {mutation.id} the value is not used" in printed
    assert f"  + {other.after}" in printed
    with pytest.raises(SystemExit, match="has no result of 'x'"):
        script.main(["--out", str(file), "--equivalent", "x", "reason"])


def test_the_help_says_how_to_go_on(script, capsys):
    with pytest.raises(SystemExit):
        script.main(["--help"])
    assert "goes on where it stopped" in capsys.readouterr().out


@pytest.mark.slow
def test_a_change_is_caught_or_survives_and_is_undone(script, tmp_path, monkeypatch):
    (tmp_path / "pkg.py").write_text(MODULE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_pkg.py").write_text(TEST)
    monkeypatch.setattr(script, "PRELOADED", [])
    monkeypatch.setattr(script, "tests_of", lambda root, path: ["tests/test_pkg.py"])
    results = {
        (change.before, change.after): script.examined(tmp_path, change, 60.0)
        for change in script.mutations_of(tmp_path, "pkg.py")
        if change.before in ("value > found", "value == 7") or "raise" in change.before
    }
    assert results["value == 7", "(value != 7)"].status == "caught"
    assert results["value == 7", "(value != 7)"].by == "tests/test_pkg.py::test_largest"
    assert results["value > found", "(value >= found)"].status == "survived"
    assert (tmp_path / "pkg.py").read_text() == MODULE
    script.fault_of.cache_clear()
    (tmp_path / "tests" / "test_pkg.py").write_text("def test_nothing():\n    assert False\n")
    (change, *_) = script.mutations_of(tmp_path, "pkg.py")
    assert script.examined(tmp_path, change, 60.0).status == "untested"
    script.fault_of.cache_clear()
    (tmp_path / "tests" / "test_pkg.py").write_text("import time\n\ndef test_nothing():\n    time.sleep(600)\n")
    assert "took more than" in script.examined(tmp_path, change, 3.0).by
    assert json.dumps(script.asdict(script.examined(tmp_path, change, 3.0)))
