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
from distkern.cli.ending import again, command, conclude, stem_of, typed, unused
from distkern.cli.errors import on_interruption
from distkern.cli.external import external_options, predict_other, read_external, refuse_alone
from distkern.cli.help import Command
from distkern.cli.kernels import view_of, view_options
from distkern.cli.progress import echo, step
from distkern.cli.survival import Asked, evaluate_times, print_survival, survival_asked, survival_options
from distkern.core.errors import InputError
from distkern.core.files import write_text
from distkern.core.names import shown

if TYPE_CHECKING:
    from distkern.io.source import Source
    from distkern.learners.evaluation import Evaluation, PermutationTest
    from distkern.learners.survival_evaluation import SurvivalEvaluation

EPILOG = """\b
Examples:
  distkern evaluate cohort.zarr --labels clinical.csv --label relapse --out result.json
  distkern evaluate cohort.zarr --labels cohort.h5ad --label relapse --groups patient
  distkern evaluate cohort.zarr --labels cohort.csv --samples columns --label relapse --C 0.1 --C 1 --repeats 3
  distkern evaluate cohort.zarr --labels clinical.csv --label er --external other.tsv --external-samples columns \
    --external-labels other-clinical.csv --missing interleaving --permutations 999 --scores scores.csv
  distkern evaluate cohort.zarr --labels clinical.csv --time days --event relapse --strata hospital

The classifier works on the kernel values, which are centred and scaled to unit norm on the training samples of each
fold. Inner folds choose C of a support vector machine, or lam of logistic regression. Labels are matched by the
samples' ids. Intervals are those of a bootstrap of the test samples within each class. A survival model works on the
kernel values as they are."""

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
learner_option = click.option(
    "--learner",
    type=Choice(["svm", "fisher", "logistic", "cox", "survival-svm"]),
    default="svm",
    help="Support vector machine, Fisher's discriminant, or logistic regression; with --time and --event Cox's model, "
    "which is then the default, or a survival support vector machine.",
)
grid_options = options(
    click.option(
        "--C",
        "C",
        type=click.FloatRange(0, min_open=True),
        multiple=True,
        help="A value of C to choose from; may be repeated. By default 0.01, 0.1, 1, 10, 100 and 1000.",
    ),
    click.option(
        "--lam",
        type=click.FloatRange(0, min_open=True),
        multiple=True,
        help="A value of lam to choose from, for logistic regression and survival models; may be repeated. By default "
        "0.001 to 10.",
    ),
)
_LABELS_HELP = (
    "File of labels: a text table whose first column holds the samples' ids (see --samples), or an .h5ad, .npz or "
    ".zarr file."
)


