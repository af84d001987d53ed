"""Kendall's tau between the features of a cohort: the edges of all genes, and a long list of pairs over cells.

``python benchmarks/tau.py``: a tenth of the pairs of both; scaled to all of them, and nothing written.
``python benchmarks/tau.py --whole``: 20,000 genes of 1,000 samples, and 10,000,000 pairs of genes over 150,000 cells,
on two threads; about half an hour with the files, and the section in docs/benchmarks.md.
``python benchmarks/tau.py --small``: a few seconds, nothing written.

The folder of temporary files (TMPDIR) takes the files of the cohorts, about 1.5 GB for the whole, and what is spilled.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from genome_scale import write_cohort
from measure import report, status
from million_cells import write_cells

from distkern import kendalltau_matrix
from distkern.compiled import concordance
from distkern.compiled.inversions import rank

THREADS = 2
TILE = 500
"""Columns of the two blocks whose pairs are counted alone."""


@dataclass(frozen=True)
class Size:
    """Samples and genes of the network; cells, genes and pairs of the list; and how many times that the whole has."""

    samples: int
    genes: int
    cells: int
    listed_genes: int
    pairs: int
    times: int


WHOLE = Size(1_000, 20_000, 150_000, 20_000, 10_000_000, 1)
TENTH = Size(1_000, 6_325, 150_000, 2_000, 1_000_000, 10)
SMALL = Size(60, 200, 300, 100, 500, 1)


def peak() -> str:
    """Most memory that this process has had."""
    return f"{status('VmHWM') / 2**30:.2f} GiB"


def counting_seconds(file: Path) -> float:
    """Seconds to count one pair of columns where all threads count at once, each the same tile of two blocks."""
    X = np.load(file, mmap_mode="r")
    half = min(TILE, X.shape[1] // 2)
    ranked = rank(np.ascontiguousarray(X[:, : 2 * half].T, dtype=np.float64))
    names = ("order", "codes", "tied", "untied")
    A, B = (
        {name: array[part] for name, array in zip(names, ranked, strict=True)}
        for part in (slice(0, half), slice(half, 2 * half))
    )
    best = np.inf
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(4):  # the first one loads the routine
            began = time.perf_counter()
            list(pool.map(lambda _: concordance.concordance(A, B, False), range(THREADS)))
            best = min(best, time.perf_counter() - began)
    return best / half**2 / THREADS


def network(size: Size, folder: Path) -> list[tuple[str, str]]:
    """Edges of all genes."""
    file = folder / "cohort.npy"
    write_cohort(file, size.samples, size.genes)
    pairs = size.genes * (size.genes - 1) / 2
    counting = counting_seconds(file) * pairs
    began = time.perf_counter()
    found = kendalltau_matrix(
        file, output="edges", min_tau=0.3, path=folder / "edges.parquet", executor=THREADS, memory_limit="1.5GiB"
    )
    seconds = time.perf_counter() - began
    rows = [
        ("network", f"{size.genes:,} genes of {size.samples:,} samples, {pairs:,.0f} pairs"),
        ("counting alone, two threads", f"{counting:,.1f} s"),
        ("from the file to the edges", f"{seconds:,.1f} s, {seconds / counting - 1:.0%} more"),
        ("edges with q ≤ 0.05 and |tau| ≥ 0.3", f"{found.edges:,}"),
        ("temporary files", f"{found.disk_bytes / 1e9:.2f} GB"),
        ("most memory", peak()),
    ]
    return rows + ([] if size.times == 1 else [("scaled to 20,000 genes", f"{seconds * size.times / 60:.1f} min")])


def long_list(size: Size, folder: Path) -> list[tuple[str, str]]:
    """Pairs of genes over cells, drawn uniformly."""
    file = folder / "cells.h5ad"
    write_cells(file, size.cells, size.listed_genes, share=0.05)
    pairs = np.random.default_rng(0).integers(0, size.listed_genes, (size.pairs, 2))
    began = time.perf_counter()
    table = kendalltau_matrix(file, pvalue=True, pairs=pairs, executor=THREADS, memory_limit="3.75GiB")
    seconds = time.perf_counter() - began
    rows = [
        ("list", f"{size.pairs:,} pairs of {size.listed_genes:,} genes over {size.cells:,} cells, 5% of them counted"),
        ("from the file to tau and p", f"{seconds:,.1f} s, {1e6 * seconds / size.pairs:.1f} µs a pair"),
        ("temporary files of the list", f"{table.attrs['disk_bytes'] / 1e9:.2f} GB"),
        ("most memory with the list", peak()),
    ]
    return rows + ([] if size.times == 1 else [("scaled to 10,000,000 pairs", f"{seconds * size.times:.0f} s")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how_much = parser.add_mutually_exclusive_group()
    how_much.add_argument("--small", action="store_true", help="200 genes and 500 pairs, nothing written")
    how_much.add_argument("--whole", action="store_true", help="all pairs: about half an hour on two cores")
    arguments = parser.parse_args()
    size = SMALL if arguments.small else WHOLE if arguments.whole else TENTH
    warnings.filterwarnings("ignore", message=".* features have no tau", category=UserWarning)  # not counted at all
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cells(folder / "warm.h5ad", 300, 60, share=0.05)  # loads and compiles all routines
        kendalltau_matrix(folder / "warm.h5ad", pvalue=True, pairs=[(0, 1)], progress=False)
        write_cohort(folder / "warm.npy", 60, 50)
        kendalltau_matrix(folder / "warm.npy", output="edges", path=folder / "warm.parquet", progress=False)
        rows = network(size, folder) + long_list(size, folder)
    report("tau", rows, ("distkern", "numba", "numpy", "scipy", "pyarrow"), write=arguments.whole)


if __name__ == "__main__":
    main()
