"""``distkern score-sets``: scores of gene sets in each sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkern.cli.cohort import read_cohort
from distkern.cli.common import (
    Choice,
    LocalPath,
    execution_options,
    executor_of,
    is_given,
    json_option,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    reading_options,
    refuse_unwritable_table,
    sep_option,
    separator_of,
)
from distkern.cli.ending import again, conclude, stem_of, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo
from distkern.core.files import write_text
from distkern.core.names import shown

EPILOG = """\b
Examples:
  distkern score-sets cells.h5ad hallmarks.gmt --out scores.csv
  distkern score-sets cohort.tsv.gz emt.gmt --samples columns --method singscore --up-down _UP _DN

SETS is a GMT file: in each line the name of a set, a description, and its genes, separated by tabs. A gene that ends
with - speaks against its set. Genes are found by name; those that the cohort lacks are named."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.argument("sets", type=LocalPath())
@click.option(
    "--method", type=Choice(["ucell", "singscore"]), default="ucell", help="Score, from the ranks within a sample."
)
@click.option("--max-rank", type=click.IntRange(1), default=1500, help="For ucell: rank beyond which ranks are equal.")
@click.option(
    "--negative-weight", type=click.FloatRange(0), default=1.0, help="For ucell: weight of genes against a set."
)
@click.option(
    "--up-down",
    nargs=2,
    metavar="UP DOWN",
    help="Ends of names: two sets NAME_UP and NAME_DN become one set NAME with --up-down _UP _DN.",
)
@reading_options
@sep_option
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write the scores of every sample as a CSV table.")
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it exists.")
@execution_options
@json_option
@quiet_option
def score_sets(
    input: Path,
    sets: Path,
    method: str,
    max_rank: int,
    negative_weight: float,
    up_down: tuple[str, str] | None,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    memory_limit: int | None,
    **given: Any,
) -> None:
    """Score the gene sets of the file SETS in each sample of INPUT."""
    if method == "singscore" and (is_given("max_rank") or is_given("negative_weight")):
        other = "--max-rank" if is_given("max_rank") else "--negative-weight"
        raise click.UsageError(f"{other} is for --method ucell: leave it out")
    if out is not None:
        refuse_unwritable_table(out, overwrite)
    from distkern.io.gmt import read_gmt

    known = read_gmt(sets)
    how = {name: given[name] for name in ("samples", "label", "layer", "use_rep", "collapse", "genes")}
    source = read_cohort(input, sep=separator_of(given["sep"]), **how)
    on_interruption("nothing was written: run the same command again")
    with executor_of(**given) as executor:
        from distkern.learners import set_scores

        table = set_scores.score_sets(
            source,
            known,
            method,  # type: ignore[arg-type]
            max_rank=max_rank,
            negative_weight=negative_weight,
            up_down=up_down,
            executor=executor,
            progress=progress_of(quiet),
            memory_limit=memory_limit,
        )
    if out is not None:
        write_text(out, table.to_csv(index_label="id"), overwrite=overwrite)
    found = {name: _summary(table[name]) for name in table.columns}
    if as_json:
        print_json({"samples": len(table), "method": method, "sets": found, "out": out and str(out)})
        return
    echo(shown(f"{method} of {len(found):,} sets in {len(table):,} samples of {str(input)!r}"))
    print_table([(name, _words(summary)) for name, summary in found.items()])
    conclude(out, then=[] if out is not None else [again("--out", unused(f"{stem_of(sets)}-scores.csv"))])


def _summary(scores: Any) -> dict[str, float] | None:
    """Mean, least and largest score of a set; None if no gene of it was found."""
    if scores.isna().any():
        return None
    return {"mean": float(scores.mean()), "min": float(scores.min()), "max": float(scores.max())}


def _words(summary: dict[str, float] | None) -> str:
    if summary is None:
        return "no score"
    return f"mean {summary['mean']:.4f}, from {summary['min']:.4f} to {summary['max']:.4f}"
