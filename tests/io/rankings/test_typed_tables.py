"""Ballots in Excel, Parquet and Feather: read as the same text table would be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import distkern as dk
from distkern.io.typed_tables import columns_of_table

TABLES = {
    "ranks": (pd.DataFrame({"ann": [2, 1, 1], "bob": [1, 2, 3], "cid": [3, 3, 2]}), {"values": "ranks"}),
    "scores": (
        pd.DataFrame({"judge": ["x", "y"], "ann": [1.5, 2.0], "bob": [7.25, None]}),
        {"values": "scores", "gaps": "top"},
    ),
    "orderings": (
        pd.DataFrame({"rank_1": ["ann", "bob"], "rank_2": ["bob", None], "count": [3, 2]}),
        {"values": "orderings"},
    ),
    "approval": (pd.DataFrame({"ann": [True, False], "bob": [False, True]}), {"values": "approval"}),
    "long": (
        pd.DataFrame({"voter": ["x", "x", "y", "y"], "item": ["a", "b", "a", "b"], "rank": [1, 2, 2, 1]}),
        {},
    ),
    "pairwise": (pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "c"], "count": [4, 1]}), {}),
}


def write(frame, path):
    {".xlsx": frame.to_excel, ".csv": frame.to_csv, ".parquet": frame.to_parquet, ".feather": frame.to_feather}[
        path.suffix
    ](path, **({"index": False} if path.suffix in (".xlsx", ".csv") else {}))
    return path


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet", ".feather"])
@pytest.mark.parametrize("name", list(TABLES))
def test_equal_to_the_text_table(tmp_path, suffix, name):
    frame, how = TABLES[name]
    expected = dk.read_rankings(write(frame, tmp_path / "a.csv"), **how)
    found = dk.read_rankings(write(frame, tmp_path / f"a{suffix}"), **how)
    assert repr(found) == repr(expected)
    assert found.items == expected.items
    if name == "pairwise":
        np.testing.assert_array_equal(found.preferred, expected.preferred)
    else:
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.counts, expected.counts)
        assert found.ids == expected.ids
    assert columns_of_table(tmp_path / f"a{suffix}", None) == list(map(str, frame.columns))


def test_the_index_of_a_frame_is_its_first_column(tmp_path):
    frame = pd.DataFrame({"ann": [1.0, 2.0], "bob": [2.0, 1.0]}, index=pd.Index(["x", "y"], name="judge"))
    for path in (tmp_path / "a.parquet", tmp_path / "b.parquet"):
        (frame if path.stem == "a" else frame.rename_axis(None)).to_parquet(path)
        votes = dk.read_rankings(path, values="ranks")
        assert (votes.ids, votes.items) == (("x", "y"), ("ann", "bob"))
    assert sorted(columns_of_table(tmp_path / "a.parquet", None)) == ["ann", "bob", "judge"]


def test_a_sheet_is_named_after_a_sign(tmp_path):
    path = tmp_path / "votes.xlsx"
    with pd.ExcelWriter(path) as book:
        for name, (frame, _) in TABLES.items():
            frame.to_excel(book, sheet_name=name, index=False)
    votes = dk.read_rankings(f"{path}#ranks", values="ranks")
    assert str(dk.consensus_ranking(votes)).startswith("ann")
    with pytest.raises(dk.InputError, match=r"6 sheets with cells .*: name one of them after a #, as in 'votes\.xlsx#"):
        dk.read_rankings(path, values="ranks")


def test_meaning_is_asked_about_as_of_a_text_table(tmp_path):
    frame, _ = TABLES["ranks"]
    for suffix in (".xlsx", ".parquet"):
        with pytest.raises(dk.InputError, match="may be ranks or scores"):
            dk.read_rankings(write(frame, tmp_path / f"a{suffix}"))


def test_a_bad_cell_is_named_by_its_line(tmp_path):
    frame = pd.DataFrame({"ann": ["1", "2"], "bob": ["2", "x"]})
    with pytest.raises(dk.InputError, match=r"line 3 of 'a\.xlsx' .* has the text 'x' in the column 'bob'"):
        dk.read_rankings(write(frame, tmp_path / "a.xlsx"), values="ranks")


def test_damage_is_refused(tmp_path):
    frame, how = TABLES["ranks"]
    for suffix in (".xlsx", ".parquet"):
        path = write(frame, tmp_path / f"a{suffix}")
        path.write_bytes(path.read_bytes()[:-300])
        with pytest.raises(dk.InputError, match="cannot be read as a"):
            dk.read_rankings(path, **how)
