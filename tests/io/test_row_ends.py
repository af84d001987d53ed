"""Separators too many at the ends of rows are no column, and R's header is recognised.

Public reports: pandas#14124, invest#146.
"""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.io.expression import read_expression
from distkern.io.labels import read_labels
from distkern.io.points import bags_from_file

ROWS = [["gene", "p1", "p2"], ["TP53", "1", "2"], ["MYC", "3", ""]]
EXPECTED = np.array([[1.0, 3.0], [2.0, np.nan]])


def write(folder, rows, sep=",", end="\n", name="cohort.csv", encoding="utf-8"):
    text = "".join(sep.join(row) + end for row in rows).encode(encoding)
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return folder / name


def with_more(rows, more):
    """Add so many empty cells to each row."""
    return [row + [""] * extra for row, extra in zip(rows, more, strict=True)]


@pytest.mark.parametrize("more", [*itertools.product([0, 1], repeat=3), (0, 2, 2), (2, 2, 2), (3, 1, 0)])
def test_empty_cells_at_row_ends_change_nothing(tmp_path, more):
    adata = read_expression(write(tmp_path, with_more(ROWS, more)), samples="columns")
    assert (list(adata.obs_names), list(adata.var_names)) == (["p1", "p2"], ["TP53", "MYC"])
    np.testing.assert_array_equal(adata.X, EXPECTED)


@pytest.mark.parametrize("sep", ["\t", ",", ";"])
@pytest.mark.parametrize("name", ["cohort.txt", "cohort.txt.gz"])
@pytest.mark.parametrize(("end", "encoding"), [("\n", "utf-8"), ("\r\n", "utf-8-sig")])
def test_in_every_kind_of_table(tmp_path, sep, name, end, encoding):
    path = write(tmp_path, with_more(ROWS, (0, 1, 1)), sep, end, name, encoding)
    np.testing.assert_array_equal(read_expression(path, samples="columns").X, EXPECTED)


def test_cells_of_blanks_and_quotes_are_empty(tmp_path):
    path = tmp_path / "cohort.csv"
    path.write_text('gene,p1,p2\nTP53,1,2, \nMYC,3,,""\n , ,\n,,,\n')
    np.testing.assert_array_equal(read_expression(path, samples="columns").X, EXPECTED)


@pytest.mark.parametrize("more", [(0, 0, 0), (0, 1, 1), (0, 1, 0)])
def test_the_header_of_r_is_recognised_with_and_without_them(tmp_path, more):
    rows = with_more([["p1", "p2"], ["TP53", "1", "NA"], ["MYC", "3", "4"]], more)
    adata = read_expression(write(tmp_path, rows), samples="columns")
    assert list(adata.obs_names) == ["p1", "p2"]
    np.testing.assert_array_equal(adata.X, [[1, 3], [np.nan, 4]])


def test_one_row_with_a_cell_more_does_not_make_the_header_one_of_r(tmp_path):
    rows = [["id", "group", "age"], ["p0", "ill", "30", "7"], ["p3", "well", "33", ""], ["p4", "ill", "34", ""]]
    with pytest.raises(InputError, match=r"line 3 of 'cohort.csv' ends with an empty cell, and the header names one"):
        read_labels(write(tmp_path, rows), "group")


def test_a_column_with_cells_and_no_name_is_refused(tmp_path):
    for header, position in ((["gene", "p1", ""], 3), (["gene", "", "p2"], 2)):
        with pytest.raises(InputError, match=f"column {position} of 'cohort.csv' has no name"):
            read_expression(write(tmp_path, [header, ["TP53", "1", "2"]]), samples="columns")


def test_labels_come_from_their_own_column(tmp_path):
    path = write(tmp_path, [["id", "outcome", "smoker"], ["p1", "bad", "yes", ""], ["p2", "good", "no", ""]])
    assert read_labels(path, ["p2", "p1"], label="outcome") == ("outcome", ["good", "bad"])
    adata = read_expression(
        write(tmp_path, [["id", "g", "y"], ["p1", "1", "a", ""], ["p2", "2", "b", ""]]), samples="rows", label="y"
    )
    assert (list(adata.obs["y"]), adata.X.tolist()) == (["a", "b"], [[1.0], [2.0]])


