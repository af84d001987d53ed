"""The format follows from the content; options that a format does not have are refused."""

from __future__ import annotations

import numpy as np
import pytest
from ballot_files import SOC

from distkern import Kendall, PairwiseVotes, Rankings, compute_gram, read_rankings
from distkern.core.errors import DistkernError, InputError
from distkern.io.rankings import lines
from distkern.io.rankings.lines import Options
from distkern.io.rankings.read import described, format_of
from distkern.io.source import as_source

FILES = {
    "preflib": SOC,
    "blt": "2 1\n3 1 2 0\n0\na\nb\n",
    "text": "a > b\n",
    "wide": "id,a,b\nv,1,0\n",
    "long": "voter,item,score\nv,a,1\n",
    "pairwise": "winner,loser\na,b\n",
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("name", ["votes.txt", "votes.csv", "votes"])
def test_content_tells_the_format(tmp_path, kind, name):
    path = tmp_path / name
    path.write_text(FILES[kind])
    assert format_of(path) == kind


@pytest.mark.parametrize(("suffix", "kind"), [("soc", "preflib"), ("cat", "preflib"), ("blt", "blt")])
def test_a_name_promises_a_format_whose_first_line_is_then_wrong(tmp_path, suffix, kind):
    path = tmp_path / f"votes.{suffix}"
    path.write_text("nonsense\n")
    assert format_of(path, Options()) == kind
    with pytest.raises(InputError):
        read_rankings(path)


def test_files_that_are_no_ballots(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_rankings(tmp_path / "none.soc")
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04\x00\x00")
    with pytest.raises(InputError, match="is no text file: save its table as text"):
        read_rankings(tmp_path / "x.xlsx")
    (tmp_path / "x.soc").write_bytes(SOC.replace("Ann", "Zoë").encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_rankings(tmp_path / "x.soc")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="is empty"):
        read_rankings(tmp_path / "empty.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "prefs"}, "format must be one of preflib"),
        ({"values": "rank"}, "values must be one of scores"),
        ({"gaps": "last"}, "gaps must be one of top"),
        ({"samples": "row"}, "samples must be one of rows"),
        ({"merge": 1}, "merge must be True or False"),
        ({"voter": "x"}, "is a file of PrefLib, not a table: leave out voter="),
        ({"blank": "x"}, "leave out blank="),
        ({"items": ["a"]}, "names its items itself: leave out items="),
    ],
)
def test_options_are_checked(tmp_path, options, message):
    (tmp_path / "votes.soc").write_text(SOC)
    with pytest.raises(DistkernError, match=message):
        read_rankings(tmp_path / "votes.soc", **options)


def test_a_table_merges_too(tmp_path):
    (tmp_path / "votes.csv").write_text("id,a,b,count\nv,2.5,1,3\nw,2.5,1,4\n")
    votes = read_rankings(tmp_path / "votes.csv", merge=True)
    assert (votes.counts.tolist(), votes.ids) == ([7], None)


@pytest.mark.parametrize("kind", ["preflib", "blt", "text"])
def test_files_that_are_no_tables_are_cohorts(tmp_path, kind):
    path = tmp_path / "votes"
    path.write_text(FILES[kind])
    votes = read_rankings(path)
    source = as_source(path)
    np.testing.assert_array_equal(source.read(slice(None)), votes.scores)
    assert (source.features, source.kinds, source.counts.tolist()) == (votes.items, votes.kind, votes.counts.tolist())


def test_a_matrix_is_computed_from_a_file(tmp_path):
    (tmp_path / "votes.soc").write_text(SOC)
    gram = compute_gram(Kendall(), tmp_path / "votes.soc", store=tmp_path / "x.zarr", progress=False)
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(read_rankings(tmp_path / "votes.soc")))


def test_edges_are_no_cohort(tmp_path):
    (tmp_path / "x.wmd").write_text(
        "# DATA TYPE: wmd\n# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n1,2,3\n"
    )
    with pytest.raises(InputError, match="holds pairwise votes, which are no ballots"):
        as_source(tmp_path / "x.wmd")


def test_what_was_read_is_described():
    votes = Rankings.from_orderings([["a", "b"], ["b"]], kind=["total", "top"], counts=[5000, 738])
    assert described(votes) == "5,738 ballots (2 different) of 2 items, 5,000 total and 738 with unranked items last"
    assert described(PairwiseVotes(("a", "b"), [[0, 2], [1, 0]])) == "3 comparisons of 2 items"


def test_progress_is_reported_by_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LINES", 4)
    path = tmp_path / "votes.txt"
    path.write_text("a > b\n" * 10)
    events = []
    read_rankings(path, progress=events.append)
    assert [event.done for event in events] == sorted(event.done for event in events)
    assert (events[-1].done, events[-1].total, events[-1].phase) == (60, 60, "reading ballots")
    assert len(events) == 3
