"""Wilcoxon's P-values of table 2: by all patterns of signs, and the values that the paper's statement is about."""

from itertools import product

import pytest
from click.testing import CliRunner
from scipy.stats import norm

from distkern.cli.main import main
from distkern.reproduce.kendall_accuracy import DATASETS, METHODS, published
from distkern.reproduce.kendall_wilcoxon import holm, rows


def signed_ranks(method):
    """Mid-ranks of the absolute differences that are not 0, and their signs, in hundredths of a per cent."""
    cells = [(published(name, "SVMkdtALL"), published(name, method)) for name in DATASETS]
    differences = [d for a, b in cells if (d := round(100 * a) - round(100 * b))]
    ranks = [
        sum(abs(other) < abs(d) for other in differences) + (sum(abs(other) == abs(d) for other in differences) + 1) / 2
        for d in differences
    ]
    return ranks, [d > 0 for d in differences]


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row["method"])
def test_the_p_values_count_patterns_of_signs(row):
    ranks, signs = signed_ranks(row["method"])
    observed = sum(rank for rank, up in zip(ranks, signs, strict=True) if up)
    sums = [sum(rank for rank, up in zip(ranks, ups, strict=True) if up) for ups in product((0, 1), repeat=len(ranks))]
    upper, lower = (sum(test) / len(sums) for test in ([s >= observed for s in sums], [s <= observed for s in sums]))
    assert row["one_sided"] == pytest.approx(upper)
    assert row["two_sided"] == pytest.approx(min(1.0, 2 * min(upper, lower)))
    assert (row["better"], row["worse"]) == (sum(signs), len(signs) - sum(signs))
    mean, variance = sum(ranks) / 2, sum(rank**2 for rank in ranks) / 4
    assert row["normal"] == pytest.approx(norm.sf((observed - mean - 0.5) / variance**0.5))


def test_the_printed_value_is_the_largest_one_sided_one():
    found = {row["method"]: row for row in rows()}
    assert list(found) == list(METHODS[1:])
    assert {method: row["paper"] for method, row in found.items() if row["paper"] is not None} == {"SVMlinearALL": 0.07}
    linear, top = found["SVMlinearALL"], found["SVMlinearTOP"]
    assert [round(linear[name], 4) for name in ("one_sided", "normal")] == [0.0742, 0.0707]
    assert round(top["one_sided"], 4) == 0.0654
    assert round(linear["two_sided"], 3) == 0.148
    assert [method for method, row in found.items() if row["holm"] <= 0.05] == [
        "SVMpolyTOP",
        "TSP",
        "KFDrbfALL",
        "APMV",
    ]


def test_holm_is_its_definition():
    p = [0.01, 0.04, 0.03, 0.005, 0.04]
    expected = [max(min(1, sum(other >= q for other in p) * q) for q in p if q <= mine) for mine in p]
    assert holm(p) == pytest.approx(expected)
    assert holm([]) == []


def test_the_table_takes_no_option():
    result = CliRunner().invoke(main, ["reproduce", "kendall-wilcoxon", "--quiet"])
    assert result.exit_code == 0
    assert "SVMlinearALL" in result.stdout
    result = CliRunner().invoke(main, ["reproduce", "kendall-wilcoxon", "--seed", "1"])
    assert (result.exit_code, "the table kendall-wilcoxon takes no --seed; it takes no option" in result.stderr) == (
        2,
        True,
    )
