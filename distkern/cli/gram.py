"""``distkern gram``: compute a Gram matrix into a store."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from distkern.cli.cohort import holds_label, read_cohort
from distkern.cli.common import (
    Place,
    StorePlace,
    cohort_options,
    execution_options,
    executor_of,
    json_option,
    open_store,
    options,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_several_executors,
    refuse_unwritable,
    say_what_was_computed,
    separator_of,
)
from distkern.cli.errors import on_interruption
from distkern.cli.kernels import kernel_of, kernel_options
from distkern.cli.wording import go_on_without, the_same_command
from distkern.core.errors import StoreMismatchError
from distkern.core.sentences import Argument

gram_options = options(
    kernel_options,
    cohort_options,
    click.option(
        "--labels",
        type=Place(),
        metavar="FILE",
        help="A table of labels; here it is only checked that it knows the samples.",
    ),
    click.option(
        "--against",
        type=Place(),
        metavar="FILE",
        help="Training samples: compute the matrix of INPUT (rows) against these (columns).",
    ),
    click.option("--tile", type=click.IntRange(1), metavar="N", help="Samples on a side of a tile; chosen by default."),
    click.option(
        "--dtype",
        type=click.Choice(["float64", "float32"]),
        default="float64",
        help="Type of the stored values; counts of kernels on orderings are whole numbers, and stored as such.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["error", "drop-features", "interleaving"]),
        default="error",
        help="Where samples lack values: refuse them, leave such features out, or (Kendall kernels) average over all "
        "places of what is missing.",
    ),
    click.option(
        "--landmarks",
        type=click.IntRange(1),
        metavar="K",
        help="Compute the columns of K landmark samples only, for the Nyström approximation by them.",
    ),
    click.option(
        "--landmark-choice",
        type=click.Choice(["random", "kmeans++", "leverage"]),
        default="random",
        help="How landmarks are chosen: at random, far from one another, or by ridge leverage scores.",
    ),
    click.option("--landmark-seed", type=int, default=0, metavar="N", help="Seed of that choice."),
    execution_options,
    click.option("--overwrite", is_flag=True, help="Delete an existing store first."),
    json_option,
    quiet_option,
)

EPILOG = """\b
Examples:
  distkern gram cohort.csv cohort.zarr --samples columns --kernel kendall --ties b
  distkern gram cohort.h5ad cohort.zarr --kernel mallows --param lam=2 --param scaled=true --workers 4
  distkern gram new.csv new.zarr --against cohort.csv --samples rows --kernel gaussian --param sigma=median
  distkern gram million.h5ad million.zarr --kernel gaussian --landmarks 500 --landmark-choice kmeans++
  distkern gram cohort.h5ad s3://bucket/cohort.zarr --kernel kendall --scheduler-file cluster.json
  distkern gram cohort.npy cohort.zarr --kernel '{"kernel": "normalized", "base": {"kernel": "linear"}}' --dry-run

