"""``distkern append``: add samples to a stored Gram matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkern.cli.ballots import OPTIONS, ballot_options, ballots_of, read_meaning
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
    say,
    separator_of,
)
from distkern.cli.ending import clustering, command, conclude
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.kernels import view_of, view_options
from distkern.cli.progress import echo
from distkern.core.errors import InputError

READING = ("samples", "label", "sep", "layer", "use_rep", "values", "collapse", "genes", *OPTIONS)
"""Options that change what is read from a file."""

EPILOG = """\b
Examples:
  distkern append new-patients.csv cohort.zarr --samples columns
  distkern append batch2.h5ad cohort.zarr --workers 4

STORE must be complete. The result has the same bytes as if all samples had been computed at once. After an
interruption run the same command again."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.argument("store", type=StoreLocation())
@cohort_options
@ballot_options
@view_options
@execution_options
@json_option
@quiet_option
def append(
    input: Path,
    store: Path | str,
    kernel: str | None,
    ties: str | None,
    params: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Add the samples in INPUT to the Gram matrix in STORE. Only their rows and columns are computed."""
    from distkern.build.append import append_gram

    gram = open_store(store, **view_of(kernel, ties, params))
    before, complete, runs = gram.shape[0], gram.is_complete, len(gram.info()["runs"])
    X = _read(input, gram, quiet, **{name: given.pop(name) for name in READING})
    with executor_of(**given) as executor:
        on_interruption("all finished results are stored, and the same command continues from there")
        grown = append_gram(gram, X, executor=executor, memory_limit=given["memory_limit"], progress=progress_of(quiet))
    info = grown.info()
    if as_json:
        print_json(info)
        return
    rows, cols = grown.shape
    added = rows - before if complete else len(X)  # an interrupted command had already added them to the shape
    matrix = f"{rows:,} × {cols:,} Gram matrix complete ({grown.kernel!r})"
    echo(f"{store}: {added:,} samples added, {matrix}")
    report_computed(info["runs"], runs, quiet, "nothing was computed: the samples were already in the store")
    conclude(then=[command("info", store), *clustering(store, rows)])


def _read(input: Path, gram: Any, quiet: bool, **given: Any) -> Any:
    """Read the new samples with the options that the store was made with, unless other options are given."""
    from distkern.io.origin import Origin
    from distkern.io.registry import find_format

    told = Origin.in_text(gram.info()["source"]) or Origin("")
    found = find_format(input)
    choices = () if found.samples is None else found.options  # a table has none of them
    if choices and given["layer"] is given["use_rep"] is None:
        as_told = {name: getattr(told, name) for name in choices}
        given |= as_told
        if any(as_told.values()):
            key = f"the layer {told.layer!r}" if as_told["layer"] else f"{told.use_rep!r} in obsm"
            say(f"read from {key}, as the samples of the store were", quiet)
    given["ballots"] = ballots_of({name: given.pop(name) for name in OPTIONS})
    before, asked = told.values or "scores", given["values"]
    if not {"orderings", "approval"} & {before, asked} and asked not in (None, before):
        raise InputError(f"the samples of the store were read with --values {before}: leave out --values {asked}")
    values = asked or before
    given["sep"] = separator_of(given["sep"])
    source = read_cohort(input, items=gram.features, progress=progress_of(quiet), **(given | {"values": values}))
    return read_meaning(input, source, gram.kernel, values)[0] if values == "ranks" else source
