"""``distkern cluster``: kernel k-means of the samples of a store or a cohort."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.cohort import read_cohort, read_column
from distkern.cli.common import (
    LocalPath,
    StoreLocation,
    execution_options,
    executor_of,
    json_option,
    open_store,
    print_json,
    print_table,
    refuse_unwritable_file,
    samples_option,
    sep_option,
    separator_of,
)
from distkern.cli.errors import on_interruption
from distkern.cli.kernels import kernel_choice, kernel_of
from distkern.core.errors import InputError
from distkern.core.files import write_text

if TYPE_CHECKING:
    from distkern.learners.cluster_numbers import ClusterNumbers
    from distkern.learners.consensus import Consensus

MOST_CLUSTERS = 1000
"""Largest number of clusters that the option takes; the memory may allow fewer."""

EPILOG = """\b
Examples:
  distkern cluster cohort.zarr -k 4 --out clusters.csv --report clusters.html
  distkern cluster cohort.zarr -k 2-10 --choose gap --references 20 --workers 4
  distkern cluster votes.csv -k 2-8 --kernel kendall --samples rows --weight count --consensus kemeny
  distkern cluster votes.zarr -k 3 --consensus borda --cohort votes.csv --samples rows

INPUT is a store of `distkern gram`, or a cohort in one of its formats, whose kernel is then computed in memory. Several
numbers of clusters are computed in the same passes over the matrix, and one is chosen. Weights in a separate file are
matched by the samples' ids."""


class Numbers(click.ParamType):
    """A number of clusters, or a range such as 2-10."""

    name = "K|FROM-TO"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """Turn the text into a range of numbers."""
        if isinstance(value, range):
            return value
        first, dash, last = str(value).partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            self.fail(f"must be a number such as 4 or a range such as 2-10, not {value!r}", param, ctx)
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= MOST_CLUSTERS:
            self.fail(f"must ascend from at least 1 to at most {MOST_CLUSTERS:,}, not {value!r}", param, ctx)
        return range(low, high + 1)


@click.command(epilog=EPILOG, short_help="Cluster the samples of a store or a cohort.")
@click.argument("input", type=StoreLocation())
@click.option(
    "-k", "--clusters", "numbers", type=Numbers(), required=True, help="Number of clusters, or a range to choose from."
)
@click.option(
    "--choose",
    type=click.Choice(["silhouette", "gap"]),
    default="silhouette",
    show_default=True,
    help="Criterion for choosing from a range: the highest mean silhouette, or the gap statistic, with --references.",
)
@click.option(
    "--references",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of reference data sets for the gap statistic.",
)
@click.option(
    "--starts",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of random starts; the best result is kept.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the random starts."
)
@kernel_choice(required=False)
@samples_option
@sep_option
@click.option(
    "--weight",
    metavar="COLUMN",
    help="Column of weights: how many observations each sample stands for, such as voters.",
)
@click.option(
    "--weights", type=LocalPath(), metavar="FILE", help="File with that column. Default: the file of the cohort."
)
@click.option(
    "--consensus",
    type=click.Choice(["borda", "kemeny", "local-search"]),
    help="Compute a consensus ranking of the features for each cluster.",
)
@click.option("--cohort", type=LocalPath(), metavar="FILE", help="File with the samples of the store, for --consensus.")
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write the cluster of every sample as a CSV table.")
@click.option("--report", type=LocalPath(), metavar="FILE", help="Write an HTML page about the clusters.")
@click.option("--overwrite", is_flag=True, help="Replace the files of --out and --report if they exist.")
@execution_options
@json_option
def cluster(
    input: Path | str,
    numbers: range,
    choose: str,
    references: int,
    starts: int,
    seed: int,
    consensus: str | None,
    out: Path | None,
    report: Path | None,
    overwrite: bool,
    as_json: bool,
    memory_limit: int | None,
    **given: Any,
) -> None:
    """Cluster the samples of INPUT by kernel k-means."""
    is_store = _is_store(input, given["kernel"])
    _refuse_usage(is_store, choose, references, consensus, given)
    _refuse_unwritable(out, report, overwrite)
    on_interruption("nothing was written: run the same command again")
    with executor_of(**given) as executor:
        X, kernel, ids = _opened(input, executor, given) if is_store else _read(Path(input), given)
        weights = _weights(input, ids, given)
        from distkern.learners.cluster_numbers import cluster_numbers
        from distkern.learners.consensus import cluster_consensus

        found = cluster_numbers(
            X,
            numbers,
            kernel=kernel,
            sample_weight=weights,
            references=references,
            n_init=starts,
            random_state=seed,
            memory_limit=memory_limit,
        )
    chosen = _chosen(found, choose)
    labels = found.labels[found.n_clusters.tolist().index(chosen)].tolist()
    cohort = rankings = None
    if consensus is not None:
        cohort = _ranked(ids, given) if is_store else X
        rankings = cluster_consensus(cohort, labels, method=consensus, sample_weight=weights)  # type: ignore[arg-type]
    groups = _groups(found, chosen, ids, rankings)
    if out is not None:
        _write(out, ids, labels)
    if report is not None:
        from distkern.report.cluster_page import write_cluster_report

        options = {"kernel": kernel, "n_clusters": chosen, "sample_weight": weights, "overwrite": overwrite}
        write_cluster_report(report, X, found, rankings=rankings, cohort=cohort, **options)
    if as_json:
        about = {"samples": len(ids), "n_clusters": chosen, "clusters": groups, "by_number": found.table()}
        print_json(about | {name: file and str(file) for name, file in (("out", out), ("report", report))})
        return
    _print(found, chosen, choose, groups, len(ids), str(input))
    for file in (out, report):
        if file is not None:
            click.echo(f"written to {file}")


# Input -------------------------------------------------------------------------------------------------------------


def _is_store(path: Path | str, kernel: str | None) -> bool:
    """Whether INPUT is a store. Without a kernel it is treated as one, so that opening it explains what is wrong."""
    if isinstance(path, str) or all((path / part).is_dir() for part in ("marks", "rows")):
        return True
    return kernel is None and not path.is_file()


def _refuse_unwritable(out: Path | None, report: Path | None, overwrite: bool) -> None:
    for file in (out, report):
        if file is not None:
            refuse_unwritable_file(file, overwrite)
    if report is not None:
        from distkern.report.layout import require_extras

        require_extras()


def _refuse_usage(is_store: bool, choose: str, references: int, consensus: str | None, given: dict[str, Any]) -> None:
    if choose == "gap" and not references:
        raise click.UsageError("--choose gap needs reference data: add, for example, --references 20")
    if is_store and given["kernel"] is not None:
        raise click.UsageError("--kernel is for a cohort: a store already has a kernel")
    if not is_store and given["kernel"] is None:
        raise click.UsageError("INPUT is a cohort and not a store: add a --kernel, such as kendall")
    if not is_store and given["cohort"] is not None:
        raise click.UsageError("--cohort gives the samples of a store, and INPUT is already a cohort: leave it out")
    if is_store and consensus is not None and given["cohort"] is None:
        raise click.UsageError("--consensus needs the samples of the store: give their file with --cohort")
    if given["weights"] is not None and given["weight"] is None:
        raise click.UsageError("--weights is a file: name its column with --weight")
    if is_store and given["weight"] is not None and given["weights"] is None and given["cohort"] is None:
        raise click.UsageError("a store holds no weights: give their file with --weights")


def _opened(store: Path | str, executor: Any, given: dict[str, Any]) -> tuple[Any, Any, list[str]]:
    from distkern.gram.open import open_gram

    open_store(store)  # explains what is wrong with the path
    gram = open_gram(store, executor=executor)
    if not gram.is_symmetric:
        raise InputError(
            f"{str(store)!r} is a test × training matrix: clustering needs the matrix of one cohort, computed without "
            "--against"
        )
    return gram, "precomputed", list(gram.ids)


