"""What predictions of samples that were not trained on are worth: the texts, numbers and figures of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.names import shown
from distkern.core.typing import Spec
from distkern.plot.evaluation import METRIC_NAMES

if TYPE_CHECKING:
    from markupsafe import Markup

    from distkern.learners.evaluation import Evaluation, PermutationTest
    from distkern.learners.held_out import HeldOut

NUMBERS = ("auc", "average precision", "Brier score", "log loss")
"""Scores that are written as numbers; all others are shares, in per cent."""

HELD_OUT = "held out"
"""Name of the held-out samples in figures."""

OTHER = "other cohort"
"""Name of another cohort that is of no file."""

LISTED_CLASSES = 4
"""Largest number of classes whose confusion matrix is told to screen readers number by number."""

PERCENT = "\N{NO-BREAK SPACE}%"

PROMISE = (
    "In brackets: 95\N{NO-BREAK SPACE}% intervals, from 1,000 bootstrap samples {drawn}. They cover what other samples "
    "of the same population would change. They do not cover what other training samples would change."
)
ELSEWHERE = (
    "None of these numbers promises anything for another platform, hospital or time: check the model on labelled "
    "samples from there before it is used."
)


def parts_of(evaluation: Evaluation) -> dict[str, HeldOut]:
    """Predictions by name: of the held-out samples, and of another cohort."""
    other = shown(evaluation.settings.get("external") or "")
    names = (HELD_OUT, other if other not in ("", HELD_OUT) else OTHER)
    both = zip(names, (evaluation.held_out, evaluation.external), strict=True)
    return {name: part for name, part in both if part is not None}


def validation(evaluation: Evaluation) -> Spec | None:
    """Return the texts and numbers of the section; None for an evaluation that keeps no predictions and no p-value."""
    parts, test = parts_of(evaluation), evaluation.permutation_test
    if not parts and test is None:
        return None
    tables = {name: part.scores().set_index("score") for name, part in parts.items()}
    return {
        "heads": ["Score", *(f"{_head(name)} ({len(part.truth):,} samples)" for name, part in parts.items())],
        "rows": _score_rows(tables),
        "cards": _cards(tables, test),
        "notes": _notes(evaluation, parts),
        "p": None if test is None else p_sentence(test),
        "confusions": [_confusion_caption(name if len(parts) > 1 else "", part) for name, part in parts.items()],
        "bands": len(evaluation.classes) == 2 and len(parts) <= 2,
        "cohorts": _cohort_rows(evaluation),
        "cohort_heads": ["Cohort", "Samples", *(_name(score) for score in _of_cohorts(evaluation))],
    }


def _confusion_caption(name: str, part: HeldOut) -> str:
    mean = ", mean over the repetitions," if len(part.predicted) > 1 else ""
    return f"Calls by class{', ' * bool(name)}{name}: number of samples{mean} and share of the class."


def _score_rows(tables: dict[str, Any]) -> list[list[Any]]:
    names = list(dict.fromkeys(name for table in tables.values() for name in table.index))
    return [
        [_name(name), *(_cell(name, table.loc[name]) if name in table.index else "–" for table in tables.values())]
        for name in names
    ]


def _name(score: str) -> str:
    return METRIC_NAMES["auc"] if score == "auc" else score[:1].upper() + score[1:]


def _head(part: str) -> str:
    """Name of a cohort at the beginning of a sentence; that of a file stays as it is."""
    return part[:1].upper() + part[1:] if part in (HELD_OUT, OTHER) else part


def _written(name: str, value: float, unit: bool = True) -> str:
    """Write a score: a share in per cent, else three decimals."""
    if value != value:
        return "–"
    return f"{value:.3f}" if name in NUMBERS else f"{100 * value:.1f}" + PERCENT * unit


def _interval(name: str, row: Any) -> str:
    low, high = (_written(name, row[end], unit=False) for end in ("low", "high"))
    return f"({low} to {high})"


def _cell(name: str, row: Any) -> Any:
    from markupsafe import Markup

    if row["value"] != row["value"]:
        return "–"
    return Markup('{} <span class="interval">{}</span>').format(_written(name, row["value"]), _interval(name, row))


def _cards(tables: dict[str, Any], test: PermutationTest | None) -> list[Spec]:
    """The numbers at the top of the page: balanced accuracy of each cohort, and the p-value."""
    cards = [
        {
            "number": _written("balanced accuracy", table.loc["balanced accuracy", "value"]),
            "spread": _interval("balanced accuracy", table.loc["balanced accuracy"]),
            "what": f"balanced accuracy, {name}; in brackets its 95{PERCENT} interval",
        }
        for name, table in tables.items()
    ]
    if test is not None:
        what = f"p-value: {test.permutations:,} permutations of the labels"
        cards.append({"number": f"{test.pvalue:.2g}", "spread": "", "what": what})
    return cards


def p_sentence(test: PermutationTest) -> str:
    """The p-value in words.

    Examples
    --------
    >>> from distkern.learners.evaluation import PermutationTest
    >>> test = PermutationTest(0.5, 0.5, np.array([0.4, 0.5, 0.6]), "accuracy", {}, 0.1)
    >>> p_sentence(test).partition(". ")[0].replace(PERCENT, " %")
    'p = 0.5: 2 of 3 permutations of the labels had an accuracy of at least 50.0 %, that of the labels as they are'
    """
    from distkern.learners.selection import TIE

    reached = int((test.null >= test.score - TIE).sum())
    name = {"auc": "an area under the ROC curve", "accuracy": "an accuracy"}.get(test.scoring, "a balanced accuracy")
    return (
        f"p = {test.pvalue:.2g}: {reached or 'none'} of {test.permutations:,} permutations of the labels had {name} of "
        f"at least {_written(test.scoring, test.score)}, that of the labels as they are. The whole procedure was done "
        "again for each permutation. Its folds do not depend on the labels, so this score differs a little from the "
        "one in the table."
    )


def _notes(evaluation: Evaluation, parts: dict[str, HeldOut]) -> list[str]:
    """What a reader must know of the scores, in sentences."""
    if not parts:
        return []
    classes = [shown(label) for label in evaluation.classes]
    grouped = any(part.groups is not None for part in parts.values())
    notes = [PROMISE.format(drawn="drawn as whole groups" if grouped else "drawn within each class")]
    if len(classes) == 2:
        notes.append(
            f"Sensitivity is the share of “{classes[1]}” that is found, and specificity that of “{classes[0]}”. A "
            f"positive predictive value is the share of calls “{classes[1]}” that are right among these samples; it "
            "changes with the share of the class."
        )
    else:
        notes.append("The area under the ROC curve is the mean over the classes, each against all others.")
    for name, part in parts.items():
        absent = [classes[k] for k in range(len(classes)) if not (part.truth == k).any()]
        if absent:
            listed = ", ".join(f"“{label}”" for label in absent)
            notes.append(f"{_head(name)}: no sample is of class {listed}, and scores of it cannot be told.")
    if evaluation.external is not None:
        averaged = evaluation.settings.get("missing") == "interleaving"
        more = " Features that they lack were averaged over all places that they may take." if averaged else ""
        notes.append(
            f"A model of all {_count(evaluation)} samples predicted {[*parts][-1]}, one sample at a time.{more}"
        )
    without = [name for name, part in parts.items() if part.probabilities is None]
    if without:
        notes.append(f"There are no probabilities ({', '.join(without)}), and so no calibration and no decision curve.")
    return [*notes, ELSEWHERE]


def _count(evaluation: Evaluation) -> str:
    return "" if evaluation.held_out is None else f"{len(evaluation.held_out.truth):,}"


def _of_cohorts(evaluation: Evaluation) -> tuple[str, ...]:
    """Scores of each cohort that was left out."""
    more = ("sensitivity", "specificity") if len(evaluation.classes) == 2 else ("accuracy",)
    return ("balanced accuracy", *more, "auc")


def _cohort_rows(evaluation: Evaluation) -> list[list[Any]]:
    """Return per cohort that was left out: name, samples, and scores with intervals."""
    found = evaluation.held_out
    if evaluation.settings.get("outer") != "leave-one-cohort-out" or found is None or found.folds is None:
        return []
    numbers = np.unique(found.folds[0]).tolist()
    names = evaluation.settings.get("left_out") or [number + 1 for number in numbers]
    rows = []
    for number, name in zip(numbers, names, strict=True):
        own = found.of_samples(np.flatnonzero(found.folds[0] == number))
        table = own.scores().set_index("score")
        cells = [_cell(score, table.loc[score]) for score in _of_cohorts(evaluation)]
        rows.append([shown(name), f"{len(own.truth):,}", *cells])
    return rows


# Figures -----------------------------------------------------------------------------------------------------------


def validation_pictures(evaluation: Evaluation) -> dict[str, Markup]:
    """Draw what there is: curves, confusion matrices, and the scores of permuted labels."""
    from distkern.plot.calibration import plot_calibration
    from distkern.plot.confusion import plot_confusion
    from distkern.plot.decision_curve import plot_decision_curve
    from distkern.plot.null import plot_null
    from distkern.plot.precision_recall import plot_precision_recall
    from distkern.plot.roc import plot_roc
    from distkern.plot.svg import picture

    parts = parts_of(evaluation)
    pictures = {
        f"confusion{number}": picture(
            lambda ax, part=part: plot_confusion(part, ax=ax),  # type: ignore[misc]
            name=f"confusion{number}",
            alt=f"Confusion matrix, {name}: {_told(part)}",
        )
        for number, (name, part) in enumerate(parts.items())
    }
    curved = {name: part for name, part in parts.items() if len(np.unique(part.truth)) > 1}
    sure = {name: part for name, part in parts.items() if part.probabilities is not None}
    for name, draw, drawn, alt in (
        ("roc", plot_roc, curved, f"Sensitivity against 1 − specificity. Areas: {_areas(curved)}."),
        ("precision", plot_precision_recall, curved, f"Precision against recall: {', '.join(curved)}."),
        ("calibration", plot_calibration, sure, f"Observed against predicted probability: {', '.join(sure)}."),
        ("decision", plot_decision_curve, sure, f"Net benefit by threshold of the probability: {', '.join(sure)}."),
    ):
        if drawn:
            single = drawn if len(parts) > 1 else next(iter(drawn.values()))
            pictures[name] = picture(
                lambda ax, draw=draw, single=single: draw(single, ax=ax),  # type: ignore[misc]
                name=name,
                alt=alt,
                size=_size(drawn),
            )
    test = evaluation.permutation_test
    if test is not None:
        alt = f"Histogram of the scores of permuted labels, and the score of the labels as they are. {p_sentence(test)}"
        pictures["null"] = picture(lambda ax: plot_null(test, ax=ax), name="null", alt=alt)
    return pictures


def _size(drawn: dict[str, HeldOut]) -> tuple[float, float]:
    """Size of a figure of curves, with room for the lines of its legend."""
    from distkern.plot.held_out import curves_of, legend_columns

    names = [curve.name + ": average precision 0.000" for curve in curves_of(drawn)]
    return 4.8, 4.4 + 0.19 * max(0, -(-len(names) // legend_columns(names)) - 1)


def _areas(parts: dict[str, HeldOut]) -> str:
    table = {name: part.scores(draws=0).set_index("score")["value"] for name, part in parts.items()}
    return ", ".join(f"{name} {values['auc']:.3f}" for name, values in table.items())


def _told(part: HeldOut) -> str:
    """A confusion matrix in words."""
    if len(part.classes) > LISTED_CLASSES:
        return f"samples of {len(part.classes)} classes by class and call."
    counts = part.confusion().to_numpy()
    return "; ".join(
        f"of “{shown(label)}” "
        + ", ".join(f"{n:.4g} are called “{shown(call)}”" for call, n in zip(part.classes, row, strict=True))
        for label, row in zip(part.classes, counts, strict=True)
    )
