"""Executors that run in this process, and the choice of one from what the user gave."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, NoReturn

from distkern.core.errors import DistkernError, InputError, InputTypeError, TaskError
from distkern.core.typing import Executor, Receipt, Task
from distkern.engine.memory import share_of

WINDOW = 2
"""Tasks submitted ahead for every worker: enough to keep it busy, few enough to keep no long list anywhere."""


class Serial:
    """Runs one task after the other in this thread.

    Examples
    --------
    >>> list(Serial().map(abs, [-1, 2]))
    [1, 2]
    """

    workers = 1
    remote = False

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Yield ``fn(task)`` for every task."""
        for task in tasks:
            try:
                receipt = fn(task)
            except Exception as error:
                raise_task_error(error)
            yield receipt

    def memory_per_task(self, limit: int | None) -> int:
        """Bytes that one task may take when the process may take ``limit``."""
        return share_of(limit, 1)

    def describe(self) -> str:
        """Say what runs the tasks."""
        return "one thread in this process"


class Threads:
    """Runs tasks on threads of this process; compiled kernels and BLAS release the interpreter lock.

    Parameters
    ----------
    workers
        Number of threads; the number of cores this process may use by default.

    Examples
    --------
    >>> sorted(Threads(2).map(abs, [-1, 2]))
    [1, 2]
    """

    remote = False

    def __init__(self, workers: int | None = None) -> None:
        self.workers = usable_cores() if workers is None else workers
        if self.workers < 1:
            raise InputError(f"the number of threads must be 1 or more, not {workers}")

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Yield the receipts of all tasks as they finish; after a failure only those that were running still finish."""
        queue = iter(tasks)
        failure: Exception | None = None
        with ThreadPoolExecutor(self.workers, thread_name_prefix="distkern") as pool:
            running: set[Future[Receipt]] = {pool.submit(fn, task) for task in islice(queue, WINDOW * self.workers)}
            try:
                while running:
                    finished, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        error = future.exception() if not future.cancelled() else None
                        if isinstance(error, Exception):
                            failure = failure or error
                        elif not future.cancelled():
                            yield future.result()
                    if failure is None:
                        running |= {pool.submit(fn, task) for task in islice(queue, len(finished))}
                    else:
                        running = {future for future in running if not future.cancel()}
            finally:
                for future in running:
                    future.cancel()
        if failure is not None:
            raise_task_error(failure)

    def memory_per_task(self, limit: int | None) -> int:
        """Bytes that one task may take when the process may take ``limit``."""
        return share_of(limit, self.workers)

    def describe(self) -> str:
        """Say what runs the tasks."""
        return f"{self.workers} thread{'s' if self.workers > 1 else ''} in this process"


def raise_task_error(error: BaseException) -> NoReturn:
    """Raise what a task raised, in words that the user can use; errors of our own already say what to do."""
    if isinstance(error, DistkernError):
        raise error
    raise TaskError(
        f"a task failed with {type(error).__name__}: {error}; what had finished is stored, and the same call goes on "
        "from there"
    ) from error


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resolve_executor(executor: Any = None) -> Executor:
    """Choose who runs the tasks.

    Parameters
    ----------
    executor
        ``None``: the Dask client that exists in this process, else threads. ``"serial"``, ``"threads"``, a number of
        threads, a ``distributed.Client``, or an object with the methods of `Serial`.

    Raises
    ------
    InputTypeError
        If it is none of these.
    """
    if executor is None:
        client = _existing_client()
        return Threads() if client is None else _dask(client)
    if executor == "serial":
        return Serial()
    if executor == "threads":
        return Threads()
    if isinstance(executor, int) and not isinstance(executor, bool):
        return Threads(executor)
    if callable(getattr(executor, "map", None)) and callable(getattr(executor, "memory_per_task", None)):
        return executor
    if callable(getattr(executor, "scheduler_info", None)) and callable(getattr(executor, "submit", None)):
        return _dask(executor)
    raise InputTypeError(
        f'executor must be "serial", "threads", a number of threads, a Dask client or an executor, not {executor!r}'
    )


def _existing_client() -> Any:
    """Find the user's Dask client; there is none where nobody has imported distributed."""
    if "distributed" not in sys.modules:
        return None
    from distkern.engine.dask.executor import existing_client  # never load distributed for those who do not use it

    return existing_client()


def _dask(client: Any) -> Executor:
    from distkern.engine.dask.executor import Dask  # never load distributed for those who do not use it

    return Dask(client)
