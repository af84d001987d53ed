from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from marks import with_slow

import distkern as dk
from distkern import Kendall, KernelKMeans, cluster_consensus, cluster_numbers, compute_gram, open_gram, read_expression
from distkern.datasets import load_apa


@pytest.fixture(scope="module")
def written_votes(tmp_path_factory):
    """The ballots of the APA as a table with a column of counts, and as a store."""
    folder, apa = tmp_path_factory.mktemp("votes"), load_apa()
    ids = [f"b{number:03d}" for number in range(len(apa))]
    with (folder / "votes.csv").open("w") as stream:
        out = csv.writer(stream)
        out.writerow(["id", *(f"candidate{item}" for item in apa.items), "voters"])
        out.writerows([name, *row, count] for name, row, count in zip(ids, apa.values, apa.counts, strict=True))
    cohort = read_expression(folder / "votes.csv", samples="rows", label="voters")
    compute_gram(Kendall(), cohort, store=folder / "votes.zarr", tile=50, progress=False)
    return folder


@pytest.fixture
def votes(tmp_path, written_votes):
    return shutil.copytree(written_votes, tmp_path, dirs_exist_ok=True)


def test_clusters_equal_those_of_the_library(run, votes):
    out = votes / "clusters.csv"
    result = run("cluster", votes / "votes.zarr", "-k", 3, "--seed", 5, "--out", out)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"written to {out}\nnext: distkern cluster ")
    model = KernelKMeans(3, random_state=5).fit(open_gram(votes / "votes.zarr"))
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [f"b{number:03d}" for number in range(120)]
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    assert "120 samples of" in result.stdout
    assert f"cluster 0  {np.count_nonzero(model.labels_ == 0)} samples, medoid 'b" in result.stdout
    refused = run("cluster", votes / "votes.zarr", "-k", 3, "--out", out)
    assert refused.exit_code == 3
    assert "--overwrite" in refused.stderr


@pytest.mark.parametrize("source", ["votes.zarr", "votes.csv"])
def test_range_with_weights_and_consensus_equals_the_library(run, votes, source):
    apa = load_apa()
    words = [
        "-k",
        "2-4",
        "--weight",
        "voters",
        "--samples",
        "rows",
        "--consensus",
        "kemeny",
        "--values",
        "scores",
        "--references",
        2,
        "--starts",
        2,
    ]
    words += ["--cohort", votes / "votes.csv"] if source == "votes.zarr" else ["--kernel", "kendall"]
    printed = json.loads(run("cluster", votes / source, *words, "--json").stdout)
    found = cluster_numbers(Kendall()(apa), [2, 3, 4], sample_weight=apa.counts, random_state=0, n_init=2)
    assert printed["n_clusters"] == found.by_silhouette
    for row, ours in zip(printed["by_number"], found.table(), strict=True):
        assert row["silhouette"] == pytest.approx(ours["silhouette"])
        assert row["gap"] is not None
    labels = found.labels[found.n_clusters.tolist().index(found.by_silhouette)]
    rankings = cluster_consensus(apa, labels, method="kemeny")
    assert [group["size"] for group in printed["clusters"]] == np.bincount(labels).tolist()
    for group in printed["clusters"]:
        ranking = rankings[group["cluster"]]
        assert group["consensus"] == [f"candidate{item}" for item in ranking.items]
        assert group["discordant_pairs"] == pytest.approx(ranking.distance / ranking.voters)
    text = run("cluster", votes / source, *words, "--choose", "gap").stdout
    assert "chosen by the gap" in text
    assert " > candidate" in text
    assert " ± " in text


