"""An executor beside those of this package, in one file: it runs tasks in processes of this machine."""

import platform
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest
from executor_contract import ExecutorContract, square

from distkern import Executor, InputTypeError
from distkern.engine.base import WINDOW, completed
from distkern.engine.resolve import resolve_executor
from distkern.engine.versions import run_checked, versions


class Processes(Executor):
    """Runs tasks on a pool of processes; any pool of the interface of `concurrent.futures` is used in this way."""

    remote = True

    def __init__(self, pool, workers):
        self.pool, self.workers = pool, workers

    def map(self, fn, tasks):
        run_task = partial(run_checked, fn, versions(), platform.node)
        return completed(self.pool, run_task, tasks, WINDOW * self.workers)


@pytest.fixture(scope="module")
def executor():
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield Processes(pool, 2)


class TestProcesses(ExecutorContract):
    pass


class Minimal(Executor):
    """Defines `map` and nothing else."""

    def map(self, fn, tasks):
        return map(fn, tasks)


def test_map_is_all_that_an_executor_must_define():
    executor = resolve_executor(Minimal())
    assert list(executor.map(square, range(3))) == [0, 1, 4]
    assert (executor.workers, executor.remote, executor.alive) == (1, False, True)
    assert executor.memory_per_task(1000) == 1000
    assert executor.describe() == "Minimal with 1 worker"
    assert list(executor.await_workers()) == []
    with pytest.raises(TypeError, match="map"):
        type("Nothing", (Executor,), {})()


class Older:
    """Has the methods of an executor, and was written before there was a class to derive it from."""

    workers = 3

    def map(self, fn, tasks):
        return map(fn, tasks)

    def memory_per_task(self, limit):
        return 7


def test_an_object_with_the_methods_of_an_executor_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match="derive its class from distkern.Executor"):
        executor = resolve_executor(Older())
    assert list(executor.map(square, range(3))) == [0, 1, 4]
    assert (executor.workers, executor.memory_per_task(None), executor.remote, executor.alive) == (3, 7, False, True)


class Similar:
    """Has a method of the name, as a pool of another package has."""

    map = describe = print


def test_an_object_that_looks_like_an_executor_is_refused_with_what_it_lacks():
    with pytest.raises(
        InputTypeError, match="has no workers, remote, memory_per_task, alive, await_workers: derive its"
    ):
        resolve_executor(Similar())
