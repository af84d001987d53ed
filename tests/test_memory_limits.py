"""A memory limit is kept within a quarter, for everything that takes one: measured from outside the process.

30 MiB are overhead of a process: messages, documents, caches of libraries. Each child first runs its case on a few
samples, so that loading and compiling routines does not count.
"""

import inspect
import os
from pathlib import Path

import pytest
from memory_cases import CASES
from outside import measured

import distkern

MIB = 2**20
OVERHEAD = 30 * MIB

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[3])
import memory_cases
run = memory_cases.work(sys.argv[1], sys.argv[2])
wait()
done(memory_cases.outcome(run))
"""

REFUSED = {
    "SVC": "training on 3,000 samples needs",  # one tile is larger than what is allowed
    "SVC samples": "the kernel between",
    "ridge": "compute the matrix with smaller tiles",  # and not what it is doing: "use conjugate gradients"
    "append": "a task on tiles of side",
    "landmarks leverage": "choosing 400 landmarks",
    "tau with p-values": "the matrix of 1,500 features takes",
}
"""What does not fit 32 MiB, and what is said of it before any work."""

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="only Linux shows other processes")


def limit_and_taken(name, limit):
    rest, peak, found = measured(SCRIPT, name, limit * MIB, Path(__file__).parent)
    return 1.25 * limit * MIB + OVERHEAD, peak - rest, found


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_limit_is_kept(name):
    allowed, taken, found = limit_and_taken(name, 32)
    assert taken <= allowed, f"{name} took {taken / MIB:.1f} MiB"
    if name in REFUSED:
        assert REFUSED[name] in found
    assert found == "done" or taken < 10 * MIB, found  # a refusal comes before the work


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("name", ["tau with p-values", "landmarks k-means++ wide", "SVC small tiles", "gram Gaussian"])
def test_a_larger_limit_is_kept_and_the_work_is_done(name):
    allowed, taken, found = limit_and_taken(name, 96)
    assert found == "done"
    assert taken <= allowed, f"{name} took {taken / MIB:.1f} MiB"


def test_everything_that_takes_a_limit_is_measured():
    """All public names with ``memory_limit``, but what only plans, and what has the code of another case."""
    public = (getattr(distkern, name) for name in distkern.__all__)
    names = {one.__name__ for one in public if callable(one) and "memory_limit" in _parameters(one)}
    cases = (Path(__file__).parent / "memory_cases.py").read_text()
    same = {"plan_gram", "MLSRRanker", "MLSRRankerCV", "TopScoringPair", "TopPairs", "TopPairGenes"}
    assert {name for name in names if f"dk.{name}(" not in cases} <= same


def _parameters(one):
    try:
        return inspect.signature(one).parameters
    except ValueError:  # an exception class
        return ()
