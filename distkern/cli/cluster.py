"""``distkern cluster``: kernel k-means of the samples of a store or a cohort."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.ballots import Reading, ballot_options, ballots_of, directed, read_meaning, with_gaps_last
from distkern.cli.cohort import read_cohort, read_covariates, read_voters
from distkern.cli.common import (
    Choice,
    LocalPath,
    Numbers,
    StoreLocation,
    cohort_options,
    executor_of,
    executor_options,
    json_option,
    learner_memory_option,
    open_store,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_same_file,
    refuse_unwritable_file,
    refuse_unwritable_table,
    separator_of,
)
from distkern.cli.ending import again, conclude, opened, stem_of, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.kernels import kernel_choice, kernel_of, view_of
from distkern.cli.progress import echo, step
from distkern.core.errors import InputError
from distkern.core.files import write_text

if TYPE_CHECKING:
    from distkern.learners.bootstrap_consensus import BootstrapConsensus
    from distkern.learners.cluster_numbers import ClusterNumbers
    from distkern.learners.consensus import Consensus
    from distkern.learners.membership import Membership

_KERNEL = (
    "Kernel of a cohort, such as kendall or mallows, or a JSON spec. For a store: view its values as those of another "
    "kernel that follows from them; by default the kernel of the last `distkern gram` into it."
)

MOST_CLUSTERS = 1000
"""Largest number of clusters that the option takes; the memory may allow fewer."""

EPILOG = """\b
Examples:
  distkern cluster cohort.zarr -k 4 --out clusters.csv --report clusters.html
  distkern cluster cohort.zarr -k 2-10 --choose gap --references 20 --workers 4
  distkern cluster cohort.zarr -k 2-6 --resamples 50 --covariates clinical.csv --report clusters.html
  distkern cluster votes.csv -k 2-8 --kernel kendall --samples rows --weight count --consensus kemeny --values ranks
  distkern cluster votes.soi -k 2-8 --kernel partial-kendall --consensus kemeny
  distkern cluster votes.zarr -k 3 --consensus borda --cohort votes.csv --samples rows --values scores

