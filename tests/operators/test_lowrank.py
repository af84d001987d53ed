"""A matrix of low rank equals the product of its features: as a whole, in slices and as an operator."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import InputError, MemoryLimitError
from distkern.operators import lowrank
from distkern.operators.lowrank import ArrayFeatures, LowRankGram

F, G = np.random.default_rng(0).normal(size=(30, 4)), np.random.default_rng(1).normal(size=(9, 4))
K = F @ F.T


@pytest.fixture
def gram():
    features = ArrayFeatures(F, [f"s{i}" for i in range(30)])
    return LowRankGram(features, features)


positions = st.lists(st.integers(0, 29), max_size=40)


@given(rows=positions, cols=positions)
def test_blocks_and_slices_equal_those_of_the_array(rows, cols):
    features = ArrayFeatures(F)
    gram, expected = LowRankGram(features, features), K[np.ix_(np.array(rows, int), np.array(cols, int))]
    np.testing.assert_allclose(gram.block(rows, cols), expected, atol=1e-12)
    part = gram[rows][:, cols]
    np.testing.assert_allclose(part.to_numpy(), expected, atol=1e-12)
    V = np.arange(2.0 * len(cols)).reshape(-1, 2)
    np.testing.assert_allclose(part.matmat(V), expected @ V, rtol=1e-10, atol=1e-9)


def test_a_symmetric_slice_is_symmetric_to_the_bit(gram):
    part = gram[np.ix_(range(3, 20), range(3, 20))]
    assert isinstance(part, LowRankGram)
    assert part.is_symmetric
    np.testing.assert_array_equal(part.to_numpy(), part.to_numpy().T)
    assert not gram[:5].is_symmetric
    assert part.row_ids[:2] == ("s3", "s4")
    assert gram[3, 4] == pytest.approx(K[3, 4])
    np.testing.assert_allclose(gram[3], K[3])


@pytest.mark.parametrize("side", [4, 30, 100])
def test_tiles_hold_every_entry_once(gram, side, monkeypatch):
    monkeypatch.setattr(lowrank, "TILE_SIDE", side)
    for matrix, expected in ((gram, K), (LowRankGram(gram._rows, ArrayFeatures(G)), F @ G.T)):
        total, seen = np.zeros(expected.shape), np.zeros(expected.shape)
        for rows, cols, values in matrix.tiles():
            total[np.ix_(rows, cols)] += values
            seen[np.ix_(rows, cols)] += 1
        np.testing.assert_allclose(total, expected, atol=1e-12)
        assert (seen == 1).all()


def test_views_and_diagonals_equal_those_of_the_array(gram):
    np.testing.assert_allclose(gram.diag(), np.diag(K))
    center = F - F[:20].mean(axis=0)
    np.testing.assert_allclose(gram.centered(on=slice(0, 20)).to_numpy(), center @ center.T, atol=1e-12)
    np.testing.assert_allclose(gram.unit_norm().to_numpy(), K / np.sqrt(np.outer(np.diag(K), np.diag(K))), atol=1e-12)


def test_the_embedding_holds_the_features_of_the_rows(gram):
    np.testing.assert_allclose(gram[[4, 2]].embedding(), F[[4, 2]])
    (positions, values), *none = gram.embedding_blocks()
    assert not none
    np.testing.assert_allclose(values, F[positions])
    with pytest.raises(MemoryLimitError, match=r"30 × 4 takes 960 bytes .* 100 allowed"):
        gram.embedding(max_bytes=100)


def test_new_samples_and_prepared_columns_are_refused(gram):
    with pytest.raises(InputError, match="without a map from samples"):
        gram.cross(np.ones((2, 3)))
    with pytest.raises(InputError, match="CohortPredictor"):
        gram.prepared_columns()
