"""The log of runs: a small document in the store that a run rewrites while it works, and that any process can read."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import numpy as np

from distkern.core.errors import StoreError
from distkern.core.events import Listener, Progress, close
from distkern.core.typing import Spec
from distkern.engine.base import Executor
from distkern.engine.run import message_of
from distkern.store.documents import Check, Document, is_list, is_seconds, is_text, is_whole
from distkern.store.location import ROOT
from distkern.store.tiles import GramStore

BEAT_SECONDS = 5.0
"""Seconds between two heartbeats; each is one small write into the store."""

RATE_SECONDS = 300.0
"""Length of the last part of a run over which its rate is taken."""

FAILURES = 20
"""Failed tasks that the log names."""

SILENT_BEATS = 12
"""Heartbeats that may be missing before a run is taken for dead: a minute of them."""

_RUN_NAME = re.compile(r"[0-9]{6,12}-[0-9a-f]{8}")


# The log of one run ---------------------------------------------------------------------------------------------------


def _is_time(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


def _is_failure(value: Any) -> bool:
    return isinstance(value, dict) and is_text(value.get("task")) and is_text(value.get("error"))


def _entry(is_valid: Check) -> Any:
    """Make a field with the check that a stored value must pass."""
    return field(metadata={"is_valid": is_valid})


@dataclass(frozen=True)
class Run:
    """A run on a store, as its log describes it.

    Parameters
    ----------
    started, heard
        Time of day at its start and at its last heartbeat.
    beat_seconds, seconds
        Seconds between two heartbeats, and since the start.
    state, phase, note
        ``"running"``, ``"finished"``, ``"failed"`` or ``"interrupted"``; name of the current work; reason to wait.
    executor, client
        Description of the executor, and host and process of the client.
    blocks_prepared, tiles_computed, tasks_failed
        Number of tasks that ended.
    task_seconds, warm_up_seconds
        Seconds of all tasks, and seconds in which compiled routines were loaded.
    peak_bytes, rest_bytes, above_rest_bytes
        Most resident memory of a process while it ran tasks of this run, its memory before the first of them, and the
        largest difference of both. What a process had and gave back before does not count.
    workers, tasks_side_by_side, tiles_per_second
        Number of processes that computed something, of tasks at a time, and rate; None before it is known.
    failures, error
        The first failed tasks with their errors, and the error that ended the run.
    """

    started: str = _entry(_is_time)
    heard: str = _entry(_is_time)
    beat_seconds: float = _entry(is_seconds)
    state: str = _entry(is_text)
    phase: str = _entry(is_text)
    note: str = _entry(is_text)
    executor: str = _entry(is_text)
    client: str = _entry(is_text)
    seconds: float = _entry(is_seconds)
    blocks_prepared: int = _entry(is_whole())
    tiles_computed: int = _entry(is_whole())
    tasks_failed: int = _entry(is_whole())
    task_seconds: float = _entry(is_seconds)
    warm_up_seconds: float = _entry(is_seconds)
    peak_bytes: int = _entry(is_whole())
    rest_bytes: int = _entry(is_whole())
    above_rest_bytes: int = _entry(is_whole(-(2**48)))
    workers: int = _entry(is_whole())
    tasks_side_by_side: int = _entry(is_whole())
    tiles_per_second: float | None = _entry(lambda value: value is None or is_seconds(value))
    failures: Sequence[Spec] = _entry(is_list(_is_failure, 0, 2**10))
    error: str = _entry(is_text)

    def to_json(self) -> Spec:
        """All fields as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_json(cls, path: str, entries: Spec) -> Run:
        """Read the log of a run, of the store at a path.

        Raises
        ------
        StoreError
            If distkern cannot have written it.
        """
        document = Document(path, entries)
        return cls(**{one.name: document.entry(one.name, one.metadata["is_valid"]) for one in fields(cls)})

    def silence(self, now: datetime) -> float:
        """Seconds since the last heartbeat; 0 if the clock of the run, or this one, went backwards."""
        return max(0.0, (now - datetime.fromisoformat(self.heard)).total_seconds())

    def is_alive(self, now: datetime) -> bool:
        """Whether the run continues, according to its heartbeats."""
        return self.state == "running" and self.silence(now) <= SILENT_BEATS * self.beat_seconds