INPUT is a store of `distkern gram`, or a cohort in one of its formats, whose kernel is then computed in memory. Several
numbers of clusters are computed in the same passes over the matrix, and one is chosen. Weights in a separate file are
matched by the samples' ids. A file of ballots (PrefLib, BLT, orders as text such as '12: a > b = c', a table with a row
for each voter and item) is found by its content, and its numbers of voters are the weights. Where rankings matter and
the values of ballots may be ranks (1 = best) as well as scores (the largest is the best), --values says which."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=StoreLocation())
@click.option(
    "-k",
    "--clusters",
    "numbers",
    type=Numbers(MOST_CLUSTERS),
    required=True,
    help="Number of clusters, or a range to choose from.",
)
@click.option(
    "--choose",
    type=Choice(["silhouette", "gap", "stability"]),
    default="silhouette",
    show_default=True,
    help="Criterion for choosing from a range: the highest mean silhouette, the gap statistic, with --references, or "
    "the highest stability, with --resamples.",
)
@click.option(
    "--references",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of reference data sets for the gap statistic.",
)
@click.option(
    "--resamples",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of bootstrap resamples for the stability of the clusters.",
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
@kernel_choice(required=False, about=_KERNEL)
@cohort_options
@ballot_options
@click.option(
    "--weight",
    metavar="COLUMN",
    help="Column of weights: how many observations each sample stands for, such as voters. Default: the counts of a "
    "file of ballots.",
)
@click.option(
    "--weights", type=LocalPath(), metavar="FILE", help="File with that column. Default: the file of the cohort."
)
@click.option(
    "--consensus",
    type=Choice(["borda", "kemeny", "local-search", "copeland", "median-rank"]),
    help="Compute a consensus ranking of the features for each cluster.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of resamples of the voters of each cluster, which show how sure the consensus is.",
)
@click.option("--cohort", type=LocalPath(), metavar="FILE", help="File with the samples of the store, for --consensus.")
@click.option(
    "--covariates",
    type=LocalPath(),
    metavar="FILE",
    help="Table of covariates, a row for each sample: test which of them differ between the clusters.",
)
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write the cluster of every sample as a CSV table.")
@click.option("--report", type=LocalPath(), metavar="FILE", help="Write an HTML page about the clusters.")
@click.option("--overwrite", is_flag=True, help="Replace the files of --out and --report if they exist.")
@executor_options
@learner_memory_option
@json_option
@quiet_option
def cluster(
    input: Path | str,
    numbers: range,
    choose: str,
    references: int,
    resamples: int,
    starts: int,
    seed: int,
    consensus: str | None,
    bootstrap: int,
    covariates: Path | None,
    out: Path | None,
    report: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    memory_limit: int | None,
    **given: Any,
) -> None:
    """Cluster the samples of INPUT by kernel k-means."""
    is_store = _is_store(input, given["kernel"])
    _refuse_usage(is_store, choose, references, resamples, consensus, given)
    _refuse_unwritable(out, report, overwrite)
    _refuse_usage_of_voters(covariates, consensus, bootstrap, given["weight"])
    on_interruption("nothing was written: run the same command again")
    with executor_of(**given) as executor:
        given["progress"] = progress_of(quiet)
        found = _opened(input, executor, consensus, given) if is_store else _read(Path(input), consensus, given)
        weights, weight_name = read_voters(given["cohort"] or input, found.ballots, found.counts, found.ids, given)
        described = None
        if covariates is not None:
            described = read_covariates(covariates, found.ids, samples="rows", sep=separator_of(given["sep"]))
        from distkern.learners.cluster_numbers import cluster_numbers

        options: dict[str, Any] = {"kernel": found.learner_kernel, "sample_weight": weights}
        limits: dict[str, Any] = {"n_init": starts, "random_state": seed, "memory_limit": memory_limit}
        limits["on_event"] = progress_of(quiet)
        with step(f"clustering {len(found.ids):,} samples by {found.kernel!r}"):
            tried = cluster_numbers(found.X, numbers, references=references, resamples=resamples, **options, **limits)
    chosen = _chosen(tried, choose)
    result = Result(found, tried, chosen, choose, weights, weight_name)
    if consensus is not None:
        with step("looking for the consensus of each cluster"):
            result = replace(result, rankings=_consensus(found, result, consensus))
    if consensus is not None and bootstrap:
        with step("drawing voters"):
            result = replace(result, certainty=_certainty(found, result, consensus, bootstrap, seed))
    if described is not None:
        from distkern.learners.membership import cluster_covariates

        result = replace(
            result,
            membership=cluster_covariates(result.labels, described.reset_index(drop=True), sample_weight=weights),
        )
    if out is not None:
        _write(out, found.ids, result.labels)
    if report is not None:
        from distkern.report.cluster_page import write_cluster_report

        options |= {"n_clusters": chosen, "overwrite": overwrite, "weight_name": weight_name}
        options |= {"membership": result.membership, "rankings": result.rankings, "cohort": found.ballots}
        options |= {"certainty": result.certainty}
        with step("writing the page"):
            write_cluster_report(report, found.X, tried, **options)
    if as_json:
        print_json(result.to_json() | {name: file and str(file) for name, file in (("out", out), ("report", report))})
        return
    result.show(str(input))
    conclude(out, report, then=_next(input, out, report, chosen))


def _next(input: Path | str, out: Path | None, report: Path | None, chosen: int) -> list[str]:
    """Commands that go on from clusters: their page, or this command with files for the page and the clusters."""
    if report is not None:
        return [opened(report)]
    files = ["--report", unused(f"{stem_of(input)}-clusters.html")]
    files += [] if out is not None else ["--out", unused(f"{stem_of(input)}-clusters.csv")]
    return [again(*files, "-k", chosen, without=("numbers", "choose", "out"))]


# Input -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Samples:
    """What is clustered.

    Parameters
    ----------
    X, learner_kernel
        Matrix or cohort, and the kernel that the learner applies to it.
    kernel
        Kernel of the values.
    ids, source
        Names of the samples, and where they come from.
    ballots, reading
        The samples as scores, larger = preferred, and how they were read; None where rankings do not matter.
    counts
        Number of voters of each sample, if the file of ballots tells it.
    """

    X: Any
    learner_kernel: Any
    kernel: Any
    ids: list[str]
    source: str
    ballots: Any = None
    reading: Reading | None = None
    counts: Any = None


def _is_store(path: Path | str, kernel: str | None) -> bool:
    """Whether INPUT is a store. Without a kernel it is treated as one, so that opening it explains what is wrong."""
    from distkern.gram.open import holds_gram
    from distkern.io.sheets import file_and_sheet

    return isinstance(path, str) or holds_gram(path) or (kernel is None and not file_and_sheet(path)[0].is_file())


def _refuse_usage_of_voters(covariates: Path | None, consensus: str | None, bootstrap: int, weight: Any) -> None:
    if covariates is not None and weight is not None:
        raise click.UsageError(
            "--covariates tests voters, each with a row of its own, and --weight counts several for a row: leave one "
            "out"
        )
    if bootstrap and consensus is None:
        raise click.UsageError("--bootstrap draws the voters of a consensus: add, for example, --consensus kemeny")


def _refuse_unwritable(out: Path | None, report: Path | None, overwrite: bool) -> None:
    if out is not None:
        refuse_unwritable_table(out, overwrite)
    refuse_same_file({"--out": out, "--report": report})
    if report is not None:
        refuse_unwritable_file(report, overwrite)
        from distkern.report.layout import require_extras

        require_extras()


def _refuse_usage(
    is_store: bool, choose: str, references: int, resamples: int, consensus: str | None, given: dict[str, Any]
) -> None:
    if choose == "gap" and not references:
        raise click.UsageError("--choose gap needs reference data: add, for example, --references 20")
    if choose == "stability" and not resamples:
        raise click.UsageError("--choose stability needs resamples: add, for example, --resamples 50")
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
    if given["label"] is not None and given["weight"] is not None and given["weights"] is None:
        raise click.UsageError("--label and --weight name two columns of one file: save the weights as --weights FILE")
    unread = [name for name in ("label", "layer", "use_rep", "values", "collapse", "genes") if given[name] is not None]
    if is_store and consensus is None and unread:
        raise click.UsageError(
            f"--{unread[0].replace('_', '-')} says how samples are read, and a store is read as it was computed: leave "
            "it out, or give it to `distkern gram`"
        )


def _opened(store: Path | str, executor: Any, consensus: str | None, given: dict[str, Any]) -> Samples:
    view = view_of(given["kernel"], given["ties"], given["params"])
    gram = open_store(store, executor=executor, **view)
    if not gram.is_symmetric:
        raise InputError(
            f"{str(store)!r} is a test × training matrix: clustering needs the matrix of one cohort, computed without "
            "--against"
        )
    found = Samples(gram, "precomputed", gram.kernel, list(gram.ids), gram.info()["source"])
    if consensus is None:
        return found
    ballots, reading = _ballots_of(gram, given)
    return replace(found, ballots=ballots, reading=reading, counts=ballots.counts)


def _read(path: Path, consensus: str | None, given: dict[str, Any]) -> Samples:
    kernel = kernel_of(given["kernel"], given["ties"], given["params"])
    whole, reading = read_meaning(path, _cohort(path, given), kernel, given["values"], ranked=consensus is not None)
    source = with_gaps_last(whole, kernel)
    ids = list(source.ids or map(str, range(len(source))))
    return Samples(source, kernel, kernel, ids, source.describe(), source, reading, source.counts)


def _cohort(path: Path, given: dict[str, Any]) -> Any:
    """Read a cohort, without the column of weights if its file has one."""
    own = given["weight"] if given["weight"] is not None and given["weights"] in (None, path) else given["label"]
    how = {name: given[name] for name in ("samples", "layer", "use_rep", "values", "collapse", "genes")}
    how |= {"ballots": ballots_of(given), "progress": given["progress"]}
    return read_cohort(path, label=own, sep=separator_of(given["sep"]), **how)


def _ballots_of(gram: Any, given: dict[str, Any]) -> tuple[Any, Reading | None]:
    """Read the samples of a store, and check that they are the same, read in the same way, in the same order."""
    from distkern.io.origin import Origin

    path, origin = given["cohort"], Origin.in_text(gram.info()["source"])
    told = None if origin is None else origin.values
    asked = given["values"] or told
    whole = _cohort(path, given | {"values": asked})
    if whole.ids is not None and tuple(whole.ids) != gram.ids:
        raise InputError(
            "the samples of {file!r} are not the samples of the store in the same order: give the file from which the "
            "store was computed",
            file=path.name,
        )
    scores, reading = read_meaning(path, whole, gram.kernel, asked, ranked=True)
    alike = [scores] if told is not None or directed(gram.kernel) else [scores, whole]
    differing = [gram.first_difference(source) for source in alike]
    if None not in differing:
        first = max(differing)  # in the direction in which more samples agree
        raise InputError(
            f"sample {gram.ids[first]!r} of {path.name!r} has other values than the store holds for it: give the file "
            f"from which the store was computed ({gram.info()['source']}), and read it as it was read then"
        )
    return with_gaps_last(scores, gram.kernel), reading


# The result --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """The clusters.

    Parameters
    ----------
    samples
        What was clustered.
    numbers
        The result for each number of clusters.
    chosen, criterion
        The number of clusters, and what chose it.
    weights, weight
        Weight of each sample, and the name of its column; None without.
    rankings
        Consensus ranking of each cluster; None where none was asked for.
    membership
        How covariates differ between the clusters; None without covariates.
    certainty
        Consensus rankings of resamples of the voters of each cluster; None where none were asked for.
    """

    samples: Samples
    numbers: ClusterNumbers
    chosen: int
    criterion: str
    weights: list[float] | None
    weight: str | None
    rankings: dict[int, Consensus] | None = None
    membership: Membership | None = None
    certainty: dict[int, BootstrapConsensus] | None = None

    @property
    def row(self) -> int:
        """Row of the chosen number of clusters."""
        return self.numbers.n_clusters.tolist().index(self.chosen)

    @property
    def labels(self) -> list[int]:
        """Cluster of each sample."""
        labels: list[int] = self.numbers.labels[self.row].tolist()
        return labels

    def groups(self) -> list[dict[str, Any]]:
        """The size, weight, medoid and consensus of each cluster, ready for JSON."""
        labels, ids, groups = self.labels, self.samples.ids, []
        for number, medoid in enumerate(self.numbers.medoids[self.row]):
            group = {"cluster": number, "size": labels.count(number), "medoid": ids[medoid] if medoid >= 0 else None}
            if self.numbers.jaccard:
                group["stability"] = _rounded(self.numbers.jaccard[self.row][number])
            if self.weights is not None:
                own = (weight for weight, label in zip(self.weights, labels, strict=True) if label == number)
                group["weight"] = sum(own)
            if self.rankings is not None and number in self.rankings:
                ranking = self.rankings[number]
                group |= {"consensus": list(ranking.items), "discordant_pairs": ranking.distance / ranking.voters}
            if self.certainty is not None and number in self.certainty:
                group |= {"same_winner": self.certainty[number].same_winner, "places": self.certainty[number].rows()}
            groups.append(group)
        return groups

    def to_json(self) -> dict[str, Any]:
        """All of it, and what it was made of, ready for JSON."""
        reading = self.samples.reading
        return {
            "samples": len(self.samples.ids),
            "n_clusters": self.chosen,
            "chosen_by": self.criterion if len(self.numbers.n_clusters) > 1 else None,
            "clusters": self.groups(),
            "by_number": self.numbers.table(),
            "covariates": None
            if self.membership is None
            else json.loads(self.membership.tests.to_json(orient="records")),
            "kernel": self.samples.kernel.spec(),
            "source": self.samples.source,
            "ballots": None if reading is None else reading.to_json(),
            "weight": None if self.weights is None else {"column": self.weight, "sum": sum(self.weights)},
            "settings": self.numbers.settings,
        }

    def show(self, name: str) -> None:
        """Print it."""
        several = len(self.numbers.n_clusters) > 1
        how = f", chosen by the {self.criterion}" if several else ""
        stand = "" if self.weights is None else f" ({self._amount(sum(self.weights))})"
        echo(f"{len(self.samples.ids):,} samples of {name!r}{stand} in {self.chosen} clusters{how}")
        rows = []
        for row in self.numbers.table():
            words = f"inertia {row['inertia']:.6g}"
            words += "" if row["silhouette"] is None else f", silhouette {row['silhouette']:.4f}"
            words += "" if row["gap"] is None else f", gap {row['gap']:.4f} ± {row['gap_error']:.4f}"
            words += "" if row["stability"] is None else f", stability {row['stability']:.4f}"
            mark = " *" if several and row["n_clusters"] == self.chosen else ""
            rows.append((f"k = {row['n_clusters']}{mark}", words))
        for group in self.groups():
            stand = f" ({self._amount(group['weight'])})" if "weight" in group else ""
            words = f"{group['size']:,} samples{stand}, medoid {group['medoid']!r}"
            words += f", stability {group['stability']:.2f}" if group.get("stability") is not None else ""
            words += f", consensus {' > '.join(group['consensus'])}" if "consensus" in group else ""
            words += f", the same winner in {group['same_winner']:.0%} of resamples" if "same_winner" in group else ""
            rows.append((f"cluster {group['cluster']}", words))
        for row in () if self.membership is None else self.membership.tests.sort_values("pvalue").itertuples():
            words = f"{row.test} {row.statistic:.4g}, p = {row.pvalue:.2g}, adjusted {row.adjusted:.2g}"
            words += f", effect {row.effect:.2f}"
            rows.append((f"by {row.covariate}", words if row.pvalue == row.pvalue else "one value only"))
        print_table(rows, aligned=False)
        about = [("kernel", repr(self.samples.kernel)), ("samples from", self.samples.source)]
        print_table([*about, *([("ballots", str(self.samples.reading))] if self.samples.reading else [])])

    def _amount(self, weight: float) -> str:
        return f"{weight:,.12g} by {self.weight!r}"


def _chosen(found: ClusterNumbers, choose: str) -> int:
    if len(found.n_clusters) == 1:
        return int(found.n_clusters[0])
    return int(getattr(found, f"by_{choose}"))


def _rounded(value: float) -> float | None:
    return None if value != value else round(float(value), 6)


def _consensus(found: Samples, result: Result, method: str) -> dict[int, Consensus]:
    from distkern.learners.consensus import cluster_consensus

    return cluster_consensus(
        found.ballots,
        result.labels,
        method=method,  # type: ignore[arg-type]
        sample_weight=result.weights,
    )


def _certainty(found: Samples, result: Result, method: str, resamples: int, seed: int) -> dict[int, BootstrapConsensus]:
    import numpy as np

    from distkern.io.source import as_source
    from distkern.learners.bootstrap_consensus import bootstrap_consensus

    ballots, labels = as_source(found.ballots), np.array(result.labels)
    weights = np.ones(len(labels)) if result.weights is None else np.array(result.weights)
    return {
        label: bootstrap_consensus(
            ballots.part(own),
            method=method,  # type: ignore[arg-type]
            n_resamples=resamples,
            random_state=seed,
            sample_weight=weights[own],
        )
        for label in result.rankings or {}
        if len(own := np.flatnonzero((labels == label) & (weights > 0)))
    }


def _write(path: Path, ids: list[str], labels: list[int]) -> None:
    table = io.StringIO()
    out = csv.writer(table, lineterminator="\n")
    out.writerow(["id", "cluster"])
    out.writerows(zip(ids, labels, strict=True))
    write_text(path, table.getvalue())
