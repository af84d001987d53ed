"""``distkern evaluate``: cross-validate a classifier on a Gram matrix."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import count_classes, read_column
from distkern.cli.common import (
    Choice,
    LocalPath,
    StoreLocation,
    json_option,
    learner_memory_option,
    open_store,
    options,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_unwritable_file,
    sep_option,
    separator_of,
)
from distkern.cli.errors import on_interruption
from distkern.cli.kernels import view_of, view_options
from distkern.core.errors import InputError
from distkern.core.files import write_text
from distkern.core.names import shown

if TYPE_CHECKING:
    from distkern.learners.selection import Evaluation

EPILOG = """\b
Examples:
  distkern evaluate cohort.zarr --labels clinical.csv --label relapse --out result.json
  distkern evaluate cohort.zarr --labels cohort.h5ad --label relapse --groups patient
  distkern evaluate cohort.zarr --labels cohort.csv --samples columns --label relapse --C 0.1 --C 1 --repeats 3

The classifier is a support vector machine on the kernel values, which are centred and scaled to unit norm on the
training samples of each fold. Inner folds choose its C. Labels are matched by the samples' ids."""

label_options = options(
    click.option(
        "--label",
        metavar="COLUMN",
        help="Column with the labels. It may be left out if the file has only one column.",
    ),
    click.option(
        "--samples",
        type=Choice(["rows", "columns"]),
        default="rows",
        help="Whether the rows or the columns of the text table of labels are the samples.",
    ),
    sep_option,
)
_LABELS_HELP = (
    "File of labels: a text table whose first column holds the samples' ids (see --samples), or an .h5ad, .npz or "
    ".zarr file."
)


@click.command(epilog=EPILOG, short_help="Cross-validate a classifier on a store.")
@click.argument("store", type=StoreLocation())
@click.option("--labels", type=LocalPath(), metavar="FILE", required=True, help=_LABELS_HELP)
@label_options
@click.option("--groups", metavar="COLUMN", help="Column of groups, such as patients, that no split divides.")
@click.option("--outer", type=click.IntRange(2), default=5, help="Number of outer folds, which test.")
@click.option("--repeats", type=click.IntRange(1), default=10, help="Number of repetitions of the outer folds.")
@click.option("--inner", type=click.IntRange(2), default=5, help="Number of inner folds, which choose C.")
@click.option(
    "--C",
    "C",
    type=click.FloatRange(0, min_open=True),
    multiple=True,
    help="A value of C to choose from; may be repeated. By default 0.01, 0.1, 1, 10, 100 and 1000.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed that shuffles the folds.")
@learner_memory_option
@view_options
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write the scores of every fold as JSON.")
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it exists.")
@json_option
@quiet_option
def evaluate(
    store: Path | str,
    labels: Path,
    label: str | None,
    samples: str,
    sep: str | None,
    groups: str | None,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    memory_limit: int | None,
    C: tuple[float, ...],
    kernel: str | None,
    ties: str | None,
    params: tuple[str, ...],
    **protocol: Any,
) -> None:
    """Estimate the accuracy of a classifier on the Gram matrix in STORE by repeated nested cross-validation."""
    if out is not None:
        refuse_unwritable_file(out, overwrite)
    separator = separator_of(sep)
    gram = open_store(store, **view_of(kernel, ties, params))
    _refuse_unusable(gram)
    name, y = read_column(labels, label, gram.ids, samples=samples, sep=separator)
    grouped = None if groups is None else read_column(labels, groups, gram.ids, samples=samples, sep=separator)[1]
    _refuse_one_class(y, name, labels)
    from distkern.learners import selection

    on_interruption("nothing was written: run the same command again")
    found = selection.cross_validate_gram(
        _classifier(memory_limit),
        gram,
        y,
        C=C or selection.GRID,
        groups=grouped,
        max_bytes=None if memory_limit is None else memory_limit // 2,  # the folds need as much again
        on_event=progress_of(quiet),
        **protocol,
    )
    about = {**about_matrix(gram, store), "label": name, "labels": labels.name, "groups": groups}
    found = dataclasses.replace(found, settings=found.settings | about)
    if out is not None:
        write_evaluation(out, found)
    if as_json:
        print_json(
            summary(found) | {"classes": dict(Counter(y).most_common()), "out": None if out is None else str(out)}
        )
        return
    click.echo(shown(f"{len(y)} samples of {str(store)!r} by {name!r}: {count_classes(y)}"))
    print_table([*scores_table(found), ("kernel", repr(gram.kernel)), ("samples from", about["source"])])
    if out is not None:
        click.echo(f"written to {out}")


