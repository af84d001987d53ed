"""Missing values: refused by default, or one of two ways that keep the matrix positive semidefinite."""

import naive
import numpy as np
import pytest

from distkern import InputError, Kendall, Linear, Mallows, SampleError, compute_gram

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


def test_refused_by_default(tmp_path):
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


def test_unknown_places_are_averaged_and_complete_samples_keep_their_values(tmp_path):
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


def test_what_is_not_offered_is_said(tmp_path):
    with pytest.raises(InputError, match="for Kendall kernels"):
        compute_gram(Linear(), GAPS, store=tmp_path / "l.zarr", missing="interleaving")
    with pytest.raises(InputError, match="'error', 'drop-features', 'interleaving', not 'pairwise'"):
        compute_gram(Kendall(), GAPS, store=tmp_path / "l.zarr", missing="pairwise")
