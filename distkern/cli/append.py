"""``distkern append``: add samples to a stored Gram matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkern.cli.cohort import read_cohort
from distkern.cli.common import (
    LocalPath,
    StoreLocation,
    cohort_options,
    execution_options,
    executor_of,
    json_option,
    open_store,
    print_json,
    progress_of,
    quiet_option,
    report_computed,
    separator_of,
)
from distkern.cli.errors import on_interruption

EPILOG = """\b
Examples:
  distkern append new-patients.csv cohort.zarr --samples columns
  distkern append batch2.h5ad cohort.zarr --workers 4

STORE must be complete. The result has the same bytes as if all samples had been computed at once. After an
interruption run the same command again."""


@click.command(epilog=EPILOG, short_help="Add samples to a stored Gram matrix.")
@click.argument("input", type=LocalPath())
@click.argument("store", type=StoreLocation())
@cohort_options
@execution_options
@json_option
@quiet_option
def append(
    input: Path,
    store: Path | str,
    samples: str | None,
    label: str | None,
    sep: str | None,
    as_json: bool,
    quiet: bool,
    **execution: Any,
) -> None:
    """Add the samples in INPUT to the Gram matrix in STORE. Only their rows and columns are computed."""
    from distkern.build.append import append_gram

    gram = open_store(store)
    before, complete, runs = gram.shape[0], gram.is_complete, len(gram.info()["runs"])
    X = read_cohort(input, samples=samples, label=label, sep=separator_of(sep))
    with executor_of(**execution) as executor:
        on_interruption("all finished results are stored, and the same command continues from there")
        grown = append_gram(
            gram, X, executor=executor, memory_limit=execution["memory_limit"], progress=progress_of(quiet)
        )
    info = grown.info()
    if as_json:
        print_json(info)
        return
    rows, cols = grown.shape
    added = rows - before if complete else len(X)  # an interrupted command had already added them to the shape
    click.echo(f"{store}: {added:,} samples added, {rows:,} × {cols:,} Gram matrix complete")
    report_computed(info["runs"], runs, quiet, "nothing was computed: the samples were already in the store")
