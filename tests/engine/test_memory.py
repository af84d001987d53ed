import psutil
import pytest

from distkern.engine import memory
from distkern.engine.memory import available_memory, share_of


def test_available_memory_is_at_most_that_of_the_machine():
    assert 0 < available_memory() <= psutil.virtual_memory().total


@pytest.mark.parametrize(("limit", "expected"), [("1000", 450), ("max", None)])
def test_the_limit_of_a_container_counts(tmp_path, monkeypatch, limit, expected):
    (tmp_path / "max").write_text(limit + "\n")
    (tmp_path / "current").write_text("600\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 50\n")
    monkeypatch.setattr(memory, "_CGROUPS", ((tmp_path, "max", "current"),))
    if expected is None:
        assert available_memory() > 1000
    else:
        assert available_memory() == expected


def test_a_limit_is_divided_among_concurrent_tasks(monkeypatch):
    assert share_of(1000, 4) == 250
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    assert share_of(None, 2) == 300
