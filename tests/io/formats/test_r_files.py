"""Files of R: matrices, data frames, sparse matrices and ExpressionSets, without running R."""

from __future__ import annotations

import base64
import bz2
import gzip
import lzma
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rdata
from scipy import sparse

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.expression import read_expression
from distkern.io.labels import read_columns
from distkern.io.registry import find_format, table_names

MATRIX = base64.b64decode(
    "H4sIAAAAAAACA4vgYmBgYGZgYWFmYGYFMhlYQ0PcdC0YGJh4gRw2IGYEYhYgZgJJghWDxVmYwHIsDJwgsZTMXCDFC1XGBFGGooQD"
    "qCQvMTe1GCgtDFUjAKYh8mxAeYN4AxSeIVQNM5KoIYoaQ6AaZJ4Rmq2sUCtRrOLIrYwHqoYbBOODrPsHwgBFl/sZFQEAAA=="
)
"""saveRDS of a 2 × 3 matrix with names, and save of a data.frame, by R itself: from the tests of rdata 1.1.0 (MIT),
tests/data/generated/test_full_named_matrix__xdr__version_3.rds and test_dataframe_int_rownames__xdr__version_3.rda."""

FRAME = base64.b64decode(
    "H4sIAAAAAAAABgtyiTDmiuBiYGBgZmBhYWZgZgUyGVhDQ9x0LRgYWJiAHEYGFgZOIC1dklpcEp+SWJKYVpSYmxqfmVcSX5Rfngdk"
    "FwO1C4OVMjDwgcxyUGEAAwcTKG3HAAUoRrJCNTMIIAmyJOfnGKIrTM5JLEZXyAVyix7YMWjKOYHu0oOZzQv2HASzgSSB+B8IAwAC"
    "rQKS/AAAAA=="
)

OBJECT, ATTRIBUTES, TAG = 0x100, 0x200, 0x400
"""Flags of R's serialization: R Internals, section 1.8."""


def text(value: str) -> str:
    return f"262153\n{len(value)}\n{value}\n"


def strings(*values: str) -> str:
    return f"16\n{len(values)}\n" + "".join(map(text, values))


def integers(*values: int) -> str:
    return f"13\n{len(values)}\n" + "".join(f"{value}\n" for value in values)


def reals(*values: float) -> str:
    return f"14\n{len(values)}\n" + "".join(f"{value}\n" for value in values)


def pairs(**values: str) -> str:
    return "".join(f"{2 | TAG}\n1\n{text(name)}{value}" for name, value in values.items()) + "254\n"


def named_list(names: str, *values: str, **attributes: str) -> str:
    flags = 19 | ATTRIBUTES | (OBJECT if attributes else 0)
    return f"{flags}\n{len(values)}\n{''.join(values)}{pairs(names=names, **attributes)}"


def s4(name: str, **slots: str) -> str:
    return f"{25 | OBJECT | ATTRIBUTES | 1 << 16}\n{pairs(**slots, **{'class': strings(name)})}"


def environment(**values: str) -> str:
    """A hashed environment, as new.env() makes it: locked, its parent, its frame, its table, its attributes."""
    return f"4\n0\n253\n254\n19\n1\n{pairs(**values)}254\n"


def dense(values: np.ndarray, rows: list[str], columns: list[str]) -> str:
    names = f"19\n2\n{strings(*rows)}{strings(*columns)}"
    flat = reals(*values.ravel(order="F").tolist()).replace("14\n", f"{14 | ATTRIBUTES}\n", 1)
    return flat + pairs(dim=integers(*values.shape), dimnames=names)


def frame(rows: list[str], **columns: str) -> str:
    return named_list(
        strings(*columns), *columns.values(), **{"row.names": strings(*rows), "class": strings("data.frame")}
    )


def rds(value: str) -> bytes:
    """Write the text form of R's serialization, version 2."""
    return f"A\n2\n262657\n131840\n{value}".encode()


VALUES = np.array([[1.5, 0.0], [0.0, 2.0], [0.0, 4.0]])
GENES, SAMPLES = ["TP53", "MYC", "KRAS"], ["s1", "s2"]
SPARSE = s4(
    "dgCMatrix",
    i=integers(0, 1, 2),
    p=integers(0, 1, 3),
    Dim=integers(3, 2),
    Dimnames=f"19\n2\n{strings(*GENES)}{strings(*SAMPLES)}",
    x=reals(1.5, 2.0, 4.0),
    factors="19\n0\n",
)
EXPRESSION_SET = s4(
    "ExpressionSet",
    assayData=environment(exprs=dense(VALUES, GENES, SAMPLES)),
    phenoData=s4("AnnotatedDataFrame", data=frame(SAMPLES, stage=strings("II", "III"), age=reals(53, 61))),
    featureData=s4("AnnotatedDataFrame", data=frame(GENES, chromosome=strings("17", "8", "12"))),
    annotation=strings("hgu95av2"),
)


