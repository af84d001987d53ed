"""``distkern consensus``: a consensus ranking of ballots, how good it is, and how sure."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.ballots import Reading, ballot_options, ballots_of, read_meaning, read_pairwise, with_gaps_last
from distkern.cli.cohort import read_cohort, read_voters
from distkern.cli.common import (
    VALUES,
    Choice,
    LocalPath,
    json_option,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_unwritable_table,
    samples_option,
    sep_option,
    separator_of,
)
from distkern.cli.ending import again, conclude
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo, step
from distkern.core.errors import InputError
from distkern.core.files import write_text

if TYPE_CHECKING:
    from distkern.learners.bootstrap_consensus import BootstrapConsensus
    from distkern.learners.consensus import Consensus

EPILOG = """\b
Examples:
  distkern consensus votes.csv --samples rows --values ranks --weight count
  distkern consensus votes.csv --samples rows --values scores --gaps top --method borda --bootstrap 1000
  distkern consensus election.soi
  distkern consensus judges.csv --samples rows --values ranks -k 3 --time-limit 600 --out consensus.csv

INPUT is a file of ballots (PrefLib, BLT, orders as text such as '12: a > b = c', a table with a ballot in each row, or
with a row for each voter and item), or of pairwise votes (winners and losers). Kemeny's consensus contradicts the least
number of preferences. The answer says whether that is proven: no ranking contradicts fewer preferences than the lower
bound."""

METHODS = ("kemeny", "borda", "copeland", "median-rank", "local-search")


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.option(
    "--method",
    type=Choice(METHODS),
    default="kemeny",
    help="kemeny: the least number of contradicted preferences. borda: mean ranks. copeland: majorities won. "
    "median-rank: the least distance of places (footrule). local-search: near kemeny, for very many items.",
)
@samples_option
@click.option(
    "--values",
    type=Choice(VALUES),
    help="Meaning of the values. scores: the largest is the best. ranks: 1 is the best. orderings: the columns are "
    "places, the best first, and each cell names an item.",
)
@ballot_options
@click.option("--weight", metavar="COLUMN", help="Column with the number of voters of each ballot.")
@click.option("--weights", type=LocalPath(), metavar="FILE", help="File with that column. Default: INPUT.")
@sep_option
@click.option("-k", type=click.IntRange(1), metavar="K", help="Place only the best K items; all others are tied.")
@click.option("--ties", type=Choice(["never", "allowed"]), default="never", help="Whether the consensus may tie items.")
@click.option(
    "--penalty",
    type=click.FloatRange(0, 1),
    default=0.5,
    help="With -k or --ties allowed: what a pair counts that is tied either on the ballot or in the consensus.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Time for --method kemeny, for each resample of --bootstrap too. Default: 60, and 10 for each resample.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Draw the voters N times, and tell between which places each item lies.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    help="Share of the places that the interval of an item covers.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Seed of --bootstrap.")
@click.option(
    "--out", type=LocalPath(), metavar="FILE", help="Write the items, their places and intervals as a CSV table."
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it exists.")
@json_option
@quiet_option
def consensus(
    input: Path,
    method: str,
    k: int | None,
    ties: str,
    penalty: float,
    time_limit: float | None,
    bootstrap: int,
    confidence: float,
    seed: int,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Find a consensus ranking of the ballots in INPUT."""
    _refuse_usage(method, k, ties == "allowed", bootstrap, given)
    if out is not None:
        refuse_unwritable_table(out, overwrite)
    on_interruption("nothing was written: run the same command again")
    ballots = _read(input, given)
    from distkern.learners.bootstrap_consensus import TIME_LIMIT as EACH
    from distkern.learners.bootstrap_consensus import bootstrap_consensus
    from distkern.learners.consensus import TIME_LIMIT, consensus_ranking

    about: dict[str, Any] = {"method": method, "sample_weight": ballots.weights}
    tied: dict[str, Any] = {"k": k, "ties": ties, "penalty": penalty}
    limit = TIME_LIMIT if time_limit is None else time_limit
    most = f" (at most {limit:g} s)" if method == "kemeny" else ""
    with step(f"looking for the consensus{most}"):
        found = consensus_ranking(ballots.rankings, time_limit=limit, **tied, **about)
    drawn = None
    if bootstrap:
        each = EACH if time_limit is None else time_limit
        how: dict[str, Any] = {"n_resamples": bootstrap, "confidence": confidence, "random_state": seed}
        how["on_event"] = progress_of(quiet)
        drawn = bootstrap_consensus(ballots.rankings, time_limit=each, **how, **about)
    result = Result(ballots, found, drawn, k)
    if out is not None:
        _write(out, result.rows())
    if as_json:
        print_json(result.to_json() | {"out": out and str(out)})
        return
    result.show(str(input))
    certain = bootstrap or k is not None or ties == "allowed" or method == "median-rank"
    conclude(out, then=[] if certain else [again("--bootstrap", 200, without=("bootstrap", "out"))])


