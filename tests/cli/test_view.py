"""What one command was told about the kernel and the samples is what the next command does, or it says so."""

from __future__ import annotations

import json
import re
import warnings

import anndata
import h5py
import numpy as np
import pytest

from distkern import Gram, Kendall, Linear, Mallows, compute_gram, cross_validate_gram, open_gram
from distkern.cli.evaluate import read_evaluation

FAST = ("--label", "relapse", "--repeats", 1, "--C", 1, "--quiet")
MALLOWS = ("--kernel", "mallows", "--param", "lam=50", "--param", "scaled=true")
KERNEL = Mallows(lam=50, scaled=True)


@pytest.fixture
def viewed(cohort, run, store):
    """The store of tau-b, after `distkern gram` has asked for a Mallows kernel."""
    done = run("gram", cohort / "rows.csv", store, "--samples", "rows", *MALLOWS)
    assert done.exit_code == 0
    assert f"all commands read the store as {KERNEL!r} from now on" in done.stderr
    return store


def test_evaluation_is_of_the_kernel_that_gram_was_told(cohort, run, viewed):
    out = cohort / "result.json"
    done = run("evaluate", viewed, "--labels", cohort / "clinical.csv", *FAST, "--out", out)
    expected = cross_validate_gram(None, KERNEL(cohort.X), cohort.relapse, repeats=1, C=(1,))
    assert re.search(rf"^accuracy +{100 * expected.mean():.2f} %", done.stdout, re.MULTILINE)
    assert re.search(rf"^kernel +{re.escape(repr(KERNEL))}$", done.stdout, re.MULTILINE)
    settings = read_evaluation(out).settings
    assert settings["kernel"] == KERNEL.spec()
    assert settings["source"] == "'rows.csv' with samples='rows': AnnData 24 × 15"
    assert settings["labels"] == "clinical.csv"


def test_kernel_of_a_reading_command_is_a_view(cohort, run, viewed):
    words = ("evaluate", viewed, "--labels", cohort / "clinical.csv", *FAST)
    done = run(*words, "--kernel", "kendall", "--ties", "b")
    expected = cross_validate_gram(None, Kendall(ties="b")(cohort.X), cohort.relapse, repeats=1, C=(1,))
    assert re.search(rf"^accuracy +{100 * expected.mean():.2f} %", done.stdout, re.MULTILINE)
    refused = run(*words, "--kernel", "linear")
    assert refused.exit_code == 3
    assert "Linear() is not made of what" in refused.stderr
    assert "which was computed for Kendall(ties='b')" in refused.stderr
    alone = run(*words, "--ties", "b")
    assert alone.exit_code == 2
    assert "name the kernel with --kernel" in alone.stderr


@pytest.mark.parametrize("command", ["info", "status", "verify", "cluster"])
@pytest.mark.parametrize("asked", [(), ("--kernel", "kendall", "--ties", "b")])
def test_every_command_names_the_kernel(run, viewed, command, asked):
    more = ("-k", 2, "-q") if command == "cluster" else ()
    kernel = Kendall(ties="b") if asked else KERNEL
    said = run(command, viewed, *more, *asked)
    assert said.exit_code == 0, said.stderr
    assert repr(kernel) in said.stdout
    assert json.loads(run(command, viewed, *more, *asked, "--json").stdout)["kernel"] == kernel.spec()
    other = run(command, viewed, *more, "--kernel", "linear")
    assert other.exit_code == 3
    assert "Linear()" in other.stderr
    assert "Kendall(ties='b')" in other.stderr


def test_info_names_both_kernels(run, viewed):
    assert f"{KERNEL!r} (a view; first Kendall(ties='b'))" in run("info", viewed).stdout


def test_page_is_of_the_kernel_that_was_evaluated(cohort, run, store):
    result, page = cohort / "result.json", cohort / "page.html"
    words = ("evaluate", store, "--labels", cohort / "clinical.csv", *FAST)
    assert run(*words, *MALLOWS, "--out", result).exit_code == 0
    done = run("report", store, "--evaluation", result, "--out", page)
    assert done.exit_code == 0, done.stderr
    assert f"{KERNEL!r} of 'rows.csv'" in done.stdout
    text = page.read_text(encoding="utf-8")
    assert "Mallows kernel on 24 samples" in text
    assert "X = dk.read_expression(&#39;rows.csv&#39;, samples=&#39;rows&#39;)" in text
    refused = run(
        "report", store, "--evaluation", result, "--out", page, "--overwrite", "--kernel", "kendall", "--ties", "b"
    )
    assert refused.exit_code == 3
    assert "view it as that kernel with --kernel" in refused.stderr


