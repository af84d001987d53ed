"""The executor that runs tasks on a Dask cluster whose workers may join and leave at any time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from distributed import Client, get_worker

from distkern.core.errors import InputTypeError, TaskError
from distkern.core.sentences import Argument, OptionalPart, SameCall
from distkern.engine.base import Executor, Failure, Receipt, Task, Waiting
from distkern.engine.dask.futures import Futures
from distkern.engine.dask.worker import compare_workers, run_pickled, this_worker
from distkern.engine.memory import USABLE, share_of
from distkern.engine.versions import run_checked, versions

WINDOW = 3
"""Futures submitted per thread of the cluster: one that runs, and two that hide the latency of the scheduler."""

POLL_SECONDS = 0.02
"""Seconds between two checks for completed futures."""

COUNT_SECONDS = 1.0
"""Seconds for which the number of workers is cached."""

SILENT_SECONDS = 10.0
"""Seconds without a worker that runs tasks after which a warning says so; also between two looks for paused workers."""

NO_WORKERS = "the cluster has no workers: waiting for one"
PAUSED = "all workers are paused, since their memory is nearly full: waiting for one"
NO_SCHEDULER = "the scheduler does not answer: trying to reach it"


def in_task() -> bool:
    """Whether the calling code runs in a task on a Dask worker."""
    try:
        get_worker()
    except ValueError:
        return False
    return True


def existing_client() -> Client | None:
    """Return the client that the user made in this process; None if there is none."""
    try:
        client = Client.current(allow_global=True)
    except ValueError:
        return None
    return client if client.status == "running" and not client.asynchronous else None


class Dask(Executor):
    """Runs tasks on the cluster of a Dask client; the client is not closed.

    Parameters
    ----------
    client
        A connected ``distributed.Client``.

    Raises
    ------
    InputTypeError
        If the client is asynchronous.
    WorkerMismatchError
        If a worker has other package versions than this process. Workers that join later are checked by their tasks.

    See Also
    --------
    Serial, Threads : Without a cluster.
    distributed.Client : The client that it takes.
    """

    remote = True

    def __init__(self, client: Client) -> None:
        if not isinstance(client, Client):
            raise InputTypeError(f"Dask takes a client, as in Dask(distributed.Client(address)), not {client!r}")
        if client.asynchronous:
            raise InputTypeError(
                "the client is asynchronous: give one made without asynchronous=True, or call from a thread of its own"
            )
        self.client = client
        self._address = getattr(client.scheduler, "address", "unknown address")  # a closed client does not know it
        self._counted: float | None = None
        self._threads: dict[str, int] = {}
        self._known: list[dict[str, Any]] = []
        self._looked, self._paused = time.monotonic(), False
        self._obstructed_by, self._obstructed_since = "", 0.0
        compare_workers(client, versions())

    def _workers(self) -> dict[str, int]:
        """Return the number of threads of each worker, at most `COUNT_SECONDS` old."""
        now = time.monotonic()
        if self._counted is None or now - self._counted >= COUNT_SECONDS:
            self._counted = now
            if self.client.status == "running":
                try:
                    self._threads = dict(self.client.nthreads())
                except (OSError, TimeoutError):
                    pass  # the connection is lost; the status of the client will say so
        return self._threads

    @property
    def workers(self) -> int:  # type: ignore[override]  # it changes as workers join and leave
        """Number of threads of the cluster now; at least 1, since workers may still be starting."""
        return max(1, sum(self._workers().values()))

    @property
    def alive(self) -> bool:
        """Whether the client has not been closed."""
        return self.client.status not in ("closed", "closing")

    def memory_per_task(self, limit: int | None) -> int:
        """Bytes that one task may use.

        Parameters
        ----------
        limit
            Bytes that each worker process may use; by default the usable share of the memory limit that each worker was
            started with; the smallest share counts.
        """
        workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        self._known = workers or self._known  # an adaptive cluster stops idle workers, and starts others like them
        if limit is not None or not self._known:
            return share_of(limit, max((worker["nthreads"] for worker in self._known), default=1))
        shares = [int(USABLE * worker["memory_limit"]) // worker["nthreads"] for worker in self._known]
        return min(share if share > 0 else share_of(None, self.workers) for share in shares)

    def describe(self) -> str:
        """Name the cluster in logs."""
        threads = self._workers()
        return f"a Dask cluster at {self._address}: {len(threads)} workers, {sum(threads.values())} threads"

    def await_workers(self) -> Iterator[Waiting]:
        """Return once the cluster has a worker; yield a `Waiting` first if it has none yet.

        An adaptive cluster starts workers only while it has something to run, so it is given something.

        Raises
        ------
        TaskError
            If the connection to the scheduler is lost, or the cluster gives up waiting.

        Warns
        -----
        UserWarning
            If there is no worker for `SILENT_SECONDS`.
        """
        asked, reported = Futures(self.client, len, "await-workers"), ""
        try:
            while obstacle := self._obstacle():
                if obstacle != reported:
                    reported = obstacle
                    yield Waiting(obstacle)
                if obstacle == NO_WORKERS:
                    asked.resubmit_lost()
                    if not len(asked):
                        asked.submit(None)
                for outcome in asked.outcomes():
                    if isinstance(outcome, Failure):
                        raise outcome.error
                time.sleep(POLL_SECONDS)
        finally:
            asked.cancel()

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure | Waiting]:
        """Yield ``fn(task)`` or a `Failure` for each task, and a `Waiting` while there is no worker or no scheduler.

        Raises
        ------
        TaskError
            If the connection to the scheduler is lost for good.
        """
        run_task = partial(run_checked, partial(run_pickled, fn), versions(), this_worker)
        queue, futures = iter(tasks), Futures(self.client, run_task, fn.__name__)
        try:
            reported = ""
            while True:
                obstacle = self._obstacle()
                if obstacle != reported:
                    reported = obstacle
                    yield Waiting(obstacle)
                if obstacle != NO_SCHEDULER:
                    futures.resubmit_lost()
                    for task in islice(queue, max(0, WINDOW * self.workers - len(futures))):  # workers come and go
                        futures.submit(task)
                    if not len(futures):
                        return
                idle = True
                for outcome in futures.outcomes():
                    idle = False
                    yield outcome
                if idle:
                    time.sleep(POLL_SECONDS)
        finally:
            futures.cancel()

    def _obstacle(self) -> str:
        """Return why no task can run at present; empty if tasks can run."""
        if self.client.status == "running":
            obstacle = NO_WORKERS if not self._workers() else PAUSED if self._all_paused() else ""
            self._warn_if_it_lasts(obstacle)
            return obstacle
        if self.client.status in ("connecting", "newly-created"):
            return NO_SCHEDULER
        raise TaskError(
            "the connection to the Dask scheduler at {address} is lost; what had finished is stored, and {again}"
            "{client} goes on from there",
            address=self._address,
            again=SameCall(),
            client=OptionalPart(" with a new client as {executor}", executor=Argument("executor")),
        )

    def _all_paused(self) -> bool:
        """Whether no worker starts a task because the memory of each is nearly full; at most `SILENT_SECONDS` old."""
        now = time.monotonic()
        if now - self._looked >= SILENT_SECONDS:
            self._looked = now
            try:
                workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            except (OSError, TimeoutError):
                return False  # the connection is lost; the status of the client will say so
            self._paused = bool(workers) and all(worker["status"] == "paused" for worker in workers)
        return self._paused

    def _warn_if_it_lasts(self, obstacle: str) -> None:
        """Warn once if no task has run for `SILENT_SECONDS`, for those who see no progress."""
        now = time.monotonic()
        if obstacle != self._obstructed_by:
            self._obstructed_by, self._obstructed_since = obstacle, now
        elif obstacle and now - self._obstructed_since > SILENT_SECONDS:
            self._obstructed_since = float("inf")
            state, advice = {
                NO_WORKERS: ("has had no worker", "start workers, or make the cluster adaptive"),
                PAUSED: (
                    "has had only paused workers, whose memory is nearly full,",
                    "release what they hold, or start workers with more memory",
                ),
            }[obstacle]
            warnings.warn(
                f"the Dask cluster at {self._address} {state} for {SILENT_SECONDS:.0f} s, and the work waits for one: "
                f"{advice}",
                stacklevel=2,
            )
