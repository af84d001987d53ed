import pytest

from distkern.core.suggest import did_you_mean

KERNELS = ["gaussian", "kendall", "mean-map", "partial-kendall"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("kendal", "kendall"), ("KENDALL", "kendall"), ("mean_map", "mean-map"), ("gausian", "gaussian")],
)
def test_the_nearest_name_is_suggested(word, meant):
    assert did_you_mean(word, KERNELS) == f"; did you mean {meant!r}?"


@pytest.mark.parametrize("word", ["xyz", "", 7, None])
def test_nothing_is_suggested_for_other_words(word):
    assert did_you_mean(word, KERNELS) == ""
    assert did_you_mean(word, []) == ""
