"""Ballots from the files of a command: which values are the best, and what an item without a value means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distkern.core.errors import InputError

if TYPE_CHECKING:
    from distkern.core.typing import Array, Floats
    from distkern.io.source import Source

WORDS = {
    "scores": "the largest value is the best (scores)",
    "ranks": "1 is the best (ranks)",
    "orderings": "the cells name the items, best first (orderings)",
}


@dataclass(frozen=True)
class Reading:
    """How ballots were read.

    Parameters
    ----------
    values
        ``"scores"``, ``"ranks"`` or ``"orderings"``.
    sample, first
        Name of the first ballot, and its best items.
    gaps
        Whether items without a value come last (``"top"``), or have an unknown rank (``"interleaving"``); None where
        every item has a value.
    """

    values: str
    sample: str
    first: tuple[str, ...]
    gaps: str | None

    def __str__(self) -> str:
        gaps = {"top": "; items without a value come last", "interleaving": "; items without a value have any rank"}
        best = " and ".join(map(repr, self.first)) or "nothing"
        return (
            f"{WORDS[self.values]}: the first ballot, {self.sample!r}, puts {best} first{gaps.get(self.gaps or '', '')}"
        )

    def to_json(self) -> dict[str, Any]:
        """Write it as JSON."""
        return {"values": self.values, "ballot": self.sample, "first": list(self.first), "gaps": self.gaps}


def directed(kernel: Any) -> bool:
    """Whether a kernel, or one that it is made of, depends on which end of a ranking is the best.

    Examples
    --------
    >>> from distkern import Kendall, PartialKendall, WeightedKendall
    >>> directed(Kendall()), directed(WeightedKendall().normalized()), directed(PartialKendall(kind="top"))
    (False, True, True)
    """
    return any(one.directed for one in _parts(kernel))


def gaps_come_last(kernel: Any) -> bool:
    """Whether a kernel, or one that it is made of, takes items without a value as last."""
    return any(getattr(one, "kind", None) == "top" for one in _parts(kernel))


def _parts(kernel: Any) -> list[Any]:
    from distkern.kernels.base import Kernel

    inner = [value for value in kernel.get_params(deep=False).values() if isinstance(value, Kernel)]
    return [kernel, *(part for one in inner for part in _parts(one))]


def read_meaning(
    path: Path, source: Source, kernel: Any, asked: str | None, *, ranked: bool = False
) -> tuple[Source, Reading | None]:
    """Turn ballots into scores, if their values are ranks; refuse values that may be either, where that matters.

    Parameters
    ----------
    asked
        What the caller says that the values mean: ``"scores"``, ``"ranks"``, or ``"orderings"`` (which are scores by
        now).
    ranked
        Whether rankings are an answer, so that the direction matters whatever the kernel.

    Returns
    -------
    The cohort, and how it was read; None where the direction does not matter and nothing was said.

    Raises
    ------
    InputError
        If the values may be ranks or scores, and that makes a difference.
    """
    matters = ranked or (kernel is not None and directed(kernel))
    if not matters and asked is None:
        return source, None
    top = kernel is not None and gaps_come_last(kernel)
    if asked == "ranks":
        from distkern.core.ballots import as_scores

        source = _replaced(source, as_scores(source.read(slice(0, len(source)))), asked)
    elif asked is None:
        _refuse_either(path, source, top)
    return source, _reading(source, asked or "scores", top)


def _refuse_either(path: Path, source: Source, top: bool) -> None:
    from distkern.core.ballots import first_items, may_be_ranks

    if not all(may_be_ranks(values, partial=top) for values in _parts_of(source)):
        return
    items, ballot = _items(source), source.read(slice(0, 1))[0]
    last, first = first_items(ballot, items), first_items(-ballot, items)
    raise InputError(
        f"the values of {path.name!r} may be ranks or scores: write --values ranks if 1 is the best, so that the "
        f"first ballot puts {' and '.join(map(repr, first)) or 'nothing'} first, or --values scores if the largest "
        f"value is the best, so that it puts {' and '.join(map(repr, last)) or 'nothing'} first"
    )


def _reading(source: Source, asked: str, top: bool) -> Reading:
    import numpy as np

    from distkern.core.ballots import first_items

    has_gaps = any(np.isnan(values).any() for values in _parts_of(source))
    gaps = ("top" if top else "interleaving") if has_gaps else None
    name = source.ids[0] if source.ids else "0"
    return Reading(asked, name, first_items(source.read(slice(0, 1))[0], _items(source)), gaps)


def _parts_of(source: Source) -> Iterator[Floats]:
    """The values, some samples at a time."""
    from distkern.kernels.base import strips

    return (source.read(part) for part in strips(*source.shape))


def _items(source: Source) -> tuple[str, ...]:
    return source.features or tuple(map(str, range(source.shape[1])))


def _replaced(source: Source, values: Floats, asked: str | None = None) -> Source:
    """The same samples with other values."""
    from distkern.io.blocks import ArrayReader
    from distkern.io.source import Source

    other = Source(ArrayReader(values, "ballots"), source.ids, source.features)
    other.kinds = source.kinds
    other.origin = source.origin if source.origin is None or asked is None else replace(source.origin, values=asked)
    return other


def with_gaps_last(source: Source, kernel: Any) -> Source:
    """Write the meaning of items without a value into the values, for a kernel that takes them as last."""
    import numpy as np

    values = source.read(slice(0, len(source)))
    gaps: Array = np.isnan(values)
    if not gaps.any() or kernel is None or not gaps_come_last(kernel):
        return source
    lasting = _replaced(source, np.where(gaps, -np.inf, values))
    lasting.kinds = tuple("top" if np.isnan(ballot).any() else "total" for ballot in values)
    return lasting


# Orderings ------------------------------------------------------------------------------------------------------------


def refuse_places(path: Path, names: Any, asked: str | None) -> None:
    """Refuse a table whose columns are places, unless the caller says what its cells are."""
    from distkern.core.ballots import are_places

    if asked is None and names is not None and are_places(names):
        raise InputError(
            f"the columns of {path.name!r} ({names[0]}, …, {names[-1]}) look like places, whose cells name items: "
            "write --values orderings if they do, or --values scores or --values ranks if every column is an item"
        )


def read_orderings(
    path: Path, samples: str | None, label: str | None, sep: str | None, items: Sequence[str] | None = None
) -> Source:
    """Read a table whose columns are places, best first, and whose cells name items, by default all that occur."""
    from distkern.core.rankings import Rankings
    from distkern.io.blocks import ArrayReader
    from distkern.io.origin import Origin
    from distkern.io.registry import find_format
    from distkern.io.source import Source
    from distkern.io.tables import MISSING, read_texts

    if find_format(path).samples is not None or samples == "columns":
        raise InputError(
            f"--values orderings is for a text table whose rows are ballots, and {path.name!r} is read otherwise: "
            "save it as such a table, and write --samples rows"
        )
    places, rows = read_texts(path, sep)
    if label is not None and label not in places:
        from distkern.core.suggest import did_you_mean

        raise InputError(f"{path.name!r} has no column {label!r}: name one of its columns{did_you_mean(label, places)}")
    kept = _in_order(path, [name for name in places if name != label])
    cells = [[line[places.index(name)].strip() for name in kept] for line in rows.values()]
    ballots = [[None if cell in MISSING else cell for cell in line] for line in cells]
    full = Rankings.from_orderings(ballots, kind="interleaving", items=items)
    source = Source(ArrayReader(full.values, "ballots"), list(rows), full.items)
    source.origin = Origin(path.name, samples="rows", label=label, values="orderings")
    return source


def _in_order(path: Path, places: list[str]) -> list[str]:
    """Sort columns by the number of their place."""
    from distkern.core.ballots import place_number

    numbers = [place_number(name) for name in places]
    if None in numbers:
        raise InputError(
            f"the column {places[numbers.index(None)]!r} of {path.name!r} is no place such as rank_1: with --values "
            "orderings every column is one; name a column of weights or labels with --weight or --label"
        )
    return [place for _, place in sorted(zip(numbers, places, strict=True))]