def simple_list(**values: str) -> str:
    return s4("SimpleList", listData=named_list(strings(*values), *values.values()))


def data_frame(rows: list[str] | None, count: int, **columns: str) -> str:
    names = "254\n" if rows is None else strings(*rows)
    listed = named_list(strings(*columns), *columns.values()) if columns else "19\n0\n"
    return s4("DFrame", rownames=names, nrows=integers(count), listData=listed)


def bare(values: np.ndarray) -> str:
    """A matrix without names, as a SummarizedExperiment keeps its assays."""
    flat = reals(*values.ravel(order="F").tolist()).replace("14\n", f"{14 | ATTRIBUTES}\n", 1)
    return flat + pairs(dim=integers(*values.shape))


def experiment(assays: str, name: str = "SummarizedExperiment", **slots: str) -> str:
    samples = data_frame(SAMPLES, 2, stage=strings("II", "III"), age=reals(53, 61))
    features = data_frame(None, 3, chromosome=strings("17", "8", "12"))
    return s4(name, colData=samples, assays=assays, elementMetadata=features, metadata="19\n0\n", **slots)


COUNTS = simple_list(counts=bare(VALUES))
NAMED = {"NAMES": strings(*GENES)}
RANGES = s4("GRanges", ranges=s4("IRanges", start=integers(1, 2, 3), width=integers(1, 1, 1), NAMES=strings(*GENES)))
LISTS = s4("CompressedGRangesList", partitioning=s4("PartitioningByEnd", end=integers(1, 2, 3), NAMES=strings(*GENES)))
EXPERIMENTS = {
    "simple": experiment(s4("SimpleAssays", data=COUNTS), **NAMED),
    "references": experiment(s4("ShallowSimpleListAssays", **{".xData": environment(data=COUNTS)}), **NAMED),
    "ranges": experiment(
        s4("SimpleAssays", data=COUNTS), "RangedSummarizedExperiment", NAMES="254\n", rowRanges=RANGES
    ),
    "lists of ranges": experiment(
        s4("SimpleAssays", data=COUNTS), "SingleCellExperiment", NAMES="254\n", rowRanges=LISTS
    ),
    "a sparse assay": experiment(s4("SimpleAssays", data=simple_list(counts=SPARSE)), **NAMED),
}
"""Bioconductor's objects by its class definitions: R/Assays-class.R and R/SummarizedExperiment-class.R."""


def write(folder: Path, data: bytes, name: str = "a.rds") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


