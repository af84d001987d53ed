"""Another cohort that an evaluation predicts with a model of all samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import read_labelled
from distkern.cli.common import Choice, LocalPath, options

if TYPE_CHECKING:
    from distkern.io.source import Source
    from distkern.learners.held_out import HeldOut

external_options = options(
    click.option(
        "--external",
        type=LocalPath(),
        metavar="NEW",
        help="Samples of another cohort, which a model of all samples of the store predicts one at a time.",
    ),
    click.option(
        "--external-labels",
        type=LocalPath(),
        metavar="FILE",
        help="File of their labels, in a column of the same name (--label). Default: NEW.",
    ),
    click.option(
        "--external-samples",
        type=Choice(["rows", "columns"]),
        help="Whether the rows or the columns of the text table NEW are the samples.",
    ),
    click.option(
        "--missing",
        type=Choice(["error", "interleaving"]),
        default="error",
        help="Features that the samples of NEW lack: an error, or average over all places they may take (Kendall "
        "kernels).",
    ),
)


def refuse_alone(path: Path | None, labels: Path | None, samples: str | None, missing: str) -> None:
    """Refuse options of another cohort where there is none."""
    for name, value in (("--external-labels", labels), ("--external-samples", samples), ("--missing", missing)):
        if path is None and value not in (None, "error"):
            raise click.UsageError(f"{name} is for another cohort: name its file with --external")


def read_external(
    path: Path | None, labels: Path | None, samples: str | None, missing: str, label: str, sep: str | None
) -> tuple[Source, list[str]] | None:
    """Read the samples and labels of another cohort; None if there is none."""
    refuse_alone(path, labels, samples, missing)
    if path is None:
        return None
    how = {"samples": samples, "layer": None, "use_rep": None, "collapse": None, "genes": None, "sep": sep}
    source, _, y, _ = read_labelled(path, labels, label, None, how)
    return source, y


def predict_other(
    model: Any,
    gram: Any,
    y: list[str],
    groups: list[str] | None,
    grids: dict[str, Any],
    external: tuple[Source, list[str]],
    missing: str,
    inner: int,
    seed: int,
) -> HeldOut:
    """Fit and calibrate a model of all samples of the store, and predict the other cohort."""
    from distkern.core.labels import encoded_labels
    from distkern.learners.external import predict_external
    from distkern.learners.predictor import CohortPredictor
    from distkern.learners.selection import choice_of
    from distkern.learners.training import fit_calibrated
    from distkern.learners.validation import labels_and_weights

    labels = labels_and_weights(y, None, gram)[0]
    group_of = None if groups is None else encoded_labels(groups, gram, "groups")[1]
    choice = choice_of(model, **grids)
    fitted, _ = fit_calibrated(model, gram, labels, group_of, choice, inner=inner, method="sigmoid", seed=seed)
    return predict_external(CohortPredictor(fitted, gram, missing=missing), *external)
