"""``distkern gram``: compute a Gram matrix into a store."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.ballots import ballot_options, ballots_of, read_meaning
from distkern.cli.cohort import holds_label, read_cohort
from distkern.cli.common import (
    Choice,
    LocalPath,
    StoreLocation,
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
    report_computed,
    say,
    separator_of,
)
from distkern.cli.ending import again, clustering, command, conclude, stem_of, typed, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.kernels import kernel_of, kernel_options
from distkern.cli.progress import echo, step
from distkern.cli.wording import continue_without, the_same_command
from distkern.core.errors import StoreMismatchError
from distkern.core.sentences import Argument

if TYPE_CHECKING:
    from distkern.store.manifest import GramPlan

gram_options = options(
    kernel_options,
    cohort_options,
    ballot_options,
    click.option(
        "--labels",
        type=LocalPath(),
        metavar="FILE",
        help="Table of labels, which is only checked to have all samples.",
    ),
    click.option(
        "--against",
        type=LocalPath(),
        metavar="FILE",
        help="Training samples: compute the kernel between INPUT (rows) and these (columns).",
    ),
    click.option(
        "--tile",
        type=click.IntRange(1),
        metavar="N",
        help="Tile size: the number of samples along a side. Default: chosen by the plan.",
    ),
    click.option(
        "--dtype",
        type=Choice(["float64", "float32"]),
        default="float64",
        help="Type of the stored values. Kernels on orderings store integer counts in either case.",
    ),
    click.option(
        "--missing",
        type=Choice(["error", "drop-features", "interleaving"]),
        default="error",
        help="Missing values: an error, leave out their features, or (Kendall kernels) average over all positions "
        "that the missing values could have.",
    ),
    click.option(
        "--landmarks",
        type=click.IntRange(1),
        metavar="K",
        help="Compute only the columns of K landmark samples, for a Nyström approximation.",
    ),
    click.option(
        "--landmark-choice",
        type=Choice(["random", "kmeans++", "leverage"]),
        default="random",
        help="Choice of the landmarks: at random, far from one another, or by ridge leverage scores.",
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
  distkern gram votes.soi votes.zarr --kernel partial-kendall --param kind=top
  distkern gram million.h5ad million.zarr --kernel gaussian --landmarks 500 --landmark-choice kmeans++
  distkern gram cohort.h5ad s3://bucket/cohort.zarr --kernel kendall --scheduler-file cluster.json
  distkern gram cohort.npy cohort.zarr --kernel '{"kernel": "normalized", "base": {"kernel": "linear"}}' --dry-run

INPUT is a table (.csv, .tsv, .txt, .tab, also compressed, .xlsx, .parquet, .feather, .rds), a file or folder of 10x
Genomics, GEO, GCT(X), loom, cBioPortal or Xena, an .h5ad, .npy or .npz file, a .zarr folder, or a file of ballots:
PrefLib, BLT, orders as text ('12: a > b = c'), or a table with a row for each voter and item. An existing
store of the same samples and kernel is completed: after an interruption run the same command again."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.argument("store", type=StoreLocation())
@gram_options
@click.option("--no-resume", is_flag=True, help="Stop with an error if the store exists.")
@click.option("--dry-run", is_flag=True, help="Print the plan and compute nothing.")
def gram(store: Path | str, no_resume: bool, dry_run: bool, as_json: bool, quiet: bool, **given: Any) -> None:
    """Compute the Gram matrix of the samples in INPUT into STORE: a folder, or a URL of object storage."""
    if dry_run:
        print_plan(store=store, as_json=as_json, **given)
        return
    from distkern.build.compute import compute_gram
    from distkern.gram.nystrom import NystromGram
    from distkern.store.manifest import landmark_words

    refuse_unwritable(store)
    found = None if given["overwrite"] or no_resume else _existing(store)
    runs = found["runs"] if found else []
    kernel, X, Y, reading = read_arguments(**given, progress=progress_of(quiet))
    continue_without(*(["--overwrite"] if given["overwrite"] else []), *(["--no-resume"] if no_resume else []))
    with executor_of(**given) as executor, step("checking and planning", kept=False):
        on_interruption(f"all finished results are in {str(store)!r}, and {the_same_command()} continues from there")
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
    info = matrix.info() | ({} if reading is None else {"ballots": reading.to_json()})
    with step("estimating the error of the landmarks"):
        error = matrix.error() if isinstance(matrix, NystromGram) else None
    if as_json:
        print_json(info | ({"error": error.to_dict()} if error else {}))
        return
    rows, cols = matrix.shape
    echo(f"{store}: complete {rows:,} × {cols:,} Gram matrix of {matrix.kernel!r}, {info['tiles']:,} tiles")
    if left_out := len(info["dropped"]):
        echo(f"left out {left_out:,} feature{'s' * (left_out > 1)} with missing values")
    if reading is not None:
        echo(f"ballots: {reading}")
    if error:
        echo(f"by landmarks ({landmark_words(info['landmarks'])}): {error}")
    report_computed(info["runs"], len(runs), quiet, "nothing was computed: the store was already complete")
    _say_what_was_kept(found, info, given["tile"], quiet)
    conclude(then=_next(store, matrix, given))


def _next(store: Path | str, matrix: Any, given: dict[str, Any]) -> list[str]:
    """Commands that go on from a stored matrix."""
    if not matrix.is_symmetric:
        return [command("info", store)]
    evaluate = f"with labels in FILE: {command('evaluate', store, '--labels', 'FILE')}"
    if given["labels"] is not None:
        evaluate = command("evaluate", store, *typed("labels", "label"))
    elif given["label"] is not None:
        evaluate = command("evaluate", store, "--labels", given["input"], *typed("label", "samples", "sep"))
    return [evaluate, *clustering(store, matrix.shape[0])]


def landmarks_of(given: dict[str, Any]) -> dict[str, Any]:
    """Select the arguments that choose landmarks."""
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
    layer: str | None,
    use_rep: str | None,
    values: str | None,
    collapse: str | None,
    genes: Path | None,
    **execution: Any,
) -> tuple[Any, Any, Any, Any]:
    """Build the kernel, read the samples of the rows and of the columns, and say how ballots were read."""
    built = kernel_of(kernel, ties, params)
    separator = separator_of(sep)
    own = label
    if against is not None and labels is None and not holds_label(input, label, samples, separator):
        only_in_training = holds_label(against, label, samples, separator)
        own = None if only_in_training else label
    how: dict[str, Any] = {"samples": samples, "sep": separator, "layer": layer, "use_rep": use_rep, "values": values}
    how |= {
        "collapse": collapse,
        "genes": genes,
        "ballots": ballots_of(execution),
        "progress": execution.get("progress"),
    }
    X, reading = read_meaning(input, read_cohort(input, labels=labels, label=own, **how), built, values)
    if against is None:
        return built, X, None, reading
    other = label if holds_label(against, label, samples, separator) else None
    Y, _ = read_meaning(against, read_cohort(against, label=other, **how), built, values)
    return built, X, Y, reading


def print_plan(*, store: Path | str | None, as_json: bool, overwrite: bool, **given: Any) -> None:
    """Print the plan of ``distkern gram`` with the same arguments."""
    from distkern.build.compute import plan_gram
    from distkern.build.plan import refuse_full_disk
    from distkern.engine.resolve import resolve_executor

    found = None if store is None or overwrite else _existing(store)
    kernel, X, Y, _ = read_arguments(**given)
    wanted = given["workers"]  # planning starts no workers
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
    print_table(_rows_of_plan(plan, repr(kernel), done if found else None, runs_on))
    target = [unused(f"{stem_of(given['input'])}.zarr")] if store is None else []
    conclude(then=[again(*target, name="gram", without=("dry_run", "workers"))])


def _rows_of_plan(plan: GramPlan, kernel: str, done: int | None, runs_on: str) -> list[tuple[str, str]]:
    """Names and values of a plan for people; ``done`` tiles exist already, None where there is no store."""
    from distkern.core.units import readable_bytes, readable_seconds
    from distkern.store.manifest import landmark_words

    left = 1 - (done or 0) / plan.tiles
    form = "symmetric" if plan.symmetric else "test × training"
    if plan.landmarks:
        form = f"all samples × landmarks ({landmark_words(plan.landmarks)})"
    rows = [
        ("kernel", kernel),
        ("matrix", f"{plan.shape[0]:,} × {plan.shape[1]:,} {plan.dtype}, {form}"),
        ("features", f"{plan.n_features:,}"),
        ("samples from", plan.source),
        ("tiles", f"{plan.tiles:,} of side {plan.tile:,}" + ("" if done is None else f", {done:,} of them done")),
        ("on disk", readable_bytes(plan.bytes_stored)),
        (
            "memory",
            f"{readable_bytes(plan.bytes_per_task)} per task, {plan.workers:,} tasks at a time; "
            f"{readable_bytes(plan.bytes_per_worker)} per worker of one thread",
        ),
    ]
    if plan.bytes_to_choose:
        rows.append(("", f"{readable_bytes(plan.bytes_to_choose)} here to choose the landmarks"))
    return [
        *rows,
        ("work", f"about {readable_seconds(plan.seconds * left)} of one core"),
        ("time", f"about {readable_seconds(plan.elapsed * left)}: {plan.worker_hours * left:.3g} worker-hours"),
        ("runs on", runs_on),
    ]


def _existing(store: Path | str) -> dict[str, Any] | None:
    """Return the description of the store at a path; None if the path does not exist."""
    from distkern.core.errors import StoreError
    from distkern.gram.open import handle_of
    from distkern.kernels.registry import from_spec
    from distkern.store.location import exists
    from distkern.store.tiles import GramStore

    if not exists(str(store)):
        return None
    try:
        return open_store(store).info()
    except StoreError:
        opened = GramStore.opened(store)  # else the store itself is damaged, and not the record of its last kernel
        return handle_of(opened, from_spec(opened.manifest.kernel)).info()


def _say_what_was_kept(found: dict[str, Any] | None, info: dict[str, Any], tile: int | None, quiet: bool) -> None:
    """Say which kernel an existing store answered for until now, and which option it could not follow."""
    if found is None:
        return
    from distkern.kernels.registry import from_spec

    if found["kernel"] != info["kernel"]:
        before, now = from_spec(found["kernel"]), from_spec(info["kernel"])
        say(
            f"the values of {now!r} follow from those stored: all commands read the store as {now!r} from now on, and "
            f"as {before!r} with --kernel",
            quiet,
        )
    if tile not in (None, info["tile"]):
        say(f"the store keeps its tiles of side {info['tile']:,}; --tile {tile} is for a new one", quiet)


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
