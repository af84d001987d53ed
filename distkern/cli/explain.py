"""``distkern explain``: the pairs of features and the features that decide in a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkern.cli.ballots import read_meaning
from distkern.cli.cohort import read_cohort
from distkern.cli.common import (
    LocalPath,
    StoreLocation,
    cohort_options,
    json_option,
    learner_memory_option,
    open_store,
    print_json,
    progress_of,
    quiet_option,
    refuse_same_file,
    refuse_unwritable_table,
    separator_of,
)
from distkern.cli.ending import again, conclude, stem_of, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo
from distkern.cli.tables import print_frame
from distkern.core.errors import InputError
from distkern.core.files import write_text
from distkern.core.names import shown

SHOWN = 10
"""Rows of a table that are printed."""

EPILOG = """\b
Examples:
  distkern explain relapse.npz --pairs pairs.csv --features genes.csv
  distkern explain relapse.npz --store cohort.zarr -k 1000 --pairs pairs.csv
  distkern explain relapse.npz --new new-patients.csv --samples columns --scores scores.csv --pairs why.csv

MODEL is a file of save_model, of a model on one of the Kendall kernels. The weight of a pair speaks for the first class
of "a against b" where the first feature is above the second. With --new, the tables tell what pairs and features
contribute to the decision value of each new sample; with the intercept they add up to it."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("model", type=LocalPath())
@click.option(
    "--store",
    type=StoreLocation(),
    metavar="STORE",
    help="The matrix that the model was fitted on, if its file does not hold the samples.",
)
@click.option("-k", "--heaviest", "k", type=click.IntRange(1), default=100, help="Number of pairs of each machine.")
@click.option("--new", type=LocalPath(), metavar="FILE", help="New samples whose decision values are explained.")
@cohort_options
@click.option("--pairs", type=LocalPath(), metavar="FILE", help="Write the heaviest pairs as a CSV table.")
@click.option("--features", type=LocalPath(), metavar="FILE", help="Write all features as a CSV table.")
@click.option(
    "--scores", type=LocalPath(), metavar="FILE", help="With --new: write the decision values as a CSV table."
)
@click.option("--overwrite", is_flag=True, help="Replace the files of --pairs, --features and --scores if they exist.")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Number of threads. Default: one per core.")
@learner_memory_option
@json_option
@quiet_option
def explain(
    model: Path,
    store: Path | str | None,
    k: int,
    new: Path | None,
    pairs: Path | None,
    features: Path | None,
    scores: Path | None,
    overwrite: bool,
    threads: int | None,
    memory_limit: int | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Explain the model in the file MODEL by the weights of pairs of features, or of new samples by what moved them."""
    _refuse_usage(new, scores, given)
    files = {"pairs": pairs, "features": features, "scores": scores}
    for path in files.values():
        if path is not None:
            refuse_unwritable_table(path, overwrite)
    refuse_same_file({f"--{name}": path for name, path in files.items()})
    from distkern.learners.explain import explain as explained_by
    from distkern.learners.persist import load_model

    options: dict[str, Any] = {
        "executor": "threads" if threads is None else threads,
        "memory_limit": memory_limit,
        "progress": progress_of(quiet),
    }
    loaded = load_model(model)
    _refuse_store_mismatch(loaded, model, store)
    gram = None if store is None else open_store(store)
    on_interruption("nothing was written: run the same command again")
    found: Any = explained_by(loaded, gram, k=k, **options)
    kernel = found.kernel
    if new is not None:
        found = found.contributions(_read(new, kernel, found.names, **given), k=k, **options)
    tables = {name: getattr(found, name) for name in files if name != "scores" or new is not None}
    for name, path in files.items():
        if path is not None:
            write_text(path, tables[name].to_csv(index=False, lineterminator="\n"))
    if as_json:
        print_json(
            {
                "machines": list(found.machines),
                "kernel": kernel.spec(),
                "intercepts": found.intercepts.tolist(),
                **{name: table.to_dict(orient="records") for name, table in tables.items()},
            }
        )
        return
    echo(shown(f"{model}: {', '.join(found.machines)}; {kernel!r}"))
    for name, table in tables.items():
        _show(name, table, files[name])
    kept = [] if pairs is not None else [again("--pairs", unused(f"{stem_of(model)}-pairs.csv"))]
    conclude(*files.values(), then=kept)


def _refuse_usage(new: Path | None, scores: Path | None, given: dict[str, Any]) -> None:
    """Refuse options of new samples where there are none."""
    if new is not None:
        return
    asked = ["--scores"] if scores is not None else []
    asked += [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if asked:
        verb = "is" if len(asked) == 1 else "are"
        raise click.UsageError(f"{' and '.join(asked)} {verb} about new samples: add --new, or leave out {asked[0]}")


def _refuse_store_mismatch(loaded: Any, model: Path, store: Path | str | None) -> None:
    """Refuse a model without samples if there is no store, and a store for a model that has its samples."""
    from sklearn.utils import get_tags

    takes_values = get_tags(loaded).input_tags.pairwise
    if takes_values and store is None:
        raise InputError(
            f"{str(model)!r} holds a model without its training samples: add --store STORE, the matrix that it was "
            "fitted on"
        )
    if store is not None and not takes_values:
        raise click.UsageError(f"{str(model)!r} holds the training samples of its model: leave out --store")


def _read(path: Path, kernel: Any, items: tuple[str, ...], **given: Any) -> Any:
    """Read the new samples."""
    given["sep"] = separator_of(given["sep"])
    source = read_cohort(path, items=items if given["values"] == "orderings" else None, **given)
    return read_meaning(path, source, kernel, given["values"], ranked=given["values"] is not None)[0]


def _show(name: str, table: Any, path: Path | None) -> None:
    """Print the rows of a table with the largest numbers."""
    if name == "features":
        sizes = [column for column in table.columns if column.startswith(("importance", "contribution"))]
        largest = table[sizes].abs().max(axis=1)
        table = table.loc[largest.sort_values(ascending=False, kind="stable").index]
    rows = table.head(SHOWN)
    what = f"contributions of {name}" if "sample" in table and name != "scores" else name
    whole = f"{len(table):,} {what}" + ("" if len(table) <= SHOWN else f", the first {SHOWN}")
    echo(f"\n{whole}" + ("" if path is None else f" (all in {path})"))
    print_frame(rows, rows.to_string(index=False, float_format=lambda value: f"{value:.6g}"))
