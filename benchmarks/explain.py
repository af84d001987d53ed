"""The weights of all pairs of genes in a Kendall machine, and the contributions of pairs to new samples.

``python benchmarks/explain.py``: 20,000 genes, 100 and 500 samples; a table in docs/benchmarks.md.
``python benchmarks/explain.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import machine, publish, table, versions
from memory import peak, resting
from sklearn.pipeline import make_pipeline

from distkern import Kendall, KernelStandardizer, KernelSVC, PartialKendall, SmoothedKendall, explain
from distkern.core.units import readable_bytes

NEW = 10
"""New samples whose decision values are explained."""

LEVELS = 40
"""Distinct values a sample where there are ties."""


def cohort(samples: int, genes: int, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw samples of two classes, a tenth of whose genes differ, and new samples."""
    rng = np.random.default_rng(0)
    y = np.arange(samples + NEW) % 2
    X = rng.normal(size=(samples + NEW, genes))
    X[:, : genes // 10] += 0.5 * y[:, None]
    if ties:
        X = np.floor(LEVELS / 8 * (X + 4))
    return X[:samples], y[:samples], X[samples:]


def seconds_of(work: Callable[[], Any]) -> tuple[Any, float, int]:
    """Result of some work, its seconds, and the most memory above the start in bytes."""
    before, began = resting(), time.perf_counter()
    result = work()
    return result, time.perf_counter() - began, peak() - before


def by_numpy(codes: np.ndarray, coefficients: np.ndarray, rows: int) -> float:
    """Seconds of NumPy for the weights of all pairs, from those of some rows."""
    began = time.perf_counter()
    for i in range(rows):
        coefficients @ np.sign(codes[:, i, None] - codes[:, i + 1 :])
    return (time.perf_counter() - began) * (codes.shape[1] - 1) / 2 / rows


def measured(name: str, kernel: Any, samples: int, genes: int, *, ties: bool = False, rows: int = 20) -> list[str]:
    """Measure a model: its explanation, and the contributions to new samples."""
    X, y, new = cohort(samples, genes, ties)
    model = make_pipeline(KernelStandardizer(kernel=kernel), KernelSVC()).fit(X, y)
    explain(make_pipeline(KernelStandardizer(kernel=kernel), KernelSVC()).fit(X[:, :300], y)).contributions(
        new[:, :300]
    )
    explained, seconds, above = seconds_of(lambda: explain(model, progress=False))
    found, of_new, _ = seconds_of(lambda: explained.contributions(new, progress=False))
    off = np.abs(found.of_features.sum(axis=1) + found.intercepts - found.decisions).max()
    ours = f"{seconds:.1f} s"
    theirs = by_numpy(X.astype(np.float32), np.ones(samples, dtype=np.float32), rows)
    row = [
        name,
        f"{samples:,}",
        ours,
        readable_bytes(above),
        f"{theirs / seconds:.0f} ×",
        f"{of_new:.1f} s",
        f"{off:.0e}",
    ]
    print(" | ".join(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few genes, nothing written")
    small = parser.parse_args().small
    genes = 600 if small else 20_000
    sizes = (20,) if small else (100, 500)
    rows = [
        measured(f"{genes:,} genes, {words}", Kendall(ties="b"), samples, genes, ties=ties)
        for samples in sizes
        for words, ties in (("no ties", False), (f"{LEVELS} values", True))
    ]
    fewer = 200 if small else 2_000
    for name, kernel in (("partial rankings", PartialKendall()), ("smoothed", SmoothedKendall(window=0.5))):
        rows.append(measured(f"{fewer:,} genes, {name}", kernel, sizes[0], fewer))
    if small:
        return
    header = [
        "cohort",
        "samples",
        "weights of all pairs",
        "memory above rest",
        "NumPy takes",
        f"{NEW} new samples",
        "off by",
    ]
    note = (
        f"Seconds of the clock on {len(os.sched_getaffinity(0))} cores. A support vector machine after a standardizer, "
        "so that every sample has a coefficient. NumPy multiplies the signs of some rows of pairs in single precision "
        "on one core. Off by: largest difference of a decision value from the sum of the contributions of all features."
    )
    publish("explain", table(header, rows), note, f"Measured on {machine()}; {versions('distkern', 'numba', 'numpy')}.")


if __name__ == "__main__":
    main()