def test_page_of_an_evaluation_of_other_samples_is_refused(cohort, run, store):
    result = cohort / "result.json"
    assert run("evaluate", store, "--labels", cohort / "clinical.csv", *FAST, "--out", result).exit_code == 0
    other = cohort.write("other.csv", cohort.X + cohort.X[::-1])
    words = ("--samples", "rows", "--kernel", "kendall", "--ties", "b")
    assert run("gram", other, cohort / "other.zarr", *words).exit_code == 0
    refused = run("report", cohort / "other.zarr", "--evaluation", result, "--out", cohort / "p.html")
    assert refused.exit_code == 3
    assert "samples with other values" in refused.stderr
    assert "'rows.csv'" in refused.stderr
    assert "'other.csv'" in refused.stderr


def test_tile_that_a_store_does_not_follow_is_said(cohort, run, store):
    again = run("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "kendall", "--tile", 7)
    assert "keeps its tiles of side 10; --tile 7 is for a new one" in again.stderr


def test_store_is_not_a_cohort(cohort, run, store):
    refused = run("gram", store, cohort / "x.zarr", "--kernel", "linear")
    assert refused.exit_code == 3
    assert "is a store, which holds a matrix: give the file of the samples" in refused.stderr


def test_names_of_a_store_of_a_stranger_do_not_control_the_terminal(run, tmp_path, monkeypatch):
    compute_gram(Linear(), np.eye(3), store=tmp_path / "x.zarr", executor="serial", progress=False)
    monkeypatch.setattr(Gram, "row_ids", ("s\x1b]0;owned\x07", "a\nb", "\u202ec"))
    said = run("info", tmp_path / "x.zarr").stdout
    assert "s\\x1b]0;owned\\x07, a\\nb, \\u202ec" in said
    assert not set("\x1b\x07\u202e") & set(said)


# Layers and representations ---------------------------------------------------------------------------------------


@pytest.fixture(params=["cohort.h5ad", "cohort.zarr"])
def layered(request, tmp_path):
    X = np.random.default_rng(1).normal(size=(6, 4))
    adata = anndata.AnnData(X, layers={"counts": X + 1}, obsm={"X_pca": X[:, :2]})
    adata.obs["relapse"] = ["a", "b"] * 3
    path = tmp_path / request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the version of Zarr that is written
        (adata.write_h5ad if path.suffix == ".h5ad" else adata.write_zarr)(path)
    return path, X


@pytest.mark.parametrize(
    ("option", "values"), [(("--layer", "counts"), lambda X: X + 1), (("--use-rep", "X_pca"), lambda X: X[:, :2])]
)
def test_gram_reads_the_layer_and_append_does_too(run, tmp_path, layered, option, values):
    path, X = layered
    store = tmp_path / "gram.store"
    planned = run("plan", path, "--kernel", "linear", *option)
    assert planned.exit_code == 0, planned.stderr
    assert option[1] in planned.stdout
    assert run("gram", path, store, "--kernel", "linear", *option).exit_code == 0
    np.testing.assert_array_equal(open_gram(store).to_numpy(), Linear()(values(X)))
    assert option[1] in run("info", store).stdout
    adata = anndata.AnnData(2 * X, layers={"counts": 3 * X}, obsm={"X_pca": 5 * X[:, :2]})
    adata.obs_names = [f"n{number}" for number in range(6)]
    adata.write_h5ad(tmp_path / "new.h5ad")
    added = run("append", tmp_path / "new.h5ad", store)
    assert added.exit_code == 0, added.stderr
    assert option[1] in added.stderr
    new = 3 * X if option[1] == "counts" else 5 * X[:, :2]
    np.testing.assert_array_equal(open_gram(store).to_numpy(), Linear()(np.vstack([values(X), new])))


def write_loom(path, values, first):
    with h5py.File(path, "w") as file:
        file["matrix"], file["layers/spliced"] = np.zeros_like(values).T, values.T
        file["row_attrs/Gene"] = [f"g{k}" for k in range(values.shape[1])]
        file["col_attrs/CellID"] = [f"c{first + k}" for k in range(len(values))]
    return path


def test_a_layer_of_a_loom_file_is_read_and_appended(run, tmp_path):
    X = np.random.default_rng(1).normal(size=(9, 4))
    store = tmp_path / "gram.store"
    old, new = write_loom(tmp_path / "old.loom", X[:6], 0), write_loom(tmp_path / "new.loom", X[6:], 6)
    done = run("gram", old, store, "--kernel", "linear", "--layer", "spliced")
    assert done.exit_code == 0, done.stderr
    assert "spliced" in run("info", store).stdout
    added = run("append", new, store)
    assert added.exit_code == 0, added.stderr
    assert "read from the layer 'spliced', as the samples of the store were" in added.stderr
    np.testing.assert_array_equal(open_gram(store).to_numpy(), Linear()(X))
    refused = run("gram", old, tmp_path / "other.store", "--kernel", "linear", "--use-rep", "X_pca")
    assert refused.exit_code == 3
    assert "is loom, which has no obsm: leave out --use-rep" in refused.stderr


def test_labels_beside_a_layer_are_read_too(run, tmp_path, layered):
    path, X = layered
    words = ("gram", path, tmp_path / "gram.store", "--kernel", "linear", "--layer", "counts", "--label")
    assert run(*words, "relapse").exit_code == 0
    np.testing.assert_array_equal(open_gram(tmp_path / "gram.store").to_numpy(), Linear()(X + 1))
    assert run(*words, "tumour", "--overwrite").exit_code == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--layer", "count"), "holds no 'count' in layers: it has 'counts'; did you mean 'counts'?"),
        (("--use-rep", "X_umap"), "holds no 'X_umap' in obsm: it has 'X_pca'"),
        (("--layer", "counts", "--use-rep", "X_pca"), "--layer counts and --use-rep X_pca exclude each other"),
    ],
)
def test_layer_that_is_not_there_is_refused(run, tmp_path, layered, options, said):
    refused = run("gram", layered[0], tmp_path / "x.store", "--kernel", "linear", *options)
    assert refused.exit_code == 3
    assert said in refused.stderr


