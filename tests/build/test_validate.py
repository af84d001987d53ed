"""Samples are validated before any work: missing values, zeros left out, names of features, equal samples."""

import naive
import numpy as np
import pytest
from marks import with_slow
from scipy import sparse

from distkern import (
    InputError,
    Kendall,
    KernelNotFoundError,
    Linear,
    Mallows,
    SampleError,
    compute_gram,
    datasets,
    open_gram,
)
from distkern.build.validate import distinct

X = np.random.default_rng(0).normal(size=(20, 30))
RNG = np.random.default_rng(0)
WHOLE = RNG.normal(size=(12, 20))
GAPS = WHOLE.copy()
GAPS[2, 5] = GAPS[7, 5] = GAPS[9, 11] = np.nan
PAIRWISE = np.array(  # three samples whose pairwise deletion has the eigenvalue −1
    [
        [1, 2, 3, np.nan, np.nan, np.nan, 1, 2, 3],
        [1, 2, 3, 1, 2, 3, np.nan, np.nan, np.nan],
        [np.nan, np.nan, np.nan, 1, 2, 3, 3, 2, 1],
    ]
)


def counts(m, n, density, seed=0):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((m, n)) < density, rng.integers(1, 9, (m, n)), 0).astype(float)
    dense[0, 0] = -2.0  # a value below zero stands below all zeros
    return dense


DENSE = counts(40, 300, 0.08)
SPARSE = sparse.csr_array(DENSE)


def test_missing_values_are_refused_by_default(tmp_path):
    with pytest.raises(SampleError, match=r"sample '2' has no value .* feature number 5"):
        compute_gram(Kendall(), GAPS, store=tmp_path / "k.zarr")


def test_features_without_a_value_somewhere_are_dropped_for_all(tmp_path):
    kept = np.delete(np.arange(20), [5, 11])
    for kernel in (Kendall(ties="b"), Mallows(0.02), Linear()):
        gram = compute_gram(kernel, GAPS, store=tmp_path / "d.zarr", missing="drop-features", overwrite=True)
        np.testing.assert_array_equal(gram.to_numpy(), kernel(WHOLE[:, kept]))
        assert gram.info()["dropped"] == [5, 11]
        new = RNG.normal(size=(3, 20))
        np.testing.assert_allclose(gram.cross(new).to_numpy(), kernel(new[:, kept], WHOLE[:, kept]), rtol=1e-13)
        np.testing.assert_allclose(gram.cross(new[:, kept]).to_numpy(), gram.cross(new).to_numpy(), rtol=1e-13)
    with pytest.raises(InputError, match="none is left"):
        compute_gram(Kendall(), PAIRWISE, store=tmp_path / "n.zarr", missing="drop-features")


def test_the_gaps_of_training_and_test_samples_count(tmp_path):
    gram = compute_gram(Kendall(), GAPS[:4], GAPS[4:9], store=tmp_path / "r.zarr", missing="drop-features")
    assert gram.info()["dropped"] == [5]


def test_unknown_ranks_are_averaged_and_complete_samples_keep_their_values(tmp_path):
    gram = compute_gram(Kendall(), GAPS, store=tmp_path / "i.zarr", missing="interleaving")
    complete = [i for i in range(12) if not np.isnan(GAPS[i]).any()]
    np.testing.assert_allclose(gram[np.ix_(complete, complete)].to_numpy(), Kendall()(WHOLE[complete]), atol=1e-14)
    expected = naive.partial_kendall(list(GAPS[2]), list(GAPS[9]), "interleaving", "interleaving")
    assert gram[2, 9] == pytest.approx(float(expected), rel=1e-12)
    tau = compute_gram(Kendall(ties="b"), GAPS, store=tmp_path / "b.zarr", missing="interleaving")
    np.testing.assert_allclose(tau.diag(), 1.0)
    np.testing.assert_allclose(tau[np.ix_(complete, complete)].to_numpy(), Kendall("b")(WHOLE[complete]), atol=1e-14)


def test_positive_semidefinite_where_pairwise_deletion_is_not(tmp_path):
    deleted = np.eye(3)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(PAIRWISE[i] + PAIRWISE[j])
        deleted[i, j] = deleted[j, i] = naive.kendall(list(PAIRWISE[i, both]), list(PAIRWISE[j, both]), "b")
    np.testing.assert_allclose(np.linalg.eigvalsh(deleted), [-1, 2, 2], atol=1e-12)
    gram = compute_gram(Kendall(ties="b"), PAIRWISE, store=tmp_path / "p.zarr", missing="interleaving")
    assert np.linalg.eigvalsh(gram.to_numpy()).min() > -1e-12


