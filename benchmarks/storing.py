"""Compression ratios of tiles, and the time to store a tile relative to computing it.

``python benchmarks/storing.py``: all sizes, written to docs/benchmarks.md.
``python benchmarks/storing.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

from measure import alternate, measured_on, medians, one_thread, publish, table

one_thread()

import numpy as np  # noqa: E402
from numcodecs import Blosc, Zstd  # noqa: E402

from distkern import Gaussian, Kendall, compute_gram  # noqa: E402
from distkern.kernels.kendall import Concordance  # noqa: E402
from distkern.kernels.planning import stored_dtype  # noqa: E402
from distkern.store.tiles import GramStore  # noqa: E402

CODECS: dict[str, Blosc | Zstd] = {
    "lz4, bytes shuffled": Blosc("lz4", 5, Blosc.SHUFFLE),
    "lz4, bits shuffled": Blosc("lz4", 5, Blosc.BITSHUFFLE),
    "blosc zstd, bytes shuffled": Blosc("zstd", 3, Blosc.SHUFFLE),
    "blosc zstd, bits shuffled": Blosc("zstd", 3, Blosc.BITSHUFFLE),
    "zstd alone": Zstd(0),
}


def cohort(m: int, n: int, ties: bool) -> np.ndarray:
    """Simulate expression values with one factor; with ties, rounded to about twenty levels."""
    rng = np.random.default_rng(n)
    X = np.outer(rng.normal(size=m), rng.normal(0, 0.5, n)) + rng.normal(size=n) + rng.normal(size=(m, n))
    return np.floor(3 * X) if ties else X


def tiles(small: bool) -> dict[str, np.ndarray]:
    """One off-diagonal tile of each kind, with its stored type."""
    sides = {100: 60, 300: 40} if small else {100: 1_000, 1_000: 700, 20_000: 150}
    found = {}
    for n, side in sides.items():
        for ties in (False, True):
            X = cohort(2 * side, n, ties)
            counts = Concordance()(X[:side], X[side:]).astype(stored_dtype(Concordance(), n, "float64"))
            found[f"concordances, n = {n:,}{', ties' if ties else ''}"] = counts
    n, side = list(sides.items())[1]
    X = cohort(2 * side, n, False)
    values = Gaussian("median")(X[:side], X[side:])
    return found | {"Gaussian, float64": values, "Gaussian, float32": values.astype(np.float32)}


def speeds(tile: np.ndarray, rounds: int) -> list[str]:
    """A cell for each codec: compression ratio, and MB/s of writing and reading."""
    packed = {name: codec.encode(tile) for name, codec in CODECS.items()}

    def writing(codec: Blosc | Zstd) -> Callable[[], object]:
        return lambda: codec.encode(tile)

    def reading(codec: Blosc | Zstd, held: bytes) -> Callable[[], object]:
        return lambda: codec.decode(held)

    write = medians(alternate({name: writing(codec) for name, codec in CODECS.items()}, rounds))
    read = medians(alternate({name: reading(codec, packed[name]) for name, codec in CODECS.items()}, rounds))
    size = tile.nbytes
    return [
        f"{size / len(packed[name]):.2f} ({size / write[name] / 1e6:,.0f}, {size / read[name] / 1e6:,.0f})"
        for name in CODECS
    ]


def storing(n: int, m: int, tile: int, ties: bool, rounds: int) -> list[str]:
    """Seconds of the task of a tile, of storing the tile, and of reading its samples, on this disk."""
    X = cohort(m, n, ties)
    with tempfile.TemporaryDirectory() as folder:
        compute_gram(Kendall(), X, store=f"{folder}/k.zarr", tile=tile, executor="serial", progress=False)  # compiles
        gram = compute_gram(Kendall(), X, store=f"{folder}/k.zarr", tile=tile, executor="serial", overwrite=True)
        run = gram.info()["runs"][0]
        store = GramStore.opened(f"{folder}/k.zarr")
        values = store.read_tile(0, 1)
        checksums = store.checksums(refresh=True)
        seconds: dict[str, list[float]] = {"store": [], "read": []}
        for _ in range(rounds):
            began = time.perf_counter()
            store.refuse_if_changed()
            store.write_tile(0, 1, values)
            store.add_checksums(checksums, 0)
            stored = time.perf_counter()
            for block in (0, 1):
                store.rows.read(block)
            seconds["store"].append(stored - began)
            seconds["read"].append(time.perf_counter() - stored)
    work = run["task_seconds"] / run["tiles_computed"]
    store_s, read_s = (statistics.median(seconds[name]) for name in ("store", "read"))
    return [
        f"n = {n:,}{', ties' if ties else ''}, tiles of side {tile}",
        f"{1000 * work:,.0f} ms",
        f"{1000 * store_s:.1f} ms ({store_s / work:.1%})",
        f"{1000 * read_s:.1f} ms ({read_s / work:.1%})",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one round, nothing written")
    small = parser.parse_args().small
    rounds = 1 if small else 5
    packing = table(["a tile of", *CODECS], [[kind, *speeds(tile, rounds)] for kind, tile in tiles(small).items()])
    print(packing, flush=True)
    sizes = [(200, 12, 6)] if small else [(1_000, 2_048, 1_024), (20_000, 300, 150)]
    costs = [storing(n, m, tile, ties, rounds) for n, m, tile in sizes for ties in (False, True)]
    share = table(["", "task of a tile", "storing and marking it", "reading its samples"], costs)
    print(share)
    if not small:
        publish("storing", packing, share, measured_on("distkern", "numcodecs", "zarr"))


if __name__ == "__main__":
    main()
