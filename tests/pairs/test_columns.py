import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from distkern import InputError, MemoryLimitError
from distkern.build.look import Looking
from distkern.core.bags import Bags
from distkern.engine.executors import Serial, Threads
from distkern.io.source import as_source
from distkern.pairs.columns import Columns, bands, count_nonzeros, first_missing, work_on_columns

rng = np.random.default_rng(1)
X = np.where(rng.random((50, 9)) < 0.7, 0.0, rng.normal(size=(50, 9)))


def dense(columns, start, m):
    """The columns with their zeros."""
    shape = m, len(columns.starts) - 1
    return sparse.csc_array((columns.values, columns.samples, columns.starts), shape=shape).toarray()


def whole(source, executor, limit=None):
    """All columns, and the blocks that they were computed in."""
    found, blocks = np.full(source.shape, np.nan), []

    def done(start, stop, result):
        found[:, start:stop] = result
        blocks.append((start, stop))

    looking = Looking(executor, limit=limit)
    options = {"bytes_held": 0, "bytes_per_feature": 8, "phase": "test"}
    work_on_columns(source, dense, len(source), done, looking=looking, **options)
    return found, sorted(blocks)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(9, 30))
def test_bands_hold_all_features_once_and_no_more_than_there_is_room(weights, room):
    weights = np.array(weights)
    found = list(bands(weights, room))
    assert [start for start, _ in found] == [0, *(stop for _, stop in found[:-1])]
    assert found[-1][1] == len(weights)
    assert all(weights[start:stop].sum() <= room for start, stop in found)
    assert all(weights[start : stop + 1].sum() > room for start, stop in found[:-1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("executor", [Serial(), Threads(2)])
def test_columns_come_back_whole(container, executor):
    source = as_source(container(X))
    np.testing.assert_array_equal(count_nonzeros(source, Looking(executor)), np.count_nonzero(X, axis=0))
    found, blocks = whole(source, executor)
    np.testing.assert_array_equal(found, X)
    assert len(blocks) > 1


def test_bands_are_read_one_after_the_other_within_the_memory(monkeypatch):
    tall = np.ones((4000, 30))
    source, passes = as_source(tall), []
    real = source._reader.take

    def take(rows):
        if rows.start == 0:
            passes.append(rows)
        return real(rows)

    monkeypatch.setattr(source._reader, "take", take)
    limit = 2_000_000
    found, _ = whole(source, Serial(), limit)
    np.testing.assert_array_equal(found, tall)
    assert len(passes) == 3  # one to count, and two bands of less than 2 MB each; all columns take 1.4 MB
    with pytest.raises(MemoryLimitError, match="feature number 0 with 4,000 values takes"):
        whole(source, Serial(), 100_000)


def test_a_part_of_columns_is_counted_from_its_first_value():
    columns = Columns(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0], np.int32), np.array([0, 2, 2, 3]))
    part = columns.part(1, 3)
    assert (part.values.tolist(), part.samples.tolist(), part.starts.tolist()) == ([3.0], [0], [0, 0, 1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_first_missing_value_is_found(container):
    values = np.zeros((3, 4))
    assert first_missing(container(values), 10) is None
    values[2, 1] = values[1, 3] = np.nan
    assert first_missing(container(values), 10) == (11, 3)


def test_bags_have_no_columns():
    bags = Bags.from_arrays([np.ones((2, 2)), np.ones((3, 2))])
    with pytest.raises(InputError, match="the samples are bags"):
        whole(as_source(bags), Serial())
