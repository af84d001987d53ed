"""Measure the bytes that tasks take beside the bytes that their plans promise, and print them as JSON.

Usage: promises.py FOLDER
"""

import ctypes
import gc
import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import distkern as dk
from distkern.build import tasks
from distkern.build.compute import _plan
from distkern.build.landmarks import choose, landmark_job
from distkern.build.look import Looking, look_at
from distkern.build.validate import validate
from distkern.gram import prepared
from distkern.gram.all_pairs import AllPairs
from distkern.gram.map_reduce import SUMMARY, MapTask, Scattered, map_group
from distkern.gram.products import Product
from distkern.gram.tile_groups import TileGroup, task_bytes, tile_groups
from distkern.io.source import as_source
from distkern.solvers.neighbors import Nearest
from distkern.solvers.partition import DistanceSums
from distkern.store.arrays import SCRATCH_ROWS
from distkern.store.checksums import checksum
from distkern.store.tiles import GramStore

rng = np.random.default_rng(0)
VECTORS = 16, 500


def holes(samples, features):
    X = rng.normal(size=(samples, features))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def cases():
    """Kernel, two blocks of samples."""
    normal, counts = rng.normal(size=(1400, 100)), rng.poisson(2, size=(1400, 100)).astype(float)
    wide = rng.normal(size=(160, 20_000))
    depth = rng.uniform(0.02, 0.2, size=(1200, 1))
    cells = sp.csr_array((rng.random((1200, 5000)) < depth) * rng.poisson(3, size=(1200, 5000)), dtype=np.float32)
    bags = dk.Bags.from_arrays([rng.normal(size=(size, 3)) for size in rng.integers(5, 60, size=400)])
    yield "Kendall", dk.Kendall(), normal
    yield "Kendall with ties", dk.Kendall(ties="b"), counts
    yield "Kendall on many features", dk.Kendall(), wide
    yield "Kendall on sparse samples", dk.Kendall(), sp.random(400, 5000, density=0.05, format="csr", random_state=0)
    yield "Kendall on cells of unlike depth", dk.Kendall(ties="b"), cells
    yield "Gaussian on cells", dk.Gaussian(30.0), cells[:600]
    yield "MeanMap on bags", dk.MeanMap(dk.Gaussian(1.0)), bags
    yield "Mallows", dk.Mallows(0.1), normal
    yield "Mallows of Kemeny's distance", dk.Mallows(0.1, ties="kemeny"), counts
    yield "Gaussian", dk.Gaussian(3.0), normal
    yield "Gaussian on many features", dk.Gaussian(3.0), wide
    yield "SmoothedKendall", dk.SmoothedKendall(0.5), normal[:, :40]
    yield "SmoothedKendall by draws", dk.SmoothedKendall(0.5, method="monte-carlo", draws=5), normal[:300]
    yield "PartialKendall", dk.PartialKendall().normalized(), holes(1000, 30)
    yield "PartialMallows", dk.PartialMallows(0.1, draws=20), holes(60, 20)
    yield "a sum", dk.Kendall() + dk.Gaussian(1.0), normal


def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def taken(fn, task):
    """Bytes above rest at the peak of a task; its result."""
    prepared.drop_kept_block()
    gc.collect()
    gc.freeze()  # what is loaded stays, and need not be looked through before the next task
    ctypes.CDLL(None).malloc_trim(0)  # what is freed but kept would hide what a task takes
    Path("/proc/self/clear_refs").write_text("5")
    rest = status("VmHWM")
    result = fn(task)
    return status("VmHWM") - rest, result


def all_tasks(kernel, X, folder):
    """Bytes that each kind of task took and had promised, on a cohort of two blocks that lies in a file."""
    folder.mkdir()
    side, file = len(as_source(X)) // 2, saved(X, folder)
    job = validate(kernel, file, None, None, "error")
    look, *_ = Looking(dk.Serial()).tasks(job.axes["rows"].source, (job.kernel,))
    plan = _plan(job, dk.Serial(), None, "float64", side)
    axes = {"rows": job.axes["rows"].stored()}
    store = GramStore.create(str(folder / "gram"), plan, axes, None, job.sample.arrays)
    of_store, stored = (store.path, store.manifest.id), job.kernel.stored()
    samples, checksums, found = store.rows, store.rows.checksums(), {}
    looked = taken(look_at, look)[0]
    for block in range(2):
        task = tasks.PrepareTask(*of_store, stored, "rows", block, job.axes["rows"].source.nameless())
        found["prepare"], receipt = taken(tasks.prepare_block, task)
        checksums[block] = receipt.checksums
        samples.add_checksums(checksums)
    of_blocks, done = checksums.tolist(), store.read("marks")
    for name, i, j in (("diagonal tile", 0, 0), ("tile", 0, 1)):
        task = tasks.TileTask(*of_store, stored, i, j, tuple(of_blocks[i]), tuple(of_blocks[j]))
        found[name], receipt = taken(tasks.compute_tile, task)
        (done[i, j],) = receipt.checksums
    store.add_checksums(done, 0)
    summary = {SUMMARY + name: samples.column(name) for name in kernel.summary}
    group = TileGroup(0, side, side, 2 * side, ((0, 1),))
    prepared.opened(*of_store).checksums(refresh=True)
    promised, item = {name: [most, plan.bytes_per_task] for name, most in found.items()}, np.dtype(plan.dtype).itemsize
    promised["look"] = [looked, plan.bytes_per_task]
    for vectors in VECTORS:
        arrays = summary | {"vectors": rng.normal(size=(2 * side, vectors))}
        promised[f"multiply by {vectors}"] = [
            multiplied(store, job.kernel, group, arrays, arrays),
            task_bytes(store.grid, item, vectors),
        ]
    return promised | compared(store, job.kernel, group, 300)


