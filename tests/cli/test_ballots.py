"""Ballots are never read upside down: which end is the best is told, follows from the values, or is asked for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from distkern import (
    PartialKendall,
    Rankings,
    WeightedKendall,
    cluster_consensus,
    cluster_numbers,
    consensus_ranking,
    open_gram,
)
from distkern.cli.ballots import directed, gaps_come_last
from distkern.report import write_cluster_report

TOP = ("--kernel", "partial-kendall", "--param", "kind=top")
RANKS = [[1, 2, 3], [2, 1, 3], [1, 3, 2]]
"""1 = best: a wins the first and the third ballot."""


def table(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def ranks(tmp_path):
    rows = [[f"v{number}", *row, count] for number, (row, count) in enumerate(zip(RANKS, (10, 2, 5), strict=True))]
    return table(tmp_path / "ranks.csv", "id,a,b,c,count", rows)


@pytest.fixture
def places(tmp_path):
    rows = [["v1", "ann", "bob", "cid"], ["v2", "bob", "ann", "cid"], ["v3", "ann", "cid", "bob"]]
    return table(tmp_path / "places.csv", "id,rank_1,rank_2,rank_3", rows)


def consensus(result):
    assert result.exit_code == 0, result.stderr
    return [group["consensus"] for group in json.loads(result.stdout)["clusters"]]


def test_items_without_a_value_come_last_for_a_kernel_of_kind_top(run, tmp_path):
    """Ten of eleven voters put a first, and b next to nothing."""
    path = table(tmp_path / "top.csv", ",a,b,c,count", [["x", 3, "", "", 10], ["y", 2, 3, "", 1]])
    words = ("--samples", "rows", *TOP, "--weight", "count", "--consensus", "kemeny")
    votes = Rankings.from_ranks([[3, np.nan, np.nan], [2, 3, np.nan]], kind="top", items="abc", counts=[10, 1])
    expected = list(consensus_ranking(votes, method="kemeny").items)
    assert expected[0] == "a"
    assert consensus(run("cluster", path, "-k", 1, *words, "--json")) == [expected]
    said = run("cluster", path, "-k", 1, *words).stdout
    assert "the first ballot, 'x', puts 'a' first; items without a value come last" in said
    assert "2 samples of" in said
    assert "(11 by 'count')" in said
    store = tmp_path / "top.store"
    assert run("gram", path, store, "--samples", "rows", *TOP, "--label", "count").exit_code == 0
    stored = run("cluster", store, "-k", 1, "--cohort", path, *words[:2], *words[-4:], "--json")
    assert consensus(stored) == [expected]


def test_nested_kernel_of_kind_top_is_one(run, tmp_path):
    kernel = PartialKendall(kind="top").normalized() + PartialKendall()
    assert gaps_come_last(kernel)
    assert directed(kernel)
    assert not gaps_come_last(PartialKendall().normalized())
    assert not directed(2.0 * PartialKendall())
    assert directed(WeightedKendall().normalized())


def test_values_that_may_be_ranks_or_scores_are_asked_about(run, ranks):
    words = ("cluster", ranks, "-k", 1, "--samples", "rows", "--kernel", "kendall", "--weight", "count")
    refused = run(*words, "--consensus", "borda")
    assert refused.exit_code == 3
    assert "--values ranks if 1 is the best, so that the first ballot puts 'a' first" in refused.stderr
    assert "--values scores if the largest value is the best, so that it puts 'c' first" in refused.stderr
    assert run(*words).exit_code == 0  # the clusters are the same either way
    assert consensus(run(*words, "--consensus", "borda", "--values", "ranks", "--json"))[0] == ["a", "b", "c"]
    assert consensus(run(*words, "--consensus", "borda", "--values", "scores", "--json"))[0] == ["c", "b", "a"]


def test_values_that_are_no_ranks_are_scores(run, tmp_path):
    path = table(tmp_path / "scores.csv", "id,a,b,c", [["v", 9.5, 2, 3], ["w", 8, 7, 1]])
    done = run("cluster", path, "-k", 1, "--samples", "rows", "--kernel", "kendall", "--consensus", "borda")
    assert done.exit_code == 0
    assert "ballots       the largest value is the best (scores): the first ballot, 'v', puts 'a' first" in done.stdout


@pytest.mark.parametrize("command", ["gram", "cluster"])
@pytest.mark.parametrize("kernel", [("--kernel", "weighted-kendall"), TOP])
def test_kernels_that_weigh_the_best_items_ask_too(run, tmp_path, ranks, command, kernel):
    more = (tmp_path / "x.store",) if command == "gram" else ("-k", 1)
    words = (command, ranks, *more, "--samples", "rows", "--label", "count", *kernel)
    assert "--values ranks if 1 is the best" in run(*words).stderr
    assert run(*words, "--values", "ranks").exit_code == 0


def test_matrix_of_ranks_is_that_of_their_reverse(run, tmp_path, ranks):
    store = tmp_path / "x.store"
    words = ("--samples", "rows", "--label", "count")
    done = run("gram", ranks, store, *words, "--kernel", "weighted-kendall", "--values", "ranks")
    assert "ballots: 1 is the best (ranks): the first ballot, 'v0', puts 'a' first" in done.stdout
    kernel = WeightedKendall()
    np.testing.assert_allclose(open_gram(store).to_numpy(), kernel(4 - np.array(RANKS)), rtol=1e-13)
    assert not np.allclose(open_gram(store).to_numpy(), kernel(np.array(RANKS)))
    assert "values='ranks'" in run("info", store).stdout
    more = table(tmp_path / "more.csv", "id,a,b,c", [["new", 3, 1, 2]])
    refused = run("append", more, store, "--samples", "rows", "--values", "scores")
    assert "were read with --values ranks" in refused.stderr
    assert run("append", more, store, "--samples", "rows").exit_code == 0
    np.testing.assert_allclose(open_gram(store).to_numpy(), kernel(4 - np.array([*RANKS, [3, 1, 2]])), rtol=1e-13)


def test_consensus_of_a_store_uses_the_direction_that_gram_was_told(run, tmp_path, ranks):
    store = tmp_path / "x.store"
    words = ("--samples", "rows", "--weight", "count", "--consensus", "kemeny", "--cohort", ranks, "--json")
    label = ("--samples", "rows", "--label", "count", "--kernel")
    assert run("gram", ranks, store, *label, "weighted-kendall", "--values", "ranks").exit_code == 0
    assert consensus(run("cluster", store, "-k", 1, *words))[0] == ["a", "b", "c"]
    refused = run("cluster", store, "-k", 1, *words, "--values", "scores")
    assert refused.exit_code == 3
    assert "sample 'v0' of 'ranks.csv' has other values than the store holds for it" in refused.stderr


def test_cohort_with_other_values_under_the_same_names_is_refused(run, tmp_path, ranks):
    store = tmp_path / "x.store"
    assert run("gram", ranks, store, "--samples", "rows", "--label", "count", "--kernel", "kendall").exit_code == 0
    other = table(tmp_path / "other.csv", "id,a,b,c", [["v0", 1, 2, 3], ["v1", 3, 1, 2], ["v2", 1, 3, 2]])
    words = ("--samples", "rows", "--consensus", "borda", "--values", "ranks")
    refused = run("cluster", store, "-k", 1, *words, "--cohort", other)
    assert refused.exit_code == 3
    assert "sample 'v1' of 'other.csv' has other values" in refused.stderr
    assert "'ranks.csv'" in refused.stderr
    assert run("cluster", store, "-k", 1, *words, "--cohort", ranks, "--weight", "count").exit_code == 0


@pytest.mark.parametrize("cells", [["ann", "bob", "cid"], ["1", "2", "3"]])
@pytest.mark.parametrize("command", ["gram", "cluster", "plan"])
def test_columns_of_places_are_asked_about(run, tmp_path, command, cells):
    path = table(tmp_path / "p.csv", "id,rank_1,rank_2,rank_3", [["v1", *cells], ["v2", *cells[::-1]]])
    more = ("-k", 1) if command == "cluster" else (tmp_path / "x.store",)
    refused = run(command, path, *more, "--samples", "rows", "--kernel", "kendall")
    assert refused.exit_code == 3
    assert "(rank_1, …, rank_3) look like places, whose cells name items: write --values orderings" in refused.stderr
    told = run(command, path, *more, "--samples", "rows", "--kernel", "kendall", "--values", "orderings")
    assert told.exit_code == 0, told.stderr


def test_orderings_are_read_from_the_best_item(run, places):
    words = ("cluster", places, "-k", 1, "--samples", "rows", "--kernel", "kendall", "--consensus", "kemeny")
    done = run(*words, "--values", "orderings", "--json")
    orderings = [["ann", "bob", "cid"], ["bob", "ann", "cid"], ["ann", "cid", "bob"]]
    expected = cluster_consensus(Rankings.from_orderings(orderings), [0] * 3, method="kemeny")[0]
    assert consensus(done) == [list(expected.items)] == [["ann", "bob", "cid"]]
    ballots = json.loads(done.stdout)["ballots"]
    about = "3 ballots (3 different) of 3 items, all total; table of orderings"
    assert ballots == {"values": "orderings", "ballot": "v1", "first": ["ann"], "gaps": None, "about": about}


def test_orderings_are_told_by_the_number_of_the_place(run, tmp_path):
    path = table(
        tmp_path / "p.csv", "id,rank_2,rank_1", [["v1", "bob", "ann"], ["v2", "ann", "bob"], ["v3", "", "ann"]]
    )
    words = ("cluster", path, "-k", 1, "--samples", "rows", *TOP, "--consensus", "borda", "--values", "orderings")
    assert consensus(run(*words, "--json")) == [["ann", "bob"]]


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        ("id,rank_1,party", ["v", "ann", "x"], "the column 'party' of 'p.csv' is no place such as rank_1"),
        ("id,rank_1,rank_2", ["v", "ann", "ann"], "ranks item 'ann' twice"),
        ("id,rank_1,rank_2", ["v", "", "ann"], "after padding"),
    ],
)
def test_orderings_that_cannot_be_read(run, tmp_path, header, row, said):
    path = table(tmp_path / "p.csv", header, [row])
    refused = run("cluster", path, "-k", 1, "--samples", "rows", "--kernel", "kendall", "--values", "orderings")
    assert refused.exit_code == 3
    assert said in refused.stderr


def test_page_of_top_k_rankings_says_their_kind(tmp_path):
    votes = Rankings.from_orderings([["a", "b"], ["b"], ["a", "c", "b"]], kind=["top", "top", "total"])
    numbers = cluster_numbers(votes, [2], kernel=PartialKendall(), random_state=0)
    text = write_cluster_report(tmp_path / "p.html", votes, numbers, kernel=PartialKendall()).read_text("utf-8")
    assert "2 top, 1 total" in text
    assert "−∞ one that comes last, as in top-k rankings" in text
