"""GEO: series matrices and SOFT files, with what they say of the samples."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.labels import read_columns
from distkern.io.registry import find_format
from distkern.io.source import as_source

SERIES = """\
!Series_title\t"HDAC1 deficiency in embryonic stem cells"
!Series_geo_accession\t"GSE5583"

!Sample_title\t"WT.1"\t"WT.2"\t"KO.1"
!Sample_geo_accession\t"GSM130365"\t"GSM130366"\t"GSM130367"
!Sample_characteristics_ch1\t"Genotype: wild type"\t"Genotype: wild type"\t"age: 53"
!Sample_characteristics_ch1\t"age: 61"\t""\t"Genotype: HDAC1 ""KO"" ES"
!Sample_data_processing\t"MAS5"\t"MAS5"\t"MAS5"
!series_matrix_table_begin
"ID_REF"\t"GSM130365"\t"GSM130366"\t"GSM130367"
"100001_at"\t11.5\t5.6\t69.1
"100002_at"\t20.5\tnull\t
!series_matrix_table_end
"""
"""The layout, the accession and the first value lines are those of GSE5583 (Zupkovitz et al. 2006), shortened."""

DATASET = """\
^DATABASE = Geo
!Database_name = Gene Expression Omnibus (GEO)
^DATASET = GDS507
!dataset_title = Renal clear cell carcinoma
^SUBSET = GDS507_1
!subset_dataset_id = GDS507
!subset_description = RCC
!subset_sample_id = GSM11815,GSM11832
!subset_type = disease state
^SUBSET = GDS507_2
!subset_description = normal
!subset_sample_id = GSM11810
!subset_type = disease state
^DATASET = GDS507
#ID_REF = Platform reference identifier
#GSM11815 = Value for GSM11815: C035 Renal Clear Cell Carcinoma; src: Trizol isolation
!dataset_table_begin
ID_REF\tIDENTIFIER\tGSM11815\tGSM11832\tGSM11810
200000_s_at\tPRPF8\t4254\t5298.2\tnull
200001_at\tCAPNS1\t17996.2\t12010.7\t2.5
!dataset_table_end
"""

FAMILY = """\
^DATABASE = GeoMiame
^SERIES = GSE1
!Series_title = a family
^PLATFORM = GPL96
!platform_table_begin
ID\tGene Symbol
p1\tTP53
p2\tMYC
!platform_table_end
^SAMPLE = GSM1
!Sample_title = ill
!Sample_platform_id = GPL96
!Sample_characteristics_ch1 = sex: F
!Sample_characteristics_ch1 = stage: 2
!sample_table_begin
ID_REF\tVALUE\tABS_CALL
p1\t1.5\tP
p2\t2.5\tA
!sample_table_end
^SAMPLE = GSM2
!Sample_title = well
!Sample_platform_id = GPL96
!Sample_characteristics_ch1 = sex: M
!sample_table_begin
ID_REF\tVALUE
p2\t7
p3\tnull
!sample_table_end
"""


def write(folder: Path, text: str, name: str) -> Path:
    (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder / name


@pytest.mark.parametrize("name", ["GSE5583_series_matrix.txt.gz", "GSE5583_series_matrix.txt", "matrix.txt", "cohort"])
def test_series_matrix(tmp_path, name):
    path = write(tmp_path, SERIES, name)
    assert find_format(path).name == "GEO series matrix"
    adata = read_expression(path)
    assert list(adata.obs_names) == ["GSM130365", "GSM130366", "GSM130367"]
    assert list(adata.var_names) == ["100001_at", "100002_at"]
    np.testing.assert_array_equal(adata.X, [[11.5, 20.5], [5.6, np.nan], [69.1, np.nan]])
    assert list(adata.obs) == ["Genotype", "age", "title", "geo_accession", "data_processing"]
    assert list(adata.obs["Genotype"]) == ["wild type", "wild type", 'HDAC1 "KO" ES']
    assert list(adata.obs["age"]) == ["61", "", "53"]
    assert read_columns(path)["title"] == {"GSM130365": "WT.1", "GSM130366": "WT.2", "GSM130367": "KO.1"}
    assert next(iter(read_expression(path, label="Genotype").obs["Genotype"])) == "wild type"
    np.testing.assert_array_equal(as_source(path).read(slice(None)), adata.X)


def test_labels_of_another_file_are_those_of_its_samples(tmp_path):
    labels = write(tmp_path, SERIES, "GSE5583_series_matrix.txt")
    cohort = write(tmp_path, "id\tGSM130367\tGSM130365\ng\t1\t2\n", "values.tsv")
    adata = read_expression(cohort, samples="columns", labels=labels, label="title")
    assert list(adata.obs["title"]) == ["KO.1", "WT.1"]


def test_series_matrix_without_values_says_where_they_are(tmp_path):
    lines = [line for line in SERIES.splitlines(keepends=True) if not line.startswith('"10000')]
    lines.insert(1, '!Series_supplementary_file\t"ftp://ftp.ncbi.nlm.nih.gov/geo/GSE1_counts.csv.gz"\n')
    path = write(tmp_path, "".join(lines), "GSE1_series_matrix.txt")
    with pytest.raises(InputError, match=r"a GEO series matrix without values: .* such as 'GSE1_counts\.csv\.gz'"):
        read_expression(path)
    assert read_columns(path)["age"]["GSM130365"] == "61"  # it still gives labels


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SERIES.replace("!series_matrix_table_end\n", ""), "cut off after line 12, before !series_matrix_table_end"),
        (SERIES.replace("\t5.6\t69.1", "\t5.6"), "line 11 of .*, a GEO series matrix, has 3 cells, and .* has 4"),
        (SERIES.replace("69.1", "high"), "line 11 of .* has the text 'high' for sample 'GSM130367'"),
        (SERIES[: SERIES.index("!series_matrix")], "cut off after line 8, before !series_matrix_table_begin"),
        (SERIES.replace('\t"KO.1"', ""), "line !Sample_title has 2 texts for 3 samples"),
        (SERIES.replace("!Sample_title", "title"), "line 4 of .* begins with 'title'"),
        (SERIES.replace('\t"GSM130365"\t"GSM130366"\t"GSM130367"\n"1', '\n"1'), "line 10 of .* names no sample"),
    ],
)
def test_damaged_series_matrices_are_refused_by_line(tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        read_expression(write(tmp_path, text, "GSE1_series_matrix.txt"))


@pytest.mark.parametrize("name", ["GDS507.soft.gz", "GDS507.soft", "cohort.txt"])
def test_data_set(tmp_path, name):
    path = write(tmp_path, DATASET, name)
    adata = read_expression(path)
    assert list(adata.obs_names) == ["GSM11815", "GSM11832", "GSM11810"]
    np.testing.assert_array_equal(adata.X, [[4254, 17996.2], [5298.2, 12010.7], [np.nan, 2.5]])
    assert adata.var.to_dict("list") == {"IDENTIFIER": ["PRPF8", "CAPNS1"]}
    assert list(adata.obs["disease state"]) == ["RCC", "RCC", "normal"]
    assert read_columns(path)["disease state"]["GSM11810"] == "normal"


def test_family_matches_features_by_name(tmp_path):
    adata = read_expression(write(tmp_path, FAMILY, "GSE1_family.soft"))
    assert (list(adata.obs_names), list(adata.var_names)) == (["GSM1", "GSM2"], ["p1", "p2", "p3"])
    np.testing.assert_array_equal(adata.X, [[1.5, 2.5, np.nan], [np.nan, 7, np.nan]])
    assert adata.obs[["sex", "stage", "title"]].to_dict("list") == {
        "sex": ["F", "M"],
        "stage": ["2", ""],
        "title": ["ill", "well"],
    }
    assert list(adata.var["Gene Symbol"]) == ["TP53", "MYC", ""]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            DATASET.replace("!dataset_table_end\n", ""),
            "a GEO SOFT file that is cut off after line 20, before !dataset_table_end",
        ),
        (DATASET.replace("\t12010.7\t2.5", "\t12010.7"), "line 20 of .* has 4 cells, and the header has 5"),
        (DATASET.replace("5298.2", "five"), "line 19 of .* has the text 'five' for sample 'GSM11832'"),
        (DATASET[: DATASET.index("!dataset_table")], "cut off after line 16, before !dataset_table_begin"),
        (FAMILY.replace("p2\t7", "p2\tx"), "has the text 'x' for sample 'GSM2'"),
        (FAMILY.replace("p3\tnull", "p2\t8"), "sample 'GSM2' of .* has two values for feature 'p2'"),
        (
            FAMILY.replace("id = GPL96\n!Sample_characteristics_ch1 = sex: M", "id = GPL97"),
            "2 platforms .GPL96, GPL97.",
        ),
        (FAMILY.replace("VALUE", "X"), "a GEO SOFT file without values"),
        (FAMILY.replace("^SERIES", "what", 1).replace("^DATABASE = GeoMiame\n", ""), "line 1 of .* begins with 'what"),
    ],
)
def test_damaged_soft_files_are_refused(tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        read_expression(write(tmp_path, text, "cohort.soft"))


def test_samples_are_columns(tmp_path):
    for name, text in (("a_series_matrix.txt", SERIES), ("a.soft", DATASET)):
        with pytest.raises(InputError, match="every column is a sample"):
            read_expression(write(tmp_path, text, name), samples="rows")