def read_runs(store: GramStore) -> list[Run]:
    """Read the runs of a store, oldest first; logs that a crash made unreadable are left out."""
    runs = []
    for name in run_names(store):
        raw = store.read_group(f"runs/{name}")
        with suppress(StoreError):  # nothing depends on it
            if raw is not None:
                document = Document.parsed(store.path, f"runs/{name}/{ROOT}", raw)
                runs.append(Run.from_json(store.path, document.attributes))
    return runs


def run_names(store: GramStore) -> list[str]:
    """Read the names of the runs of a store; none where their list is lost or cannot be read."""
    raw = store.read_group("runs")
    with suppress(StoreError):  # the next run writes it anew
        names = None if raw is None else Document.parsed(store.path, f"runs/{ROOT}", raw).attributes.get("runs")
        if isinstance(names, list) and all(isinstance(name, str) and _RUN_NAME.fullmatch(name) for name in names):
            return names
    return []


def new_run_name(store: GramStore) -> str:
    """Name a run, so that later ones come after it; no clock is needed."""
    number = 1 + max((int(name.partition("-")[0]) for name in run_names(store)), default=0)
    return f"{number:06d}-{uuid4().hex[:8]}"


def write_run(store: GramStore, name: str, run: Run) -> None:
    """Write the log of a run; no other process writes it."""
    store.refuse_if_changed()
    store.write_group(f"runs/{name}", run.to_json())
    names = run_names(store)
    if name not in names:  # at the first time, or where a run that began in the same instant left it out
        store.write_group("runs", {"runs": sorted([*names, name])})


# The status of a store ------------------------------------------------------------------------------------------------


def store_status(store: GramStore, now: datetime | None = None) -> Spec:
    """Progress, rate, time left, workers and failures of a store, JSON-ready.

    Parameters
    ----------
    store
        An open store; its checksums and the logs of its runs are read anew.
    now
        Time of day.

    Returns
    -------
    dict
        ``state`` is ``"complete"``, ``"running"``, ``"silent"`` (a run began, did not end, and has sent no heartbeat
        for a minute), ``"failed"``, ``"interrupted"``, or ``"idle"``. Rates and tasks of several runs are added; all
        else is of the last one. Seconds are None where they are not known.
    """
    now = datetime.now(UTC) if now is None else now
    runs = read_runs(store)
    alive = [run for run in runs if run.is_alive(now)]
    run = alive[-1] if alive else runs[-1] if runs else None
    tiles_done, tiles = int(np.count_nonzero(store.checksums(refresh=True))), store.grid.count
    samples = [store.samples(axis) for axis in store.axes]
    blocks = sum(len(one.needed_versions) for one in samples)
    rates = [one.tiles_per_second for one in alive if one.tiles_per_second]
    rate = sum(rates) if rates else None
    return {
        "path": store.path,
        "state": _state(tiles_done == tiles, bool(alive), run),
        "complete": tiles_done == tiles,
        "alive": bool(alive),
        "tiles_done": tiles_done,
        "tiles": tiles,
        "blocks_prepared": blocks - sum(len(one.missing()) for one in samples),
        "blocks": blocks,
        "tiles_per_second": rate,
        "seconds_left": None if rate is None else (tiles - tiles_done) / rate,
        "tasks_side_by_side": sum(one.tasks_side_by_side for one in alive),
        "runs_alive": len(alive),
        "bytes_per_task": store.manifest.bytes_per_task,
        "grown": store.manifest.has_grown,
        "last_heard_seconds": None if run is None else run.silence(now),
        "run": None if run is None else run.to_json(),
    }


def _state(complete: bool, alive: bool, run: Run | None) -> str:
    if alive:
        return "running"
    if complete:
        return "complete"
    if run is None or run.state == "finished":
        return "idle"
    return "silent" if run.state == "running" else run.state


# Writing the log ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Receipt:
    """Result of a task whose arrays are stored: the block or tile, the checksums, and the time and memory of the task.

    ``seconds`` excludes the time to load compiled routines, or to wait for them. ``peak_bytes`` is the most memory
    of the process during the task, ``rest_bytes`` its memory before its first task of the run.
    """

    i: int
    j: int
    checksums: tuple[int, ...]
    seconds: float
    warm_up_seconds: float
    peak_bytes: int
    rest_bytes: int
    worker: str


