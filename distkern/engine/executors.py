"""Executors that run tasks in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from distkern.core.errors import InputError
from distkern.core.parameters import whole_number
from distkern.engine.base import WINDOW, Executor, Failure, Receipt, Task, completed, failed


class Serial(Executor):
    """Runs tasks one after the other in the calling thread.

    See Also
    --------
    Threads : Several threads.
    Dask : A cluster.

    Examples
    --------
    >>> list(Serial().map(abs, [-1, 2]))
    [1, 2]
    """

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure]:
        """Yield ``fn(task)`` or a `Failure` for each task, in the order of the tasks."""
        for task in tasks:
            try:
                outcome: Receipt | Failure = fn(task)
            except Exception as error:
                outcome = failed(task, error)
            yield outcome

    def describe(self) -> str:
        """Name the executor in logs."""
        return "one thread in this process"


MOST_THREADS = 2**15
"""Maximum number of threads: systems allow no more in a process."""


class Threads(Executor):
    """Runs tasks on threads of this process; compiled kernels and BLAS release the interpreter lock.

    Parameters
    ----------
    workers
        Number of threads; by default the number of cores that this process may use.

    Raises
    ------
    InputError
        If it is no whole number from 1 to `MOST_THREADS`.

    See Also
    --------
    Serial : One thread.
    Dask : A cluster.

    Examples
    --------
    >>> sorted(Threads(2).map(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = usable_cores() if workers is None else whole_number(workers, "the number of threads", 1)
        if self.workers > MOST_THREADS:
            raise InputError(f"the number of threads must be at most {MOST_THREADS:,}, not {self.workers:,}")

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure]:
        """Yield ``fn(task)`` or a `Failure` for each task as it completes."""
        with ThreadPoolExecutor(self.workers, thread_name_prefix="distkern") as pool:
            yield from completed(pool, fn, tasks, WINDOW * self.workers)

    def describe(self) -> str:
        """Name the executor in logs."""
        return f"{self.workers} thread{'s' if self.workers > 1 else ''} in this process"


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