@click.command(cls=Command, epilog=EPILOG)
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
@learner_option
@survival_options
@click.option("--outer", type=click.IntRange(2), default=5, help="Number of outer folds, which test.")
@click.option("--repeats", type=click.IntRange(1), default=10, help="Number of repetitions of the outer folds.")
@click.option("--inner", type=click.IntRange(2), default=5, help="Number of inner folds, which choose C or lam.")
@grid_options
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed that shuffles the folds.")
@learner_memory_option
@view_options
@click.option(
    "--permutations",
    type=click.IntRange(1),
    metavar="N",
    help="Also compute a p-value: permute the labels N times, and do the whole nested procedure again.",
)
@click.option(
    "--permutation-time",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Begin no further permutation after this time; a support vector machine is fitted anew for each.",
)
@external_options
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
    learner: str,
    time: str | None,
    event: str | None,
    strata: str | None,
    risk_groups: int,
    C: tuple[float, ...],
    lam: tuple[float, ...],
    permutations: int | None,
    permutation_time: float | None,
    external: Path | None,
    external_labels: Path | None,
    external_samples: str | None,
    missing: str,
    out: Path | None,
    scores: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    memory_limit: int | None,
    kernel: str | None,
    ties: str | None,
    params: tuple[str, ...],
    **protocol: Any,
) -> None:
    """Estimate the accuracy of a classifier on the Gram matrix in STORE by repeated nested cross-validation."""
    _refuse_unwritable(out, scores, overwrite)
    if permutation_time is not None and permutations is None:
        raise click.UsageError("--permutation-time limits the time of --permutations: say how many there are at most")
    asked = survival_asked(learner, time, event, strata, risk_groups, ("label", "C", "permutations"))
    grids = {} if asked is not None else grids_of(learner, C, lam)
    separator = separator_of(sep)
    gram = open_store(store, **view_of(kernel, ties, params))
    refuse_unusable(gram)
    if asked is not None:
        refuse_alone(external, external_labels, external_samples, missing)
        evaluated = evaluate_times(
            gram,
            asked,
            labels,
            about_matrix(gram, store),
            samples=samples,
            sep=sep,
            groups=groups,
            cohorts=cohorts,
            lam=lam,
            other=None if external is None else (external, external_labels, external_samples, missing),
            protocol=protocol,
            memory_limit=memory_limit,
            quiet=quiet,
        )
        _print_times(evaluated, asked, gram, store, out, scores, as_json)
        conclude(out, scores, then=[_after(store, out)])
        return
    name, y = read_column(labels, label, gram.ids, samples=samples, sep=separator)
    grouped, cohort_of = (
        None if column is None else read_column(labels, column, gram.ids, samples=samples, sep=separator)[1]
        for column in (groups, cohorts)
    )
    _refuse_one_class(y, name, labels)
    other = read_external(external, external_labels, external_samples, missing, name, sep)
    from distkern.learners.selection import cross_validate_gram
    from distkern.learners.training import standardized, with_probabilities

    on_interruption("nothing was written: run the same command again")
    half = None if memory_limit is None else memory_limit // 2  # the folds need as much again
    model = standardized(learner, half)
    shared: dict[str, Any] = {"groups": grouped, "max_bytes": half, "on_event": progress_of(quiet)}
    found = cross_validate_gram(
        with_probabilities(model, seed=protocol["seed"]), gram, y, **grids, cohorts=cohort_of, **protocol, **shared
    )
    tested = None
    if permutations is not None:
        blocks = cohort_of if grouped is None else None  # without cohorts, or with groups: within the groups
        how = {"permutations": permutations, "time_limit": permutation_time, "blocks": blocks}
        tested = _tested(model, gram, y, how, grids, protocol, shared)
    predicted = None
    if other is not None:
        inner, seed = protocol["inner"], protocol["seed"]
        with step(f"predicting {len(other[1]):,} other samples"):
            predicted = predict_other(model, gram, y, grouped, grids, other, missing, inner, seed)
    about = {**about_matrix(gram, store), "label": name, "labels": labels.name, "groups": groups, "cohorts": cohorts}
    about |= {"learner": learner, "external": None if external is None else external.name, "missing": missing}
    found = dataclasses.replace(found, settings=found.settings | about, permutation_test=tested, external=predicted)
    heading = shown(f"{len(y)} samples of {str(store)!r} by {name!r}: {count_classes(y)}")
    _print_classes(found, y, heading, repr(gram.kernel), other, out, scores, as_json)
    compared = typed("labels", "label", "samples", "sep", "kernel", "ties", "params")
    conclude(out, scores, then=[_after(store, out), command("compare", store, *compared)])


def _refuse_unwritable(out: Path | None, scores: Path | None, overwrite: bool) -> None:
    refuse_same_file({"--out": out, "--scores": scores})
    if out is not None:
        refuse_unwritable_file(out, overwrite)
    if scores is not None:
        refuse_unwritable_table(scores, overwrite)


def _after(store: Path | str, out: Path | None) -> str:
    """The command that writes the page of an evaluation; if no file holds it, this command with a file for it."""
    if out is None:
        return again("--out", unused(f"{stem_of(store)}-evaluation.json"), without=("scores",))
    return command("report", store, "--evaluation", out, "--out", unused(out.with_suffix(".html")))


def _print_classes(
    found: Evaluation,
    y: list[str],
    heading: str,
    kernel: str,
    other: tuple[Source, list[str]] | None,
    out: Path | None,
    scores: Path | None,
    as_json: bool,
) -> None:
    """Write the files that were asked for, and print the scores."""
    with step("computing intervals"):
        intervals = interval_table(found)
    tested, how = found.permutation_test, found.settings
    if out is not None:
        write_evaluation(out, found)
    if scores is not None:
        write_text(scores, intervals.to_csv(index=False, lineterminator="\n"))
    if as_json:
        more = {"classes": dict(Counter(y).most_common()), "out": None if out is None else str(out)}
        more["intervals"] = json.loads(intervals.to_json(orient="records"))
        more["permutations"] = None if tested is None else {**tested.settings, **_p_value(tested)}
        print_json(summary(found) | more)
        return
    echo(heading)
    print_table([*scores_table(found, intervals), ("kernel", kernel), ("samples from", how["source"])])
    if other is not None:
        counts = count_classes(other[1])
        echo(shown(f"{len(other[1])} samples of {how['external']!r}, by a model of all: {counts}"))
        print_table(external_table(intervals))


