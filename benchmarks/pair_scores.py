"""Seconds to score all pairs of 20,000 features in 100 samples and to find the best 1,000, compared with NumPy.

``python benchmarks/pair_scores.py``: the whole size, and the table in docs/benchmarks.md.
``python benchmarks/pair_scores.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from measure import alternate, measured_on, medians, one_thread, publish, table

one_thread()

import numpy as np  # noqa: E402

from distkern import AllPairsMajorityVote  # noqa: E402
from distkern.engine.executors import usable_cores  # noqa: E402
from distkern.pairs.codes import sign_codes  # noqa: E402
from distkern.pairs.contrasts import Cells  # noqa: E402
from distkern.pairs.scores import best_pairs  # noqa: E402

SAMPLES, FEATURES, BEST = 100, 20_000, 1_000
PEER_FEATURES = 2_000
"""Features of NumPy's part: it needs as long for each pair whatever their number."""

COHORTS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "no ties": lambda rng, m, p: rng.normal(size=(m, p)),
    "20 levels": lambda rng, m, p: rng.integers(0, 20, (m, p)).astype(float),
    "a tenth missing": lambda rng, m, p: np.where(rng.random((m, p)) < 0.1, np.nan, rng.normal(size=(m, p))),
}
"""Kinds of samples."""


def ours(X: np.ndarray, y: np.ndarray, k: int, threads: int, **options: bool) -> Callable[[], object]:
    """Code the samples, score all pairs and keep the best."""
    cells = Cells.of(y)

    def run() -> object:
        codes = sign_codes(X, cells, missing="skip")
        return best_pairs(codes, [cells.contrast(1)], k, executor=threads, **options)

    return run


def numpy_scores(X: np.ndarray, y: np.ndarray, k: int) -> Callable[[], object]:
    """Compare each feature with all later ones, class by class; keep the best k of all scores."""
    one, zero = X[y == 1], X[y == 0]

    def differences(Z: np.ndarray, i: int) -> np.ndarray:
        less, greater = Z[:, i, None] < Z[:, i + 1 :], Z[:, i, None] > Z[:, i + 1 :]
        return (np.count_nonzero(less, axis=0) - np.count_nonzero(greater, axis=0)) / len(Z)

    def run() -> object:
        scores = np.concatenate([differences(one, i) - differences(zero, i) for i in range(X.shape[1] - 1)])
        return np.argpartition(np.abs(scores), -k)[-k:]

    return run


def measure(kind: str, small: bool) -> list[str]:
    """Measure one kind of cohort: a row of the table."""
    m, p, k = (20, 600, 50) if small else (SAMPLES, FEATURES, BEST)
    rng = np.random.default_rng(0)
    X, y = COHORTS[kind](rng, m, p), np.arange(m) % 2
    part = X[:, : 200 if small else PEER_FEATURES]
    calls = {
        "one": ours(X, y, k, 1),
        "all": ours(X, y, k, usable_cores()),
        "disjoint": ours(X, y, 9, usable_cores(), disjoint=True),
        "numpy": numpy_scores(part, y, k),
    }
    seconds = medians(alternate(calls, 1 if small else 3))
    peer = seconds["numpy"] * (p * (p - 1)) / (part.shape[1] * (part.shape[1] - 1))
    times = [f"{value:.3g} s" for value in (seconds["one"], seconds["all"], seconds["disjoint"])]
    numpy = f"{peer:.3g} s" if kind != "a tenth missing" else "–"  # its denominators would be wrong
    return [kind, *times, numpy, f"{peer / seconds['one']:.0f} ×" if numpy != "–" else "–"]


def voting(small: bool) -> list[str]:
    """Measure the vote of all pairs: a row of another table."""
    m, p, new = (20, 600, 5) if small else (SAMPLES, FEATURES, 50)
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(m, p)), rng.normal(size=(new, p))
    model = AllPairsMajorityVote().fit(X, np.arange(m) % 2)
    calls = {"fit": lambda: model.fit(X, np.arange(m) % 2), "predict": lambda: model.decision_function(Z)}
    seconds = medians(alternate(calls, 1 if small else 3))
    return [
        f"{seconds['fit']:.3g} s",
        f"{1000 * seconds['predict'] / new:.3g} ms",
        f"{model.signs_.nbytes / 1e6:.3g} MB",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one round, nothing written")
    small = parser.parse_args().small
    cores = usable_cores()
    header = ["samples", f"best {BEST:,}, 1 thread", f"best {BEST:,}, {cores} threads"]
    header += [f"best 9 disjoint, {cores} threads", "NumPy, 1 thread", "NumPy takes"]
    pairs = table(header, [measure(kind, small) for kind in COHORTS])
    votes = table(["vote of all pairs: fit", "a new sample", "model"], [voting(small)])
    print(pairs, votes, sep="\n\n")
    if not small:
        publish("pair_scores", pairs, votes, measured_on("distkern", "numba", "numpy"))


if __name__ == "__main__":
    main()
