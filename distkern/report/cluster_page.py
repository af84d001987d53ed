"""The self-contained HTML page of a clustering."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.alignment import SampleNames, refuse_other_names
from distkern.core.errors import InputError, InputTypeError
from distkern.core.files import as_path, refuse_existing
from distkern.core.typing import Floats, Indices, Spec
from distkern.core.weights import sample_weights
from distkern.gram.base import StoredGram
from distkern.io.source import as_source
from distkern.kernels.base import Kernel
from distkern.operators.base import BaseGram
from distkern.plot.sample_order import Classes, Drawn, arranged, as_symmetric, chosen_samples, draw_samples
from distkern.report import content
from distkern.report.cluster_rankings import ranking_parts
from distkern.report.layout import order_note, render, require_extras, write_page
from distkern.report.words import KernelWords, describe

if TYPE_CHECKING:
    from distkern.learners.bootstrap_consensus import BootstrapConsensus
    from distkern.learners.cluster_numbers import ClusterNumbers
    from distkern.learners.consensus import Consensus
    from distkern.learners.membership import Membership

LISTED_SAMPLES = 1000
"""Largest number of samples in the table; they are evenly spaced by cluster and silhouette."""


def write_cluster_report(
    path: str | os.PathLike[str],
    X: Any,
    numbers: ClusterNumbers,
    *,
    kernel: Any = "precomputed",
    n_clusters: int | None = None,
    sample_weight: Any = None,
    weight_name: str | None = None,
    rankings: dict[int, Consensus] | None = None,
    cohort: Any = None,
    certainty: dict[int, BootstrapConsensus] | None = None,
    membership: Membership | None = None,
    title: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a self-contained HTML page of the result of `distkern.cluster_numbers`.

    The page shows the silhouettes of all samples, the matrix ordered by cluster, its principal components, the measures
    of quality of all numbers of clusters that were tried, and sizes, medoids and consensus rankings of the clusters. It
    loads no script and no other file.

    Parameters
    ----------
    path
        File to write, such as ``"clusters.html"``; parent folders are created.
    X, kernel, sample_weight
        The arguments of `distkern.cluster_numbers`. Only the samples that are drawn are read again.
    weight_name
        What the weights count, such as ``"voters"``.
    numbers
        Its result.
    n_clusters
        The number of clusters on the page; by default the one with the highest mean silhouette.
    rankings
        Consensus rankings by label of the cluster, from `distkern.cluster_consensus`.
    certainty
        Consensus rankings of resamples by label of the cluster, from `distkern.bootstrap_consensus`.
    membership
        How covariates differ between these clusters, from `distkern.cluster_covariates`.
    cohort
        The samples of a matrix, from which the rankings of medoids are read; used with ``rankings`` only.
    title
        Title of the page; by default the kernel and the numbers of clusters and samples.
    overwrite
        Whether an existing file is replaced.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the file exists and ``overwrite`` is false, or the arguments are of different samples.
    MissingExtraError
        If matplotlib or Jinja2 is not installed.

    See Also
    --------
    write_report : Pages of classifiers and survival models.
    distkern.KernelKMeans, distkern.consensus_ranking : What it shows.

    Examples
    --------
    >>> import tempfile
    >>> from distkern import cluster_numbers
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> gram = np.outer(x, x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_cluster_report(folder + "/page.html", gram, cluster_numbers(gram, [2, 3], random_state=0))
    ...     "2 clusters of 4 samples" in page.read_text(encoding="utf-8")
    True
    """
    require_extras()
    file = as_path(path)
    refuse_existing(file, overwrite)
    row = _row(numbers, n_clusters)
    labels = numbers.labels[row]
    subject = _subject(X, kernel, labels)
    weights, _ = sample_weights(sample_weight, subject.samples)
    if cohort is None and subject.gram is None:
        cohort = X
    values = _values(subject, numbers, row, weights, sample_weight is not None, title)
    if weight_name is not None and values["stands_for"]:
        values["stands_for"] += f" ({weight_name})"
    ballots = None
    if rankings and cohort is not None:
        ballots = as_source(cohort)
        refuse_other_names(ballots.ids, subject.samples, "cohort")
    shown, pictures = ranking_parts(
        numbers.medoids[row], labels, weights, subject.ids, rankings or {}, ballots, certainty
    )
    pictures |= _pictures(subject, numbers, row, weights)
    page = render("clusters.html.j2", values | shown | _member_rows(membership) | {"pictures": pictures})
    return write_page(file, page, overwrite=overwrite)


