"""A simulated genome-scale cohort on a local Dask cluster: speed-up of a second worker, and accuracy of the plan.

``python benchmarks/cluster.py``: 2,000 x 20,000 once, then five comparisons on a part of it.
``python benchmarks/cluster.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measure import report

from distkern import Kendall, compute_gram, plan_gram
from distkern.engine.dask.cluster import local_client


def cohort(samples: int, genes: int, seed: int = 0) -> np.ndarray:
    """Simulate gene counts: log-normal means, one factor of variation, Poisson noise; counts have ties."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(3, 2, genes)
    loading = rng.normal(0, 0.5, genes)
    factor = rng.normal(size=samples)
    return rng.poisson(np.exp(mean + np.outer(factor, loading)).clip(0, 1e5)).astype(np.float64)


def compute(file: Path, client: Any, tile: int | None) -> tuple[float, dict[str, Any], float]:
    """Seconds that the tiles took, the log of the run, and the seconds predicted by the plan for one core."""
    plan = plan_gram(Kendall(ties="b"), file, executor=client, tile=tile)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        gram = compute_gram(Kendall(ties="b"), file, store=f"{folder}/gram.zarr", executor=client, tile=plan.tile)
        seconds = time.perf_counter() - began
        run = gram.info()["runs"][0]
    return seconds, run | {"promised": plan.bytes_per_task, "tile": plan.tile, "tiles": plan.tiles}, plan.seconds


@contextmanager
def workers(count: int, X: np.ndarray) -> Iterator[Any]:
    """Start workers, and compute a small matrix so that they import and compile everything before the measurement."""
    with tempfile.TemporaryDirectory() as folder, local_client(count) as client:
        compute_gram(Kendall(ties="b"), X[:40], store=f"{folder}/warm.zarr", executor=client, tile=10, progress=False)
        yield client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one comparison, nothing written")
    parser.add_argument("--samples", type=int, default=2_000)
    parser.add_argument("--part", type=int, default=700, help="number of samples in the comparisons")
    arguments = parser.parse_args()
    m, genes, part, rounds = (40, 500, 30, 1) if arguments.small else (arguments.samples, 20_000, arguments.part, 5)
    X = cohort(m, genes)
    tile = 10 if arguments.small else None
    with tempfile.TemporaryDirectory() as folder, workers(1, X) as alone, workers(2, X) as both:
        whole, some = Path(folder) / "cohort.npy", Path(folder) / "part.npy"  # workers read files themselves
        np.save(whole, X)
        np.save(some, X[:part])
        seconds, run, predicted = compute(whole, both, tile)
        ratios = []
        for _ in range(rounds):
            (one, *_), (two, *_) = (compute(some, client, tile) for client in (alone, both))
            ratios.append(one / two)
            print(f"one worker {one:.1f} s, two {two:.1f} s: {ratios[-1]:.2f}", flush=True)
    distinct = np.mean([len(np.unique(x)) for x in X[:20]])
    work = run["task_seconds"]
    above, rest, promised = (run[name] / 2**20 for name in ("above_rest_bytes", "rest_bytes", "promised"))
    rows = [
        ("cohort", f"{m:,} samples × {genes:,} genes, {distinct:,.0f} distinct values a sample"),
        ("two workers", f"{seconds:.1f} s, {run['tiles']} tiles of side {run['tile']}"),
        ("work of the tasks", f"{work:.1f} s"),
        ("predicted by the plan", f"{predicted:.1f} s on one core ({predicted / work:.2f} of the measured work)"),
        ("workers busy", f"{work / (2 * seconds):.0%}"),
        ("largest worker", f"{above:.0f} MiB above {rest:.0f} MiB at rest; promised {promised:.0f} MiB a task"),
    ]
    ratio = f"{statistics.median(ratios):.2f} times (median of {rounds})"
    rows.append((f"two workers against one, {part:,} samples", ratio))
    report("cluster", rows, ("distkern", "dask", "zarr"), write=not arguments.small)


if __name__ == "__main__":
    main()
