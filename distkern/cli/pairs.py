"""``distkern pairs``: top-scoring pairs of features, and the classes that they predict."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import count_classes, read_cohort, read_labelled
from distkern.cli.common import (
    Choice,
    LocalPath,
    Numbers,
    cohort_options,
    execution_options,
    executor_of,
    is_given,
    json_option,
    options,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_same_file,
    refuse_unwritable_file,
    refuse_unwritable_table,
    separator_of,
)
from distkern.cli.ending import READING, again, command, conclude, stem_of, typed, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo
from distkern.core.errors import InputError
from distkern.core.files import write_text
from distkern.core.names import shown

if TYPE_CHECKING:
    from distkern.io.source import Source
    from distkern.learners.top_pairs import KTopScoringPairs

MOST_PAIRS = 100_000
"""Largest number of pairs that the option takes; there may be fewer."""

OF_TRAINING = {
    "numbers": "-k",
    "choose": "--choose",
    "inner": "--inner",
    "seed": "--seed",
    "overlapping": "--overlapping",
    "features": "--features",
    "multi_class": "--multi-class",
}
"""Parameters of the command that say which pairs are chosen, with their options."""

EPILOG = """\b
Examples:
  distkern pairs cohort.csv --samples columns --labels clinical.csv --label relapse -k 9 --model relapse.json
  distkern pairs cohort.h5ad --label relapse -k 2-10 --features 2000 --folds 5 --table pairs.csv --votes votes.csv
  distkern pairs both.csv --samples rows --labels clinical.csv --label er --groups platform --missing skip
  distkern pairs new.csv --samples columns --apply relapse.json --absent abstain --votes new-votes.csv

A pair A < B votes for a class where the value of A is less than that of B in the same sample, and against it where it
is greater. The majority of the votes decides. Features are found by name, so that a model needs no normalisation and no
other feature. Labels are matched by the samples' ids."""

pair_options = options(
    click.option(
        "-k",
        "numbers",
        type=Numbers(MOST_PAIRS),
        default="2-10",
        help="Number of pairs, or a range to choose from. An odd number avoids most draws.",
    ),
    click.option(
        "--choose",
        type=Choice(["variance", "cv"]),
        default="variance",
        help="Criterion for choosing from a range: the separation of the training samples by their votes, or balanced "
        "accuracy in inner folds.",
    ),
    click.option("--inner", type=click.IntRange(2), default=5, help="Number of inner folds of --choose cv."),
    click.option("--seed", type=click.IntRange(0), default=0, help="Seed that shuffles these folds."),
    click.option("--overlapping", is_flag=True, help="Let a feature be in several pairs."),
    click.option(
        "--features",
        type=click.IntRange(2),
        metavar="N",
        help="Let only the N features compete that differ most between the classes, by rank sum.",
    ),
    click.option(
        "--missing",
        type=Choice(["error", "skip"]),
        default="error",
        help="Missing values: an error, or leave a sample out of the pairs whose values it lacks.",
    ),
    click.option(
        "--multi-class",
        type=Choice(["ovr", "ovo"]),
        default="ovr",
        help="Three or more classes: pairs for each class against the rest, or for each two classes.",
    ),
)