def _refuse_usage(method: str, k: int | None, allow_ties: bool, bootstrap: int, given: dict[str, Any]) -> None:
    if k is not None and allow_ties:
        raise click.UsageError("-k ties all other items: leave out -k or --ties allowed")
    option = "-k" if k is not None else "--ties allowed"
    if (k is not None or allow_ties) and method != "kemeny":
        raise click.UsageError(f"{option} is for --method kemeny: leave one of the two out")
    if bootstrap and (k is not None or allow_ties):
        raise click.UsageError(f"--bootstrap is for rankings of all items without ties: leave out {option}")
    if bootstrap and method == "median-rank":
        raise click.UsageError("--bootstrap is for the other methods than median-rank: choose another --method")
    if given["weights"] is not None and given["weight"] is None:
        raise click.UsageError("--weights is a file: name its column with --weight")


@dataclass(frozen=True)
class Ballots:
    """Ballots, the number of voters of each if given, and how they were read."""

    rankings: Any
    weights: list[float] | None
    reading: Reading | None
    count: float
    kind: str = "ballots"


def _read(path: Path, given: dict[str, Any]) -> Ballots:
    """Read the ballots, or the pairwise votes, of a file."""
    from distkern.kernels.partial import PartialKendall

    sep, asked = separator_of(given["sep"]), ballots_of(given)
    votes = read_pairwise(path, sep)
    if votes is not None:
        _refuse_for_pairs(path, given)
        return Ballots(votes, None, None, votes.comparisons, "comparisons")
    own = given["weight"] if given["weights"] in (None, path) else None
    whole = read_cohort(path, label=own, samples=given["samples"], sep=sep, values=given["values"], ballots=asked)
    kernel = PartialKendall(kind="top") if given["gaps"] == "top" else None  # says that gaps come last
    source, reading = read_meaning(path, whole, kernel, given["values"], ranked=True)
    if reading is not None and reading.gaps == "interleaving" and given["gaps"] is None and not source.kinds:
        raise InputError(
            f"ballots of {path.name!r} have items without a value: write --gaps top if these come after all others, "
            "or --gaps interleaving if they may have any rank"
        )
    ids = list(source.ids or map(str, range(len(source))))
    weights, _ = read_voters(path, source, source.counts, ids, given)
    return Ballots(with_gaps_last(source, kernel), weights, reading, len(source))


def _refuse_for_pairs(path: Path, given: dict[str, Any]) -> None:
    """Refuse options of ballots where there are pairwise votes."""
    options = ("values", "weight", "gaps", "voter", "item", "rank", "score")
    told = next((name for name in options if given[name]), None)
    if told is not None:
        raise InputError(f"{path.name!r} holds pairwise votes, which say themselves who wins: leave out --{told}")


