"""Summaries of all scores equal those of double loops over pairs, whatever the tiles and workers."""

from itertools import combinations

import naive_pairs as naive
import numpy as np
import pytest
from strategies import with_gaps

from distkern.pairs import tiles
from distkern.pairs.codes import sign_codes
from distkern.pairs.contrasts import Cells
from distkern.pairs.summaries import summarize_pairs


def cohort(gaps):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (17, 40)).astype(float), np.arange(17) % 3
    X[y == 1, :9] += 1
    return (with_gaps(X) if gaps else X), y


def naive_summary(X, positive, bins):
    ones, zeros, p = X[positive].tolist(), X[~positive].tolist(), X.shape[1]
    counts, absolute, signed = [0] * bins, [0] * p, [0] * p
    for i, j in combinations(range(p), 2):
        s = naive.score(ones, zeros, i, j, 0.5) or 0
        counts[min(int(abs(s) * bins), bins - 1)] += 1
        for feature, sign in ((i, 1), (j, -1)):
            absolute[feature] += abs(s) / (p - 1)
            signed[feature] += sign * s / (p - 1)
    return counts, [float(value) for value in absolute], [float(value) for value in signed]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("side", [256, 8])
def test_summaries_equal_the_naive_ones(monkeypatch, gaps, side, tmp_path):
    monkeypatch.setattr(tiles, "SIDE", side)
    monkeypatch.setattr(tiles, "FEW_COMPARISONS", 0)
    X, y = cohort(gaps)
    cells = Cells.of(y)
    codes = sign_codes(X, cells, missing="skip")
    contrasts = [cells.contrast(c) for c in range(3)]
    for bins in (1, 10, 12):
        for executor in ("serial", 3):
            found = summarize_pairs(codes, contrasts, bins, executor=executor)
            for c, summary in enumerate(found):
                counts, absolute, signed = naive_summary(X, y == c, bins)
                assert summary.counts.tolist() == counts
                np.testing.assert_allclose(summary.absolute, absolute, rtol=1e-9, atol=1e-10)
                np.testing.assert_allclose(summary.signed, signed, rtol=1e-9, atol=1e-10)
        again = [summarize_pairs(codes, contrasts, bins, store=tmp_path / f"{bins}") for _ in range(2)]
        for summary, first, second in zip(found, *again, strict=True):
            for name in ("counts", "absolute", "signed"):
                np.testing.assert_array_equal(getattr(first, name), getattr(summary, name))
                np.testing.assert_array_equal(getattr(second, name), getattr(summary, name))


def test_workers_give_the_same_summary(monkeypatch, client):
    monkeypatch.setattr(tiles, "SIDE", 8)
    X, y = cohort(gaps=True)
    cells = Cells.of(y)
    codes, contrasts = sign_codes(X, cells, missing="skip"), [cells.contrast(1)]
    (expected,) = summarize_pairs(codes, contrasts, 10, executor="serial")
    monkeypatch.setattr(tiles, "FEW_COMPARISONS", 0)
    (found,) = summarize_pairs(codes, contrasts, 10, executor=client)
    for name in ("counts", "absolute", "signed"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_a_score_of_one_is_in_the_last_bin():
    X = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    cells = Cells.of([1, 0])
    (summary,) = summarize_pairs(sign_codes(X, cells), [cells.contrast(1)], 4)
    assert summary.counts.tolist() == [0, 0, 0, 3]
    assert summary.signed.tolist() == [1.0, 0.0, -1.0]
