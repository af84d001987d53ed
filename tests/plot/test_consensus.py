import numpy as np
import pytest
from figure_data import axes

import distkern as dk
from distkern.plot import plot_consensus
from distkern.plot.consensus import SQUARE

VOTES = np.random.default_rng(0).normal(size=(30, 5)) + np.arange(5)


@pytest.fixture(scope="module")
def found():
    return dk.bootstrap_consensus(VOTES, n_resamples=100, random_state=0)


def test_each_item_has_its_place_and_its_interval(found):
    ax = plot_consensus(found, ax=axes())
    rows = found.rows()
    assert [text.get_text() for text in ax.get_yticklabels()] == [row["item"] for row in rows]
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[row["place"], k] for k, row in enumerate(rows)])
    intervals = [segment[:, 0].tolist() for segment in ax.collections[1].get_segments()]
    assert intervals == [[row["lowest"], row["highest"]] for row in rows]
    assert ax.yaxis_inverted()
    assert ax.get_xlabel() == "place, with 95 % of 100 resamples"


def test_squares_are_the_shares_of_the_resamples(found):
    ax = plot_consensus(found, top=2, ax=axes())
    squares = ax.collections[0]
    counted = {}
    for (place, row), size in zip(squares.get_offsets().tolist(), squares.get_sizes(), strict=True):
        counted[found.consensus.order[int(row)], int(place)] = size / SQUARE
    for item in found.consensus.order[:2]:
        for place in range(1, 6):
            assert counted.get((item, place), 0) == pytest.approx(np.mean(found.places[:, item] == place))


def test_what_is_no_bootstrap_is_refused(found):
    with pytest.raises(dk.InputTypeError, match=r"the result of distkern\.bootstrap_consensus"):
        plot_consensus(found.consensus, ax=axes())
    for top in (0, 6, 2.0, True):
        with pytest.raises(dk.InputError, match="from 1 to 5"):
            plot_consensus(found, top=top, ax=axes())