def test_files_without_layers_refuse_one(cohort, run):
    for name in ("X.npy", "rows.csv"):
        refused = run(
            "gram", cohort / name, cohort / "x.zarr", "--kernel", "linear", "--layer", "counts", "--samples", "rows"
        )
        assert refused.exit_code == 3
        assert "has neither layers nor obsm: leave out --layer" in refused.stderr


# Names that were meant --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("gram", "rows.csv", "x.zarr", "--kernel", "kendal"), "kendall"),
        (("gram", "rows.csv", "x.zarr", "--kernel", "normalized", "--param", "base=gausian"), "gaussian"),
        (("gram", "rows.csv", "x.zarr", "--kernel", "mallows", "--param", "scald=true"), "scaled"),
        (("gram", "rows.csv", "x.zarr", "--kernel", "partial-kendall", "--param", "kind=tops"), "top"),
        (("gram", "rows.csv", "x.zarr", "--kernel", "linear", "--samples", "row"), "rows"),
        (("gram", "rows.csv", "x.zarr", "--kernel", "linear", "--dtype", "float23"), "float32"),
        (("cluster", "rows.csv", "-k", 2, "--kernel", "kendall", "--consensus", "kemeney"), "kemeny"),
        (("evalute", "x.zarr"), "evaluate"),
        (("gram", "rows.csv", "x.zarr", "--kernal", "linear"), "--kernel"),
        (("reproduce", "smoothin"), "smoothing"),
    ],
)
def test_mistyped_word_is_answered_with_the_one_that_was_meant(cohort, run, monkeypatch, words, meant):
    monkeypatch.chdir(cohort.folder)
    result = run(*words)
    assert result.exit_code == 2
    said = " ".join(result.stderr.replace("│", " ").split())
    assert f"id you mean '{meant}'" in said.replace(f"mean {meant}", f"mean '{meant}'")


def test_mistyped_column_is_answered_with_the_one_that_was_meant(cohort, run, store):
    refused = run("evaluate", store, "--labels", cohort / "clinical.csv", "--label", "relaps")
    assert refused.exit_code == 3
    assert "did you mean 'relapse'?" in refused.stderr
