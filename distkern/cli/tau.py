"""``distkern tau``: Kendall's tau between features, as the edges of a network."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import read_cohort, read_column
from distkern.cli.common import (
    Choice,
    LocalPath,
    cohort_options,
    execution_options,
    executor_of,
    json_option,
    print_json,
    progress_of,
    quiet_option,
    refuse_same_file,
    refuse_unwritable_file,
    say,
    separator_of,
)
from distkern.cli.ending import conclude
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo
from distkern.core.errors import InputError

if TYPE_CHECKING:
    from distkern.io.source import Source

READING = ("samples", "label", "layer", "use_rep", "collapse", "genes")
"""Options that change what is read from a file."""

EPILOG = """\b
Examples:
  distkern tau cohort.csv --samples columns --out network.graphml --min-tau 0.4
  distkern tau cells.h5ad --stratum donor --out network.parquet --fdr 0.01 --memory-limit 2GiB
  distkern tau genes.csv --against phenotypes.csv --samples rows --out associations.csv
  distkern tau peaks.h5ad --against genes.h5ad --pairs near.csv --out pairs.parquet

Tau compares the features of INPUT with one another, or with those of --against, whose samples are found by their ids.
An edge is a pair with q of at most --fdr and |tau| of at least --min-tau; q is that of Benjamini and Hochberg over all
pairs that are compared. A list of --pairs is written whole, unless --fdr or --min-tau is given. The end of --out
decides on the format: .csv, .tsv, .parquet or .graphml."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.option("--out", type=LocalPath(), metavar="FILE", required=True, help="File of the edges, or of the pairs.")
@click.option("--against", type=LocalPath(), metavar="FILE", help="Second table of the same samples, read as INPUT is.")
@click.option(
    "--pairs", type=LocalPath(), metavar="FILE", help="Table of two columns, first and second: only these pairs."
)
@click.option("--fdr", type=click.FloatRange(0, 1, min_open=True), help="Largest q of an edge. Default: 0.05.")
@click.option("--min-tau", type=click.FloatRange(0, 1), help="Smallest |tau| of an edge. Default: any.")
@click.option(
    "--stratum",
    metavar="COLUMN",
    help="Column with the stratum of each sample, such as its donor: samples of one stratum are compared.",
)
@click.option("--strata", type=LocalPath(), metavar="FILE", help="File with that column. Default: INPUT.")
@click.option(
    "--missing",
    type=Choice(["error", "drop-samples", "pairwise"]),
    default="error",
    help="Missing values: an error, leave out their samples, or compare each pair on the samples that have both.",
)
@click.option(
    "--alternative",
    type=Choice(["two-sided", "less", "greater"]),
    default="two-sided",
    help="Which tau departs from independence.",
)
@cohort_options
@execution_options
@click.option(
    "--store",
    type=LocalPath(),
    metavar="FOLDER",
    help="Keep finished parts in this folder, so that the same command goes on from them after an interruption.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it exists.")
@json_option
@quiet_option
def tau(
    input: Path,
    out: Path,
    against: Path | None,
    pairs: Path | None,
    fdr: float | None,
    min_tau: float | None,
    stratum: str | None,
    strata: Path | None,
    missing: str,
    alternative: str,
    store: Path | None,
    overwrite: bool,
    memory_limit: int | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Compute Kendall's tau-b between the features of INPUT, with p-values, and write the edges to a file."""
    if given["values"] is not None:
        raise click.UsageError("--values is about ballots, and tau does not depend on it: leave it out")
    from distkern.pairs.correlation import kendalltau_matrix
    from distkern.pairs.networks import check_suffix

    check_suffix(out)
    refuse_same_file({"--out": out, "--store": store})
    refuse_unwritable_file(out, overwrite)
    X = _read(input, given)
    Y = None if against is None else _read(against, given)
    edges = pairs is None or fdr is not None or min_tau is not None
    kept = "nothing was written, and nothing kept: run the same command again, with --store to keep finished parts"
    on_interruption(kept if store is None else f"finished parts are in {store}: run the same command again to go on")
    with executor_of(**given) as executor:
        written = kendalltau_matrix(
            X,
            pvalue=True,
            missing="raise" if missing == "error" else missing,  # type: ignore[arg-type]
            Y=Y,
            pairs=pairs,
            strata=_strata(input, X, strata, stratum, given),
            output="edges" if edges else "matrix",
            fdr=fdr,
            min_tau=min_tau,
            path=out,
            store=store,
            overwrite=overwrite,
            executor=executor,
            alternative=alternative,  # type: ignore[arg-type]
            memory_limit=memory_limit,
            progress=progress_of(quiet),
        )
    if as_json:
        print_json(asdict(written) | {"path": str(out)})
        return
    what = "edges" if edges else "pairs"
    echo(f"{written.edges:,} {what}, {written.tests:,} pairs tested")
    if written.undefined:
        say(f"{written.undefined:,} pairs have no p-value: one of the features is constant on their samples", quiet)
    conclude(out)


def _read(path: Path, given: dict[str, Any]) -> Source:
    return read_cohort(path, sep=separator_of(given["sep"]), **{name: given[name] for name in READING})


def _strata(
    input: Path, X: Source, strata: Path | None, stratum: str | None, given: dict[str, Any]
) -> list[str] | None:
    """Read the stratum of each sample by its id."""
    if strata is None and stratum is None:
        return None
    if X.ids is None:
        raise InputError(f"{input.name!r} does not name its samples, so that strata cannot be matched: name them")
    path = input if strata is None else strata
    samples = given["samples"] if strata is None else None
    return read_column(path, stratum, X.ids, samples=samples, sep=separator_of(given["sep"]))[1]
