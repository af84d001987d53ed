"""Support vector machines on a stored Gram matrix, compared with scikit-learn's SVC on the same store.

``python benchmarks/svm.py``: 4,000 and 10,000 samples, and nested cross-validation; tables in docs/benchmarks.md.
``python benchmarks/svm.py --large``: also 40,000 samples in single precision on workers of 1 GiB.
``python benchmarks/svm.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import alternate, machine, medians, publish, table, versions
from memory import peak, resting
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from distkern import Gaussian, KernelSVC, compute_gram, cross_validate_gram, open_gram
from distkern.core.units import readable_bytes
from distkern.engine.dask.cluster import local_client
from distkern.learners.selection import GRID

PENALTIES = (1.0, 100.0)
SHARE = 5
"""The small memory budget is the size of the matrix divided by this."""
KERNEL = Gaussian(sigma=3.0)
TILE = 500


def cohort(samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate two overlapping classes: the best linear boundary misclassifies a quarter of the samples."""
    rng = np.random.default_rng(0)
    y = np.arange(samples) % 2
    X = rng.normal(size=(samples, 10))
    X[:, :3] += 0.4 * (2 * y[:, None] - 1)
    return X, y


def forget(store: Path) -> bool:
    """Ask the system to drop the pages of a store from its cache; return whether it supports this."""
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in store.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
    return True


