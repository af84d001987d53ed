"""Package versions that must be the same on the client and on its workers, since the bits of results depend on them.

Versions are compared around each task. This holds on every worker, whenever it joins, costs microseconds, and leaves
nothing installed on a cluster that others use too.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from distkern._version import __version__
from distkern.core.blas import one_thread_each
from distkern.core.errors import WorkerMismatchError
from distkern.engine.base import Receipt, Task

Versions = Mapping[str, str]


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on, in this process."""
    found = {"distkern": __version__, "Python": platform.python_version()}
    for name in ("numpy", "numba", "zarr"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def run_checked(fn: Callable[[Task], Receipt], wanted: Versions, worker_name: Callable[[], str], task: Task) -> Receipt:
    """Run a task on a worker: compare its versions with the client, and limit libraries to one thread.

    Parameters
    ----------
    wanted
        The client's `versions`.
    worker_name
        Returns the name of the worker, for the error message.

    Raises
    ------
    WorkerMismatchError
        If the versions differ.
    """
    if versions() != wanted:
        require_same_versions(worker_name(), versions(), wanted)
    try:
        with one_thread_each():
            return fn(task)
    except RecursionError as error:
        message = str(error)
    raise RecursionError(message)  # the original traceback is too deep to be pickled, and the client would get nothing


def require_same_versions(who: str, found: Versions, wanted: Versions) -> None:
    """Refuse a process whose results or files could differ from this client's.

    distkern must be the same; of Python and other packages, major and minor version.

    Raises
    ------
    WorkerMismatchError
        Names the process, the packages that differ, and both versions of each.
    """
    wrong = [name for name in wanted if _release(name, found.get(name, "none")) != _release(name, wanted[name])]
    if wrong:
        differences = " and ".join(f"{name} {found.get(name, 'unknown')} (here {wanted[name]})" for name in wrong)
        raise WorkerMismatchError(
            f"{who} has {differences}: install the same versions on the client and on all workers, since the same "
            "results are guaranteed only for the same versions"
        )


def _release(name: str, number: str) -> str:
    """Return the part of a version that must be the same."""
    return number if name == "distkern" else ".".join(number.split(".")[:2])
