"""Kernel k-means on a stored Gram matrix: time of all starts in shared passes, compared with one start.

``python benchmarks/clustering.py``: 20,000 rankings, 20 clusters, 10 starts; a table in docs/benchmarks.md.
``python benchmarks/clustering.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from measure import report
from memory import peak, resting
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from distkern import Kendall, KernelKMeans, compute_gram
from distkern.core.units import readable_bytes
from distkern.datasets import sample_mallows

ITEMS = 50
DISPERSION = 0.05
STARTS = 10


def rankings(samples: int, clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw equally many rankings around each of some random centres; return them with the number of their centre."""
    rng = np.random.default_rng(0)
    parts = [
        sample_mallows(rng.permutation(ITEMS), DISPERSION, samples // clusters, random_state=rng).values
        for _ in range(clusters)
    ]
    return np.concatenate(parts), np.repeat(np.arange(clusters), samples // clusters)


def fitted(gram: Any, **parameters: Any) -> tuple[KernelKMeans, float, int]:
    """Fit a model; return it with its seconds and its peak of memory above the start, in bytes."""
    before, began = resting(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelKMeans(random_state=0, **parameters).fit(gram)
    return model, time.perf_counter() - began, peak() - before


def measured(samples: int, clusters: int) -> list[tuple[str, str]]:
    """Measure the rows of the table."""
    X, truth = rankings(samples, clusters)
    with tempfile.TemporaryDirectory() as folder:
        gram = compute_gram(Kendall(), X, store=Path(folder) / "gram.zarr", progress=False)
        few = np.arange(0, samples, samples // 300)
        fitted(gram[np.ix_(few, few)], n_clusters=2)  # imports and compiles before the measurement
        model, seconds, above = fitted(gram, n_clusters=clusters, n_init=STARTS)
        alone, seconds_alone, _ = fitted(gram, n_clusters=clusters, n_init=1)
        stored = gram.info()["bytes_stored"]
    return [
        ("rankings", f"{samples:,} of {ITEMS} items, {clusters} clusters, {STARTS} starts"),
        ("matrix", f"{readable_bytes(8 * samples**2)} as a whole, {readable_bytes(stored)} stored"),
        ("all starts", f"{seconds:.1f} s, {model.n_passes_} passes of {seconds / model.n_passes_:.2f} s"),
        ("read", f"{readable_bytes(model.bytes_read_)}, {readable_bytes(model.bytes_read_ / model.n_passes_)} a pass"),
        ("memory above rest", readable_bytes(above)),
        ("one start", f"{seconds_alone:.1f} s, {alone.n_passes_} passes of {seconds_alone / alone.n_passes_:.2f} s"),
        (
            "a pass for all, against one for one",
            f"{seconds / model.n_passes_ / (seconds_alone / alone.n_passes_):.2f} times",
        ),
        ("agreement with the clusters drawn", f"{adjusted_rand_score(truth, model.labels_):.3f} (adjusted Rand index)"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, nothing written")
    small = parser.parse_args().small
    rows = measured(600, 4) if small else measured(20_000, 20)
    report("clustering", rows, ("distkern", "numpy", "zarr"), write=not small)


if __name__ == "__main__":
    main()
