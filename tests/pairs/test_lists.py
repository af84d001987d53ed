"""Lists of pairs in all forms, and what is wrong with some."""

import numpy as np
import pandas as pd
import pytest

from distkern import InputError
from distkern.pairs.lists import read_pairs

GENES, PEAKS = ("TP53", "MYC", "KRAS"), ("peak1", "peak2")
EXPECTED = [[0, 2], [1, 0]]


def read(pairs, first=GENES, second=PEAKS):
    found = read_pairs(pairs, first, second, (3, 2))
    return [part.tolist() for part in found]


FRAME = pd.DataFrame({"score": [1.0, 2.0], "second": ["peak2", "peak1"], "first": ["TP53", "KRAS"]})
FORMS = {
    "positions": [(0, 1), (2, 0)],
    "an array": np.array([[0, 1], [2, 0]], dtype=np.uint8),
    "names": [("TP53", "peak2"), ("KRAS", "peak1")],
    "an array of names": np.array([["TP53", "peak2"], ["KRAS", "peak1"]]),
    "named columns": FRAME,
    "two columns": FRAME[["first", "second"]].set_axis(["gene", "peak"], axis=1),
    "positions in a table": pd.DataFrame({"first": [0, 2], "second": [1, 0]}),
}


@pytest.mark.parametrize("pairs", FORMS.values(), ids=FORMS)
def test_all_forms_mean_the_same(pairs):
    assert read(pairs) == EXPECTED


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.tsv", "pairs.parquet"])
def test_files(tmp_path, name):
    path = tmp_path / name
    if name.endswith("parquet"):
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, sep="," if name.endswith("csv") else "\t", index=False)
    assert read(path) == read(str(path)) == EXPECTED


def test_positions_as_text_name_features_without_names(tmp_path):
    (tmp_path / "pairs.csv").write_text("first,second\n0,1\n2,0\n")
    assert read(tmp_path / "pairs.csv", None, None) == EXPECTED


def test_an_empty_list_is_a_list():
    assert read([]) == [[], []]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("TP53", "peak3")], r"second of pair 0 is 'peak3', which is no feature \(1 such names\); did you mean"),
        ([("TP53", "peak1"), ("zzz", "peak1")], "first of pair 1 is 'zzz', which is no feature"),
        ([(0, 2)], "second of pair 0 is 2, and there are 2 features"),
        ([(-1, 0)], "first of pair 0 is -1"),
        ([(0, 1, 2)], r"shape \(1, 3\)"),
        ([0, 1], r"shape \(2,\)"),
        ([(0.5, 1.0)], "names of features, or their positions as integers"),
        (FRAME.rename(columns={"first": "gene"}), "give two columns, 'first' and 'second'"),
        ("nowhere.csv", "there is no file of pairs"),
    ],
)
def test_what_is_wrong_is_named(pairs, message):
    with pytest.raises(InputError, match=message):
        read(pairs)


def test_a_name_of_two_features_is_refused_where_it_is_meant():
    assert read([("MYC", "peak1")], ("TP53", "MYC", "TP53")) == [[1], [0]]
    with pytest.raises(InputError, match="2 features are called 'TP53'"):
        read([("TP53", "peak1")], ("TP53", "MYC", "TP53"))
