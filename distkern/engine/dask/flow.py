"""The futures of a run: handed in again when the cluster loses them, given up when they kill worker after worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from distributed import CancelledError, Client, as_completed
from distributed.scheduler import KilledWorker, NoWorkerError

from distkern.core.errors import TaskError
from distkern.core.sentences import SameCall
from distkern.core.typing import Failure
from distkern.engine.executors import failed

RETRIES = 3
"""Times a task is run again after it raised an error."""

LIVES = 5
"""Times a task may be given up by the scheduler because its workers died; each time takes several deaths."""

LOSSES = 50
"""Times a task may be cancelled by someone else, or lost with its scheduler."""

SWEEP_SECONDS = 10.0
"""Seconds between two searches for futures of which nothing is heard any more."""


@dataclass
class _Given:
    """A task that the cluster has, and what befell it so far."""

    task: Any
    deaths: int = 0
    losses: int = 0
    future: Any = None
    overdue: bool = False


class Flow:
    """Tasks on their way through a cluster.

    Parameters
    ----------
    client
        A connected client.
    fn, name
        What is run on each task, and the prefix of its keys.
    """

    def __init__(self, client: Client, fn: Callable[[Any], Any], name: str) -> None:
        self._client, self._fn, self._name = client, fn, name
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._given: dict[Any, _Given] = {}
        self._again: list[_Given] = []
        self._swept = time.monotonic()

    def __len__(self) -> int:
        return len(self._given) + len(self._again)

    def submit(self, task: Any) -> None:
        """Hand in a task."""
        self._submit(_Given(task))

    def resubmit(self) -> None:
        """Hand in again what was lost."""
        lost, self._again = self._again, []
        for given in lost:
            self._submit(given)

    def _submit(self, given: _Given) -> None:
        key = f"{self._name}-{uuid4().hex}"
        given.future = self._client.submit(self._fn, given.task, key=key, pure=False, retries=RETRIES)
        given.overdue = False
        self._given[key] = given
        self._completed.add(given.future)

    def outcomes(self) -> Iterator[Any]:
        """Receipts and failures that have come in; does not wait for any."""
        for future, result in self._completed.next_batch(block=False):
            given = self._given.pop(future.key, None)
            if given is None:
                continue  # it was taken for lost, and handed in again
            if isinstance(result, CancelledError):
                yield from self._lost(given)
            elif future.status == "error":
                yield from self._raised(given, result[1])
            else:
                yield result
        if time.monotonic() - self._swept >= SWEEP_SECONDS:
            self._swept = time.monotonic()
            yield from self._sweep()

    def _lost(self, given: _Given) -> Iterator[Failure]:
        given.losses += 1
        if given.losses < LOSSES:
            self._again.append(given)
        else:
            yield Failure(given.task, TaskError(f"the cluster cancelled or lost it {LOSSES} times"))

    def _raised(self, given: _Given, error: Exception) -> Iterator[Failure]:
        if isinstance(error, NoWorkerError):  # nothing is wrong with the task
            raise TaskError(
                "the cluster has had no worker for {seconds:,.0f} s, as long as it is set to wait; what had finished "
                "is stored, and {again} goes on from there once there are workers",
                seconds=error.timeout,
                again=SameCall(),
            ) from error
        if not isinstance(error, KilledWorker):
            yield failed(given.task, error)
            return
        given.deaths += 1
        if given.deaths < LIVES:
            self._again.append(given)
        else:
            deaths = LIVES * (error.allowed_failures + 1)
            words = f"{deaths} workers died while they had it (does its memory exceed theirs?), the last of them at "
            yield Failure(given.task, TaskError(words + error.last_worker.address))

    def _sweep(self) -> Iterator[Failure]:
        """Find futures that were forgotten because a worker or a connection was lost while their results were fetched.

        ``as_completed`` drops a future in silence when fetching raises: the future has then finished, or failed in the
        meantime, and nothing is heard of it.
        """
        for key, given in list(self._given.items()):
            if given.future.status == "cancelled":
                del self._given[key]
                yield from self._lost(given)
            elif given.overdue:
                self._completed.add(given.future)
            given.overdue = given.future.done()

    def cancel(self) -> None:
        """Cancel all that is on its way."""
        futures = [given.future for given in self._given.values()]
        self._completed.clear()
        self._given.clear()
        if futures and self._client.status == "running":
            with suppress(OSError, TimeoutError):
                self._client.cancel(futures, force=True)
