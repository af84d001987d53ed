import numpy as np
import pytest
from figure_data import axes, gram
from scipy.cluster.hierarchy import leaves_list, linkage

from distkern import InputError
from distkern.plot import plot_dendrogram


@pytest.mark.parametrize("method", ["average", "complete", "single"])
def test_the_tree_is_that_of_the_points_of_a_linear_kernel(method):
    points = np.random.default_rng(3).normal(size=(9, 4))
    ax = plot_dendrogram(points @ points.T, method=method, ax=axes())
    tree = linkage(points, method)
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(leaf) for leaf in leaves_list(tree)]
    heights = np.sort([path.vertices[:, 0].max() for one in ax.collections for path in one.get_paths()])
    np.testing.assert_allclose(heights, np.sort(tree[:, 2]))


def test_samples_have_their_names():
    ax = plot_dendrogram(gram(3), ["$a$", "b", "c"], ax=axes())
    assert sorted(text.get_text() for text in ax.get_yticklabels()) == ["$a$", "b", "c"]
    with pytest.raises(InputError, match="got 2 names for 3 samples"):
        plot_dendrogram(gram(3), ["a", "b"], ax=axes())


def test_too_few_and_too_many_samples_are_refused():
    for m in (1, 201):
        with pytest.raises(InputError, match="2 to 200 samples"):
            plot_dendrogram(np.eye(m), ax=axes())
    with pytest.raises(InputError, match="method must be one of average, complete, single"):
        plot_dendrogram(gram(3), method="ward", ax=axes())
