"""Files of ballots on the command line: found by content, weighted by their counts, read as Python reads them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from ballot_files import SOC

from distkern import Kendall, PartialKendall, cluster_consensus, open_gram, read_rankings

KENDALL = ("--kernel", "kendall")
PARTIAL = ("--kernel", "partial-kendall")
LONG = "Hall,Paper,CandidateName,Pref\n" + "".join(
    f"{hall},{paper},{name},{rank}\n"
    for hall, paper, ranks in (("A", 1, (1, 2, 3)), ("B", 1, (2, 1, 3)), ("B", 2, (1, "", "")))
    for name, rank in zip(("ann", "bob", "cid"), ranks, strict=True)
)


def write(folder, text, name):
    (folder / name).write_text(text)
    return folder / name


def groups(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", ["votes.soc", "votes.txt", "votes"])
def test_clusters_of_a_preflib_file_count_its_voters(run, tmp_path, name):
    path = write(tmp_path, SOC, name)
    found = groups(run("cluster", path, "-k", 1, *KENDALL, "--consensus", "kemeny", "--json"))
    votes = read_rankings(path)
    expected = cluster_consensus(votes, [0] * len(votes), method="kemeny")[0]
    assert found["clusters"][0]["consensus"] == list(expected.items)
    assert found["clusters"][0]["weight"] == 9
    assert found["weight"] == {"column": "voters", "sum": 9}
    assert found["ballots"]["values"] == "ballots"
    assert found["ballots"]["about"] == "9 ballots (3 different) of 3 items, all total; PrefLib soc"
    said = run("cluster", path, "-k", 1, *KENDALL).stdout
    assert (
        "ballots       9 ballots (3 different) of 3 items, all total; PrefLib soc: the first ballot, '0', puts" in said
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("votes.blt", "3 1\n3 1 2 3 0\n1 3=2 1 0\n0\nann\nbob\ncid\ntitle\n"),
        ("votes.txt", "3: ann > bob > cid\n1: cid = bob > ann\n"),
        ("old", "3\n1,ann\n2,bob\n3,cid\n4,4,2\n3,1,2,3\n1,{2,3},1\n"),
        (
            "v.cat",
            "# DATA TYPE: cat\n# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: ann\n# ALTERNATIVE NAME 2: bob\n"
            "# ALTERNATIVE NAME 3: cid\n3: 1,2,3\n1: {2,3},1,{}\n",
        ),
        ("long.csv", "voter,item,rank,count\nv,ann,1,3\nv,bob,2,3\nv,cid,3,3\nw,ann,3,1\nw,bob,1,1\nw,cid,1,1\n"),
    ],
)
def test_all_kinds_give_the_same_matrix(run, tmp_path, name, text):
    path = write(tmp_path, text, name)
    done = run("gram", path, tmp_path / "x.store", *KENDALL)
    assert done.exit_code == 0, done.stderr
    assert "ballots: 4 ballots (2 different) of 3 items, all total" in done.stdout
    expected = Kendall()([[3, 2, 1], [1, 2.5, 2.5]])
    np.testing.assert_allclose(open_gram(tmp_path / "x.store").to_numpy(), expected, rtol=1e-14)
    assert open_gram(tmp_path / "x.store").features == ("ann", "bob", "cid")
    clusters = run("cluster", path, "-k", 1, *KENDALL, "--consensus", "borda", "--json")
    assert groups(clusters)["clusters"][0]["consensus"] == ["ann", "bob", "cid"]
    assert groups(clusters)["clusters"][0]["weight"] == 4


def test_a_store_and_its_file_give_the_consensus_with_weights(run, tmp_path):
    path, store = write(tmp_path, SOC, "votes.soc"), tmp_path / "x.store"
    assert run("gram", path, store, *KENDALL).exit_code == 0
    words = ("cluster", store, "-k", 1, "--json")
    stored = groups(run(*words, "--cohort", path, "--consensus", "kemeny"))
    direct = groups(run("cluster", path, "-k", 1, *KENDALL, "--consensus", "kemeny", "--json"))
    assert stored["clusters"] == direct["clusters"]
    assert groups(run(*words, "--weights", path, "--weight", "count"))["clusters"][0]["weight"] == 9
    more = write(tmp_path, SOC.replace("5: 1,2,3\n3: 3, 1, 2\n1: 2,3,1", "9: 3,2,1"), "more.soc")
    other = write(tmp_path, SOC.replace("5: 1,2,3", "5: 2,1,3"), "other.soc")
    assert "sample '0' of 'other.soc' has other values" in run(*words, "--cohort", other, "--consensus", "borda").stderr
    assert run("append", more, store).exit_code == 0
    expected = Kendall()([[3, 2, 1], [2, 1, 3], [1, 3, 2], [1, 2, 3]])
    np.testing.assert_allclose(open_gram(store).to_numpy(), expected, rtol=1e-14)


def test_gaps_are_last_unless_they_were_not_observed(run, tmp_path):
    path = write(tmp_path, "3: ann > bob\n1: cid\n", "votes.txt")
    words = ("cluster", path, "-k", 1, *PARTIAL)
    assert "and items without a value" not in run(*words).stdout
    assert "all with unranked items last; orders as text: the first ballot, '0', puts 'ann' first" in run(*words).stdout
    for kind, more in (("top", ()), ("interleaving", ("--gaps", "interleaving"))):
        store = tmp_path / f"{kind}.store"
        assert run("gram", path, store, *PARTIAL, *more).exit_code == 0
        expected = PartialKendall()(read_rankings(path, gaps=kind))
        np.testing.assert_allclose(open_gram(store).to_numpy(), expected, rtol=1e-14)
    refused = run("gram", path, tmp_path / "r.store", *PARTIAL, "--param", "kind=top", "--gaps", "interleaving")
    assert refused.exit_code == 3
    assert 'says kind="interleaving"' in refused.stderr


def test_a_long_table_is_found_or_told(run, tmp_path):
    path = write(tmp_path, LONG, "papers.csv")
    told = ("--voter", "Hall", "--voter", "Paper", "--item", "CandidateName", "--rank", "Pref")
    words = ("cluster", path, "-k", 1, *PARTIAL, "--param", "kind=top", "--consensus", "borda")
    done = run(*words, *told)
    assert done.exit_code == 0, done.stderr
    assert "3 ballots (3 different) of 3 items, 2 total and 1 with gaps; long table of ranks" in done.stdout
    assert "the first ballot, 'A, 1', puts 'ann' first; items without a value come last" in done.stdout
    refused = run(*words, *told[:2], *told[4:])
    assert "both hold 'ann' of the voter 'B': leave one, or name more columns of the voter with --voter COLUMN" in (
        refused.stderr
    )


@pytest.mark.parametrize("ids", [True, False])
def test_weights_of_a_table_of_orderings(run, tmp_path, ids):
    lines = ["rank_1,rank_2,n", "ann,bob,5", "bob,0,2"]
    path = write(
        tmp_path, "".join(("id," if not k else f"v{k},") * ids + line + "\n" for k, line in enumerate(lines)), "p.csv"
    )
    words = ("cluster", path, "-k", 1, *PARTIAL, "--values", "orderings", "--blank", "0", "--weight", "n", "--json")
    found = groups(run(*words))
    assert found["clusters"][0]["weight"] == 7
    assert found["weight"]["column"] == "n"


def test_approvals(run, tmp_path):
    path = write(tmp_path, "id,ann,bob,cid\nv,yes,no,yes\nw,no,no,yes\n", "a.csv")
    words = ("-k", 1, *KENDALL, "--values", "approval", "--consensus", "borda", "--samples", "rows", "--json")
    assert groups(run("cluster", path, *words))["clusters"][0]["consensus"] == ["cid", "ann", "bob"]


@pytest.mark.parametrize(
    ("name", "text", "words", "message"),
    [
        ("v.soc", SOC.replace("3: 3, 1, 2", "3: 3, 1, 1"), (), "line 11 of 'v.soc' ('3: 3, 1, 1') ranks 1 twice"),
        (
            "v.soc",
            SOC,
            ("--values", "ranks"),
            "says itself what its ballots mean, and has no columns: leave out --values",
        ),
        ("v.soc", SOC, ("--weight", "n"), "leave out the column 'n'"),
        ("v.soc", SOC, ("--samples", "columns"), "every line or voter is a sample: leave out --samples columns"),
        ("v.soc", SOC, ("--blank", "0"), "is a file of PrefLib, not a table: leave out --blank TEXT"),
        ("v.csv", "winner,loser\na,b\n", (), "holds pairwise votes, and kernels compare ballots"),
        ("v.csv", "id,a,b\nv,1,\n", ("--gaps", "top"), "may be ranks or scores: write --values ranks"),
    ],
)
def test_what_cannot_be_read_is_said(run, tmp_path, name, text, words, message):
    refused = run("cluster", write(tmp_path, text, name), "-k", 1, *KENDALL, *words)
    assert refused.exit_code == 3, refused.stderr
    assert message in refused.stderr


# Excel and Parquet --------------------------------------------------------------------------------------------------

PLACES = pd.DataFrame(
    {"rank_1": ["ann", "bob", "cid"], "rank_2": ["bob", "ann", "bob"], "rank_3": ["cid", "cid", "ann"]}
)
RANKS = pd.DataFrame({"ann": [1, 2, 3], "bob": [2, 1, 2], "cid": [3, 3, 1]}, index=["x", "y", "z"])


def written(frame, path, index=False):
    if path.suffix == ".csv":
        frame.to_csv(path, index=index)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=index)
    else:
        frame.to_parquet(path, index=index)
    return path


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
@pytest.mark.parametrize(
    ("frame", "index", "values"),
    [(PLACES, False, "orderings"), (RANKS, True, "ranks"), (RANKS, True, "scores")],
    ids=["orderings", "ranks", "scores"],
)
def test_typed_tables_mean_what_the_text_table_means(run, tmp_path, suffix, frame, index, values):
    kernel = ("--kernel", "weighted-kendall") if values != "orderings" else KENDALL
    matrices, consensus = [], []
    for name in ("a.csv", f"a{suffix}"):
        path = written(frame, tmp_path / name, index)
        result = run("gram", path, tmp_path / f"{name}.zarr", *kernel, "--samples", "rows", "--values", values)
        assert result.exit_code == 0, result.stderr
        matrices.append(open_gram(tmp_path / f"{name}.zarr").to_numpy())
        result = run("consensus", path, "--samples", "rows", "--values", values, "--method", "kemeny", "--json")
        assert result.exit_code == 0, result.stderr
        consensus.append(json.loads(result.stdout)["order"])
    np.testing.assert_array_equal(*matrices)
    assert consensus[0] == consensus[1]


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_a_long_typed_table_is_found(run, tmp_path, suffix):
    rows = [(voter, item, place) for voter, row in RANKS.iterrows() for item, place in row.items()]
    path = written(pd.DataFrame(rows, columns=["voter", "item", "rank"]), tmp_path / f"a{suffix}")
    found = run("cluster", path, "-k", 1, *KENDALL, "--consensus", "kemeny", "--json")
    expected = run("consensus", path, "--method", "kemeny", "--json")
    assert " > ".join(groups(found)["clusters"][0]["consensus"]) == groups(expected)["order"]


def test_a_sheet_is_named_after_a_sign(run, tmp_path):
    path = tmp_path / "votes.xlsx"
    with pd.ExcelWriter(path) as book:
        PLACES.to_excel(book, sheet_name="places", index=False)
        RANKS.to_excel(book, sheet_name="ranks")
    refused = run("consensus", path, "--values", "ranks")
    assert refused.exit_code == 3
    assert (
        "2 sheets with cells ('places', 'ranks'): name one of them after a #, as in 'votes.xlsx#places'"
        in refused.stderr
    )
    assert groups(run("consensus", f"{path}#places", "--values", "orderings", "--json"))
    assert groups(run("consensus", f"{path}#ranks", "--samples", "rows", "--values", "ranks", "--json"))
