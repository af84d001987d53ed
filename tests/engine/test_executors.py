import threading
import time

import pytest
from executor_contract import ExecutorContract

from distkern import InputError, InputTypeError, Serial, Threads
from distkern.core.events import Progress
from distkern.engine.dask.executor import Dask
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import run


class TestSerial(ExecutorContract):
    @pytest.fixture
    def executor(self):
        return Serial()


class TestThreads(ExecutorContract):
    @pytest.fixture
    def executor(self):
        return Threads(3)


class TestDask(ExecutorContract):
    @pytest.fixture
    def executor(self, client):
        return Dask(client)


def test_threads_run_tasks_at_the_same_time():
    meeting = threading.Barrier(2, timeout=20)
    assert len(list(Threads(2).map(lambda _: meeting.wait(), range(2)))) == 2


def test_threads_start_no_tasks_once_the_receipts_are_closed():
    started = []

    def slow(n):
        started.append(n)
        time.sleep(0.01)
        return n

    receipts = Threads(2).map(slow, range(1000))
    next(receipts)
    receipts.close()
    assert len(started) < 20


def test_run_reports_progress_from_the_tasks_done_before():
    events, receipts = [], []
    run(Serial(), abs, [-1, -2], receipts.append, phase="work", listener=events.append, done=3)
    assert receipts == [1, 2]
    assert events == [Progress("work", 3, 5), Progress("work", 4, 5), Progress("work", 5, 5)]


class TestResolve:
    def test_threads_are_the_default_without_a_client(self):
        assert isinstance(resolve_executor(None), Threads)

    def test_the_client_of_the_user_is_the_default(self, client):
        chosen = resolve_executor(None)
        assert isinstance(chosen, Dask)
        assert chosen.client is client
        assert resolve_executor(client).client is client

    def test_names_numbers_and_executors_are_taken(self):
        assert isinstance(resolve_executor("serial"), Serial)
        assert isinstance(resolve_executor("threads"), Threads)
        assert resolve_executor(3).workers == 3
        mine = Serial()
        assert resolve_executor(mine) is mine

    @pytest.mark.parametrize("wrong", ["cluster", 1.5, object()])
    def test_other_values_are_refused(self, wrong):
        with pytest.raises(InputTypeError, match="executor must be"):
            resolve_executor(wrong)

    def test_less_than_one_thread_is_refused(self):
        with pytest.raises(InputError, match="1 or more"):
            Threads(0)

    def test_more_threads_than_a_system_allows_are_refused(self):
        with pytest.raises(
            InputError, match="the number of threads must be at most 32,768, not 9,223,372,036,854,775,808"
        ):
            Threads(2**63)


def caused_by_itself(number):
    error = ValueError(number)
    error.__cause__ = error
    raise error


@pytest.mark.timeout(20)
def test_an_error_that_is_its_own_cause_is_yielded():
    (failure,) = Serial().map(caused_by_itself, [3])
    assert failure.task == 3
