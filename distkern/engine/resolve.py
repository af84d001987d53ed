"""The choice of an executor from what the user gave."""

from __future__ import annotations

import sys
from typing import Any

from distkern.core.errors import InputTypeError
from distkern.core.typing import Executor
from distkern.engine.executors import Serial, Threads


def resolve_executor(executor: Any = None) -> Executor:
    """Choose who runs the tasks.

    Parameters
    ----------
    executor
        ``None``: the Dask client that exists in this process, else threads; in a task of a Dask cluster the thread of
        that task. ``"serial"``, ``"threads"``, a number of threads, a ``distributed.Client``, or an object with the
        methods of `Serial`.

    Raises
    ------
    InputTypeError
        If it is none of these.
    """
    if executor is None:
        return _default()
    if executor == "serial":
        return Serial()
    if executor == "threads":
        return Threads()
    if isinstance(executor, int) and not isinstance(executor, bool):
        return Threads(executor)
    if callable(getattr(executor, "map", None)) and callable(getattr(executor, "memory_per_task", None)):
        return executor
    if callable(getattr(executor, "scheduler_info", None)) and callable(getattr(executor, "submit", None)):
        return _dask(executor)
    raise InputTypeError(
        f'executor must be "serial", "threads", a number of threads, a Dask client or an executor, not {executor!r}'
    )


def _default() -> Executor:
    """The cluster of the user's Dask client; there is none where nobody has imported distributed.

    Inside a task of a cluster it is the thread of that task: tasks of its own would wait for the place that it holds.
    """
    if "distributed" not in sys.modules:
        return Threads()
    from distkern.engine.dask.executor import existing_client, in_task  # loaded only for those who use it

    if in_task():
        return Serial()
    client = existing_client()
    return Threads() if client is None else _dask(client)


def _dask(client: Any) -> Executor:
    from distkern.engine.dask.executor import Dask  # never load distributed for those who do not use it

    return Dask(client)
