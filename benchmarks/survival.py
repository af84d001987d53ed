"""Survival learners on a stored Gram matrix, beside scikit-survival, and with more samples than it can take.

``python benchmarks/survival.py``: 1,000 samples beside scikit-survival, and 20,000 within 2 GiB; tables in
docs/benchmarks.md. ``python benchmarks/survival.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import alternate, measured_on, medians, publish, table
from memory import peak, resting

from distkern import Gaussian, KernelCox, KernelLogistic, SurvivalSVM, compute_gram, open_gram, survival_y
from distkern.core.units import readable_bytes

KERNEL = Gaussian(sigma=3.0)
LAM = 0.01
PATH = (0.001, 0.01, 0.1, 1.0)
LIMIT = 2**31
LEARNERS = {
    "KernelCox": KernelCox(LAM),
    "KernelCox, Efron": KernelCox(LAM, ties="efron"),
    "SurvivalSVM": SurvivalSVM(LAM),
    "SurvivalSVM, rank_ratio=0.5": SurvivalSVM(LAM, 0.5),
    "KernelLogistic": KernelLogistic(LAM),
}


def cohort(samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate features, and times whose hazard depends on two of them; a third of the times is censored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(samples, 10))
    time_ = np.ceil(1000 * rng.exponential(np.exp(-X[:, 0] + 0.5 * np.abs(X[:, 1]))))
    return X, survival_y(time_, rng.random(samples) < 2 / 3)


def target(name: str, y: np.ndarray) -> np.ndarray:
    """What a learner is fitted to: times, or whether a time is short."""
    return (y["time"] < np.median(y["time"])).astype(int) if name.startswith("KernelLogistic") else y


def theirs(name: str, X: np.ndarray, K: np.ndarray, y: np.ndarray, pairs: int) -> Any:
    """The same problem in scikit-survival or scikit-learn; a Cox model on a kernel through features, K = ΦΦᵀ."""
    from sklearn.linear_model import LogisticRegression
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.svm import FastKernelSurvivalSVM

    m = len(y)
    if name.startswith("SurvivalSVM"):
        ratio = LEARNERS[name].rank_ratio
        ranked, fitted = ratio / (LAM * pairs), (1 - ratio) / (LAM * m)
        options = {"alpha": ranked + fitted, "rank_ratio": ranked / (ranked + fitted), "fit_intercept": ratio < 1}
        return lambda: FastKernelSurvivalSVM(kernel="precomputed", max_iter=1000, random_state=0, **options).fit(K, y)
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    features = vectors[:, kept] * np.sqrt(values[kept])
    if name == "KernelLogistic":
        return lambda: LogisticRegression(C=1 / (LAM * m), max_iter=1000).fit(features, target(name, y))
    ties = LEARNERS[name].ties
    return lambda: CoxPHSurvivalAnalysis(alpha=LAM * m, ties=ties).fit(features, y)


def beside(samples: int, rounds: int) -> list[list[str]]:
    """Seconds of both packages on an array in memory: the median of rounds of ours, and one of theirs."""
    X, y = cohort(samples)
    K = KERNEL(X)
    rows = []
    for name, learner in LEARNERS.items():
        own = target(name, y)
        pairs = SurvivalSVM(LAM).fit(K, y).n_pairs_
        ours = medians(alternate({"": lambda learner=learner, own=own: learner.fit(K, own)}, rounds))[""]
        call = theirs(name, X, K, y, pairs)
        began = time.perf_counter()
        call()  # once: it takes up to minutes, and compiles nothing
        other = time.perf_counter() - began
        rows.append([name, f"{samples:,}", f"{ours:.3g}", f"{other:.3g}", f"{other / ours:.3g} ×"])
        print(*rows[-1], flush=True)
    return rows


def large(samples: int, folder: Path) -> list[list[str]]:
    """Seconds, passes and memory of every learner on a stored matrix, in processes of their own."""
    X, _ = cohort(samples)
    store = folder / "gram.zarr"
    compute_gram(KERNEL, X, store=store, dtype="float32", progress=False)
    rows = []
    for name in (*LEARNERS, "KernelCox, four λ"):
        command = [sys.executable, __file__, "--one", name, "--store", str(store)]
        words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        rows.append([name, f"{samples:,}", words[0], words[1], readable_bytes(int(words[2]))])
        print(*rows[-1], flush=True)
    return rows


def one(name: str, store: str) -> str:
    """Fit one learner within 2 GiB: seconds, passes, and memory above the start."""
    gram = open_gram(store)
    _, y = cohort(len(gram))
    few = np.arange(min(300, len(gram)))
    learner = LEARNERS[name.removesuffix(", four λ")].set_params(memory_limit=LIMIT)
    learner.fit(gram[np.ix_(few, few)], target(name, y)[few])  # compiles
    before, began = resting(), time.perf_counter()
    if name.endswith("four λ"):
        model = learner.fit_path(gram, y, PATH)[0]
    else:
        model = learner.fit(gram, target(name, y))
    return f"{time.perf_counter() - began:.3g} {model.n_passes_} {peak() - before}"


def main() -> None:
    """Measure, print, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("--store")
    options = parser.parse_args()
    if options.one:
        print(one(options.one, options.store))
        return
    packages = ("distkern", "numpy", "scikit-learn", "scikit-survival")
    rows = beside(60 if options.small else 1000, 1 if options.small else 3)
    if not options.small:
        header = ["learner", "samples", "distkern, s", "scikit-survival or scikit-learn, s", "takes"]
        publish("survival", table(header, rows), measured_on(*packages))
    with tempfile.TemporaryDirectory() as folder:
        rows = large(200 if options.small else 20_000, Path(folder))
    if not options.small:
        publish("survival, large", table(["learner", "samples", "s", "passes", "memory"], rows), measured_on(*packages))


if __name__ == "__main__":
    main()
