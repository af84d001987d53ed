"""Seconds until Kemeny's consensus of drawn ballots is proven, or the gap that is left after a minute.

``python benchmarks/consensus.py``: up to 200 items, and the table in docs/benchmarks.md.
``python benchmarks/consensus.py --small``: a few items, nothing written.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from measure import measured_on, publish, table

from distkern import bootstrap_consensus, consensus_ranking
from distkern.datasets import sample_mallows

LIMIT = 60.0


def mallows(items: int, voters: int, dispersion: float) -> np.ndarray:
    """Ballots around one order."""
    order = np.arange(items, 0, -1)
    return np.asarray(sample_mallows(order, dispersion, voters, random_state=0).values)


def plackett_luce(items: int, voters: int) -> np.ndarray:
    """Ballots by worths from 1 to e."""
    return np.linspace(1, 0, items) + np.random.default_rng(0).gumbel(size=(voters, items))


def uniform(items: int, voters: int) -> np.ndarray:
    """Ballots without any agreement."""
    return np.random.default_rng(0).permuted(np.tile(np.arange(float(items)), (voters, 1)), axis=1)


def solved(name: str, ballots: np.ndarray, limit: float) -> list[str]:
    """One row of the table."""
    began = time.perf_counter()
    found = consensus_ranking(ballots, method="kemeny", time_limit=limit)
    seconds = time.perf_counter() - began
    gap = "proven" if found.optimal else f"{found.gap:,.0f} ({found.gap / found.distance:.3%})"
    winner = {True: "unique", False: "not unique", None: "not known"}[found.unique]
    m, n = ballots.shape
    return [name, f"{n} × {m:,}", f"{found.distance:,.0f}", gap, winner, f"{seconds:.2f} s"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few items, nothing written")
    small = parser.parse_args().small
    consensus_ranking(uniform(22, 5), method="kemeny", time_limit=LIMIT)  # compiles before the measurement
    items, voters, hard = (30, 50, 25) if small else (200, 805, 120)
    cases = [
        *((f"Mallows, θ = {theta:g}", mallows(items, voters, theta)) for theta in (0.05, 0.01, 0.005)),
        ("Plackett-Luce", plackett_luce(items, voters)),
        ("uniform", uniform(hard // 2, 30)),
        ("uniform", uniform(hard, 30)),
    ]
    rows = []
    for name, ballots in cases:
        rows.append(solved(name, ballots, LIMIT))
        print("  ".join(rows[-1]), flush=True)
    ballots = mallows(items // 2, voters, 0.05)
    began = time.perf_counter()
    found = bootstrap_consensus(ballots, method="borda", n_resamples=100 if small else 1000, random_state=0)
    drawn = f"{found.n_resamples:,} resamples by Borda of {items // 2} items × {voters:,} voters: "
    drawn += f"{time.perf_counter() - began:.2f} s"
    print(drawn)
    if not small:
        header = ["ballots", "items × voters", "distance", "gap", "winner", "time"]
        publish("consensus", table(header, rows), drawn + ".", measured_on("distkern", "numba", "numpy", "scipy"))


if __name__ == "__main__":
    main()
