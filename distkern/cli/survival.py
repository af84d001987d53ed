"""Times with events on the command line: what `evaluate`, `train` and `predict` do with survival models."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import read_cohort, read_column
from distkern.cli.common import is_given, options, print_json, print_table, progress_of, separator_of
from distkern.cli.errors import on_interruption
from distkern.cli.progress import echo, step
from distkern.core.errors import InputError
from distkern.core.files import write_text
from distkern.core.names import shown

if TYPE_CHECKING:
    from distkern.io.source import Source
    from distkern.learners.held_out_risks import HeldOutRisks
    from distkern.learners.survival_evaluation import SurvivalEvaluation

LEARNERS = ("cox", "survival-svm")
"""Survival models that can be chosen."""

OBSERVED = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
"""What a column of events may hold, in lower case."""

survival_options = options(
    click.option(
        "--time",
        metavar="COLUMN",
        help="For survival: column of times until the event, or until the last time without it.",
    ),
    click.option(
        "--event",
        metavar="COLUMN",
        help="For survival: column that says whether the event was observed, 1 or true, or 0 or false.",
    ),
    click.option(
        "--strata",
        metavar="COLUMN",
        help="For survival: column of strata, such as hospitals: only samples of one stratum are compared.",
    ),
    click.option(
        "--risk-groups",
        type=click.IntRange(2, 10),
        default=2,
        help="For survival: number of risk groups, cut at quantiles of the risks of training samples.",
    ),
)


@dataclass(frozen=True)
class Asked:
    """The survival model that is asked for, and the columns of its data."""

    learner: str
    time: str
    event: str
    strata: str | None
    risk_groups: int


def survival_asked(
    learner: str, time: str | None, event: str | None, strata: str | None, risk_groups: int, without: Sequence[str]
) -> Asked | None:
    """The survival model that is asked for; None for classes.

    Parameters
    ----------
    without
        Parameters of the command that are for classes only.
    """
    if time is None and event is None:
        if learner in LEARNERS:
            raise click.UsageError(f"--learner {learner} needs times: name their columns with --time and --event")
        for name in ("strata", "risk_groups"):
            if is_given(name):
                raise click.UsageError(f"{_option(name)} is for survival: name the columns with --time and --event")
        return None
    if time is None or event is None:
        raise click.UsageError("survival needs --time and --event together: name both columns")
    if learner not in LEARNERS:
        if is_given("learner"):
            raise click.UsageError(f"--learner {learner} is for classes: choose {' or '.join(LEARNERS)}")
        learner = LEARNERS[0]
    for name in without:
        if is_given(name):
            raise click.UsageError(f"{_option(name)} is for classes: leave it out with --time and --event")
    return Asked(learner, time, event, strata, risk_groups)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


# Reading -----------------------------------------------------------------------------------------------------------


def read_times(read: Callable[[str], list[str]], asked: Asked, ids: Sequence[str], file: str) -> Any:
    """Times with events of samples.

    Parameters
    ----------
    read
        Function that reads a column of the file: a text for each sample.
    ids
        Names of the samples.
    file
        Name of the file, for messages.

    Raises
    ------
    InputError
        If a time is no number of 0 or more, or an event is not 1, 0, true or false; the message names the sample.
    """
    import pandas as pd

    from distkern.learners.survival_times import survival_y

    times, wrong = [], []
    for name, text in zip(ids, read(asked.time), strict=True):
        times.append(_number(text))
        wrong += [(name, text)] if math.isnan(times[-1]) else []
    if wrong:
        raise InputError(
            f"sample {wrong[0][0]!r} has the time {wrong[0][1]!r} in column {asked.time!r} of {file!r}, which is no "
            f"number ({len(wrong)} such): give numbers of 0 or more, or leave these samples out"
        )
    texts = read(asked.event)
    strange = [(name, text) for name, text in zip(ids, texts, strict=True) if text.lower() not in OBSERVED]
    if strange:
        raise InputError(
            f"sample {strange[0][0]!r} has the event {strange[0][1]!r} in column {asked.event!r} of {file!r} "
            f"({len(strange)} such): write 1 or true where the event was observed, and 0 or false where it was not"
        )
    return survival_y(pd.Series(times, index=list(ids)), [OBSERVED[text.lower()] for text in texts])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def read_timed(
    cohort: Path, labels: Path | None, asked: Asked, groups: str | None, how: dict[str, Any]
) -> tuple[Source, Any, list[str] | None, list[str] | None]:
    """Read samples, and the time, event, and perhaps stratum and group of each: from their file or from another."""
    from distkern.io.labels import read_labels
    from distkern.io.registry import find_format

    how = how | {"sep": separator_of(how["sep"])}
    if labels in (None, cohort) and find_format(cohort).samples is None:
        raise InputError(
            f"{cohort.name!r} is a text table of features: keep the times in a file of their own, with the samples in "
            "its rows, and name it as the file of labels"
        )
    source = read_cohort(cohort, **how)
    ids = list(source.ids or map(str, range(len(source))))

    def read(column: str) -> list[str]:
        if labels is None or labels == cohort:
            return read_column(cohort, column, ids, samples=how["samples"], sep=how["sep"])[1]
        return read_labels(labels, ids, label=column, features=source.features or ())[1]

    y = read_times(read, asked, ids, (labels or cohort).name)
    return source, y, *(None if column is None else read(column) for column in (asked.strata, groups))


# Evaluation --------------------------------------------------------------------------------------------------------


def evaluate_times(
    gram: Any,
    asked: Asked,
    labels: Path,
    about: dict[str, Any],
    *,
    samples: str,
    sep: str | None,
    groups: str | None,
    cohorts: str | None,
    lam: tuple[float, ...],
    other: tuple[Path, Path | None, str | None, str] | None,
    protocol: dict[str, Any],
    memory_limit: int | None,
    quiet: bool,
) -> SurvivalEvaluation:
    """Evaluate a survival model on a store, and predict another cohort if there is one.

    Parameters
    ----------
    about
        What the result says of the matrix.
    other
        Another cohort: its file, the file of its times, whether its samples are rows or columns, and what happens to
        missing features.
    """
    from distkern.learners.selection import cross_validate_gram
    from distkern.learners.survival_selection import LAMBDAS
    from distkern.learners.survival_training import SURVIVAL

    def read(column: str) -> list[str]:
        return read_column(labels, column, gram.ids, samples=samples, sep=separator_of(sep))[1]

    y = read_times(read, asked, gram.ids, labels.name)
    strata, group_of, cohort_of = (None if name is None else read(name) for name in (asked.strata, groups, cohorts))
    new = None if other is None else _read_other(*other[:3], asked, sep)
    on_interruption("nothing was written: run the same command again")
    half = None if memory_limit is None else memory_limit // 2  # the folds need as much again
    model = SURVIVAL[asked.learner](memory_limit=half)
    given: dict[str, Any] = {"strata": strata, "groups": group_of, "max_bytes": half}
    found = cross_validate_gram(
        model,
        gram,
        y,
        scoring="concordance",
        lam=lam or LAMBDAS,
        cohorts=cohort_of,
        on_event=progress_of(quiet),
        **protocol,
        **given,
    )
    columns = dataclasses.asdict(asked) | {"labels": labels.name, "groups": groups, "cohorts": cohorts}
    predicted = None
    if new is not None and other is not None:
        folds = {name: protocol[name] for name in ("inner", "seed")}
        options = {"lam": lam or LAMBDAS, **folds, **given}
        with step(f"predicting {len(new[0]):,} other samples"):
            predicted = _predict_other(model, gram, y, new[0], new[1], missing=other[3], options=options)
        columns |= {"external": other[0].name, "missing": other[3]}
    return dataclasses.replace(found, settings=found.settings | about | columns, external=predicted)


def _read_other(
    path: Path, labels: Path | None, samples: str | None, asked: Asked, sep: str | None
) -> tuple[Source, Any]:
    how = {"samples": samples, "sep": sep, "layer": None, "use_rep": None, "collapse": None, "genes": None}
    source, y, _, _ = read_timed(path, labels, dataclasses.replace(asked, strata=None), None, how)
    return source, y


def _predict_other(
    model: Any, gram: Any, y: Any, source: Source, truth: Any, *, missing: str, options: dict[str, Any]
) -> HeldOutRisks:
    """Fit a model of all samples of the store, and predict the other cohort."""
    from distkern.learners.external import predict_external_survival
    from distkern.learners.predictor import CohortPredictor
    from distkern.learners.survival_training import fit_survival

    fitted = fit_survival(model, gram, y, **options)
    predictor = CohortPredictor(fitted, gram, missing=missing)
    return predict_external_survival(predictor, source, truth, training=y, training_risks=fitted.predict(gram))


def print_survival(
    found: SurvivalEvaluation,
    *,
    out: Path | None,
    scores: Path | None,
    heading: str,
    more: dict[str, str],
    as_json: bool,
) -> None:
    """Write the files of a survival evaluation, and print it."""
    intervals = interval_table(found)
    if out is not None:
        write_text(out, json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n")
    if scores is not None:
        write_text(scores, intervals.to_csv(index=False, lineterminator="\n"))
    count = found.settings["risk_groups"]
    if as_json:
        values: dict[str, Any] = {"concordance": {"mean": _known(found.mean()), "sd": _known(found.std())}}
        values["intervals"] = json.loads(intervals.to_json(orient="records"))
        values["risk_groups"] = _groups_json(found, count)
        values |= {"settings": found.settings, "seconds": found.seconds, "out": None if out is None else str(out)}
        print_json(values)
        return
    echo(shown(heading))
    print_table([*survival_table(found), *more.items()])
    if found.external is not None:
        external = found.external
        name = found.settings["external"]
        said = f"{len(external.time)} samples of {name!r}, by a model of all: {count_events(external.event)}"
        echo(shown(said))
        print_table(risk_rows(external, count))


def count_events(event: Any) -> str:
    """Describe the numbers of events and of censored times."""
    observed = int(event.sum())
    return f"{observed:,} events, {len(event) - observed:,} censored"


def survival_table(found: SurvivalEvaluation) -> list[tuple[str, str]]:
    """Return the concordance of an evaluation, its risk groups, and its protocol, as rows of a table."""
    assert found.held_out is not None
    sd, how = found.std(), found.settings
    rows = risk_rows(found.held_out, how.get("risk_groups", 2))
    if not math.isnan(sd):
        rows[0] = (rows[0][0], rows[0][1].replace(" (", f" ± {sd:.4f} (", 1))
    folds = f"{how['repeats']} × {how['outer']} folds" if isinstance(how["outer"], int) else how["outer"]
    chosen = f", lam chosen by {how['inner']} inner folds" if len(how["lam"] or ()) > 1 else ""
    rows.append(("protocol", f"{folds}{chosen}; 95 % intervals of the samples"))
    return [*rows, ("time", f"{found.seconds:.1f} s")]


def risk_rows(risks: HeldOutRisks, count: int) -> list[tuple[str, str]]:
    """Return the concordance of held-out risks, and their risk groups, as rows of a table."""
    from distkern.learners.survival_training import log_rank_pvalue

    table = risks.scores(seed=0)
    values = zip(*(table[name].tolist() for name in ("score", "value", "low", "high")), strict=True)
    rows = [(name, f"{value:.4f} ({low:.4f} to {high:.4f})") for name, value, low, high in values]
    for line in risks.curves(count).medians.to_dict(orient="records"):
        median = "not reached" if math.isnan(line["median"]) else f"{line['median']:g}"
        rows.append((line["group"], f"{line['samples']:,} samples, {line['events']:,} events, median {median}"))
    pvalue = log_rank_pvalue(risks, count)
    return [*rows, ("log-rank p", "no two groups to compare" if pvalue is None else f"{pvalue:.2g}")]


def interval_table(found: SurvivalEvaluation) -> Any:
    """Concordance with intervals: a table with the columns samples (held out, or external), score, value, low, high."""
    import pandas as pd

    parts = {"held out": found.held_out, "external": found.external}
    tables = {name: part.scores(seed=0) for name, part in parts.items() if part is not None}
    return pd.concat(tables, names=["samples"]).reset_index(level=0).reset_index(drop=True)


def _groups_json(found: SurvivalEvaluation, count: int) -> dict[str, Any]:
    from distkern.learners.survival_training import log_rank_pvalue

    parts = {"held out": found.held_out, "external": found.external}
    return {
        name: {
            "groups": json.loads(part.curves(count).medians.to_json(orient="records")),
            "log_rank_pvalue": log_rank_pvalue(part, count),
        }
        for name, part in parts.items()
        if part is not None
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


# Training and prediction -------------------------------------------------------------------------------------------


def train_times(
    source: Source,
    y: Any,
    asked: Asked,
    out: Path,
    report: Path | None,
    *,
    cohort: str,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Train a survival model, save it, write its page if there is a file for it, and print what it is worth."""
    from distkern.learners.persist import save_model
    from distkern.learners.survival_training import train_survival

    given = {name: value for name, value in given.items() if value != ()}
    with step(f"training on {len(source):,} samples"):
        trained = train_survival(
            source, y, learner=asked.learner, risk_groups=asked.risk_groups, on_event=progress_of(quiet), **given
        )
    trained.predictor.card |= {"time": asked.time, "event": asked.event}
    save_model(trained.predictor, out, overwrite=overwrite)
    settings = trained.evaluation.settings | {
        "risk_groups": asked.risk_groups,
        "time": asked.time,
        "event": asked.event,
    }
    evaluation = dataclasses.replace(trained.evaluation, settings=settings)
    if report is not None:
        from distkern.report.page import write_report

        with step("writing the page"):
            write_report(report, gram=trained.gram, evaluation=evaluation, card=trained.card, overwrite=overwrite)
    if as_json:
        print_json(trained.predictor.card | {"out": str(out), "bytes": out.stat().st_size})
        return
    size = f"{len(source):,} samples × {source.shape[1]:,} features of {cohort!r}"
    echo(shown(f"{size} by {asked.time!r} and {asked.event!r}: {count_events(y['event'])}"))
    cutoffs = ", ".join(f"{value:.4g}" for value in trained.card["risk_groups"]["cutoffs"])
    rows = [("kernel", repr(given["kernel"])), ("lam", f"{trained.card['lam']:g}"), ("cut-offs of the risk", cutoffs)]
    print_table([*survival_table(evaluation), *rows])


