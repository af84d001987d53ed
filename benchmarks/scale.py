"""What limits 10, 100 and 1,000 workers: runs simulated from costs that are measured here.

``python benchmarks/scale.py``: measures, simulates, and writes the table and the picture of ``docs/scale.md``.
``python benchmarks/scale.py --small``: a few seconds, nothing written.

Measured: seconds per pair of samples, per sample to look at and to prepare, per task in the scheduler and the client,
per row of checksums, and per sample in the client. Assumed: the bandwidth of shared storage. The simulation follows
every event of a run: a worker asks for a tile, the scheduler and the client serve one task after the other, and all
workers share the store. Before, the workers look at the samples and prepare them.
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from cluster import cohort
from distributed import Client, LocalCluster
from measure import measured_on, publish, table

from distkern import Kendall
from distkern.build.look import LOOK_BYTES, TASKS_PER_WORKER, Looking, look_at
from distkern.build.plan import choose_side
from distkern.build.validate import distinct
from distkern.engine.dask.executor import Dask
from distkern.io.digests import fingerprint
from distkern.io.source import as_source
from distkern.kernels.base import STRIP_BYTES
from distkern.kernels.timing import TileSeconds, measure
from distkern.store.grid import Grid

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"

SHARED = 1e9
"""Assumed bandwidth of a shared file system for all workers together, in bytes per second."""

OBJECTS = 5e7
"""Assumed bandwidth of object storage for each worker, in bytes per second, whatever the number of workers."""


@dataclass(frozen=True)
class Costs:
    """Measured costs, in seconds and bytes.

    Parameters
    ----------
    tile
        Seconds to compute a tile, by its numbers of rows and columns.
    hand_out
        Seconds per task in the scheduler and the client, which serve one task after the other.
    mark
        Seconds of the client to store the checksums of a row of tiles.
    prepared
        Bytes per prepared sample.
    entry
        Bytes per stored entry.
    looking, preparing
        Seconds of a worker to check and digest a sample, and to prepare it.
    deciding
        Seconds of the client per sample: it gathers digests, and compares them.
    read
        Bytes per sample in the file of the cohort.
    """

    tile: TileSeconds
    hand_out: float
    mark: float
    prepared: int
    entry: int
    looking: float
    preparing: float
    deciding: float
    read: int


@dataclass(frozen=True)
class Outcome:
    """A simulated run: its tiles, its seconds, and fractions of that time in which each part was busy.

    ``look`` and ``before`` are the seconds of the look at the samples, and of all work before the first tile.
    """

    side: int
    tiles: int
    look: float
    before: float
    seconds: float
    efficiency: float
    scheduler: float
    store: float


def nothing(task: int) -> int:
    return task


def measured(genes: int, small: bool) -> Costs:
    kernel = Kendall(ties="b").stored()
    prepared = kernel.prepare(cohort(16, genes))
    each = seconds_of_samples(genes, 100 if small else 1_000)
    tile = measure(kernel, prepared)
    with (
        LocalCluster(n_workers=1, threads_per_worker=16, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,  # as many concurrent tasks as many workers would have
    ):
        pool, count = Dask(client), 100 if small else 3_000
        list(pool.map(nothing, range(20)))
        began = time.perf_counter()
        list(pool.map(nothing, range(count)))
        hand_out = (time.perf_counter() - began) / count
    return Costs(tile, hand_out, seconds_of_marking(20 if small else 300), prepared.nbytes // 16, 4, *each, 8 * genes)


def seconds_of_samples(genes: int, count: int) -> tuple[float, float, float]:
    """Seconds per sample to look at it, to prepare it, and to decide about it in the client."""
    kernel, source = Kendall(ties="b"), as_source(cohort(count, genes))
    (task,) = [replace(task, rows=slice(0, count)) for task in Looking().tasks(source, (kernel,))[:1]]
    began = time.perf_counter()
    seen = look_at(task)
    looked = time.perf_counter()
    kernel.stored().prepare(source.read(slice(0, count)))
    prepared = time.perf_counter()
    digests = np.random.default_rng(0).integers(0, 256, size=(100 * count, seen.digests.shape[1]), dtype=np.uint8)
    decided = time.perf_counter()
    distinct(digests.copy())
    fingerprint(digests, genes)
    deciding = (time.perf_counter() - decided) / len(digests)
    return (looked - began) / count, (prepared - looked) / count, deciding


def seconds_of_marking(rows: int) -> float:
    """Seconds to read, merge and write a row of a thousand checksums, as the client does when receipts arrive."""
    from distkern import compute_gram
    from distkern.store.tiles import GramStore

    with tempfile.TemporaryDirectory() as folder:
        X = np.random.default_rng(0).normal(size=(1_000, 3))
        compute_gram(Kendall(), X[:2], store=f"{folder}/warm.zarr", executor="serial", progress=False)
        store = GramStore.opened(compute_gram(Kendall(), X, store=f"{folder}/k.zarr", tile=125).path)
        checksums = store.read("marks")
        began = time.perf_counter()
        for row in range(rows):
            store.add_checksums(checksums, row % len(checksums))
        return (time.perf_counter() - began) / rows


def before_tiles(costs: Costs, m: int, side: int, workers: int, bandwidth: float, shared: bool) -> tuple[float, float]:
    """Seconds of the look at the samples, and of preparing them; each ends with its last task.

    A task of the look takes `LOOK_BYTES` of samples, or a fourth of the share of a worker; one that prepares, a block.
    """
    height = max(1, min(LOOK_BYTES // costs.read, -(-m // (TASKS_PER_WORKER * workers))))
    seconds = []
    for samples, work, moved in (
        (max(height, STRIP_BYTES // costs.read), costs.looking, costs.read),
        (side, costs.preparing + costs.looking, costs.read + costs.prepared),
    ):
        tasks = -(-m // samples)
        rounds = -(-tasks // workers)
        loading = moved / bandwidth * (min(workers, tasks) if shared else 1)  # a worker has a share of a shared store
        seconds.append(max(rounds * samples * (work + loading), tasks * costs.hand_out))
    return seconds[0] + m * costs.deciding, seconds[1]


def simulate(costs: Costs, m: int, workers: int, bandwidth: float, shared: bool) -> Outcome:
    """Simulate a run event by event."""
    side = choose_side(costs.tile, (m, m), True, workers)
    grid = Grid(m, m, side, True)
    computing = costs.tile.of_tile(side, side)
    moved = 2 * side * costs.prepared + side * side * costs.entry
    look, preparing = before_tiles(costs, m, side, workers, bandwidth, shared)
    began = look + preparing
    free = [(began, worker) for worker in range(workers)]
    serving = costs.hand_out + costs.mark  # one task after the other
    scheduler = store = ended = began
    for _ in range(grid.count):
        asked, worker = heapq.heappop(free)
        scheduler = max(scheduler, asked) + serving
        if shared:
            store = max(store, scheduler) + moved / bandwidth  # the store serves one worker after the other
            finished = max(store, scheduler) + computing
        else:
            finished = scheduler + moved / bandwidth + computing
        heapq.heappush(free, (finished, worker))
        ended = max(ended, finished)
    work = grid.count * computing
    return Outcome(
        side,
        grid.count,
        look,
        began,
        ended,
        work / (ended * workers),
        grid.count * serving / ended,
        grid.count * moved / bandwidth / ended if shared else 0.0,
    )


def limit_of(outcome: Outcome, shared: bool) -> str:
    if outcome.efficiency >= 0.9:
        return "computing"
    if outcome.scheduler > 0.9:
        return "scheduler"
    if shared and outcome.store > 0.9:
        return "store"
    return "the last tiles, or waiting for data"


STORES = {"shared file system": (SHARED, True), "object storage": (OBJECTS, False)}


def lines_of(costs: Costs, sizes: list[int], crowd: list[int]) -> list[list[str]]:
    lines = []
    for m in sizes:
        for name, (bandwidth, shared) in STORES.items():
            for workers in crowd:
                run = simulate(costs, m, workers, bandwidth, shared)
                hours = run.seconds / 3600
                lines.append(
                    [f"{m:,}", name, f"{workers:,}", f"{run.tiles:,} of side {run.side}"]
                    + [f"{run.look:.1f} s", f"{run.before - run.look:.1f} s", f"{hours:.2f} h"]
                    + [f"{share:.0%}" for share in (run.efficiency, run.scheduler, run.store)]
                    + [limit_of(run, shared)]
                )
    return lines


def draw(costs: Costs, sizes: list[int], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    crowd = [1, 3, 10, 30, 100, 300, 1_000, 3_000]
    figure, axes = plt.subplots(1, len(STORES), figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, (name, (bandwidth, shared)) in zip(axes, STORES.items(), strict=True):
        for m in sizes:
            shares = [simulate(costs, m, workers, bandwidth, shared).efficiency for workers in crowd]
            axis.plot(crowd, [100 * share for share in shares], marker="o", markersize=3, label=f"{m:,} samples")
        axis.set(xscale="log", xlabel="workers", title=name, ylim=(0, 103))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("time spent computing, %")
    axes[0].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, nothing written")
    small = parser.parse_args().small
    genes, sizes, crowd = (200, [2_000], [10, 100]) if small else (20_000, [5_000, 40_000], [10, 100, 1_000])
    costs = measured(genes, small)
    taken = [
        ["a pair of samples", f"{1e6 * costs.tile.per_pair:.3g} µs"],
        ["scheduler and client, a task", f"{1e3 * costs.hand_out:.2f} ms"],
        ["marking a row of tiles", f"{1e3 * costs.mark:.2f} ms"],
        ["prepared sample", f"{costs.prepared:,} bytes"],
        ["look at a sample, on a worker", f"{1e6 * costs.looking:.3g} µs"],
        ["prepare a sample, on a worker", f"{1e6 * costs.preparing:.3g} µs"],
        ["decide about a sample, in the client", f"{1e6 * costs.deciding:.2g} µs"],
    ]
    header = [
        "samples",
        "store",
        "workers",
        "tiles",
        "look",
        "prepare",
        "time",
        "computing",
        "scheduler busy",
        "store busy",
        "limit",
    ]
    found = lines_of(costs, sizes, crowd)
    print(table(["measured", ""], taken), table(header, found), sep="\n\n")
    if not small:
        draw(costs, sizes, PAGE.with_suffix(".svg"))
        note = f"{genes:,} genes. {measured_on('distkern', 'dask', 'distributed', 'zarr')}"
        publish("scale", table(["measured", ""], taken), table(header, found), note, page=PAGE)


if __name__ == "__main__":
    main()
