"""Kinds of files that are not read say what to do, and what they say works."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.foreign import FILES
from distkern.io.labels import read_columns
from distkern.io.points import bags_from_file
from distkern.io.source import as_source

GCT = "#1.2\n2\t2\nName\tDescription\ts1\ts2\nA\tx\t1\t2\nB\ty\t3\t4\n"
SOFT = (
    "^DATABASE = Geo\n^DATASET = GDS1\n!dataset_title = x\n!dataset_table_begin\nID_REF\tIDENTIFIER\ts1\ts2\n"
    "A\tTP53\t1\t2\nB\tMYC\t3\t4\n!dataset_table_end\n"
)
MATRIX = (
    '!Series_title\t"x"\n!Sample_characteristics_ch1\t"ill"\t"well"\n!series_matrix_table_begin\n'
    '"ID_REF"\t"s1"\t"s2"\n"A"\t1\t2\n"B"\t3\t4\n!series_matrix_table_end\n'
)
KINDS = [
    ("a.gct", GCT, "a GCT file"),
    ("d.soft", SOFT, "a GEO SOFT file"),
    ("GSE1_series_matrix.txt", MATRIX, "a GEO series matrix"),
]


def between(text, table):
    """Cells of the lines between the marks of a table."""
    lines = text.splitlines()
    return [line.split("\t") for line in lines[lines.index(f"!{table}_begin") + 1 : lines.index(f"!{table}_end")]]


def without_second(rows):
    return [row[:1] + row[2:] for row in rows]


@pytest.mark.parametrize(("name", "text", "kind"), KINDS)
@pytest.mark.parametrize("name_of", ["own", "none", "txt", "compressed"])
def test_a_kind_is_known_by_name_and_by_content_with_all_options(tmp_path, name, text, kind, name_of):
    path = tmp_path / {"own": name, "none": "cohort", "txt": "cohort.txt", "compressed": "cohort.txt.gz"}[name_of]
    path.write_bytes(gzip.compress(text.encode()) if name_of == "compressed" else text.encode())
    said = set()
    for samples in (None, "rows", "columns"):
        with pytest.raises(InputError, match=f"is {kind}, which is not read: ") as raised:
            read_expression(path, samples=samples)
        said.add(str(raised.value))
    assert len(said) == 1
    for read in (as_source, read_columns, lambda path: bags_from_file(path, "who")):
        with pytest.raises(InputError, match=f"is {kind}, which is not read: "):
            read(path)


@pytest.mark.parametrize(
    ("text", "followed", "advice"),
    [
        (GCT, without_second(line.split("\t") for line in GCT.splitlines()[2:]), "delete its first two lines"),
        (SOFT, without_second(between(SOFT, "dataset_table")), "keep the lines .* without the column IDENTIFIER"),
        (MATRIX, between(MATRIX, "series_matrix_table"), "keep the lines between !series_matrix_table_begin"),
    ],
)
def test_the_advice_works(tmp_path, text, followed, advice):
    (tmp_path / "cohort.txt").write_text(text)
    with pytest.raises(InputError, match=f"{advice}.*tsv file, and read that with samples='columns'"):
        read_expression(tmp_path / "cohort.txt")
    (tmp_path / "cohort.tsv").write_text("".join("\t".join(cells) + "\n" for cells in followed))
    adata = read_expression(tmp_path / "cohort.tsv", samples="columns")
    assert (list(adata.obs_names), list(adata.var_names)) == (["s1", "s2"], ["A", "B"])
    np.testing.assert_array_equal(adata.X, [[1, 3], [2, 4]])


def test_a_folder_of_10x_is_named(tmp_path):
    folder = tmp_path / "filtered_feature_bc_matrix"
    folder.mkdir()
    for name in ("matrix.mtx.gz", "barcodes.tsv.gz", "features.tsv.gz"):
        (folder / name).write_bytes(b"")
    for read in (as_source, read_expression, read_columns):
        with pytest.raises(InputError, match=r"10x Genomics, which is not read: convert it with scanpy\.read_10x_mtx"):
            read(folder)


def test_every_ending_is_refused_with_advice(tmp_path):
    for kind in FILES:
        for suffix in kind.suffixes:
            path = tmp_path / f"cohort{suffix.upper()}"
            path.write_bytes(b"id,a\np,1\n")
            with pytest.raises(InputError, match=f"is {kind.name}, which is not read: "):
                read_expression(path, samples="rows")


def test_what_is_read_is_not_taken_for_them(tmp_path):
    (tmp_path / "a.txt").write_text("#1\tp1\n!x\t1\n^y\t2\n")
    assert read_expression(tmp_path / "a.txt", samples="columns").shape == (1, 2)