def _print_times(
    found: SurvivalEvaluation,
    asked: Asked,
    gram: Any,
    store: Path | str,
    out: Path | None,
    scores: Path | None,
    as_json: bool,
) -> None:
    events = found.settings["events"]
    counts = f"{events:,} events, {found.settings['samples'] - events:,} censored"
    heading = f"{found.settings['samples']} samples of {str(store)!r} by {asked.time!r} and {asked.event!r}: {counts}"
    more = {"kernel": repr(gram.kernel), "samples from": found.settings["source"]}
    print_survival(found, out=out, scores=scores, heading=heading, more=more, as_json=as_json)


def grids_of(learner: str, C: tuple[float, ...], lam: tuple[float, ...]) -> dict[str, Any]:
    """The values to choose from, by parameter: None for those that the learner lacks."""
    for name, given, owner in (("--C", C, "svm"), ("--lam", lam, "logistic")):
        if given and learner != owner:
            raise click.UsageError(f"{name} is a parameter of --learner {owner}: leave it out with --learner {learner}")
    from distkern.learners.selection import GRID
    from distkern.learners.survival_selection import LAMBDAS

    return {"C": (C or GRID) if learner == "svm" else None, "lam": (lam or LAMBDAS) if learner == "logistic" else None}


def _tested(
    model: Any,
    gram: Any,
    y: list[str],
    how: dict[str, Any],
    grids: dict[str, Any],
    protocol: dict[str, int],
    shared: dict[str, Any],
) -> Any:
    """Permute the labels, and evaluate the same classifier for each permutation."""
    from distkern.learners.permutation import permutation_test

    values = grids["C"] or grids["lam"] or [model[-1].mu]  # Fisher's discriminant is evaluated as it is
    folds: dict[str, Any] = {name: protocol[name] for name in ("outer", "inner")}
    return permutation_test(model, gram, y, values=values, random_state=protocol["seed"], **how, **folds, **shared)


def _p_value(tested: PermutationTest) -> dict[str, Any]:
    return {"score": tested.score, "pvalue": tested.pvalue, "permutations": tested.permutations}


def about_matrix(gram: Any, store: Path | str) -> dict[str, Any]:
    """What a result says of the matrix that it was computed from, ready for JSON."""
    info = gram.info()
    return {
        "store": Path(store).name,
        "kernel": info["kernel"],
        "source": info["source"],
        "fingerprint": info["fingerprint"]["rows"],
    }


