"""Memory that was promised and memory that was taken, of all kinds of cohorts, and of a matrix larger than a worker.

``python benchmarks/memory.py``: 40,000 x 40,000 from 100 features, two workers of 1 GiB each.
``python benchmarks/memory.py --promises``: cohorts of all kinds, growth, landmarks and learners, in this process.
``python benchmarks/memory.py --small``: a few seconds, nothing written.
``python benchmarks/memory.py --json --samples 4000 --allowance 10MB``: another size; prints the measurements.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import report, status
from scipy import sparse

from distkern import Bags, Gaussian, Kendall, KernelKMeans, KernelSVC, MeanMap, append_gram, compute_gram
from distkern.core.units import parse_bytes, readable_bytes
from distkern.engine.dask.cluster import local_client
from distkern.gram import map_reduce
from distkern.gram.base import StoredGram
from distkern.gram.tile_groups import task_bytes
from distkern.store.grid import Grid

FEATURES = 100
VECTORS = 16
WORKERS = 2

LIMIT = 128 * 2**20
"""Bytes that a learner may take."""


def resting() -> int:
    """Return the resident memory of this process in bytes, and reset its peak."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def peak() -> int:
    """Return the peak of the resident memory since `resting` was called, in bytes."""
    return status("VmHWM")


def watched(client: Any, work: Any) -> dict[str, Any]:
    """Call ``work``; return its seconds, and memory at rest and at the peak of every worker and of this process."""
    before, here = client.run(resting), resting()
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    after = client.run(peak)
    if set(before) != set(after):
        raise SystemExit("a worker was lost: look at its log; the nanny kills those that take more than their limit")
    workers = [[before[address], after[address]] for address in before]
    return {"seconds": seconds, "workers": workers, "client": [here, peak()]}


def measured(samples: int, limit: int, allowance: int | None) -> dict[str, Any]:
    """Compute and multiply a matrix on workers with ``limit`` bytes each, ``allowance`` of them for one task."""
    rng = np.random.default_rng(0)
    map_reduce.SMALL_BYTES = 0  # on the workers, however small
    with tempfile.TemporaryDirectory() as folder, local_client(WORKERS, limit) as client:
        cohort = Path(folder) / "cohort.npy"
        np.save(cohort, rng.normal(size=(samples, FEATURES)))
        V = rng.normal(size=(samples, VECTORS))
        for way in ("first", "second"):  # imports and compiled code count as memory at rest
            warm = compute_gram(Kendall(), np.load(cohort)[:400], store=f"{folder}/{way}", executor=client, tile=50)
            warm.matmat(V[:400])
        kept = []

        def compute() -> None:
            options = {"store": f"{folder}/gram", "executor": client, "memory_limit": allowance}
            kept.append(compute_gram(Kendall(), cohort, **options))

        computed = watched(client, compute)
        (gram,) = kept
        before = gram.bytes_read()
        multiplied = watched(client, lambda: kept.append(gram.matmat(V)))
        read = gram.bytes_read() - before
        rows = rng.integers(0, samples, 5)
        np.testing.assert_allclose(kept[1][rows], gram.block(rows, slice(None)) @ V, rtol=1e-9, atol=1e-9)
        info = gram.info()
        grid = Grid(samples, samples, info["tile"], True)
        item = np.dtype(info["dtype"]).itemsize
        computed["promised"], multiplied["promised"] = info["bytes_per_task"], task_bytes(grid, item, VECTORS)
        size = {"samples": samples, "tile": info["tile"], "tiles": info["tiles"], "stored": info["bytes_stored"]}
        whole = {"bytes": item * samples**2, "read": read, "limit": limit}
        return {**size, **whole, "computed": computed, "multiplied": multiplied}


