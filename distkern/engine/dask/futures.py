"""The futures of one run: submitted again when the cluster loses them, given up when they kill several workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from distributed import CancelledError, Client, as_completed
from distributed.protocol import pickle
from distributed.scheduler import KilledWorker, NoWorkerError

from distkern.core.errors import TaskError
from distkern.core.sentences import SameCall
from distkern.engine.base import Failure, failed

RETRIES = 3
"""Times that the cluster runs a task again after it raised an error."""

MAX_KILLED = 5
"""Times that the scheduler may give a task up because its workers died, before it fails; each takes several deaths."""

MAX_LOST = 50
"""Times that a task may be cancelled by someone else, or lost with its scheduler, before it fails."""

SWEEP_SECONDS = 10.0
"""Seconds between two searches for completed futures that ``as_completed`` has dropped."""


@dataclass
class _Submission:
    """A task, its current future, and how often it was lost."""

    task: Any
    killed: int = 0
    lost: int = 0
    future: Any = None
    overdue: bool = False


class Futures:
    """The submitted tasks of one run.

    Parameters
    ----------
    client
        A connected client.
    fn, name
        The function that is run on each pickled task, and the prefix of the keys of its futures.
    """

    def __init__(self, client: Client, fn: Callable[[bytes], Any], name: str) -> None:
        self._client, self._fn, self._name = client, fn, name
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._submitted: dict[Any, _Submission] = {}
        self._lost: list[_Submission] = []
        self._swept = time.monotonic()

    def __len__(self) -> int:
        return len(self._submitted) + len(self._lost)

    def submit(self, task: Any) -> None:
        """Submit a task."""
        self._submit(_Submission(task))

    def resubmit_lost(self) -> None:
        """Submit all lost tasks again."""
        lost, self._lost = self._lost, []
        for submission in lost:
            self._submit(submission)

    def _submit(self, submission: _Submission) -> None:
        key = f"{self._name}-{uuid4().hex}"
        pickled = pickle.dumps(submission.task)
        submission.future = self._client.submit(self._fn, pickled, key=key, pure=False, retries=RETRIES)
        submission.overdue = False
        self._submitted[key] = submission
        self._completed.add(submission.future)

    def outcomes(self) -> Iterator[Any]:
        """Yield the receipts and failures that have arrived; do not wait for more."""
        for future, result in self._completed.next_batch(block=False):
            submission = self._submitted.pop(future.key, None)
            if submission is None:
                continue  # it was considered lost, and submitted again
            if isinstance(result, CancelledError):
                yield from self._count_loss(submission)
            elif future.status == "error":
                yield from self._count_error(submission, result[1])
            else:
                yield result
        if time.monotonic() - self._swept >= SWEEP_SECONDS:
            self._swept = time.monotonic()
            yield from self._sweep()

    def _count_loss(self, submission: _Submission) -> Iterator[Failure]:
        submission.lost += 1
        if submission.lost < MAX_LOST:
            self._lost.append(submission)
        else:
            yield Failure(submission.task, TaskError(f"the cluster cancelled or lost it {MAX_LOST} times"))

    def _count_error(self, submission: _Submission, error: Exception) -> Iterator[Failure]:
        if isinstance(error, NoWorkerError):  # not an error of the task
            raise TaskError(
                "the cluster has had no worker for {seconds:,.0f} s, as long as it is set to wait; what had finished "
                "is stored, and {again} goes on from there once there are workers",
                seconds=error.timeout,
                again=SameCall(),
            ) from error
        if not isinstance(error, KilledWorker):
            yield failed(submission.task, error)
            return
        submission.killed += 1
        if submission.killed < MAX_KILLED:
            self._lost.append(submission)
        else:
            deaths = MAX_KILLED * (error.allowed_failures + 1)
            reason = f"{deaths} workers died while they had it (does its memory exceed theirs?), the last of them at "
            yield Failure(submission.task, TaskError(reason + error.last_worker.address))

    def _sweep(self) -> Iterator[Failure]:
        """Find futures that ``as_completed`` has dropped.

        It drops a future silently when fetching its result raises, as when the worker dies at that time. A future is
        considered dropped if it was done at the last sweep and has not been yielded since.
        """
        for key, submission in list(self._submitted.items()):
            if submission.future.status == "cancelled":
                del self._submitted[key]
                yield from self._count_loss(submission)
            elif submission.overdue:
                self._completed.add(submission.future)
            submission.overdue = submission.future.done()

    def cancel(self) -> None:
        """Cancel all submitted tasks."""
        futures = [submission.future for submission in self._submitted.values()]
        self._completed.clear()
        self._submitted.clear()
        if futures and self._client.status == "running":
            with suppress(OSError, TimeoutError):
                self._client.cancel(futures, force=True)
