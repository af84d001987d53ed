"""Bags on the command line: made of files, and taken by the commands that take samples."""

from __future__ import annotations

import gzip
import json

import anndata
import numpy as np
import pandas as pd
import pytest

from distkern import Bags, Gaussian, KernelIGV, MeanMap, load_bags, open_gram, save_bags


@pytest.fixture
def cells():
    """Cells of nine patients, as many as 3 to 11 of one, whose names a spreadsheet would change."""
    rng = np.random.default_rng(0)
    owner = rng.permutation(np.repeat(np.arange(9), np.arange(3, 12)))
    values = rng.normal(size=(len(owner), 2)) + (owner % 2)[:, None]
    return pd.DataFrame(
        {
            "patient": [f"00{number}" if number else "NA" for number in owner],
            "CD4": values[:, 0],
            "CD8": values[:, 1],
            "area": rng.uniform(1, 2, len(owner)),
            "ill": np.where(owner % 2, "yes", "no"),
            "barcode": [f"cell {number}" for number in range(len(owner))],
        }
    )


@pytest.fixture
def bags(cells):
    return Bags.from_table(cells, "patient", ["CD4", "CD8"], "area", "ill")


WORDS = ("--by", "patient", "--weight", "area", "--label", "ill")


def test_bags_do_not_depend_on_the_format_of_the_table(tmp_path, run, cells, bags):
    cells.to_csv(tmp_path / "cells.csv", index=False)
    cells.to_csv(tmp_path / "numbered.tsv", sep="\t")
    with gzip.open(tmp_path / "cells.txt.gz", "wt", encoding="utf-8-sig") as file:
        cells.to_csv(file, index=False, sep=";", columns=["CD4", "ill", "area", "patient", "CD8"])
    obs = cells.set_index("barcode")
    adata = anndata.AnnData(cells[["CD8", "area", "CD4"]].to_numpy(), obs, pd.DataFrame(index=["CD8", "g", "CD4"]))
    adata.obsm["X_pca"] = cells[["CD4", "CD8"]].to_numpy()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    inputs = [("cells.csv",), ("numbered.tsv",), ("cells.txt.gz",), ("cells.csv", "--columns", "CD4, CD8")]
    inputs += [("cells.h5ad", "--columns", "CD4", "--columns", "CD8"), ("cells.h5ad", "--use-rep", "X_pca")]
    for number, (name, *more) in enumerate(inputs):
        done = run("bags", tmp_path / name, tmp_path / f"{number}.zarr", *WORDS, *more)
        assert done.exit_code == 0, done.stderr
        assert load_bags(tmp_path / f"{number}.zarr") == bags, name
        assert "9 in" in done.stdout
        assert "63; 3 to 11 per bag" in done.stdout
        assert "5 no, 4 yes" in done.stdout
        assert ("2: CD4, CD8\n" in done.stdout) == ("--use-rep" not in more)


def test_parquet_is_read(tmp_path, run, cells, bags):
    cells.to_parquet(tmp_path / "cells.parquet")
    assert run("bags", tmp_path / "cells.parquet", tmp_path / "b.zarr", *WORDS).exit_code == 0
    assert load_bags(tmp_path / "b.zarr") == bags


GOOD = "who,x,y\na,1,2\nb,3,4\n"


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (GOOD, ("--by", "whom"), "has no column 'whom'; it has who, x, y"),
        (GOOD, ("--by", "who", "--columns", "z"), "has no column 'z'"),
        (GOOD, ("--by", "who", "--use-rep", "X"), "which has neither obsm nor layers: name its columns with --columns"),
        (GOOD + "b,5,\n", ("--by", "who"), "point 1 of bag 'b' has a value that is not finite"),
        (GOOD + "b,5,high\n", ("--by", "who"), "column 'y' of 'points.csv' holds numbers and also 'high': correct it"),
        (GOOD + "b,5,high\n", ("--by", "who", "--columns", "x,y"), "column 'y' does not hold numbers only"),
        (GOOD + " ,5,6\n", ("--by", "who"), "row 2 has no name of a bag in column 'who'"),
        (GOOD + "b,5,6,7\n", ("--by", "who"), "cannot be read as a table of points"),
        ("who,x\na,1,2,3\n", ("--by", "who"), "have more cells than its header has names"),
        ("who,x,y\n", ("--by", "who"), "holds no points: it has a header only"),
        ("who,x,x\na,1,2\n", ("--by", "who"), "has several columns 'x'"),
        (GOOD + "b,3,5\n", ("--by", "who", "--label", "y"), "bag 'b' has two labels, '4' and '5'"),
        (GOOD + "b,-3,4\n", ("--by", "who", "--weight", "x"), "point 1 of bag 'b' has a weight that is not a positive"),
        ("", ("--by", "who"), "is empty"),
    ],
)
def test_bad_table_of_points_is_explained(tmp_path, run, text, words, said):
    (tmp_path / "points.csv").write_text(text)
    done = run("bags", tmp_path / "points.csv", tmp_path / "bags.zarr", *words)
    assert done.exit_code == 3
    assert said in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["points.csv"]


