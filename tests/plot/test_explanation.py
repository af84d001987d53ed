import numpy as np
import pandas as pd
import pytest
from figure_data import axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import distkern as dk
from distkern import plot

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(18, 5)), RNG.normal(size=(2, 5))
TWO, THREE = np.arange(18) % 2, np.array(["a", "b", "c"])[np.arange(18) % 3]


def explained(y, **params):
    return dk.explain(dk.KernelSVC(kernel=dk.Kendall(), **params).fit(X, y))


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_heaviest_pairs_are_bars_with_their_names():
    found = explained(TWO)
    ax = plot.pairs(found, k=4, ax=axes())
    np.testing.assert_allclose(widths(ax), found.weights[:4, 0])
    assert labels(ax) == [f"{i} above {j}" for i, j in zip(found.first[:4], found.second[:4], strict=True)]
    assert ax.get_title() == "1 against 0"
    assert ax.get_xlabel() == "weight of a pair"
    colours = {bar.get_facecolor() for bar in ax.patches if bar.get_width() > 0}
    assert not colours & {bar.get_facecolor() for bar in ax.patches if bar.get_width() < 0}


def test_features_are_drawn_by_weight_or_by_importance():
    found = explained(TWO)
    for by, numbers in (("weight", found.feature_weights), ("importance", found.importances)):
        ax = plot.features(found, by=by, k=3, ax=axes())
        order = np.argsort(-np.abs(numbers[:, 0]))[:3]
        np.testing.assert_allclose(widths(ax), numbers[order, 0])
        assert labels(ax) == [str(at) for at in order]
        assert ax.get_xlabel() == f"{by} of a feature"
    with pytest.raises(dk.InputError, match="by must be one of weight, importance"):
        plot.features(found, by="size", ax=axes())


def test_a_long_title_stays_in_the_figure():
    frame = pd.DataFrame(X, columns=["G protein-coupled receptor", *"bcde"])
    y = np.where(TWO, "distant metastasis within five years", "no distant metastasis")
    found = dk.explain(dk.KernelSVC(kernel=dk.Kendall()).fit(frame, y)).contributions(frame.iloc[:1])
    figure = Figure(figsize=(4.8, 4.2), layout="constrained")
    plot.pairs(found, k=4, ax=figure.subplots())
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    edges = np.asarray(canvas.buffer_rgba())[:, [0, -1]]
    assert (edges == 255).all()  # no letter crosses the left or the right edge


def test_contributions_to_a_sample_are_drawn():
    found = explained(TWO).contributions(NEW)
    ax = plot.pairs(found, sample=1, ax=axes())
    np.testing.assert_allclose(widths(ax), found.of_pairs[1].contributions[:, 0])
    assert ax.get_title() == f"1: f = {found.decisions[1, 0]:.3g}\n1 against 0"
    ax = plot.features(found, sample="0", k=2, ax=axes())
    assert widths(ax) == sorted(found.of_features[0, :, 0], key=abs, reverse=True)[:2]
    assert ax.get_xlabel() == "contribution of a feature"
    with pytest.raises(dk.InputError, match="there are 2 samples: choose one with sample="):
        plot.pairs(found, ax=axes())
    with pytest.raises(dk.InputError, match="no sample 7 among 2"):
        plot.pairs(found, sample=7, ax=axes())


def test_a_machine_of_several_is_chosen_by_name_or_position():
    found = explained(THREE)
    ax = plot.features(found, machine="b against c", ax=axes())
    assert widths(ax) == widths(plot.features(found, machine=2, ax=axes()))
    with pytest.raises(dk.InputError, match="there are 3 machines: choose one with machine=, such as 'a against b'"):
        plot.pairs(found, ax=axes())
    with pytest.raises(dk.InputError, match="did you mean 'a against b'"):
        plot.pairs(found, machine="a agains b", ax=axes())


def test_what_is_no_explanation_is_refused():
    with pytest.raises(dk.InputError, match=r"what distkern\.explain returns"):
        plot.pairs(3, ax=axes())
    with pytest.raises(dk.InputError, match="sample= is for contributions"):
        plot.features(explained(TWO), sample=0, ax=axes())
    with pytest.raises(dk.InputError, match="k must be a whole number"):
        plot.pairs(explained(TWO), k=0, ax=axes())
