import numpy as np
import pytest

from distkern.gram.batches import BATCH, batches_of

rng = np.random.default_rng(0)
DENSE = rng.normal(size=(90, BATCH))
INDICATORS = rng.normal(size=(90, 1)) * (np.arange(BATCH) == rng.integers(0, BATCH, size=(90, 1)))


def test_a_batch_is_sparse_if_most_of_its_numbers_are_zero():
    both = np.concatenate([INDICATORS, DENSE, DENSE[:, :3]], axis=1)
    assert [batch.sparse for batch in batches_of(both)] == [True, False, False]
    assert batches_of(np.zeros((5, 0))) == []


@pytest.mark.parametrize("vectors", [DENSE, INDICATORS], ids=["dense", "sparse"])
def test_sums_of_a_batch_equal_the_product(vectors):
    values, (batch,) = rng.normal(size=(20, 90)), batches_of(vectors)
    sums = batch.zeros(50)
    for cols in (slice(0, 40), slice(40, 90)):
        part = np.ascontiguousarray(values[:, cols])
        batch.add(sums, slice(10, 30), part, np.ascontiguousarray(part.T), cols)
    expected = np.zeros((50, BATCH))
    expected[10:30] = values @ vectors
    np.testing.assert_allclose(batch.product(sums), expected, atol=1e-13)
