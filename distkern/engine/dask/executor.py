"""Tasks on a Dask cluster: a rolling window of futures, tiny results, patience with workers that come and go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from distributed import Client, get_worker

from distkern.core.errors import InputTypeError, TaskError
from distkern.core.sentences import Argument, OptionalPart, SameCall
from distkern.core.typing import Failure, Receipt, Task, Waiting
from distkern.engine.dask.flow import Flow
from distkern.engine.dask.worker import compare_workers, versions, work
from distkern.engine.memory import USABLE, share_of

WINDOW = 3
"""Futures submitted ahead for every thread of the cluster."""

POLL_SECONDS = 0.02
"""Seconds between two looks at what has come in."""

COUNT_SECONDS = 1.0
"""Seconds for which a count of the workers is good."""

NO_WORKERS = "the cluster has no workers: waiting for one"
NO_SCHEDULER = "the scheduler does not answer: trying to reach it"


def in_task() -> bool:
    """Whether this is code of a task on a Dask worker."""
    try:
        get_worker()
    except ValueError:
        return False
    return True


def existing_client() -> Client | None:
    """Find the client that the user made in this process; None where there is none."""
    try:
        client = Client.current(allow_global=True)
    except ValueError:
        return None
    return client if client.status == "running" and not client.asynchronous else None


class Dask:
    """Runs tasks on the cluster of a Dask client, which is used and never closed.

    Parameters
    ----------
    client
        A connected ``distributed.Client``.

    Raises
    ------
    InputTypeError
        If the client is asynchronous.
    WorkerMismatchError
        If a worker has other versions than this process; those that join later are compared with their first task.
    """

    remote = True

    def __init__(self, client: Client) -> None:
        if client.asynchronous:
            raise InputTypeError(
                "the client is asynchronous: give one made without asynchronous=True, or call from a thread of its own"
            )
        self.client = client
        self._address = getattr(client.scheduler, "address", "unknown address")  # a client that has closed forgets it
        self._counted: float | None = None
        self._threads: dict[str, int] = {}
        compare_workers(client, versions())

    def _workers(self) -> dict[str, int]:
        """Threads of each worker, as they were a moment ago."""
        now = time.monotonic()
        if self._counted is None or now - self._counted >= COUNT_SECONDS:
            self._counted = now
            if self.client.status == "running":
                try:
                    self._threads = dict(self.client.nthreads())
                except (OSError, TimeoutError):
                    pass  # the scheduler is lost, which the client is about to notice
        return self._threads

    @property
    def workers(self) -> int:
        """Number of tasks that run side by side now; at least one, for workers may still be on their way."""
        return max(1, sum(self._workers().values()))

    def memory_per_task(self, limit: int | None) -> int:
        """Bytes that one task may take: of ``limit`` per worker process, or of the smallest share of a worker's own."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        if limit is not None or not workers:
            return share_of(limit, max((worker["nthreads"] for worker in workers), default=1))
        shares = [int(USABLE * worker["memory_limit"]) // worker["nthreads"] for worker in workers]
        return min(share if share > 0 else share_of(None, self.workers) for share in shares)

    def describe(self) -> str:
        """Say what runs the tasks."""
        threads = self._workers()
        return f"a Dask cluster at {self._address}: {len(threads)} workers, {sum(threads.values())} threads"

    def await_workers(self) -> Iterator[Waiting]:
        """Wait until there is a worker; yields once if there is none yet."""
        if self._obstacle():
            yield Waiting(self._obstacle())
        while self._obstacle():
            time.sleep(POLL_SECONDS)

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure | Waiting]:
        """Yield the receipts and failures of all tasks as they finish, and what the cluster waits for if it stands.

        Raises
        ------
        TaskError
            If the scheduler is lost for good.
        """
        queue, flow = iter(tasks), Flow(self.client, partial(work, fn, versions()), fn.__name__)
        try:
            said = ""
            while True:
                obstacle = self._obstacle()
                if obstacle != said:
                    said = obstacle
                    yield Waiting(obstacle)
                if obstacle != NO_SCHEDULER:
                    flow.resubmit()
                    for task in islice(queue, max(0, WINDOW * self.workers - len(flow))):  # workers come and go
                        flow.submit(task)
                    if not len(flow):
                        return
                heard = False
                for outcome in flow.outcomes():
                    heard = True
                    yield outcome
                if not heard:
                    time.sleep(POLL_SECONDS)
        finally:
            flow.cancel()

    def _obstacle(self) -> str:
        """What keeps the cluster from working, in words; empty where nothing does."""
        if self.client.status == "running":
            return "" if self._workers() else NO_WORKERS
        if self.client.status in ("connecting", "newly-created"):
            return NO_SCHEDULER
        raise TaskError(
            "the connection to the Dask scheduler at {address} is lost; what had finished is stored, and {again}"
            "{client} goes on from there",
            address=self._address,
            again=SameCall(),
            client=OptionalPart(" with a new client as {executor}", executor=Argument("executor")),
        )
