"""Speed of the exact smoothed kernel relative to a matrix product of the same size, on one thread.

``python benchmarks/smoothed.py``: all noises, and the table in docs/benchmarks.md.
``python benchmarks/smoothed.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
from itertools import product

from measure import alternate, measured_on, medians, one_thread, publish, table

one_thread()

import numpy as np  # noqa: E402

from distkern import SmoothedKendall  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one round, nothing written")
    small = parser.parse_args().small
    side, n, rounds = (64, 60, 1) if small else (512, 400, 5)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, side, n))
    pairs = n * (n - 1) // 2
    left, right = rng.normal(size=(2, side, pairs))
    calls = {"matrix product": lambda: left @ right.T}
    windows = {"one window": 0.5, "a window per feature": tuple(rng.uniform(0.2, 0.8, size=n))}
    for (text, window), noise in product(windows.items(), ("uniform", "gaussian", "laplace")):
        kernel = SmoothedKendall(window, noise=noise)
        A, B = kernel.prepare(X), kernel.prepare(Y)
        calls[f"{noise}, {text}"] = lambda kernel=kernel, A=A, B=B: kernel.tile(A, B)
    seconds = medians(alternate(calls, rounds))
    rows = [[name, f"{value:.3f} s", f"{seconds['matrix product'] / value:.2f}"] for name, value in seconds.items()]
    print("\n".join("  ".join(row) for row in rows))
    if not small:
        note = f"{side} × {side} samples, n = {n}. {measured_on('distkern', 'numpy')}"
        publish("smoothed", table(["", "seconds", "of its speed"], rows), note)


if __name__ == "__main__":
    main()
