import numpy as np
import pandas as pd
import pytest
from figure_data import axes

from distkern import InputError, InputTypeError, rank_markers
from distkern.plot import plot_markers

rng = np.random.default_rng(0)
GROUPS = np.repeat(["a", "b", "c"], 20)
X = rng.normal(size=(60, 8))
X[GROUPS == "a", 2] += 3
X[GROUPS == "c", 5] += 1
TABLE = rank_markers(pd.DataFrame(X, columns=[f"$g{k}" for k in range(8)]), GROUPS, progress=False, executor="serial")


def test_the_dots_are_the_areas_of_the_best_features_of_each_group():
    ax = plot_markers(TABLE, top=2, ax=axes())
    best = TABLE[TABLE["z"] > 0].groupby("group", observed=True).head(2)
    drawn = np.concatenate([dots.get_offsets() for dots in ax.collections[:3]])
    np.testing.assert_allclose(drawn[:, 0], best["auroc"])
    np.testing.assert_array_equal(drawn[:, 1], range(len(best)))
    assert [label.get_text() for label in ax.get_yticklabels()] == best["feature"].tolist()
    assert best["feature"].iloc[0] == "$g2"
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["a vs rest", "b vs rest", "c vs rest", "q ≤ 0.05", "q ≤ 0.0001", "q ≤ 1e-08"]
    sizes = [size for dots in ax.collections[:3] for size in dots.get_sizes()]
    order = np.argsort(best["q"].to_numpy())
    assert (np.diff(np.array(sizes)[order]) <= 0).all()
    assert len(set(sizes)) > 1


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputTypeError, match="no column 'auroc': give the result of rank_markers"):
        plot_markers(TABLE.drop(columns="auroc"))
    with pytest.raises(InputError, match="no marker to draw"):
        plot_markers(TABLE[TABLE["z"] < 0], ax=axes())
    with pytest.raises(InputError, match="are too many for a figure"):
        plot_markers(pd.concat([TABLE] * 12), top=100, ax=axes())
    with pytest.raises(InputError, match="top must be a whole number"):
        plot_markers(TABLE, top=0)