# The result --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """The consensus, its bootstrap if asked for, and the number of items that it places."""

    ballots: Ballots
    found: Consensus
    drawn: BootstrapConsensus | None
    k: int | None

    def rows(self) -> list[dict[str, Any]]:
        """The items, best first."""
        if self.drawn is not None:
            return self.drawn.rows()
        buckets = self.found.buckets or tuple((item,) for item in self.found.items)
        rows: list[dict[str, Any]] = []
        for bucket in buckets:
            place = len(rows) + 1
            rows += [{"item": item, "place": place} for item in bucket]
        return rows

    def to_json(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        found, drawn, reading = self.found, self.drawn, self.ballots.reading
        bootstrap = None
        if drawn is not None:
            bootstrap = {
                "resamples": drawn.n_resamples,
                "confidence": drawn.confidence,
                "same_order": drawn.same_order,
                "same_winner": drawn.same_winner,
                "proven": drawn.proven,
                "items": list(drawn.items),
                "precedence": drawn.precedence.tolist(),
            }
        return {
            "order": str(found),
            "items": self.rows(),
            "method": found.method,
            "discordant_pairs": found.distance,
            "lower_bound": found.lower_bound,
            "gap": found.gap,
            "optimal": found.optimal,
            "unique_winner": found.unique,
            "winners": list(found.winners),
            "optimal_orders": found.n_optimal,
            "optimal_orders_exact": found.n_optimal_exact,
            "footrule": found.footrule,
            "ballots": self.ballots.count,
            "voters": found.voters,
            "reading": None if reading is None else reading.to_json(),
            "bootstrap": bootstrap,
        }

    def show(self, name: str) -> None:
        """Print it."""
        found = self.found
        what = f"{self.ballots.count:,.12g} {self.ballots.kind} of {len(found.items):,} items"
        echo(f"{what} in {name!r}, by {found.method}")
        lines = [("consensus", str(found) if self.k is None else self._head(self.k))]
        lines.append(("discordant", f"{found.distance:,.12g} pairs of {found.voters:,.12g} voters"))
        proof = "proven to be the least" if found.optimal else f"gap {found.gap:,.6g} ({self._share():.2%})"
        lines.append(("at least", f"{found.lower_bound:,.12g}: {proof}"))
        if found.footrule is not None:
            lines.append(("footrule", f"{found.footrule:,.12g}, the least"))
        lines.append(("winner", self._winner()))
        if self.drawn is not None:
            same = f"the same order in {self.drawn.same_order:.1%}, the same winner in {self.drawn.same_winner:.1%}"
            lines.append(("resamples", f"{self.drawn.n_resamples:,}: {same}"))
            if self.drawn.proven < 1:
                lines.append(("", f"proven in {self.drawn.proven:.1%}"))
        if self.ballots.reading is not None:
            lines.append(("ballots", str(self.ballots.reading)))
        print_table(lines)
        if self.drawn is not None:
            share = f"{self.drawn.confidence:.0%}"
            print_table([(row["item"], _places(row, share)) for row in self.drawn.rows()])

    def _head(self, k: int) -> str:
        others = len(self.found.items) - k
        return " > ".join(self.found.items[:k]) + (f" > {others:,} others" if others > 0 else "")

    def _share(self) -> float:
        return self.found.gap / self.found.distance if self.found.distance else 0.0

    def _winner(self) -> str:
        found = self.found
        if found.unique:
            return f"{found.items[0]}, the only one by this rule"
        if found.unique is None:
            return f"{found.items[0]}; whether another one is as good is not known"
        others = [item for item in found.winners if item != found.items[0]]
        return f"{found.items[0]}; as good: {', '.join(others) or 'another one'}"


def _places(row: dict[str, Any], share: str) -> str:
    low, high = row["lowest"], row["highest"]
    span = f"place {low}" if low == high else f"places {low} to {high}"
    return f"{row['place']:>3}; {share} in {span}; first in {row['first']:.1%}"


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    table = io.StringIO()
    out = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    out.writeheader()
    out.writerows(rows)
    write_text(path, table.getvalue())
