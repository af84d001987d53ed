"""``distkern report``: write a Gram matrix and its evaluation as an HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from distkern.cli.cohort import read_column
from distkern.cli.common import (
    LocalPath,
    StoreLocation,
    json_option,
    open_store,
    print_json,
    refuse_unwritable_file,
    separator_of,
)
from distkern.cli.evaluate import _LABELS_HELP, label_options, read_evaluation

EPILOG = """\b
Examples:
  distkern report cohort.zarr --evaluation result.json --out report.html
  distkern report cohort.zarr --labels clinical.csv --label relapse --out report.html
  distkern report colon.zarr --evaluation result.json --reference 85.78 --reference-label 'Jiao & Vert' --out page.html

The page is one HTML file that loads nothing from the network."""


@click.command(epilog=EPILOG, short_help="Write a store and its evaluation as an HTML page.")
@click.argument("store", type=StoreLocation())
@click.option("--out", type=LocalPath(), metavar="FILE", required=True, help="HTML file to write.")
@click.option("--evaluation", type=LocalPath(), metavar="FILE", help="File of `distkern evaluate --out`.")
@click.option("--reference", type=click.FloatRange(0, 100), help="Accuracy in per cent to compare with, such as 85.78.")
@click.option("--reference-label", metavar="TEXT", help="Source of that accuracy.")
@click.option("--labels", type=LocalPath(), metavar="FILE", help=_LABELS_HELP)
@label_options
@click.option("--title", metavar="TEXT", help="Title of the page.")
@click.option("--overwrite", is_flag=True, help="Replace the page if it exists.")
@json_option
def report(
    store: Path | str,
    out: Path,
    evaluation: Path | None,
    reference: float | None,
    reference_label: str | None,
    labels: Path | None,
    label: str | None,
    samples: str,
    sep: str | None,
    title: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write the Gram matrix in STORE, and its evaluation or labels if given, as one HTML page."""
    if label is not None and labels is None:
        raise click.UsageError("--label names a column of a file of labels: add --labels")
    if reference_label is not None and reference is None:
        raise click.UsageError("--reference-label names the source of an accuracy: add --reference")
    if reference is not None and evaluation is None:
        raise click.UsageError("--reference is compared with an evaluation: add --evaluation")
    refuse_unwritable_file(out, overwrite)
    separator = separator_of(sep)
    gram = open_store(store)
    found = None if evaluation is None else read_evaluation(evaluation)
    y = None if labels is None else read_column(labels, label, gram.ids, samples=samples, sep=separator)[1]
    from distkern.report.page import write_report

    write_report(
        out,
        gram=gram,
        labels=y,
        evaluation=found,
        reference=reference,
        reference_label=reference_label,
        title=title,
        overwrite=overwrite,
    )
    if as_json:
        print_json({"out": str(out), "bytes": out.stat().st_size})
    else:
        click.echo(f"written to {out}")
