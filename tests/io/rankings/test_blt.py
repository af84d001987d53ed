"""BLT: ballots of single transferable votes."""

from __future__ import annotations

import numpy as np
import pytest
from ballot_files import rankings, same_order
from hypothesis import given

from distkern import read_rankings, write_rankings
from distkern.core.errors import InputError

NAN = np.nan
TEXT = """\
4 2 # candidates and seats
-2
3 1 3 4 0
2 4 1=3 2 0
1 2 0
0
"Adam"
"Basil ""B"" Lee"
Charlotte
"Donald"
"An election"
"""


def write(folder, text, name="votes.blt"):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("name", ["votes.blt", "votes.txt", "votes"])
def test_ballots_names_and_what_the_file_says(tmp_path, name):
    votes = read_rankings(write(tmp_path, TEXT, name))
    assert votes.items == ("Adam", 'Basil "B" Lee', "Charlotte", "Donald")
    np.testing.assert_array_equal(votes.values, [[4, NAN, 3, 2], [2.5, 1, 2.5, 4], [NAN, 4, NAN, NAN]])
    assert (votes.kind, votes.counts.tolist()) == (("top", "total", "top"), [3, 2, 1])
    said = {"format": "BLT", "seats": "2", "title": "An election", "withdrawn": "2"}
    assert votes.metadata == said
    write_rankings(votes, tmp_path / "again.blt")
    again = read_rankings(tmp_path / "again.blt")
    assert again == votes
    assert again.metadata == said


def test_the_zero_after_a_ballot_may_be_left_out_of_all(tmp_path):
    bare = TEXT.replace("4 0\n", "4\n").replace("2 0\n", "2\n")
    assert read_rankings(write(tmp_path, bare)) == read_rankings(write(tmp_path, TEXT, "other.blt"))


def test_blank_ballots_are_left_out_with_a_warning(tmp_path):
    with pytest.warns(UserWarning, match=r"5 blank ballots of 'votes.blt' are left out"):
        votes = read_rankings(write(tmp_path, TEXT.replace("1 2 0\n", "1 2 0\n5 0\n")))
    assert votes.counts.tolist() == [3, 2, 1]


@given(case=rankings())
def test_round_trip(tmp_path_factory, case):
    votes, kind = case
    path = tmp_path_factory.mktemp("blt") / "votes.blt"
    write_rankings(votes, path)
    assert same_order(read_rankings(path, gaps=kind), votes)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("3 1 3 4 0", "3 1 3 1 0", r"line 3 of 'votes.blt' \('3 1 3 1 0'\) ranks candidate 1 twice"),
        ("1=3", "1=1", "line 4 .* ranks candidate 1 twice"),
        ("3 1 3 4 0", "3 1 7 0", "line 3 .* ranks '7': candidates are the numbers 1 to 4"),
        ("3 1 3 4 0", "3 1 - 4 0", "line 3 .* ranks '-'.*skipped places are left out"),
        ("3 1 3 4 0", "3 (1 3) 4 0", r"line 3 .* ranks '\(1'"),
        ("3 1 3 4 0", "3 1 =3 0", "line 3 .* ranks ''"),
        ("3 1 3 4 0", "2.5 1 0", "line 3 .* does not begin with a number of voters"),
        ("2 4 1=3 2 0", "2 4 1=3 2", "line 4 .* ends otherwise than the ballots before"),
        ("3 1 3 4 0", "3 1 0 2 4 0", "line 3 .* has a 0 inside"),
        ("-2", "-9", "line 2 .* ranks '9'"),
        ("1 2 0\n0\n", "1 2 0\n", "line 6 .*does not begin|line 6"),
        ('"Donald"\n"An election"\n', "", "has 3 names and not those of 4 candidates"),
        ("3 1 3 4 0\n2 4 1=3 2 0\n1 2 0\n", "", "holds no ballot"),
    ],
)
def test_lines_that_cannot_be_read_are_named(tmp_path, before, after, message):
    assert before in TEXT
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, TEXT.replace(before, after)))


@pytest.mark.parametrize("first", ["four 2", "4", "0 1", "4 2 1"])
def test_the_first_line_holds_two_numbers(tmp_path, first):
    with pytest.raises(InputError, match=r"line 1 .* does not hold two numbers"):
        read_rankings(write(tmp_path, first + "\n1 1 0\n0\na\nb\nc\nd\n"))
