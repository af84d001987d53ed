"""A cohort of the size of a large study, from a file to the stored matrix, on two workers.

``python benchmarks/genome_scale.py``: a tenth of the pairs of 10,000 samples × 20,000 genes; scaled to all of them.
``python benchmarks/genome_scale.py --whole``: all pairs, and the section in docs/benchmarks.md.
``python benchmarks/genome_scale.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import report

from distkern import Kendall, compute_gram
from distkern.core.events import Progress
from distkern.engine.dask.cluster import local_client

SAMPLES, GENES = 10_000, 20_000
ROWS = 500
"""Samples drawn at a time."""


class Phases:
    """Seconds of each phase of a computation, from its events."""

    def __init__(self) -> None:
        self.first: dict[str, float] = {}
        self.last: dict[str, float] = {}

    def __call__(self, event: Progress) -> None:
        """Note the time of an event."""
        now = time.perf_counter()
        self.first.setdefault(event.phase, now)
        self.last[event.phase] = now

    def rows(self) -> list[tuple[str, str]]:
        """A row for each phase."""
        return [(phase, f"{self.last[phase] - began:.1f} s") for phase, began in self.first.items()]


def write_cohort(file: Path, samples: int, genes: int) -> None:
    """Write expression as in tables of RNA-seq: log2(1 + counts per million), in single precision.

    Counts are negative binomial: log-normal means of genes (σ = 2.5), a tenth of which depend on one factor, a
    dispersion of 0.2, and 10 to 40 million reads a sample. So a sample has many ties: zeros and low counts.
    """
    rng = np.random.default_rng(0)
    share = np.exp(rng.normal(0, 2.5, genes))
    loading = np.where(rng.random(genes) < 0.1, rng.normal(0, 0.7, genes), 0.0)
    values = np.lib.format.open_memmap(file, "w+", np.float32, (samples, genes))
    for start in range(0, samples, ROWS):
        count = min(ROWS, samples - start)
        means = share * np.exp(np.outer(rng.normal(size=count), loading))
        means *= rng.uniform(1e7, 4e7, (count, 1)) / means.sum(axis=1, keepdims=True)
        counts = rng.poisson(rng.gamma(5.0, means / 5.0))
        values[start : start + count] = np.log2(1 + 1e6 * counts / counts.sum(axis=1, keepdims=True))
    values.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--small", action="store_true", help="40 samples of 500 genes, nothing written")
    size.add_argument("--whole", action="store_true", help="all 10,000 samples: about an hour on two cores")
    arguments = parser.parse_args()
    m, genes = (40, 500) if arguments.small else (SAMPLES if arguments.whole else round(SAMPLES / 10**0.5), GENES)
    with tempfile.TemporaryDirectory() as folder, local_client(2) as client:
        file, warm = Path(folder) / "cohort.npy", Path(folder) / "warm.npy"
        write_cohort(file, m, genes)
        write_cohort(warm, 8, 3_000)
        compute_gram(Kendall(ties="b"), warm, store=f"{folder}/warm.zarr", executor=client, tile=4, progress=False)
        phases = Phases()
        began = time.perf_counter()
        gram = compute_gram(
            Kendall(ties="b"), file, store=f"{folder}/gram.zarr", executor=client, progress=phases,
            tile=10 if arguments.small else None,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        about = gram.info()
        part = np.load(file, mmap_mode="r")[:20]
    run, distinct = about["runs"][0], np.mean([len(np.unique(x)) for x in part])
    pairs, busy, zeros = m * (m + 1) / 2, run["task_seconds"] / (2 * seconds), (part == 0).mean()
    rows = [
        (
            "cohort",
            f"{m:,} samples × {genes:,} genes, {distinct:,.0f} distinct values, {zeros:.0%} zeros",
        ),
        ("from the file to the stored matrix", f"{seconds:,.1f} s, {about['tiles']:,} tiles of side {about['tile']}"),
        *phases.rows(),
        (
            "work of the tasks",
            f"{run['task_seconds']:,.1f} s; workers busy {busy:.0%}",
        ),
        ("a pair, end to end on two cores", f"{1e6 * seconds / pairs:.1f} µs"),
        ("largest worker", f"{run['above_rest_bytes'] / 2**20:.0f} MiB above rest"),
    ]
    if not (arguments.whole or arguments.small):
        scaled = seconds * SAMPLES * (SAMPLES + 1) / 2 / pairs
        rows.append((f"scaled to {SAMPLES:,} samples", f"{scaled / 60:.0f} min"))
    report("genome scale", rows, ("distkern", "dask", "zarr"), write=arguments.whole)


if __name__ == "__main__":
    main()
