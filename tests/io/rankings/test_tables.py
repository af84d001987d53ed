"""Tables of ballots: wide, long and pairwise; what cannot be told is asked, and lines that cannot be read are named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from ballot_files import names, rankings, same_order
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from distkern import PairwiseVotes, read_rankings, write_rankings
from distkern.core.errors import InputError

NAN = np.nan


def write(folder, text, name="votes.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


# Wide --------------------------------------------------------------------------------------------------------------

RANKS = "voter,ann,bob,cid,count\nv1,1,3,2,10\nv2,2,1,3,4\nv3,1,2,3,0\n"


def test_ranks_or_scores_are_asked_about(tmp_path):
    path = write(tmp_path, RANKS)
    with pytest.raises(InputError) as raised:
        read_rankings(path)
    assert "write values='ranks' if 1 is the best, so that the first ballot puts 'ann' first" in str(raised.value)
    assert "or values='scores' if the largest value is the best, so that it puts 'bob' first" in str(raised.value)
    ranks, scores = read_rankings(path, values="ranks"), read_rankings(path, values="scores")
    np.testing.assert_array_equal(ranks.values, [[3, 1, 2], [2, 3, 1]])
    np.testing.assert_array_equal(scores.values, [[1, 3, 2], [2, 1, 3]])
    assert (ranks.items, ranks.ids, ranks.counts.tolist()) == (("ann", "bob", "cid"), ("v1", "v2"), [10, 4])


def test_numbers_that_are_no_ranks_are_scores(tmp_path):
    votes = read_rankings(write(tmp_path, "id;ann;bob\nx;9.5;2\ny;8;7\n"))
    np.testing.assert_array_equal(votes.values, [[9.5, 2], [8, 7]])
    assert votes.metadata["format"] == "table of scores"


@pytest.mark.parametrize("first", ["first,second,third", "rank_1,rank_2,rank_3", "Choice 1,Choice 2,Choice 3"])
def test_places_are_asked_about(tmp_path, first):
    path = write(tmp_path, f"{first}\nann,bob,cid\nbob,,\n")
    with pytest.raises(InputError, match="look like places, whose cells name items: write values='orderings'"):
        read_rankings(path)
    votes = read_rankings(path, values="orderings")
    np.testing.assert_array_equal(votes.values, [[3, 2, 1], [NAN, 3, NAN]])
    assert (votes.ids, votes.kind) == (None, ("total", "top"))


def test_places_are_sorted_by_their_numbers(tmp_path):
    votes = read_rankings(write(tmp_path, "id,rank_2,rank_1\nx,bob,ann\n"), values="orderings")
    np.testing.assert_array_equal(votes.values, [[2, 1]])


def test_zero_that_means_no_item_is_asked_about(tmp_path):
    path = write(tmp_path, "rank_1,rank_2,rank_3,count\n3,1,2,5\n2,1,0,4\n3,2,0,2\n")
    with pytest.raises(InputError, match=r"0 comes last in all ballots .* write blank='0' if it means no item"):
        read_rankings(path, values="orderings")
    votes = read_rankings(path, values="orderings", blank="0")
    np.testing.assert_array_equal(votes.values, [[2, 1, 3], [2, 3, NAN], [NAN, 2, 3]])
    assert votes.counts.tolist() == [5, 4, 2]
    assert read_rankings(path, values="orderings", items="0123").items == ("0", "1", "2", "3")


@pytest.mark.parametrize(
    ("marks", "values"),
    [
        ("yes,no,yes", [1, -1, 1]),
        ("x,No,X", [1, -1, 1]),
        ("1,0,-1", [1, 0, -1]),
        ("approve,neutral,against", [1, 0, -1]),
        ("TRUE,FALSE,TRUE", [1, -1, 1]),
    ],
)
def test_marks_of_approval(tmp_path, marks, values):
    path = write(tmp_path, f"id,a,b,c\nv,{marks}\n")
    np.testing.assert_array_equal(read_rankings(path).values, [values])
    np.testing.assert_array_equal(read_rankings(path, values="approval").values, [values])


def test_empty_cells_of_an_approval_are_asked_about(tmp_path):
    path = write(tmp_path, "id,a,b,c\nv,x,,x\nw,,x,\n")
    with pytest.raises(InputError, match=r"line 2 in 'votes.csv' has no value for 'b': write gaps='top' if"):
        read_rankings(path)
    votes = read_rankings(path, gaps="top")
    np.testing.assert_array_equal(votes.scores, [[1, -np.inf, 1], [-np.inf, 1, -np.inf]])
    assert read_rankings(path, gaps="interleaving").kind == ("interleaving", "interleaving")


def test_ballots_in_columns(tmp_path):
    path = write(tmp_path, '"","AUS","BHR"\n"Ham","1","Ret"\n"Bot","2",1\n"Ver","3",2\n')
    with pytest.raises(InputError, match=r"line 2 .* has the text 'Ret' in the column 'BHR'.*blank= names other texts"):
        read_rankings(path, samples="columns", values="ranks")
    votes = read_rankings(path, samples="columns", values="ranks", blank=["Ret"], gaps="top")
    np.testing.assert_array_equal(votes.values, [[3, 2, 1], [NAN, 3, 2]])
    assert (votes.items, votes.ids) == (("Ham", "Bot", "Ver"), ("AUS", "BHR"))
    repeated = write(tmp_path, "id,v\na,1\na,2\n", "repeated.csv")
    with pytest.raises(InputError, match=r"line 3 .* repeats the item 'a'"):
        read_rankings(repeated, samples="columns")


@pytest.mark.parametrize(
    ("header", "ids"),
    [("voter", True), ("", True), ("Respondent ID", True), ("patient_id", True), ("name", True), ("ann", False)],
)
def test_the_first_column_names_ballots_if_it_says_so(tmp_path, header, ids):
    votes = read_rankings(write(tmp_path, f"{header},bob,cid\n7,2.5,3\n5,4,1\n"))
    assert votes.ids == (("7", "5") if ids else None)
    assert votes.items == (("bob", "cid") if ids else ("ann", "bob", "cid"))


def test_a_first_column_of_texts_names_ballots(tmp_path):
    assert read_rankings(write(tmp_path, "city,bob,cid\nOslo,2.5,3\nRome,4,1\n")).ids == ("Oslo", "Rome")


def test_a_first_column_that_counts_is_asked_about(tmp_path):
    path = write(tmp_path, "q,bob,cid\n1,2.5,3\n2,4,1\n3,4,9\n")
    with pytest.raises(InputError, match=r"may number the ballots or be an item: write voter='q' if .* voter='' if"):
        read_rankings(path)
    assert read_rankings(path, voter="q").ids == ("1", "2", "3")
    assert read_rankings(path, voter="").items == ("q", "bob", "cid")


def test_items_pick_columns(tmp_path):
    path = write(tmp_path, "voter,sex,bob,age,ann\nv,m,2.5,30,1\nw,f,4,50,9\n")
    votes = read_rankings(path, items=["ann", "bob"])
    np.testing.assert_array_equal(votes.values, [[1, 2.5], [9, 4]])
    with pytest.raises(InputError, match=r"line 2 .* has the text 'm' in the column 'sex'"):
        read_rankings(path)


def test_ballots_without_a_value_are_left_out_with_a_warning(tmp_path):
    with pytest.warns(UserWarning, match=r"1 ballots of 'votes.csv' have no value at all .*first: line 3"):
        votes = read_rankings(write(tmp_path, "id,a,b\nv,5,\nw,,\nx,1,0\n"), gaps="top")
    assert votes.ids == ("v", "x")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("id,a,b\nv,1,x1\n", {"values": "ranks"}, r"line 2 of 'votes.csv' \('v,1,x1'\) has the text 'x1'"),
        ("id,a,b\nv,1,inf\n", {}, "line 2 .* has the text 'inf' in the column 'b'"),
        ("\n\nid,a,b\nv,1,0\n\nw,1,1e999\n", {}, "line 6 .* has the text '1e999'"),
        ("id,a,b\nv,1,9007199254740993\n", {}, "line 2 .* has the text '9007199254740993'"),
        ("id,a,b\nv,1,0\nv,2,0\n", {}, "line 3 .* is of the voter 'v', as line 2 is"),
        ("id,a,b\n,1,0\nv,2,0\n", {}, "line 2 .* names no voter"),
        ("id,a,b\nv,1\n", {}, "line 2 of 'votes.csv' has 1 cells after its name"),
        ("id,a,b,count\nv,1,0,2.5\n", {}, "line 2 .* has the text '2.5' in the column 'count'"),
        ("id,a,b,count\nv,1,0,\n", {}, "line 2 .* has the text '' in the column 'count'"),
        ("id,a,b,count\nv,1,0,-1\n", {}, "line 2 .* has the text '-1'"),
        ("id,a,b,count\nv,1,0,0\n", {}, "holds no ballots with values"),
        ("id,a,b,count,n_votes\nv,1,0,1,1\n", {}, "columns 'count' and 'n_votes' .* may both hold the count"),
        ("id,a,a\nv,1,0\n", {}, "has two columns 'a'"),
        ("id,a,b\nv,yes,perhaps\n", {"values": "approval"}, "line 2 .* has the mark 'perhaps' in the column 'b'"),
        ("id,a,b\n", {}, "holds no ballots: it has a header only"),
        ("id,a,b\nv,,\n", {"gaps": "top"}, "holds no ballot with a value"),
        ("id,a,b\nv,1,0\n", {"items": ["c"]}, "has no column 'c'"),
        ("id,rank_1,party\nv,ann,x\n", {"values": "orderings"}, "the column 'party' .* is no place such as rank_1"),
        ("id,rank_1,rank_2\nv,ann,bob\nw,ann,ann\n", {"values": "orderings"}, "line 3 .* ranks item 'ann' twice"),
        ("id,rank_1,rank_2\nv,,ann\n", {"values": "orderings"}, "line 2 .* has an item after padding"),
        ("id,rank_1\nv,ann\n", {"values": "orderings", "items": ["bob"]}, "line 2 .* ranks 'ann', which is not among"),
    ],
)
def test_wide_lines_that_cannot_be_read_are_named(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, text), **options)


def tidy(votes):
    """Whether the names of the items are those of no other column."""
    return not any(name.strip().lower() in ("count", "voter") for name in votes.items)


@pytest.mark.parametrize("values", ["ranks", "scores"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=rankings())
def test_wide_round_trip(tmp_path_factory, values, suffix, case):
    votes, kind = case
    assume(tidy(votes))
    path = tmp_path_factory.mktemp("wide") / f"votes.{suffix}"
    write_rankings(votes, path, format="wide", values=values)
    again = read_rankings(path, values=values, gaps=kind, sep="\t" if suffix == "tsv" else ",")
    assert same_order(again, votes)
    assert again == votes or values == "ranks"
    assert again.ids == tuple(str(k + 1) for k in range(len(votes)))


@given(case=rankings(ties=False))
def test_orderings_round_trip(tmp_path_factory, case):
    votes, kind = case
    path = tmp_path_factory.mktemp("orderings") / "votes.csv"
    write_rankings(votes, path, format="wide", values="orderings")
    assert same_order(read_rankings(path, values="orderings", gaps=kind, items=votes.items), votes)


# Long --------------------------------------------------------------------------------------------------------------

LONG = "voter,candidate,rank,place_name\nv1,ann,1,x\nv1,bob,2,x\nv2,bob,1,y\nv2,cid,,y\n"


def test_long_tables_are_found_by_their_columns(tmp_path):
    votes = read_rankings(write(tmp_path, LONG), gaps="top")
    assert (votes.items, votes.ids, votes.kind) == (("ann", "bob", "cid"), ("v1", "v2"), ("top", "top"))
    np.testing.assert_array_equal(votes.values, [[3, 2, NAN], [NAN, 3, NAN]])
    assert votes.metadata["format"] == "long table of ranks"
    with pytest.raises(InputError, match=r"the ballot of 'v1' in 'votes.csv' has no value for 'cid': write gaps="):
        read_rankings(write(tmp_path, LONG))


def test_voters_of_several_columns(tmp_path):
    text = "Hall\tPaper\tCandidateName\tPref\nA\t1\tann\t1\nB\t1\tann\t2\nB\t1\tbob\t1\n"
    path = write(tmp_path, text, "t.tsv")
    how = {"item": "CandidateName", "rank": "Pref", "gaps": "top"}
    votes = read_rankings(path, voter=["Hall", "Paper"], **how)
    assert votes.ids == ("A, 1", "B, 1")
    np.testing.assert_array_equal(votes.values, [[2, NAN], [1, 2]])
    with pytest.raises(
        InputError, match=r"lines 2 and 3 of 't.tsv' both hold 'ann' of the voter '1': leave one, or name"
    ):
        read_rankings(path, voter="Paper", **how)


def test_scores_and_counts_of_a_long_table(tmp_path):
    path = write(tmp_path, "judge,item,rating,count\na,x,5,3\nb,x,1,2\na,y,4,3\nb,y,1,2\n")
    votes = read_rankings(path)
    np.testing.assert_array_equal(votes.values, [[5, 4], [1, 1]])
    assert votes.counts.tolist() == [3, 2]
    assert read_rankings(path, items=["y"]).items == ("y",)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("voter,item,rank\nv,a,first\n", {}, r"line 2 of 'votes.csv' \('v,a,first'\) has the text 'first'"),
        ("voter,item,rank\nv,,1\n", {}, "line 2 .* names no voter or no item"),
        ("voter,item,rank\n,a,1\n", {}, "line 2 .* names no voter or no item"),
        ("voter,item,rank\nv,a,1\nv,b,2\nv,a,3\n", {}, "lines 2 and 4 .* both hold 'a' of the voter 'v'"),
        ("voter,item,rank,score\nv,a,1,2\n", {}, "has two columns of ranks .* or scores .*: name one with rank= or"),
        ("voter,item,rank,score\nv,a,1,2\n", {"rank": "rank", "score": "score"}, "give one of them"),
        ("voter,item,rank,count\nv,a,1,2\nv,b,2,3\n", {}, "line 3 .* gives this voter the count 3, and 2 before"),
        ("voter,user,item,rank\nv,a,1,2\n", {}, "the columns 'voter' and 'user' .* may both hold the voter"),
        ("voter,item,rank\n", {}, "holds no values"),
        ("a,b,c\n1,2,3\n", {"format": "long"}, "has no column of the voter: name it with voter="),
        ("voter,item,c\n1,2,3\n", {"format": "long"}, "has no column of ranks"),
    ],
)
def test_long_lines_that_cannot_be_read_are_named(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, text), **options)


@pytest.mark.parametrize("values", ["ranks", "scores"])
@given(case=rankings())
def test_long_round_trip(tmp_path_factory, values, case):
    votes, kind = case
    path = tmp_path_factory.mktemp("long") / "votes.csv"
    write_rankings(votes, path, format="long", values=values)
    assert same_order(read_rankings(path, gaps=kind, items=votes.items), votes)


# Pairwise ----------------------------------------------------------------------------------------------------------


def test_results_are_counted_whoever_judged(tmp_path):
    text = "winner,loser,judge,count,tie\na,b,x,3,0\nb,a,y,1,0\na,b,x,2,1\nc,a,z,1,\n"
    votes = read_rankings(write(tmp_path, text))
    np.testing.assert_array_equal(votes.wins, [[0, 3, 0], [1, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(votes.ties, [[0, 2, 0], [2, 0, 0], [0, 0, 0]])
    assert votes.metadata["format"] == "pairwise results"


def test_cycles_of_one_judge_stay(tmp_path):
    votes = read_rankings(write(tmp_path, "winner,loser\na,b\nb,c\nc,a\n"))
    np.testing.assert_array_equal(votes.wins, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_two_items_and_which_of_them_wins(tmp_path):
    text = "model_a,model_b,winner\nx,y,model_a\ny,x,model_a\nx,y,tie\nx,y,tie (both bad)\nz,x,x\ny,z,b\n"
    votes = read_rankings(write(tmp_path, text))
    np.testing.assert_array_equal(votes.wins, [[0, 1, 1], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(votes.ties, [[0, 2, 0], [2, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("winner,loser\na,b\na,a\n", r"line 3 of 'votes.csv' \('a,a'\) is a result of 'a' and 'a'"),
        ("winner,loser\na,\n", "line 2 .* is a result of 'a' and ''"),
        ("winner,loser,tie\na,b,perhaps\n", "line 2 .* has the text 'perhaps' in the column 'tie'"),
        ("winner,loser,count\na,b,1.5\n", "line 2 .* has the text '1.5' in the column 'count'"),
        ("model_a,model_b,winner\nx,y,z\n", "line 2 .* has the winner 'z'"),
        ("winner,loser\n", "holds no results"),
    ],
)
def test_results_that_cannot_be_read_are_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_rankings(write(tmp_path, text))


@given(items=st.lists(names, min_size=2, max_size=4, unique=True), data=st.data())
def test_pairwise_round_trip(tmp_path_factory, items, data):
    n = len(items)
    cells = st.lists(st.integers(0, 5), min_size=n * n, max_size=n * n)
    wins, ties = (np.array(data.draw(cells), dtype=float).reshape(n, n) for _ in range(2))
    np.fill_diagonal(wins, 0)
    votes = PairwiseVotes(tuple(items), wins, np.triu(ties, 1) + np.triu(ties, 1).T)
    assume(votes.comparisons)
    path = tmp_path_factory.mktemp("pairwise") / "votes.csv"
    write_rankings(votes, path)
    assert read_rankings(path, items=items) == votes


def test_a_table_of_pandas_is_read(tmp_path):
    frame = pd.DataFrame({"ann": [3.5, 1.0], "bob": [2.0, None]}, index=["v", "w"])
    frame.to_csv(tmp_path / "t.csv")
    votes = read_rankings(tmp_path / "t.csv", gaps="interleaving")
    np.testing.assert_array_equal(votes.values, frame.to_numpy())
    assert votes.ids == ("v", "w")
