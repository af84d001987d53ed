"""Progress events: what long work tells about itself. Who draws them is not this module's business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One step of long work: ``done`` of ``total`` units of ``phase`` are finished; ``note``: why it stands."""

    phase: str
    done: int
    total: int
    note: str = ""


Listener = Callable[[Progress], None]


def silent(event: Progress) -> None:
    """Listen and draw nothing."""