def fit(who: str, gram: Any, y: np.ndarray, C: float) -> Any:
    """Fit scikit-learn ("theirs"), distkern with memory for the matrix ("ours"), or with a part of it ("little")."""
    whole = 8 * len(gram) ** 2
    if who == "theirs":
        return SVC(kernel="precomputed", C=C).fit(gram.to_numpy(max_bytes=whole), y)
    limit = 3 * whole if who == "ours" else max(whole // SHARE, 1_500_000)
    return KernelSVC(C=C, memory_limit=limit).fit(gram, y)


def above_rest(who: str, store: Path, C: float) -> int:
    """Peak memory of a fit above the start, in bytes, in a new process that has already fitted a small model."""
    command = [sys.executable, __file__, "--memory", who, "--store", str(store), "--penalty", str(C)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def memory_of(who: str, store: str, C: float) -> int:
    """Measure the memory of a fit in this process, for `above_rest`."""
    gram = open_gram(store)
    y = np.arange(len(gram)) % 2
    few = np.arange(0, len(gram), max(1, len(gram) // 300))
    labels = np.arange(len(few)) % 2
    for limit in ("1GB", "2MB"):
        KernelSVC(memory_limit=limit).fit(gram[np.ix_(few, few)], labels)
    before = resting()
    fit(who, gram, y, C)
    return peak() - before


def objective_of(model: SVC, K: np.ndarray) -> float:
    """Dual objective of the solution of libsvm."""
    c = np.zeros(len(K))
    c[model.support_] = model.dual_coef_[0]
    return float(0.5 * c @ K @ c - np.abs(c).sum())


def side_by_side(samples: int, rounds: int, penalties: tuple[float, ...] = PENALTIES) -> list[list[str]]:
    """Compare both with an empty system cache: with memory for the matrix, and with a small budget."""
    X, y = cohort(samples)
    whole = 8 * samples**2
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "gram.zarr"
        gram = compute_gram(KERNEL, X, store=store, tile=min(TILE, samples // 4), progress=False)
        for C in penalties:
            models: dict[str, Any] = {}

            def run(who: str, C: float = C, models: dict[str, Any] = models) -> None:
                forget(store)
                models[who] = fit(who, gram, y, C)

            names = ("theirs", "ours", "little")
            seconds = medians(alternate({who: partial(run, who) for who in names}, rounds))
            bytes_above = {who: above_rest(who, store, C) for who in names}
            expected = objective_of(models["theirs"], gram.to_numpy(max_bytes=whole))
            gaps = [abs(models[name].objective_ / expected - 1) for name in ("ours", "little")]
            few = models["little"]
            rows.append(
                [
                    f"{samples:,}, C = {C:g}",
                    f"{seconds['theirs']:.2f} s, {readable_bytes(bytes_above['theirs'])}",
                    f"{seconds['ours']:.2f} s, {readable_bytes(bytes_above['ours'])}",
                    f"{seconds['ours'] / seconds['theirs']:.2f}",
                    f"{seconds['little']:.2f} s, {readable_bytes(bytes_above['little'])}",
                    f"{seconds['little'] / seconds['theirs']:.2f}",
                    f"{few.n_passes_} ({seconds['little'] / few.n_passes_:.2f} s)",
                    f"{max(gaps):.0e}",
                ]
            )
            print(" | ".join(rows[-1]), flush=True)
    return rows


def nested(samples: int, folds: int) -> list[str]:
    """Time nested cross-validation over a grid of C, on a matrix in memory."""
    X, y = cohort(samples)
    K = KERNEL(X)
    options = {"outer": folds, "inner": folds, "repeats": 1}
    cross_validate_gram(KernelSVC(), K[:60, :60].copy(), y[:60], **options)
    began = time.perf_counter()
    ours = cross_validate_gram(KernelSVC(), K, y, C=GRID, **options).mean()
    middle = time.perf_counter()
    inner, outer = (StratifiedKFold(folds, shuffle=True, random_state=seed) for seed in (1, 0))
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": list(GRID)}, cv=inner)
    theirs = cross_val_score(search, K, y, cv=outer).mean()
    ended = time.perf_counter()
    row = [
        f"{samples:,}, {len(GRID)} values of C, {folds} × {folds} folds",
        f"{ended - middle:.1f} s ({theirs:.3f})",
        f"{middle - began:.1f} s ({ours:.3f})",
        f"{(ended - middle) / (middle - began):.1f}",
    ]
    print(" | ".join(row), flush=True)
    return row


def large(samples: int, limit: int) -> list[list[str]]:
    """Fit a matrix in single precision that fits neither in a worker nor in this process."""
    X, y = cohort(samples)
    rows = []
    with tempfile.TemporaryDirectory() as folder, local_client(2, 2**30) as client:
        options: dict[str, Any] = {"dtype": "float32", "tile": min(2 * TILE, samples // 4), "executor": client}
        gram = compute_gram(KERNEL, X, store=Path(folder) / "gram.zarr", progress=False, **options)
        for C in PENALTIES:
            began, before = time.perf_counter(), resting()
            model = KernelSVC(C=C, memory_limit=limit).fit(gram, y)
            seconds, above = time.perf_counter() - began, peak() - before
            rows.append(
                [
                    f"{samples:,} ({readable_bytes(4 * samples**2)}), C = {C:g}",
                    f"{seconds:.0f} s",
                    f"{model.n_passes_} ({seconds / model.n_passes_:.1f} s)",
                    readable_bytes(model.bytes_read_),
                    readable_bytes(above),
                    f"{model.duality_gap_ / abs(model.objective_):.0e}",
                ]
            )
            print(" | ".join(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one round, nothing written")
    parser.add_argument("--large", action="store_true", help="40,000 samples, too")
    parser.add_argument("--memory", choices=("theirs", "ours", "little"), help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    parser.add_argument("--penalty", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        print(memory_of(arguments.memory, arguments.store, arguments.penalty))
        return
    if arguments.small:
        side_by_side(400, 1, PENALTIES[:1])
        nested(120, 2)
        large(800, 3_500_000)
        return
    rows = [row for size in (4_000, 10_000) for row in side_by_side(size, 3)]
    folds = nested(4_000, 5)
    many = large(40_000, 2**30) if arguments.large else []
    note = f"Measured on {machine()}; {versions('distkern', 'numba', 'numpy', 'scikit-learn', 'zarr')}."
    pages = "Each run starts with the pages of the store dropped from the system's cache."
    budget = f"a {SHARE}th of the matrix"
    header = [
        "m",
        "scikit-learn",
        "distkern",
        "of its time",
        budget,
        "of its time",
        "passes (each)",
        "objective off by",
    ]
    parts = [
        table(header, rows) + "\n\nSeconds, and the most memory above rest. " + pages,
        table(["nested cross-validation", "scikit-learn (accuracy)", "distkern (accuracy)", "times faster"], [folds]),
    ]
    if many:
        header = ["m", "seconds", "passes (each)", "read", "this process above rest", "duality gap"]
        parts.append(table(header, many) + "\n\nTwo workers of 1 GiB, and 1 GiB for this process.")
    publish("svm", "\n\n".join([*parts, note]))


if __name__ == "__main__":
    main()
