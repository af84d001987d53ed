"""Tests that every executor passes, and the tasks that they run."""

import time
from pathlib import Path

import numpy as np
import pytest
from fault_injection import Disturbance, stored

from distkern import DistkernError, Executor, Kendall, SampleError, TaskError, compute_gram, open_gram
from distkern.engine.base import Failure
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import run

X = np.random.default_rng(5).normal(size=(30, 40))
SIDE, TILES = 4, 36


def square(number):
    return number * number


def nap(number):
    time.sleep(0.05)
    return number


def touch(file):
    time.sleep(0.02)
    Path(file).touch()
    return file


def fail_at_three(number):
    if number == 3:
        raise OSError("no space left")
    return number


def refuse_at_three(number):
    if number == 3:
        raise SampleError("sample 'x' is bad", 3)
    return number


def ignore(event):
    pass


def interrupt():
    raise KeyboardInterrupt


class ExecutorContract:
    """An executor runs every task once and yields every outcome; a subclass gives the fixture ``executor``."""

    def test_it_is_an_executor_and_is_used_as_it_is(self, executor):
        assert isinstance(executor, Executor)
        assert resolve_executor(executor) is executor
        assert executor.alive
        assert list(executor.await_workers()) == []

    @pytest.mark.parametrize("count", [0, 1, 50])
    def test_every_task_gives_its_receipt(self, executor, count):
        assert sorted(executor.map(square, range(count))) == [n * n for n in range(count)]

    def test_tasks_are_taken_as_workers_become_free(self, executor):
        taken = []

        def tasks():
            for n in range(1000):
                taken.append(n)
                yield n

        receipts = executor.map(square, tasks())
        next(receipts)
        assert len(taken) <= 4 * executor.workers + 1
        receipts.close()

    def test_closing_the_receipts_cancels_tasks_that_have_not_started(self, executor, tmp_path):
        receipts = executor.map(touch, [str(tmp_path / str(n)) for n in range(200)])
        next(receipts)
        receipts.close()
        time.sleep(0.2)
        assert 1 <= len(list(tmp_path.iterdir())) < 50

    def test_a_failed_task_is_yielded_and_the_others_go_on(self, executor):
        outcomes = list(executor.map(fail_at_three, range(50)))
        (failure,) = (outcome for outcome in outcomes if isinstance(outcome, Failure))
        assert (failure.task, str(failure.error)) == (3, "no space left")
        assert isinstance(failure.error, OSError)
        assert sorted(outcome for outcome in outcomes if outcome is not failure) == [0, 1, 2, *range(4, 50)]

    def test_an_error_of_this_package_is_raised_with_its_fields(self, executor):
        with pytest.raises(SampleError, match="sample 'x' is bad") as caught:
            run(executor, refuse_at_three, range(10), ignore, phase="work", listener=ignore)
        assert caught.value.row == 3
        assert isinstance(caught.value, DistkernError)

    def test_a_run_that_stops_still_receives_the_tasks_that_had_started(self, executor):
        receipts = []
        with pytest.raises(TaskError, match=r"a task failed with OSError: no space left; what had finished is stored"):
            run(executor, fail_at_three, range(1000), receipts.append, phase="work", listener=ignore)
        assert {0, 1, 2} <= set(receipts)
        assert len(receipts) < 100

    def test_workers_description_and_memory_of_a_task(self, executor):
        assert executor.workers >= 1
        assert str(executor.workers if executor.workers > 1 else "one") in executor.describe()
        assert executor.memory_per_task(10**9) <= 10**9
        assert executor.memory_per_task(None) > 0

    def test_a_gram_matrix_has_the_same_bytes(self, executor, serial_bytes, tmp_path):
        gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=SIDE, executor=executor)
        assert stored(tmp_path / "k.zarr") == serial_bytes
        assert gram.info()["runs"][-1]["executor"] == executor.describe()

    def test_an_interrupted_gram_matrix_goes_on_and_has_the_same_bytes(self, executor, serial_bytes, tmp_path):
        store = tmp_path / "k.zarr"
        with pytest.raises(KeyboardInterrupt):
            compute_gram(Kendall(), X, store=store, tile=SIDE, executor=executor, progress=Disturbance(10, interrupt))
        done = open_gram(store).info()["tiles_done"]
        assert 10 <= done < TILES
        gram = compute_gram(Kendall(), X, store=store, executor=executor)
        assert gram.info()["runs"][-1]["tiles_computed"] == TILES - done
        assert stored(store) == serial_bytes
