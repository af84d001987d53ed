"""Five million partial ballots over a hundred items: collapsed, clustered through landmarks, and summed up.

``python benchmarks/ballots.py``: a tenth of the ballots; nothing written.
``python benchmarks/ballots.py --whole``: all of them, and the section in docs/benchmarks.md.
``python benchmarks/ballots.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from measure import report, status

from distkern import KernelKMeans, PartialKendall, Rankings, cluster_consensus, compute_gram

BALLOTS, ITEMS, LANDMARKS, GROUPS = 5_000_000, 100, 200, 4
CHUNK = 50_000
"""Ballots drawn at a time."""


def draw(ballots: int, items: int) -> Iterator[Rankings]:
    """Draw ballots that list their best one to five items, by Plackett-Luce models of four groups.

    The worths of a group fall by a third from one item to the next, so that short lists are repeated often.
    """
    rng = np.random.default_rng(0)
    worths = np.array([-0.4 * rng.permutation(items) for _ in range(GROUPS)])
    for start in range(0, ballots, CHUNK):
        count = min(CHUNK, ballots - start)
        scores = worths[rng.integers(GROUPS, size=count)] + rng.gumbel(size=(count, items))
        lengths = rng.integers(1, 6, size=count)
        best = np.argpartition(-scores, 5, axis=1)[:, :5]
        order = np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1), axis=1)
        places = np.where(np.arange(5) < lengths[:, None], 5.0 - np.arange(5), np.nan)
        values = np.full((count, items), np.nan)
        np.put_along_axis(values, order, places, axis=1)
        yield Rankings.from_ranks(values, kind="top")


def main() -> None:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--small", action="store_true", help="2,000 ballots over 20 items, nothing written")
    size.add_argument("--whole", action="store_true", help="five million ballots")
    arguments = parser.parse_args()
    ballots, items, landmarks = (2_000, 20, 20) if arguments.small else (BALLOTS // 10, ITEMS, LANDMARKS)
    ballots = BALLOTS if arguments.whole else ballots
    rows: list[tuple[str, str]] = []

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        rows.append((what, f"{time.perf_counter() - began:,.1f} s"))
        print(*rows[-1], flush=True)

    with timed("drawn, and equal ballots merged"):
        votes = Rankings.merged(draw(ballots, items))
    rows.append(("distinct ballots", f"{len(votes):,} of {votes.counts.sum():,}"))
    with tempfile.TemporaryDirectory() as folder:
        with timed(f"columns at {landmarks} landmarks"):
            gram = compute_gram(
                PartialKendall("top").normalized(),
                votes,
                store=f"{folder}/gram.zarr",
                landmarks=landmarks,
                dtype="float32",
                memory_limit="1GiB",
                progress=False,
            )
        with timed(f"kernel k-means, {GROUPS} clusters"):
            model = KernelKMeans(GROUPS, n_init=3, random_state=0, memory_limit="1GiB")
            labels = model.fit(gram, sample_weight=votes.counts).labels_
    with timed("consensus of each cluster"):
        found = cluster_consensus(votes, labels, method="local-search")
    for label, ranking in found.items():
        rows.append(
            (f"cluster {label}: voters, first items", f"{ranking.voters:,.0f}, {' > '.join(ranking.items[:5])}")
        )
    memory = status("VmHWM") / 2**30
    rows.append(("most memory of the process", f"{memory:.2f} GiB"))
    report("ballots", rows, ("distkern", "numpy", "zarr"), write=arguments.whole)


if __name__ == "__main__":
    main()
