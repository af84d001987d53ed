"""What umap-learn and scanpy make of files in a folder; a process of its own, uncompiled, which is the fastest way."""

import sys
import warnings
from pathlib import Path

import anndata
import numpy as np


def main(folder):
    import matplotlib as mpl

    mpl.use("agg")
    import scanpy
    from matplotlib.collections import LineCollection
    from umap.umap_ import fuzzy_simplicial_set

    for path in folder.glob("*.npz"):
        knn = np.load(path)
        graph, _, _ = fuzzy_simplicial_set(
            np.empty((len(knn["indices"]), 1)),
            knn["indices"].shape[1],
            np.random.RandomState(0),
            "euclidean",
            knn_indices=knn["indices"],
            knn_dists=knn["distances"].astype(np.float32),
        )
        np.save(path.with_suffix(".npy"), graph.toarray())

    points = anndata.read_h5ad(folder / "points.h5ad")
    scanpy.pp.neighbors(points, n_neighbors=8, use_rep="X", transformer="sklearn")
    points.write_h5ad(folder / "points-scanpy.h5ad")

    blobs = anndata.read_h5ad(folder / "blobs.h5ad")
    scanpy.tl.leiden(blobs, neighbors_key="kendall", flavor="igraph", n_iterations=2, resolution=0.3)
    scanpy.tl.umap(blobs, neighbors_key="kendall", random_state=0, maxiter=20)
    axes = scanpy.pl.umap(blobs, color="leiden", neighbors_key="kendall", edges=True, show=False)
    lines = [line for drawn in axes.collections if isinstance(drawn, LineCollection) for line in drawn.get_segments()]
    np.save(folder / "blobs-edges.npy", np.array([line[[0, -1]] for line in lines]))
    blobs.write_h5ad(folder / "blobs-scanpy.h5ad")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
