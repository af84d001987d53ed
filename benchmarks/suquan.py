"""Supervised quantile normalisation of a cohort: a pass over its ranks, and cross-validated fits in memory and on disk.

``python benchmarks/suquan.py``: a tenth of the samples, and the section in docs/benchmarks.md for that.
``python benchmarks/suquan.py --samples 3000``: so many samples; nothing written.
``python benchmarks/suquan.py --whole``: 11,000 × 20,000, and its section in docs/benchmarks.md.
``python benchmarks/suquan.py --small``: a few seconds, nothing written.

Each step is a process of its own, so that the memory of one is not that of another. The folder of temporary files
(TMPDIR) takes the samples and their ranks, about 1.4 GB for the whole.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import report, status
from sklearn.linear_model import LogisticRegression

import distkern as dk
from distkern.engine.memory import available_memory

SAMPLES, FEATURES, FACTORS = 11_000, 20_000, 20
LAMS, GAMMAS, FOLDS = np.logspace(-3, 1, 10).tolist(), [0.01, 0.1, 1.0], 5
LIMIT = "2GiB"
ROWS = 500
"""Samples drawn at a time."""

LAM = 0.1
"""λ of a single fit."""


def write_samples(folder: Path, samples: int, features: int) -> None:
    """Write samples (.npy, float32) of 20 factors and noise around means of features, and labels of two factors."""
    rng = np.random.default_rng(0)
    means, loadings = rng.normal(0, 2, features), rng.normal(0, 0.5, (FACTORS, features))
    scores = rng.normal(size=(samples, FACTORS))
    X = np.lib.format.open_memmap(folder / "samples.npy", mode="w+", dtype=np.float32, shape=(samples, features))
    for start in range(0, samples, ROWS):
        part = scores[start : start + ROWS]
        X[start : start + ROWS] = means + part @ loadings + rng.normal(size=(len(part), features))
    X.flush()
    np.save(folder / "labels.npy", scores[:, 0] + 0.7 * scores[:, 1] + rng.normal(size=samples) > 0)


def labels(folder: Path) -> np.ndarray:
    return np.load(folder / "labels.npy")


def ranks(folder: Path, where: str) -> dk.RankStore:
    return dk.RankStore.open(folder / "ranks") if where == "disk" else dk.RankStore.of(folder / "samples.npy")


def writing(folder: Path, small: bool) -> dict[str, float]:
    """Rank all samples into a folder, once a few are ranked, so that compilation is not measured."""
    dk.RankStore.of(np.load(folder / "samples.npy", mmap_mode="r")[:2])
    began = time.perf_counter()
    dk.RankStore.write(folder / "samples.npy", folder / "ranks")
    return {"seconds": time.perf_counter() - began}


def passing(folder: Path, small: bool, where: str, columns: int) -> dict[str, float]:
    """One pass with outputs and the sums by feature, the best of three."""
    store = ranks(folder, where)
    W, F = np.random.default_rng(0).normal(size=(2, store.shape[1], columns))
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        store.pass_over(W, F, lambda rows, Z: Z, by_feature=True)
        seconds.append(time.perf_counter() - began)
    return {"seconds": min(seconds)}


def searching(folder: Path, small: bool, where: str) -> dict[str, float]:
    """Cross-validate all λ and γ."""
    store, y = ranks(folder, where), labels(folder)
    lams, gammas, folds = (LAMS[::5], GAMMAS[:2], 2) if small else (LAMS, GAMMAS, FOLDS)
    began = time.perf_counter()
    model = dk.SUQUANClassifierCV("spav", "normal", lams, gammas, cv=folds, memory_limit=LIMIT).fit(store, y)
    seconds = time.perf_counter() - began
    found = {"seconds": seconds, "passes": model.n_passes_, "score": model.best_score_}
    return found | {"lam": model.lam_, "gamma": float(model.gamma_ or 0)}


def fitting(folder: Path, small: bool, constraint: str) -> dict[str, float]:
    """A single model, without cross-validation."""
    store, y = ranks(folder, "disk"), labels(folder)
    model = dk.SUQUANClassifier(constraint, "normal", LAM, tol=1e-4, memory_limit=LIMIT)
    began = time.perf_counter()
    model.fit(store, y)
    return {"seconds": time.perf_counter() - began, "passes": model.n_passes_, "score": model.score(store, y)}


def peer(folder: Path, small: bool) -> dict[str, float]:
    """scikit-learn on the dense matrix of the normalised samples."""
    y, normalizer = labels(folder), dk.QuantileNormalizer("normal").fit(folder / "samples.npy")
    X = normalizer.transform(folder / "samples.npy")
    began = time.perf_counter()
    model = LogisticRegression(C=1 / (2 * len(y) * LAM), tol=1e-4, max_iter=1000).fit(X, y)
    return {"seconds": time.perf_counter() - began, "score": model.score(X, y)}


STEPS: dict[str, Callable[[Path, bool], dict[str, float]]] = {
    "write": writing,
    "pass 1 disk": lambda folder, small: passing(folder, small, "disk", 1),
    "pass 64 disk": lambda folder, small: passing(folder, small, "disk", 64),
    "pass 64 memory": lambda folder, small: passing(folder, small, "memory", 64),
    "fixed": lambda folder, small: fitting(folder, small, "fixed"),
    "spav": lambda folder, small: fitting(folder, small, "spav"),
    "search disk": lambda folder, small: searching(folder, small, "disk"),
    "search memory": lambda folder, small: searching(folder, small, "memory"),
    "peer": peer,
}


def run(step: str, folder: Path, small: bool) -> dict[str, float]:
    """Run a step in a process of its own; what it measured, and its most memory in bytes."""
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder), *(["--small"] if small else [])]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    print(step, found, flush=True)
    return found


def told(found: dict[str, float], unit: float = 1.0) -> str:
    parts = [f"{found['seconds'] / unit:,.2f} s" if unit == 1 else f"{found['seconds'] / unit:,.1f} min"]
    parts += [f"{found['passes']:,.0f} passes"] if "passes" in found else []
    parts += [f"accuracy {found['score']:.3f}"] if "score" in found else []
    parts += [f"λ = {found['lam']:.3g}, γ = {found['gamma']:g}"] if "lam" in found else []
    return ", ".join([*parts, f"most memory {found['memory'] / 2**30:.2f} GiB"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="200 samples of 300 features, nothing written")
    parser.add_argument("--whole", action="store_true", help="11,000 × 20,000: some tens of minutes on two cores")
    parser.add_argument("--samples", type=int, help="so many samples of 20,000 features, nothing written")
    parser.add_argument("--step", choices=list(STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        found = STEPS[arguments.step](arguments.folder, arguments.small)
        found["memory"] = status("VmHWM")
        print(json.dumps(found))
        return
    sizes = {"suquan": SAMPLES, "suquan of a tenth": SAMPLES // 10}
    section = "suquan" if arguments.whole else "suquan of a tenth"
    samples, features = arguments.samples or sizes[section], FEATURES
    if arguments.small:
        samples, features = 200, 300
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_samples(folder, samples, features)
        fits = 3 * 8 * samples * features < available_memory()
        found = {step: run(step, folder, arguments.small) for step in STEPS if step != "peer" or fits}
    models = f"{len(LAMS)} λ × {len(GAMMAS)} γ × {FOLDS} folds"
    rows = [
        ("cohort", f"{samples:,} samples × {features:,} features, ranks {2e-6 * samples * features:,.0f} MB"),
        ("ranks, from a file to a folder", told(found["write"])),
        ("a pass of one model, from disk", told(found["pass 1 disk"])),
        ("a pass of 64 models, from disk", told(found["pass 64 disk"])),
        ("a pass of 64 models, in memory", told(found["pass 64 memory"])),
        (f"one model, fixed target, λ = {LAM}", told(found["fixed"])),
        (f"one model, spav, λ = {LAM}", told(found["spav"])),
        (f"spav, {models}, from disk", told(found["search disk"], 60)),
        (f"spav, {models}, in memory", told(found["search memory"], 60)),
        (
            f"scikit-learn, fixed target, λ = {LAM}, dense matrix",
            told(found["peer"]) if fits else "does not fit in memory",
        ),
    ]
    write = (samples, features) == (sizes[section], FEATURES)
    report(section, rows, ("distkern", "numba", "numpy", "scikit-learn"), write)


if __name__ == "__main__":
    main()
