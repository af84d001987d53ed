"""Kernels between bags on every road: threads, Dask, a store, an append, new bags, and a model from a file."""

from pathlib import Path

import numpy as np
import pytest
from marks import with_slow

from distkern import (
    Bags,
    Bhattacharyya,
    Entropy,
    Gaussian,
    InputError,
    Kendall,
    KernelBhattacharyya,
    KernelIGV,
    KernelKMeans,
    KernelSVC,
    LowRank,
    append_gram,
    compute_gram,
    load_model,
    open_gram,
    save_model,
)

rng = np.random.default_rng(0)
SIZES = [6, *rng.integers(1, 7, size=13)]
BAGS = Bags.from_arrays(
    [rng.normal(size=(size, 2)) + 4 * (k % 2) for k, size in enumerate(SIZES)],
    [rng.uniform(1, 3, size) for size in SIZES],
    [f"patient {k}" for k in range(14)],
)
NEW = Bags.from_arrays([rng.normal(size=(size, 2)) + 4 * (k % 2) for k, size in enumerate((9, 1, 4))])
KERNELS = {
    "of means and covariances": Bhattacharyya(0.1),
    "of components": KernelBhattacharyya(
        LowRank(Gaussian(1.0), landmarks=((0.0, 0.0), (4.0, 4.0), (1.0, 3.0))), 2, 0.1
    ),
    "of determinants": KernelIGV(0.5 * Gaussian(1.0) + Kendall(), 0.1),
    "of atoms": Entropy(),
    "of densities": Entropy(bandwidth=0.5, draws=40, center=(2.0, 2.0), spread=(3.0, 3.0)),
}


def stored_bytes(path):
    """All chunks of the matrix and of the prepared bags, by name."""
    files = (file for folder in ("gram", "rows/prepared") for file in Path(path, folder).rglob("c/**/*"))
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.is_file()}


@pytest.mark.parametrize(
    "name", with_slow(["of components", "of densities"], ["of determinants", "of means and covariances", "of atoms"])
)
def test_a_matrix_of_bags_has_the_same_bits_in_one_piece_on_threads_and_grown(name, tmp_path):
    kernel = KERNELS[name]
    whole = kernel(BAGS)
    serial = compute_gram(kernel, BAGS, store=tmp_path / "serial.zarr", tile=5, executor="serial")
    np.testing.assert_array_equal(serial.to_numpy(), whole)
    assert serial.ids == BAGS.ids
    threads = compute_gram(kernel, BAGS, store=tmp_path / "threads.zarr", tile=4, executor=3)
    np.testing.assert_array_equal(threads.to_numpy(), whole)
    compute_gram(kernel, BAGS[:9], store=tmp_path / "grown.zarr", tile=5, executor="serial")
    for part in (BAGS[9:10], BAGS[10:]):
        grown = append_gram(tmp_path / "grown.zarr", part, executor=2)
    assert stored_bytes(grown.path) == stored_bytes(serial.path)
    assert grown.ids == BAGS.ids
    assert grown.verify() == []

    gram = open_gram(tmp_path / "grown.zarr")
    np.testing.assert_allclose(gram.cross(NEW).to_numpy(), kernel(NEW, BAGS), rtol=1e-12, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("name", with_slow(["of determinants"], ["of densities"]))
def test_on_a_cluster_it_has_the_same_bytes_as_without(name, tmp_path, client):
    kernel = KERNELS[name]
    serial = compute_gram(kernel, BAGS, store=tmp_path / "serial.zarr", tile=5, executor="serial")
    dask = compute_gram(kernel, BAGS, store=tmp_path / "dask.zarr", tile=5)
    assert "Dask cluster" in dask.info()["runs"][0]["executor"]
    assert stored_bytes(dask.path) == stored_bytes(serial.path)


@pytest.mark.parametrize("name", ["of determinants", "of densities"])
def test_a_model_from_a_file_predicts_for_new_bags(name, tmp_path):
    kernel = KERNELS[name]
    y = np.arange(14) % 2
    gram = compute_gram(kernel, BAGS, store=tmp_path / "k.zarr", executor="serial")
    on_gram = KernelSVC().fit(gram, y)
    expected = on_gram.decision_function(kernel(NEW, BAGS))
    loaded = load_model(save_model(on_gram, tmp_path / "of-gram.npz", gram))
    np.testing.assert_allclose(loaded.decision_function(NEW), expected, atol=1e-12)
    on_bags = KernelSVC(kernel=kernel).fit(BAGS, y)
    from_file = load_model(save_model(on_bags, tmp_path / "of-bags.npz"))
    np.testing.assert_allclose(from_file.decision_function(NEW), on_bags.decision_function(NEW), atol=1e-12)
    np.testing.assert_allclose(on_bags.decision_function(NEW), expected, atol=1e-5)


@pytest.mark.parametrize(
    "kernel", [KernelIGV(Gaussian("median"), 0.1), Entropy(bandwidth=0.5, draws=50)], ids=lambda kernel: kernel.name
)
def test_data_dependent_parameters_come_from_the_first_stored_bags(kernel, tmp_path):
    y = np.arange(14) % 2
    gram = compute_gram(kernel, BAGS, store=tmp_path / "k.zarr", tile=7, executor="serial")
    np.testing.assert_array_equal(gram.to_numpy(), kernel(BAGS))
    np.testing.assert_allclose(gram.cross(NEW).to_numpy(), kernel(NEW, BAGS), rtol=1e-9)
    on_gram = KernelSVC().fit(gram, y).decision_function(gram.cross(NEW))
    on_bags = KernelSVC(kernel=kernel).fit(BAGS, y).decision_function(NEW)
    np.testing.assert_allclose(on_bags, on_gram, atol=1e-6)


def test_bags_are_clustered_by_their_points(tmp_path):
    gram = compute_gram(Bhattacharyya(0.3), BAGS, store=tmp_path / "k.zarr", executor="serial")
    model = KernelKMeans(2, random_state=0).fit(gram)
    assert len({tuple(model.labels_[side::2]) for side in (0, 1)}) == 2
    assert {len(set(model.labels_[side::2])) for side in (0, 1)} == {1}
    assert model.predict(gram.cross(NEW)).tolist() == [model.labels_[0], model.labels_[1], model.labels_[0]]


def test_bags_too_large_for_a_store_are_refused_and_change_nothing(tmp_path):
    gram = compute_gram(Entropy(), BAGS[:5], store=tmp_path / "k.zarr", executor="serial")
    before = stored_bytes(gram.path)
    with pytest.raises(InputError, match=r"the largest of these bags has 9 points, and the other bags have room for 6"):
        append_gram(gram.path, NEW, executor="serial")
    assert stored_bytes(gram.path) == before