def _read(path: Path, given: dict[str, Any]) -> tuple[Any, Any, list[str]]:
    kernel = kernel_of(given["kernel"], given["ties"], given["params"])
    X = _cohort(path, given)
    from distkern.io.source import as_source

    source = as_source(X)
    return X, kernel, list(source.ids or map(str, range(len(source))))


def _cohort(path: Path, given: dict[str, Any]) -> Any:
    """Read a cohort, without the column of weights if its file has one."""
    own = given["weight"] if given["weights"] in (None, path) else None
    return read_cohort(path, samples=given["samples"], label=own, sep=separator_of(given["sep"]))


def _weights(input: Path | str, ids: list[str], given: dict[str, Any]) -> list[float] | None:
    """Read the weight of each sample."""
    if given["weight"] is None:
        return None
    file = given["weights"] or given["cohort"] or Path(input)
    name, texts = read_column(file, given["weight"], ids, samples=given["samples"], sep=separator_of(given["sep"]))
    try:
        return [float(text) for text in texts]
    except ValueError as error:
        raise InputError(
            "the column {column!r} of {file!r} has a text that is not a number ({reason}): correct it",
            column=name,
            file=file.name,
            reason=str(error),
        ) from error


# The result --------------------------------------------------------------------------------------------------------


def _chosen(found: ClusterNumbers, choose: str) -> int:
    if len(found.n_clusters) == 1:
        return int(found.n_clusters[0])
    return found.by_gap if choose == "gap" else found.by_silhouette


def _ranked(ids: list[str], given: dict[str, Any]) -> Any:
    """Read the samples of a store, and check that they are the same in the same order."""
    from distkern.io.source import as_source

    X = _cohort(given["cohort"], given)
    names = as_source(X).ids
    if names is not None and list(names) != ids:
        raise InputError(
            "the samples of {file!r} are not the samples of the store in the same order: give the file from which the "
            "store was computed",
            file=given["cohort"].name,
        )
    return X


def _groups(
    found: ClusterNumbers, chosen: int, ids: list[str], rankings: dict[int, Consensus] | None
) -> list[dict[str, Any]]:
    """Return the size, medoid and consensus of each cluster, ready for JSON."""
    row = found.n_clusters.tolist().index(chosen)
    labels, groups = found.labels[row].tolist(), []
    for number, medoid in enumerate(found.medoids[row]):
        group = {"cluster": number, "size": labels.count(number), "medoid": ids[medoid] if medoid >= 0 else None}
        if rankings is not None and number in rankings:
            ranking = rankings[number]
            group |= {"consensus": list(ranking.items), "discordant_pairs": ranking.distance / ranking.voters}
        groups.append(group)
    return groups


def _write(path: Path, ids: list[str], labels: list[int]) -> None:
    table = io.StringIO()
    out = csv.writer(table, lineterminator="\n")
    out.writerow(["id", "cluster"])
    out.writerows(zip(ids, labels, strict=True))
    write_text(path, table.getvalue())


def _print(
    found: ClusterNumbers, chosen: int, choose: str, groups: list[dict[str, Any]], samples: int, name: str
) -> None:
    several = len(found.n_clusters) > 1
    how = f", chosen by the {choose}" if several else ""
    click.echo(f"{samples:,} samples of {name!r} in {chosen} clusters{how}")
    for row in found.table():
        words = f"inertia {row['inertia']:.6g}"
        words += "" if row["silhouette"] is None else f", silhouette {row['silhouette']:.4f}"
        words += "" if row["gap"] is None else f", gap {row['gap']:.4f} ± {row['gap_error']:.4f}"
        print_table([(f"k = {row['n_clusters']}" + (" *" if several and row["n_clusters"] == chosen else ""), words)])
    for group in groups:
        words = f"{group['size']:,} samples, medoid {group['medoid']!r}"
        words += f", consensus {' > '.join(group['consensus'])}" if "consensus" in group else ""
        print_table([(f"cluster {group['cluster']}", words)])