def test_unknown_treatment_of_missing_values_is_refused(tmp_path):
    with pytest.raises(InputError, match="for Kendall kernels"):
        compute_gram(Linear(), GAPS, store=tmp_path / "l.zarr", missing="interleaving")
    with pytest.raises(InputError, match="missing must be one of error, drop-features, interleaving, not 'pairwise'"):
        compute_gram(Kendall(), GAPS, store=tmp_path / "l.zarr", missing="pairwise")


@pytest.mark.parametrize(
    "kernel", with_slow([Kendall(ties="b"), Mallows(0.01, ties="kemeny")], [Kendall(), Mallows(0.01)])
)
@pytest.mark.parametrize("tile", with_slow([13], [40]))
def test_a_stored_matrix_has_the_bits_of_the_dense_one(tmp_path, kernel, tile):
    gram = compute_gram(kernel, SPARSE, store=tmp_path / "s.zarr", tile=tile, executor=2)
    assert gram.info()["sparse"]
    np.testing.assert_array_equal(gram.to_numpy(), kernel(DENSE))
    np.testing.assert_array_equal(kernel(SPARSE), kernel(DENSE))
    np.testing.assert_array_equal(kernel(SPARSE[:5], DENSE), kernel(DENSE[:5], DENSE))
    np.testing.assert_array_equal(gram.diag(), np.diag(kernel(DENSE)))
    new = counts(3, 300, 0.3, seed=1)  # fuller than any stored sample
    for samples in (new, sparse.csr_array(new)):
        np.testing.assert_array_equal(gram.cross(samples).to_numpy(), kernel(new, DENSE))
    dense = compute_gram(kernel, DENSE, store=tmp_path / "d.zarr", tile=tile)
    assert not dense.info()["sparse"]
    assert dense.info()["fingerprint"] == gram.info()["fingerprint"]
    assert compute_gram(kernel, DENSE, store=tmp_path / "s.zarr").info()["runs"] == gram.info()["runs"]


def test_test_cells_against_training_cells(tmp_path):
    gram = compute_gram(Kendall(), SPARSE[:10], SPARSE[10:], store=tmp_path / "r.zarr", tile=8)
    assert gram.info()["sparse"]
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(DENSE[:10], DENSE[10:]))


def test_prepared_bytes_grow_with_the_number_of_nonzero_values(tmp_path):
    wide = sparse.csr_array(counts(30, 5000, 0.05))
    compute_gram(Kendall(), wide, store=tmp_path / "s.zarr")
    stored = sum(f.stat().st_size for f in (tmp_path / "s.zarr" / "rows" / "prepared").rglob("*") if f.is_file())
    assert stored < 0.2 * wide.toarray().nbytes


def test_full_samples_and_other_kernels_are_prepared_densely(tmp_path):
    full = sparse.csr_array(counts(20, 50, 0.9))
    assert not compute_gram(Kendall(), full, store=tmp_path / "f.zarr").info()["sparse"]
    linear = compute_gram(Linear(), SPARSE, store=tmp_path / "l.zarr")
    assert not linear.info()["sparse"]
    np.testing.assert_array_equal(linear.to_numpy(), Linear()(DENSE))


def test_a_cell_without_counts_is_refused_by_name_under_tau_b(tmp_path):
    empty = DENSE.copy()
    empty[7] = 0
    with pytest.raises(SampleError, match="sample '7' is constant"):
        compute_gram(Kendall(ties="b"), sparse.csr_array(empty), store=tmp_path / "e.zarr")


def test_annotated_cells_on_a_cluster(tmp_path, client):
    import anndata

    cells = anndata.AnnData(SPARSE)
    gram = compute_gram(Kendall(ties="b"), cells, store=tmp_path / "a.zarr", tile=16)
    assert gram.info()["sparse"]
    np.testing.assert_array_equal(open_gram(gram.path).to_numpy(), Kendall(ties="b")(DENSE))


