"""``distkern normalize``: quantile normalisation of samples with a frozen target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import read_cohort
from distkern.cli.common import (
    Choice,
    LocalPath,
    json_option,
    memory_limit,
    print_json,
    progress_of,
    quiet_option,
    reading_options,
    refuse_same_file,
    refuse_unwritable_file,
    sep_option,
    separator_of,
)
from distkern.cli.ending import command, conclude, stem_of, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo, step
from distkern.core.errors import InputError
from distkern.core.files import as_path
from distkern.core.names import shown
from distkern.core.suggest import did_you_mean

if TYPE_CHECKING:
    from distkern.learners.quantile import QuantileNormalizer

NAMES = ("median", "mean", "normal", "uniform", "exponential", "cauchy")
"""Targets that have a name."""

EPILOG = """\b
Examples:
  distkern normalize cohort.tsv.gz --samples columns --out normalised.csv --save-target target.npz
  distkern normalize new-patients.csv --samples rows --target target.npz --out new-normalised.csv
  distkern normalize cells.h5ad --target normal --out normal.h5ad

Each sample is normalised alone: the value of each feature becomes the target's value of its rank within the sample. OUT
has a row for each sample: .csv, .tsv, .txt, .tab (also .gz), .npy or .h5ad."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write the normalised samples, one in each row.")
@click.option(
    "--target",
    default="median",
    metavar="NAME|FILE",
    help="median or mean of the sorted samples of INPUT; normal, uniform, exponential or cauchy: quantiles of that "
    "distribution; or a file: one of --save-target, a .npy file, or a text file with a number in each line.",
)
@click.option("--save-target", type=LocalPath(), metavar="FILE", help="Write the target, for samples to come (.npz).")
@click.option(
    "--ties",
    type=Choice(["mean", "mid"]),
    help="Value of equal values: the mean of the target over their ranks, or the target at their middle rank. "
    "Default: that of the file of --save-target, else mean.",
    show_default=False,
)
@click.option(
    "--missing",
    type=Choice(["error", "interpolate"]),
    help="Missing values: refuse them, or leave them missing and put the others on the interpolated target. Default: "
    "that of the file of --save-target, else error.",
    show_default=False,
)
@click.option(
    "--max-samples",
    type=click.IntRange(1),
    default=20_000,
    help="Most samples that determine the median: a random subset of a larger INPUT.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of that subset.")
@reading_options
@sep_option
@click.option("--overwrite", is_flag=True, help="Replace the files of --out and --save-target if they exist.")
@memory_limit("Memory, such as 2GiB; what does not fit goes to a temporary file. Default: half of the free memory.")
@json_option
@quiet_option
def normalize(
    input: Path,
    out: Path | None,
    target: str,
    save_target: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Put every sample of INPUT on a target distribution, each alone (quantile normalisation)."""
    if out is None and save_target is None:
        raise click.UsageError("name what to write: --out FILE for the samples, or --save-target FILE for the target")
    if out is not None:
        from distkern.io.writing import refuse_unknown_suffix

        refuse_unknown_suffix(out)
    refuse_same_file({"--out": out, "--save-target": save_target})
    for path in filter(None, (out, save_target)):
        refuse_unwritable_file(path, overwrite)
    normalizer = _known(target, given)
    how = {name: given[name] for name in ("samples", "label", "layer", "use_rep", "collapse", "genes")}
    source = read_cohort(input, sep=separator_of(given["sep"]), **how)
    on_interruption("nothing was written: run the same command again")
    if not hasattr(normalizer, "target_"):
        with step(f"learning the {target} target"):
            normalizer.fit(source)
    if out is not None:
        like = input if input.suffix.lower() == ".h5ad" and given["use_rep"] is None else None
        normalizer.write(source, out, like=like, overwrite=overwrite, progress=progress_of(quiet))
    if save_target is not None:
        from distkern.learners.persist import save_model

        save_model(normalizer, save_target, overwrite=overwrite)
    _report(input, source.shape, normalizer, target, {"out": out, "saved": save_target}, as_json)


def _report(
    input: Path, shape: tuple[int, int], normalizer: Any, target: str, written: dict[str, Path | None], as_json: bool
) -> None:
    samples, features = shape
    if as_json:
        about = {"samples": samples, "features": features, "target": target}
        about |= {"ties": normalizer.ties, "missing": normalizer.missing}
        print_json(about | {name: path and str(path) for name, path in written.items()})
        return
    words = f"the {target} target" if target in NAMES else f"the target in {target!r}"
    did = f"normalised to {words}" if written["out"] is not None else f"looked at for {words}"
    echo(shown(f"{samples:,} samples of {features:,} features of {str(input)!r} {did}"))
    conclude(*written.values(), then=_next(written["out"], written["saved"]))


def _next(out: Path | None, saved: Path | None) -> list[str]:
    """Commands that go on from normalised samples, and from their target."""
    then = []
    if out is not None:
        table = out.suffix.lower() not in (".npy", ".h5ad")
        rows = ("--samples", "rows") if table else ()
        then.append(command("gram", out, unused(f"{stem_of(out)}.zarr"), "--kernel", "linear", *rows))
    if saved is not None:
        then.append(f"for new samples in FILE: {command('normalize', 'FILE', '--target', saved, '--out', 'OUT.csv')}")
    return then


# Targets -------------------------------------------------------------------------------------------------------------


def _known(target: str, given: dict[str, Any]) -> QuantileNormalizer:
    """Make the normaliser that the options describe: fitted, if its target is in a file of `save_model`."""
    from distkern.learners.quantile import QuantileNormalizer

    chosen = {name: given[name] for name in ("ties", "missing") if given[name] is not None}
    chosen["memory_limit"] = given["memory_limit"]
    if target not in NAMES and as_path(target).suffix.lower() == ".npz":
        return _saved(as_path(target)).set_params(**chosen)
    chosen |= {"max_samples": given["max_samples"], "random_state": given["seed"]}
    return QuantileNormalizer(target if target in NAMES else _numbers(target), **chosen)


def _saved(path: Path) -> QuantileNormalizer:
    from distkern.learners.persist import load_model
    from distkern.learners.quantile import QuantileNormalizer

    model = load_model(path)
    if not isinstance(model, QuantileNormalizer):
        raise InputError(f"{str(path)!r} holds a {type(model).__name__}, no target: give a file of --save-target")
    return model


def _numbers(target: str) -> Any:
    """Read the numbers of a target from a .npy file, or from the lines of a text file."""
    import numpy as np

    path = as_path(target)
    if not path.is_file():
        raise InputError(
            f"the target {target!r} is no file, and none of {', '.join(NAMES)}{did_you_mean(target, NAMES)}"
        )
    try:
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False)
        return np.array(path.read_text(encoding="utf-8").split(), dtype=np.float64)
    except (ValueError, OSError) as error:
        raise InputError(f"{str(path)!r} cannot be read as numbers, one in each line: {error}") from error
