import numpy as np
import pandas as pd
import pytest
from figure_data import axes, legend

from distkern import InputError
from distkern.plot import plot_embedding

AT = np.array([[0.0, 1.0, 5.0], [2.0, 1.5, 6.0], [1.0, 0.0, 7.0]])


def test_each_class_is_drawn_at_its_coordinates():
    ax = plot_embedding(AT, ["ill", "well", "ill"], (2, 0), ax=axes())
    ill, well = (dots.get_offsets().tolist() for dots in ax.collections)
    assert ill == [[5, 0], [7, 1]]
    assert well == [[6, 2]]
    assert legend(ax) == ["ill (2)", "well (1)"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("coordinate 2", "coordinate 0")


def test_names_are_those_of_the_columns_and_labels_follow_names_of_samples():
    frame = pd.DataFrame(AT, columns=["UMAP 1", "UMAP 2", "UMAP 3"], index=list("abc"))
    ax = plot_embedding(frame, ax=axes())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("UMAP 1", "UMAP 2")
    assert ax.get_legend() is None
    ax = plot_embedding(frame, names=("$x$", "y"), ax=axes())
    assert ax.get_xlabel() == "$x$"
    with pytest.raises(InputError):  # labels of other samples
        plot_embedding(frame, pd.Series(["ill", "well", "ill"], index=list("xyz")), ax=axes())


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        ([1.0, 2.0], "give a row of coordinates"),
        ([[1.0], [2.0]], "no coordinate 1; it has 1"),
        ([[1.0, 2.0], [np.nan, 2.0]], "row 1 of the embedding"),
    ],
)
def test_what_is_no_embedding_is_refused(embedding, message):
    with pytest.raises(InputError, match=message):
        plot_embedding(embedding, ax=axes())


def test_two_names_are_needed():
    with pytest.raises(InputError, match="got 3 names"):
        plot_embedding(AT, names=("a", "b", "c"), ax=axes())
