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
    refuse_same_file,
    refuse_unwritable_file,
    refuse_unwritable_table,
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
@click.option(
    "--leave-out",
    "cohorts",
    metavar="COLUMN",
    help="Column of cohorts, such as hospitals: each is predicted by a model of all others, instead of outer folds.",
)
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
@click.option(
    "--permutations",
    type=click.IntRange(1),
    metavar="N",
    help="Also compute a p-value: permute the labels N times, and do the whole nested procedure again.",
)
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write the scores of every fold as JSON.")
@click.option("--scores", type=LocalPath(), metavar="FILE", help="Write the scores with 95 % intervals as a CSV table.")
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
    cohorts: str | None,
    permutations: int | None,
    out: Path | None,
    scores: Path | None,
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
    refuse_same_file({"--out": out, "--scores": scores})
    if out is not None:
        refuse_unwritable_file(out, overwrite)
    if scores is not None:
        refuse_unwritable_table(scores, overwrite)
    separator = separator_of(sep)
    gram = open_store(store, **view_of(kernel, ties, params))
    _refuse_unusable(gram)
    name, y = read_column(labels, label, gram.ids, samples=samples, sep=separator)
    grouped, cohort_of = (
        None if column is None else read_column(labels, column, gram.ids, samples=samples, sep=separator)[1]
        for column in (groups, cohorts)
    )
    _refuse_one_class(y, name, labels)
    from distkern.learners import selection

    on_interruption("nothing was written: run the same command again")
    found = selection.cross_validate_gram(
        _classifier(memory_limit),
        gram,
        y,
        C=C or selection.GRID,
        groups=grouped,
        cohorts=cohort_of,
        max_bytes=None if memory_limit is None else memory_limit // 2,  # the folds need as much again
        on_event=progress_of(quiet),
        **protocol,
    )
    about = {**about_matrix(gram, store), "label": name, "labels": labels.name, "groups": groups, "cohorts": cohorts}
    found = dataclasses.replace(found, settings=found.settings | about)
    tested = None
    if permutations is not None:
        tested = _tested(gram, y, grouped, permutations, C or selection.GRID, memory_limit, quiet, protocol)
    if out is not None:
        write_evaluation(out, found)
    intervals = found.held_out.scores(seed=protocol["seed"])
    if scores is not None:
        write_text(scores, intervals.to_csv(index=False, lineterminator="\n"))
    if as_json:
        more = {"classes": dict(Counter(y).most_common()), "out": None if out is None else str(out)}
        more["intervals"] = json.loads(intervals.to_json(orient="records"))
        more["permutations"] = None if tested is None else {**tested.settings, **_p_value(tested)}
        print_json(summary(found) | more)
        return
    click.echo(shown(f"{len(y)} samples of {str(store)!r} by {name!r}: {count_classes(y)}"))
    rows = scores_table(found)
    if tested is not None:
        p = _p_value(tested)
        of = f"balanced accuracy {p['score']:.2%}".replace("%", " %")
        rows.append(("p-value", f"{p['pvalue']:.2g}, of {of}; {p['permutations']:,} permutations"))
    print_table([*rows, ("kernel", repr(gram.kernel)), ("samples from", about["source"])])
    for file in filter(None, (out, scores)):
        click.echo(f"written to {file}")


def _tested(
    gram: Any,
    y: list[str],
    groups: list[str] | None,
    permutations: int,
    C: Any,
    memory_limit: int | None,
    quiet: bool,
    protocol: dict[str, int],
) -> Any:
    """Permute the labels, and evaluate the same classifier for each permutation."""
    from distkern.learners.permutation import permutation_test

    return permutation_test(
        _classifier(memory_limit) or _default_classifier(),
        gram,
        y,
        permutations=permutations,
        values=C,
        outer=protocol["outer"],
        inner=protocol["inner"],
        groups=groups,
        random_state=protocol["seed"],
        max_bytes=None if memory_limit is None else memory_limit // 2,
        on_event=progress_of(quiet),
    )


def _p_value(tested: Any) -> dict[str, Any]:
    return {"score": tested.score, "pvalue": tested.pvalue, "permutations": tested.permutations}


def _default_classifier() -> Any:
    from sklearn.pipeline import make_pipeline

    from distkern.learners.standardizer import KernelStandardizer
    from distkern.learners.svm import KernelSVC

    return make_pipeline(KernelStandardizer(), KernelSVC())


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
    known: Any = None if evaluation.held_out is None else evaluation.held_out.scores(seed=0).set_index("score")
    for metric, name in METRICS.items():
        mean, sd = evaluation.mean(metric), evaluation.std(metric)
        spread = "" if math.isnan(sd) else f" ± {sd:.4f}" if metric == "auc" else f" ± {sd:.2%}".replace("%", " %")
        value = f"{mean:.4f}" if metric == "auc" else f"{mean:.2%}".replace("%", " %")
        interval = "" if known is None else _interval(known.loc[SCORE_OF.get(metric, name)], metric == "auc")
        rows.append((name, value + spread + interval))
    for name in () if known is None else known.index.difference([*SCORE_OF.values(), *METRICS.values()], sort=False):
        own, plain = known.loc[name], name in ("Brier score", "log loss")
        value = f"{own['value']:.4f}" if plain else f"{own['value']:.2%}".replace("%", " %")
        rows.append((name, value + _interval(own, plain)))
    how = evaluation.settings
    folds = f"{how['repeats']} × {how['outer']} folds" if isinstance(how["outer"], int) else how["outer"]
    rows.append(("protocol", f"{folds}, C chosen by {how['inner']} inner folds; 95 % intervals of the samples"))
    rows.append(("time", f"{evaluation.seconds:.1f} s"))
    return rows


SCORE_OF = {"auc": "auc"}
"""Scores of held-out predictions that have another name than the metrics of an evaluation."""


def _interval(row: Any, plain: bool) -> str:
    """Write the interval of a score."""
    low, high = (f"{row[end]:.4f}" if plain else f"{100 * row[end]:.1f}" for end in ("low", "high"))
    return f" ({low} to {high}{'' if plain else ' %'})"


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
