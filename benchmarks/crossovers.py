"""Sizes at which one algorithm for counting concordant pairs becomes faster than another.

The constants in distkern/compiled/concordance.py come from this script.


``python benchmarks/crossovers.py``: all sizes.
``python benchmarks/crossovers.py --small``: a few seconds.
"""

from __future__ import annotations

import argparse

from measure import alternate, machine, medians, one_thread

one_thread()

import numpy as np  # noqa: E402

from distkern.compiled import bitplanes, block_inversions, concordance, inversions, levels  # noqa: E402
from distkern.compiled.inversions import rank  # noqa: E402


def measure(n: int, distinct: int | None, side: int, rounds: int) -> dict[str, float]:
    """Nanoseconds per pair of each algorithm that can count samples of this kind."""
    rng = np.random.default_rng(n)
    draw = (lambda: rng.permutation(n)) if distinct is None else (lambda: rng.integers(0, distinct, n))
    a, b = (rank(np.array([draw() for _ in range(side)], dtype=float)) for _ in range(2))
    ties = distinct is not None
    calls = {"inversions": lambda: inversions.concordance(a, b, False)}
    if n <= block_inversions.LIMIT:
        calls["bitplanes"] = lambda: bitplanes.concordance(a[1], b[1], ties, False)
        calls["blocks"] = lambda: block_inversions.concordance(a, b, False)
    if ties and distinct <= 100:
        calls["levels"] = lambda: levels.concordance(a[1], b[1], False)
    seconds = medians(alternate(calls, rounds))
    return {name: 1e9 * value / side**2 for name, value in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one round")
    small = parser.parse_args().small
    sizes = (100, 300) if small else (30, 100, 300, 1_000, 2_000, 3_000, 4_000, 6_000, 10_000, 20_000)
    print(machine())
    wrong = 0
    for distinct in (None, 20, 1_000_000):
        for n in sizes:
            side = 8 if small else int(np.clip(200_000 // n, 32, 256))
            found = measure(n, distinct, side, 1 if small else 3)
            chosen = concordance.fastest(n, distinct or n, distinct or n, distinct is not None)
            best = min(found, key=lambda name: found[name])
            wrong += found[chosen] > 1.3 * found[best]
            figures = "  ".join(f"{name} {value / 1000:.3f}" for name, value in sorted(found.items()))
            kind = f"n = {n:>6,}, {distinct or 'no ties':>9}"
            print(f"{kind}: {figures} µs a pair; chosen {chosen}, fastest {best}", flush=True)
            bits, items = found["bitplanes"] / (n * (n - 1) / 2), found["blocks"] / (-(-n // 2048) * 2048)
            name = "ITEM" if distinct is None else "TIED_ITEM"
            print(f"           a bit {bits:.2e}, {name} {items:.2f}, MERGED {found['inversions'] / n:.1f}")
    print(f"{wrong} choices take more than 30 % longer than the fastest algorithm")


if __name__ == "__main__":
    main()
