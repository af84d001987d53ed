"""Run a list of tasks on an executor: pass receipts on, report progress, and raise one error for all failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from distkern.core.errors import (
    CorruptTileError,
    DistkernError,
    IncompleteGramError,
    KernelNotFoundError,
    StoreError,
    TaskError,
    WorkerMismatchError,
)
from distkern.core.events import Listener, Progress, close
from distkern.core.sentences import SameCall, Sentence
from distkern.engine.base import Executor, Failure, Receipt, Task, Waiting

MAX_FAILURES = 20
"""Failed tasks at which a run stops, if as many tasks have failed as succeeded."""

NAMED_TASKS = 5
"""Most failed tasks that an error message names."""


def run(
    executor: Executor,
    fn: Callable[[Task], Receipt],
    tasks: Sequence[Task],
    on_receipt: Callable[[Receipt], None],
    *,
    phase: str,
    listener: Listener,
    done: int = 0,
    on_failure: Callable[[Failure], None] | None = None,
    named: Callable[[Task], str] | None = None,
    go_on: bool = False,
) -> None:
    """Run ``fn`` on every task and call ``on_receipt`` in this thread with each receipt, in any order.

    Parameters
    ----------
    phase, listener
        Name of the work, and the listener that receives its progress.
    done
        Number of tasks of this phase that an earlier run completed; progress is counted from there.
    on_failure, named
        Called with each failure, and the function that names a task in messages.
    go_on
        Whether to continue after a task has failed. A failure that affects all tasks (a full disk, a worker of another
        version) stops the run in any case, as do `MAX_FAILURES` failures if they are the majority. Tasks that were
        submitted before still complete, and their receipts are passed on.

    Raises
    ------
    DistkernError
        The error of a task, if all failures are of the same class of this package or if it affects all tasks.
    TaskError
        In all other cases of failure; names the failed tasks.
    """
    total, before = done + len(tasks), done
    failures = _Failures(named, go_on)

    def until_stopped() -> Iterator[Task]:
        for task in tasks:
            if failures.stop(done - before):
                return
            yield task

    listener(Progress(phase, done, total))
    outcomes = executor.map(fn, until_stopped())
    try:
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                failures.add(outcome)
                if on_failure is not None:
                    on_failure(outcome)
            elif isinstance(outcome, Waiting):
                listener(Progress(phase, done, total, outcome.reason))
            else:
                on_receipt(outcome)
                done += 1
                listener(Progress(phase, done, total))
    finally:
        close(outcomes)  # cancels the remaining tasks
        close(listener)  # ends the progress bar
    if failures.count:
        raise failures.error(stopped=done + failures.count < total)


def await_workers(executor: Executor, listener: Listener) -> None:
    """Wait for the first worker of a cluster, and report it: the memory of workers decides what a task may take."""
    for waiting in executor.await_workers():
        listener(Progress("plan", 0, 1, waiting.reason))


def affects_all(error: Exception) -> bool:
    """Whether all tasks would fail with this error, as when the store cannot be written or workers lack a module."""
    if isinstance(error, CorruptTileError | IncompleteGramError):
        return False
    return isinstance(error, StoreError | WorkerMismatchError | KernelNotFoundError)


def message_of(error: Exception) -> str:
    """Return the message of an error; the class is added unless it is an error of this package.

    Examples
    --------
    >>> message_of(OSError("no space left")), message_of(TaskError("workers died"))
    ('OSError: no space left', 'workers died')
    """
    return str(error) if isinstance(error, DistkernError) else f"{type(error).__name__}: {error}"


class _Failures:
    """The failures of a run, and the decision to stop."""

    def __init__(self, named: Callable[[Task], str] | None, go_on: bool) -> None:
        self.count = 0
        self.first: list[Failure] = []
        self._named, self._go_on = named, go_on
        self._kinds: set[type[Exception]] = set()
        self._fatal: Exception | None = None

    def add(self, failure: Failure) -> None:
        self.count += 1
        self._kinds.add(type(failure.error))
        if len(self.first) < NAMED_TASKS:
            self.first.append(failure)
        if self._fatal is None and affects_all(failure.error):
            self._fatal = failure.error

    def stop(self, succeeded: int) -> bool:
        """Whether to start no more tasks."""
        if self.count == 0:
            return False
        return not self._go_on or self._fatal is not None or self.count >= max(MAX_FAILURES, succeeded)

    def error(self, stopped: bool) -> Exception:
        """Make the error that the run raises."""
        first = self.first[0].error
        if self._fatal is not None:
            return self._fatal
        if len(self._kinds) == 1 and isinstance(first, DistkernError) and not isinstance(first, TaskError):
            return first  # its message contains the remedy
        rest = Sentence("what had finished is stored, and {again} goes on from there", again=SameCall())
        if not stopped:
            failed = "it" if self.count == 1 else "them"
            rest = Sentence("all else is stored, and {again} tries {failed} again", again=SameCall(), failed=failed)
        reason = first.sentence if isinstance(first, DistkernError) else message_of(first)
        error = TaskError("{failed} with {reason}; {rest}", failed=self._what_failed(), reason=reason, rest=rest)
        error.__cause__ = first
        return error

    def _what_failed(self) -> str:
        if self.count == 1:
            return f"{'a task' if self._named is None else self._named(self.first[0].task)} failed"
        if self._named is None:
            return f"{self.count:,} tasks failed, the first"
        names = ", ".join(self._named(one.task) for one in self.first)
        more = f" and {self.count - len(self.first):,} more" if self.count > len(self.first) else ""
        return f"{self.count:,} tasks failed ({names}{more}), the first"
