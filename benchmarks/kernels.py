"""Cost of a pair of samples for the kernels on rankings, and of Kendall's tau between features against pandas.

``python benchmarks/kernels.py``: the tables in docs/benchmarks.md. Processor time of one thread.
``python benchmarks/kernels.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

from measure import measured_on, one_thread, publish, table

one_thread()

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from distkern import Diffusion, EqualRank, PartialKendall, WeightedKendall, kendalltau_matrix  # noqa: E402

LEVELS = 20
"""Number of different values in cohorts with ties."""


def processor_time(call: Callable[[], object], rounds: int) -> float:
    """Return the least processor time of a call in seconds, after one that compiles."""
    call()
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return min(spent)


def a_pair(kernel: Any, X: Any, rounds: int) -> str:
    """Measure a symmetric tile of samples, and return the microseconds of one of its m (m + 1) / 2 pairs."""
    prepared = kernel.prepare(np.asarray(X, dtype=np.float64))
    seconds = processor_time(lambda: kernel.tile(prepared, prepared), rounds)
    return f"{float(f'{seconds * 1e6 / (len(X) * (len(X) + 1) / 2):.2g}'):,g}"  # two digits, without an exponent


def partly(X: Any, observed: float, rng: np.random.Generator) -> Any:
    """Leave out values at random, so that each sample keeps the fraction ``observed``, and two values at least."""
    order = np.argsort(rng.random(X.shape), axis=1)
    return np.where(order < max(2, round(observed * X.shape[1])), X, np.nan)


def kernels(small: bool, rounds: int) -> list[list[str]]:
    """Rows of the table of kernels."""
    rng, rows = np.random.default_rng(0), []
    sizes = [(10, 16), (100, 16), (1000, 4)] if small else [(10, 128), (100, 64), (1000, 64), (20_000, 16)]
    for n, m in sizes:
        X, tied = rng.normal(size=(m, n)), rng.integers(0, LEVELS, size=(m, n))
        for name, parameters in (("additive", {}), ("multiplicative", {}), ("top", {"k": 50}), ("average", {})):
            kernel = WeightedKendall(name, **parameters)
            about = "top, k = 50" if parameters else name
            rows.append([f"weighted, {about}", f"{n:,}", a_pair(kernel, X, rounds), a_pair(kernel, tied, rounds)])
        rows.append(["equal ranks", f"{n:,}", a_pair(EqualRank(), X, rounds), a_pair(EqualRank(), tied, rounds)])
        for observed in (1.0, 0.5, 0.1):
            about, some = f"partial, {observed:.0%} observed", [partly(Y, observed, rng) for Y in (X, tied)]
            rows.append([about, f"{n:,}", *(a_pair(PartialKendall(), Y, rounds) for Y in some)])
    X = np.argsort(rng.random((16 if small else 256, 8)), axis=1)
    rows.append(["diffusion", "8", a_pair(Diffusion(1.0), X, rounds), "–"])
    return rows


def features(small: bool, rounds: int) -> list[list[str]]:
    """Rows of the table of Kendall's tau between features."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 10) if small else (1000, 300)))
    gaps = frame.where(rng.random(frame.shape) > 0.1)
    calls: dict[str, Callable[[], object]] = {
        "kendalltau_matrix": lambda: kendalltau_matrix(frame, pvalue=True),
        "kendalltau_matrix, a tenth missing, compared pairwise": lambda: kendalltau_matrix(
            gaps, pvalue=True, missing="pairwise"
        ),
    }
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairwise comparison warns that the matrix need not be positive semidefinite
        rows += [[name, f"{processor_time(call, rounds):.2g} s"] for name, call in calls.items()]
    rows.append(["pandas, no p-values", f"{processor_time(lambda: frame.corr(method='kendall'), 1):.2g} s"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one round, nothing written")
    small = parser.parse_args().small
    rounds = 1 if small else 3
    pairs = table(["kernel", "items", "without ties", f"{LEVELS} levels"], kernels(small, rounds))
    between = table(["300 columns × 1,000 rows", "processor time"], features(small, rounds))
    print(pairs, between, sep="\n\n")
    if not small:
        publish("kernels", pairs, between, measured_on("distkern", "numba", "numpy", "pandas", "scipy"))


if __name__ == "__main__":
    main()
