import os
import threading
import time

import psutil
import pytest
from outside import measured

from distkern.engine import memory
from distkern.engine.memory import Watched, available_memory, share_of

MIB = 2**20


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


# What was taken -------------------------------------------------------------------------------------------------------


@pytest.fixture
def said(monkeypatch):
    """What the system says of this process: its resident memory, and the most that it ever had."""
    found = {"now": 100, "ever": 2000}
    monkeypatch.setattr(memory, "resident_bytes", lambda: found["now"])
    monkeypatch.setattr(memory, "_most_ever", lambda: found["ever"])
    monkeypatch.setattr(memory, "SAMPLE_SECONDS", 0.001)
    return found


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_what_a_process_had_before_is_not_what_it_takes(said):
    with Watched() as one:
        assert one.most == 100
        said["now"] = 300
        until(lambda: one._sampled == 300)
        said["now"] = 150
        with Watched() as other:
            assert (one.most, other.most) == (300, 150)
        said["ever"] = 5000  # more than the process ever had, and no sample met it
        assert one.most == 5000
    until(lambda: memory._sampler is None)  # the thread ends with the last block
    assert not [one for one in threading.enumerate() if one.name == "distkern-memory"]


def test_samples_tell_where_the_system_does_not(said):
    said["ever"] = 0  # macOS
    with Watched() as one:
        said["now"] = 400
        assert one.most == 400
        said["now"] = 200
        assert one.most == 400


def test_the_next_block_starts_anew(said):
    said["now"] = 900
    with Watched() as one:
        assert one.most == 900
    said["now"] = 100
    with Watched() as one:
        assert one.most == 100


BIG_BEFORE = """
import numpy as np, sys
import distkern as dk

def run(samples, name):
    X = np.random.default_rng(0).normal(size=(samples, 50))
    gram = dk.compute_gram(
        dk.Gaussian(1.0), X, store=sys.argv[1] + "/" + name, tile=samples // 2, executor="serial", progress=False
    )
    (logged,) = gram.info()["runs"]
    return logged

run(40, "small")  # loads and compiles
large = np.ones(2**31 // 8)
del large
wait()
done(run(4000, "large"))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="only Linux shows memory to other processes")
def test_a_run_reports_what_it_took_and_not_what_its_process_had_before(tmp_path):
    """A process that made and freed 2 GiB said 2,047 MiB where 9 were used."""
    rest, peak, logged = measured(BIG_BEFORE, tmp_path)
    assert peak > rest + 8 * 2000**2  # the values of a tile at least
    assert logged["peak_bytes"] == pytest.approx(peak, rel=0.1, abs=10 * MIB)
    assert logged["above_rest_bytes"] == pytest.approx(peak - rest, rel=0.2, abs=10 * MIB)
