"""What a worker does around each task: it compares its versions with the client's, and holds its libraries to a thread.

Nothing is installed on the cluster. A plugin registered for workers yet to come would outlive the run, keep workers
without distkern from joining a cluster that others use too, and go on after an error of its own; a comparison that
travels with each task holds on every worker, whenever it joins, and costs microseconds.
"""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from distributed import Client, get_worker

from distkern._version import __version__
from distkern.core.blas import one_thread_each
from distkern.core.errors import TaskError, WorkerMismatchError
from distkern.core.typing import Receipt, Task

PATIENCE = 30
"""Seconds in which workers are to answer; a stopped one does not, and is asked again by its first task."""

Versions = Mapping[str, str]


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of what the bits of a result depend on, in this process."""
    found = {"distkern": __version__, "Python": platform.python_version()}
    for name in ("numpy", "numba", "zarr"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def work(fn: Callable[[Task], Receipt], wanted: Versions, task: Task) -> Receipt:
    """Run a task on a worker, if it has the client's versions."""
    if versions() != wanted:
        refuse_mismatch(f"the worker at {get_worker().address}", versions(), wanted)
    try:
        with one_thread_each():
            return fn(task)
    except RecursionError as error:
        said = str(error)
    raise RecursionError(said)  # with a traceback short enough to be sent: the client never hears of one that is not


def refuse_mismatch(who: str, found: Versions, wanted: Versions) -> None:
    """Refuse a worker, or a scheduler, whose results or files could be others than this client's.

    Raises
    ------
    WorkerMismatchError
        Says who it is, and names the packages and both versions.
    """
    wrong = [name for name in wanted if _release(name, found.get(name, "none")) != _release(name, wanted[name])]
    if wrong:
        differences = " and ".join(f"{name} {found.get(name, 'unknown')} (here {wanted[name]})" for name in wrong)
        raise WorkerMismatchError(
            f"{who} has {differences}: install the same versions on the client and on all workers, "
            "for the same bits are promised on one set of versions only"
        )


def compare_workers(client: Client, wanted: Versions) -> None:
    """Compare the versions of all workers that are there with this client's, before any work starts.

    Raises
    ------
    WorkerMismatchError
        If a worker cannot be used, as `refuse_mismatch` says, or it or the scheduler lacks this distkern.
    TaskError
        If the scheduler does not answer.

    Warns
    -----
    UserWarning
        If workers have another patch release of Python, NumPy, Numba or Zarr.
    """
    try:
        answers = client.run(versions, on_error="return", callback_timeout=PATIENCE)
        scheduler = client.run_on_scheduler(versions)
    except TimeoutError:
        return
    except OSError as error:
        raise TaskError(f"the Dask scheduler does not answer ({error}): start it, or give another client") from error
    except (ImportError, AttributeError) as error:  # it unpickles what workers will run
        raise WorkerMismatchError(
            f"the Dask scheduler cannot load distkern {__version__} ({type(error).__name__}: {error}): install it there"
        ) from error
    refuse_mismatch("the Dask scheduler", scheduler, {"distkern": wanted["distkern"]})
    patched: dict[str, str] = {}
    for address, answer in sorted(answers.items()):
        if isinstance(answer, OSError | TimeoutError):
            continue  # it has just left
        if isinstance(answer, Exception):
            raise WorkerMismatchError(
                f"the worker at {address} cannot load distkern {__version__} ({type(answer).__name__}: {answer}): "
                "install it on all workers"
            )
        refuse_mismatch(f"the worker at {address}", answer, wanted)
        patched |= {name: f"{address} has {name} {answer[name]}" for name in wanted if answer[name] != wanted[name]}
    for name, words in patched.items():
        warnings.warn(f"the worker at {words}, and this client {wanted[name]}", stacklevel=4)


def _release(name: str, number: str) -> str:
    """The part of a version that must be the same: all of distkern's, else major and minor."""
    return number if name == "distkern" else ".".join(number.split(".")[:2])
