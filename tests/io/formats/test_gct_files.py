"""GCT 1.2 and 1.3: names, texts, orientation, and files that are damaged."""

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

OLD = (
    '#1.2\n3\t2\t\nName\tDescription\ts1\ts2\t\n1007_s_at\tDDR1 "discoidin"\t1\t2.5\n1053_at\tRFC2\t3\tNA\n'
    "117_at\tDDR1\t0\t-4e-1\n"
)
NEW = (
    "#1.3\n2\t3\t1\t2\nid\tpr_gene_symbol\tA\tB\tC\ncell\tna\tMCF7\tPC3\t-666\ndose\tna\t1\t2\t10\n"
    "p1\tTP53\t1\t2\t3\np2\tMYC\t4\t\tnan\n"
)


def write(folder: Path, text: str, name: str = "cohort.gct") -> Path:
    (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder / name


@pytest.mark.parametrize("name", ["cohort.gct", "cohort.gct.gz", "cohort.txt", "cohort"])
@pytest.mark.parametrize("samples", [None, "columns"])
def test_version_1_2(tmp_path, name, samples):
    path = write(tmp_path, OLD, name)
    assert find_format(path).name == "GCT"
    adata = read_expression(path, samples=samples)
    assert (list(adata.obs_names), list(adata.var_names)) == (["s1", "s2"], ["1007_s_at", "1053_at", "117_at"])
    np.testing.assert_array_equal(adata.X, [[1, 3, 0], [2.5, np.nan, -0.4]])
    assert list(adata.var["Description"]) == ['DDR1 "discoidin"', "RFC2", "DDR1"]
    np.testing.assert_array_equal(as_source(path).read(slice(None)), adata.X)


def test_version_1_3_keeps_the_texts_of_samples_and_features(tmp_path):
    path = write(tmp_path, NEW)
    adata = read_expression(path)
    np.testing.assert_array_equal(adata.X, [[1, 4], [2, np.nan], [3, np.nan]])
    assert adata.obs.to_dict("list") == {"cell": ["MCF7", "PC3", ""], "dose": ["1", "2", "10"]}
    assert adata.var.to_dict("list") == {"pr_gene_symbol": ["TP53", "MYC"]}
    assert read_columns(path)["dose"] == {"A": "1", "B": "2", "C": "10"}
    assert list(read_expression(path, label="dose").obs["dose"]) == ["1", "2", "10"]
    with pytest.raises(InputError, match=r"sample 'C' has the label '' in 'cohort.gct', which means missing"):
        read_expression(path, label="cell")


def test_probes_become_genes_by_a_column_of_the_file(tmp_path):
    text = OLD.replace('DDR1 "discoidin"', "DDR1")
    adata = read_expression(write(tmp_path, text), collapse="max", genes="Description")
    assert list(adata.var_names) == ["DDR1", "RFC2"]
    np.testing.assert_array_equal(adata.X, [[1, 3], [2.5, np.nan]])
    with pytest.raises(InputError, match=r"no table of genes 'Descripton', .*: they have 'Description'"):
        read_expression(tmp_path / "cohort.gct", collapse="max", genes="Descripton")


def test_the_column_called_name_names_the_features(tmp_path):
    text = "#1.2\n1\t2\nid\tName\tDescription\ts1\ts2\n0\tENSG1\tTP53\t1\t2\n"
    adata = read_expression(write(tmp_path, text))
    assert (list(adata.var_names), list(adata.var)) == (["ENSG1"], ["id", "Description"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OLD.replace("RFC2\t3\tNA", "RFC2\t3"), "line 5 of .*, a GCT 1.2 file, has 3 cells, and the header has 4: "),
        (OLD.replace("-4e-1", "x4"), "line 6 of .* has the text 'x4' for sample 's2', where a number must be"),
        (OLD.replace("-4e-1", "9007199254740993"), "line 6 of .* number 9007199254740993 for sample 's2'"),
        (OLD.replace("3\t2\t\n", "4\t2\n"), "promises 4 rows, and it has 3 up to line 6: if it is cut off"),
        (OLD.replace("3\t2\t\n", "3\tx\n"), "line 2 of .* must hold 2 whole numbers"),
        (OLD.replace("3\t2\t\n", "3\t9\n"), "line 3 of .* names 4 columns, which is not what the second line says"),
        (NEW.replace("\t1\t2\ni", "\t2\t2\ni"), "line 3 of .* names 5 columns"),
        (NEW.replace("\t2\t10\n", "\t2\n"), "line 5 of .* has 4 cells"),
        ("#1.2\n3\t2\n", "is a GCT 1.2 file that is cut off after line 2, before its header: get it again"),
        ("#1.2\n", "is cut off after line 1, before its size"),
        ("#1.4\n", "begins with '#1.4': a GCT file begins with #1.2 or #1.3"),
        (OLD.replace("1053_at", "1007_s_at"), "two features of .* '1007_s_at', number 1 and 2: .* or collapse them"),
        (OLD.replace("1053_at", ""), "number 2 of the features of 'cohort.gct' has no name"),
        (OLD.replace("s2", "s1"), "two samples of 'cohort.gct' are called 's1'"),
    ],
)
def test_damaged_files_are_refused_by_line(tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        read_expression(write(tmp_path, text))


def test_samples_are_columns(tmp_path):
    with pytest.raises(InputError, match="every column is a sample: save it transposed, or leave out samples='rows'"):
        read_expression(write(tmp_path, OLD), samples="rows")