def predicts_survival(model: Any) -> bool:
    """Whether a model predicts risks."""
    from distkern.learners.newton import SurvivalLearner
    from distkern.learners.predictor import CohortPredictor, last_step

    return isinstance(last_step(model.model if isinstance(model, CohortPredictor) else model), SurvivalLearner)


def risk_table(model: Any, source: Source, at: Sequence[float]) -> Any:
    """Make the table of risks: a row for each sample, its name first.

    Parameters
    ----------
    model
        Survival model of samples.
    source
        The samples.
    at
        Times at which the chance to have no event is asked for.

    Returns
    -------
    DataFrame with the columns sample, risk, risk_group (of a model with cut-offs), and for Cox's model without strata
    median_survival and survival_at_T for each time T; empty where the time is after the last one in training.
    """
    import numpy as np
    import pandas as pd

    table = pd.DataFrame({"sample": list(source.ids or map(str, range(len(source))))})
    table["risk"] = model.predict(source)
    groups = (getattr(model, "card", None) or {}).get("risk_groups")
    if groups is not None:
        numbers = np.searchsorted(groups["cutoffs"], table["risk"], side="right")
        table["risk_group"] = np.array(groups["names"], dtype=object)[numbers]
    able = hasattr(model, "predict_survival_function") and not hasattr(model, "baseline_strata_")
    if at and not able:
        kind = (
            "was fitted with strata, each with a baseline of its own," if hasattr(model, "strata_") else "ranks risks"
        )
        raise InputError(
            f"the model {kind} and knows no chance of survival: leave out --at, or train with --learner cox"
        )
    if able:
        table["median_survival"] = model.predict_median(source)
    if at:
        chances = model.predict_survival_function(source, list(at))
        for column, time in enumerate(at):
            table[f"survival_at_{time:g}"] = chances[:, column].round(6)
    return table