@pytest.mark.parametrize("more", [(0, 1, 1), (0, 0, 1), (1, 1, 1)])
def test_points_keep_their_columns(tmp_path, more):
    path = write(tmp_path, with_more([["who", "x", "y"], ["a", "1", "2"], ["b", "3", "4"]], more))
    bags, columns = bags_from_file(path, "who")
    assert (bags.ids, columns) == (("a", "b"), ["x", "y"])
    np.testing.assert_array_equal(bags.values, [[1, 2], [3, 4]])


def test_points_may_have_names_of_rows(tmp_path):
    for corner in ([], [""]):
        path = write(tmp_path, [[*corner, "who", "x"], ["1", "a", "1"], ["2", "b", "3"]])
        bags, columns = bags_from_file(path, "who")
        assert (bags.ids, columns, bags.values.tolist()) == (("a", "b"), ["x"], [[1.0], [3.0]])


def test_a_short_row_of_points_is_refused(tmp_path):
    path = write(tmp_path, [["who", "x", "y"], ["a", "1", "2"], ["b", "3"]])
    with pytest.raises(InputError, match="line 3, have fewer cells than its header has names"):
        bags_from_file(path, "who")


@pytest.mark.parametrize(
    "text",
    ["9007199254740993", "-9007199254740993", "9007199254740993.0", "1e-400", "-0.1e-999", "0." + "0" * 400 + "1"],
)
def test_numbers_that_would_lose_their_digits_are_refused(tmp_path, text):
    with pytest.raises(InputError, match=f"has the number {text} for feature 'A', which float64 cannot tell"):
        read_expression(write(tmp_path, [["gene", "p1", "p2"], ["A", text, "0"]]), samples="columns")
    with pytest.raises(InputError, match=f"column 'x' .* has the number {text}, which float64 cannot tell"):
        bags_from_file(write(tmp_path, [["who", "x"], ["a", text], ["b", "0"]]), "who")


def test_numbers_that_float64_holds_are_read(tmp_path):
    texts = ["9007199254740994", "1e22", "1e23", "5e-324", "0e-999", "-0.0", "0.1234567890123456789", "12345678.5"]
    adata = read_expression(
        write(tmp_path, [["id", "a"], *([f"p{k}", text] for k, text in enumerate(texts))]), samples="rows"
    )
    assert adata.X[:, 0].tolist() == [9007199254740994.0, 1e22, 1e23, 5e-324, 0.0, 0.0, 0.12345678901234568, 12345678.5]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["gene", "p1"], ['"A\t1\nB"', "3"]], "name of row 1 of 'cohort.csv', .* contains a tab"),
        ([["gene", '"p\n1"'], ["A", "3"]], "name of column 2 of 'cohort.csv', .* contains a line break"),
        ([["gene", "s\x1b]0;x\x07"], ["A", "3"]], "name of column 2 .* contains an escape code"),
        ([["gene", "p1"], ["A\0", "3"]], "name of row 1 .* contains a NUL"),
    ],
)
def test_names_are_one_line(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        read_expression(write(tmp_path, rows), samples="columns")


def test_labels_are_one_line(tmp_path):
    with pytest.raises(InputError, match=r"label of sample 'p1' in 'cohort.csv', .* contains an escape code"):
        read_labels(write(tmp_path, [["id", "y"], ["p1", "ill\x1b[2J"], ["p2", "well"]]), ["p1", "p2"])
    with pytest.raises(InputError, match=r"name of bag 1, .* contains a line break"):
        bags_from_file(write(tmp_path, [["who", "x"], ['"a\nb"', "1"]]), "who")


def test_two_columns_of_labels_are_refused(tmp_path):
    rows = [["id", "g", "y", "y"], ["p1", "1", "a", "b"], ["p2", "2", "b", "a"]]
    with pytest.raises(InputError, match="has two columns 'y': leave one"):
        read_expression(write(tmp_path, rows), samples="rows", label="y")