@click.command(cls=Command, epilog=EPILOG)
@click.argument("cohort", type=LocalPath())
@cohort_options
@click.option(
    "--labels",
    type=LocalPath(),
    metavar="FILE",
    help="File of labels, whose column --label names. Default: the file of the cohort.",
)
@click.option(
    "--groups",
    metavar="COLUMN",
    help="Column of groups, such as platforms, beside the labels: scores compare samples of one group only.",
)
@pair_options
@click.option(
    "--folds",
    type=click.IntRange(2),
    metavar="N",
    help="Also estimate the accuracy on samples that chose nothing: in N folds, by pairs that the other folds choose.",
)
@click.option("--apply", type=LocalPath(), metavar="FILE", help="Predict with the model in FILE, and train nothing.")
@click.option(
    "--absent",
    type=Choice(["error", "abstain"]),
    default="error",
    help="Features that the cohort of --apply lacks: an error, or let their pairs abstain.",
)
@click.option("--model", type=LocalPath(), metavar="FILE", help="Write the rules as a model file, in readable JSON.")
@click.option("--table", type=LocalPath(), metavar="FILE", help="Write a CSV table of the pairs.")
@click.option("--votes", type=LocalPath(), metavar="FILE", help="Write a CSV table of the votes in every sample.")
@click.option("--overwrite", is_flag=True, help="Replace these files if they exist.")
@execution_options
@json_option
@quiet_option
def pairs(
    cohort: Path,
    labels: Path | None,
    label: str | None,
    groups: str | None,
    folds: int | None,
    apply: Path | None,
    model: Path | None,
    table: Path | None,
    votes: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Find the pairs of features whose order tells the classes of the samples in COHORT apart, or apply such pairs."""
    _refuse_usage(apply, labels, label, groups=groups, folds=folds, model=model, table=table)
    files = {"model": model, "table": table, "votes": votes}
    _refuse_unwritable(files, overwrite)
    on_interruption("nothing was written: run the same command again")
    source, name, y, grouped = _read(cohort, labels, label, groups, given)
    if apply is not None:
        fitted, held_out = _loaded(apply, given["absent"], given["missing"]), None
        _refuse_other_classes(fitted, apply, name, y)
    else:
        assert y is not None
        fitted, held_out = _trained(source, y, grouped, folds, quiet, given)
    decisions = fitted.decision_function(source)
    result = Result(fitted, source, name, y, decisions, _predicted(fitted, source, decisions), apply, held_out)
    if model is not None:
        from distkern.learners.persist import save_model

        save_model(fitted, model, overwrite=overwrite)
    if table is not None:
        write_text(table, _csv(result.pair_rows()))
    if votes is not None:
        write_text(votes, _csv(result.vote_rows()))
    if as_json:
        print_json(result.to_json() | {option: None if file is None else str(file) for option, file in files.items()})
        return
    about = "" if y is None else f" by {name!r}: {count_classes(y)}"
    echo(shown(f"{len(source):,} samples of {cohort.name!r}{about}"))
    echo(fitted.rules())
    print_table(result.about())
    conclude(*files.values(), then=_next(model, apply, cohort))


def _next(model: Path | None, applied: Path | None, cohort: Path) -> list[str]:
    """Commands that go on from pairs: the use of their model or, if no file holds it, this command with a file."""
    if applied is not None:
        own = () if is_given("labels") else ("label",)
        return [command("predict", applied, cohort, *typed(*READING, *own))]
    if model is None:
        return [again("--model", unused(f"{stem_of(cohort)}-pairs.json"), without=("table", "votes"))]
    return [f"for new samples in FILE: {command('predict', model, 'FILE', *typed(*READING))}"]


def _refuse_usage(apply: Path | None, labels: Path | None, label: str | None, **training: Any) -> None:
    if apply is None and labels is None and label is None:
        raise click.UsageError("training needs labels: name their column with --label, and their file with --labels")
    if apply is None:
        return
    given = [f"--{name}" for name, value in training.items() if value is not None]
    given += [option for name, option in OF_TRAINING.items() if is_given(name)]
    if given:
        raise click.UsageError(f"--apply trains nothing: leave out {given[0]}")


def _refuse_unwritable(files: Mapping[str, Path | None], overwrite: bool) -> None:
    for name, file in files.items():
        if file is not None:
            (refuse_unwritable_file if name == "model" else refuse_unwritable_table)(file, overwrite)
    refuse_same_file({f"--{name}": file for name, file in files.items()})


# Input -------------------------------------------------------------------------------------------------------------


def _read(
    cohort: Path, labels: Path | None, label: str | None, groups: str | None, given: dict[str, Any]
) -> tuple[Source, str | None, list[str] | None, list[str] | None]:
    """Read the samples and, where they are named, labels and groups."""
    how = {key: given[key] for key in ("samples", "layer", "use_rep", "values", "collapse", "genes", "sep")}
    if label is None and labels is None:
        return read_cohort(cohort, **(how | {"sep": separator_of(how["sep"])})), None, None, None
    return read_labelled(cohort, labels, label, groups, how)


def _trained(
    source: Source, y: list[str], groups: list[str] | None, folds: int | None, quiet: bool, given: dict[str, Any]
) -> tuple[KTopScoringPairs, HeldOut | None]:
    """Choose the pairs, and predict each sample by pairs that other folds chose, where that is asked for."""
    from distkern.learners.top_pairs import KTopScoringPairs

    numbers = given["numbers"]
    several = len(numbers) > 1
    splits = [] if folds is None else _splits(y, folds, given["seed"])  # refuses folds before the pairs are counted
    with executor_of(**given) as executor:
        fitted = KTopScoringPairs(
            given["choose"] if several else numbers[0],
            k_range=(numbers[0], numbers[-1]),
            disjoint=not given["overlapping"],
            features=given["features"],
            missing=given["missing"],
            absent=given["absent"],
            multi_class=given["multi_class"],
            cv=given["inner"],
            random_state=given["seed"],
            executor=executor,
            progress=progress_of(quiet),
            memory_limit=given["memory_limit"],
        ).fit(source, y, groups)
        held_out = None if folds is None else _held_out(fitted, source, y, groups, splits)
    return fitted.set_params(executor=None, progress=False, memory_limit=None), held_out


def _splits(y: list[str], folds: int, seed: int) -> list[tuple[Any, Any]]:
    """Positions of the training and the test samples of each fold."""
    import numpy as np

    from distkern.learners.folds import Folds

    return [(train, test) for train, test, _ in Folds(np.array(y), None, None, seed).outer(folds, 1)]


def _held_out(
    model: KTopScoringPairs, source: Source, y: list[str], groups: list[str] | None, splits: list[tuple[Any, Any]]
) -> HeldOut:
    """Predict the samples of each fold by the pairs that the others choose."""
    import numpy as np
    from sklearn.base import clone

    labels, out = np.array(y), np.full(len(y), None, dtype=object)
    for train, test in splits:
        own = None if groups is None else np.array(groups)[train]
        fitted, part = clone(model).fit(source.part(train), labels[train], own), source.part(test)
        out[test] = _predicted(fitted, part, fitted.decision_function(part))
    return HeldOut(len(splits), out.tolist())


def _loaded(path: Path, absent: str, missing: str) -> KTopScoringPairs:
    """Read the model of an earlier command; it skips missing values if it did in training, or if it is asked to."""
    from distkern.learners.persist import load_model
    from distkern.learners.top_pairs import KTopScoringPairs

    found = load_model(path)
    if not isinstance(found, KTopScoringPairs):
        raise InputError(f"{path.name!r} is a model of another kind ({type(found).__name__}): give one of --model")
    return found.set_params(absent=absent, **({"missing": missing} if missing == "skip" else {}))


def _refuse_other_classes(fitted: KTopScoringPairs, path: Path, name: str | None, y: Sequence[str] | None) -> None:
    """Refuse labels that the model cannot predict: no sample with such a label would be right."""
    known = [str(label) for label in fitted.classes_.tolist()]
    others = sorted(set(y or ()) - set(known))
    if others:
        raise InputError(
            f"{name!r} holds the label {others[0]!r}, which is no class of the model {path.name!r} (its classes are "
            f"{', '.join(map(repr, known))}): write the labels as the model does, or leave out --label and --labels"
        )


# Output ------------------------------------------------------------------------------------------------------------

UNDECIDED = "undecided"
"""What is printed for a sample with values for too few pairs."""


def _predicted(fitted: KTopScoringPairs, source: Source, decisions: Any) -> list[str | None]:
    """Predict the label of each sample as text; None for a sample with values for too few pairs."""
    import numpy as np

    decided = np.flatnonzero(~np.isnan(decisions.reshape(len(source), -1)).any(axis=1))
    out: list[str | None] = [None] * len(source)
    if len(decided):
        for row, label in zip(decided.tolist(), fitted.predict(source.part(decided)).tolist(), strict=True):
            out[row] = str(label)
    return out


@dataclass(frozen=True)
class HeldOut:
    """Predictions for samples by the pairs that the other folds chose; None for a sample that is undecided."""

    folds: int
    predicted: list[str | None]


@dataclass(frozen=True)
class Result:
    """The pairs, and what they say of the samples.

    Parameters
    ----------
    fitted, source
        The classifier and the samples.
    label, y
        Name of the column of labels, and the label of each sample; None if there are none.
    decisions, predicted
        Decision values, and the predicted label of each sample; None for a sample that is undecided.
    applied
        File of a model that was trained before.
    held_out
        Predictions by pairs of other folds, if they were asked for.
    """

    fitted: KTopScoringPairs
    source: Source
    label: str | None
    y: list[str] | None
    decisions: Any
    predicted: list[str | None]
    applied: Path | None
    held_out: HeldOut | None

    @property
    def ids(self) -> Sequence[str]:
        """Names of the samples, or their positions."""
        return self.source.ids or tuple(map(str, range(len(self.source))))

    def lacking(self) -> list[str]:
        """Features of the pairs that the samples do not have; empty if the samples do not name theirs."""
        names = self.fitted.pair_names_.ravel().tolist()
        known = set(names if self.source.features is None else self.source.features)
        return list(dict.fromkeys(name for name in names if name not in known))

    def about(self) -> list[tuple[str, str]]:
        """Rows about the model: how k was chosen, and what it predicts for these samples."""
        from distkern.io.tables import beginning

        fitted, rows = self.fitted, [] if self.applied is None else [("model", self.applied.name)]
        if self.applied is None and hasattr(fitted, "k_path_"):
            path = fitted.k_path_ if isinstance(fitted.k_path_, list) else [fitted.k_path_]
            chosen = fitted.n_pairs_ if isinstance(fitted.n_pairs_, int) else ", ".join(map(str, fitted.n_pairs_))
            rows.append(("pairs", f"{chosen} of {path[0][0, 0]:g} to {path[0][-1, 0]:g}, chosen by {fitted.k}"))
        lacking = self.lacking()
        if lacking:
            cost = sum(not set(lacking).isdisjoint(pair) for pair in fitted.pair_names_.tolist())
            pairs = f"{cost:,} of {len(fitted.pair_names_):,} pairs"
            rows.append(("absent", f"{beginning(lacking)}: {pairs} abstain in every sample"))
        rows.append(("predicted", count_classes([UNDECIDED if one is None else one for one in self.predicted])))
        scores = _accuracy(self.predicted, self.y)
        if scores is not None:
            whose = "the training samples" if self.applied is None else "these samples"
            rows.append(("accuracy", f"{_percent(scores)} of {whose}" + " that are decided" * (None in self.predicted)))
        held_out = None if self.held_out is None else _accuracy(self.held_out.predicted, self.y)
        if self.held_out is not None and held_out is not None:
            how = f"in {self.held_out.folds} folds, by pairs that the other folds chose"
            rows.append(("held out", f"{_percent(held_out)} {how}"))
        return [*rows, ("samples from", self.source.describe())]

    def to_json(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        head, *rows = self.pair_rows()
        accuracy, balanced = _accuracy(self.predicted, self.y) or (None, None)
        held_out = None if self.held_out is None else _accuracy(self.held_out.predicted, self.y)
        classes = map(str, self.fitted.classes_.tolist())
        return {
            "samples": len(self.source),
            "source": self.source.describe(),
            "label": self.label,
            "applied": None if self.applied is None else str(self.applied),
            "classes": dict(zip(classes, self.fitted.class_count_.tolist(), strict=True)),
            "pairs": [dict(zip(head, row, strict=True)) for row in rows],
            "absent": self.lacking(),
            "k_path": [part.tolist() for part in getattr(self.fitted, "k_path_", [])],
            "predicted": dict(zip(self.ids, self.predicted, strict=True)),
            "accuracy": accuracy,
            "balanced_accuracy": balanced,
            "held_out": None
            if self.held_out is None or held_out is None
            else {"folds": self.held_out.folds, "accuracy": held_out[0], "balanced_accuracy": held_out[1]},
        }

    def pair_rows(self) -> list[list[Any]]:
        """Table of the pairs: what they vote for, their scores, and the numbers of samples of each class."""
        import numpy as np

        from distkern.learners.pair_rules_file import sides_of

        fitted = self.fitted
        counted = [f"{what}_{name}" for name in fitted.classes_.tolist() for what in ("less", "greater", "n")]
        rows: list[list[Any]] = [["first", "second", "votes_for", "against", "score", "secondary", *counted]]
        for number, (first, second) in enumerate(fitted.pair_names_.tolist()):
            votes_for, against = sides_of(fitted, int(fitted.problem_[number]))
            counts = np.concatenate([fitted.counts_[number], fitted.observed_[number][:, None]], axis=1)
            rest = "the rest" if against is None else against
            scores = [float(fitted.scores_[number]), float(fitted.secondary_[number])]
            rows.append([first, second, votes_for, rest, *scores, *counts.ravel().tolist()])
        return rows

    def vote_rows(self) -> list[list[Any]]:
        """Table of the samples: the class, the decision values, and the vote of each pair; empty where undecided."""
        fitted = self.fitted
        values = ["decision"] if self.decisions.ndim == 1 else [f"decision {name}" for name in fitted.classes_.tolist()]
        rows = [["id", "predicted", *values, *(f"{a}<{b}" for a, b in fitted.pair_names_.tolist())]]
        decided = self.decisions.reshape(len(self.ids), -1).tolist()
        cells = zip(self.ids, self.predicted, decided, fitted.votes(self.source).tolist(), strict=True)
        return rows + [[name, label, *("" if f != f else f for f in own), *votes] for name, label, own, votes in cells]


def _accuracy(predicted: Sequence[str | None], y: Sequence[str] | None) -> tuple[float, float] | None:
    """Accuracy on the samples that are decided, and the mean over the classes of the accuracy within a class."""
    hits: dict[str, list[bool]] = {}
    for found, label in zip(predicted, y or [], strict=y is not None):
        if found is not None:
            hits.setdefault(label, []).append(found == label)
    recalls = [sum(own) / len(own) for own in hits.values()]
    return (sum(map(sum, hits.values())) / sum(map(len, hits.values())), sum(recalls) / len(recalls)) if hits else None


def _percent(scores: tuple[float, float]) -> str:
    return f"{scores[0]:.2%}, balanced {scores[1]:.2%},".replace("%", " %")


def _csv(rows: Iterable[Iterable[Any]]) -> str:
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(rows)
    return table.getvalue()
