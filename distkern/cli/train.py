"""``distkern train``: evaluate, fit, calibrate and save a classifier, or a survival model, of a cohort."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import count_classes, read_labelled
from distkern.cli.common import (
    Choice,
    LocalPath,
    json_option,
    learner_memory_option,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    reading_options,
    refuse_same_file,
    refuse_unwritable_file,
    sep_option,
)
from distkern.cli.ending import READING, command, conclude, opened, typed
from distkern.cli.errors import on_interruption
from distkern.cli.evaluate import grid_options, grids_of, learner_option, scores_table
from distkern.cli.help import Command
from distkern.cli.kernels import kernel_choice, kernel_of
from distkern.cli.progress import echo, step
from distkern.cli.survival import read_timed, survival_asked, survival_options, train_times
from distkern.core.errors import InputError
from distkern.core.names import shown

if TYPE_CHECKING:
    from distkern.io.source import Source
    from distkern.kernels.base import Kernel

EPILOG = """\b
Examples:
  distkern train cohort.csv --samples columns --labels clinical.csv --label er --out er.model
  distkern train cohort.h5ad --label relapse --groups patient --learner fisher --out relapse.model
  distkern train probes.tsv --samples columns --collapse most-variable --genes annotation.csv \\
    --labels clinical.csv --label er --features other-cohort.tsv --out er.model --report er.html
  distkern predict er.model new-patients.csv --samples columns --out calls.csv
  distkern train cohort.csv --samples columns --labels clinical.csv --time days --event relapse --out risk.model

Kernel values are centred and scaled to unit norm on the training samples. Nested folds estimate the accuracy of the
whole procedure; then it is fitted to all samples. A survival model takes the kernel values as they are. The file holds
ranks and numbers, and no name of a sample."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("cohort", type=LocalPath())
@click.option("--out", type=LocalPath(), metavar="FILE", required=True, help="Write the model.")
@click.option(
    "--labels",
    type=LocalPath(),
    metavar="FILE",
    help="File of labels, whose column --label names. Default: the file of the cohort.",
)
@reading_options
@sep_option
@click.option("--groups", metavar="COLUMN", help="Column of groups, such as patients, that no fold divides.")
@click.option(
    "--features",
    type=LocalPath(),
    metavar="FILE",
    help="Train on the features that FILE has too: a cohort, such as the one to predict, or a text file with a name in "
    "each line.",
)
@click.option(
    "--missing",
    type=Choice(["error", "drop-features"]),
    default="error",
    help="Missing values: an error, or leave a feature out where a sample has no value.",
)
@learner_option
@survival_options
@kernel_choice(required=False, about="Kernel; default: kendall, which needs no normalisation. A name or a JSON spec.")
@grid_options
@click.option("--outer", type=click.IntRange(2), default=5, help="Number of outer folds, which test.")
@click.option("--repeats", type=click.IntRange(1), default=5, help="Number of repetitions of the outer folds.")
@click.option("--inner", type=click.IntRange(2), default=5, help="Number of inner folds, which choose C or lam.")
@click.option(
    "--calibration",
    type=Choice(["sigmoid", "isotonic"]),
    default="sigmoid",
    help="How decision values of samples not seen become probabilities.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed that shuffles the folds.")
