"""Features of new samples are found by name, and what is missing is counted, named and explained."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.core.feature_names import WITHOUT_THEM, find_names, places_by_name, warn_of_spreadsheets

GENES = ["TP53", "MYC"]
names = st.lists(st.text("abc", min_size=1, max_size=2), unique=True, min_size=1, max_size=8)


@pytest.mark.parametrize("new", [None, ["0", "1"], GENES])
def test_position_decides_without_names_and_for_the_same_names(new):
    assert places_by_name(GENES, new, "X") is None
    assert places_by_name(new, GENES, "X") is None


@given(names, names)
def test_places_are_those_of_a_double_loop(known, new):
    lacking = [name for name in known if name not in new]
    if known == new:
        assert places_by_name(known, new, "X") is None
    elif lacking:
        with pytest.raises(InputError, match=f"(lacks {len(lacking)}|has none) of the {len(known)} "):
            places_by_name(known, new, "X")
    else:
        assert [new[k] for k in places_by_name(known, new, "X")] == known


def test_missing_features_are_counted_named_and_kept_as_a_field():
    with pytest.raises(InputError, match=r"X lacks 1 of the 2 features that are needed: 'MYC'\. Give all") as one:
        places_by_name(GENES, ["TP53", "EGFR"], "X")
    assert one.value.fields["features"] == ("MYC",)
    with pytest.raises(InputError, match=r"lacks 4 of the 5 .*: 'b', 'c', 'd', …\. .* with missing='interleaving' "):
        places_by_name([*"abcde"], ["a", "MYC"], "X", WITHOUT_THEM)
    with pytest.raises(InputError, match=r"none of the 2 .* it has 'ENSG1', 'ENSG2', and 'TP53', 'MYC' are needed"):
        places_by_name(GENES, ["ENSG1", "ENSG2"], "X")


def test_names_that_occur_twice_are_refused_where_they_matter():
    with pytest.raises(InputError, match="two features of X are called 'MYC'"):
        places_by_name(GENES, ["MYC", "TP53", "MYC"], "X")
    with pytest.raises(InputError, match="two of the earlier features are called 'MYC'"):
        places_by_name([*GENES, "MYC"], ["MYC", "TP53"], "X")
    assert places_by_name(GENES, ["EGFR", "MYC", "EGFR", "TP53"], "X").tolist() == [3, 1]
    assert places_by_name([*GENES, "MYC"], [*GENES, "MYC"], "X") is None  # the same in the same order


def test_positions_in_another_order_are_refused():
    for known in (None, ["0", "1", "2"]):
        with pytest.raises(InputError, match=r"another order \(number 0 is '2', not '0'\)"):
            places_by_name(known, ["2", "1", "0"], "X")


def test_ensembl_numbers_are_found_without_their_versions():
    known, new = ["ENSG00000141510.18", "ENSG00000136997"], ["ENSG00000136997.22", "ENSG00000141510.19", "MYC"]
    with pytest.warns(UserWarning, match="2 features of X are found by their Ensembl numbers without the versions"):
        assert places_by_name(known, new, "X").tolist() == [1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_names(known, [*known, "ENSG00000141510.17"], "X").tolist() == [0, 1]  # exact names come first
    with pytest.raises(InputError, match="two features of X are called 'ENSG00000136997'"):
        find_names(known, ["ENSG00000136997.1", "ENSG00000136997.2"], "X")
    assert find_names(["TP53.1"], ["TP53.2"], "X").tolist() == [-1]  # no Ensembl number


def test_symbols_that_a_spreadsheet_converted_are_named():
    genes = [f"gene {k}" for k in range(40)]
    with pytest.warns(UserWarning, match=r"2 of 42 features of the cohort \('2-Mar', 'Sep-09'\) look like"):
        warn_of_spreadsheets([*genes, "2-Mar", "Sep-09"], "the cohort")
    with pytest.raises(InputError, match="a spreadsheet converted symbols, such as '1-Dec'"):
        places_by_name(["DELEC1", "MYC"], ["1-Dec", "MYC"], "X")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_spreadsheets([f"{day}-Mar" for day in range(1, 30)], "a time series")
        warn_of_spreadsheets([*genes, "MARCH2", "SEPTIN9", "DEC1", "MARCHF2"], "the cohort")
        warn_of_spreadsheets(None, "an array")


def test_places_are_positions():
    assert find_names(GENES, None, "X").dtype == np.intp
