"""Writing: the ending tells the format, nothing is replaced unasked, and what a format cannot hold is refused."""

from __future__ import annotations

import numpy as np
import pytest

from distkern import PairwiseVotes, Rankings, read_rankings, write_rankings
from distkern.core.errors import InputError

VOTES = Rankings.from_orderings([["b", "a"], ["a", "b"]], counts=[2, 1])
PAIRS = PairwiseVotes(("a", "b"), [[0, 2], [1, 0]], [[0, 1], [1, 0]])


@pytest.mark.parametrize("name", ["votes.soc", "votes.toi.gz", "votes.blt", "votes.txt", "votes.cat"])
def test_the_ending_tells_the_format(tmp_path, name):
    write_rankings(VOTES, tmp_path / name)
    again = read_rankings(tmp_path / name)
    np.testing.assert_array_equal(again.values, VOTES.values)
    assert again.counts.tolist() == [2, 1]


def test_a_file_is_replaced_only_if_asked(tmp_path):
    path = tmp_path / "votes.soc"
    path.write_text("mine")
    with pytest.raises(InputError, match="exists: give another path, or overwrite=True"):
        write_rankings(VOTES, path)
    assert path.read_text() == "mine"
    write_rankings(VOTES, path, overwrite=True)
    assert read_rankings(path) == VOTES


def test_names_of_voters_stay_in_tables(tmp_path):
    votes = Rankings(VOTES.values, VOTES.items, VOTES.kind, VOTES.counts, ("x", "y"))
    for form in ("wide", "long"):
        write_rankings(votes, tmp_path / f"{form}.csv", format=form)
        again = read_rankings(tmp_path / f"{form}.csv", values="ranks")
        assert again.ids == ("x", "y")
        assert again == votes


@pytest.mark.parametrize(
    ("votes", "name", "options", "message"),
    [
        (VOTES, "v.csv", {}, "does not tell how to write it: give format=, which is 'wide' or 'long'"),
        (VOTES, "v", {}, "does not tell how to write it"),
        (VOTES, "v.csv", {"format": "pairwise"}, "would hold pairwise votes, and these are rankings"),
        (PAIRS, "v.txt", {"format": "text"}, "would hold rankings, and these are pairwise votes"),
        (PAIRS, "v.wmd", {}, "a .wmd file holds no ties"),
        (PAIRS, "v.soc", {}, "a .soc file cannot hold pairwise votes: call it .wmd"),
        (VOTES, "v.csv", {"format": "long", "values": "orderings"}, "a long table holds ranks or scores"),
        (VOTES, "v.csv", {"format": "wide", "values": "order"}, "values must be one of scores, ranks, orderings"),
        (
            Rankings.from_ranks([[1, np.nan], [2, np.nan]], kind=["top", "interleaving"]),
            "v.txt",
            {},
            "no format tells them apart",
        ),
        (
            Rankings.from_ranks([[1, 1]]),
            "v.csv",
            {"format": "wide", "values": "orderings"},
            "ranking '1' has ties, which orderings cannot hold",
        ),
        (Rankings.from_ranks([[np.inf, 1]]), "v.csv", {"format": "wide", "values": "scores"}, "an infinite score"),
        (Rankings.from_ranks([[np.nan, np.nan]], kind="top"), "v.txt", {}, "ranking 0 ranks no item"),
        (Rankings.from_ranks([[1, 2]], items=["count", "a"]), "v.csv", {"format": "wide"}, "the item 'count' would be"),
        (
            Rankings.from_ranks([[1, 2]], items=["item", "rank"]),
            "v.csv",
            {"format": "wide"},
            "would be read as another",
        ),
        (
            Rankings.from_ranks([[1, 2]], items=["NA", "a"]),
            "v.csv",
            {"format": "wide", "values": "orderings"},
            "the item 'NA' would be read as an empty cell",
        ),
    ],
)
def test_what_a_format_cannot_hold_is_refused(tmp_path, votes, name, options, message):
    with pytest.raises(InputError, match=message):
        write_rankings(votes, tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []
