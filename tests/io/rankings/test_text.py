"""Orders as text, with names of any kind and numbers of voters on either side."""

from __future__ import annotations

import numpy as np
import pytest
from ballot_files import rankings, same_order
from hypothesis import given

from distkern import read_rankings, write_rankings
from distkern.core.errors import InputError

NAN = np.nan


def write(folder, text, name="votes.txt"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    "text",
    [
        "ann > bob = cid\nbob > ann\nbob > ann\n",
        "1: ann > bob = cid\n2: bob > ann\n",
        "# of today\n\nann>bob=cid\n2:bob>ann\n",
        "ann > bob = cid, 1\nbob > ann, 2\n",
        "ranking,count\nann > bob = cid,1\nbob > ann,2\n",
        "ann > bob = cid\t1\r\nbob > ann\t2\r\n",
        '"ann" > "bob"=cid ; 1\nbob > "ann"; 2\n',
        "\ufeffann > bob = cid\n2: bob > ann\n",
    ],
)
@pytest.mark.parametrize("name", ["votes.txt", "votes.csv", "votes"])
def test_orders_with_counts_before_or_after_them(tmp_path, text, name):
    votes = read_rankings(write(tmp_path, text, name), merge=True)
    assert votes.items == ("ann", "bob", "cid")
    np.testing.assert_array_equal(votes.values, [[3, 1.5, 1.5], [2, 3, NAN]])
    assert (votes.kind, votes.counts.tolist()) == (("total", "top"), [1, 2])


def test_a_ballot_of_one_item_may_come_first(tmp_path):
    votes = read_rankings(write(tmp_path, "4: bob\nbob > ann\n"))
    np.testing.assert_array_equal(votes.values, [[NAN, 2], [1, 2]])


def test_a_table_with_the_sign_in_a_name_is_a_table(tmp_path):
    assert read_rankings(write(tmp_path, "id,a>b,c\nx > y,1.5,2\n", "t.csv")).items == ("a>b", "c")


def test_names_with_signs_stand_in_quotation_marks(tmp_path):
    votes = read_rankings(write(tmp_path, '"Lee, 4" > "a>b" = "x ""y"" = z" > Item 1: one\n'))
    assert votes.items == ("Item 1: one", "Lee, 4", "a>b", 'x "y" = z')
    np.testing.assert_array_equal(votes.values, [[1, 4, 2.5, 2.5]])


def test_a_name_with_signs_is_never_taken_for_a_tie_later(tmp_path):
    votes = read_rankings(write(tmp_path, '"x=y" > x > y\nx=y > "x=y"\n'))
    np.testing.assert_array_equal(votes.values, [[2, 3, 1], [2.5, 1, 2.5]])
    assert votes.items == ("x", "x=y", "y")


def test_numbers_are_sorted_as_numbers(tmp_path):
    assert read_rankings(write(tmp_path, "10 > 9 > 2\n")).items == ("2", "9", "10")


def test_items_that_are_given_keep_their_order_and_others_are_refused(tmp_path):
    path = write(tmp_path, "b > a\n")
    assert read_rankings(path, items=["c", "b", "a"]).items == ("c", "b", "a")
    with pytest.raises(InputError, match=r"line 1 .* ranks 'b', which is not among the items"):
        read_rankings(path, items=["a"])


@given(case=rankings())
def test_round_trip(tmp_path_factory, case):
    votes, kind = case
    path = tmp_path_factory.mktemp("text") / "votes.txt"
    write_rankings(votes, path)
    assert same_order(read_rankings(path, format="text", gaps=kind, items=votes.items), votes)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a > > b", r"line 2 of 'votes.txt' \('a > > b'\) has an empty place"),
        ("a > b >", "line 2 .* has an empty place"),
        ("a = = b", "line 2 .* has an empty place"),
        ("3:", "line 2 .* has an empty place"),
        ("a > b > a", "line 2 .* ranks 'a' twice"),
        ("a = a", "line 2 .* ranks 'a' twice"),
        ("0: a > b", "line 2 .* is the order of no voter"),
        ("3: a > b, 4", "line 2 .* has two numbers of voters"),
        ('a > "b" c', "line 2 .* has quotation marks inside a name"),
        ('a > "b', "line 2 .* has quotation marks inside a name"),
        ('"a > b"', "line 2 .* is one name in quotation marks"),
    ],
)
def test_lines_that_cannot_be_read_are_named(tmp_path, line, message):
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, f"a > b\n{line}\n"))


def test_options_of_tables_are_refused(tmp_path):
    with pytest.raises(InputError, match="is orders as text, not a table: leave out count="):
        read_rankings(write(tmp_path, "a > b\n"), count="n")
    with pytest.raises(InputError, match="holds no orders"):
        read_rankings(write(tmp_path, "# nothing\n"), format="text")
