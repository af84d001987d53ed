"""Names are one line of printable characters, and those of a stranger's file are printed with escapes."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pandas as pd
import pytest

from distkern.core.errors import InputError
from distkern.core.names import checked_names, checked_text, is_missing, shown, shown_json

CONTROLS = [chr(k) for k in range(0x110000) if unicodedata.category(chr(k)) in ("Cc", "Zl", "Zp", "Cs")]


def test_every_control_character_is_refused_and_escaped():
    assert len(CONTROLS) == 65 + 2 + 2048
    for character in CONTROLS:
        with pytest.raises(InputError, match=r"name of sample 2 of 'a.tsv'.*give it a name of one line"):
            checked_names(["p1", f"p{character}2"], "sample", "a.tsv")
        assert character not in shown(f"p{character}2")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("A\t1\nB\t2\nC", "a tab"),
        ("a\r", "a line break"),
        ("s\x1b]0;title\x07", "an escape code"),
        ("p\x001", "a NUL character"),
        ("a\u2028b", "a control character"),
    ],
)
def test_the_message_says_what_the_name_contains_and_holds_no_control_character(name, what):
    with pytest.raises(InputError, match=f"contains {what}") as raised:
        checked_names([name], "feature")
    assert shown(str(raised.value)) == str(raised.value)


def test_printable_names_of_all_languages_are_kept():
    names = ["Zürich", "北京", "a b", "1,5", "p;q", "कि", "👩‍🔬"]
    assert checked_names(names, "sample") == tuple(names)
    assert [shown(name) for name in names] == names


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.ma.masked, np.datetime64("NaT")])
def test_missing_names_are_refused(missing):
    assert is_missing(missing)
    with pytest.raises(InputError, match="feature 2 has no name"):
        checked_names(["a", missing], "feature")


@pytest.mark.parametrize("value", [0, "", "nan", "NA", False, np.array([1, 2]), "None"])
def test_other_values_are_not_missing(value):
    assert not is_missing(value)


def test_labels_are_one_line_too():
    assert checked_text("ill (stage 2)", "the label of sample 'p'") == "ill (stage 2)"
    with pytest.raises(InputError, match=r"the label of sample 'p' in 'c.csv', .* contains a line break"):
        checked_text("ill\n", "the label of sample 'p'", "c.csv")


def test_text_that_turns_its_direction_is_printed_with_escapes():
    assert shown("p\u202eabc") == "p\\u202eabc"


def test_json_stays_the_same_value():
    value = {"ids": ["s\x1b[2J", "C1\x9b2J", "Zürich", "\u202e"], "n": 1}
    text = shown_json(json.dumps(value, indent=2, ensure_ascii=False))
    assert json.loads(text) == value
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)
