"""What runs on the workers of a Dask cluster around each task, and the comparison of package versions.

No worker plugin is registered: a plugin for future workers would remain on the cluster after the run, keep workers
without distkern from joining, and let a worker go on after an error of its own. `run_checked` compares versions around
each task instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from distributed import Client, get_worker
from distributed.protocol import pickle

from distkern._version import __version__
from distkern.core.errors import TaskError, WorkerMismatchError
from distkern.engine.base import Receipt, Task
from distkern.engine.versions import Versions, require_same_versions, versions

PATIENCE = 30
"""Seconds to wait for the versions of the workers; a worker that does not answer is checked by its first task."""


def this_worker() -> str:
    """Name the worker that runs this task."""
    return f"the worker at {get_worker().address}"


def run_pickled(fn: Callable[[Task], Receipt], pickled: bytes) -> Receipt:
    """Unpickle a task, and run it.

    Dask would unpickle the task where the worker and the scheduler receive it. There, a module that they cannot import
    ends their connection, and with it the cluster. The module of a user's kernel can be such a module.

    Raises
    ------
    WorkerMismatchError
        If the worker cannot import what the task refers to.
    """
    try:
        task = pickle.loads(pickled)
    except (ImportError, AttributeError) as error:
        raise WorkerMismatchError(
            f"{this_worker()} cannot load its task ({type(error).__name__}: {error}): make the module importable on "
            "all workers"
        ) from error
    return fn(task)


def compare_workers(client: Client, wanted: Versions) -> None:
    """Compare the versions of all present workers with this client's, before any work starts.

    Raises
    ------
    WorkerMismatchError
        If a worker has other versions, or if a worker or the scheduler lacks this distkern.
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
    except (ImportError, AttributeError) as error:  # the scheduler unpickles the functions that workers run
        raise WorkerMismatchError(
            f"the Dask scheduler cannot load distkern {__version__} ({type(error).__name__}: {error}): install it there"
        ) from error
    require_same_versions("the Dask scheduler", scheduler, {"distkern": wanted["distkern"]})
    patched: dict[str, str] = {}
    for address, answer in sorted(answers.items()):
        if isinstance(answer, OSError | TimeoutError):
            continue  # this worker has just left
        if isinstance(answer, Exception):
            raise WorkerMismatchError(
                f"the worker at {address} cannot load distkern {__version__} ({type(answer).__name__}: {answer}): "
                "install it on all workers"
            )
        require_same_versions(f"the worker at {address}", answer, wanted)
        patched |= {name: f"{address} has {name} {answer[name]}" for name in wanted if answer[name] != wanted[name]}
    for name, difference in patched.items():
        warnings.warn(f"the worker at {difference}, and this client {wanted[name]}", stacklevel=4)
