"""Tables of cBioPortal and UCSC Xena are known by their headers."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.registry import find_format

CBIOPORTAL = (
    "Hugo_Symbol\tEntrez_Gene_Id\tTCGA-A1-A0SD-01\tTCGA-A1-A0SE-01\nCREB3L1\t90993\t0.7\t-1.25\nRPS11\t6205\tNA\t1e-3\n"
    "\t55860\t2\t3\n"
)
XENA = "sample\tTCGA-69-7978-01\tTCGA-62-8399-01\nARHGEF10L\t9.98\t10.43\nHIF3A\t4.25\t\n"


@pytest.mark.parametrize("name", ["data_mrna_seq.txt", "cohort.tsv", "cohort", "data.txt.gz"])
def test_cbioportal(tmp_path, name):
    data = CBIOPORTAL.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert find_format(tmp_path / name).name == "cBioPortal table"
    adata = read_expression(tmp_path / name)
    assert list(adata.obs_names) == ["TCGA-A1-A0SD-01", "TCGA-A1-A0SE-01"]
    assert list(adata.var_names) == ["CREB3L1", "RPS11", "55860"]
    assert list(adata.var["Entrez_Gene_Id"]) == ["90993", "6205", "55860"]
    np.testing.assert_array_equal(adata.X, [[0.7, np.nan, 2], [-1.25, 1e-3, 3]])


def test_cbioportal_in_the_other_order(tmp_path):
    (tmp_path / "a.txt").write_text("Entrez_Gene_Id\tHugo_Symbol\ts1\n7157\tTP53\t1\n")
    adata = read_expression(tmp_path / "a.txt")
    assert (list(adata.var_names), list(adata.var["Hugo_Symbol"])) == (["7157"], ["TP53"])


@pytest.mark.parametrize("name", ["HiSeqV2.tsv", "HiSeqV2", "x.txt"])
def test_xena(tmp_path, name):
    (tmp_path / name).write_text(XENA)
    assert find_format(tmp_path / name).name == "UCSC Xena matrix"
    adata = read_expression(tmp_path / name)
    assert (list(adata.obs_names), list(adata.var_names)) == (
        ["TCGA-69-7978-01", "TCGA-62-8399-01"],
        ["ARHGEF10L", "HIF3A"],
    )
    np.testing.assert_array_equal(adata.X, [[9.98, 4.25], [10.43, np.nan]])
    with pytest.raises(InputError, match="every column is a sample"):
        read_expression(tmp_path / name, samples="rows")


@pytest.mark.parametrize("text", ["sample\tTP53\tMYC\np1\t1\t2\n", "Ensembl_ID\ts1\ts2\nENSG1\t1\t2\n"])
def test_other_tables_are_not_taken_for_them(tmp_path, text):
    (tmp_path / "a.tsv").write_text(text)
    assert find_format(tmp_path / "a.tsv").name == "text table"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (CBIOPORTAL.replace("\t-1.25", ""), "line 2 of 'a.txt', a table of cBioPortal, has 3 cells, and .* has 4"),
        (CBIOPORTAL.replace("1e-3", "high"), "line 3 of 'a.txt', .*has the text 'high' for sample 'TCGA-A1-A0SE-01'"),
        (CBIOPORTAL.splitlines()[0] + "\n", "'a.txt' contains no numbers: it has 0 rows and 2 columns"),
        (CBIOPORTAL.replace("RPS11", "CREB3L1"), "two features of 'a.txt' are called 'CREB3L1', number 1 and 2"),
        (XENA.replace("10.43", "x"), "line 2 of 'a.txt', a matrix of UCSC Xena, has the text 'x'"),
    ],
)
def test_damaged_tables_are_refused_by_line(tmp_path, text, says):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(InputError, match=says):
        read_expression(tmp_path / "a.txt")
