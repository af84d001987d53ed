"""A second column of ids is neither a sample nor a feature, and ordinary samples are not taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.points import bags_from_file


def read(folder, text, samples="columns"):
    path = folder / "cohort.tsv"
    path.write_text(text.replace(" ", "\t"))
    return read_expression(path, samples=samples)


@pytest.mark.parametrize(
    "text",
    [
        "gene Entrez_Gene_Id s1 s2\nTP53 7157 1 2\nMYC 4609 3 4\n",
        "gene Entrez_Gene_Id s1 s2\nTP53 7157.0 1 2\nMYC  3 4\n",
        "symbol s1 s2 entrezgene\nTP53 1 2 7157\nMYC 3 4 4609\n",
        "symbol gene_id s1 s2\nTP53 7157 1 2\nMYC 4609 3 4\n",
        "symbol HGNC s1 s2\nTP53 11998 1 2\nMYC 7553 3 4\n",
        "symbol number s1 s2\nTP53 7157 1.5 2\nMYC 4609 3 4.5\nEGFR 1956 .5 1\n",
        "Name Description s1 s2\nA NA 1 2\nB NA 3 4\n",
    ],
)
def test_a_column_of_ids_of_the_features_is_no_sample(tmp_path, text):
    with pytest.raises(InputError, match="seems to hold ids of the features, not a sample: take it out"):
        read(tmp_path, text)
    lines = [line.split(" ") for line in text.splitlines()]
    transposed = "".join(" ".join(line) + "\n" for line in zip(*lines, strict=True))
    with pytest.raises(InputError, match=r"^row '.*' .*ids of the features, not a sample"):
        read(tmp_path, transposed, "rows")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("ensembl symbol s1\nENSG1 TP53 1\nENSG2 MYC 3\n", "symbol"),
        ("Name Description s1\nA na 1\nB x 3\n", "Description"),
        ("Geneid Chr Start s1\nA chr1 1 10\nB chr2 2 20\n", "Chr"),
    ],
)
def test_a_column_of_text_is_no_sample(tmp_path, text, column):
    with pytest.raises(InputError, match=f"column '{column}' .* holds text, .*: take it out"):
        read(tmp_path, text)


@pytest.mark.parametrize("name", ["patient_id", "sampleId", "ID", "case.id", "barcode", "Unnamed: 0"])
def test_a_column_of_ids_of_the_samples_is_no_feature(tmp_path, name):
    header = f"id\t{name}\tg1\n"
    (tmp_path / "t.tsv").write_text(header + "p1\t17\t1\np2\t42\t3\n")
    with pytest.raises(InputError, match="ids of the samples, not a feature: take it out, or move it to the front"):
        read_expression(tmp_path / "t.tsv", samples="rows")
    (tmp_path / "t.tsv").write_text(header + "p1\t1.5\t1\np2\t2\t3\n")  # no ids: 1.5 is no whole number
    assert read_expression(tmp_path / "t.tsv", samples="rows").shape == (2, 2)


def test_ids_that_are_not_in_the_first_column_are_noticed(tmp_path):
    with pytest.raises(InputError, match=r"first column .* holds numbers, such as 61.5"):
        read(tmp_path, "age g1 g2\n61.5 1 2\n54.25 3 4\n", "rows")
    with pytest.raises(InputError, match="if it names the samples, move it to the front"):
        read(tmp_path, "age id g2\n61.5 p1 2\n54.25 p2 4\n", "rows")


@pytest.mark.parametrize(
    "text",
    [
        "gene p1 p2 p3\nTP53 1 2 3\nMYC 4 5.5 6\n",
        "gene p1 p2 control\nA 10 20 30\nB 40 50 60\nC 70 80 90\n",  # all are whole and distinct
        "item Ann Bob total\na 1 2 3\nb 2 1 1\nc 3 3 2\n",  # ranks
        "gene TCGA-01 TCGA-02 TCGA-03\nA 105 1.5 2\nB 205 1 1\nC 305 1 1\n",  # a name like the others
        "gene Hugo Ida affy_1\nA 1 1 2\nB 1 2 2\n",
    ],
)
def test_samples_are_not_taken_for_ids(tmp_path, text):
    assert read(tmp_path, text).shape == (3, len(text.splitlines()) - 1)


def test_genes_with_such_names_are_features(tmp_path):
    adata = read(tmp_path, "gene p1 p2\nID1 105 207\nARID1A 1 2\nGRID 3 4\nindex2 5 9\n")
    assert list(adata.var_names) == ["ID1", "ARID1A", "GRID", "index2"]


def test_a_column_of_ids_is_no_coordinate(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("who,cell_id,x\na,17,1.0\nb,42,2.0\n")
    with pytest.raises(InputError, match=r"'cell_id' .* ids, not a coordinate: name the columns with coordinates"):
        bags_from_file(path, "who")
    bags, columns = bags_from_file(path, "who", columns=["cell_id", "x"])
    np.testing.assert_array_equal(bags.points("a"), [[17, 1]])
    assert columns == ["cell_id", "x"]
