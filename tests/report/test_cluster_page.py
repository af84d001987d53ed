import re

import numpy as np
import pytest
from pages import Page, assert_self_contained

import distkern as dk
from distkern.core.errors import InputError, InputTypeError
from distkern.plot.axes import class_colours
from distkern.report import write_cluster_report
from distkern.report.cluster_rankings import ranking_words

VOTES = dk.datasets.load_apa()
CANDIDATES = "1 2 3 4 5".split()


@pytest.fixture(scope="module")
def numbers():
    options = {"kernel": dk.Kendall(), "sample_weight": VOTES.counts, "references": 2, "n_init": 2, "random_state": 0}
    return dk.cluster_numbers(VOTES, [1, 2, 3], **options)


def made(tmp_path, *args, **given):
    text = write_cluster_report(tmp_path / "out" / "clusters.html", *args, **given).read_text(encoding="utf-8")
    return Page(text), text


def test_a_page_of_weighted_rankings_states_the_results(tmp_path, numbers):
    labels, silhouettes = numbers.labels[1], numbers.silhouettes[1]
    rankings = dk.cluster_consensus(VOTES, labels, method="kemeny")
    page, text = made(
        tmp_path, VOTES, numbers, kernel=dk.Kendall(), n_clusters=2, sample_weight=VOTES.counts, rankings=rankings
    )
    assert_self_contained(page, text)
    assert len(page.all("svg")) == 7  # two heat maps of preferences
    alone = dk.kernel_silhouette(dk.Kendall()(VOTES), labels, sample_weight=VOTES.counts)
    np.testing.assert_allclose(silhouettes, alone, rtol=0, atol=1e-12)  # the product serves several partitions at once
    mean = np.average(silhouettes, weights=VOTES.counts)
    assert (
        f"2 clusters of 120 samples that stand for 5,738, with the Kendall kernel; mean silhouette {mean:.3f} ."
        in page.text
    )
    for cluster in (0, 1):
        own = labels == cluster
        voters, medoid = VOTES.counts[own].sum(), numbers.medoids[1][cluster]
        inside = np.average(silhouettes[own], weights=VOTES.counts[own])
        ends = f"{silhouettes[own].min():.3f} to {silhouettes[own].max():.3f}"
        below = np.count_nonzero(silhouettes[own] < 0)
        share = f"{100 * voters / 5738:.1f} %"
        assert f"{cluster} {own.sum()} {voters:,} {share} {inside:.3f} {ends} {below} {medoid}" in page.text
        assert (
            f"{' > '.join(rankings[cluster].items)}; {rankings[cluster].distance / voters:.4g} of 10 pairs" in page.text
        )
        ballot = " > ".join(CANDIDATES[item] for item in np.argsort(-VOTES.values[medoid]))
        assert f"Cluster {cluster}, medoid {medoid} {ballot}" in page.text
    for row in numbers.table():
        assert f"{row['n_clusters']} {row['inertia']:.6g}" in page.text
    assert "k(x, y) = (n c − n d ) / (n (n − 1) / 2)" in page.text
    listed = page.text.split("Sample by sample")[1].split("What was computed")[0]
    for sample in (0, 77, 119):
        assert f" {sample} {labels[sample]} {silhouettes[sample]:.3f} {VOTES.counts[sample]}" in listed


@pytest.mark.slow
def test_the_code_on_the_page_of_a_store_gives_the_same_labels(tmp_path, monkeypatch):
    gram = dk.compute_gram(dk.Kendall(), VOTES, store=tmp_path / "votes.zarr", tile=50, progress=False)
    found = dk.cluster_numbers(gram, [3], n_init=2, random_state=0)
    page, text = made(tmp_path, gram, found)
    assert "3 clusters of 120 samples, with the Kendall kernel" in page.text
    assert "the only number that was tried" in page.text
    assert "tiles of 50 × 50 samples" in page.text
    assert str(tmp_path) not in text
    assert len(page.all("svg")) == 3
    assert "Rankings" not in page.text.split("What was computed")[0]
    code = "".join(page.words).split("How to reproduce it")[1].split("Software versions")[0]
    monkeypatch.chdir(tmp_path)
    done = {}
    exec(code.replace("...", "dk.datasets.load_apa()"), done)
    np.testing.assert_array_equal(done["labels"], found.labels[0])


def test_a_page_of_one_cluster_of_an_array(tmp_path):
    page, _ = made(tmp_path, np.eye(2), dk.cluster_numbers(np.eye(2), [1], random_state=0))
    assert "finds 1 cluster of 2 samples." in page.text
    assert len(page.all("svg")) == 1
    assert "0 2 100.0 % – – –" in page.text