def _now() -> datetime:
    return datetime.now(UTC)


def this_process() -> str:
    """Name this process, a client or a worker, in the log of a run."""
    return f"{os.uname().nodename}:{os.getpid()}"


class RunLog:
    """Counts the tasks of a run, and writes its log every few seconds; a context manager, and a listener of `run`.

    Nothing is written before the first event, so that a run with nothing to do leaves no trace. A heartbeat that cannot
    be written neither stops the work nor hides the error that does. Elapsed time and rate come from a monotonic clock;
    the time of day is written for people.

    Parameters
    ----------
    store, pool, listener
        The store, the executor, and the next listener of progress events.
    clock, now
        Monotonic seconds, and the time of day.

    Attributes
    ----------
    run
        Identifier of the run for its tasks.
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
        self.run = uuid4().hex
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

    # Counting --------------------------------------------------------------------------------------------------

    def __call__(self, event: Progress) -> None:
        """Log a progress event, and pass it on to the next listener."""
        if self._phase != event.phase:
            self._samples.clear()
            self._samples.append((self._clock(), self._tallies["tiles_computed"]))  # gives the next heartbeat a rate
        self._phase, self._note, self._side_by_side = event.phase, event.note, self._pool.workers
        if self._thread is None:
            with suppress(Exception):
                self._name = new_run_name(self._store)
            self._beat()
            self._thread = threading.Thread(target=self._keep_beating, name="distkern-heartbeat", daemon=True)
            self._thread.start()
        self._listener(event)

    def close(self) -> None:
        """Close the next listener, such as a progress bar."""
        close(self._listener)

    def prepared(self, receipt: Receipt) -> None:
        """Count a block of samples that is prepared."""
        self._tallies["blocks_prepared"] += 1
        self._workers["prepare"].add(receipt.worker)
        self.count(receipt)

    def computed(self, receipt: Receipt) -> None:
        """Count a tile that is stored."""
        self._tallies["tiles_computed"] += 1
        self._workers["compute"].add(receipt.worker)
        self.count(receipt)

    def count(self, receipt: Receipt) -> None:
        """Count the time and memory of a task."""
        self._task_seconds += receipt.seconds
        self._warm_up_seconds += receipt.warm_up_seconds
        taken = {"peak_bytes": receipt.peak_bytes, "rest_bytes": receipt.rest_bytes}
        taken["above_rest_bytes"] = receipt.peak_bytes - receipt.rest_bytes
        for name, amount in taken.items():
            self._memory[name] = max(self._memory[name], amount)

    def failed(self, task: str, error: Exception) -> None:
        """Count a task that failed, and name it among the first."""
        self._tallies["tasks_failed"] += 1
        if len(self._failures) < FAILURES:
            self._failures.append({"task": task, "error": message_of(error)})

    # Writing ---------------------------------------------------------------------------------------------------

    def entry(self) -> Run:
        """The log of the run so far."""
        clock = self._clock()
        return Run(
            started=self._started.isoformat(timespec="seconds"),
            heard=self._now().isoformat(timespec="seconds"),
            beat_seconds=BEAT_SECONDS,
            state=self._state,
            phase=self._phase,
            note=self._note,
            executor=self._executor,
            client=this_process(),
            seconds=round(clock - self._began, 3),
            **self._tallies,
            task_seconds=round(self._task_seconds, 3),
            warm_up_seconds=round(self._warm_up_seconds, 3),
            **self._memory,
            workers=len(self._workers["compute"] or self._workers["prepare"]),
            tasks_side_by_side=self._side_by_side,
            tiles_per_second=self._rate(clock),
            failures=list(self._failures),
            error=self._error,
        )

    def _rate(self, clock: float) -> float | None:
        """Tiles a second over the last minutes; None before there are any."""
        computed = self._tallies["tiles_computed"]
        self._samples.append((clock, computed))
        while len(self._samples) > 2 and self._samples[1][0] <= clock - RATE_SECONDS:
            self._samples.popleft()
        since, before = self._samples[0]
        return (computed - before) / (clock - since) if clock > since and computed > before else None

    def _beat(self) -> None:
        with suppress(Exception):  # such as a full disk: the error of the task that cannot be stored says why
            if self._name:
                write_run(self._store, self._name, self.entry())

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