@pytest.mark.slow
def test_clusters_do_not_depend_on_threads(run, votes):
    alone, shared = (
        json.loads(run("cluster", votes / "votes.zarr", "-k", 3, "--json", *words).stdout)
        for words in ((), ("--threads", 2))
    )
    assert alone == shared


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("votes.zarr",), "Missing option '-k'"),
        (("votes.zarr", "-k", "none"), "such as 4 or a range such as 2-10"),
        (("votes.zarr", "-k", "5-2"), "must ascend"),
        (("votes.zarr", "-k", 0), "must ascend"),
        (("votes.csv", "-k", 2), "INPUT is a cohort and not a store: add a --kernel"),
        (("votes.csv", "-k", 2, "--kernel", "kendall", "--cohort", "votes.csv"), "INPUT is already a cohort"),
        (("votes.zarr", "-k", 2, "--consensus", "borda"), "give their file with --cohort"),
        (("votes.zarr", "-k", 2, "--values", "ranks"), "a store is read as it was computed"),
        (("votes.zarr", "-k", 2, "--param", "lam=2"), "name the kernel with --kernel"),
        (("votes.zarr", "-k", 2, "--weights", "votes.csv"), "name its column with --weight"),
        (("votes.zarr", "-k", 2, "--weight", "voters"), "give their file with --weights"),
        (("votes.zarr", "-k", "2-3", "--choose", "gap"), "add, for example, --references 20"),
    ],
)
def test_wrong_usage(run, votes, monkeypatch, words, said):
    monkeypatch.chdir(votes)
    result = run("cluster", *words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.zarr", "-k", 2), "none.zarr"),
        (("votes.zarr", "-k", 121), "ask for fewer clusters"),
        (("votes.zarr", "-k", 1, "--consensus", "borda", "--cohort", "none.csv", "--samples", "rows"), "none.csv"),
        (("votes.zarr", "-k", 2, "--weights", "votes.csv", "--weight", "income"), "no column 'income'"),
        (("votes.zarr", "-k", 2, "--memory-limit", "1kB"), "bytes of memory"),
        (("votes.zarr", "-k", 2, "--weights", "words.csv", "--weight", "word"), "not a number"),
        (("votes.zarr", "-k", 2, "--consensus", "borda", "--cohort", "turned.csv", "--samples", "rows"), "same order"),
        (("cross.zarr", "-k", 2), "test × training"),
    ],
)
def test_bad_input(run, votes, monkeypatch, words, said):
    monkeypatch.chdir(votes)
    lines = (votes / "votes.csv").read_text().splitlines()
    (votes / "turned.csv").write_text("\n".join([lines[0], *lines[:0:-1]]))
    (votes / "words.csv").write_text("\n".join(["id,word", *(line.split(",")[0] + ",x" for line in lines[1:])]))
    if words[0] == "cross.zarr":
        X = load_apa().values
        compute_gram(Kendall(), X, X[:9], store=votes / "cross.zarr", progress=False)
    result = run("cluster", *words)
    assert result.exit_code == 3
    assert said in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("source", with_slow(["votes.zarr"], ["votes.csv"]))
def test_page_of_the_clusters_is_written_once(run, votes, source):
    page, words = votes / "clusters.html", ["-k", "2-3", "--starts", 2, "--consensus", "borda", "--samples", "rows"]
    words += ["--values", "scores"]
    if source == "votes.zarr":
        words += ["--cohort", votes / "votes.csv", "--weight", "voters", "--json"]
    else:
        words += ["--kernel", "kendall", "--weight", "voters"]
    result = run("cluster", votes / source, *words, "--report", page)
    assert result.exit_code == 0
    if "--json" in words:
        assert result.stderr == ""
        assert json.loads(result.stdout)["report"] == str(page)
    else:
        read, *end = result.stderr.splitlines()
        assert read == "votes.csv: 5 features × 120 samples, samples in rows; whole values from 1 to 5"
        assert end == [f"written to {page}", f"next: python -m webbrowser {page}"]
    text = page.read_text(encoding="utf-8")
    assert "2 clusters of 120 samples that stand for 5,738" in text
    assert "Cluster 1, medoid b" in text
    assert "Cluster 1, consensus (borda)" in text
    refused = run("cluster", votes / source, *words, "--report", page)
    assert refused.exit_code == 3
    assert "--overwrite" in refused.stderr


