"""What was read is said in a line; guesses are worded as looks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from distkern.io import summary as module
from distkern.io.source import as_source
from distkern.io.summary import look, summary


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([0, 3, 250], "whole values from 0 to 250 look like counts"),
        ([1, 2, 5], "whole values from 1 to 5"),
        ([-3, 2, 500], "whole values from -3 to 500"),
        ([0.5, 15.25], "values from 0.5 to 15.25 look like logarithms"),
        ([-2.5, 3.0], "values from -2.5 to 3 look like log ratios"),
        ([0.5, 30.0], "values from 0.5 to 30 do not look like logarithms"),
        ([-40.5, 1.0], "values from -40.5 to 1 do not look like logarithms"),
        ([np.nan, np.inf], "no values"),
        ([np.nan, 12345.5, 1], "values from 1 to 12,346 do not look like logarithms"),
    ],
)
def test_look(values, says):
    assert look(np.array(values, dtype=float)) == says


def test_sparse_whole_numbers_are_counts():
    assert summary(as_source(sparse.csr_matrix([[0, 3], [1, 0]])), None).endswith("from 0 to 3 look like counts")


def test_names_of_probes_and_the_orientation_are_said():
    frame = pd.DataFrame(np.full((3, 2), 7.5), columns=["1007_s_at", "AFFX-BioB-5_at"])
    assert summary(as_source(frame), "columns").startswith("2 probes × 3 samples, samples in columns; values from 7.5")
    frame.columns = ["TP53", "1053_at"]
    assert summary(as_source(frame.iloc[:1, :1]), "rows").startswith("1 feature × 1 sample, samples in rows; ")
    assert summary(as_source(np.eye(2)), None) == "2 features × 2 samples; whole values from 0 to 1"


def test_only_some_samples_are_looked_at(monkeypatch):
    monkeypatch.setattr(module, "MOST_VALUES", 4)
    values = np.array([[0.5, 1.5], [2.5, 3.5], [99.5, 99.5]])
    for X, low in ((values, "0.5"), (sparse.csr_matrix(values), "0")):
        assert summary(as_source(X), None) == f"2 features × 3 samples; values from {low} to 3.5 look like logarithms"
