"""Failures of tasks: which of them stop a run, and the error that names them."""

import gc
import weakref

import numpy as np
import pytest

from distkern import CorruptTileError, InputError, Serial, StoreError, TaskError, Threads
from distkern.core.events import Progress
from distkern.engine.base import Failure, Waiting
from distkern.engine.run import MAX_FAILURES, run


def quiet(event):
    pass


def failing(errors):
    """A task that raises the error of its number, if there is one."""

    def task(number):
        if number in errors:
            raise errors[number]
        return number

    return task


def outcome_of(errors, count=100, go_on=True, executor=None):
    receipts, failures = [], []
    with pytest.raises(Exception) as caught:  # noqa: PT011
        run(
            executor or Serial(),
            failing(errors),
            range(count),
            receipts.append,
            phase="work",
            listener=quiet,
            on_failure=failures.append,
            named=lambda number: f"task {number}",
            go_on=go_on,
        )
    return caught.value, receipts, failures


@pytest.mark.parametrize("executor", [Serial(), Threads(3)])
def test_other_tasks_complete_and_the_error_names_the_failed_ones(executor):
    error, receipts, failures = outcome_of({5: OSError("odd"), 70: ValueError("x")}, executor=executor)
    assert str(error) == (
        "2 tasks failed (task 5, task 70), the first with OSError: odd; all else is stored, and the same call tries "
        "them again"
    )
    assert isinstance(error, TaskError)
    assert isinstance(error.__cause__, OSError)
    assert sorted(receipts) == [n for n in range(100) if n not in (5, 70)]
    assert [failure.task for failure in failures] == [5, 70]


def test_a_single_failed_task_is_named():
    error, receipts, _ = outcome_of({5: OSError("odd")})
    assert str(error) == "task 5 failed with OSError: odd; all else is stored, and the same call tries it again"
    assert len(receipts) == 99


def test_only_the_first_of_many_failed_tasks_are_named():
    error, _, _ = outcome_of(dict.fromkeys(range(10, 19), OSError("odd")))
    assert "9 tasks failed (task 10, task 11, task 12, task 13, task 14 and 4 more), the first with" in str(error)


def test_errors_of_one_class_of_this_package_are_raised_as_they_are():
    ours = InputError("sample 3 is bad")
    assert outcome_of({5: ours})[0] is ours
    assert outcome_of({5: ours, 6: InputError("sample 4 is bad")})[0] is ours
    assert isinstance(outcome_of({5: ours, 6: OSError("odd")})[0], TaskError)


def test_a_damaged_block_does_not_stop_other_tiles():
    error, receipts, _ = outcome_of({5: CorruptTileError("block 5")})
    assert isinstance(error, CorruptTileError)
    assert len(receipts) == 99


@pytest.mark.parametrize("executor", [Serial(), Threads(3)])
def test_an_error_that_affects_all_tasks_stops_the_run_and_is_raised(executor):
    full = StoreError("no space left")
    error, receipts, _ = outcome_of({2: OSError("odd"), 5: full}, executor=executor)
    assert error is full
    assert {0, 1, 3, 4} <= set(receipts)
    assert len(receipts) < 20


def test_a_run_stops_when_its_first_tasks_all_fail():
    error, receipts, failures = outcome_of(dict.fromkeys(range(1000), OSError("odd")), count=1000)
    assert (len(receipts), len(failures)) == (0, MAX_FAILURES)
    assert "what had finished is stored, and the same call goes on from there" in str(error)


def test_a_run_stops_when_as_many_tasks_failed_as_succeeded():
    _, receipts, failures = outcome_of(dict.fromkeys(range(100, 1000), OSError("odd")), count=1000)
    assert (len(receipts), len(failures)) == (100, 100)


def test_a_run_without_go_on_stops_at_the_first_failure():
    _, receipts, failures = outcome_of({5: OSError("odd")}, go_on=False)
    assert (receipts, len(failures)) == ([0, 1, 2, 3, 4], 1)


@pytest.mark.slow
def test_a_failure_keeps_no_arrays_of_its_task():
    references = []

    def task(number):
        array = np.zeros(10)
        references.append(weakref.ref(array))
        try:
            raise OSError("odd")
        except OSError as error:
            raise ValueError("worse") from error

    failures = list(Serial().map(task, range(2)))
    gc.collect()
    assert [type(failure) for failure in failures] == [Failure, Failure]
    assert [reference() for reference in references] == [None, None]


def test_the_reason_for_waiting_is_reported():
    class Slow(Serial):
        def map(self, fn, tasks):
            yield Waiting("no workers")
            yield Waiting("")
            yield from super().map(fn, tasks)

    events = []
    run(Slow(), abs, [-1], quiet, phase="work", listener=events.append)
    assert events[1:] == [Progress("work", 0, 1, "no workers"), Progress("work", 0, 1), Progress("work", 1, 1)]


def test_an_interruption_cancels_tasks_that_have_not_started():
    started = []

    def interrupt(event):
        if event.done:
            raise KeyboardInterrupt

    def task(number):
        started.append(number)
        return number

    with pytest.raises(KeyboardInterrupt):
        run(Threads(2), task, range(1000), quiet, phase="work", listener=interrupt)
    assert len(started) < 20
