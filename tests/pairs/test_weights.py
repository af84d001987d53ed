import cloudpickle
import naive_explanation as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern.engine.base import Executor
from distkern.engine.executors import Serial, Threads
from distkern.pairs import tiles, weights
from distkern.pairs.embeddings import SignEmbedding
from distkern.pairs.weights import NO_PAIRS, HeaviestPairs, exact_sums, pass_over_pairs, union


def passed(values, k, turned=-1.0, executor=None):
    """Pass over given numbers (kinds, n, n)."""
    kinds, n, _ = values.shape
    return pass_over_pairs(
        lambda rows, cols: values[:, rows, cols],
        n,
        kinds,
        k,
        samples=10,
        turned=turned,
        executor=executor or Serial(),
        listener=lambda event: None,
    )


def as_dict(values):
    return {(i, j): values[i, j] for i in range(len(values)) for j in range(i + 1, len(values))}


@given(
    arrays(np.float64, st.tuples(st.just(2), st.just(7), st.just(7)), elements=st.integers(-2, 2).map(float)),
    st.integers(1, 30),
)
def test_best_pairs_and_sums_are_those_of_the_naive_loop(values, k):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "SIDE", 3)
        patch.setattr(tiles, "SIDE", 3)
        found = passed(values, k)
    for kind in range(2):
        numbers = as_dict(values[kind])
        assert [divmod(code, 7) for code in found.best[kind].codes.tolist()] == naive.heaviest(numbers, k)
        assert found.best[kind].numbers.tolist() == [numbers[pair] for pair in naive.heaviest(numbers, k)]
        for i in range(7):
            assert found.sums[kind, i] == sum(naive.of_feature(numbers, i, -1))
            assert found.squares[kind, i] == sum(value**2 for value in naive.of_feature(numbers, i))


def test_bits_do_not_depend_on_the_executor(monkeypatch):
    monkeypatch.setattr(weights, "SIDE", 4)
    monkeypatch.setattr(tiles, "SIDE", 4)
    values = np.random.default_rng(0).normal(size=(1, 100, 100))
    one, other = passed(values, 20), passed(values, 20, executor=Threads(3))
    np.testing.assert_array_equal(one.sums, other.sums)
    np.testing.assert_array_equal(one.squares, other.squares)
    np.testing.assert_array_equal(one.best[0].codes, other.best[0].codes)


class Elsewhere(Executor):
    """Runs tasks on what other processes would unpickle."""

    remote = True

    def map(self, fn, tasks):
        for task in tasks:
            fn, own = cloudpickle.loads(cloudpickle.dumps((fn, task)))
            yield cloudpickle.loads(cloudpickle.dumps(fn(own)))


def test_tasks_can_be_sent_to_other_processes(monkeypatch):
    monkeypatch.setattr(weights, "SIDE", 4)
    monkeypatch.setattr(tiles, "SIDE", 4)
    values = np.random.default_rng(1).normal(size=(2, 50, 50))
    one, other = passed(values, 20), passed(values, 20, executor=Elsewhere())
    np.testing.assert_array_equal(one.sums, other.sums)
    np.testing.assert_array_equal(one.best[1].codes, other.best[1].codes)


def test_pairs_of_equal_size_are_in_the_order_of_their_features():
    values = np.ones((1, 600, 600))
    found = passed(values, 700)
    assert [divmod(code, 600) for code in found.best[0].codes.tolist()] == naive.heaviest(as_dict(values[0]), 700)


def test_exact_sums_are_rounded_once():
    signs = SignEmbedding(np.ones(3), 1.0, np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0]]))
    found = exact_sums(signs, np.array([[1e16], [1.0], [-1e16]]), np.array([0, 1]), np.array([1, 2]))
    assert found.tolist() == [[1.0], [0.0]]
    assert exact_sums(signs, np.ones((3, 2)), np.empty(0, dtype=int), np.empty(0, dtype=int)).shape == (0, 2)


def test_union_of_no_pairs_is_empty():
    assert union([NO_PAIRS]).tolist() == []
    assert union(
        [HeaviestPairs(np.array([5, 2]), np.array([2.0, 1.0])), HeaviestPairs(np.array([2]), np.array([9.0]))]
    ).tolist() == [2, 5]