# The clustered samples ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """The clustered samples; ``gram`` is None if samples and a kernel were given instead of a matrix."""

    gram: BaseGram | None
    ids: tuple[str, ...]
    diagonal: Floats
    drawn: Drawn
    words: KernelWords | None
    cohort: content.Rows

    @property
    def samples(self) -> SampleNames:
        """Names of the samples, with which weights and the cohort are aligned."""
        return (
            SampleNames(len(self.ids), self.ids, whose="X", listed="X.index")
            if self.gram is None
            else self.gram.row_samples
        )


def _subject(X: Any, kernel: Any, labels: Indices) -> Subject:
    if not isinstance(kernel, Kernel):
        gram = as_symmetric(X)
        _refuse_other_samples(len(gram), labels)
        words = content.kernel_words(gram)
        return Subject(gram, gram.ids, gram.diag(), draw_samples(gram, labels), words, content.cohort_rows(gram))
    source = as_source(X)
    _refuse_other_samples(len(source), labels)
    of_cluster, resolved = chosen_samples(labels), kernel.resolve(source, 0)
    values = resolved(source.read(np.concatenate(of_cluster)))
    drawn = arranged(values, of_cluster, labels)
    ids = source.ids or tuple(map(str, range(len(source))))
    rows = [("Source", source.describe()), *content.kind_rows(source.kinds)]
    return Subject(None, ids, drawn.values.diagonal(), drawn, describe(resolved), rows)


def _refuse_other_samples(samples: int, labels: Indices) -> None:
    if samples != len(labels):
        raise InputError(
            f"the clusters are of {len(labels)} samples and X has {samples}: give the samples that were clustered"
        )


def _row(numbers: Any, n_clusters: int | None) -> int:
    """Return the row of the results for the number of clusters on the page."""
    from distkern.learners.cluster_numbers import ClusterNumbers  # imports scikit-learn

    if not isinstance(numbers, ClusterNumbers):
        raise InputTypeError(f"numbers must be a result of distkern.cluster_numbers, not {type(numbers).__name__}")
    tried = numbers.n_clusters.tolist()
    if n_clusters is None:
        n_clusters = tried[0] if len(tried) == 1 else numbers.by_silhouette
    if n_clusters not in tried:
        raise InputError(f"{n_clusters} clusters were not tried: there are {', '.join(map(str, tried))}")
    return tried.index(n_clusters)


# Texts and numbers ---------------------------------------------------------------------------------------------------


def _values(
    subject: Subject, numbers: ClusterNumbers, row: int, weights: Floats, weighted: bool, title: str | None
) -> Spec:
    labels, silhouettes, k = numbers.labels[row], numbers.silhouettes[row], int(numbers.n_clusters[row])
    of = f"{k} cluster{'s' * (k != 1)} of {len(labels):,} samples"
    info = subject.gram.info() if isinstance(subject.gram, StoredGram) else None
    sizes = np.bincount(labels, minlength=k)
    return {
        "title": title or (f"{subject.words.name}: {of}" if subject.words else of),
        "kernel": subject.words,
        "of": of,
        "mean": None if np.isnan(numbers.silhouette[row]) else _signed(numbers.silhouette[row]),
        "sizes": f"{sizes.min():,} to {sizes.max():,}" if k > 1 else f"{sizes[0]:,}",
        "stands_for": f"{weights.sum():,.12g}" if weighted else "",
        "tried": _tried(numbers, k),
        "clusters": _cluster_rows(labels, silhouettes, weights, weighted, numbers.medoids[row], subject.ids),
        "stability": [f"{value:.2f}" for value in numbers.jaccard[row]] if numbers.jaccard else [],
        "weighted": weighted,
        "numbers": _number_rows(numbers) if len(numbers.n_clusters) > 1 else [],
        "samples": _sample_rows(labels, silhouettes, weights, weighted, subject.ids),
        "unlisted": max(0, len(labels) - LISTED_SAMPLES),
        "note": order_note(subject.drawn, "cluster"),
        "matrix": content.matrix_rows(len(labels), subject.diagonal, subject.drawn),
        "cohort": subject.cohort,
        "store": content.store_rows(info) if info else [],
        "runs": content.run_rows(info) if info else [],
        "versions": content.version_rows(subject.gram),
        "code": _snippet(subject, numbers, k, weighted),
        "made": content.today(),
    }


