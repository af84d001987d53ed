"""The self-contained HTML page of a Gram matrix and an evaluation of survival models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Spec
from distkern.core.units import readable_seconds
from distkern.gram.base import StoredGram
from distkern.operators.base import BaseGram
from distkern.plot.sample_order import Classes, Drawn, draw_samples
from distkern.report import content
from distkern.report.card import survival_card_rows, survival_line
from distkern.report.layout import order_note, render, write_page

if TYPE_CHECKING:
    from distkern.learners.held_out_risks import HeldOutRisks
    from distkern.learners.survival_evaluation import SurvivalEvaluation

DEFAULT_GROUPS = 2
"""Number of risk groups where the evaluation states none."""


def write_survival_page(
    file: Path,
    matrix: BaseGram,
    evaluation: SurvivalEvaluation,
    *,
    card: Spec | None,
    title: str | None,
    loading: str | None,
    overwrite: bool,
) -> Path:
    """Write the page of a survival evaluation; arguments are those of `write_report`.

    Raises
    ------
    InputError
        If the evaluation is of other samples or another kernel, or it has no held-out risks.
    """
    _check(matrix, evaluation)
    held = evaluation.held_out
    assert held is not None
    count = int(evaluation.settings.get("risk_groups", DEFAULT_GROUPS))
    classes = _classes(held, count)
    drawn = draw_samples(matrix, classes.codes)
    values = _values(matrix, drawn, evaluation, held, count, card, title, loading)
    pictures = _pictures(drawn, classes, evaluation, held, count, values)
    page = render("survival.html.j2", values | {"pictures": pictures, "note": order_note(drawn, "risk group")})
    return write_page(file, page, overwrite=overwrite)


def _check(matrix: BaseGram, evaluation: SurvivalEvaluation) -> None:
    samples = evaluation.settings.get("samples", len(matrix))
    if samples != len(matrix):
        raise InputError(
            f"the evaluation is of {samples} samples, the matrix of {len(matrix)}: give the matrix that was evaluated"
        )
    if isinstance(matrix, StoredGram):
        content.refuse_other_matrix(evaluation.settings, matrix)
    if evaluation.held_out is None:
        raise InputError(
            "the evaluation has no risks of its test samples: evaluate again with this version of distkern"
        )


def _classes(held: HeldOutRisks, count: int) -> Classes:
    """Risk groups that have samples, the lowest first, as in the curves."""
    groups = held.risk_groups(count)
    names = list(dict.fromkeys(held.curves(count).medians["group"]))
    return Classes(tuple(names), np.array([names.index(group) for group in groups.tolist()]))


# Texts and numbers -------------------------------------------------------------------------------------------------


def _values(
    matrix: BaseGram,
    drawn: Drawn,
    evaluation: SurvivalEvaluation,
    held: HeldOutRisks,
    count: int,
    card: Spec | None,
    title: str | None,
    loading: str | None,
) -> Spec:
    words = content.kernel_words(matrix, card)
    info = matrix.info() if isinstance(matrix, StoredGram) else None
    external = evaluation.external
    return {
        "title": title or content.title_of(matrix, words, card),
        "kernel": words,
        "matrix": content.matrix_rows(len(matrix), matrix.diag(), drawn),
        "cohort": content.cohort_rows(matrix, card),
        "samples": f"{len(matrix):,}",
        "events": f"{int(held.event.sum()):,}",
        "store": content.store_rows(info) if info else [],
        "runs": content.run_rows(info) if info else [],
        "versions": content.version_rows(matrix),
        "code": _snippet(matrix, evaluation, loading, card),
        "model": [] if card is None else survival_card_rows(card),
        "made": content.today(),
        "protocol": protocol(evaluation),
        "result": _result(held, count),
        "spread": _spread(evaluation),
        "external": None if external is None else _result(external, count),
        "external_name": str(evaluation.settings.get("external", "another cohort")),
        "repeats": _repeat_rows(evaluation),
        "facts": _protocol_rows(evaluation),
    }


def _result(risks: HeldOutRisks, count: int) -> Spec:
    """Concordance with intervals, risk groups, and the log-rank test."""
    table = risks.scores(seed=0)
    columns = (table[name].tolist() for name in ("score", "value", "low", "high"))
    scores = [
        {"name": name, "value": _number(value), "interval": f"{_number(low)} to {_number(high)}"}
        for name, value, low, high in zip(*columns, strict=True)
    ]
    groups = [
        [
            str(line["group"]),
            f"{line['samples']:,}",
            f"{line['events']:,}",
            _time(line["median"]),
            f"{_time(line['low'])} to {_time(line['high'])}",
        ]
        for line in risks.curves(count).medians.to_dict(orient="records")
    ]
    pvalue = _log_rank(risks, count)
    return {"scores": scores, "groups": groups, "pvalue": "–" if pvalue is None else f"{pvalue:.2g}"}


def _log_rank(risks: HeldOutRisks, count: int) -> float | None:
    from distkern.learners.survival_training import log_rank_pvalue

    return log_rank_pvalue(risks, count)


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _time(value: float) -> str:
    return "not reached" if np.isnan(value) else f"{value:g}"


def _spread(evaluation: SurvivalEvaluation) -> str:
    spread = evaluation.std()
    return "" if np.isnan(spread) else f"± {spread:.3f}"


def protocol(evaluation: SurvivalEvaluation) -> str:
    """Describe the cross-validation briefly.

    Examples
    --------
    >>> from distkern.learners.survival_evaluation import SurvivalEvaluation
    >>> columns = ([0, 0], [0, 1], [5, 5], [12, 6], [16, 8], [0.1, 1.0])
    >>> protocol(SurvivalEvaluation(*map(np.array, columns), settings={}, seconds=0.1))
    '1 repeat of 2-fold cross-validation'
    """
    outer = evaluation.settings.get("outer")
    repeats, folds = len(np.unique(evaluation.repeat)), len(np.unique(evaluation.fold))
    if isinstance(outer, str):
        return f"{outer.replace('-', ' ')}, {folds} times"
    return f"{repeats} repeat{'s' * (repeats != 1)} of {folds}-fold cross-validation"


def _repeat_rows(evaluation: SurvivalEvaluation) -> list[list[str]]:
    """Return per repeat: number, concordance, and the chosen values of λ."""
    return [
        [
            str(position + 1),
            _number(mean),
            ", ".join(f"{value:g}" for value in evaluation.lam[evaluation.repeat == number] if value == value) or "–",
        ]
        for position, (number, mean) in enumerate(
            zip(np.unique(evaluation.repeat), evaluation.repeat_means(), strict=True)
        )
    ]


def _protocol_rows(evaluation: SurvivalEvaluation) -> content.Rows:
    how = evaluation.settings
    rows = [("Outer folds", protocol(evaluation))]
    if how.get("lam"):
        grid = ", ".join(f"{value:g}" for value in how["lam"])
        rows.append(
            ("λ", f"{how['inner']}-fold cross-validation on the training part of each outer fold chose among {grid}")
        )
    if how.get("grouped"):
        rows.append(("Groups", "samples of one group never fall on both sides of a split"))
    if how.get("stratified"):
        rows.append(("Strata", "only samples of one stratum are compared"))
    for name, key in (("Model", "estimator"), ("Time", "time"), ("Event", "event"), ("Seed", "seed")):
        if how.get(key) is not None:
            rows.append((name, str(how[key])))
    rows.append(("Intervals", "95 %, of a bootstrap of the test samples with and without an event"))
    return [*rows, ("Duration", readable_seconds(evaluation.seconds))]


def _snippet(matrix: BaseGram, evaluation: SurvivalEvaluation, loading: str | None, card: Spec | None) -> str:
    if card is not None:
        times = [] if loading is not None else ["y = dk.survival_y(time, event)  # of each sample"]
        return "\n".join(
            [
                *content.card_lines(card, loading),
                *times,
                survival_line(card, evaluation.settings),
                "print(trained.evaluation.held_out.scores())",
                "dk.save_model(trained.predictor, 'survival.model')",
            ]
        )
    how, words = evaluation.settings, content.kernel_words(matrix)
    times = [] if loading is not None else ["y = dk.survival_y(time, event)  # of each sample"]
    asked = {name: how[name] for name in ("lam", "outer", "inner", "repeats", "seed") if name in how}
    if isinstance(how.get("outer"), str):
        asked.pop("repeats", None)
        if how["outer"] == "leave-one-cohort-out":
            asked.pop("outer")
    given = "".join(f", {name}={value!r}" for name, value in asked.items())
    given += ", groups=groups" * bool(how.get("grouped")) + ", strata=strata" * bool(how.get("stratified"))
    given += ", cohorts=cohorts" * (how.get("outer") == "leave-one-cohort-out")
    model = f"dk.{how.get('estimator', 'KernelCox()')}"
    return "\n".join(
        [
            *content.loading_lines(matrix, words, loading),
            *times,
            content.gram_line(matrix, words),
            f"evaluation = dk.cross_validate_gram({model}, gram, y, scoring='concordance'{given})",
            "print(evaluation.held_out.scores(), evaluation.held_out.log_rank().pvalue)",
        ]
    )


# Pictures ----------------------------------------------------------------------------------------------------------


def _pictures(
    drawn: Drawn, classes: Classes, evaluation: SurvivalEvaluation, held: HeldOutRisks, count: int, values: Spec
) -> dict[str, Any]:
    from distkern.plot.gram import draw_gram
    from distkern.plot.kernel_pca import draw_kernel_pca
    from distkern.plot.survival import plot_survival
    from distkern.plot.svg import picture

    def curves(risks: HeldOutRisks, name: str, whose: str) -> Any:
        medians = risks.curves(count).medians
        listed = "; ".join(
            f"{row['group']}: {row['events']} events of {row['samples']}" for _, row in medians.iterrows()
        )
        unit = str(evaluation.settings.get("time", "time"))
        return picture(
            lambda ax: plot_survival(risks.curves(count), pvalue=_log_rank(risks, count), xlabel=unit, ax=ax),
            name=name,
            alt=f"Kaplan-Meier curves of the risk groups of {whose}. {listed}.",
        )

    found = {"curves": curves(held, "curves", "test samples")}
    if evaluation.external is not None:
        found["external"] = curves(evaluation.external, "external", values["external_name"])
    groups = ", ".join(classes.names)
    found["gram"] = picture(
        lambda ax: draw_gram(ax, drawn, classes),
        name="gram",
        alt=f"Heat map of the kernel values between {len(drawn.samples):,} samples, ordered by risk group ({groups}).",
    )
    if len(drawn.samples) >= 3:
        found["pca"] = picture(
            lambda ax: draw_kernel_pca(ax, drawn, classes),
            name="pca",
            alt="Scatter of the samples on the first two kernel principal components, coloured by risk group.",
        )
    return found
