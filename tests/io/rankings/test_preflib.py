"""Files of PrefLib, of both formats: round trips, and a sentence for every line that cannot be read."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from ballot_files import SOC, rankings, same_order
from hypothesis import given
from hypothesis import strategies as st

from distkern import PairwiseVotes, Rankings, read_rankings, write_rankings
from distkern.core.errors import InputError
from distkern.io.rankings.preflib import type_of

NAN = np.nan
HEAD = SOC.split("5: ")[0]
NAMES = ("Ann", 'Bob: "B" Lee, Jr.', "Cid")

OLD = "3\n1,Ann\n2,Bob\n3,Cid, Jr.\n9,9,3\n5,1,2,3\n3,{1,3},2\n1,2\n"

CAT = """\
# FILE NAME: 1.cat
# TITLE: Approval
# DATA TYPE: cat
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 6
# NUMBER CATEGORIES: 3
# CATEGORY NAME 1: Yes
# CATEGORY NAME 2: Maybe
# CATEGORY NAME 3: No
# ALTERNATIVE NAME 1: a
# ALTERNATIVE NAME 2: b
# ALTERNATIVE NAME 3: c
3: 1,{},{2,3}
2: {},{},{1,2,3}
1: {1,2},3,{}
"""

WMD = """\
# FILE NAME: 1.wmd
# DATA TYPE: wmd
# NUMBER ALTERNATIVES: 3
# NUMBER EDGES: 2
# ALTERNATIVE NAME 1: a
# ALTERNATIVE NAME 2: b
# ALTERNATIVE NAME 3: c
1,3,2.5
3, 1, 1.0
"""


def write(folder, text, name="votes.soc"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_strict_orders(tmp_path):
    votes = read_rankings(write(tmp_path, SOC))
    assert votes.items == NAMES
    np.testing.assert_array_equal(votes.values, [[3, 2, 1], [2, 1, 3], [1, 3, 2]])
    assert votes.counts.tolist() == [5, 3, 1]
    assert set(votes.kind) == {"total"}
    assert votes.metadata["title"] == "Netflix Prize Data"
    assert votes.metadata["format"] == "PrefLib soc"


@pytest.mark.parametrize("name", ["votes.soc", "votes.txt", "votes", "votes.csv", "votes.txt.gz"])
@pytest.mark.parametrize("start", ["", "\ufeff", "# a comment of an editor\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_content_tells_the_format_whatever_the_name(tmp_path, name, start, end):
    content = (start + SOC).replace("\n", end).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert read_rankings(tmp_path / name) == read_rankings(write(tmp_path, SOC))


def test_the_older_format_is_read(tmp_path):
    votes = read_rankings(write(tmp_path, OLD, "old.toi"))
    assert votes.items == ("Ann", "Bob", "Cid, Jr.")
    np.testing.assert_array_equal(votes.values, [[3, 2, 1], [2.5, 1, 2.5], [NAN, 3, NAN]])
    assert votes.kind == ("total", "total", "top")
    assert votes.counts.tolist() == [5, 3, 1]
    assert read_rankings(write(tmp_path, OLD, "old")) == votes


def test_orders_that_end_early_are_top_or_what_the_caller_says(tmp_path):
    path = write(tmp_path, HEAD.replace("soc", "soi") + "9: 2\n", "votes.soi")
    assert read_rankings(path).kind == ("top",)
    assert read_rankings(path, gaps="interleaving").kind == ("interleaving",)


def test_categories_keep_their_places(tmp_path):
    votes = read_rankings(write(tmp_path, CAT, "1.cat"))
    np.testing.assert_array_equal(votes.values, [[3, 1, 1], [1, 1, 1], [3, 3, 2]])
    assert votes.metadata["category_3"] == "No"
    write_rankings(votes, tmp_path / "again.cat")
    again = read_rankings(tmp_path / "again.cat")
    assert again == votes
    assert {**again.metadata, "file_name": ""} == {
        **votes.metadata,
        "file_name": "",
        **{key: "" for key in again.metadata if again.metadata[key] == "" and key not in votes.metadata},
    }


def test_categories_with_gaps_are_asked_about(tmp_path):
    path = write(tmp_path, CAT.replace("3: 1,{},{2,3}", "3: 1,{},{2}"), "1.cat")
    with pytest.raises(InputError, match=r"ballot 1 in '1.cat' has no value for 'c': write gaps='top' if"):
        read_rankings(path)
    assert read_rankings(path, gaps="interleaving").kind == ("interleaving", "total", "total")


def test_edges_are_pairwise_votes(tmp_path):
    votes = read_rankings(write(tmp_path, WMD, "1.wmd"))
    assert votes == PairwiseVotes(("a", "b", "c"), np.array([[0, 0, 2.5], [0, 0, 0], [1, 0, 0]]))
    write_rankings(votes, tmp_path / "again.wmd")
    assert read_rankings(tmp_path / "again.wmd") == votes


@given(case=rankings())
def test_orders_round_trip(tmp_path_factory, case):
    votes, kind = case
    path = tmp_path_factory.mktemp("preflib") / f"votes.{type_of(votes)}"
    write_rankings(votes, path)
    assert same_order(read_rankings(path, gaps=kind), votes)


@given(case=rankings())
def test_categories_round_trip(tmp_path_factory, case):
    votes, kind = case
    path = tmp_path_factory.mktemp("preflib") / "votes.cat"
    write_rankings(votes, path)
    assert same_order(read_rankings(path, gaps=kind), votes)


@given(wins=st.lists(st.floats(0, 1e6), min_size=9, max_size=9))
def test_edges_round_trip(tmp_path_factory, wins):
    matrix = np.array(wins).reshape(3, 3)
    np.fill_diagonal(matrix, 0)
    votes = PairwiseVotes(("a", "b, c", "d: e"), matrix)
    path = tmp_path_factory.mktemp("preflib") / "votes.wmd"
    write_rankings(votes, path)
    assert read_rankings(path) == votes


@given(case=rankings(), data=st.data())
def test_equal_ballots_merge_as_if_they_were_distinct(tmp_path_factory, case, data):
    votes, kind = case
    rows = data.draw(st.lists(st.integers(0, len(votes) - 1), min_size=1, max_size=12))
    path = tmp_path_factory.mktemp("preflib") / "votes.toi"
    write_rankings(votes[rows], path)
    assert read_rankings(path, gaps=kind, merge=True) == read_rankings(path, gaps=kind).distinct()[0]


def test_tied_alternatives_merge_in_any_order(tmp_path):
    path = write(tmp_path, HEAD.replace("soc", "toc") + "4: {1,2},3\n5: {2, 1},3\n", "votes.toc")
    assert read_rankings(path, merge=True).counts.tolist() == [9]


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        ("9: 1,,3\n", "line 10 of 'v.toi' .'9: 1,,3'. has an empty place: take out a comma"),
        ("9: 1,2,\n", "line 10 .* has an empty place"),
        ("8: 1\n1:\n", "line 11 .* has an empty place"),
        ("8: 1\n1: 1,2,1\n", "line 11 of 'v.toi' .'1: 1,2,1'. ranks 1 twice: rank each alternative once"),
        ("9: {1,1},2\n", "line 10 .* ranks 1 twice"),
        ("9: 1,4\n", "line 10 .* ranks '4': alternatives are the numbers 1 to 3"),
        ("9: Ann\n", "line 10 .* ranks 'Ann'"),
        ("9: 1.0\n", "line 10 .* ranks '1.0'"),
        ("9: {1,2\n", "line 10 .* has braces that do not match"),
        ("9: 1},2\n", "line 10 .* has braces that do not match"),
        ("9: {1}{2}\n", "line 10 .* has braces that do not match, or no comma"),
        ("9: {},1\n", "line 10 .* has empty braces"),
        ("9 1,2\n", "line 10 .* does not begin with a number of voters"),
        ("1,2,3\n", "line 10 .* does not begin with a number of voters"),
        ("x: 1,2\n", "line 10 .* does not begin with a number of voters"),
        ("-9: 1,2\n", "line 10 .* does not begin with a number of voters"),
        ("0: 1,2\n", "line 10 .* is the order of no voter"),
        ("8: 1,2\n", "counts 9 voters, and its lines 8: get the file again"),
        ("", "holds no orders"),
    ],
)
def test_lines_that_cannot_be_read_are_named(tmp_path, orders, message):
    path = write(tmp_path, HEAD.replace("soc", "toi") + orders, "v.toi")
    for merge in (False, True):
        with pytest.raises(InputError, match=message):
            read_rankings(path, merge=merge)


@pytest.mark.parametrize(
    ("kind", "order", "message"),
    [
        ("soc", "1,2", "ranks 2 of 3 alternatives, and soc files rank all: complete it, or call the file .soi or .toi"),
        ("toc", "{1,2}", "ranks 2 of 3 alternatives"),
        ("soc", "1,{2,3}", "has ties, and soc files have none"),
        ("soi", "{1,3}", "has ties, and soi files have none"),
    ],
)
def test_orders_are_of_the_type_of_the_file(tmp_path, kind, order, message):
    for text, name in ((HEAD.replace("soc", kind), "v.txt"), (HEAD.replace("# DATA TYPE: soc\n", ""), f"v.{kind}")):
        with pytest.raises(InputError, match=f"line {len(text.splitlines()) + 1} .*{message}"):
            read_rankings(write(tmp_path, text + f"9: {order}\n", name))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("VOTERS: 9", "VOTERS: nine", "line 5 of 'v.soc' .* does not hold a whole number"),
        ("TYPE: soc", "TYPE: tog", "line 3 .* names no type that is read: those are soc"),
        ("NAME 3: Cid", "NAME 3: Ann", "line 9 .* gives alternative 3 the name of line 7"),
        ("NAME 3: Cid", "NAME 3:", "line 9 .* gives alternative 3 no name"),
        ("NAME 3: Cid", "NAME 2: Cid", "line 9 .* names alternative 2 a second time"),
        ("NAME 3: Cid", "NAME 7: Cid", "counts 3 alternatives and names number 7"),
        ("ALTERNATIVES: 3", "ALTERNATIVES: 0", "names no alternatives"),
    ],
)
def test_headers_that_cannot_be_read(tmp_path, before, after, message):
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, SOC.replace(before, after), "v.soc"))


def test_an_alternative_without_a_name_is_called_by_its_number(tmp_path):
    path = write(tmp_path, SOC.replace("# ALTERNATIVE NAME 3: Cid\n", ""))
    with pytest.warns(UserWarning, match="gives alternative 3 no name: it is called by its number"):
        assert read_rankings(path).items[2] == "3"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("2,Bob", "5,Bob", "line 3 .* does not name alternative 2"),
        ("2,Bob", "Bob", "line 3 .* does not name alternative 2"),
        ("9,9,3", "9", "line 5 .* does not hold three numbers"),
        ("9,9,3", "10,10,3", "counts 10 voters, and its lines 9"),
        ("5,1,2,3", "5,1,2,2", "line 6 .* ranks 2 twice"),
    ],
)
def test_the_older_format_names_lines_too(tmp_path, before, after, message):
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, OLD.replace(before, after), "old.toi"))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("{1,2},3,{}", "{1,2},3", "line 15 .* has 2 categories, not 3: write {}"),
        ("{1,2},3,{}", "{1,2},2,{3}", "line 15 .* ranks 2 twice"),
        ("VOTERS: 6", "VOTERS: 7", "counts 7 voters, and its lines 6"),
    ],
)
def test_categories_that_cannot_be_read(tmp_path, before, after, message):
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, CAT.replace(before, after), "1.cat"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,1,2", "line 10 .* is no edge"),
        ("1,2", "line 10 .* is no edge"),
        ("1,7,2", "line 10 .* is no edge"),
        ("1,2,x", "line 10 .* has the weight 'x'"),
        ("1,2,-1", "line 10 .* has the weight '-1'"),
        ("1,3,2", "line 10 .* repeats an edge"),
        ("1,2,2", "counts 2 edges, and the file has 3"),
    ],
)
def test_edges_that_cannot_be_read(tmp_path, line, message):
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, WMD + line + "\n", "1.wmd"))


def test_a_type_that_cannot_hold_the_rankings_is_refused(tmp_path):
    votes = Rankings.from_orderings([["a", ("b", "c")], ["b"]], kind=["total", "top"])
    for kind in ("soc", "soi", "toc", "wmd"):
        with pytest.raises(
            InputError, match=rf"a .{kind} file cannot hold these rankings \(toi\): call it .toi or .cat"
        ):
            write_rankings(votes, tmp_path / f"votes.{kind}")
    assert list(tmp_path.iterdir()) == []