def saved(X, folder):
    """Write a cohort to a file."""
    if isinstance(X, dk.Bags):
        dk.save_bags(X, folder / "bags.zarr")
        return folder / "bags.zarr"
    if sp.issparse(X):
        sp.save_npz(folder / "cohort.npz", X)
        return folder / "cohort.npz"
    np.save(folder / "cohort.npy", X)
    return folder / "cohort.npy"


def chosen(kernel, X, choice, count):
    """Bytes that choosing landmarks took, and had promised."""
    found = {}
    for samples in (X[:60], X):
        job = landmark_job(
            validate(kernel, samples, None, None, "error"), min(count, samples.shape[0] // 2), choice, 0, None
        )
        found["choice"] = [taken(lambda job: choose(job, job.request), job)[0], job.bytes_to_choose]
    return found


def part_of(store, arrays, start, stop):
    """Rows of arrays, with the arrays in the store."""
    return {
        name: Scattered(store.scatter(array), start, stop, checksum(array[start:stop]))
        for name, array in arrays.items()
    }


def multiplied(store, kernel, group, rows, cols):
    """Bytes that multiplying a tile group took, with all that it needs in the store."""
    at_rows, at_cols = part_of(store, rows, group.top, group.bottom), part_of(store, cols, group.left, group.right)
    task = MapTask(store.path, store.manifest.id, kernel, Product(), 0, group, at_rows, at_cols)
    return taken(map_group, task)[0]


def compared(store, kernel, group, count):
    """Bytes that finding the nearest samples, or sums of distances, took in a tile group; those that were promised."""
    numbers = {"diagonal": np.full(store.grid.rows, 1e9), "position": np.arange(store.grid.rows)}
    numbers |= {SUMMARY + name: store.rows.column(name) for name in kernel.summary}
    found = {}
    for work, masses in (
        (Nearest(count, 0.0), {}),
        (DistanceSums(count, False, 0.0), {"masses": rng.random((store.grid.rows, count))}),
    ):
        sides = (
            part_of(store, numbers | masses, *span) for span in ((group.top, group.bottom), (group.left, group.right))
        )
        task = MapTask(store.path, store.manifest.id, kernel, AllPairs(work), 0, group, *sides)
        held = work.bytes_per_sample // 8 + 2 + count * len(masses)
        promised = task_bytes(store.grid, np.dtype(store.manifest.dtype).itemsize, held)
        found[f"{type(work).__name__} of {count}"] = [taken(map_group, task)[0], promised]
    return found


def tall(folder):
    """A tile group of few rows of a tall matrix, whose vectors lie in two chunks of Zarr."""
    gram = dk.compute_gram(dk.Linear(), rng.normal(size=(9000, 3)), rng.normal(size=(40, 3)), store=folder, tile=100)
    group = next(group for group in tile_groups(gram._grid) if group.top < SCRATCH_ROWS < group.bottom)
    V = {"vectors": rng.normal(size=(9000, VECTORS[-1]))}
    return {"multiply": [multiplied(gram._store, gram.kernel, group, V, {}), task_bytes(gram._grid, 8, VECTORS[-1])]}


def main(folder):
    found = {"a tall matrix": tall(folder / "tall")}
    wide, normal = sp.random_array((2500, 3000), density=0.1, format="csr", rng=rng), rng.normal(size=(4000, 100))
    for choice in ("kmeans++", "leverage"):
        found[f"{choice} among sparse samples"] = chosen(dk.Kendall(), wide, choice, 60)
        found[f"{choice} among dense samples"] = chosen(dk.Gaussian(10.0), normal, choice, 300)
    for name, kernel, X in cases():
        all_tasks(kernel, X[:40], folder / f"{name} to load and compile")
        found[name] = all_tasks(kernel, X, folder / name)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
