import numpy as np
import pytest
from figure_data import axes

from distkern import InputError, QuantileNormalizer, SUQUANClassifier
from distkern.plot import plot_targets


def test_curves_are_the_targets_at_mean_0_and_variance_1_against_the_rank():
    exponential = -np.log(1 - np.arange(1, 8) / 8)
    fitted = QuantileNormalizer(np.arange(3.0)).fit(np.arange(6.0).reshape(2, 3))
    ax = plot_targets({"$a$": 5 + 3 * exponential, "_b": fitted}, ax=axes())
    first, second = (line.get_xydata() for line in ax.lines)
    np.testing.assert_allclose(first[:, 0], np.arange(1, 8) / 8)
    np.testing.assert_allclose(first[:, 1], (exponential - exponential.mean()) / exponential.std())
    np.testing.assert_allclose(second, [[0.25, -np.sqrt(1.5)], [0.5, 0], [0.75, np.sqrt(1.5)]], atol=1e-12)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$a$", "_b"]


def test_the_reference_is_dashed_and_others_are_not():
    ax = plot_targets({"found": np.arange(3), "true": np.arange(4), "flat": np.ones(4)}, reference="true", ax=axes())
    assert [line.is_dashed() for line in ax.lines] == [False, True, False]
    assert ax.lines[2].get_ydata().tolist() == [0, 0, 0, 0]


def test_what_is_no_target_is_refused():
    X = np.random.default_rng(0).normal(size=(40, 6))
    several = SUQUANClassifier("trace", trace_norm=5.0).fit(X, X[:, 0] > X[:, 1])
    assert several.target_.ndim == 2
    for wrong in (np.ones((2, 3)), [1.0], [1.0, np.nan], "normal", several):
        with pytest.raises(InputError, match="the target 'it' is no row of two finite numbers or more"):
            plot_targets({"it": wrong}, ax=axes())
    with pytest.raises(InputError, match="no target is named 'true': there are 'it'"):
        plot_targets({"it": [1, 2]}, reference="true", ax=axes())
    with pytest.raises(InputError, match="no target to draw"):
        plot_targets({}, ax=axes())
