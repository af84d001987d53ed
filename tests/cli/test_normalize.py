from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData, read_h5ad
from scipy import sparse

from distkern import KernelRidge, QuantileNormalizer, load_model, save_model

pytestmark = pytest.mark.filterwarnings("default")  # the command prints warnings
COLUMNS = ("--samples", "columns", "--label", "relapse")


def read(path):
    return pd.read_csv(path, index_col="id", float_precision="round_trip")


def test_the_table_is_that_of_the_library(run, cohort):
    frame = pd.DataFrame(cohort.X, index=pd.Index(cohort.ids, name="id"), columns=cohort.genes)
    out = cohort / "out.csv"
    result = run("normalize", cohort / "columns.csv", *COLUMNS, "--out", out)
    assert result.exit_code == 0
    (said,) = result.stdout.splitlines()
    assert said == f"24 samples of 15 features of '{cohort / 'columns.csv'}' normalised to the median target"
    assert f"written to {out}" in result.stderr.splitlines()
    expected = pd.DataFrame(QuantileNormalizer().fit_transform(frame), frame.index, frame.columns)
    pd.testing.assert_frame_equal(read(out), expected, check_exact=True)
    untied = [len(set(row)) == 15 for row in cohort.X.tolist()]
    for row in np.sort(read(out), axis=1)[untied]:
        np.testing.assert_array_equal(row, np.median(np.sort(cohort.X), axis=0))


def test_a_saved_target_is_frozen(run, cohort):
    saved, out = cohort / "target.npz", cohort / "new.npy"
    first = cohort.write("first.csv", cohort.X[:16])
    new = cohort.write("new.csv", cohort.X[16:], ids=cohort.ids[16:])
    result = run("normalize", first, "--samples", "rows", "--target", "mean", "--ties", "mid", "--save-target", saved)
    assert (result.exit_code, "looked at for the mean target" in result.stdout) == (0, True)
    result = run("normalize", new, "--samples", "rows", "--target", saved, "--out", out, "--json")
    printed = json.loads(result.stdout)
    assert (printed["samples"], printed["ties"], printed["missing"], printed["out"]) == (8, "mid", "error", str(out))
    frozen = QuantileNormalizer("mean", ties="mid").fit(cohort.X[:16])
    np.testing.assert_array_equal(np.load(out), frozen.transform(cohort.X[16:]))
    np.testing.assert_array_equal(load_model(saved).target_, frozen.target_)
    fewer = pd.DataFrame(cohort.X[:2, 3:], index=cohort.ids[:2], columns=cohort.genes[3:])
    fewer.rename_axis("id").to_csv(cohort / "fewer.csv")
    result = run("normalize", cohort / "fewer.csv", "--samples", "rows", "--target", saved, "--out", cohort / "f.csv")
    assert (result.exit_code, "X lacks 3 of 15 features ('g0', 'g1', 'g2')" in result.stderr) == (0, True)
    assert list(read(cohort / "f.csv").columns) == cohort.genes[3:]


@pytest.mark.parametrize("name", ["numbers.txt", "numbers.npy"])
def test_a_target_of_numbers(run, cohort, name):
    numbers, X = np.arange(15) ** 2.0, np.random.default_rng(3).normal(size=(5, 15))
    np.save(cohort / "X.npy", X)
    np.save(cohort / name, numbers) if name.endswith(".npy") else np.savetxt(cohort / name, numbers)
    result = run("normalize", cohort / "X.npy", "--target", cohort / name, "--out", cohort / "out.tsv")
    assert result.exit_code == 0
    found = pd.read_csv(cohort / "out.tsv", index_col=0, sep="\t").to_numpy()
    np.testing.assert_array_equal(found, np.argsort(np.argsort(X, axis=1), axis=1) ** 2.0)


@pytest.mark.filterwarnings("ignore:.*are constant:UserWarning")
def test_cells_keep_their_annotations(run, cohort):
    counts = sparse.csr_matrix(np.where(cohort.X > 1, cohort.X, 0))
    cells = AnnData(counts, pd.DataFrame({"donor": cohort.relapse}, cohort.ids), pd.DataFrame(index=cohort.genes))
    cells.write_h5ad(cohort / "cells.h5ad")
    result = run("normalize", cohort / "cells.h5ad", "--target", "normal", "--out", cohort / "out.h5ad", "-q")
    assert result.exit_code == 0
    found = read_h5ad(cohort / "out.h5ad")
    assert found.obs["donor"].tolist() == cohort.relapse
    with pytest.warns(UserWarning, match="2 samples of 24 are constant"):
        expected = QuantileNormalizer("normal").fit_transform(counts)
    np.testing.assert_array_equal(found.X, expected)


def test_bad_input(run, cohort):
    rows = ("normalize", cohort / "rows.csv", "--samples", "rows")
    assert run(*rows).exit_code == 2
    twice = run(*rows, "--out", cohort / "one.npy", "--save-target", cohort / "one.npy", "--overwrite")
    assert (twice.exit_code, (cohort / "one.npy").exists()) == (2, False)
    for words, said in [
        (["--target", "medain", "--out", cohort / "o.csv"], "did you mean 'median'"),
        (["--out", cohort / "o.xlsx"], "must end in .csv"),
        (["--out", cohort / "X.npy"], "give another path, or --overwrite to replace it"),
        (["--target", cohort / "rows.csv", "--out", cohort / "o.csv"], "cannot be read as numbers"),
        (["--target", cohort / "ridge.npz", "--out", cohort / "o.csv"], "holds a KernelRidge, no target"),
    ]:
        save_model(KernelRidge().fit(np.eye(2), [1, 2]), cohort / "ridge.npz", overwrite=True)
        result = run(*rows, *words)
        assert (result.exit_code, said in result.stderr) == (3, True), result.stderr
    gaps = cohort.X.copy()
    gaps[3, 2] = np.nan
    np.save(cohort / "gaps.npy", gaps)
    result = run("normalize", cohort / "gaps.npy", "--out", cohort / "o.npy")
    assert (result.exit_code, "or give --missing interpolate" in result.stderr) == (3, True)
    assert not (cohort / "o.npy").exists()
    result = run("normalize", cohort / "gaps.npy", "--out", cohort / "o.npy", "--missing", "interpolate")
    assert result.exit_code == 0
    np.testing.assert_array_equal(np.isnan(np.load(cohort / "o.npy")), np.isnan(gaps))
    assert run("normalize", cohort / "X.npy", "--out", cohort / "X.npy", "--overwrite").exit_code == 0