@click.option("--report", type=LocalPath(), metavar="PAGE", help="Write the evaluation and the card as an HTML page.")
@click.option("--overwrite", is_flag=True, help="Replace the files of --out and --report if they exist.")
@learner_memory_option
@json_option
@quiet_option
def train(
    cohort: Path,
    out: Path,
    labels: Path | None,
    label: str | None,
    groups: str | None,
    features: Path | None,
    missing: str,
    kernel: str | None,
    ties: str | None,
    params: tuple[str, ...],
    learner: str,
    time: str | None,
    event: str | None,
    strata: str | None,
    risk_groups: int,
    C: tuple[float, ...],
    lam: tuple[float, ...],
    report: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Train a classifier on the labels of COHORT, or a survival model on its times, and save it for samples to come."""
    asked = survival_asked(learner, time, event, strata, risk_groups, ("label", "C", "calibration"))
    if asked is None and labels is None and label is None:
        raise click.UsageError("training needs labels: name their column with --label, and their file with --labels")
    refuse_same_file({"--out": out, "--report": report})
    refuse_unwritable_file(out, overwrite)
    if report is not None:
        from distkern.report.layout import require_extras

        require_extras()
        refuse_unwritable_file(report, overwrite)
    built = kernel_of(kernel or "kendall", ties, params)
    how = {name: given.pop(name) for name in ("samples", "layer", "use_rep", "collapse", "genes", "sep")}
    on_interruption("nothing was written: run the same command again")
    if asked is not None:
        source, times, stratum_of, grouped = read_timed(cohort, labels, asked, groups, how)
        source = _usable(source, features, missing, how)
        del given["calibration"]
        given |= {"kernel": built, "lam": lam, "strata": stratum_of, "groups": grouped}
        saving = {"overwrite": overwrite, "as_json": as_json, "quiet": quiet}
        train_times(source, times, asked, out, report, cohort=cohort.name, **saving, **given)
        conclude(out, report, then=_next(out, report, built))
        return
    source, name, y, grouped = read_labelled(cohort, labels, label, groups, how)
    source = _usable(source, features, missing, how)
    from distkern.learners.persist import save_model
    from distkern.learners.training import train_classifier

    grids = {name: values for name, values in grids_of(learner, C, lam).items() if values is not None}
    with step(f"training on {len(source):,} samples"):
        trained = train_classifier(
            source, y, kernel=built, learner=learner, **grids, groups=grouped, on_event=progress_of(quiet), **given
        )
    trained.predictor.card |= {"label": name}
    save_model(trained.predictor, out, overwrite=overwrite)
    if report is not None:
        from distkern.report.page import write_report

        about: Any = {"gram": trained.gram, "evaluation": trained.evaluation, "card": trained.card}
        with step("writing the page"):
            write_report(report, labels=y, **about, overwrite=overwrite)
    if as_json:
        print_json(trained.predictor.card | {"out": str(out), "bytes": out.stat().st_size})
        return
    size = f"{len(source):,} samples × {source.shape[1]:,} features of {cohort.name!r}"
    echo(shown(f"{size} by {name!r}: {count_classes(y)}"))
    chosen = {name: f"{trained.card[name]:g}" for name in ("C", "lam") if trained.card[name] is not None}
    print_table([*scores_table(trained.evaluation), ("kernel", repr(built)), *chosen.items()])
    conclude(out, report, then=_next(out, report, built))


def _next(model: Path, page: Path | None, kernel: Kernel) -> list[str]:
    """Commands that go on from a model."""
    then = [f"for new samples in FILE: {command('predict', model, 'FILE', *typed(*READING))}"]
    if str(kernel.spec()["kernel"]).endswith("kendall"):
        then.append(command("explain", model))
    return then if page is None else [*then, opened(page)]


def _usable(source: Source, features: Path | None, missing: str, how: dict[str, Any]) -> Source:
    """Keep the features that another file has too, and those without missing values."""
    import numpy as np

    if features is not None:
        wanted = _names_in(features, how)
        kept = np.array([k for k, name in enumerate(source.features or ()) if name in wanted], dtype=np.intp)
        if len(kept) < 2:
            raise InputError(
                f"{features.name!r} has {len(kept)} of the {source.shape[1]:,} features of the cohort: check that both "
                "use the same kind of names, such as symbols or Entrez numbers"
            )
        source = source.with_features(kept)
    if missing == "drop-features":
        from distkern.build.look import Looking, empty_features

        source = source.without_features(empty_features([source], Looking()))
        if source.shape[1] < 2:
            raise InputError("fewer than two features have a value in every sample: fill values in, or drop samples")
    return source


def _names_in(path: Path, how: dict[str, Any]) -> set[str]:
    """Names of features in a cohort, or in the lines of a text file; no value is read of a text table."""
    from distkern.cli.common import separator_of
    from distkern.io.registry import find_format, table_names
    from distkern.io.source import as_source
    from distkern.io.tables import open_text

    sep = separator_of(how["sep"])
    found = find_format(path)
    if found.samples is not None:
        features = as_source(path).features
        if features is None:
            raise InputError(f"the features of {path.name!r} have no names")
        return set(features)
    if found.general:  # text
        with open_text(path) as file:
            header = file.readline()
            if not any(char in header for char in ("\t", ",", ";") if sep is None or char == sep):
                return {line.strip() for line in (header, *file) if line.strip()}
    if how["samples"] is None:
        raise InputError(f"say with --samples whether the rows or the columns of {path.name!r} are the samples")
    rows, columns = table_names(path, sep)
    return set(columns if how["samples"] == "rows" else rows)
