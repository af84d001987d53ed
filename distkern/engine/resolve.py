"""Turn the ``executor=`` argument of public functions into an executor."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from distkern.core.errors import InputTypeError
from distkern.engine.base import Executor, Failure, Receipt, Task, Waiting
from distkern.engine.executors import Serial, Threads

_MEMBERS = tuple(name for name in vars(Executor) if not name.startswith("_"))


def resolve_executor(executor: Any = None) -> Executor:
    """Return the executor that an argument names.

    Parameters
    ----------
    executor
        ``None``: the Dask client that exists in this process, else threads; within a task of a Dask cluster, the thread
        of that task. ``"serial"``, ``"threads"``, a number of threads, a ``distributed.Client``, or an `Executor`.

    Raises
    ------
    InputTypeError
        If the argument is none of these.
    """
    if executor is None:
        return _default()
    if isinstance(executor, Executor):
        return executor
    if isinstance(executor, str) and executor == "serial":
        return Serial()
    if isinstance(executor, str) and executor == "threads":
        return Threads()
    if isinstance(executor, int) and not isinstance(executor, bool):
        return Threads(executor)
    if callable(getattr(executor, "scheduler_info", None)) and callable(getattr(executor, "submit", None)):
        return _dask(executor)
    if callable(getattr(executor, "map", None)):
        if not callable(getattr(executor, "memory_per_task", None)):
            raise InputTypeError(_not_derived(executor))
        warnings.warn(f"{_not_derived(executor)}; other classes will be refused", DeprecationWarning, stacklevel=3)
        return _Adapted(executor)
    raise InputTypeError(
        f'executor must be "serial", "threads", a number of threads, a Dask client or a distkern.Executor, '
        f"not {executor!r}"
    )


class _Adapted(Executor):
    """An executor whose class is not derived from `Executor`: its own members, and defaults for missing members."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self._executor, name):
            return super().__getattribute__(name)
        return getattr(self._executor, name)

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure | Waiting]:
        """Yield what the executor yields."""
        return iter(self._executor.map(fn, tasks))


def _not_derived(executor: Any) -> str:
    """Describe what an object with a ``map`` method lacks to be an executor."""
    missing = [name for name in _MEMBERS if not hasattr(executor, name)]
    lacks = f" and has no {', '.join(missing)}" if missing else ""
    return (
        f"executor {executor!r} has a map method, but is not a distkern.Executor{lacks}: derive its class from "
        "distkern.Executor, which defines all members but map"
    )


def _default() -> Executor:
    """Return the executor of the user's Dask client if there is one, else threads.

    Within a task of a Dask cluster it is the thread of that task, because new tasks would wait for that same thread.
    """
    if "distributed" not in sys.modules:
        return Threads()
    from distkern.engine.dask.executor import existing_client, in_task  # distributed is slow to import

    if in_task():
        return Serial()
    client = existing_client()
    return Threads() if client is None else _dask(client)


def _dask(client: Any) -> Executor:
    from distkern.engine.dask.executor import Dask  # distributed is slow to import

    return Dask(client)
