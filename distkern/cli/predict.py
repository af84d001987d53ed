"""``distkern predict``: classes, probabilities or risks of new samples, and reasons."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import count_classes, read_cohort
from distkern.cli.common import (
    Choice,
    LocalPath,
    is_given,
    json_option,
    print_json,
    print_table,
    quiet_option,
    reading_options,
    refuse_unwritable_file,
    say,
    sep_option,
    separator_of,
)
from distkern.cli.ending import READING, again, command, conclude, stem_of, typed, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo, step
from distkern.cli.survival import predicts_survival, risk_table
from distkern.cli.tables import print_frame
from distkern.core.errors import InputError
from distkern.core.files import write_text

if TYPE_CHECKING:
    from distkern.io.source import Source

REASONS = 3
"""Pairs of features that are named for each sample."""

SHOWN = 20
"""Samples that are printed."""

EPILOG = """\b
Examples:
  distkern predict er.model new-patients.csv --samples columns --out calls.csv
  distkern predict er.model other-platform.tsv --samples columns --missing interleaving --error 0.05 --out calls.csv
  distkern predict er.model cells.h5ad --out called.h5ad
  distkern predict risk.model new-patients.csv --samples columns --at 1825 --out risks.csv

MODEL is a file of `distkern train`, `distkern pairs --model` or save_model. Each sample is predicted alone, without its
cohort. A sample is unsure where no class, or several classes, are possible at the level --error: in training, at most
this fraction of a class was left out. That does not hold on another platform. The reasons are the pairs of features
that moved the decision most, and the class that each speaks for. A survival model tells risks instead (a higher risk
stands for an earlier event), risk groups by the cut-offs of training, and Cox's model the median time and the chance to
have no event up to the times --at."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("model", type=LocalPath())
@click.argument("cohort", type=LocalPath())
@reading_options
@sep_option
@click.option(
    "--missing",
    type=Choice(["error", "interleaving", "abstain", "drop"]),
    default="error",
    help="Features that the samples lack: an error; average over all places they may take (Kendall kernels); let the "
    "rules abstain that compare them (a model of distkern pairs); or compare profiles without them (NearestProfile).",
)
@click.option(
    "--error",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    help="Fraction of errors of the sets of classes, which say who is unsure.",
)
@click.option(
    "--at",
    type=click.FloatRange(0),
    multiple=True,
    metavar="TIME",
    help="For Cox's model: a time up to which the chance to have no event is computed; may be repeated.",
)
@click.option(
    "--out",
    type=LocalPath(),
    metavar="FILE",
    help="Write a row for each sample, .csv; or COHORT with obs['prediction'] and obs['probability'], or obs['risk'], "
    ".h5ad.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it exists.")
