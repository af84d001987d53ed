"""Ballots from the files of a command: their options, which values are the best, and what a missing value means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.common import Choice, options
from distkern.core.errors import InputError

if TYPE_CHECKING:
    from distkern.core.events import Listener
    from distkern.core.pairwise_votes import PairwiseVotes
    from distkern.core.typing import Array, Floats
    from distkern.io.format import Format
    from distkern.io.source import Source

WORDS = {
    "scores": "the largest value is the best (scores)",
    "ranks": "1 is the best (ranks)",
    "orderings": "the cells name the items, best first (orderings)",
    "approval": "approved items come first (approval)",
    "ballots": "the file says it",
}

OPTIONS = ("gaps", "voter", "item", "rank", "score", "blank")
"""Options that say how ballots are read; `ballots_of` gathers them."""

ballot_options = options(
    click.option(
        "--gaps",
        type=Choice(["top", "interleaving"]),
        help="Items that a ballot lacks: after all others (top), or of unknown rank (interleaving). Default: top for "
        "orders of PrefLib, BLT and text, else as the kernel takes them.",
    ),
    click.option(
        "--voter",
        "voter",
        metavar="COLUMN",
        multiple=True,
        help="For a table with a row for each voter and item: the column of the voter, or several. Default: found by "
        "name, and so are those of --item and --rank or --score.",
    ),
    click.option("--item", metavar="COLUMN", help="For such a table: the column of the item."),
    click.option("--rank", metavar="COLUMN", help="For such a table: the column of ranks, 1 = best."),
    click.option("--score", metavar="COLUMN", help="For such a table: the column of scores, the largest is the best."),
    click.option(
        "--blank",
        metavar="TEXT",
        multiple=True,
        help="Text that means no value in a table of ballots, such as 0 or DNF, besides an empty cell, NA and NaN.",
    ),
)


def ballots_of(given: dict[str, Any]) -> dict[str, Any]:
    """Select the options that say how ballots are read, as far as they are given."""
    return {name: given[name] for name in OPTIONS if given[name]}


@dataclass(frozen=True)
class Reading:
    """How ballots were read.

    Parameters
    ----------
    values
        ``"scores"``, ``"ranks"``, ``"orderings"``, ``"approval"``, or ``"ballots"`` of a file that says which items
        come first.
    sample, first
        Name of the first ballot, and its best items.
    gaps
        Whether items without a value come last (``"top"``), or have an unknown rank (``"interleaving"``); None where
        every item has a value.
    about
        What was read, in a line, if that is known.
    """

    values: str
    sample: str
    first: tuple[str, ...]
    gaps: str | None
    about: str | None = None

    def __str__(self) -> str:
        gaps = {"top": "; items without a value come last", "interleaving": "; items without a value have any rank"}
        best = " and ".join(map(repr, self.first)) or "nothing"
        how = self.about or WORDS[self.values]
        return f"{how}: the first ballot, {self.sample!r}, puts {best} first{gaps.get(self.gaps or '', '')}"

    def to_json(self) -> dict[str, Any]:
        """Write it as JSON."""
        said = {"values": self.values, "ballot": self.sample, "first": list(self.first), "gaps": self.gaps}
        return said | ({} if self.about is None else {"about": self.about})


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
        What the caller says that the values mean: ``"scores"``, ``"ranks"``, or ``"orderings"`` and ``"approval"``
        (which are scores by now).
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
    top = kernel is not None and gaps_come_last(kernel)
    if source.about is not None:  # a reader of ballots has turned them into scores
        return source, _reading(source, asked or "ballots", top)
    matters = ranked or (kernel is not None and directed(kernel))
    if not matters and asked is None:
        return source, None
    if asked == "ranks":
        from distkern.core.ballots import as_scores

        source = _replaced(source, as_scores(source.read(slice(0, len(source)))), asked)
    elif asked is None:
        _refuse_either(path, source, top)
    return source, _reading(source, asked or "scores", top)


def _refuse_either(path: Path, source: Source, top: bool) -> None:
    from distkern.core.ballots import may_be_ranks
    from distkern.io.rankings.meaning import refuse_either

    if all(may_be_ranks(values, partial=top) for values in _parts_of(source)):
        refuse_either(path.name, source.read(slice(0, 1))[0], _items(source))


def _reading(source: Source, asked: str, top: bool) -> Reading:
    import numpy as np

    from distkern.core.ballots import first_items

    has_gaps = any(np.isnan(values).any() for values in _parts_of(source))
    gaps = ("top" if top else "interleaving") if has_gaps else None
    gaps = "top" if "top" in (source.kinds or ()) else gaps
    name = source.ids[0] if source.ids else "0"
    return Reading(asked, name, first_items(source.read(slice(0, 1))[0], _items(source)), gaps, source.about)


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
    other.kinds, other.counts, other.about = source.kinds, source.counts, source.about
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


# Files of ballots ---------------------------------------------------------------------------------------------------


def holds_ballots(path: Path, found: Format, values: str | None, ballots: dict[str, Any], sep: str | None) -> bool:
    """Whether a file holds ballots in a form that is no table of numbers, or is said to do so."""
    from distkern.io.formats.rankings import BALLOTS
    from distkern.io.rankings.lines import Options
    from distkern.io.rankings.read import table_in

    if found.name == BALLOTS.name or values in ("orderings", "approval") or ballots:
        return True
    return found.is_table and table_in(path, Options(sep=sep)) != "wide"


def read_pairwise(path: Path, sep: str | None) -> PairwiseVotes | None:
    """Read the pairwise votes of a file, such as winners and losers or a ``.wmd`` file; None if it holds ballots."""
    from distkern.io.rankings.lines import Options
    from distkern.io.rankings.read import read_votes, table_in
    from distkern.io.registry import find_format

    found, options = find_format(path), Options(sep=sep)
    edges = path.name.lower().removesuffix(".gz").endswith(".wmd")
    if not edges and (not found.is_table or table_in(path, options) != "pairwise"):
        return None
    votes = read_votes(path, options)
    from distkern.core.pairwise_votes import PairwiseVotes

    return votes if isinstance(votes, PairwiseVotes) else None


def read_ballots(
    path: Path,
    *,
    values: str | None = None,
    samples: str | None = None,
    label: str | None = None,
    sep: str | None = None,
    items: Sequence[str] | None = None,
    ballots: dict[str, Any] | None = None,
    progress: Listener | None = None,
) -> Source:
    """Read ballots by the reader of `distkern.read_rankings` into a cohort of scores, larger = preferred.

    Parameters
    ----------
    values, samples, sep
        Options of the command.
    label
        Column of a table that is no item, such as weights.
    items
        The items, for a format that does not name them itself.
    ballots
        Options of `ballot_options`.
    progress
        Where the progress is shown.

    Raises
    ------
    InputError
        If the file holds pairwise votes, or cannot be read; the message names the line.
    """
    from distkern.core.events import silent
    from distkern.core.pairwise_votes import PairwiseVotes
    from distkern.io.origin import Origin
    from distkern.io.rankings.lines import Options
    from distkern.io.rankings.read import described, read_votes

    given = dict(ballots or {})
    asked = given.get("gaps")
    options = Options(sep=sep, samples=samples or "rows", items=None if items is None else tuple(items))
    options = replace(options, progress=progress or silent)
    options = replace(options, **{name: given[name] for name in ("item", "rank", "score") if name in given})
    if "voter" in given:
        options = replace(options, voter=tuple(given["voter"]))
    options = replace(options, blank=frozenset(given.get("blank", ())))
    form = _form(path, options, values, samples, label)
    if form in ("wide", "long"):
        # the kernel says what an item without a value means, unless the caller does; see `with_gaps_last`
        options = replace(options, values=values, gaps=asked or "interleaving")  # type: ignore[arg-type]
    else:
        options = replace(options, gaps=asked, items=None if form != "text" else options.items)
    if label is not None:
        options = replace(options, count=label) if form == "long" else replace(options, ignore=(label,), count="")
    votes = read_votes(path, options, form)
    if label is not None and form == "wide" and getattr(votes, "ids", None) is None:  # nothing to match weights by
        votes = read_votes(path, replace(options, ignore=(), count=label), form)
        label = None
    assert not isinstance(votes, PairwiseVotes)
    decided = asked is not None or form not in ("wide", "long")
    source = _as_scores(votes, decided)
    source.about = described(votes, decided=decided)
    told = values if form == "wide" and values != "scores" else None
    source.origin = Origin(path.name, samples, label if form == "wide" else None, values=told)
    return source


def _form(path: Path, options: Any, values: str | None, samples: str | None, label: str | None) -> str:
    """The format of a file of ballots; refuse options that it does not have."""
    from distkern.io.rankings.read import format_of

    form = "wide" if values in ("orderings", "approval") else format_of(path, options)
    if form == "pairwise" or (form == "preflib" and path.name.lower().removesuffix(".gz").endswith(".wmd")):
        raise InputError(
            f"{path.name!r} holds pairwise votes, and kernels compare ballots: give a file of ballots, or ask "
            "`distkern consensus`"
        )
    if form == "wide":
        from distkern.io.registry import find_format

        if find_format(path).samples is not None or (values == "orderings" and samples == "columns"):
            raise InputError(
                f"--values {values} is for a text table whose rows are ballots, and {path.name!r} is read otherwise: "
                "save it as such a table, and write --samples rows"
            )
        return form
    if samples == "columns":
        raise InputError(f"in {path.name!r} every line or voter is a sample: leave out --samples columns")
    if values not in (None, "scores") or (label is not None and form != "long"):
        option = "--values" if values not in (None, "scores") else f"the column {label!r}"
        raise InputError(f"{path.name!r} says itself what its ballots mean, and has no columns: leave out {option}")
    return form


def _as_scores(votes: Any, decided: bool) -> Source:
    """Make ballots a cohort. Missing values stay NaN, without a kind, unless their meaning is decided."""
    from distkern.io.source import as_source

    source = as_source(votes)
    if decided:
        return source
    open_ended = _replaced(source, votes.values)
    open_ended.kinds = None
    return open_ended
