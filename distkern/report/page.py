"""The self-contained HTML page of a Gram matrix and an evaluation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distkern.core.errors import InputError, InputTypeError
from distkern.core.files import as_path, refuse_existing
from distkern.core.sentences import Argument
from distkern.core.typing import Spec
from distkern.gram.base import StoredGram
from distkern.operators.base import BaseGram
from distkern.plot.evaluation import as_percent, chosen_C, chosen_parameter
from distkern.plot.sample_order import Classes, Drawn, as_classes, as_symmetric, draw_samples
from distkern.report import content
from distkern.report.card import card_rows
from distkern.report.layout import order_note, render, require_extras, write_page
from distkern.report.validation import validation, validation_pictures

if TYPE_CHECKING:
    from distkern.learners.evaluation import Evaluation
    from distkern.learners.survival_evaluation import SurvivalEvaluation


def write_report(
    path: str | os.PathLike[str],
    *,
    gram: Any,
    labels: Any = None,
    evaluation: Evaluation | SurvivalEvaluation | None = None,
    card: Spec | None = None,
    reference: float | None = None,
    reference_label: str | None = None,
    title: str | None = None,
    loading: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a self-contained HTML page of a Gram matrix and, if given, of an evaluation.

    The page loads no script and no other file, and can be sent by mail, printed, and read on a phone, in light and dark
    mode. It shows only the last part of the path of the store.

    Parameters
    ----------
    path
        File to write, such as ``"report.html"``; parent folders are created.
    gram
        Symmetric Gram matrix, or an array of its values, (m, m). For a matrix from `distkern.compute_gram` the page
        also states kernel, samples and runs.
    labels
        Class of each sample, (m,).
    evaluation
        Result of `distkern.cross_validate_gram`, of classes or of survival. The page shows its scores with intervals
        and its curves, those of another cohort (``external``) beside them, and the p-value, as far as the evaluation
        has them.
    card
        Card of a model that was trained on these samples: ``gram``, ``evaluation`` and ``card`` are attributes of what
        `distkern.train_classifier` or `distkern.train_survival` returns.
    reference
        A published accuracy for comparison, in per cent (85.78); a number up to 1 is taken as a fraction.
    reference_label
        Description of the published accuracy, such as ``"SVMkdtALL in table 2 of Jiao & Vert (2015)"``.
    title
        Title of the page; by default the kernel and the number of samples.
    loading
        Lines of Python that load the samples as X and the labels as y, for the code on the page.
    overwrite
        Whether an existing file is replaced.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the file exists and ``overwrite`` is false, if matrix, labels and evaluation are of different samples, or if
        there is a reference but no evaluation.
    MissingExtraError
        If matplotlib or Jinja2 is not installed.

    See Also
    --------
    write_cluster_report : Pages of clusters.
    distkern.cross_validate_gram : The evaluation.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(folder + "/report.html", gram=[[1.0, 0.2], [0.2, 1.0]], labels=["tumour", "normal"])
    ...     page.name, "Gram matrix on 2 samples" in page.read_text(encoding="utf-8")
    ('report.html', True)
    """
    require_extras()
    file = as_path(path)
    refuse_existing(file, overwrite)
    matrix = as_symmetric(gram)
    if evaluation is not None:
        from distkern.learners.survival_evaluation import SurvivalEvaluation  # imports scikit-learn

        if isinstance(evaluation, SurvivalEvaluation):
            from distkern.report.survival_page import write_survival_page

            if labels is not None or reference is not None:
                raise InputError("labels and a reference are for classes: leave them out for an evaluation of survival")
            return write_survival_page(
                file, matrix, evaluation, card=card, title=title, loading=loading, overwrite=overwrite
            )
    classes = as_classes(labels, matrix)
    _check(matrix, classes, labels is not None, evaluation, reference)
    drawn = draw_samples(matrix, classes.codes)
    values = _values(
        matrix, drawn, classes, labels is not None, evaluation, card, reference, reference_label, title, loading
    )
    page = _rendered(values, drawn, classes, evaluation, reference, reference_label)
    return write_page(file, page, overwrite=overwrite)


