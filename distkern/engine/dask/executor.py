"""Tasks on a Dask cluster: a rolling window of futures, tiny results, and retries when workers die."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any
from uuid import uuid4

from distributed import Client, as_completed
from distributed.scheduler import KilledWorker

from distkern.core.errors import TaskError
from distkern.core.typing import Receipt, Task
from distkern.engine.executors import raise_task_error
from distkern.engine.memory import USABLE, share_of

WINDOW = 3
"""Futures submitted ahead for every thread of the cluster."""

RETRIES = 3
"""Times a task is run again after it raised an error."""

LIVES = 5
"""Times a task may be given up by the scheduler because its workers died; each time takes several deaths."""


def existing_client() -> Client | None:
    """Find the client that the user made in this process; None where there is none."""
    try:
        client = Client.current(allow_global=True)
    except ValueError:
        return None
    return client if client.status == "running" else None


class Dask:
    """Runs tasks on the cluster of a Dask client, which is used and never closed.

    Parameters
    ----------
    client
        A connected ``distributed.Client``.
    """

    remote = True

    def __init__(self, client: Client) -> None:
        self.client = client

    def _threads(self) -> dict[str, int]:
        return dict(self.client.nthreads())

    @property
    def workers(self) -> int:
        """Number of tasks that run side by side now; at least one, for workers may still be on their way."""
        return max(1, sum(self._threads().values()))

    def memory_per_task(self, limit: int | None) -> int:
        """Bytes that one task may take: of ``limit`` per worker process, or of the smallest share of a worker's own."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        if limit is not None or not workers:
            return share_of(limit, max((worker["nthreads"] for worker in workers), default=1))
        shares = [int(USABLE * worker["memory_limit"]) // worker["nthreads"] for worker in workers]
        return min(share if share > 0 else share_of(None, self.workers) for share in shares)

    def describe(self) -> str:
        """Say what runs the tasks."""
        threads = self._threads()
        address = self.client.scheduler.address if self.client.scheduler else "unknown address"
        return f"a Dask cluster at {address}: {len(threads)} workers, {sum(threads.values())} threads"

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Yield the receipts of all tasks as they finish; after a failure only those that were running still finish."""
        queue = iter(tasks)
        given: dict[Any, tuple[Task, int]] = {}
        failure: BaseException | None = None

        def submit(task: Task, deaths: int = 0) -> Any:
            future = self.client.submit(fn, task, key=f"{fn.__name__}-{uuid4().hex}", pure=False, retries=RETRIES)
            given[future.key] = (task, deaths)
            return future

        flow = as_completed([submit(task) for task in islice(queue, WINDOW * self.workers)])
        try:
            for future in flow:
                task, deaths = given.pop(future.key)
                if future.status == "finished":
                    yield future.result()
                else:
                    error = self._error_of(future)
                    if isinstance(error, KilledWorker) and deaths + 1 < LIVES and failure is None:
                        flow.add(submit(task, deaths + 1))
                    else:
                        failure = failure or error
                room = 0 if failure is not None else max(0, WINDOW * self.workers - len(given))  # workers come and go
                for upcoming in islice(queue, room):
                    flow.add(submit(upcoming))
        finally:
            if given:
                self.client.cancel(list(flow.futures), force=True)
        if failure is not None:
            raise_task_error(failure)

    @staticmethod
    def _error_of(future: Any) -> BaseException:
        """Find what ended a future: its own error, or the loss of the scheduler that held it."""
        error = future.exception() if future.status == "error" else None
        if error is None:
            return TaskError(
                f"the scheduler lost or cancelled a task ({future.status}); what had finished is stored, and the same "
                "call goes on from there"
            )
        return error
