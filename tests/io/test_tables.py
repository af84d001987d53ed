"""Text tables: no name changes, and faults name the line, the sample and the text."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.io.expression import read_expression

NAN = np.nan


GENES_IN_ROWS = "gene,p1,p2,p3\nTP53,1,2,3\nMYC,4,5.5,6\n"


def write(folder: Path, text: str, name: str = "cohort.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


TRICKY = ["MA", "NA", "OA", "NaN", "None", "null", "nan", "01", "001", "1", "TRUE", "2310009E13", "1e5", "N/A", "-inf"]


@pytest.mark.parametrize("samples", ["rows", "columns"])
def test_names_stay_unchanged(tmp_path, samples):
    numbers = [f"{row + 0.5}" for row in range(len(TRICKY))]
    down = "id\tx\tNA\n" + "".join(f"{n}\t{v}\t1\n" for n, v in zip(TRICKY, numbers, strict=True))
    adata = read_expression(write(tmp_path, down, "t.tsv"), samples=samples)
    long, short = (adata.obs_names, adata.var_names) if samples == "rows" else (adata.var_names, adata.obs_names)
    assert list(long) == TRICKY
    assert list(short) == ["x", "NA"]


def test_blank_values_are_missing_and_the_name_na_is_a_name(tmp_path):
    text = "state,a,b,c\nMA,1,,3\nNA,NA,2,NaN\nOA,nan,1e3,-4\n"
    adata = read_expression(write(tmp_path, text), samples="rows")
    np.testing.assert_array_equal(adata.X, [[1, NAN, 3], [NAN, 2, NAN], [NAN, 1000, -4]])
    assert list(adata.obs_names) == ["MA", "NA", "OA"]


WORDS_OF_IDS = ("id", "name", "gene", "chr", "desc", "index", "probe", "symbol", "locus")  # refused as names of samples
names = (
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=8)
    .map(str.strip)
    .filter(lambda name: name and not any(word in name.lower() for word in WORDS_OF_IDS))
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(names, min_size=1, max_size=4, unique=True),
    st.lists(names, min_size=1, max_size=4, unique=True),
    st.sampled_from("\t,;"),
    st.data(),
)
def test_written_table_is_read_back(tmp_path, ids, features, sep, data):
    number = st.floats(allow_infinity=False)
    values = data.draw(st.lists(st.lists(number, min_size=len(features), max_size=len(features)), min_size=len(ids)))
    frame = pd.DataFrame(values[: len(ids)], index=ids, columns=features)
    present = [row[~np.isnan(row)] for row in frame.to_numpy()]
    alike = [
        row for row in present if (row >= 0).all() and (row == np.floor(row)).all() and len({*row}) == len(row) > 1
    ]
    assume(len(alike) != 1)  # a row of whole numbers among other rows may be one of ids, and is refused
    quoting = data.draw(st.sampled_from([1, 2]))  # all cells, or all that are no numbers
    frame.to_csv(tmp_path / "t.txt", sep=sep, quoting=quoting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names such as 2-Sep
        adata = read_expression(tmp_path / "t.txt", samples="rows", sep=sep)
    np.testing.assert_array_equal(adata.X, frame.to_numpy())
    assert list(adata.obs_names) == ids
    assert list(adata.var_names) == features


def test_byte_order_mark_is_not_part_of_a_name(tmp_path):
    marked = read_expression(write(tmp_path, GENES_IN_ROWS, encoding="utf-8-sig"), samples="columns", label=None)
    assert list(marked.var_names) == ["TP53", "MYC"]
    cornerless = write(tmp_path, "p1,p2,p3\nTP53,1,2,3\n", encoding="utf-8-sig")
    assert list(read_expression(cornerless, samples="columns").obs_names) == ["p1", "p2", "p3"]


@pytest.mark.parametrize(("name", "compressed"), [("t.csv.gz", True), ("t.csv.gz", False), ("t.csv", True)])
def test_compression_is_detected_by_the_first_two_bytes(tmp_path, name, compressed):
    raw = GENES_IN_ROWS.encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if compressed else raw)
    assert read_expression(tmp_path / name, samples="columns").shape == (3, 2)


def test_damaged_gzip_and_other_encodings_are_refused(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(GENES_IN_ROWS.encode())[:-12])
    with pytest.raises(InputError, match="damaged gzip"):
        read_expression(tmp_path / "t.csv.gz", samples="columns")
    with pytest.raises(InputError, match="not UTF-8"):
        read_expression(write(tmp_path, "gene,größe\nA,1\n", encoding="latin-1"), samples="rows")
    with pytest.raises(InputError, match="cannot be read as a table"):
        read_expression(write(tmp_path, 'gene,p1\n"A,1\n'), samples="rows")


@pytest.mark.parametrize("sep", ["\t", ",", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_are_detected(tmp_path, sep, end):
    text = GENES_IN_ROWS.replace(",", sep).replace("\n", end)
    adata = read_expression(write(tmp_path, text, "t.txt"), samples="columns")
    assert (adata.shape, list(adata.obs_names)) == ((3, 2), ["p1", "p2", "p3"])


def test_separators_inside_quotes_are_ignored(tmp_path):
    text = 'id;"a,b,c";d\ns1;1;2\n'
    assert list(read_expression(write(tmp_path, text), samples="rows").var_names) == ["a,b,c", "d"]
    with pytest.raises(InputError, match="state its separator with sep="):
        read_expression(write(tmp_path, "id|a\ns1|1\n"), samples="rows")
    assert read_expression(write(tmp_path, "id|a\ns1|1\n"), samples="rows", sep="|").shape == (1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,a,b\ns1,1,2\ns2,1\n", "line 3 .* 1 cells .* 2 columns"),
        ("id,a,b\ns1,1,2\n\ns2,1,2,3\n", "line 4 .* 3 cells"),
        ("id,a\n", "contains no numbers"),
        ("", "is empty"),
        ("\n\n", "is empty"),
    ],
)
def test_truncated_and_empty_tables_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_expression(write(tmp_path, text), samples="rows")


@pytest.mark.parametrize("text", ["inf", "-Infinity", "1e999"])
def test_infinite_values_are_refused_by_name(tmp_path, text):
    path = write(tmp_path, f"id,a,b\ns1,1,2\ns2,3,{text}\n")
    with pytest.raises(
        InputError, match=r"sample 's2' of 'cohort\.csv' has an infinite value for feature 'b': .*empty"
    ):
        read_expression(path, samples="rows")
    with pytest.raises(InputError, match=r"sample 'b' of 'cohort\.csv' has an infinite value for feature 's2'"):
        read_expression(path, samples="columns")


@pytest.mark.parametrize("text", ["tumour", "null", "#N/A", "1_000", "0x10", "--"])
def test_text_among_numbers_is_refused_by_name(tmp_path, text):
    with pytest.raises(InputError, match=f"sample 's2' .* text '{text}' for feature 'b'.*label='b'.*samples='columns'"):
        read_expression(write(tmp_path, f"id,a,b\ns1,1,2\ns2,3,{text}\n"), samples="rows")
    with pytest.raises(InputError, match=f"sample 'b' .* text '{text}' for feature 's2'.*label='s2'.*samples='rows'"):
        read_expression(write(tmp_path, f"id,a,b\ns1,1,2\ns2,3,{text}\n"), samples="columns")


def test_decimal_comma_is_explained(tmp_path):
    with pytest.raises(InputError, match="'2,5' for feature 'b': write numbers with a decimal point"):
        read_expression(write(tmp_path, "id;a;b\ns1;1;2,5\n"), samples="rows")


@pytest.mark.parametrize("where", [0, 1, 2])
def test_a_row_of_labels_may_stand_among_the_rows_of_numbers(tmp_path, where):
    rows = ["g1,1,2", "g2,3,4"]
    rows.insert(where, "class,A,B")
    adata = read_expression(write(tmp_path, "\n".join(["gene,s1,s2", *rows]) + "\n"), samples="columns", label="class")
    assert list(adata.obs["class"]) == ["A", "B"]
    np.testing.assert_array_equal(adata.X, [[1.0, 3.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("high", "low", "NA"), "column 'grade' of 'cohort.csv' holds text"),
        (("high", "NA", ""), "has the text 'high'"),
        (("high", "low", "3"), "has the text 'high'"),
    ],
)
def test_a_column_is_called_text_if_it_holds_two_texts_and_no_number(tmp_path, cells, said):
    rows = [f"g{k},{k},{cell}" for k, cell in enumerate(cells)]
    with pytest.raises(InputError, match=said):
        read_expression(write(tmp_path, "\n".join(["gene,p1,grade", *rows]) + "\n"), samples="columns")


@pytest.mark.parametrize("cell", ["１２", "٣", "1_000", "１.5"])
def test_only_plain_digits_are_numbers(tmp_path, cell):
    path = write(tmp_path, f"id,a,b\ns1,{cell},2\ns2,3,\u00a04\u00a0\n")
    with pytest.raises(InputError, match=f"sample 's1' of 'cohort.csv' has the text '{cell}' for feature 'a'"):
        read_expression(path, samples="rows")
    write(tmp_path, "id,a,b\ns1,1,2\ns2,3,\u00a04\u00a0\n")
    np.testing.assert_array_equal(read_expression(path, samples="rows").X, [[1, 2], [3, 4]])