def test_bags_are_replaced_only_with_overwrite(tmp_path, run, bags):
    (tmp_path / "points.csv").write_text(GOOD)
    save_bags(bags, tmp_path / "bags.zarr")
    words = ("bags", tmp_path / "points.csv", tmp_path / "bags.zarr", "--by", "who")
    refused = run(*words)
    assert refused.exit_code == 3
    assert "exists: give another path, or --overwrite to replace it" in refused.stderr
    found = json.loads(run(*words, "--overwrite", "--json").stdout)
    assert (found["bags"], found["points"], found["columns"]) == (2, 2, ["x", "y"])


def test_every_command_that_takes_samples_takes_bags(tmp_path, run, bags):
    path, store, kernel = tmp_path / "bags.zarr", tmp_path / "gram.zarr", KernelIGV(Gaussian(0.7), eta=0.1)
    save_bags(bags, path)
    save_bags(bags[[2, 0]], tmp_path / "two.zarr")
    words = ("--kernel", "kernel-igv", "--param", "base__sigma=0.7", "--param", "eta=0.1")
    assert "9 × 9" in run("plan", path, *words).stdout
    done = run("gram", path, store, *words, "--labels", path)
    assert done.exit_code == 0, done.stderr
    np.testing.assert_array_equal(open_gram(store).to_numpy(), kernel(bags))
    crossed = run("gram", tmp_path / "two.zarr", tmp_path / "crossed.zarr", *words, "--against", path)
    assert crossed.exit_code == 0, crossed.stderr
    np.testing.assert_allclose(open_gram(tmp_path / "crossed.zarr").to_numpy(), kernel(bags)[[2, 0]], rtol=1e-12)
    groups = ("cluster", path, "-k", "2", "--kernel", "mean-map", "--param", "base=gaussian", "--json")
    assert json.loads(run(*groups).stdout)["samples"] == 9
    scores = run("evaluate", store, "--labels", path, "--repeats", "1", "--outer", "2", "--inner", "2", "--json")
    assert json.loads(scores.stdout)["classes"] == {"no": 5, "yes": 4}
    info = run("info", path)
    assert "63; 3 to 11 per bag" in info.stdout
    assert json.loads(run("info", path, "--json").stdout)["labels"] == {"no": 5, "yes": 4}


def test_bags_are_appended(tmp_path, run, bags):
    order = np.argsort(-bags.sizes)
    save_bags(bags[order[:6]], tmp_path / "first.zarr")
    save_bags(bags[order[6:]], tmp_path / "more.zarr")
    words = ("--kernel", "mean-map", "--param", "base=gaussian", "--param", "base__sigma=1")
    assert run("gram", tmp_path / "first.zarr", tmp_path / "gram.zarr", *words).exit_code == 0
    assert "3 samples added" in run("append", tmp_path / "more.zarr", tmp_path / "gram.zarr").stdout
    whole = MeanMap(Gaussian(1.0))(bags[order])
    np.testing.assert_allclose(open_gram(tmp_path / "gram.zarr").to_numpy(), whole, rtol=1e-12)


def test_options_that_bags_do_not_take_are_refused(tmp_path, run, bags):
    path = save_bags(bags, tmp_path / "bags.zarr")
    words = ("gram", path, tmp_path / "gram.zarr", "--kernel", "mean-map")
    for more, said in (
        (("--samples", "columns"), "every bag is a sample: leave out --samples"),
        (("--label", "ill"), "holds bags and no columns: leave out --label"),
        (("--labels", path, "--label", "ill"), "has no column 'ill': name one of 'label' with --label"),
    ):
        done = run(*words, *more)
        assert done.exit_code == 3
        assert said in done.stderr
    for words in (("status", path), ("verify", path), ("cluster", path, "-k", "2")):
        done = run(*words)
        assert done.exit_code == 3, words
        assert "holds bags, not their matrix: compute it with `distkern gram`" in done.stderr
    done = run("gram", path, tmp_path / "gram.zarr", "--kernel", "kendall")
    assert done.exit_code == 3
    assert "the samples are bags and Kendall(ties='zero') compares vectors: use a kernel of bags" in done.stderr
