"""``distkern report``: write a Gram matrix and its evaluation as an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkern.cli.cohort import read_column
from distkern.cli.common import (
    LocalPath,
    StoreLocation,
    json_option,
    open_store,
    print_json,
    quiet_option,
    refuse_unwritable_file,
    separator_of,
)
from distkern.cli.ending import conclude, opened
from distkern.cli.evaluate import _LABELS_HELP, label_options, read_evaluation
from distkern.cli.help import Command
from distkern.cli.kernels import view_of, view_options
from distkern.cli.progress import echo, step
from distkern.core.names import shown

if TYPE_CHECKING:
    from distkern.kernels.base import Kernel
    from distkern.learners.evaluation import Evaluation
    from distkern.learners.survival_evaluation import SurvivalEvaluation

EPILOG = """\b
Examples:
  distkern report cohort.zarr --evaluation result.json --out report.html
  distkern report cohort.zarr --labels clinical.csv --label relapse --out report.html
  distkern report colon.zarr --evaluation result.json --reference 85.78 --reference-label 'Jiao & Vert' --out page.html

The page is one HTML file that loads nothing from the network."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("store", type=StoreLocation())
@click.option("--out", type=LocalPath(), metavar="FILE", required=True, help="HTML file to write.")
@click.option("--evaluation", type=LocalPath(), metavar="FILE", help="File of `distkern evaluate --out`.")
@click.option("--reference", type=click.FloatRange(0, 100), help="Accuracy in per cent to compare with, such as 85.78.")
@click.option("--reference-label", metavar="TEXT", help="Source of that accuracy.")
@click.option("--labels", type=LocalPath(), metavar="FILE", help=_LABELS_HELP)
@label_options
@click.option("--title", metavar="TEXT", help="Title of the page.")
@click.option("--overwrite", is_flag=True, help="Replace the page if it exists.")
@view_options
@json_option
@quiet_option
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
    kernel: str | None,
    ties: str | None,
    params: tuple[str, ...],
    as_json: bool,
    quiet: bool,
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
    found = None if evaluation is None else read_evaluation(evaluation)
    gram = open_store(store, **(view_of(kernel, ties, params) or _view_of_evaluation(found)))
    y = None if labels is None else read_column(labels, label, gram.ids, samples=samples, sep=separator)[1]
    from distkern.report.page import write_report

    with step("writing the page"):
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
        about = {"kernel": gram.kernel.spec(), "source": gram.info()["source"]}
        print_json({"out": str(out), "bytes": out.stat().st_size, **about})
    else:
        echo(shown(f"{gram.kernel!r} of {gram.info()['source']}"))
        conclude(out, then=[opened(out)])


def _view_of_evaluation(evaluation: Evaluation | SurvivalEvaluation | None) -> dict[str, Kernel]:
    """The kernel that was evaluated, as an argument of `open_store`; none where that is not known."""
    from distkern.core.errors import DistkernError
    from distkern.kernels.registry import from_spec

    spec = None if evaluation is None else evaluation.settings.get("kernel")
    try:
        return {"kernel": from_spec(spec)} if isinstance(spec, dict) else {}
    except DistkernError:
        return {}
