"""The Benjamini–Hochberg procedure on spilled p-values equals SciPy's on all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import false_discovery_control

from distkern import InputError
from distkern.pairs.edges import Threshold, adjust, adjusted, checked_threshold, read_edges, spill
from distkern.store.grid import Grid

values = st.one_of(
    st.sampled_from([0.0, 1e-300, 0.01, 0.02, 0.05, 1.0, np.nan]), st.floats(0, 1, allow_subnormal=False)
)


@given(arrays(np.float64, st.integers(1, 30), elements=values))
def test_adjusted_values_equal_those_of_scipy(p):
    known = ~np.isnan(p)
    np.testing.assert_array_equal(adjusted(p)[known], false_discovery_control(p[known]) if known.any() else [])
    assert np.isnan(adjusted(p)[~known]).all()


@st.composite
def matrices(draw):
    """p-values and tau of all pairs, symmetric or not, and the side of a tile."""
    rows, symmetric = draw(st.integers(1, 9)), draw(st.booleans())
    cols = rows if symmetric else draw(st.integers(1, 9))
    p = draw(arrays(np.float64, (rows, cols), elements=values))
    tau = draw(arrays(np.float64, (rows, cols), elements=st.sampled_from([-0.9, -0.4, 0.0, 0.5, 1.0])))
    if symmetric:
        p, tau = (np.triu(one) + np.triu(one, 1).T for one in (p, tau))
    return p, tau, symmetric, draw(st.integers(1, 5))


@given(
    matrices(),
    st.sampled_from([0.01, 0.05, 0.3, 1.0]),
    st.sampled_from([0.0, 0.45]),
    st.sampled_from([1, 150, 10**9]),
    st.sampled_from([1, 10**6]),
)
def test_edges_equal_those_of_the_whole_matrix(tmp_path_factory, drawn, fdr, min_tau, sorted_bytes, most):
    p, tau, symmetric, side = drawn
    folder = tmp_path_factory.mktemp("edges")
    grid = Grid(*p.shape, side, symmetric)
    spilled = []
    for i, j in grid.tiles():
        part = slice(*grid.row_range(i)), slice(*grid.col_range(j))
        file = folder / f"{i}-{j}.npz"
        diagonal = symmetric and i == j
        spilled.append(spill(file, i, j, tau[part], p[part], Threshold(fdr, min_tau), above_diagonal=diagonal))
    count = adjust(spilled, fdr, sorted_bytes)
    found = [edge for part in read_edges(grid, spilled, most) for edge in zip(*part, strict=True)]
    tested = ~np.isnan(p) & (np.triu(np.ones(p.shape, bool), 1) if symmetric else True)
    q = np.full(p.shape, np.inf)
    q[tested] = false_discovery_control(p[tested]) if tested.any() else []
    with np.errstate(invalid="ignore"):
        where = np.argwhere((q <= fdr) & (np.abs(tau) >= min_tau))
    expected = [(i, j, tau[i, j], p[i, j], q[i, j]) for i, j in where.tolist()]
    assert found == expected
    assert count == len(expected)
    assert sum(one.tests for one in spilled) == tested.sum()
    entries = p.shape[0] * (p.shape[0] - 1) // 2 if symmetric else p.size
    assert sum(one.undefined for one in spilled) == entries - tested.sum()


def test_files_take_the_bytes_that_are_told(tmp_path):
    rng = np.random.default_rng(0)
    p, tau = rng.random((200, 200)) ** 3, rng.uniform(-1, 1, (200, 200))
    one = spill(tmp_path / "0.npz", 0, 0, tau, p, Threshold(0.2, 0.5), above_diagonal=False)
    adjust([one], 0.2)
    assert one.pairs + one.others == (p <= 0.2).sum()
    on_disk = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert one.bytes <= on_disk <= one.bytes + 2048


@pytest.mark.parametrize("fdr", [0, -0.1, 1.5, "x", True, None, float("nan")])
def test_a_rate_that_is_none_is_refused(fdr):
    with pytest.raises(InputError, match="fdr must be a number"):
        checked_threshold(fdr, None)


@pytest.mark.parametrize("min_tau", [-0.1, 1.5, "x", True, float("nan")])
def test_a_least_tau_that_is_none_is_refused(min_tau):
    with pytest.raises(InputError, match="min_tau must be a number"):
        checked_threshold(0.05, min_tau)
