"""Landmark jobs of sparse cells in memory, in units of sorting their nonzeros row by row with NumPy.

``python benchmarks/sparse_cells.py``: 8,000 cells, and the table in docs/benchmarks.md.
``python benchmarks/sparse_cells.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable

from measure import alternate, measured_on, medians, microseconds, one_thread, publish, table

one_thread()

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from distkern import Kendall, compute_gram  # noqa: E402

GENES, NONZEROS = 20_000, 1_600
LANDMARKS = 60
KINDS = ("scattered, continuous", "expressed, continuous", "log-normalised counts", "counts")
TILE = 256
"""Rows of the tile whose pairs are timed alone."""


def cells(count: int, kind: str) -> sparse.csr_array:
    """Draw cells of ``NONZEROS`` genes each.

    Scattered: the genes of each cell are drawn uniformly, so that two cells share few. Otherwise counts are Poisson
    with log-normal means of genes and depths of cells: two cells share about 40 % of their genes. They are divided by
    the depth and put through log1p; continuous values have a log-normal factor each, so that none are tied.
    """
    rng = np.random.default_rng(0)
    means = np.exp(rng.normal(0, 2, GENES))
    means /= means.sum()
    grid = np.geomspace(10, 1e6, 2000)
    depth = grid[np.argmax([(1 - np.exp(-one * means)).sum() >= NONZEROS for one in grid])]
    places, values = [], []
    for _ in range(count):
        if kind == KINDS[0]:
            places.append(np.sort(rng.choice(GENES, NONZEROS, replace=False)))
            values.append(rng.lognormal(size=NONZEROS))
            continue
        drawn = rng.poisson(depth * rng.lognormal(0, 0.2) * means)
        places.append(np.flatnonzero(drawn))
        found = drawn[places[-1]].astype(float)
        if kind != "counts":
            noise = rng.lognormal(0, 0.3, len(found)) if kind == KINDS[1] else 1.0
            found = np.log1p(1e4 * found / found.sum() * noise)
        values.append(found)
    starts = np.cumsum([0, *map(len, places)])
    return sparse.csr_array((np.concatenate(values), np.concatenate(places), starts), shape=(count, GENES))


def unit(X: sparse.csr_array) -> float:
    """Seconds of sorting the nonzeros of each row, best of five."""
    rows, best = [X.data[start:stop] for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True)], np.inf
    for _ in range(5):
        began = time.perf_counter()
        for row in rows:
            np.argsort(row, kind="stable")
        best = min(best, time.perf_counter() - began)
    return best


def job(X: sparse.csr_array, folder: str) -> Callable[[], object]:
    """Compute the columns of the landmarks into a new store."""
    return lambda: compute_gram(Kendall(), X, landmarks=LANDMARKS, store=tempfile.mkdtemp(dir=folder) + "/gram")


def measure(count: int, kind: str, rounds: int) -> list[str]:
    """Make one row of the table."""
    X = cells(count, kind)
    kernel = Kendall()
    A, B = kernel.prepare(X[: min(TILE, count)]), kernel.prepare(X[-min(LANDMARKS, count) :])
    with tempfile.TemporaryDirectory() as folder:
        calls = {"job": job(X, folder), "tile": lambda: kernel.tile(A, B), "prepare": lambda: kernel.prepare(X)}
        seconds = medians(alternate(calls, rounds))
    one = unit(X)
    return [
        kind,
        f"{X.nnz / count:,.0f}",
        f"{np.mean([len(set(X.data[X.indptr[i] : X.indptr[i + 1]])) for i in range(min(50, count))]):,.0f}",
        microseconds(one / count),
        microseconds(seconds["prepare"] / count),
        microseconds(seconds["tile"] / (len(A) * len(B))),
        f"{seconds['job']:.2f} s",
        f"{seconds['job'] / one:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few cells, one round, nothing written")
    parser.add_argument("--cells", type=int, default=8_000, help="number of cells")
    parser.add_argument("--kind", choices=KINDS, help="only one kind of values; nothing is written")
    arguments = parser.parse_args()
    count, rounds = (100, 1) if arguments.small else (arguments.cells, 3)
    rows = []
    for kind in (arguments.kind,) if arguments.kind else KINDS:
        rows.append(measure(count, kind, rounds))
        print("  ".join(f"{cell:>10}" for cell in rows[-1]), flush=True)
    if not arguments.small and not arguments.kind:
        header = [
            "values",
            "nonzeros",
            "distinct",
            "sorting a row, µs",
            "preparing, µs",
            "a pair, µs",
            "job",
            "in units",
        ]
        publish("sparse cells", table(header, rows), measured_on("distkern", "numba", "numpy", "scipy"))


if __name__ == "__main__":
    main()