@pytest.mark.parametrize("name", ["a.rds", "a.RDS", "unnamed"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_matrix_by_r_itself(tmp_path, name, compress):
    path = write(tmp_path, compress(gzip.decompress(MATRIX)), name)
    assert find_format(path).name == "R"
    rows, columns = ["dim0_0", "dim0_1"], ["dim1_0", "dim1_1", "dim1_2"]
    assert table_names(path) == (rows, columns)
    with pytest.raises(InputError, match=r"has 2 rows \('dim0_0', 'dim0_1'\) and 3 columns .*: say which are the samp"):
        read_expression(path)
    adata = read_expression(path, samples="rows")
    assert (list(adata.obs_names), list(adata.var_names)) == (rows, columns)
    np.testing.assert_array_equal(adata.X, [[1, 2, 3], [4, 5, 6]])
    turned = read_expression(path, samples="columns")
    assert (list(turned.obs_names), list(turned.var_names)) == (columns, rows)
    np.testing.assert_array_equal(turned.X, adata.X.T)


def test_a_data_frame_by_r_itself_in_rdata(tmp_path):
    path = write(tmp_path, FRAME, "a.RData")
    adata = read_expression(path, samples="rows")
    assert (list(adata.obs_names), list(adata.var_names)) == (["3", "6", "9"], ["col1"])
    np.testing.assert_array_equal(adata.X, [[10], [20], [30]])
    assert read_columns(path)["col1"] == {"3": "10", "6": "20", "9": "30"}


def test_a_data_frame_with_labels(tmp_path):
    table = pd.DataFrame({"TP53": [1.0, 2.0], "class": ["a", "b"]}, index=["s1", "s2"])
    rdata.write_rds(tmp_path / "a.rds", table)
    adata = read_expression(tmp_path / "a.rds", samples="rows", label="class")
    assert (list(adata.obs_names), list(adata.var_names), list(adata.obs["class"])) == (
        ["s1", "s2"],
        ["TP53"],
        ["a", "b"],
    )
    with pytest.raises(InputError, match=r"column 'class' of 'a.rds' holds text"):
        read_expression(tmp_path / "a.rds", samples="rows")


def test_a_sparse_matrix_stays_sparse(tmp_path):
    path = write(tmp_path, rds(SPARSE))
    adata = read_expression(path, samples="columns")
    assert sparse.issparse(adata.X)
    assert (adata.X != sparse.csr_matrix(VALUES.T)).nnz == 0
    assert (list(adata.obs_names), list(adata.var_names)) == (SAMPLES, GENES)
    assert list(read_expression(path, samples="rows").obs_names) == GENES
    broken = rds(SPARSE.replace(integers(0, 1, 2), integers(0, 1, 9)))
    with pytest.raises(InputError, match=r"'b.rds' cannot be read as a file of R"):
        read_expression(write(tmp_path, broken, "b.rds"), samples="columns")


def test_an_expression_set_says_which_are_the_samples(tmp_path):
    path = write(tmp_path, rds(EXPRESSION_SET))
    adata = read_expression(path)
    np.testing.assert_array_equal(adata.X, VALUES.T)
    assert (list(adata.obs_names), list(adata.var_names)) == (SAMPLES, GENES)
    assert adata.obs.to_dict("list") == {"stage": ["II", "III"], "age": [53, 61]}
    assert list(adata.var["chromosome"]) == ["17", "8", "12"]
    assert read_columns(path)["stage"] == {"s1": "II", "s2": "III"}
    assert list(read_expression(path, label="stage").obs["stage"]) == ["II", "III"]
    with pytest.raises(InputError, match="an ExpressionSet, whose samples are columns"):
        read_expression(path, samples="rows")


@pytest.mark.parametrize("kind", list(EXPERIMENTS))
def test_a_summarized_experiment_has_its_names_beside_its_assays(tmp_path, kind):
    path = write(tmp_path, rds(EXPERIMENTS[kind]))
    adata = read_expression(path)
    assert sparse.issparse(adata.X) == (kind == "a sparse assay")
    np.testing.assert_array_equal(adata.X.toarray() if sparse.issparse(adata.X) else adata.X, VALUES.T)
    assert (list(adata.obs_names), list(adata.var_names)) == (SAMPLES, GENES)
    assert adata.obs.to_dict("list") == {"stage": ["II", "III"], "age": [53, 61]}
    assert list(adata.var["chromosome"]) == ["17", "8", "12"]
    assert read_columns(path)["stage"] == {"s1": "II", "s2": "III"}
    assert table_names(path) == (GENES, SAMPLES)
    assert list(read_expression(path, label="stage").obs["stage"]) == ["II", "III"]
    with pytest.raises(InputError, match="a SummarizedExperiment, whose samples are columns"):
        read_expression(path, samples="rows")


def test_an_assay_of_several_is_named(tmp_path):
    two = simple_list(counts=bare(VALUES), logcounts=bare(VALUES + 1))
    path = write(tmp_path, rds(experiment(s4("SimpleAssays", data=two), **NAMED)))
    np.testing.assert_array_equal(read_expression(path, layer="logcounts", label="stage").X, VALUES.T + 1)
    with pytest.raises(InputError, match=r"of the assays 'counts', 'logcounts': name one of them with layer="):
        read_expression(path)
    with pytest.raises(InputError, match=r"no assay 'tpm': it has 'counts', 'logcounts'"):
        read_expression(path, layer="tpm")
    with pytest.raises(InputError, match=r"a file of R without assays: leave out layer='counts'"):
        read_expression(write(tmp_path, rds(EXPRESSION_SET), "b.rds"), layer="counts")


def test_an_assay_that_lies_elsewhere_is_refused(tmp_path):
    path = write(tmp_path, rds(experiment(s4("SimpleAssays", data=simple_list(counts=s4("DelayedMatrix"))), **NAMED)))
    with pytest.raises(InputError, match=r"the assay of 'a.rds' is a DelayedMatrix, .*as\.matrix\(assay\(x\)\)"):
        read_expression(path)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (s4("Seurat", version=strings("5")), "a file of R with an object of class Seurat: save its matrix of values"),
        (reals(1, 2), "a file of R with an object of class ndarray"),
        (named_list(strings("a", "b"), dense(VALUES, GENES, SAMPLES), dense(VALUES, GENES, SAMPLES)), "holds 'a', 'b'"),
    ],
)
def test_other_objects_are_named(tmp_path, value, says):
    with pytest.raises(InputError, match=says):
        read_expression(write(tmp_path, rds(value)), samples="columns")


def test_damage_and_missing_extras(tmp_path, monkeypatch):
    whole = gzip.decompress(MATRIX)
    for length in (len(whole) // 2, len(whole) - 3):
        with pytest.raises(InputError, match=r"cannot be read as a file of R .*: if it is damaged, get it again"):
            read_expression(write(tmp_path, whole[:length]), samples="rows")
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(MissingExtraError, match=r"files of R .*pip install 'distkern\[files\]'"):
        read_expression(write(tmp_path, MATRIX), samples="rows")
