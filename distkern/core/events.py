"""Progress events of long computations. Listeners decide how to display them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """Progress of a computation: ``done`` of ``total`` units of ``phase`` are finished; ``note`` is why it waits."""

    phase: str
    done: int
    total: int
    note: str = ""


Listener = Callable[[Progress], None]


def silent(event: Progress) -> None:
    """Ignore progress events."""


def close(source: Any) -> None:
    """Close a listener or an iterator, if it has a method ``close``."""
    method = getattr(source, "close", None)
    if method is not None:
        method()
