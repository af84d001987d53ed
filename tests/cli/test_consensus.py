"""``distkern consensus`` gives what the library gives, and refuses ballots that it could read in two ways."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from distkern import Rankings, bootstrap_consensus, consensus_ranking
from distkern.datasets import load_apa


@pytest.fixture
def votes(tmp_path):
    apa = load_apa()
    lines = ["id,ann,bob,cid,dee,eve,count"]
    for number, (ballot, count) in enumerate(zip(6 - apa.values, apa.counts, strict=True)):
        lines.append(",".join([f"b{number}", *(f"{rank:g}" for rank in ballot), str(count)]))
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


NAMES = ("ann", "bob", "cid", "dee", "eve")
READ = ("--samples", "rows", "--values", "ranks", "--weight", "count")


def answer(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("method", ["kemeny", "borda", "copeland", "median-rank", "local-search"])
def test_ranking_bound_and_uniqueness_are_those_of_the_library(run, votes, method):
    found = answer(run("consensus", votes, *READ, "--method", method, "--json"))
    best = consensus_ranking(
        Rankings.from_ranks(load_apa().values, items=NAMES, counts=load_apa().counts), method=method
    )
    assert found["order"] == str(best)
    assert [row["item"] for row in found["items"]] == list(best.items)
    assert (found["discordant_pairs"], found["lower_bound"]) == (best.distance, best.lower_bound)
    assert (found["gap"], found["optimal"], found["unique_winner"]) == (best.gap, best.optimal, best.unique)
    assert (found["optimal_orders"], found["optimal_orders_exact"]) == (best.n_optimal, best.n_optimal_exact)
    assert (found["footrule"], found["voters"], found["ballots"]) == (best.footrule, 5738, 120)


def test_words_tell_order_value_bound_proof_and_winner(run, votes):
    said = run("consensus", votes, *READ).stdout
    best = consensus_ranking(load_apa(), method="kemeny")
    winner = NAMES[best.order[0]]
    assert "120 ballots of 5 items in" in said
    assert " > ".join(NAMES[item] for item in best.order) in said
    assert f"{best.distance:,.0f} pairs of 5,738 voters" in said
    assert f"{best.lower_bound:,.0f}: proven to be the least" in said
    assert f"{winner}, the only one by this rule" in said
    assert "1 is the best (ranks)" in said
    other = run("consensus", votes, *READ, "--method", "local-search").stdout
    assert "whether another one is as good is not known" in other
    assert "footrule" in run("consensus", votes, *READ, "--method", "median-rank").stdout


def test_a_winner_among_others_and_a_gap_are_told(run, tmp_path):
    path = tmp_path / "cycle.csv"
    path.write_text("id,a,b,c\nx,3,2,1\ny,1,3,2\nz,2,1,3\n")
    said = run("consensus", path, "--samples", "rows", "--values", "scores").stdout
    assert "a; as good: b, c" in said
    said = run("consensus", path, "--samples", "rows", "--values", "scores", "--method", "borda").stdout
    assert "3: gap 1 (25.00%)" in said


def test_bootstrap_and_table(run, votes, tmp_path):
    out = tmp_path / "consensus.csv"
    words = ("consensus", votes, *READ, "--bootstrap", 200, "--seed", 4, "--method", "borda")
    done = run(*words, "--out", out)
    assert done.exit_code == 0, done.stderr
    drawn = bootstrap_consensus(
        Rankings.from_ranks(load_apa().values, items=NAMES, counts=load_apa().counts), n_resamples=200, random_state=4
    )
    with out.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["item"] for row in rows] == list(drawn.consensus.items)
    assert [int(row["lowest"]) for row in rows] == [row["lowest"] for row in drawn.rows()]
    assert [float(row["first"]) for row in rows] == [row["first"] for row in drawn.rows()]
    assert f"the same order in {drawn.same_order:.1%}" in done.stdout
    assert "95% in place" in done.stdout
    assert "draw voters: 200 of 200" in done.stderr
    found = answer(run(*words, "--json", "--quiet"))
    assert np.allclose(found["bootstrap"]["precedence"], drawn.precedence)
    assert found["bootstrap"]["same_winner"] == drawn.same_winner
    again = run(*words, "--out", out)
    assert again.exit_code != 0
    assert "--overwrite" in again.stderr
    assert run(*words, "--out", out, "--overwrite").exit_code == 0


def test_few_items_and_ties(run, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("id,a,b,c,d\n" + "".join(f"v{row},9,5,5,{row}\n" for row in range(3)))
    words = ("consensus", path, "--samples", "rows", "--values", "scores")
    tied = answer(run(*words, "--ties", "allowed", "--json"))
    assert tied["order"] == "a > b = c > d"
    assert [row["place"] for row in tied["items"]] == [1, 2, 2, 4]
    assert answer(run(*words, "-k", 1, "--json"))["order"] == "a > b = c = d"
    assert "a > 3 others" in run(*words, "-k", 1).stdout
    with_penalty = answer(run(*words, "-k", 1, "--penalty", 0, "--json"))
    assert with_penalty["discordant_pairs"] == 0


def test_gaps_are_last_or_unknown_as_told(run, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("id,a,b,c\nv1,,9,\nv2,8,9,\nv3,,,7\n")
    words = ("consensus", path, "--samples", "rows", "--values", "scores")
    asked = run(*words)
    assert asked.exit_code != 0
    assert "write --gaps top if these come after all others, or --gaps interleaving" in asked.stderr
    for gaps, kind in (("top", "top"), ("interleaving", "interleaving")):
        values = [[np.nan, 9, np.nan], [8, 9, np.nan], [np.nan, np.nan, 7]]
        best = consensus_ranking(Rankings.from_ranks(values, kind=kind, items="abc"), method="kemeny")
        found = answer(run(*words, "--gaps", gaps, "--json"))
        assert (found["order"], found["discordant_pairs"]) == (str(best), best.distance)
        assert found["reading"]["gaps"] == kind


def test_orderings_and_weights_of_another_file(run, tmp_path):
    path, weights = tmp_path / "places.csv", tmp_path / "weights.csv"
    path.write_text("id,rank_1,rank_2,rank_3\nv1,ann,bob,cid\nv2,bob,ann,cid\n")
    weights.write_text("id,n\nv2,5\nv1,2\n")
    words = ("consensus", path, "--samples", "rows", "--values", "orderings", "--json")
    assert answer(run(*words))["winners"] == ["ann", "bob"]
    found = answer(run(*words, "--weight", "n", "--weights", weights))
    assert (found["winners"], found["voters"]) == (["bob"], 7)
    weights.write_text("id,n\nv2,many\nv1,2\n")
    assert (
        "'n' of 'weights.csv' has a text that is not a number"
        in run(*words, "--weight", "n", "--weights", weights).stderr
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-k", 2, "--ties", "allowed"), "-k ties all other items"),
        (("-k", 2, "--method", "borda"), "-k is for --method kemeny"),
        (("--ties", "allowed", "--method", "copeland"), "--ties allowed is for --method kemeny"),
        (("--ties", "allowed", "--bootstrap", 5), "leave out --ties allowed"),
        (("--method", "median-rank", "--bootstrap", 5), "choose another --method"),
        (("--weights", "votes.csv", "--weight", "none"), "has no column 'none'"),
        (("--method", "kemeney"), "kemeny"),
        (("--time-limit", 0), "--time-limit"),
        (("-k", 9), "9"),
        (("--out", "x.json"), "'.csv'"),
    ],
)
def test_what_does_not_fit_is_refused(run, votes, words, said, monkeypatch):
    monkeypatch.chdir(votes.parent)
    refused = run("consensus", votes, "--samples", "rows", "--values", "ranks", *words)
    assert refused.exit_code != 0
    assert said in refused.stderr


def test_weights_without_a_column_and_values_of_either_kind_are_refused(run, votes):
    assert "name its column with --weight" in run("consensus", votes, "--weights", votes).stderr
    refused = run("consensus", votes, "--samples", "rows", "--weight", "count")
    assert "may be ranks or scores: write --values ranks if 1 is the best" in refused.stderr


def test_files_of_ballots_and_of_pairwise_votes_say_what_they_hold(run, tmp_path):
    (tmp_path / "votes.txt").write_text("4: ann > bob = cid\n3: bob > cid > ann\n")
    found = answer(run("consensus", tmp_path / "votes.txt", "--json"))
    best = consensus_ranking(
        Rankings.from_ranks([[2, 1, 1], [1, 3, 2]], items=["ann", "bob", "cid"], counts=[4, 3]), method="kemeny"
    )
    assert (found["order"], found["discordant_pairs"], found["voters"]) == (str(best), best.distance, 7)
    (tmp_path / "games.csv").write_text("winner,loser,count\nann,bob,3\nbob,cid,2\ncid,ann,1\n")
    done = run("consensus", tmp_path / "games.csv")
    assert "6 comparisons of 3 items" in done.stdout
    assert answer(run("consensus", tmp_path / "games.csv", "--json"))["order"] == "ann > bob > cid"
    refused = run("consensus", tmp_path / "games.csv", "--gaps", "top")
    assert (refused.exit_code, "pairwise votes" in refused.stderr) == (3, True)