def _classifier(memory_limit: int | None) -> Any:
    """The classifier of `cross_validate_gram`, within a limit of memory if there is one."""
    if memory_limit is None:
        return None
    from sklearn.pipeline import make_pipeline

    from distkern.learners.standardizer import KernelStandardizer
    from distkern.learners.svm import KernelSVC

    half = memory_limit // 2
    return make_pipeline(KernelStandardizer(memory_limit=half), KernelSVC(memory_limit=half))


def about_matrix(gram: Any, store: Path | str) -> dict[str, Any]:
    """What a result says of the matrix that it was computed from, ready for JSON."""
    info = gram.info()
    return {
        "store": Path(store).name,
        "kernel": info["kernel"],
        "source": info["source"],
        "fingerprint": info["fingerprint"]["rows"],
    }


def _refuse_unusable(gram: Any) -> None:
    info = gram.info()
    if not gram.is_symmetric:
        raise InputError(
            "{store!r} is a test × training matrix: cross-validation needs the matrix of one cohort, computed without "
            "--against",
            store=gram.path,
        )
    if not info["complete"]:
        raise InputError(
            "{store!r} is not complete ({done} of {tiles} tiles): run the same `distkern gram` again, which continues "
            "where it stopped",
            store=gram.path,
            done=info["tiles_done"],
            tiles=info["tiles"],
        )


def _refuse_one_class(y: list[str], name: str, labels: Path) -> None:
    if len(set(y)) < 2:
        raise InputError(
            "all samples have the {column!r} {label!r} in {file!r}: two classes or more are needed",
            column=name,
            label=y[0],
            file=labels.name,
        )


# The result --------------------------------------------------------------------------------------------------------


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """Return the mean and standard deviation of each score, the settings and the time, ready for JSON."""
    from distkern.learners.selection import METRICS

    scores = {
        metric: {"mean": _number(evaluation.mean(metric)), "sd": _number(evaluation.std(metric))} for metric in METRICS
    }
    return {**scores, "settings": evaluation.settings, "seconds": evaluation.seconds}


def scores_table(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return the mean ± standard deviation of each score over the repeats, as rows of a table."""
    from distkern.learners.selection import METRICS

    rows = []
    for metric, name in METRICS.items():
        mean, sd = evaluation.mean(metric), evaluation.std(metric)
        spread = "" if math.isnan(sd) else f" ± {sd:.4f}" if metric == "auc" else f" ± {sd:.2%}".replace("%", " %")
        value = f"{mean:.4f}" if metric == "auc" else f"{mean:.2%}".replace("%", " %")
        rows.append((name, value + spread))
    how = evaluation.settings
    rows.append(("protocol", f"{how['repeats']} × {how['outer']} folds, C chosen by {how['inner']} inner folds"))
    rows.append(("time", f"{evaluation.seconds:.1f} s"))
    return rows


def write_evaluation(path: Path, evaluation: Evaluation) -> None:
    """Write an evaluation as JSON."""
    write_text(path, json.dumps(evaluation.to_dict(), indent=1, ensure_ascii=False) + "\n")


def read_evaluation(path: Path) -> Evaluation:
    """Read the evaluation that `distkern evaluate --out` wrote.

    Raises
    ------
    InputError
        If the file does not exist or holds something else.
    """
    from distkern.learners.selection import Evaluation

    if not path.is_file():
        raise InputError(f"there is no evaluation {str(path)!r}: make one with `distkern evaluate --out`")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict):
            raise InputError("it is not a JSON object")
        return Evaluation.from_dict(values)
    except ValueError as error:  # not JSON, not text, or other JSON
        raise InputError(f"{path.name!r} is not a file of `distkern evaluate --out`: {error}") from error


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
