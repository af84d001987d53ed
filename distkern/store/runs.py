"""The log of a run, written into the store while it goes on: a small heartbeat that another process can read."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from distkern.core.events import Listener, Progress
from distkern.core.typing import Spec
from distkern.engine.base import Executor
from distkern.engine.run import message_of
from distkern.store.tiles import GramStore

BEAT_SECONDS = 5.0
"""Seconds between two heartbeats; each is one small write into the store."""

RATE_SECONDS = 300.0
"""Length of the last part of a run over which its rate is taken."""

FAILURES = 20
"""Failed tasks that the log names."""


@dataclass(frozen=True)
class Receipt:
    """What a task tells when its bytes are stored: where, their marks, and what it took.

    ``seconds`` leaves out those in which compiled routines were loaded, or waited for. ``peak_bytes`` and
    ``rest_bytes`` are the most memory that the process has had, and what it had when it was ready for work.
    """

    i: int
    j: int
    marks: tuple[int, ...]
    seconds: float
    warm_up_seconds: float
    peak_bytes: int
    rest_bytes: int
    worker: str


def _now() -> datetime:
    return datetime.now(UTC)


def this_client() -> str:
    """Name of this process in the log of a run."""
    return f"{os.uname().nodename}:{os.getpid()}"


class RunLog:
    """What a run has done so far. Used in a ``with`` block, and given to `run` as the listener.

    Nothing is written before the first event, so that a run with nothing to do leaves no trace; and no heartbeat that
    cannot be written stops the work or hides what does. Elapsed time and rate come from a clock that never goes
    backwards; the time of day is only told.

    Parameters
    ----------
    store, pool, listener
        What is filled, who works, and who else hears of the progress.
    clock, now
        Seconds that only grow, and the time of day.
    """

    def __init__(
        self,
        store: GramStore,
        pool: Executor,
        listener: Listener,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._store, self._pool, self._listener, self._clock, self._now = store, pool, listener, clock, now
        self._began, self._started, self._executor = clock(), now(), pool.describe()
        self._name = ""
        self._phase = self._note = self._error = ""
        self._state = "running"
        self._side_by_side = 0
        self._tallies = {"blocks_prepared": 0, "tiles_computed": 0, "tasks_failed": 0}
        self._task_seconds, self._warm_up_seconds = 0.0, 0.0
        self._memory = {"peak_bytes": 0, "rest_bytes": 0, "above_rest_bytes": 0}
        self._workers: dict[str, set[str]] = {"prepare": set(), "compute": set()}
        self._failures: list[Spec] = []
        self._samples: deque[tuple[float, int]] = deque()
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    # What happens ----------------------------------------------------------------------------------------------

    def __call__(self, event: Progress) -> None:
        """Hear of progress, and hand it on."""
        if self._phase != event.phase:
            self._samples.clear()
            self._samples.append((self._clock(), self._tallies["tiles_computed"]))  # the next heartbeat knows a rate
        self._phase, self._note, self._side_by_side = event.phase, event.note, self._pool.workers
        if self._thread is None:
            with suppress(Exception):
                self._name = self._store.new_run()
            self._beat()
            self._thread = threading.Thread(target=self._keep_beating, name="distkern-heartbeat", daemon=True)
            self._thread.start()
        self._listener(event)

    def close(self) -> None:
        """Leave a bar as it stands."""
        close = getattr(self._listener, "close", None)
        if close is not None:
            close()

    def prepared(self, receipt: Receipt) -> None:
        """Count a block of samples that is prepared."""
        self._tallies["blocks_prepared"] += 1
        self._count(receipt, "prepare")

    def computed(self, receipt: Receipt) -> None:
        """Count a tile that is stored."""
        self._tallies["tiles_computed"] += 1
        self._count(receipt, "compute")

    def _count(self, receipt: Receipt, work: str) -> None:
        self._task_seconds += receipt.seconds
        self._warm_up_seconds += receipt.warm_up_seconds
        self._workers[work].add(receipt.worker)
        taken = {"peak_bytes": receipt.peak_bytes, "rest_bytes": receipt.rest_bytes}
        taken["above_rest_bytes"] = receipt.peak_bytes - receipt.rest_bytes
        for name, amount in taken.items():
            self._memory[name] = max(self._memory[name], amount)

    def failed(self, task: str, error: Exception) -> None:
        """Count a task that failed, and name it among the first."""
        self._tallies["tasks_failed"] += 1
        if len(self._failures) < FAILURES:
            self._failures.append({"task": task, "error": message_of(error)})

    # What is written -------------------------------------------------------------------------------------------

    def entry(self) -> Spec:
        """Tell all that is known of the run, JSON-ready."""
        clock = self._clock()
        return {
            "started": self._started.isoformat(timespec="seconds"),
            "heard": self._now().isoformat(timespec="seconds"),
            "beat_seconds": BEAT_SECONDS,
            "state": self._state,
            "phase": self._phase,
            "note": self._note,
            "executor": self._executor,
            "client": this_client(),
            "seconds": round(clock - self._began, 3),
            **self._tallies,
            "task_seconds": round(self._task_seconds, 3),
            "warm_up_seconds": round(self._warm_up_seconds, 3),
            **self._memory,
            "workers": len(self._workers["compute"] or self._workers["prepare"]),
            "tasks_side_by_side": self._side_by_side,
            "tiles_per_second": self._rate(clock),
            "failures": list(self._failures),
            "error": self._error,
        }

    def _rate(self, clock: float) -> float | None:
        """Tiles a second over the last minutes; None before there are any."""
        computed = self._tallies["tiles_computed"]
        self._samples.append((clock, computed))
        while len(self._samples) > 2 and self._samples[1][0] <= clock - RATE_SECONDS:
            self._samples.popleft()
        since, before = self._samples[0]
        return (computed - before) / (clock - since) if clock > since and computed > before else None

    def _beat(self) -> None:
        with suppress(Exception):  # a full disk, say: what cannot be stored itself tells why
            if self._name:
                self._store.log_run(self._name, self.entry())

    def _keep_beating(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with self._lock:
                if not self._ended.is_set():
                    self._beat()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Any:
        if self._thread is None:
            return
        self._ended.set()
        with self._lock:
            self._state = "finished" if error is None else "failed" if isinstance(error, Exception) else "interrupted"
            self._error = message_of(error) if isinstance(error, Exception) else ""
            self._phase, self._note = "", ""
            self._beat()
        self._thread.join()