def test_only_some_of_many_samples_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr("distkern.report.cluster_page.LISTED_SAMPLES", 10)
    x = np.random.default_rng(0).normal(size=40)
    page, _ = made(tmp_path, np.outer(x, x), dk.cluster_numbers(np.outer(x, x), [2], n_init=1, random_state=0))
    assert "evenly spaced; all of them are in numbers.labels" in page.text
    listed = page.text.split("Sample Cluster Silhouette")[1].split("What was computed")[0]
    assert len(listed.split()) == 3 * 10


@pytest.mark.slow
def test_more_clusters_than_digits_keep_their_order_and_colours(tmp_path):
    x = np.repeat(np.arange(11.0), [2 + number for number in range(11)])
    found = dk.cluster_numbers(x[:, None], [11], kernel=dk.Gaussian(0.3), n_init=20, random_state=0)
    _, text = made(tmp_path, x[:, None], found, kernel=dk.Gaussian(0.3))
    sizes = np.bincount(found.labels[0])
    assert sorted(sizes) == list(range(2, 13))
    colours = [f"#{''.join(f'{round(255 * part):02x}' for part in colour[:3])}" for colour in class_colours(11)]
    drawn = text.split('id="silhouettes-figure_1"')[1].split("</svg>")[0]
    widths = {}
    for tag in re.findall(r"<path [^>]*>", drawn):
        colour = re.search(r"fill: (#[0-9a-f]{6})", tag)
        if colour and colour[1] in colours:
            across = [float(x) for x in re.findall(r"[ML] (-?[\d.]+) ", tag)]
            widths[colours.index(colour[1])] = max(across) - min(across)
    shares = np.array([widths[cluster] for cluster in range(11)])
    np.testing.assert_allclose(shares / shares.sum(), sizes / sizes.sum(), atol=1e-3)


def test_names_are_escaped(tmp_path):
    nasty = ["<script>alert(1)</script>", "$x$ & <b>", 'id="y"']
    gram = dk.ArrayGram(np.diag([1.0, 2.0, 3.0]), row_ids=nasty)
    page, _ = made(tmp_path, gram, dk.cluster_numbers(gram, [2], random_state=0), title="<u>T</u>")
    assert not [tag for tag, _ in page.tags if tag in ("script", "b", "u")]
    assert all(name in page.text for name in (*nasty, "<u>T</u>"))


def test_arguments_of_different_samples_are_refused(tmp_path, numbers):
    path = tmp_path / "clusters.html"
    with pytest.raises(InputError, match="clusters are of 120 samples and X has 3"):
        write_cluster_report(path, np.eye(3), numbers)
    with pytest.raises(InputError, match="clusters are of 120 samples and X has 1"):
        write_cluster_report(path, [[1.0, 2.0]], numbers, kernel=dk.Kendall())
    with pytest.raises(InputError, match="7 clusters were not tried: there are 1, 2, 3"):
        write_cluster_report(path, np.eye(120), numbers, n_clusters=7)
    with pytest.raises(InputError, match=r"weights of shape \(3,\) for 120"):
        write_cluster_report(path, np.eye(120), numbers, sample_weight=[1, 2, 3])
    with pytest.raises(InputTypeError, match=r"result of distkern\.cluster_numbers, not dict"):
        write_cluster_report(path, np.eye(120), {})
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"exists.*overwrite=True"):
        write_cluster_report(path, np.eye(120), numbers)
    assert path.read_text(encoding="utf-8") == "mine"


def test_rankings_are_written_with_ties_and_shortened():
    assert ranking_words(np.array([1.0, -np.inf, 3.0, 1.0, np.nan]), tuple("abcde")) == "c > a = d > b"
    assert ranking_words(np.arange(20.0), tuple(map(str, range(20)))).endswith("9 > 8 > … (8 more)")


def test_certainty_and_preferences_of_the_clusters_are_on_the_page(tmp_path, numbers):
    labels = numbers.labels[1]
    rankings = dk.cluster_consensus(VOTES, labels, method="kemeny")
    certainty = {
        label: dk.bootstrap_consensus(VOTES[labels == label], method="kemeny", n_resamples=20, random_state=0)
        for label in rankings
    }
    given = {"kernel": dk.Kendall(), "n_clusters": 2, "sample_weight": VOTES.counts, "rankings": rankings}
    page, text = made(tmp_path, VOTES, numbers, **given, certainty=certainty)
    assert_self_contained(page, text)
    for caption in ("Cluster 0: places of the items", "Cluster 1: places", "Items that separate the clusters most"):
        assert page.text.count(caption) == 1
    found = dk.group_preferences(VOTES, labels)
    first = found.items.iloc[0]
    assert f"{first['item']} {100 * first[0]:.0f} % {100 * first[1]:.0f} %" in page.text
    best = certainty[0].rows()[0]
    assert f"{best['item']} 1 {best['lowest']} to {best['highest']} {100 * best['first']:.0f} %" in page.text