def _tried(numbers: ClusterNumbers, k: int) -> str:
    """Return the range of numbers of clusters that were tried, and those that the measures choose."""
    if len(numbers.n_clusters) == 1:
        return "the only number that was tried"
    first, last = numbers.n_clusters[[0, -1]]
    best = f"the mean silhouette is highest for {numbers.by_silhouette}"
    gap = "" if numbers.reference is None else f", and the gap statistic chooses {numbers.by_gap}"
    stable = f", and the stability {numbers.by_stability}" if numbers.jaccard else ""
    return f"of {first} to {last} that were tried; {best}{gap}{stable}"


def _cluster_rows(
    labels: Indices, silhouettes: Floats, weights: Floats, weighted: bool, medoids: Indices, ids: tuple[str, ...]
) -> list[list[str]]:
    """Return per cluster: number, samples, weight, share, mean and range of silhouettes, negative ones, medoid."""
    rows = []
    for cluster, medoid in enumerate(medoids):
        own = np.flatnonzero(labels == cluster)
        mass = weights[own].sum()
        found = silhouettes[own[weights[own] > 0]]
        several = len(found) > 0 and not np.isnan(found).any()
        rows.append(
            [
                str(cluster),
                f"{len(own):,}",
                *([f"{mass:,.12g}"] if weighted else []),
                f"{100 * mass / weights.sum():.1f} %",
                _signed(np.average(silhouettes[own], weights=weights[own])) if several else "–",
                f"{_signed(found.min())} to {_signed(found.max())}" if several else "–",
                f"{np.count_nonzero(found < 0):,}" if several else "–",
                ids[medoid] if medoid >= 0 else "–",
            ]
        )
    return rows


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _number_rows(numbers: ClusterNumbers) -> list[list[str]]:
    """Return per number of clusters: inertia, mean silhouette, gap, and stability."""
    return [
        [
            f"{row['n_clusters']}",
            f"{row['inertia']:.6g}",
            "–" if row["silhouette"] is None else f"{row['silhouette']:.4f}",
            "–" if row["gap"] is None else f"{row['gap']:.4f} ± {row['gap_error']:.4f}",
            "–" if row["stability"] is None else f"{row['stability']:.4f}",
        ]
        for row in numbers.table()
    ]


def _member_rows(membership: Membership | None) -> dict[str, Any]:
    """Rows of the tables of covariates: tests, and shares or medians by cluster."""
    if membership is None:
        return {"covariates": [], "summaries": [], "members": []}
    tests, summary = membership.tests, membership.summary
    rows = [
        [
            str(row.covariate),
            str(row.test),
            f"{row.samples:,}",
            "–" if np.isnan(row.statistic) else f"{row.statistic:.2f} ({row.df})",
            "–" if np.isnan(row.pvalue) else f"{row.pvalue:.2g}" + ("*" if row.doubtful else ""),
            "–" if np.isnan(row.adjusted) else f"{row.adjusted:.2g}",
            "–" if np.isnan(row.effect) else f"{row.effect:.2f}",
        ]
        for row in tests.itertuples()
    ]
    clusters = list(summary.columns[2:])
    lines = []
    for record in summary.to_dict("records"):
        median = record["value"] == "median"
        shown = [f"{record[c]:.4g}" if median else f"{100 * record[c]:.0f} %" for c in clusters]
        lines.append([str(record["covariate"]), str(record["value"]), *shown])
    return {"covariates": rows, "summaries": lines, "members": [f"Cluster {c}" for c in clusters]}