def promises(samples: int) -> Iterator[tuple[str, int, int]]:
    """What is done to how many samples, the bytes that it promises to take above rest, and those that it takes."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(samples, 500))
    depth = rng.uniform(0.02, 0.15, size=(samples, 1))
    counts = sparse.csr_array((rng.random((samples, 4_000)) < depth) * rng.poisson(3, size=(samples, 4_000)))
    bags = Bags.from_arrays([rng.normal(size=(size, 3)) for size in rng.integers(10, 40, size=samples // 8)])
    ids = [f"new {row}" for row in range(samples // 4)]
    with tempfile.TemporaryDirectory() as folder:

        def stored(name: str, kernel: Any, X: Any, **options: Any) -> StoredGram:
            few = options | {"landmarks": 5} if options else options
            compute_gram(kernel, X[:40], store=f"{folder}/{name}-warm", executor="serial", **few)
            return compute_gram(kernel, X, store=f"{folder}/{name}", executor="serial", **options)

        for name, kernel, X, options in (
            ("sparse", Kendall(), counts, {}),
            ("ragged: sets of points", MeanMap(Gaussian(1.0)), bags, {}),
            ("landmarks at random", Kendall(), counts, {"landmarks": 50}),
            ("landmarks by k-means++", Kendall(), counts, {"landmarks": 50, "landmark_choice": "kmeans++"}),
            ("landmarks by leverage", Kendall(), counts, {"landmarks": 50, "landmark_choice": "leverage"}),
            ("dense", Gaussian(30.0), dense, {}),
        ):
            gram = stored(name, kernel, X, **options)
            yield name, *of_last_run(gram)
        gram = append_gram(gram, dense[: samples // 4] + 1, ids=ids, executor="serial")
        yield "append", *of_last_run(gram)
        y = np.arange(len(gram)) % 2
        for name, model, targets in (("kernel k-means", KernelKMeans, ()), ("SVM", KernelSVC, (y,))):
            model(memory_limit=LIMIT).fit(gram[:100, :100], *(given[:100] for given in targets))
            rest = resting()
            model(memory_limit=LIMIT).fit(gram, *targets)
            yield name, LIMIT, peak() - rest


def of_last_run(gram: StoredGram) -> tuple[int, int]:
    """Bytes above rest that the last run of a store promised to take, and those that it took."""
    info = gram.info()
    return max(info["bytes_per_task"], info["bytes_to_choose"]), info["runs"][-1]["above_rest_bytes"]


def promised_and_taken(samples: int) -> list[tuple[str, str]]:
    """Format what was promised and taken as rows of a table."""
    return [
        (f"{name}: promised, taken", f"{readable_bytes(promised)}, {readable_bytes(taken)}")
        for name, promised, taken in promises(samples)
    ]


def lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Format the measurements as rows of a table."""
    rows = [
        ("matrix", f"{found['samples']:,} × {found['samples']:,} of {FEATURES} features, {found['tiles']:,} tiles"),
        ("", f"of side {found['tile']:,}; {readable_bytes(found['bytes'])} as a whole"),
        ("stored", readable_bytes(found["stored"])),
        ("workers", f"{WORKERS}, limited to {readable_bytes(found['limit'])} each"),
    ]
    for name, what in (("computed", "computed"), ("multiplied", f"multiplied by {VECTORS} vectors")):
        run = found[name]
        above = max(high - rest for rest, high in run["workers"])
        rest, high = max(run["workers"], key=lambda pair: pair[1])
        rows += [
            (what, f"{run['seconds']:.1f} s" + (f", reading {readable_bytes(found['read'])}" if "by" in what else "")),
            ("– largest worker", f"{readable_bytes(high)} at its peak, {readable_bytes(rest)} at rest"),
            ("– above rest, promised", f"{readable_bytes(above)}, {readable_bytes(run['promised'])} a task"),
            ("– the client above rest", readable_bytes(run["client"][1] - run["client"][0])),
        ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a small matrix, nothing written")
    parser.add_argument("--promises", action="store_true", help="cohorts of all kinds, in this process")
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON, nothing written")
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--limit", default="1GiB", help="memory limit of a worker")
    parser.add_argument("--allowance", help="memory limit of a task; by default a share of that of the worker")
    arguments = parser.parse_args()
    if arguments.promises:
        rows = promised_and_taken(400 if arguments.small else 2_000)
        report("promises", rows, ("distkern", "numpy", "scipy", "zarr"), write=not arguments.small)
        return
    if arguments.small:
        arguments.samples, arguments.allowance = 1_000, "4MB"
    allowance = None if arguments.allowance is None else parse_bytes(arguments.allowance)
    found = measured(arguments.samples, parse_bytes(arguments.limit), allowance)
    if arguments.json:
        print(json.dumps(found))
        return
    report("memory", lines(found), ("distkern", "dask", "numpy", "zarr"), write=not arguments.small)


if __name__ == "__main__":
    main()
