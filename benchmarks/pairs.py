"""Microseconds per pair of Kendall's tau on one thread, compared with other packages.

``python benchmarks/pairs.py``: all sizes, and the table in docs/benchmarks.md.
``python benchmarks/pairs.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from measure import alternate, measured_on, medians, microseconds, one_thread, publish, table

one_thread()

import numpy as np  # noqa: E402
import pandas  # noqa: E402
from hyper_corr import kendalltau_noties, kendalltau_ties  # noqa: E402
from scipy.stats import kendalltau  # noqa: E402

from distkern import Kendall  # noqa: E402

SIZES = (10, 100, 1_000, 5_000, 20_000)
TILE = {10: 512, 100: 512, 1_000: 512, 5_000: 256, 20_000: 128}
PEER_PAIRS = {10: 2_000, 100: 2_000, 1_000: 600, 5_000: 150, 20_000: 60}
WANTED = 20
"""Times the fastest peer."""


TIES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "none": lambda rng, count, n: rng.permuted(np.tile(np.arange(n, dtype=float), (count, 1)), axis=1),
    "float32": lambda rng, count, n: rng.normal(size=(count, n)).astype(np.float32).astype(float),
    "half zeros": lambda rng, count, n: np.where(rng.random((count, n)) < 0.5, 0, rng.exponential(size=(count, n))),
    "5,000 levels": lambda rng, count, n: rng.integers(0, 5_000, (count, n)).astype(float),
    "1,335 levels": lambda rng, count, n: rng.integers(0, 1_335, (count, n)).astype(float),
    "341 levels": lambda rng, count, n: rng.integers(0, 341, (count, n)).astype(float),
    "20 levels": lambda rng, count, n: rng.integers(0, 20, (count, n)).astype(float),
}
"""Kinds of samples; all but the first and the last are measured for the largest size only."""


def samples(count: int, n: int, ties: str) -> np.ndarray:
    """Draw samples of a kind."""
    return TIES[ties](np.random.default_rng(n + count), count, n)


def ours(X: np.ndarray, Y: np.ndarray) -> Callable[[], object]:
    """Compute a tile from prepared samples, as a worker does."""
    kernel = Kendall(ties="b")
    A, B = kernel.prepare(X), kernel.prepare(Y)
    return lambda: kernel.tile(A, B)


def hyper_corr(X: np.ndarray, ties: bool) -> Callable[[], object]:
    """Use the fastest variant of hyper-corr: x sorted once, y ordered by it, no p-value."""
    x = X[0]
    order = np.argsort(x, kind="stable")
    ordered, others = x[order], [np.ascontiguousarray(y[order]) for y in X[1:]]
    count = kendalltau_ties if ties else kendalltau_noties
    n = len(x)

    def run() -> None:
        for y in others:
            count(ordered, y, n, False)

    return run


def signs(X: np.ndarray, Y: np.ndarray) -> Callable[[], object]:
    """Multiply explicit sign vectors in single precision."""
    left, right = np.triu_indices(X.shape[1], 1)

    def vectors(Z: np.ndarray) -> np.ndarray:
        return np.sign(Z[:, left] - Z[:, right]).astype(np.float32)

    return lambda: vectors(X) @ vectors(Y).T


def measure(n: int, ties: str, rounds: int, shrink: int) -> dict[str, float]:
    """Seconds per pair of each package."""
    side, pairs = max(4, TILE[n] // shrink), max(4, PEER_PAIRS[n] // shrink)
    both = samples(2 * side, n, ties)
    X, Y = both[:side], both[side:]
    peer = samples(pairs + 1, n, ties)
    columns = int((2 * pairs) ** 0.5) + 1
    frame = pandas.DataFrame(peer[:columns].T)
    calls = {
        "distkern": ours(X, Y),
        "hyper-corr": hyper_corr(peer, ties != "none"),
        "pandas": lambda: frame.corr(method="kendall"),
        "scipy": lambda: [kendalltau(peer[0], y) for y in peer[1 : 1 + pairs // 4 + 1]],
    }
    counts = {
        "distkern": side * side,
        "hyper-corr": pairs,
        "pandas": columns * (columns - 1) // 2,
        "scipy": pairs // 4 + 1,
    }
    if n <= 1_000:
        few = min(side, 64)
        calls["sign vectors"] = signs(X[:few], Y[:few])
        counts["sign vectors"] = few * few
    seconds = medians(alternate(calls, rounds))
    return {name: seconds[name] / counts[name] for name in calls}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one round, nothing written")
    small = parser.parse_args().small
    rows = []
    sizes = SIZES[:2] if small else SIZES
    for ties in TIES:
        for n in sizes if ties in ("none", "20 levels") else sizes[-1:]:
            found = measure(n, ties, rounds=1 if small else 5, shrink=16 if small else 1)
            peers = {name: value for name, value in found.items() if name not in ("distkern", "sign vectors")}
            best = min(peers, key=lambda name: peers[name])
            row = [f"{n:,}", ties]
            row += [microseconds(found[name]) for name in ("distkern", "hyper-corr", "pandas", "scipy")]
            row.append(microseconds(found["sign vectors"]) if "sign vectors" in found else "–")
            row.append(f"{peers[best] / found['distkern']:.0f} × {best}")
            rows.append(row)
            print(" ".join(f"{cell:>14}" for cell in row), flush=True)
    if not small:
        header = ["n", "ties", "distkern", "hyper-corr", "pandas", "scipy", "sign vectors", "fastest peer takes"]
        note = measured_on("distkern", "numba", "numpy", "hyper-corr", "pandas", "scipy")
        publish("pairs", table(header, rows), note)


if __name__ == "__main__":
    main()
