"""The array types, and the protocol of executors, which the floors above them are given without knowing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Spec = dict[str, Any]

Task = TypeVar("Task")
Receipt = TypeVar("Receipt")


class Executor(Protocol):
    """Runs idempotent tasks and yields their receipts, in any order."""

    def map(self, fn: Callable[[Task], Receipt], tasks: Iterable[Task]) -> Iterator[Receipt]: ...

    @property
    def workers(self) -> int: ...
    @property
    def remote(self) -> bool: ...
    def memory_per_task(self, limit: int | None) -> int: ...
    def describe(self) -> str: ...
