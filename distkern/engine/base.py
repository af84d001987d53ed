"""The interface of executors: everything that the rest of the package calls on one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import Executor as FuturesPool
from dataclasses import dataclass
from itertools import islice
from traceback import clear_frames
from typing import Any, TypeVar

from distkern.engine.memory import share_of

Task = TypeVar("Task")
Receipt = TypeVar("Receipt")

WINDOW = 2
"""Tasks submitted per worker: one that runs and one that waits, so that no worker idles and no long queue is kept."""


@dataclass(frozen=True)
class Failure:
    """The outcome of a task that raised an error, after all retries."""

    task: Any
    error: Exception


@dataclass(frozen=True)
class Waiting:
    """A notice that no task can run at present.

    Parameters
    ----------
    reason
        What the executor waits for, as a sentence; empty once tasks run again.
    """

    reason: str


class Executor(ABC):
    """Runs idempotent tasks and yields the outcome of each, in any order.

    A subclass defines `map`. It overrides the other members where their defaults are wrong for it. Everything passed to
    `compute_gram` and `open_gram` as ``executor=`` becomes one of these; an instance of a subclass is used as it is.

    Attributes
    ----------
    workers
        Number of tasks that run at the same time; at least 1. It may change while tasks run.
    remote
        Whether tasks run in other processes. Then functions, tasks and receipts must be pickled, and arrays of this
        process are passed through the store. An executor whose workers may have other package versions than this
        process runs tasks through `distkern.engine.versions.run_checked`.

    See Also
    --------
    Serial, Threads, Dask : Those that come with distkern.

    Examples
    --------
    >>> class Reversed(Executor):
    ...     def map(self, fn, tasks):
    ...         for task in reversed(list(tasks)):
    ...             yield fn(task)
    >>> list(Reversed().map(abs, [-1, 2]))
    [2, 1]
    >>> Reversed().workers, Reversed().remote, Reversed().memory_per_task(1000)
    (1, False, 1000)
    """

    workers: int = 1
    remote: bool = False

    @abstractmethod
    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure | Waiting]:
        """Yield ``fn(task)`` or a `Failure` for each task, in any order, and a `Waiting` while no task can run.

        Tasks are taken from the iterable only as workers become free, so that the caller can stop the run by ending the
        iterable. Closing the returned iterator cancels all tasks that have not started.
        """

    def memory_per_task(self, limit: int | None) -> int:
        """Bytes that one task may use.

        Parameters
        ----------
        limit
            Bytes that each process may use; by default a share of the memory that is available.
        """
        return share_of(limit, self.workers)

    def describe(self) -> str:
        """Name the executor in logs: its kind, its location and the number of its workers."""
        return f"{type(self).__name__} with {self.workers} worker{'s' if self.workers > 1 else ''}"

    @property
    def alive(self) -> bool:
        """Whether the executor can still run tasks; False for example after its connection was closed."""
        return True

    def await_workers(self) -> Iterator[Waiting]:
        """Return once there is a worker; yield a `Waiting` first if there is none yet."""
        return iter(())


def completed(
    pool: FuturesPool, fn: Callable[[Task], Receipt], tasks: Iterable[Task], window: int
) -> Iterator[Receipt | Failure]:
    """Run tasks on a pool of `concurrent.futures`, and yield the outcome of each as it completes.

    This implements `Executor.map` for any pool with the interface of `concurrent.futures.Executor`.

    Parameters
    ----------
    window
        Most tasks that are submitted and not yet completed.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     sorted(completed(pool, abs, [-1, 2], window=4))
    [1, 2]
    """
    queue = iter(tasks)
    running: dict[Future[Receipt], Task] = {}
    try:
        while True:
            for task in islice(queue, max(0, window - len(running))):
                running[pool.submit(fn, task)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task, error = running.pop(future), future.exception()
                yield failed(task, error) if isinstance(error, Exception) else future.result()
    finally:
        for future in running:
            future.cancel()


def failed(task: Any, error: Exception) -> Failure:
    """Make the `Failure` of a task, and release the arrays that the traceback of its error refers to."""
    raised: BaseException | None = error
    seen: set[int] = set()  # an error may be its own cause
    while raised is not None and id(raised) not in seen:
        seen.add(id(raised))
        if raised.__traceback__ is not None:
            clear_frames(raised.__traceback__.tb_next)  # the first frame is that of the caller, which still runs
        raised = raised.__cause__ or raised.__context__
    return Failure(task, error)
