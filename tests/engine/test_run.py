"""What a run makes of failures: which stop it, and how it names them."""

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
    """A task that raises what ``errors`` holds for its number."""

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
def test_the_rest_completes_and_the_error_names_what_failed(executor):
    error, receipts, failures = outcome_of({5: OSError("odd"), 70: ValueError("x")}, executor=executor)
    assert str(error) == (
        "2 tasks failed (task 5, task 70), the first with OSError: odd; all else is stored, and the same call tries "
        "them again"
    )
    assert isinstance(error, TaskError)
    assert isinstance(error.__cause__, OSError)
    assert sorted(receipts) == [n for n in range(100) if n not in (5, 70)]
    assert [failure.task for failure in failures] == [5, 70]


def test_one_failed_task_is_named_too():
    error, receipts, _ = outcome_of({5: OSError("odd")})
    assert str(error) == "task 5 failed with OSError: odd; all else is stored, and the same call tries it again"
    assert len(receipts) == 99


def test_only_some_of_many_are_spelled_out():
    error, _, _ = outcome_of(dict.fromkeys(range(10, 19), OSError("odd")))
    assert "9 tasks failed (task 10, task 11, task 12, task 13, task 14 and 4 more), the first with" in str(error)


def test_errors_of_our_own_say_themselves_what_to_do():
    mine = InputError("sample 3 is bad")
    assert outcome_of({5: mine})[0] is mine
    assert outcome_of({5: mine, 6: InputError("sample 4 is bad")})[0] is mine
    assert isinstance(outcome_of({5: mine, 6: OSError("odd")})[0], TaskError)


def test_a_damaged_block_does_not_stop_the_tiles_of_others():
    error, receipts, _ = outcome_of({5: CorruptTileError("block 5")})
    assert isinstance(error, CorruptTileError)
    assert len(receipts) == 99


@pytest.mark.parametrize("executor", [Serial(), Threads(3)])
def test_what_concerns_everything_stops_the_run_and_is_raised_as_it_is(executor):
    full = StoreError("no space left")
    error, receipts, _ = outcome_of({2: OSError("odd"), 5: full}, executor=executor)
    assert error is full
    assert {0, 1, 3, 4} <= set(receipts)
    assert len(receipts) < 20


def test_a_run_that_only_fails_stops():
    error, receipts, failures = outcome_of(dict.fromkeys(range(1000), OSError("odd")), count=1000)
    assert (len(receipts), len(failures)) == (0, MAX_FAILURES)
    assert "what had finished is stored, and the same call goes on from there" in str(error)


def test_a_run_that_turns_bad_stops_when_most_has_failed():
    _, receipts, failures = outcome_of(dict.fromkeys(range(100, 1000), OSError("odd")), count=1000)
    assert (len(receipts), len(failures)) == (100, 100)


def test_work_that_needs_all_its_parts_stops_at_the_first_failure():
    _, receipts, failures = outcome_of({5: OSError("odd")}, go_on=False)
    assert (receipts, len(failures)) == ([0, 1, 2, 3, 4], 1)


def test_a_failure_does_not_hold_the_arrays_of_its_task():
    held = []

    def task(number):
        array = np.zeros(10)
        held.append(weakref.ref(array))
        try:
            raise OSError("odd")
        except OSError as error:
            raise ValueError("worse") from error

    failures = list(Serial().map(task, range(2)))
    gc.collect()
    assert [type(failure) for failure in failures] == [Failure, Failure]
    assert [reference() for reference in held] == [None, None]


def test_what_the_work_waits_for_is_told():
    class Slow(Serial):
        def map(self, fn, tasks):
            yield Waiting("no workers")
            yield Waiting("")
            yield from super().map(fn, tasks)

    events = []
    run(Slow(), abs, [-1], quiet, phase="work", listener=events.append)
    assert events[1:] == [Progress("work", 0, 1, "no workers"), Progress("work", 0, 1), Progress("work", 1, 1)]


def test_an_interruption_cancels_what_has_not_begun():
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