def _sample_rows(
    labels: Indices, silhouettes: Floats, weights: Floats, weighted: bool, ids: tuple[str, ...]
) -> list[list[str]]:
    """Return per sample: name, cluster, silhouette and weight; only every k-th of more than `LISTED_SAMPLES`."""
    order = np.lexsort((-np.nan_to_num(silhouettes), labels))
    order = order[:: max(1, -(-len(order) // LISTED_SAMPLES))]
    return [
        [
            ids[sample],
            str(labels[sample]),
            "–" if np.isnan(silhouettes[sample]) else _signed(silhouettes[sample]),
            *([f"{weights[sample]:,.12g}"] if weighted else []),
        ]
        for sample in order
    ]


def _snippet(subject: Subject, numbers: ClusterNumbers, k: int, weighted: bool) -> str:
    """Return Python code that computes the same clustering."""
    tried, settings = numbers.n_clusters.tolist(), numbers.settings
    asked = [f"{name}={value!r}" for name, value in settings.items() if name == "random_state" or value]
    lines = []
    if subject.gram is None:
        assert subject.words is not None
        lines += ["import distkern as dk", "", content.cohort_line(subject.cohort[0][1])]
        asked.insert(0, f"kernel={subject.words.code}")
    else:
        lines += content.loading_lines(subject.gram, subject.words, None)
        lines.append(content.gram_line(subject.gram, subject.words))
    if weighted:
        lines.append("weights = ...  # number of samples that each sample represents")
        asked.insert(0, "sample_weight=weights")
    given = "X" if subject.gram is None else "gram"
    lines += ["numbers = dk.cluster_numbers(", f"    {given}, {tried}, {', '.join(asked)}", ")"]
    return "\n".join([*lines, f"labels = numbers.labels[{tried.index(k)}]"])


# Pictures ------------------------------------------------------------------------------------------------------------


def _pictures(subject: Subject, numbers: ClusterNumbers, row: int, weights: Floats) -> Spec:
    from distkern.plot.cluster_numbers import MEASURES, plot_cluster_numbers
    from distkern.plot.gram import draw_gram
    from distkern.plot.kernel_pca import draw_kernel_pca
    from distkern.plot.silhouettes import draw_silhouettes
    from distkern.plot.svg import picture

    labels, silhouettes, k = numbers.labels[row], numbers.silhouettes[row], int(numbers.n_clusters[row])
    names = tuple(f"cluster {cluster}" for cluster in range(k))
    drawn, classes = subject.drawn, Classes(names, labels)
    pictures: Spec = {
        "gram": picture(
            lambda ax: draw_gram(ax, drawn, classes),
            name="gram",
            alt=f"Heat map of the kernel values between {len(drawn.samples):,} samples, ordered by cluster.",
        )
    }
    if not np.isnan(silhouettes).all():
        pictures["silhouettes"] = picture(
            lambda ax: draw_silhouettes(ax, silhouettes, classes, weights),
            name="silhouettes",
            alt=f"Silhouettes of the samples, cluster by cluster; their mean is {numbers.silhouette[row]:.3f}.",
        )
    if len(drawn.samples) >= 3:
        pictures["pca"] = picture(
            lambda ax: draw_kernel_pca(ax, drawn, classes),
            name="pca",
            alt="Scatter of the samples on the first two kernel principal components, coloured by cluster.",
        )
    if len(numbers.n_clusters) > 1:
        computed = {"silhouette": True, "gap": numbers.reference is not None, "stability": bool(numbers.jaccard)}
        for measure in (name for name, known in computed.items() if known):
            listed = "; ".join(
                f"{k}: {value:.3f}"
                for k, value in zip(numbers.n_clusters, getattr(numbers, measure), strict=True)
                if not np.isnan(value)
            )
            pictures[measure] = picture(
                lambda ax, measure=measure: plot_cluster_numbers(numbers, measure, ax=ax),  # type: ignore[misc]
                name=measure,
                alt=f"{MEASURES[measure].capitalize()} by number of clusters. {listed}.",
                size=(4.8, 3.4),
            )
    return pictures
