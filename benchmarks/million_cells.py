"""A million cells, from an .h5ad file to clusters and neighbours, within an hour and 4 GiB on two cores.

``python benchmarks/million_cells.py``: a tenth of the cells; nothing written.
``python benchmarks/million_cells.py --whole``: all of them, and the section in docs/benchmarks.md.
``python benchmarks/million_cells.py --small``: a few seconds, nothing written.

The folder of temporary files (TMPDIR) takes the file of the cells, about 12 GB for the whole, and the store.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
from measure import report, status
from pynndescent import NNDescent
from sklearn.decomposition import IncrementalPCA
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from distkern import Kendall, KernelKMeans, NystromGram, compute_gram

CELLS, GENES, LANDMARKS, TYPES = 1_000_000, 20_000, 500, 20
NEIGHBORS, COMPONENTS, QUERIES = 15, 50, 2_000
ROWS = 2_000
"""Cells drawn at a time."""


def write_cells(file: Path, cells: int, genes: int, share: float = 0.075) -> np.ndarray:
    """Write log-normalised counts (CSR) of cells of 20 types as AnnData; return the type of each cell.

    Means of genes are log-normal (σ = 2). Each type changes a twentieth of them by a factor of about e. Counts are
    Poisson, and their mean is chosen such that a cell has counts of a ``share`` of the genes on average. They are
    divided by the number of counts of the cell and put through log1p.
    """
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 2, genes)
    programs = np.exp(shared + np.where(rng.random((TYPES, genes)) < 0.05, rng.normal(0, 1, (TYPES, genes)), 0.0))
    programs /= programs.sum(axis=1, keepdims=True)
    grid = np.geomspace(10, 1e6, 500)
    depth = grid[np.argmax([-np.expm1(-one * programs[0]).sum() >= share * genes for one in grid])]
    types, stored = rng.integers(0, TYPES, cells), 0

    def draw(start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, genes and numbers of genes of ``ROWS`` cells."""
        of_block, of_rows = np.random.default_rng([1, start]), types[start : start + ROWS]
        depths = depth * np.exp(of_block.normal(0, 0.2, (len(of_rows), 1)))
        counts = of_block.poisson(depths * programs[of_rows])
        row, place = np.nonzero(counts)
        values = np.log1p(1e4 * counts[row, place] / counts.sum(axis=1)[row])
        return values.astype(np.float32), place.astype(np.int32), np.bincount(row, minlength=len(of_rows))

    borders = np.zeros(cells + 1, dtype=np.int64)
    with h5py.File(file, "w") as out:
        out.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        X = out.create_group("X")
        X.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": (cells, genes)})
        data = X.create_dataset("data", (0,), np.float32, maxshape=(None,), chunks=(2**18,))
        places = X.create_dataset("indices", (0,), np.int32, maxshape=(None,), chunks=(2**18,))
        with ThreadPoolExecutor(2) as threads:
            starts = range(0, cells, ROWS)
            for group in (starts[k : k + 8] for k in range(0, len(starts), 8)):
                for start, (values, genes_found, lengths) in zip(group, threads.map(draw, group), strict=True):
                    for dataset, added in ((data, values), (places, genes_found)):
                        dataset.resize((stored + len(added),))
                        dataset[stored:] = added
                    borders[start + 1 : start + 1 + len(lengths)] = stored + np.cumsum(lengths)
                    stored += len(values)
        X.create_dataset("indptr", data=borders)
        for axis, prefix, count in (("obs", "cell", cells), ("var", "gene", genes)):
            frame = out.create_group(axis)
            frame.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            frame.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
            names = frame.create_dataset(
                "_index", data=[f"{prefix}{k}" for k in range(count)], dtype=h5py.string_dtype()
            )
            names.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
    return types


def components(gram: NystromGram) -> np.ndarray:
    """Principal components of the embedding of the cells, read in blocks: float32 (cells, components)."""
    count = min(COMPONENTS, gram.part.shape[1] // 2)
    pca = IncrementalPCA(count)
    for _, block in gram.embedding_blocks():
        if len(block) >= count:
            pca.partial_fit(block)
    features = np.empty((len(gram), count), dtype=np.float32)
    for positions, block in gram.embedding_blocks():
        features[positions] = pca.transform(block)
    return features


def recall(features: np.ndarray, found: np.ndarray) -> float:
    """Share of the true nearest neighbours of some cells that were found."""
    few = np.random.default_rng(0).choice(len(features), min(QUERIES, len(features)), replace=False)
    true = NearestNeighbors(n_neighbors=NEIGHBORS + 1, algorithm="brute").fit(features).kneighbors(features[few])[1]
    return float(np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(true, found[few], strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--small", action="store_true", help="300 cells of 500 genes, nothing written")
    size.add_argument("--whole", action="store_true", help="a million cells: about an hour on two cores")
    arguments = parser.parse_args()
    cells, genes, landmarks = (300, 500, 30) if arguments.small else (CELLS // 10, GENES, LANDMARKS)
    cells = CELLS if arguments.whole else cells
    rows: list[tuple[str, str]] = []

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        rows.append((what, f"{time.perf_counter() - began:,.1f} s"))
        print(*rows[-1], flush=True)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cells.h5ad"
        types = write_cells(file, cells, genes)
        began = time.perf_counter()
        with timed(f"columns at {landmarks} landmarks"):
            gram = compute_gram(
                Kendall(ties="b"), file, store=f"{folder}/gram.zarr", landmarks=landmarks, memory_limit="2GiB"
            )
        with timed(f"kernel k-means, {TYPES} clusters"):
            labels = KernelKMeans(TYPES, n_init=3, random_state=0, memory_limit="1GiB").fit_predict(gram)
        to_labels = time.perf_counter() - began
        with timed(f"{COMPONENTS} principal components of the embedding"):
            features = components(gram)
        with timed(f"{NEIGHBORS} neighbours of each cell"):
            index = NNDescent(features, n_neighbors=NEIGHBORS + 1, random_state=0, n_jobs=2, low_memory=True)
            found, _ = index.neighbor_graph
        total = time.perf_counter() - began
        on_disk = sum(one.stat().st_size for one in Path(folder, "gram.zarr").rglob("*") if one.is_file())
        of_file, run = file.stat().st_size, gram.part.info()["runs"][0]
    rows[:0] = [("cells", f"{cells:,} × {genes:,} genes, file {of_file / 1e9:.1f} GB, store {on_disk / 1e9:.1f} GB")]
    rows += [
        ("from the file to the labels", f"{to_labels / 60:.1f} min"),
        ("with neighbours", f"{total / 60:.1f} min"),
        ("adjusted Rand index with the types", f"{adjusted_rand_score(types, labels):.2f}"),
        (f"recall of the neighbours, {min(QUERIES, cells):,} cells", f"{recall(features, found):.1%}"),
        ("columns, above rest", f"{run['above_rest_bytes'] / 2**20:,.0f} MiB"),
        ("most memory of the process", f"{status('VmHWM') / 2**30:.2f} GiB"),
    ]
    report("million cells", rows, ("distkern", "anndata", "zarr", "pynndescent"), write=arguments.whole)


if __name__ == "__main__":
    main()
