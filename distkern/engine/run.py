"""Run a list of tasks to its end: receipts are handed on as they arrive, progress is told, failures are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from distkern.core.errors import (
    CorruptTileError,
    DistkernError,
    IncompleteGramError,
    StoreError,
    TaskError,
    WorkerMismatchError,
)
from distkern.core.events import Listener, Progress
from distkern.core.sentences import SameCall, Sentence
from distkern.core.typing import Executor, Failure, Receipt, Task, Waiting

HOPELESS = 20
"""Failures after which a run stops, if they outnumber what succeeded."""

SPELLED_OUT = 5
"""Failed tasks that an error names."""


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
    """Run ``fn`` on every task and call ``on_receipt`` in this thread for each receipt, in any order.

    Parameters
    ----------
    phase, listener
        Name of the work, and who hears of its progress.
    done
        Tasks of this phase that an earlier run had finished; progress counts on from there.
    on_failure, named
        Who hears of each failure, and how people call a task.
    go_on
        Whether the other tasks are worth doing after one has failed. Even then a failure that concerns everything (a
        full disk, a worker of another version) stops the run, as does a majority of failures. Tasks that an executor
        has begun, or holds ready, still finish and are handed over.

    Raises
    ------
    DistkernError
        What a task raised on purpose, where all failures are of that kind or it concerns everything.
    TaskError
        Names the failed tasks.
    """
    total, before = done + len(tasks), done
    failures = _Failures(named, go_on)

    def wanted() -> Iterator[Task]:
        for task in tasks:
            if failures.stop(done - before):
                return
            yield task

    listener(Progress(phase, done, total))
    outcomes = executor.map(fn, wanted())
    try:
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                failures.add(outcome)
                if on_failure is not None:
                    on_failure(outcome)
            elif isinstance(outcome, Waiting):
                listener(Progress(phase, done, total, outcome.words))
            else:
                on_receipt(outcome)
                done += 1
                listener(Progress(phase, done, total))
    finally:
        for ending in (outcomes, listener):  # tasks are cancelled; a bar stays as it stands, whatever ended the work
            close = getattr(ending, "close", None)
            if close is not None:
                close()
    if failures.count:
        raise failures.error(stopped=done + failures.count < total)


def concerns_all(error: Exception) -> bool:
    """Whether other tasks would fail as this one did: the store cannot be written, or the workers are wrong."""
    if isinstance(error, CorruptTileError | IncompleteGramError):
        return False
    return isinstance(error, StoreError | WorkerMismatchError)


def words_of(error: Exception) -> str:
    """What an error says: errors of our own are sentences, others need their type.

    Examples
    --------
    >>> words_of(OSError("no space left")), words_of(TaskError("workers died"))
    ('OSError: no space left', 'workers died')
    """
    return str(error) if isinstance(error, DistkernError) else f"{type(error).__name__}: {error}"


class _Failures:
    """What failed in a run, and what follows from it."""

    def __init__(self, named: Callable[[Task], str] | None, go_on: bool) -> None:
        self.count = 0
        self.first: list[Failure] = []
        self._named, self._go_on = named, go_on
        self._kinds: set[type[Exception]] = set()
        self._fatal: Exception | None = None

    def add(self, failure: Failure) -> None:
        self.count += 1
        self._kinds.add(type(failure.error))
        if len(self.first) < SPELLED_OUT:
            self.first.append(failure)
        if self._fatal is None and concerns_all(failure.error):
            self._fatal = failure.error

    def stop(self, succeeded: int) -> bool:
        """Whether no more tasks are worth beginning."""
        if self.count == 0:
            return False
        return not self._go_on or self._fatal is not None or self.count >= max(HOPELESS, succeeded)

    def error(self, stopped: bool) -> Exception:
        """Make the one error that a run ends with."""
        first = self.first[0].error
        if self._fatal is not None:
            return self._fatal
        if len(self._kinds) == 1 and isinstance(first, DistkernError) and not isinstance(first, TaskError):
            return first  # it says itself what to do
        rest = Sentence("what had finished is stored, and {again} goes on from there", again=SameCall())
        if not stopped:
            failed = "it" if self.count == 1 else "them"
            rest = Sentence("all else is stored, and {again} tries {failed} again", again=SameCall(), failed=failed)
        reason = first.sentence if isinstance(first, DistkernError) else words_of(first)
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
