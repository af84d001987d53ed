"""Run a list of tasks to its end: receipts are handed on as they arrive, and progress is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from distkern.core.events import Listener, Progress
from distkern.core.typing import Executor, Receipt, Task


def run(
    executor: Executor,
    fn: Callable[[Task], Receipt],
    tasks: Sequence[Task],
    on_receipt: Callable[[Receipt], None],
    *,
    phase: str,
    listener: Listener,
    done: int = 0,
) -> None:
    """Run ``fn`` on every task and call ``on_receipt`` in this thread for each receipt, in any order.

    Parameters
    ----------
    phase, listener
        Name of the work, and who hears of its progress.
    done
        Tasks of this phase that an earlier run had finished; progress counts on from there.
    """
    total = done + len(tasks)
    listener(Progress(phase, done, total))
    try:
        for receipt in executor.map(fn, tasks):
            on_receipt(receipt)
            done += 1
            listener(Progress(phase, done, total))
    finally:
        close = getattr(listener, "close", None)  # a bar stays as it stands, whatever ended the work
        if close is not None:
            close()