def _check(
    matrix: BaseGram, classes: Classes, labelled: bool, evaluation: Evaluation | None, reference: float | None
) -> None:
    if evaluation is None:
        if reference is not None:
            raise InputError(
                "there is a reference, but no evaluation to compare it with: pass {evaluation}",
                evaluation=Argument("evaluation"),
            )
        return
    from distkern.learners.evaluation import Evaluation  # imports scikit-learn, which only pages of an evaluation need

    if not isinstance(evaluation, Evaluation):
        raise InputTypeError(
            f"evaluation is what distkern.cross_validate_gram returns, not {type(evaluation).__name__}"
        )
    if reference is not None:
        as_percent(reference)
    content.check_evaluation(evaluation, matrix, classes, labelled)


def _values(
    matrix: BaseGram,
    drawn: Drawn,
    classes: Classes,
    labelled: bool,
    evaluation: Evaluation | None,
    card: Spec | None,
    reference: float | None,
    reference_label: str | None,
    title: str | None,
    loading: str | None,
) -> Spec:
    """Collect all texts and numbers of the page."""
    words = content.kernel_words(matrix, card)
    info = matrix.info() if isinstance(matrix, StoredGram) else None
    values: Spec = {
        "title": title or content.title_of(matrix, words, card),
        "kernel": words,
        "matrix": content.matrix_rows(len(matrix), matrix.diag(), drawn),
        "cohort": content.cohort_rows(matrix, card),
        "classes": content.class_rows(classes) if labelled else [],
        "samples": f"{len(matrix):,}",
        "store": content.store_rows(info) if info else [],
        "runs": content.run_rows(info) if info else [],
        "versions": content.version_rows(matrix),
        "code": content.snippet(matrix, words, evaluation, labelled, loading, card),
        "model": [] if card is None else card_rows(card),
        "made": content.today(),
        "result": None,
        "validation": None,
    }
    if evaluation is not None:
        values["result"] = content.headline(evaluation, classes, labelled, reference, reference_label)
        values["scores"] = content.score_rows(evaluation)
        values["repeats"] = content.repeat_rows(evaluation)
        values["parameter"] = chosen_parameter(evaluation)
        values["validation"] = validation(evaluation)
        values["protocol"] = content.protocol_rows(evaluation)
    return values


def _rendered(
    values: Spec,
    drawn: Drawn,
    classes: Classes,
    evaluation: Evaluation | None,
    reference: float | None,
    reference_label: str | None,
) -> str:
    """Draw the pictures and render the page."""
    from distkern.plot.accuracy import plot_accuracy
    from distkern.plot.chosen_C import plot_chosen_C
    from distkern.plot.gram import draw_gram
    from distkern.plot.kernel_pca import draw_kernel_pca
    from distkern.plot.svg import picture

    several = len(classes.names) > 1
    order = f", ordered by class ({', '.join(classes.names[:8])})" if several else ""
    pictures = {
        "gram": picture(
            lambda ax: draw_gram(ax, drawn, classes),
            name="gram",
            alt=f"Heat map of the kernel values between {len(drawn.samples):,} samples{order}.",
        )
    }
    if len(drawn.samples) >= 3:
        pictures["pca"] = picture(
            lambda ax: draw_kernel_pca(ax, drawn, classes),
            name="pca",
            alt="Scatter of the samples on the first two kernel principal components"
            + (", coloured by class." if several else "."),
        )
    if evaluation is not None and values["result"]:
        compared = f"; {values['result']['reference']['label']}: {reference:g}" if reference is not None else ""
        pictures["accuracy"] = picture(
            lambda ax: plot_accuracy(evaluation, reference=reference, reference_label=reference_label, ax=ax),
            name="accuracy",
            alt=f"Accuracy of every fold, repeat by repeat; mean {values['result']['mean']}{compared}.",
        )
        pictures |= validation_pictures(evaluation)
        counts = chosen_C(evaluation)
        if counts:
            listed = ", ".join(f"{value:g} in {count}" for value, count in counts.items())
            pictures["C"] = picture(
                lambda ax: plot_chosen_C(evaluation, ax=ax),
                name="C",
                alt=f"How many outer folds chose each {values['parameter']}: {listed}.",
                size=(4.8, 3.6),
            )
    note = order_note(drawn, "class") if several else order_note(drawn)
    return render("report.html.j2", values | {"pictures": pictures, "note": note})
