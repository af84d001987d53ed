"""How a failed command ends: one line on stderr, and an exit code for scripts."""

from __future__ import annotations

import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Never

import click

from distkern.cli.progress import display
from distkern.cli.wording import in_cli_words, the_same_command
from distkern.core.errors import DistkernError, TaskError
from distkern.core.names import shown

_READERS = "distkern.io"
"""Package whose functions read the files of users."""

BUG, USAGE, BAD_INPUT, FAILED_TASKS, INTERRUPTED = 1, 2, 3, 4, 5

EXIT_CODES = """\b
Exit codes:
  0  done
  1  a bug in distkern, or a demo that went wrong
  2  wrong usage: an option or argument is missing or unknown
  3  bad input: a file, a sample, a label, a store, or a limit of memory or disk
  4  tasks failed; all finished results are stored
  5  interrupted; the same command continues where it stopped"""


class Failure(click.ClickException):
    """The one line and the exit code that a failed command ends with."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(shown(" ".join(message.split())))
        self.exit_code = exit_code  # type: ignore[misc]


def failure_of(error: Exception) -> Failure:
    """Turn an exception into the line and the exit code of the command.

    Examples
    --------
    >>> failure_of(FileNotFoundError(2, "No such file or directory", "x.csv")).message
    "'x.csv': No such file or directory"
    >>> failure_of(TaskError("a task failed")).exit_code
    4
    """
    if (unread := _of_a_file(error)) is not None:
        return Failure(unread, BAD_INPUT)
    lost_cluster = type(error).__module__.partition(".")[0] == "distributed" or isinstance(error, TimeoutError)
    if isinstance(error, TaskError) or (lost_cluster and not isinstance(error, DistkernError)):
        said = in_cli_words(error) if isinstance(error, TaskError) else f"the Dask cluster failed ({_named(error)})"
        return Failure(said, FAILED_TASKS)
    if isinstance(error, DistkernError):
        return Failure(in_cli_words(error), BAD_INPUT)
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{str(error.filename)!r}: "
        return Failure(f"{where}{error.strerror or _named(error)}", BAD_INPUT)
    if isinstance(error, MemoryError):
        return Failure(f"out of memory: {_smaller()} ({_named(error)})", BAD_INPUT)
    return Failure(
        f"this is a bug in distkern, please report it ({_named(error)}): `distkern --debug ...` shows the traceback",
        BUG,
    )


def _of_a_file(error: Exception) -> str | None:
    """Explain an error that no one foresaw while a user's file was read; None if it is another error.

    A file may be damaged in ways that end in an error of any type, of any library, so that what was being done decides:
    whether a function of `distkern.io` was at work.
    """
    if isinstance(error, DistkernError) or (isinstance(error, OSError) and error.filename is not None):
        return None
    reading = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if _module(frame).startswith(_READERS)]
    if not reading:
        return None
    files = (frame.f_locals.get(name) for frame in reversed(reading) for name in ("path", "file"))
    file = next((Path(found).name for found in files if isinstance(found, (str, Path))), None)
    named = "the file of the samples" if file is None else repr(file)
    if isinstance(error, MemoryError):
        return f"{named} does not fit in memory ({_named(error)}): check that it is whole, or use a larger machine"
    return (
        f"{named} cannot be read ({_named(error)}): check that it is whole and of the kind that its name says; if "
        "other programs read it, please report this with the traceback of `distkern --debug ...`"
    )


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _smaller() -> str:
    """Name the options of this command that make it take less memory."""
    context = click.get_current_context(silent=True)
    known = {option for param in context.command.params for option in param.opts} if context else set()
    able = [option for option in ("--memory-limit", "--tile") if option in known]
    return f"give a smaller {' or '.join(able)}" if able else "use a machine with more memory"


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@contextmanager
def one_line_errors(debug: bool = False) -> Iterator[None]:
    """Turn errors, interruptions and warnings of the block into one line each; ``debug`` adds the traceback."""
    with _sigterm_as_interrupt(), _one_line_warnings():
        try:
            yield
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except (KeyboardInterrupt, click.Abort):
            # unfinished coroutines of Zarr's event loop would print warnings after our line
            warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
            raise Failure(_interruption_message(), INTERRUPTED) from None
        except Exception as error:
            if debug:
                click.echo("".join(traceback.format_exception(error)).rstrip(), err=True)
            raise failure_of(error) from None


def _interruption_message() -> str:
    context = click.get_current_context(silent=True)
    advice = context.meta.get("distkern.interrupted") if context else None
    return f"interrupted: {advice or f'run {the_same_command()} again'}"


def on_interruption(advice: str) -> None:
    """Set the advice that is printed if the command is interrupted from now on."""
    click.get_current_context().meta["distkern.interrupted"] = advice


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM, which batch systems send, like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> Never:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        said = f"Warning: {' '.join(in_cli_words(message).split())}"
        display().write(said) if file is None else click.echo(shown(said), file=file)

    before = warnings.showwarning
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
