"""The command line and Python read the same files, and refuse the same ones with the same sentence."""

from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
import zarr

import distkern as dk
from distkern import compute_gram
from distkern.cli.cohort import count_classes, read_cohort
from distkern.core.bags import Bags
from distkern.core.errors import InputError
from distkern.io.bags import save_bags
from distkern.io.digests import sample_digests
from distkern.io.expression import read_expression
from distkern.io.source import as_source
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Linear


def digests(X) -> bytes:
    return sample_digests(as_source(X).read(slice(None))).tobytes()


@pytest.fixture
def files(cohort):
    """Write the cohort in each format that both read without options."""
    frames = {"obs": pd.DataFrame(index=cohort.ids), "var": pd.DataFrame(index=cohort.genes)}
    anndata.AnnData(cohort.X, **frames).write_h5ad(cohort / "cohort.h5ad")
    zarr.create_array(str(cohort / "cohort.zarr"), data=cohort.X)
    np.save(cohort / "UPPER.NPY", cohort.X)
    (cohort / "UPPER.NPY.npy").rename(cohort / "UPPER.NPY")
    (cohort / "unnamed").write_bytes((cohort / "X.npy").read_bytes())
    return cohort


@pytest.mark.parametrize("name", ["X.npy", "UPPER.NPY", "unnamed", "cohort.npz", "cohort.h5ad", "cohort.zarr"])
def test_python_and_the_command_line_read_the_same_samples(files, name):
    typed, given = read_cohort(files / name), as_source(files / name)
    assert digests(typed) == digests(given) == digests(files.X) == digests(read_expression(files / name))
    assert (typed.ids, typed.features, typed.portable) == (given.ids, given.features, given.portable)


def test_python_and_the_command_line_read_the_same_bags(cohort):
    path = save_bags(Bags.from_arrays([[[1.0]], [[2.0], [3.0]]], ids=["a", "b"]), cohort / "bags.zarr")
    assert digests(read_cohort(path)) == digests(path)
    with pytest.raises(InputError, match=r"'bags\.zarr' holds stored bags, not a matrix"):
        read_expression(path)


def test_tables_are_read_as_read_expression_reads_them(cohort):
    for name, samples in (("rows.csv", "rows"), ("columns.csv", "columns")):
        options = {"samples": samples, "label": "relapse" if samples == "columns" else None}
        assert digests(read_cohort(cohort / name, **options)) == digests(read_expression(cohort / name, **options))


def refused(read, path) -> str:
    with pytest.raises(InputError) as raised:
        read(path)
    return str(raised.value)


@pytest.mark.parametrize(
    "name", ["nothing.npy", "broken.npy", "broken.npz", "two.npz", "text.h5ad", "file.xyz", "empty"]
)
def test_python_and_the_command_line_refuse_with_the_same_sentence(cohort, name):
    (cohort / "broken.npy").write_bytes(b"\x93NUMPY")
    (cohort / "broken.npz").write_bytes(b"PK\x03\x04")
    np.savez(cohort / "two.npz", A=cohort.X, B=cohort.X)
    (cohort / "text.h5ad").write_text("text")
    (cohort / "file.xyz").write_text("x")
    (cohort / "empty").mkdir()
    path = cohort / name
    said = {refused(read, path) for read in (read_cohort, as_source, read_expression)}
    said.add(refused(lambda path: compute_gram(Linear(), path, store=cohort / "g.zarr", progress=False), path))
    assert len(said) == 1
    assert name in said.pop()


def test_table_without_an_orientation_is_refused(cohort, run):
    path = cohort / "rows.csv"
    said = refused(as_source, path)
    assert said == refused(read_expression, path) == refused(read_cohort, path)
    assert "say which are the samples with samples='rows' or samples='columns' of distkern.read_expression" in said
    result = run("gram", path, cohort / "g.zarr", "--kernel", "linear")
    assert result.exit_code == 3
    assert result.stderr.endswith("say which are the samples with --samples rows or --samples columns\n")


def test_infinite_values_are_refused_although_kernels_on_orderings_accept_them(cohort):
    X = cohort.X.copy()
    X[3, 2] = np.inf
    np.save(cohort / "X.npy", X)
    assert "sample number 3 of 'X.npy' has an infinite value for feature number 2" in refused(
        read_cohort, cohort / "X.npy"
    )
    assert compute_gram(Kendall(), cohort / "X.npy", store=cohort / "g.zarr", progress=False).is_complete


def test_classes_are_counted_from_the_most_frequent():
    assert count_classes(["a", "b", "b"]) == "2 b, 1 a"
    assert count_classes(["1", "0", "1"]) == "2 '1', 1 '0'"  # a label that is a number is told from a count
    many = count_classes([f"s{number}" for number in range(30)])
    assert many.startswith("1 s0, 1 s1, ")
    assert many.endswith("1 s19, 10 others")


def test_probes_become_genes(tmp_path, run):
    table, genes = tmp_path / "probes.csv", tmp_path / "genes.csv"
    table.write_text("probe,a,b,c\np1,1,2,3\np2,5,1,9\np3,4,4,2\np4,0,1,0\n")
    genes.write_text("probe,symbol\np1,TP53\np2,TP53\np3,MYC\n")
    words = ("--samples", "columns", "--kernel", "kendall", "--collapse", "max", "--genes", genes, "-q")
    assert run("gram", table, tmp_path / "gram.zarr", *words).exit_code == 0
    found = dk.open_gram(tmp_path / "gram.zarr")
    assert found.features == ("TP53", "MYC")
    np.testing.assert_array_equal(found.to_numpy(), dk.Kendall()([[5, 4], [2, 4], [9, 2]]))
    refused = run(
        "gram", table, tmp_path / "other.zarr", "--samples", "columns", "--kernel", "kendall", "--genes", genes
    )
    assert refused.exit_code == 3
    assert "--genes without --collapse" in refused.output


def test_what_was_read_is_said(tmp_path, run):
    path = tmp_path / "cohort.gct"
    path.write_text(
        "#1.2\n3\t2\nName\tDescription\ts1\ts2\np1_at\tTP53\t7.5\t8\np2_at\tTP53\t5\t6.25\np3_at\tMYC\t4\t3\n"
    )
    words = ("plan", path, "--kernel", "linear")
    said = "cohort.gct: 3 probes × 2 samples, samples in columns; values from 3 to 8 look like logarithms\n"
    done = run(*words)
    assert done.exit_code == 0
    assert done.stderr.startswith(f"{said}next: distkern gram ")
    assert run(*words, "--json").stderr == ""
    collapsed = run(*words, "--collapse", "max", "--genes", "Description")
    assert collapsed.stderr.startswith(
        "cohort.gct: 2 features × 2 samples, samples in columns; values from 3 to 8 look like logarithms\n"
    )
    lacking = run(*words, "--collapse", "max", "--genes", "genes.csv")
    assert (
        "no table of genes 'genes.csv', and the features have no such column: they have 'Description'" in lacking.stderr
    )