def test_range_from_one_chooses_two_or_more_clusters(run, votes):
    result = run("cluster", votes / "votes.zarr", "-k", "1-2")
    assert result.exit_code == 0
    assert "in 2 clusters, chosen by the silhouette" in result.stdout
    assert run("cluster", votes / "votes.zarr", "-k", 1).exit_code == 0


def test_stability_and_covariates_equal_the_library_and_are_on_the_page(run, votes):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, size=120),
            "sex": rng.choice(["f", "m"], size=120),
            "name": np.arange(120).astype(str),
        },
        index=[f"b{number:03d}" for number in range(120)],
    )
    table["name"] = "x" + table["name"]
    table.iloc[5, 1] = None
    table.iloc[::-1].to_csv(votes / "voters.csv")
    page = votes / "page.html"
    words = ("cluster", votes / "votes.zarr", "-k", "2-3", "--resamples", 4, "--choose", "stability", "--starts", 2)
    result = run(*words, "--covariates", votes / "voters.csv", "--json", "--report", page)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    numbers = cluster_numbers(open_gram(votes / "votes.zarr"), [2, 3], resamples=4, n_init=2, random_state=0)
    assert [row["stability"] for row in found["by_number"]] == pytest.approx(numbers.stability.tolist())
    assert (found["n_clusters"], found["chosen_by"]) == (numbers.by_stability, "stability")
    labels = numbers.labels_of(numbers.by_stability)
    expected = dk.cluster_covariates(labels, table[["age", "sex"]].reset_index(drop=True)).tests
    assert [row["covariate"] for row in found["covariates"]] == ["age", "sex"]
    assert [row["pvalue"] for row in found["covariates"]] == pytest.approx(expected["pvalue"].tolist())
    text = page.read_text(encoding="utf-8")
    assert text.count("Who is in which cluster") == 1
    assert text.count("Stability of the clusters") == 1
    shown = run(*words, "--covariates", votes / "voters.csv")
    assert "by age" in shown.stdout
    assert "stability" in shown.stdout
    table.iloc[:50].to_csv(votes / "few.csv")
    refused = run(*words, "--covariates", votes / "few.csv")
    assert refused.exit_code == 3
    assert "70 of 120 samples are not in 'few.csv'" in refused.stderr
    assert run("cluster", votes / "votes.zarr", "-k", "2", "--choose", "stability").exit_code == 2
    weighted = run(*words, "--covariates", votes / "voters.csv", "--weight", "voters", "--weights", votes / "votes.csv")
    assert (weighted.exit_code, "each with a row of its own" in weighted.stderr) == (2, True)


def test_consensus_of_resamples_is_that_of_the_library(run, votes):
    words = ("cluster", votes / "votes.csv", "-k", 2, "--kernel", "kendall", "--samples", "rows", "--weight", "voters")
    words = (*words, "--values", "scores", "--starts", 2)
    done = run(*words, "--consensus", "kemeny", "--bootstrap", 15, "--json")
    assert done.exit_code == 0, done.output
    apa = load_apa()
    options = {"kernel": Kendall(), "sample_weight": apa.counts, "n_init": 2, "random_state": 0}
    labels = cluster_numbers(apa, [2], **options).labels[0]
    for group in json.loads(done.stdout)["clusters"]:
        own = apa[labels == group["cluster"]]
        expected = dk.bootstrap_consensus(own, method="kemeny", n_resamples=15, random_state=0)
        assert group["same_winner"] == expected.same_winner
        places = {row["item"].removeprefix("candidate"): row["lowest"] for row in group["places"]}
        assert places == {row["item"]: row["lowest"] for row in expected.rows()}
    assert "the same winner in" in run(*words, "--consensus", "kemeny", "--bootstrap", 15).stdout
    assert run(*words, "--bootstrap", 5).exit_code == 2