def test_features_are_found_by_name(tmp_path):
    import pandas

    frame = pandas.DataFrame(X, columns=[f"gene{j}" for j in range(30)])
    turned = frame.iloc[:, ::-1].assign(other=0.5)
    expected = Kendall()(frame)
    for name, found in {
        "computed": compute_gram(Kendall(), turned, frame, store=tmp_path / "r.zarr"),
        "called": Kendall()(turned, frame),
        "new samples": compute_gram(Kendall(), frame, store=tmp_path / "k.zarr").cross(turned),
    }.items():
        np.testing.assert_array_equal(np.asarray(found), expected, name)
    with pytest.raises(InputError, match="X lacks 1 of the 30 features that are needed: 'gene3'"):
        Kendall()(frame.rename(columns={"gene3": "other"}), frame)
    np.testing.assert_array_equal(Kendall()(frame, X), expected)  # names on one side only
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_array_equal(Kendall()(X, frame), expected)
    assert open_gram(tmp_path / "k.zarr").features[:2] == ("gene0", "gene1")


def test_kernel_that_workers_cannot_build_is_refused_before_any_work(tmp_path):
    class Mine(Linear):
        name = "mine"

    with pytest.raises(KernelNotFoundError, match="defines no kernel called 'mine' at its top level"):
        compute_gram(Mine(), X, store=tmp_path / "k.zarr")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def ballots():
    return datasets.load_apa().expand().values


@pytest.fixture(scope="module")
def gram(ballots, tmp_path_factory):
    return compute_gram(Kendall(), ballots, store=tmp_path_factory.mktemp("apa") / "k.zarr", tile=50)


class TestEqualSamples:
    """Ballots: 5,738 of them are 120 distinct rankings, and only those are computed."""

    def test_only_distinct_samples_are_computed_and_all_are_shown(self, ballots, gram):
        assert gram.shape == (5738, 5738)
        assert gram.info()["samples_computed"] == [120, 120]
        rng = np.random.default_rng(0)
        rows, cols = rng.integers(0, 5738, 300), rng.integers(0, 5738, 200)
        np.testing.assert_array_equal(gram.block(rows, cols), Kendall()(ballots[rows], ballots[cols]))
        assert gram.ids[5737] == "5737"
        np.testing.assert_array_equal(gram.diag(), np.ones(5738))
        assert compute_gram(Kendall(), ballots, store=gram.path).info()["runs"] == gram.info()["runs"]

    def test_products_and_passes(self, ballots, gram):
        V = np.random.default_rng(1).normal(size=(5738, 2))
        part = np.arange(0, 5738, 20)
        expected = Kendall()(ballots[part], ballots) @ V
        np.testing.assert_allclose(gram.matmat(V)[part], expected, rtol=1e-9, atol=1e-9)
        small = gram[part][:, part]
        total = np.zeros(small.shape)
        for rows, cols, values in small.tiles():
            total[np.ix_(rows, cols)] += values
        np.testing.assert_array_equal(total, Kendall()(ballots[part]))
        whole = np.zeros((5738, 1))
        for rows, cols, values in gram.tiles():
            whole[rows, 0] += values @ V[cols, 0]
        np.testing.assert_allclose(whole[part], expected[:, :1], rtol=1e-9, atol=1e-9)

    def test_other_kernels_and_new_ballots(self, ballots, gram):
        view = gram.with_kernel(Mallows(0.5))
        np.testing.assert_array_equal(view[:40][:, 700:750].to_numpy(), Mallows(0.5)(ballots[:40], ballots[700:750]))
        new = np.array([[1.0, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
        np.testing.assert_array_equal(gram.cross(new).to_numpy(), Kendall()(new, ballots))
        assert len(gram[:30].prepared_columns()) == 5738

    def test_equal_samples_are_computed_once_only_where_many_are_equal(self, ballots, tmp_path):
        gram = compute_gram(Kendall(), ballots[:300], ballots[:1000], store=tmp_path / "r.zarr")
        np.testing.assert_array_equal(gram.to_numpy(), Kendall()(ballots[:300], ballots[:1000]))
        assert gram.info()["samples_computed"][1] <= 120
        assert compute_gram(Kendall(), X, store=tmp_path / "x.zarr").info()["samples_computed"] == [20, 20]
        twice = np.vstack([X, X])
        assert compute_gram(Linear(), twice, store=tmp_path / "l.zarr").info()["samples_computed"] == [40, 40]


@pytest.mark.parametrize("size", [16, 32])
def test_distinct_finds_the_first_of_equal_digests_and_zeros_at_their_ends_count(size):
    rng = np.random.default_rng(size)
    digests = np.zeros((60, size), dtype=np.uint8)
    digests[:, [0, size - 1]] = rng.integers(0, 3, size=(60, 2))
    firsts, which = distinct(digests)
    each = [row.tobytes() for row in digests]
    assert firsts.tolist() == [row for row in range(60) if each[row] not in each[:row]]
    assert [each[row] for row in firsts[which]] == each
