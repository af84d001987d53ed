import numpy as np
import pytest
from figure_data import axes

from distkern import InputError
from distkern.plot import plot_silhouettes


def test_silhouettes_descend_within_a_cluster_and_are_as_wide_as_their_weights():
    ax = plot_silhouettes([0.1, 0.5, -0.2, 0.3], ["b", "a", "b", "a"], sample_weight=[1, 2, 3, 4], ax=axes())
    first, second = (patch.get_data() for patch in ax.patches)
    assert first.values.tolist() == [0.5, 0.3]
    assert np.diff(first.edges).tolist() == [2, 4]
    assert second.values.tolist() == [0.1, -0.2]
    np.testing.assert_allclose(np.diff(second.edges), [1, 3])
    assert second.edges[0] > first.edges[-1]
    assert ax.get_legend().get_texts()[-1].get_text() == "mean of all: 0.170"
    with pytest.raises(InputError, match="one for each"):
        plot_silhouettes([0.1, 0.2], ["a", "b"], sample_weight=[1.0], ax=axes())


def test_only_some_of_many_silhouettes_are_drawn():
    ax = plot_silhouettes(np.linspace(1, 0, 4000), np.repeat([0, 1], 2000), ax=axes())
    assert sum(len(patch.get_data().values) for patch in ax.patches) <= 1500
    assert [patch.get_data().edges[-1] for patch in ax.patches] == [2000, 4040]
