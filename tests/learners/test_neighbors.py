"""Nearest neighbours in kernel distance against brute force, umap-learn and scanpy."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from distkern import compute_gram
from distkern.core.errors import InputError, MemoryLimitError
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.neighbors import kernel_neighbors, write_neighbors
from distkern.operators.array import ArrayGram


def brute_force(K, count):
    """Sort every row by distance, then by position."""
    diagonal = K.diagonal()
    squares = np.maximum(diagonal[:, None] + diagonal - 2 * K, 0)
    np.fill_diagonal(squares, np.inf)
    order = np.argsort(squares, axis=1, kind="stable")[:, :count]
    return order, np.sqrt(np.take_along_axis(squares, order, axis=1))


def rankings(m=30, n=6, seed=0):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(float(n)), (m, 1)), axis=1)


@given(st.integers(2, 25), st.integers(1, 12), st.integers(2, 5), st.integers(0, 9))
def test_equal_brute_force_with_many_ties(m, count, n, seed):
    K = Kendall()(rankings(m, n, seed))
    count = min(count, m - 1)
    found = kernel_neighbors(K, count)
    indices, distances = brute_force(K, count)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.distances, distances)


@pytest.mark.parametrize("tile", [4, 7, 64])
def test_a_stored_matrix_is_read_once_and_ties_do_not_depend_on_its_tiles(tile, tmp_path):
    X = rankings(40, 4)
    gram = compute_gram(Kendall(), X, store=tmp_path / "cohort.zarr", tile=tile, progress=False)
    before = gram.bytes_read()
    gram.matmat(np.ones(40))
    a_pass = gram.bytes_read() - before
    found = kernel_neighbors(gram, 9)
    assert gram.bytes_read() - before == 2 * a_pass
    indices, distances = brute_force(Kendall()(X), 9)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.distances, distances)


def test_views_have_the_neighbours_of_their_values():
    K = Gaussian(sigma=2.0)(np.random.default_rng(0).normal(size=(50, 4)))
    some = np.random.default_rng(1).permutation(50)[:30]
    for gram, values in (
        (ArrayGram(K)[np.ix_(some, some)], K[np.ix_(some, some)]),
        (ArrayGram(K).centered().unit_norm(), ArrayGram(K).centered().unit_norm().to_numpy()),
    ):
        np.testing.assert_array_equal(kernel_neighbors(gram, 5).indices, brute_force(values, 5)[0])


def test_the_graph_is_that_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(60, 3))
    found = kernel_neighbors(Linear()(X), 6)
    expected = kneighbors_graph(X, 6, mode="distance")
    np.testing.assert_allclose(found.distance_graph.toarray(), expected.toarray(), atol=1e-7)
    labels = DBSCAN(eps=0.8, min_samples=4, metric="precomputed").fit_predict(found.distance_graph)
    within = NearestNeighbors(n_neighbors=6).fit(X).kneighbors_graph(mode="distance")
    np.testing.assert_array_equal(labels, DBSCAN(eps=0.8, min_samples=4, metric="precomputed").fit_predict(within))


# UMAP and scanpy -----------------------------------------------------------------------------------------------------

KNN = ("points", "ties", "equal samples", "one neighbour")


def knn_case(name):
    X = np.random.default_rng(0).normal(size=(80, 5))
    if name == "equal samples":
        X[40:] = X[:40]
        X[:6] = X[0]
    K = Kendall()(rankings(80, 4)) if name == "ties" else Linear()(X)
    return kernel_neighbors(K, 1 if name == "one neighbour" else 10)


def three_blobs():
    rng = np.random.default_rng(0)
    blob = np.arange(90) % 3
    X = rng.normal(size=(90, 12))
    X[np.arange(90)[:, None], blob[:, None] * 4 + np.arange(4)] += 4
    return blob, pd.DataFrame(X, index=[f"s{i}" for i in range(90)], columns=list("abcdefghijkl"))


def test_fifteen_neighbours_are_found_by_default():
    x = np.arange(20.0)[:, None]
    assert kernel_neighbors(Linear()(x)).indices.shape == (20, 15)


def points():
    return np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def scanpy(tmp_path_factory):
    """A folder in which umap-learn and scanpy have worked on our files."""
    folder = tmp_path_factory.mktemp("scanpy")
    for name in KNN:
        found, own = knn_case(name), np.arange(80)[:, None]  # they take each sample for its own first neighbour
        indices, distances = np.hstack([own, found.indices]), np.hstack([np.zeros((80, 1)), found.distances])
        np.savez(folder / f"{name}.npz", indices=indices, distances=distances)
    anndata.AnnData(points()).write_h5ad(folder / "points.h5ad")
    _, frame = three_blobs()
    gram = compute_gram(Kendall("b"), frame, store=folder / "blobs.zarr", tile=32, progress=False)
    adata = anndata.AnnData(frame)
    write_neighbors(adata, kernel_neighbors(gram, 10), key_added="kendall")
    adata.write_h5ad(folder / "blobs.h5ad")
    script = Path(__file__).with_name("run_scanpy.py")
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, script, folder], env=environment, check=True, capture_output=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("case", KNN)
def test_connectivities_are_those_of_umap(scanpy, case):
    graph = knn_case(case).connectivities
    np.testing.assert_allclose(graph.toarray(), np.load(scanpy / f"{case}.npy"), atol=2e-5)
    assert abs(graph - graph.T).max() == 0
    assert graph.data.min() > 0
    assert graph.data.max() <= 1


@pytest.mark.slow
def test_the_layout_is_that_of_scanpy(scanpy):
    theirs, ours = anndata.read_h5ad(scanpy / "points-scanpy.h5ad"), anndata.AnnData(points())
    write_neighbors(ours, kernel_neighbors(Linear()(points()), 7))
    assert set(ours.obsp) == set(theirs.obsp) == {"distances", "connectivities"}
    for name in ours.obsp:
        assert type(ours.obsp[name]) is type(theirs.obsp[name])
        np.testing.assert_allclose(ours.obsp[name].toarray(), theirs.obsp[name].toarray(), atol=1e-4)
    known = theirs.uns["neighbors"]
    assert set(ours.uns["neighbors"]) == set(known)
    for name in ("connectivities_key", "distances_key"):
        assert ours.uns["neighbors"][name] == known[name]
    for name in ("n_neighbors", "method", "metric", "random_state"):
        assert ours.uns["neighbors"]["params"][name] == known["params"][name]


@pytest.mark.slow
def test_leiden_and_umap_find_the_blobs(scanpy):
    blob, _ = three_blobs()
    adata = anndata.read_h5ad(scanpy / "blobs-scanpy.h5ad")
    assert len(set(zip(adata.obs["leiden"], blob, strict=True))) == adata.obs["leiden"].nunique() == 3
    nearby = NearestNeighbors(n_neighbors=2).fit(adata.obsm["X_umap"]).kneighbors(return_distance=False)
    assert (blob[nearby] == blob[:, None]).mean() > 0.95
    assert adata.uns["kendall"]["params"]["n_neighbors"] == 11


@pytest.mark.slow
def test_scanpy_draws_the_graph(scanpy):
    adata = anndata.read_h5ad(scanpy / "blobs-scanpy.h5ad")
    first, second = np.triu(adata.obsp["kendall_connectivities"].toarray()).nonzero()
    at = adata.obsm["X_umap"].astype(np.float64)
    ends = {tuple(sorted(map(tuple, np.round([at[i], at[j]], 4).tolist()))) for i, j in zip(first, second, strict=True)}
    drawn = {tuple(sorted(map(tuple, np.round(line, 4).tolist()))) for line in np.load(scanpy / "blobs-edges.npy")}
    assert drawn == ends


# Input ---------------------------------------------------------------------------------------------------------------


def test_matrix_that_does_not_fit_is_refused():
    K = Linear()(np.random.default_rng(0).normal(size=(6, 3)))
    for count in (0, 6, 2.5):
        with pytest.raises(InputError, match="from 1 to 5"):
            kernel_neighbors(K, count)
    with pytest.raises(MemoryLimitError, match="the 3 nearest of 6 samples"):
        kernel_neighbors(ArrayGram(K), 3, memory_limit=100)
    with pytest.raises(InputError, match="not positive semidefinite"):
        kernel_neighbors(K - 3 * np.eye(6), 2)
    gram = ArrayGram(K.copy())
    gram._values[2, 3] = np.nan
    with pytest.raises(InputError, match="not finite"):
        kernel_neighbors(gram, 2)


def test_other_samples_and_existing_keys_are_refused():
    X = np.random.default_rng(0).normal(size=(6, 3))
    found = kernel_neighbors(ArrayGram(Linear()(X), row_ids=list("abcdef")), 2)
    with pytest.raises(InputError, match="5 samples"):
        write_neighbors(anndata.AnnData(X[1:]), found)
    with pytest.raises(InputError, match=r"another order .number 0 is 'f', not 'a'"):
        write_neighbors(anndata.AnnData(X, obs=pd.DataFrame(index=list("fedcba"))), found)
    adata = anndata.AnnData(X, obs=pd.DataFrame(index=list("abcdef")))
    write_neighbors(adata, found)
    with pytest.raises(InputError, match=r"holds 'distances' already: .* overwrite=True"):
        write_neighbors(adata, found)
    write_neighbors(adata, found, overwrite=True)
    write_neighbors(anndata.AnnData(X), found)  # its samples have no names


@pytest.mark.parametrize("view", [ArrayGram, lambda K: ArrayGram(K).centered()], ids=["array", "centred"])
def test_the_blocks_of_a_pass_follow_the_memory_limit(view):
    K = Gaussian(2.0)(np.random.default_rng(0).normal(size=(600, 5)))
    gram, limit = view(K), 1_200_000  # a block of the whole takes 2.9 MB
    kernel_neighbors(gram, 3)  # loads what is compiled
    tracemalloc.start()
    try:
        found = kernel_neighbors(gram, 3, memory_limit=limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= limit
    np.testing.assert_allclose(found.distances, brute_force(K, 3)[1], atol=1e-7)
