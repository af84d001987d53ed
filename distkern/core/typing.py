"""The array types, and the protocol of executors, which the floors above them are given without knowing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Spec = dict[str, Any]

Task = TypeVar("Task")
Receipt = TypeVar("Receipt")


@dataclass(frozen=True)
class Failure:
    """What an executor yields for a task that failed, after all retries."""

    task: Any
    error: Exception


@dataclass(frozen=True)
class Waiting:
    """What an executor yields when nothing can go on: what it waits for, in words; empty words when it goes on."""

    words: str


class Executor(Protocol):
    """Runs idempotent tasks and yields the receipt or the failure of each, in any order.

    Tasks are taken as there is room for them, so that whoever gives them can stop giving. Closing the iterator cancels
    what has not begun.
    """

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt | Failure | Waiting]: ...

    @property
    def workers(self) -> int: ...
    @property
    def remote(self) -> bool: ...
    def memory_per_task(self, limit: int | None) -> int: ...
    def describe(self) -> str: ...