INPUT is a text table (.csv, .tsv, .txt, .tab, also .gz), an .h5ad, .npy or .npz file, or a .zarr folder. A store of
the same samples and kernel is completed: after an interruption run the same command again."""


@click.command(epilog=EPILOG, short_help="Compute a Gram matrix into a store.")
@click.argument("input", type=Place())
@click.argument("store", type=StorePlace())
@gram_options
@click.option("--no-resume", is_flag=True, help="Make it an error if the store exists.")
@click.option("--dry-run", is_flag=True, help="Print the plan, and compute nothing.")
def gram(store: Path | str, no_resume: bool, dry_run: bool, as_json: bool, quiet: bool, **given: Any) -> None:
    """Compute the Gram matrix of the samples in INPUT into STORE: a folder, or a URL of object storage."""
    if dry_run:
        print_plan(store=store, as_json=as_json, **given)
        return
    from distkern.build.compute import compute_gram
    from distkern.build.plan import landmark_words
    from distkern.gram.nystrom import NystromGram

    refuse_unwritable(store)
    runs = [] if given["overwrite"] or no_resume else _runs_of(store)
    kernel, X, Y = read_arguments(**given)
    go_on_without(*(["--overwrite"] if given["overwrite"] else []), *(["--no-resume"] if no_resume else []))
    with executor_of(**given) as executor:
        on_interruption(f"what had finished is in {str(store)!r}, and {the_same_command()} goes on from there")
        matrix = compute_gram(
            kernel,
            X,
            Y,
            store=store,
            executor=executor,
            memory_limit=given["memory_limit"],
            dtype=given["dtype"],
            missing=given["missing"],
            tile=given["tile"],
            **landmarks_of(given),
            resume=not no_resume,
            overwrite=given["overwrite"],
            progress=progress_of(quiet),
        )
    info = matrix.info()
    error = matrix.error() if isinstance(matrix, NystromGram) else None
    if as_json:
        print_json(info | ({"error": error.to_dict()} if error else {}))
        return
    rows, cols = matrix.shape
    click.echo(f"{store}: complete {rows:,} × {cols:,} Gram matrix of {matrix.kernel!r}, {info['tiles']:,} tiles")
    if error:
        click.echo(f"by landmarks ({landmark_words(info['landmarks'])}): {error}")
    say_what_was_computed(info["runs"], len(runs), quiet, "it was complete before: nothing was computed")


def landmarks_of(given: dict[str, Any]) -> dict[str, Any]:
    """Pick the arguments that tell the landmarks."""
    return {name: given[name] for name in ("landmarks", "landmark_choice", "landmark_seed")}


def read_arguments(
    *,
    input: Path,
    kernel: str,
    ties: str | None,
    params: tuple[str, ...],
    samples: str | None,
    labels: Path | None,
    label: str | None,
    sep: str | None,
    against: Path | None,
    **execution: Any,
) -> tuple[Any, Any, Any]:
    """Build the kernel and read the samples of both sides."""
    built = kernel_of(kernel, ties, params)
    separator = separator_of(sep)
    own = label
    if against is not None and labels is None and not holds_label(input, label, samples, separator):
        own = label if not holds_label(against, label, samples, separator) else None  # only the training file has it
    X = read_cohort(input, samples=samples, labels=labels, label=own, sep=separator)
    if against is None:
        return built, X, None
    other = label if holds_label(against, label, samples, separator) else None
    return built, X, read_cohort(against, samples=samples, label=other, sep=separator)


def print_plan(*, store: Path | str | None, as_json: bool, overwrite: bool, **given: Any) -> None:
    """Print what ``distkern gram`` would do with the same arguments, and do none of it."""
    from distkern.build.compute import plan_gram
    from distkern.build.plan import landmark_words, refuse_full_disk
    from distkern.core.units import readable_bytes, readable_seconds
    from distkern.engine.resolve import resolve_executor

    found = None if store is None or overwrite else _existing(store)
    kernel, X, Y = read_arguments(**given)
    wanted = given["workers"]  # a plan for so many is made without starting them
    refuse_several_executors(**given)
    with nullcontext() if wanted else executor_of(**given) as executor:
        pool = resolve_executor(executor)
        plan = plan_gram(
            kernel,
            X,
            Y,
            executor=pool,
            memory_limit=given["memory_limit"],
            missing=given["missing"],
            dtype=given["dtype"],
            tile=found["tile"] if found else given["tile"],
            workers=wanted,
            **landmarks_of(given),
        )
        runs_on = f"{wanted:,} workers of one thread each" if wanted else pool.describe()
    if found:
        _refuse_other(str(store), plan.identity(), found)
    elif store is not None:
        refuse_unwritable(store)
        refuse_full_disk(plan.bytes_stored, str(store))
    done = found["tiles_done"] if found else 0
    if as_json:
        print_json(plan.to_dict() | {"tiles_done": done, "executor": runs_on})
        return
    left = 1 - done / plan.tiles
    sides = "symmetric" if plan.symmetric else "test × training"
    if plan.landmarks:
        sides = f"all samples × landmarks ({landmark_words(plan.landmarks)})"
    table = [
        ("kernel", repr(kernel)),
        (
            "matrix",
            f"{plan.shape[0]:,} × {plan.shape[1]:,} {plan.dtype}, {sides}",
        ),
        ("features", f"{plan.n_features:,}"),
        ("samples from", plan.source),
        ("tiles", f"{plan.tiles:,} of side {plan.tile:,}" + (f", {done:,} of them done" if found else "")),
        ("on disk", readable_bytes(plan.bytes_stored)),
        (
            "memory",
            f"{readable_bytes(plan.bytes_per_task)} a task, {plan.workers:,} side by side; "
            f"{readable_bytes(plan.bytes_per_worker)} a worker of one thread",
        ),
        ("work", f"about {readable_seconds(plan.seconds * left)} of one core"),
        ("time", f"about {readable_seconds(plan.elapsed * left)}: {plan.worker_hours * left:.3g} worker-hours"),
        ("runs on", runs_on),
    ]
    print_table(table)


def _existing(store: Path | str) -> dict[str, Any] | None:
    """Describe the store that lies at a path; None where nothing does."""
    from distkern.store.location import exists

    return open_store(store).info() if exists(str(store)) else None


def _runs_of(store: Path | str) -> list[Any]:
    info = _existing(store)
    return info["runs"] if info else []


def _refuse_other(store: str, wanted: dict[str, Any], found: dict[str, Any]) -> None:
    differing = ["kernel" if key == "stored" else key for key in wanted if wanted[key] != found.get(key)]
    if differing:
        raise StoreMismatchError(
            "{store!r} holds another computation (another {differing}): give another path, or {overwrite} to replace "
            "it",
            store=store,
            differing=" and ".join(differing),
            overwrite=Argument("overwrite", True),
        )
