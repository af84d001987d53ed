"""Run as a script: the bytes that the tasks of some kernels took beside those that their plans promised, as JSON."""

import ctypes
import gc
import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import distkern as dk
from distkern.gram import passes, tasks
from distkern.gram.compute import _plan
from distkern.gram.inspect import inspect
from distkern.gram.store import GramStore

rng = np.random.default_rng(0)
VECTORS = 16


def holes(samples, features):
    X = rng.normal(size=(samples, features))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def cases():
    """Kernel, two blocks of samples."""
    normal, counts = rng.normal(size=(1400, 100)), rng.poisson(2, size=(1400, 100)).astype(float)
    wide = rng.normal(size=(160, 20_000))
    yield "Kendall", dk.Kendall(), normal
    yield "Kendall with ties", dk.Kendall(ties="b"), counts
    yield "Kendall on many features", dk.Kendall(), wide
    yield "Kendall on sparse samples", dk.Kendall(), sp.random(400, 5000, density=0.05, format="csr", random_state=0)
    yield "Mallows", dk.Mallows(0.1), normal
    yield "Mallows of Kemeny's distance", dk.Mallows(0.1, ties="kemeny"), counts
    yield "Gaussian", dk.Gaussian(3.0), normal
    yield "Gaussian on many features", dk.Gaussian(3.0), wide
    yield "SmoothedKendall", dk.SmoothedKendall(0.5), normal[:, :40]
    yield "SmoothedKendall by draws", dk.SmoothedKendall(0.5, method="monte-carlo", draws=5), normal[:300]
    yield "PartialKendall", dk.PartialKendall().normalized(), holes(1400, 30)
    yield "PartialMallows", dk.PartialMallows(0.1, draws=20), holes(60, 20)
    yield "a sum", dk.Kendall() + dk.Gaussian(1.0), normal


def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def taken(fn, task):
    """Bytes above rest at the peak of a task; its result."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is freed but kept would hide what a task takes
    Path("/proc/self/clear_refs").write_text("5")
    rest = status("VmHWM")
    result = fn(task)
    return status("VmHWM") - rest, result


def all_tasks(kernel, X, folder):
    """Bytes that each kind of task took and had promised, on a cohort of two blocks that lies in a file."""
    folder.mkdir()
    side, file = X.shape[0] // 2, folder / ("cohort.npz" if sp.issparse(X) else "cohort.npy")
    if sp.issparse(X):
        sp.save_npz(file, X)
    else:
        np.save(file, X)
    job = inspect(kernel, file, None, None, "error")
    plan = _plan(job, dk.Serial(), None, "float64", side)
    store = GramStore.create(str(folder / "gram"), plan.to_dict(), job.sides, job.sample.arrays)
    of_store = store.path, store.meta["id"]
    samples, marks, found = store.rows, store.rows.marks(), {}
    for block in range(2):
        task = tasks.PrepareTask(*of_store, "rows", block, job.sides["rows"].source.nameless())
        found["prepare"], receipt = taken(tasks.prepare_block, task)
        marks[block] = receipt.marks
        samples.mark(marks)
    prepared, done = marks.tolist(), store.read("marks")
    for name, i, j in (("diagonal tile", 0, 0), ("tile", 0, 1)):
        task = tasks.TileTask(*of_store, i, j, tuple(prepared[i]), tuple(prepared[j]))
        found[name], receipt = taken(tasks.compute_tile, task)
        (done[i, j],) = receipt.marks
    store.mark(done, 0)
    arrays = {"V": np.ones((2 * side, VECTORS))} | {name: samples.column(name) for name in kernel.summary}
    chunk = passes.Chunk(0, side, side, 2 * side, ((0, 1),))
    rows, cols = ({name: array[part] for name, array in arrays.items()} for part in (slice(side), slice(side, None)))
    tasks.opened(*of_store)[0].marks(refresh=True)
    multiplied, _ = taken(passes.multiply, passes.ProductTask(*of_store, job.kernel, 0, chunk, rows, cols))
    promised = {name: [bytes_taken, plan.bytes_per_task] for name, bytes_taken in found.items()}
    item = np.dtype(plan.dtype).itemsize
    return promised | {"multiply": [multiplied, passes.task_bytes(store.grid, item, VECTORS)]}


def main(folder):
    gc.freeze()  # what is loaded stays, and need not be looked through before every task
    found = {}
    for name, kernel, X in cases():
        all_tasks(kernel, X[:40], folder / f"{name} to load and compile")
        found[name] = all_tasks(kernel, X, folder / name)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
