"""``distkern compare``: test whether samples differ between groups, or depend on a covariate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from distkern.cli.cohort import FEWEST_NUMBERS, as_numbers, count_classes, read_column
from distkern.cli.common import (
    Choice,
    LocalPath,
    StoreLocation,
    json_option,
    learner_memory_option,
    open_store,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_unwritable_file,
    separator_of,
)
from distkern.cli.ending import again, conclude, stem_of, unused
from distkern.cli.errors import on_interruption
from distkern.cli.evaluate import _LABELS_HELP, label_options, refuse_unusable
from distkern.cli.help import Command
from distkern.cli.kernels import view_of, view_options
from distkern.cli.progress import echo
from distkern.core.errors import InputError
from distkern.core.files import write_text
from distkern.core.names import shown

EPILOG = """\b
Examples:
  distkern compare ballots.zarr --labels voters.csv --label sex
  distkern compare cohort.zarr --labels clinical.csv --label stage --method permanova --strata hospital
  distkern compare cohort.zarr --labels clinical.csv --label age --method hsic --permutations 999 --out age.json

mmd compares the distributions of two groups, permanova the means of two groups or more, and hsic asks whether samples
depend on a covariate: categories, or numbers. The p-value is that of permutations, which share all kernel values. Where
there are few labelings, all of them are computed, and the p-value is exact."""

METHODS = ("mmd", "permanova", "hsic")


@click.command(cls=Command, epilog=EPILOG)
@click.argument("store", type=StoreLocation())
@click.option("--labels", type=LocalPath(), metavar="FILE", required=True, help=_LABELS_HELP)
@label_options
@click.option(
    "--method",
    type=Choice(METHODS),
    help="Test; by default mmd for two groups, permanova for more, and hsic for numbers.",
)
@click.option(
    "--covariate",
    type=Choice(["categories", "numbers"]),
    help="Meaning of the labels, for hsic; by default numbers if all of them are, and they differ in at least ten.",
)
@click.option(
    "--strata", metavar="COLUMN", help="Column of strata, such as hospitals, within which labels are permuted."
)
@click.option("--permutations", type=click.IntRange(1), default=9999, help="Number of permutations.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the permutations.")
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write the test with the null distribution as JSON.")
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it exists.")
@learner_memory_option
@view_options
@json_option
@quiet_option
def compare(
    store: Path | str,
    labels: Path,
    label: str | None,
    samples: str,
    sep: str | None,
    method: str | None,
    covariate: str | None,
    strata: str | None,
    permutations: int,
    seed: int,
    out: Path | None,
    overwrite: bool,
    memory_limit: int | None,
    kernel: str | None,
    ties: str | None,
    params: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Test whether the samples of the Gram matrix in STORE differ between groups, or depend on a covariate."""
    if out is not None:
        refuse_unwritable_file(out, overwrite)
    separator = separator_of(sep)
    gram = open_store(store, **view_of(kernel, ties, params))
    refuse_unusable(gram)
    name, texts = read_column(labels, label, gram.ids, samples=samples, sep=separator)
    of_strata = None
    if strata is not None:
        of_strata = read_column(labels, strata, gram.ids, samples=samples, sep=separator)[1]
    values, method = _chosen(texts, name, method, covariate)
    from distkern.learners.difference import hsic_test, mmd_test, permanova

    on_interruption("nothing was written: run the same command again")
    test: Any = {"mmd": mmd_test, "permanova": permanova, "hsic": hsic_test}[method]
    found = test(
        gram,
        values,
        permutations=permutations,
        strata=of_strata,
        random_state=seed,
        memory_limit=memory_limit,
        on_event=progress_of(quiet),
    )
    about = {"store": Path(store).name, "kernel": gram.info()["kernel"], "label": name, "strata": strata}
    about |= {"method": method, "statistic": found.statistic, "pvalue": found.pvalue, "exact": found.exact}
    about |= {"permutations": found.permutations, "settings": found.settings, "seconds": found.seconds}
    if out is not None:
        write_text(out, json.dumps(about | {"null": found.null.tolist()}, indent=1, ensure_ascii=False) + "\n")
    if as_json:
        print_json(about | {"out": None if out is None else str(out)})
        return
    groups = f": {count_classes(texts)}" if isinstance(values[0], str) else f", from {min(values):g} to {max(values):g}"
    echo(shown(f"{len(texts)} samples of {str(store)!r} by {name!r}{groups}"))
    how = f"all {found.permutations:,} labelings" if found.exact else f"{found.permutations:,} permutations"
    within = "" if strata is None else f" within {strata!r}"
    print_table(
        [
            (found.name, f"{found.statistic:.6g}"),
            ("p-value", f"{found.pvalue:.3g} ({how}{within})"),
            ("kernel", repr(gram.kernel)),
            ("time", f"{found.seconds:.1f} s"),
        ]
    )
    kept = [] if out is not None else [again("--out", unused(f"{stem_of(store)}-{name}.json"))]
    conclude(out, then=kept)


def _chosen(texts: list[str], name: str, method: str | None, covariate: str | None) -> tuple[Any, str]:
    """The labels as the test takes them, and the test."""
    numbers = as_numbers(texts)
    if covariate == "numbers" and numbers is None:
        raise InputError(f"{name!r} holds labels that are no numbers: give --covariate categories")
    if covariate is not None and method not in (None, "hsic"):
        raise click.UsageError(f"--covariate is for --method hsic: leave it out with --method {method}")
    kinds = len(set(texts))
    coded = covariate == "numbers" or (covariate is None and numbers is not None and kinds >= FEWEST_NUMBERS)
    if method is None:
        method = "hsic" if coded or covariate else "mmd" if kinds == 2 else "permanova"
    return (numbers if coded and method == "hsic" else texts), method