def refuse_unusable(gram: Any) -> None:
    """Refuse a matrix that is not that of one cohort, or not complete."""
    info = gram.info()
    if not gram.is_symmetric:
        raise InputError(
            "{store!r} is a test × training matrix: this command needs the matrix of one cohort, computed without "
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
    from distkern.learners.evaluation import METRICS

    scores = {
        metric: {"mean": _number(evaluation.mean(metric)), "sd": _number(evaluation.std(metric))} for metric in METRICS
    }
    return {**scores, "settings": evaluation.settings, "seconds": evaluation.seconds}


def scores_table(evaluation: Evaluation, intervals: Any = None) -> list[tuple[str, str]]:
    """Return the score over the repeats with its standard deviation and its interval, as rows of a table.

    With folds it is the mean over the folds. Cohorts that are left out may be small: then all samples count alike.

    Parameters
    ----------
    evaluation
        The result.
    intervals
        What `interval_table` makes of it, if that is known.
    """
    from distkern.learners.evaluation import METRICS

    rows: list[tuple[str, str]] = []
    known: Any = None
    if evaluation.held_out is not None:
        known = interval_table(evaluation) if intervals is None else intervals
        known = known[known["samples"] == HELD_OUT].set_index("score")
    pooled = known is not None and not isinstance(evaluation.settings["outer"], int)
    for metric, name in METRICS.items():
        if pooled:
            rows.append((name, _score(SCORE_OF.get(metric, name), known.loc[SCORE_OF.get(metric, name)])))
            continue
        mean, sd = evaluation.mean(metric), evaluation.std(metric)
        spread = "" if math.isnan(sd) else f" ± {sd:.4f}" if metric == "auc" else f" ± {sd:.2%}".replace("%", " %")
        value = f"{mean:.4f}" if metric == "auc" else f"{mean:.2%}".replace("%", " %")
        interval = "" if known is None else _interval(known.loc[SCORE_OF.get(metric, name)], metric == "auc")
        rows.append((name, value + spread + interval))
    more = [] if known is None else known.index.difference([*SCORE_OF.values(), *METRICS.values()], sort=False)
    rows += [(name, _score(name, known.loc[name])) for name in more]
    tested = evaluation.permutation_test
    if tested is not None:
        of = f"{tested.scoring.replace('_', ' ')} {tested.score:.2%}".replace("%", " %")
        folds = f"{tested.settings['outer']} folds that do not depend on the labels"
        own = evaluation.settings
        within = " within cohorts" if own.get("cohorts") and not own.get("groups") else ""
        about = f"{tested.pvalue:.2g}, of {of} in {folds}; {tested.permutations:,} permutations{within}"
        rows.append(("p-value", about))
    how = evaluation.settings
    folds = f"{how['repeats']} × {how['outer']} folds" if isinstance(how["outer"], int) else how["outer"]
    chosen = f", {how['parameter']} chosen by {how['inner']} inner folds" if how.get("parameter", "C") else ""
    rows.append(("protocol", f"{folds}{chosen}; 95 % intervals of the samples"))
    rows.append(("time", f"{evaluation.seconds:.1f} s"))
    return rows


def external_table(intervals: Any) -> list[tuple[str, str]]:
    """Return the scores of another cohort with intervals, from an `interval_table`, as rows of a table."""
    own = intervals[intervals["samples"] == EXTERNAL].set_index("score")
    return [(name, _score(name, row)) for name, row in own.iterrows()]


HELD_OUT, EXTERNAL = "held out", "external"
"""Whose scores a row of an `interval_table` holds."""


def interval_table(evaluation: Evaluation) -> Any:
    """Scores with intervals: DataFrame with the columns samples (held out, or external), score, value, low, high."""
    import pandas as pd

    parts = {HELD_OUT: evaluation.held_out, EXTERNAL: evaluation.external}
    tables = {name: part.scores(seed=0) for name, part in parts.items() if part is not None}
    return pd.concat(tables, names=["samples"]).reset_index(level=0).reset_index(drop=True)


def _score(name: str, row: Any) -> str:
    """Write a score with its interval."""
    plain = name in ("auc", "Brier score", "log loss", "average precision")
    value = f"{row['value']:.4f}" if plain else f"{row['value']:.2%}".replace("%", " %")
    return value + _interval(row, plain)


SCORE_OF = {"auc": "auc"}
"""Scores of held-out predictions that have another name than the metrics of an evaluation."""


def _interval(row: Any, plain: bool) -> str:
    """Write the interval of a score."""
    low, high = (f"{row[end]:.4f}" if plain else f"{100 * row[end]:.1f}" for end in ("low", "high"))
    return f" ({low} to {high}{'' if plain else ' %'})"


def write_evaluation(path: Path, evaluation: Evaluation) -> None:
    """Write an evaluation as JSON."""
    write_text(path, json.dumps(evaluation.to_dict(), indent=1, ensure_ascii=False) + "\n")


def read_evaluation(path: Path) -> Evaluation | SurvivalEvaluation:
    """Read the evaluation that `distkern evaluate --out` wrote.

    Raises
    ------
    InputError
        If the file does not exist or holds something else.
    """
    from distkern.learners.evaluation import Evaluation
    from distkern.learners.survival_evaluation import SurvivalEvaluation

    if not path.is_file():
        raise InputError(f"there is no evaluation {str(path)!r}: make one with `distkern evaluate --out`")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict):
            raise InputError("it is not a JSON object")
        return (SurvivalEvaluation if "comparable" in values else Evaluation).from_dict(values)
    except ValueError as error:  # not JSON, not text, or other JSON
        raise InputError(f"{path.name!r} is not a file of `distkern evaluate --out`: {error}") from error


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