@json_option
@quiet_option
def predict(
    model: Path,
    cohort: Path,
    missing: str,
    error: float,
    at: tuple[float, ...],
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Predict the class, or the risk, of every sample in COHORT with the model in the file MODEL."""
    if out is not None:
        refuse_unwritable_file(out, overwrite)
        if out.suffix.lower() not in (".csv", ".h5ad"):
            raise InputError(f"{out.name!r} must end with .csv, for a table, or .h5ad, for AnnData")
    from distkern.learners.persist import load_model

    on_interruption("nothing was written: run the same command again")
    loaded = _usable(load_model(model), model, missing)
    source = read_cohort(cohort, **(given | {"sep": separator_of(given["sep"])}))
    survival = predicts_survival(loaded)
    for name, misplaced in (("at", not survival), ("error", survival)):
        if misplaced and is_given(name):
            raise click.UsageError(f"--{name} is for a model of {'classes' if survival else 'survival'}: leave it out")
    with step(f"predicting {len(source):,} samples"):
        table = risk_table(loaded, source, at) if survival else calls(loaded, source, error)
    with step("looking for reasons"):
        _add_reasons(table, loaded, source, quiet)
    if out is not None and out.suffix.lower() == ".h5ad":
        _write_anndata(out, cohort, source, table)
    elif out is not None:
        write_text(out, table.to_csv(index=False, lineterminator="\n"))
    if as_json:
        print_json(
            {
                "model": str(model),
                "source": source.describe(),
                "card": getattr(loaded, "card", None),
                "calls": table.astype(object).where(table.notna(), None).to_dict(orient="records"),
                "out": None if out is None else str(out),
            }
        )
        return
    rows = [("model", model.name), ("samples from", source.describe())]
    for column, about in (("call", "calls"), ("risk_group", "risk groups")):
        if column in table:
            called = ["undecided" if label is None else label for label in table[column].tolist()]
            rows.append((about, count_classes(called)))
    if "unsure" in table and table["unsure"].notna().any():
        rows.append(("unsure", f"{table['unsure'].tolist().count(True):,} at an error of {error:g}"))
    print_table(rows)
    if out is None:
        some = table.head(SHOWN)
        print_frame(some, some.astype(object).where(some.notna(), "").to_string(index=False))
        if len(table) > SHOWN:
            echo(f"… and {len(table) - SHOWN:,} others: write all with --out FILE")
        conclude(then=[again("--out", unused(f"{stem_of(cohort)}-calls.csv"))])
        return
    then = [command("explain", model, "--new", cohort, *typed(*READING, "label"), "--pairs", unused("why.csv"))]
    conclude(out, then=then if table["reason_1"].notna().any() and not hasattr(loaded, "votes") else ())


def _usable(loaded: Any, model: Path, missing: str) -> Any:
    """Refuse a model that predicts nothing from samples; choose what happens to missing features."""
    from sklearn.base import is_classifier
    from sklearn.utils import get_tags

    from distkern.learners.nearest_profile import NearestProfile
    from distkern.learners.predictor import CohortPredictor
    from distkern.learners.top_pairs import KTopScoringPairs

    if get_tags(loaded).input_tags.pairwise:
        raise InputError(
            f"{str(model)!r} holds a model without its training samples, so that it cannot read new ones: save it with "
            "its matrix"
        )
    if not is_classifier(loaded) and not predicts_survival(loaded):
        raise InputError(f"{str(model)!r} is a {type(loaded).__name__}, which predicts neither classes nor risks")
    if missing == "error":
        return loaded
    takes = {KTopScoringPairs: "abstain", NearestProfile: "drop"}
    if missing != next((word for cls, word in takes.items() if isinstance(loaded, cls)), "interleaving"):
        able = {"abstain": "a model of top-scoring pairs", "drop": "a NearestProfile"}.get(missing, "a kernel model")
        kind = type(loaded).__name__
        raise InputError(f"--missing {missing} is for {able}, and {str(model)!r} is another one ({kind})")
    if isinstance(loaded, NearestProfile):
        return loaded.set_params(missing=missing)
    if isinstance(loaded, KTopScoringPairs):
        return loaded.set_params(absent="abstain", missing="skip")
    if not isinstance(loaded, CohortPredictor):
        return CohortPredictor(loaded, missing=missing)
    loaded.missing = missing
    return loaded


def calls(model: Any, source: Source, error: float) -> Any:
    """Make the table of calls: a row for each sample, its name first.

    Parameters
    ----------
    model
        Classifier of samples.
    source
        The samples.
    error
        Error level of the sets of classes.

    Returns
    -------
    DataFrame with the columns sample, call, probability (of the call) and unsure; empty cells where the model cannot
    tell.
    """
    import numpy as np
    import pandas as pd

    count = len(source)
    decided = model.decision_function(source) if hasattr(model, "decision_function") else np.zeros(count)
    known = ~np.isnan(decided.reshape(count, -1)).any(axis=1)
    table = pd.DataFrame({"sample": list(source.ids or map(str, range(count)))})
    classes = [str(label) for label in model.classes_.tolist()]
    table["call"] = pd.Series([None] * count, dtype=object)
    table["probability"], table["unsure"] = np.nan, pd.Series([None] * count, dtype=object)
    rows = np.flatnonzero(known)
    part = source if known.all() else source.part(rows)
    if len(rows):
        called = [str(label) for label in model.predict(part).tolist()]
        table.loc[rows, "call"] = called
        if hasattr(model, "predict_proba"):
            places = [classes.index(label) for label in called]
            table.loc[rows, "probability"] = model.predict_proba(part)[np.arange(len(rows)), places].round(6)
        if hasattr(model, "predict_set"):
            table.loc[rows, "unsure"] = model.predict_set(part, error).sum(axis=1) != 1
    return table


def _add_reasons(table: Any, model: Any, source: Source, quiet: bool) -> None:
    """Add the columns missing_features (their number) and reason_1 to reason_3; equal values make a call unsure."""
    table["missing_features"], constant = _look(model, source)
    if "unsure" in table:
        table.loc[constant, "unsure"] = True  # the same is predicted for all of them
    reasons = _reasons(model, source, table, quiet)
    for number in range(REASONS):
        table[f"reason_{number + 1}"] = [own[number] if number < len(own) else None for own in reasons]


def _look(model: Any, source: Source) -> tuple[Any, Any]:
    """Number of features that each sample lacks, by name or as NaN, and whether all its values are equal."""
    import numpy as np

    from distkern.core.feature_names import find_names
    from distkern.core.validation import are_constant

    named = getattr(model, "feature_names_in_", None)
    places = np.arange(source.shape[1])
    if named is not None and source.features is not None:
        places = find_names([*map(str, named)], source.features, "the cohort")
    found = places[places >= 0]
    lacking, constant = np.full(len(source), len(places) - len(found)), np.zeros(len(source), dtype=bool)
    height = max(1, 2**23 // max(1, source.shape[1]))
    for start in range(0, len(source), height):
        block = source.read(slice(start, min(start + height, len(source))))[:, found]
        lacking[start : start + height] += np.isnan(block).sum(axis=1)
        constant[start : start + height] = are_constant(block)
    return lacking, constant


def _reasons(model: Any, source: Source, table: Any, quiet: bool) -> list[list[str]]:
    """The pairs that moved the decision value of each sample most, as text; none where they are not known."""
    from distkern.core.errors import DistkernError
    from distkern.learners.explain import explain

    out: list[list[str]] = [[] for _ in range(len(source))]
    if hasattr(model, "votes"):
        return _votes(model, source)
    try:
        explained = explain(model, k=REASONS, progress=False)
        missing = getattr(model, "missing", "error")
        found = explained.contributions(source, k=REASONS, missing=missing, progress=False)
    except DistkernError as error:
        say(f"no reasons: {error}", quiet)
        return out
    rows = {name: position for position, name in enumerate(table["sample"])}
    one = len(explained.machines) == 1
    sides = {"contribution" if one else f"contribution {name}": name.split(" against ") for name in explained.machines}
    if predicts_survival(model):
        sides = {"contribution": ["higher risk", "lower risk"]}
    for pair in found.pairs.to_dict(orient="records"):
        row = rows[str(pair["sample"])]
        column = max(sides, key=lambda name: abs(pair[name]) if pair[name] == pair[name] else 0.0)
        side = sides[column][0] if pair[column] > 0 else sides[column][-1]
        first, second = pair["first"], pair["second"]
        if len(out[row]) < REASONS:
            out[row].append(f"{first} {_order(source, row, first, second)} {second} for {side}")
    return out


def _votes(model: Any, source: Source) -> list[list[str]]:
    """The first rules that vote in each sample, and the class that they vote for."""
    from distkern.learners.pair_rules_file import sides_of

    sides = [sides_of(model, int(problem)) for problem in model.problem_]
    out: list[list[str]] = []
    for votes in model.votes(source).tolist():
        own = []
        for vote, (first, second), (votes_for, against) in zip(votes, model.pair_names_.tolist(), sides, strict=True):
            if vote:
                side = votes_for if vote > 0 else "the rest" if against is None else against
                own.append(f"{first} {'<' if vote > 0 else '>'} {second} for {side}")
        out.append(own)
    return out


def _order(source: Source, row: int, first: str, second: str) -> str:
    """How a sample orders two features; where one of them is missing, how its average over all places does."""
    names = source.features
    places = [_place(names, name) for name in (first, second)]
    a, b = (math.nan if at is None else source.read([row])[0, at] for at in places)
    if math.isnan(a) or math.isnan(b):
        return "on average >"
    return ">" if a > b else "<" if a < b else "="


def _place(names: Any, name: str) -> int | None:
    if names is None:
        return int(name)
    return names.index(name) if name in names else None


def _write_anndata(out: Path, cohort: Path, source: Source, table: Any) -> None:
    """Write the cohort with its calls in obs."""
    import anndata
    import pandas as pd

    from distkern.core.files import written_whole

    if cohort.suffix.lower() == ".h5ad":
        adata = anndata.read_h5ad(cohort)
    else:
        obs = pd.DataFrame(index=table["sample"].astype(str).to_numpy())
        var = pd.DataFrame(index=list(source.features or map(str, range(source.shape[1]))))
        adata = anndata.AnnData(source.read(slice(0, None)), obs=obs, var=var)
    names = [name for name in table if name not in ("sample", "missing_features") and not name.startswith("reason_")]
    for name in names:
        values = table[name]
        if name in ("call", "risk_group"):
            adata.obs["prediction" if name == "call" else name] = pd.Categorical(values)
        else:
            adata.obs[name] = values.astype("boolean").array if name == "unsure" else values.to_numpy()
    with written_whole(out, overwrite=True) as file:
        adata.write_h5ad(file.name)
