"""A cohort whose tiles can be slowed down, the bytes of an undisturbed run, and ways to disturb a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from processes import distkern, scheduler_words, started, wait_for, worker_words, written

from distkern import Kendall, StoreError, compute_gram, open_gram

TILES = 55
"""Tiles of the cohort: the upper triangle of ten rows of tiles."""

SIDE = 4
KENDALL = Kendall()


def samples() -> np.ndarray:
    """Forty samples of few features, whose tiles take almost no time."""
    return np.random.default_rng(0).normal(size=(40, 50))


def stored(store: Path) -> dict[str, bytes]:
    """Bytes of tiles, prepared samples and checksums, without the temporary files of a killed writer."""
    folders = ("gram/c", "marks/c", "rows/prepared", "rows/marks/c")
    files = [file for folder in folders for file in (store / folder).rglob("*")]
    chunks = [file for file in files if file.is_file() and file.suffix not in (".partial", ".json")]
    return {str(chunk.relative_to(store)): chunk.read_bytes() for chunk in chunks}


def tiles_done(store: Path) -> int:
    """Number of tiles that are done; 0 if there is no store yet."""
    try:
        return int(open_gram(store).info()["tiles_done"])
    except StoreError:
        return 0


def last_run(store: Path) -> dict[str, Any]:
    """The log of the run that started last."""
    return dict(open_gram(store).info()["runs"][-1])


def assert_undisturbed(store: Path, expected: dict[str, bytes]) -> None:
    assert open_gram(store).verify() == []
    assert stored(store).keys() == expected.keys()
    assert [name for name, chunk in stored(store).items() if chunk != expected[name]] == []


def gram_words(cohort: Path, store: Path, *words: object) -> list[str]:
    return distkern("gram", cohort, store, "--kernel", "kendall", "--tile", SIDE, "--quiet", *words)


@dataclass
class Disturbance:
    """A listener that calls ``do`` once ``at`` tiles are done, and then ``then`` with every event."""

    at: int
    do: Callable[[], Any]
    then: Callable[[Any], Any] = lambda event: None
    done: int = field(default=-1, init=False)

    def __call__(self, event: Any) -> None:
        if event.phase == "compute tiles":
            if self.done < 0 and event.done >= self.at:
                self.done = event.done
                self.do()
            self.then(event)


_PRELOADED = """
import select
from distkern.build import tasks

def tallied(whole):
    def compute_tile(task):
        with open({tally!r}, "ab", buffering=0) as tally:
            tally.write(f"{{task.i}},{{task.j}}\\n".encode())
        if (task.i, task.j) == {fails!r}:
            raise RuntimeError("odd")
        select.select((), (), (), {seconds})  # time.sleep fails under libfaketime
        return whole(task)

    return compute_tile

if tasks.compute_tile.__module__ == "distkern.build.tasks":  # the worker of a nanny loads this twice
    tasks.compute_tile = tallied(tasks.compute_tile)
"""


@dataclass(frozen=True)
class Tally:
    """A record of the tiles that processes start, written by a file that they load first.

    The file also makes each tile take ``seconds`` longer, and lets the tile ``fails`` raise an error.
    """

    folder: Path
    fails: tuple[int, int] | None = None
    seconds: float = 0.08

    @property
    def preload(self) -> str:
        file = self.folder / "tally.py"
        tally = str(self.folder / "tally")
        file.write_text(_PRELOADED.format(tally=tally, fails=self.fails, seconds=self.seconds))
        return str(file)

    def on_client(self, command: list[str]) -> list[str]:
        """A `distkern` command whose own process loads the file."""
        assert command[:3] == distkern()
        script = self.folder / "client.py"
        script.write_text(Path(self.preload).read_text() + "from distkern.cli.main import main\nmain()\n")
        return [sys.executable, str(script), *command[3:]]

    def started(self) -> Counter[str]:
        """How often each tile was started."""
        return Counter((self.folder / "tally").read_text().split())


def undisturbed(X: np.ndarray, folder: Path) -> dict[str, bytes]:
    compute_gram(KENDALL, X, store=folder / "k.zarr", tile=SIDE, executor=os.cpu_count())
    return stored(folder / "k.zarr")


class Processes:
    """A scheduler, and workers without nannies, so that dead ones are not restarted."""

    def __init__(self, folder: Path, tally: Tally, stack: ExitStack, words: tuple[object, ...], **variables: str):
        self.folder, self.file, self._tally, self._stack = folder, folder / "scheduler.json", tally, stack
        self._log = stack.enter_context((folder / "dask.log").open("ab"))
        self.file.unlink(missing_ok=True)
        self.scheduler = self._start(scheduler_words(self.file, "127.0.0.1", "tcp", *words), env=os.environ | variables)
        wait_for(lambda: written(self.file), "no scheduler file", self.scheduler)

    def _start(self, words: list[str], **given: Any) -> subprocess.Popen:
        return self._stack.enter_context(started(words, stdout=self._log, stderr=self._log, **given))[0]

    def worker(self) -> subprocess.Popen:
        words = ("--no-nanny", "--preload", self._tally.preload)
        return self._start(worker_words(self.file, "127.0.0.1", self.folder, *words))


@contextmanager
def processes(folder: Path, tally: Tally, *words: object, **variables: str) -> Iterator[Processes]:
    """Start a scheduler on loopback, with more options and variables; end it and its workers with the block."""
    with ExitStack() as stack:
        yield Processes(folder, tally, stack, words, **variables)


def kill(*processes: subprocess.Popen) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
