"""Executors that run in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from traceback import clear_frames
from typing import Any

from distkern.core.errors import InputError
from distkern.core.typing import Failure, Receipt, Task
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

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure]:
        """Yield ``fn(task)`` for every task, or its failure."""
        for task in tasks:
            try:
                outcome: Receipt | Failure = fn(task)
            except Exception as error:
                outcome = failed(task, error)
            yield outcome

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

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure]:
        """Yield the receipts and failures of all tasks as they finish."""
        queue = iter(tasks)
        running: dict[Future[Receipt], Task] = {}
        with ThreadPoolExecutor(self.workers, thread_name_prefix="distkern") as pool:
            try:
                while True:
                    for task in islice(queue, WINDOW * self.workers - len(running)):
                        running[pool.submit(fn, task)] = task
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        task, error = running.pop(future), future.exception()
                        yield failed(task, error) if isinstance(error, Exception) else future.result()
            finally:
                for future in running:
                    future.cancel()

    def memory_per_task(self, limit: int | None) -> int:
        """Bytes that one task may take when the process may take ``limit``."""
        return share_of(limit, self.workers)

    def describe(self) -> str:
        """Say what runs the tasks."""
        return f"{self.workers} thread{'s' if self.workers > 1 else ''} in this process"


def failed(task: Any, error: Exception) -> Failure:
    """Record what a task raised, and let go of the arrays that its traceback holds."""
    raised: BaseException | None = error
    seen: set[int] = set()  # an error may be its own cause
    while raised is not None and id(raised) not in seen:
        seen.add(id(raised))
        if raised.__traceback__ is not None:
            clear_frames(raised.__traceback__.tb_next)  # the first is that of whoever caught it
        raised = raised.__cause__ or raised.__context__
    return Failure(task, error)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
