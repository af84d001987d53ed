"""What a command is doing, on stderr: a line that is drawn again on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from distkern.core.events import Listener, Progress, silent
from distkern.core.names import shown
from distkern.core.units import readable_seconds

SHOWN_AFTER = 2.0
"""Seconds after which a terminal shows what takes so long, and keeps a line of what took so long."""

REDRAWN_AFTER = 0.5
"""Seconds between two drawings of the line on a terminal."""

PLAIN_SECONDS = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""


@dataclass(eq=False)
class Work:
    """Something that a command does: a phase that counts its units, or a step that may read a file.

    Parameters
    ----------
    name
        What it is.
    file
        File that the step reads from its beginning to its end, from which the time that is left is known.
    done, total
        Finished units, and all of them; no units are known where the total is 0.
    first
        Units that were finished when the phase began.
    note
        Why it waits.
    began, written
        Time at which it began, and at which a line about it was last written.
    """

    name: str
    file: Path | None = None
    done: int = 0
    total: int = 0
    first: int = 0
    note: str = ""
    began: float = field(default_factory=lambda: time.monotonic())
    written: float = field(default_factory=lambda: time.monotonic())

    def look(self) -> None:
        """Look how far the file has been read."""
        if self.file is not None:
            self.done, self.total = position_in(self.file) or (0, 0)

    def words(self) -> str:
        """Say how far it is, and how much time is left."""
        took = time.monotonic() - self.began
        ahead = self.done - self.first
        if self.total < 1:
            said = f"{self.name}: {readable_seconds(took)}"
        elif self.file is None:
            said = f"{self.name}: {self.done:,} of {self.total:,}"
        else:
            said = f"{self.name}: {self.done / self.total:.0%}".replace("%", " %")
        if 0 < ahead and self.done < self.total:
            said += f", about {readable_seconds(took / ahead * (self.total - self.done))} left"
        return said + (f" ({self.note})" if self.note else "")


class Display:
    """Shows the innermost work that a command does; a listener of `Progress` events.

    Parameters
    ----------
    terminal
        Whether stderr is a terminal, whose last line can be drawn again.
    """

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._lock = threading.RLock()
        self._steps: list[Work] = []
        self._phase: Work | None = None
        self._drawn = False
        self._stopped: threading.Event | None = None

    def __call__(self, event: Progress) -> None:
        """Show the state of a phase."""
        with self._lock:
            if self._phase is None or event.phase != self._phase.name:
                self._end_phase()
                self._phase = Work(event.phase, first=event.done)
            phase, noted = self._phase, event.note not in ("", self._phase.note)
            phase.done, phase.total, phase.note = event.done, event.total, event.note
            if event.done >= event.total:
                self._end_phase()
            elif noted and not self._terminal:
                self.write(f"{phase.name}: {phase.note}")
            else:
                self._tick()
            self._watch()

    def __deepcopy__(self, memo: dict[int, object]) -> Display:
        """The display itself: the clones of a learner have the same one."""
        return self

    @contextmanager
    def step(self, name: str, file: Path | None = None, kept: bool = True) -> Iterator[None]:
        """Show a step that tells no progress, if it takes long; a line about it is kept after its end."""
        work = Work(name, file)
        with self._lock:
            self._steps.append(work)
            self._watch()
        try:
            yield
        finally:
            with self._lock:
                self._steps.remove(work)
                self._clear()
                took = time.monotonic() - work.began
                if kept and took >= (SHOWN_AFTER if self._terminal else PLAIN_SECONDS):
                    self.write(f"{name}: done in {readable_seconds(took)}")
                self._watch()

    def write(self, text: str) -> None:
        """Write a line that stays, above the line that is drawn again."""
        with self._lock:
            self._clear()
            click.echo(shown(text), err=True)

    def clear(self) -> None:
        """Remove the line that is drawn again, until it is drawn once more."""
        with self._lock:
            self._clear()

    def close(self) -> None:
        """End the phase."""
        with self._lock:
            self._clear()
            self._phase = None
            self._watch()

    def _end_phase(self) -> None:
        phase, self._phase = self._phase, None
        self._clear()
        if phase is None:
            return
        took = time.monotonic() - phase.began
        if phase.done >= phase.total and (not self._terminal or took >= SHOWN_AFTER):
            self.write(phase.words() + (f" in {readable_seconds(took)}" if took >= SHOWN_AFTER else ""))

    def _tick(self) -> None:
        """Draw the line on a terminal, or write one elsewhere, if it is time to."""
        work = self._phase or (self._steps[-1] if self._steps else None)
        now = time.monotonic()
        if work is None:
            return
        if not self._terminal:
            if now - work.written >= PLAIN_SECONDS:
                work.written = now
                work.look()
                self.write(work.words())
        elif now - work.began >= SHOWN_AFTER and (not self._drawn or now - work.written >= REDRAWN_AFTER):
            work.written = now
            work.look()
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\x1b[K{shown(work.words())[:width]}", err=True, nl=False, color=True)
            self._drawn = True

    def _clear(self) -> None:
        if self._drawn:
            click.echo("\r\x1b[K", err=True, nl=False, color=True)
            self._drawn = False

    def _watch(self) -> None:
        """Start the thread that looks at the time, or end it where nothing is being done."""
        busy = self._phase is not None or bool(self._steps)
        if busy and self._stopped is None:
            self._stopped = threading.Event()
            threading.Thread(target=self._run, args=(self._stopped,), daemon=True).start()
        elif not busy and self._stopped is not None:
            self._stopped.set()
            self._stopped = None

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.wait(REDRAWN_AFTER):
            with self._lock:
                if not stopped.is_set():
                    self._tick()


def display() -> Display:
    """The display of the command that runs; one that is not kept where there is none."""
    context = click.get_current_context(silent=True)
    if context is None:
        return Display(terminal=sys.stderr.isatty())
    if "distkern.display" not in context.meta:
        context.meta["distkern.display"] = Display(terminal=sys.stderr.isatty())
        context.call_on_close(context.meta["distkern.display"].close)
    found: Display = context.meta["distkern.display"]
    return found


def echo(text: str = "", nl: bool = True) -> None:
    """Print a result to stdout, where no line is being drawn."""
    display().clear()
    click.echo(text, nl=nl)


def progress_of(quiet: bool) -> Listener:
    """The listener of progress for a command: none if it is quiet."""
    return silent if quiet else display()


@contextmanager
def step(name: str, file: Path | None = None, *, kept: bool = True) -> Iterator[None]:
    """Show that the command is busy with a step that tells no progress, if it takes long; nothing if it is quiet.

    Parameters
    ----------
    name
        What the step does, such as "reading 'cohort.csv'".
    file
        File that it reads from its beginning to its end.
    kept
        Whether a line about it is kept after its end, if it took long.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.params.get("quiet"):
        yield
        return
    with display().step(name, file, kept):
        yield


def position_in(file: Path) -> tuple[int, int] | None:
    """How many bytes of a file this process has read, and how many it has; None where Linux does not tell."""
    try:
        size, wanted = file.stat().st_size, os.path.realpath(file)
        for descriptor in os.listdir("/proc/self/fd"):
            if os.path.realpath(f"/proc/self/fd/{descriptor}") == wanted:
                about = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
                return min(int(about.split()[1]), size), size
    except (OSError, ValueError, IndexError):
        pass  # the file was closed meanwhile, or the system has no such folder
    return None
