"""What all readers of ballots share: numbered lines, messages that name them, and the options of the caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar

from distkern.core.errors import InputError
from distkern.core.events import Listener, Progress, silent
from distkern.core.names import shown
from distkern.core.sentences import Sentence

Gaps = Literal["top", "interleaving"]
Values = Literal["scores", "ranks", "orderings", "approval"]

LINES = 2**16
"""Lines between two reports of progress."""

LONGEST = 60
"""Characters of a line that a message shows."""


@dataclass(frozen=True)
class Options:
    """How a caller wants ballots to be read; the fields are explained in `distkern.read_rankings`."""

    values: Values | None = None
    gaps: Gaps | None = None
    samples: str = "rows"
    voter: tuple[str, ...] | None = None
    item: str | None = None
    rank: str | None = None
    score: str | None = None
    winner: str | None = None
    loser: str | None = None
    tie: str | None = None
    count: str | None = None
    ignore: tuple[str, ...] = ()
    items: tuple[str, ...] | None = None
    blank: frozenset[str] = frozenset()
    sep: str | None = None
    merge: bool = False
    progress: Listener = field(default=silent)


def numbered_lines(file: TextIO, path: Path, progress: Listener) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of each line of an open file that is not empty."""
    for number, line in reported(enumerate(file, start=1), file, path, progress):
        if text := line.strip():
            yield number, text


T = TypeVar("T")


def reported(rows: Iterable[T], file: TextIO, path: Path, progress: Listener) -> Iterator[T]:
    """Yield the rows of an open file, and report now and then how many of its bytes are read."""
    total = path.stat().st_size
    source: Any = getattr(file, "buffer", None)
    source = getattr(source, "fileobj", None) or source  # the compressed file, whose size is known
    count = 0
    for count, row in enumerate(rows, start=1):
        if count % LINES == 0:
            progress(Progress("reading ballots", min(source.tell(), total - 1), total))
        yield row
    if count >= LINES:
        progress(Progress("reading ballots", total, total))


def bad_line(path: Path, number: int, text: str, reason: str, advice: str | Sentence) -> InputError:
    """Return the error for a line that cannot be read."""
    return InputError(
        "line {line} of {file!r} ({text}) {reason}: {advice}",
        line=number,
        file=path.name,
        text=short(text),
        reason=reason,
        advice=advice,
    )


def short(text: str) -> str:
    """Quote the beginning of a line.

    Examples
    --------
    >>> short("12: 1,2"), short("x" * 70) == repr("x" * 60 + "…")
    ("'12: 1,2'", True)
    """
    return repr(shown(text if len(text) <= LONGEST else text[:LONGEST] + "…"))


def whole(text: str) -> int | None:
    """Return the whole number in a text of ASCII digits; None if it is something else.

    Examples
    --------
    >>> whole("12"), whole(" 3 "), whole("1.5"), whole("-1")
    (12, 3, None, None)
    """
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def in_order(names: Sequence[str]) -> list[int]:
    """Positions that sort names: as numbers if all are whole numbers, else as texts.

    Examples
    --------
    >>> in_order(["10", "9", "2"]), in_order(["b", "a", "10"])
    ([2, 1, 0], [2, 1, 0])
    """
    numbers = [whole(name) for name in names]
    keys: Any = names if None in numbers else list(zip(numbers, names, strict=True))
    return sorted(range(len(names)), key=lambda k: keys[k])
