"""All errors that distkern raises on purpose: one sentence that names the culprit and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distkern.core.sentences import Sentence


class DistkernError(Exception):
    """Base of all errors raised by distkern, so that one ``except`` catches them.

    The message is a template, and ``fields`` are its values. A message without fields is not formatted.

    Examples
    --------
    >>> error = InputError("{file!r} has no column {column!r}", file="a.csv", column="relapse")
    >>> str(error), error.fields["column"]
    ("'a.csv' has no column 'relapse'", 'relapse')
    """

    _sentence: Sentence | None = None

    def __init__(self, message: str = "", /, *details: Any, **fields: Any) -> None:
        self._sentence = Sentence(message, **fields)
        super().__init__(str(self._sentence), *details)

    @property
    def sentence(self) -> Sentence:
        """The message, which can also be rendered for users of the command line."""
        return Sentence(str(self)) if self._sentence is None else self._sentence

    @property
    def fields(self) -> Mapping[str, Any]:
        """The values that the message names, such as the sample, the file or an `Argument`."""
        return self.sentence.fields


class InputError(DistkernError, ValueError):
    """The data, a parameter or a file that the user gave cannot be used as it is."""


class PositionError(InputError, IndexError):
    """A position is outside a matrix."""


class InputTypeError(DistkernError, TypeError):
    """An argument has a type that distkern does not accept."""


class ParameterTypeError(InputTypeError, InputError):
    """A parameter has a value of a type that it cannot have; caught as an error of type and as one of value."""


class SampleError(InputError):
    """One sample cannot be used; ``row`` is its position in the block that was checked."""

    def __init__(self, message: str, row: int, /, **fields: Any) -> None:
        super().__init__(message, row, **fields)
        self.row = row

    def __str__(self) -> str:
        return str(self.args[0])


class KernelNotFoundError(DistkernError, ImportError):
    """The class of a third-party kernel is not defined in this process; the fields are ``kernel`` and ``module``."""


class MissingExtraError(DistkernError, ImportError):
    """A feature needs an optional dependency that is not installed."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtraError:
        """Name the extra that installs the dependency."""
        return cls("{what} needs an optional dependency: pip install 'distkern[{extra}]'", what=what, extra=extra)


class MemoryLimitError(DistkernError, ValueError):
    """The work needs more memory or disk space than allowed; raised before any work starts."""


class WorkerMismatchError(DistkernError, RuntimeError):
    """A worker runs other versions of packages than this process, so its results could differ."""


class StoreError(DistkernError, ValueError):
    """A stored Gram matrix cannot be opened, written or read."""


class StoreMismatchError(StoreError):
    """A store holds another computation (kernel, data or format) than the requested one."""


class IncompleteGramError(StoreError):
    """A requested tile is not computed yet."""


class CorruptTileError(StoreError):
    """A stored block does not match its checksum."""


class TaskError(DistkernError, RuntimeError):
    """Tasks failed on the workers after all retries; all finished results are stored."""
