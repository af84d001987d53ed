import numpy as np
import pandas as pd
import pytest
from figure_data import axes, legend
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
    ax = plot.plot_pairs(found, k=4, ax=axes())
    np.testing.assert_allclose(widths(ax), found.weights[:4, 0])
    assert labels(ax) == [f"{i} above {j}" for i, j in zip(found.first[:4], found.second[:4], strict=True)]
    assert ax.get_title() == "1 against 0"
    assert ax.get_xlabel() == "weight of a pair"
    colours = {bar.get_facecolor() for bar in ax.patches if bar.get_width() > 0}
    assert not colours & {bar.get_facecolor() for bar in ax.patches if bar.get_width() < 0}


def test_features_are_drawn_by_weight_or_by_importance():
    found = explained(TWO)
    for by, numbers in (("weight", found.feature_weights), ("importance", found.importances)):
        ax = plot.plot_features(found, by=by, k=3, ax=axes())
        order = np.argsort(-np.abs(numbers[:, 0]))[:3]
        np.testing.assert_allclose(widths(ax), numbers[order, 0])
        assert labels(ax) == [str(at) for at in order]
        assert ax.get_xlabel() == f"{by} of a feature"
    with pytest.raises(dk.InputError, match="by must be one of weight, importance"):
        plot.plot_features(found, by="size", ax=axes())


def test_a_long_title_stays_in_the_figure():
    frame = pd.DataFrame(X, columns=["G protein-coupled receptor", *"bcde"])
    y = np.where(TWO, "distant metastasis within five years", "no distant metastasis")
    found = dk.explain(dk.KernelSVC(kernel=dk.Kendall()).fit(frame, y)).contributions(frame.iloc[:1])
    figure = Figure(figsize=(4.8, 4.2), layout="constrained")
    plot.plot_pairs(found, k=4, ax=figure.subplots())
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    edges = np.asarray(canvas.buffer_rgba())[:, [0, -1]]
    assert (edges == 255).all()  # no letter crosses the left or the right edge


def test_contributions_to_a_sample_are_drawn():
    found = explained(TWO).contributions(NEW)
    ax = plot.plot_pairs(found, sample=1, ax=axes())
    np.testing.assert_allclose(widths(ax), found.of_pairs[1].contributions[:, 0])
    assert ax.get_title() == f"1: f = {found.decisions[1, 0]:.3g}\n1 against 0"
    ax = plot.plot_features(found, sample="0", k=2, ax=axes())
    assert widths(ax) == sorted(found.of_features[0, :, 0], key=abs, reverse=True)[:2]
    assert ax.get_xlabel() == "contribution of a feature"
    with pytest.raises(dk.InputError, match="there are 2 samples: choose one with sample="):
        plot.plot_pairs(found, ax=axes())
    with pytest.raises(dk.InputError, match="no sample 7 among 2"):
        plot.plot_pairs(found, sample=7, ax=axes())


def test_a_machine_of_several_is_chosen_by_name_or_position():
    found = explained(THREE)
    ax = plot.plot_features(found, machine="b against c", ax=axes())
    assert widths(ax) == widths(plot.plot_features(found, machine=2, ax=axes()))
    with pytest.raises(dk.InputError, match="there are 3 machines: choose one with machine=, such as 'a against b'"):
        plot.plot_pairs(found, ax=axes())
    with pytest.raises(dk.InputError, match="did you mean 'a against b'"):
        plot.plot_pairs(found, machine="a agains b", ax=axes())


def test_what_is_no_explanation_is_refused():
    with pytest.raises(dk.InputError, match=r"give what distkern\.explain returns"):
        plot.plot_pairs(3, ax=axes())
    with pytest.raises(dk.InputError, match="sample= is for contributions"):
        plot.plot_features(explained(TWO), sample=0, ax=axes())
    with pytest.raises(dk.InputError, match="k must be a whole number"):
        plot.plot_pairs(explained(TWO), k=0, ax=axes())


def shares(X, y, label, first, second):
    """Share of the samples of a class in which the first feature is below the second, by counting."""
    below = [row[first] < row[second] for row, of in zip(X, y, strict=True) if of == label]
    return sum(below) / len(below)


def test_the_pairs_of_rules_have_the_shares_of_both_classes():
    model = dk.KTopScoringPairs(k=2).fit(X, np.where(TWO, "well", "ill"))
    ax = plot.plot_pairs(model, k=2, ax=axes())
    assert labels(ax) == [f"{i} < {j}" for i, j in model.pairs_[:2].tolist()]
    dots = dict(zip(legend(ax), ax.lines, strict=True))
    for label, line in dots.items():
        expected = [shares(X, np.where(TWO, "well", "ill"), label, i, j) for i, j in model.pairs_[:2].tolist()]
        np.testing.assert_allclose(line.get_xdata(), expected)
    np.testing.assert_allclose(np.abs(np.subtract(*(line.get_xdata() for line in ax.lines))), model.scores_[:2])


def test_the_pairs_of_a_table_have_the_shares_of_both_classes():
    y = np.where(TWO, "well", "ill")
    table = dk.pair_scores(X, y, k=4)
    ax = plot.plot_pairs(table, ax=axes())
    assert sorted(legend(ax)) == ["ill", "well"]
    for label, line in zip(legend(ax), ax.lines, strict=True):
        pairs = zip(table["first"].astype(int), table["second"].astype(int), strict=True)
        np.testing.assert_allclose(line.get_xdata(), [shares(X, y, label, i, j) for i, j in pairs])
    with pytest.raises(dk.InputError, match="holds no pair"):
        plot.plot_pairs(table[:0], ax=axes())
    with pytest.raises(dk.InputError, match="sample= is for contributions"):
        plot.plot_pairs(table, sample=0, ax=axes())


def test_of_several_classes_one_is_chosen():
    table = dk.pair_scores(X, THREE, k=2)
    with pytest.raises(dk.InputError, match="pairs of 3 classes, 'a', 'b', 'c': give the rows of one"):
        plot.plot_pairs(table, ax=axes())
    ax = plot.plot_pairs(table[table["class"] == "b"], ax=axes())
    assert sorted(legend(ax)) == ["b", "rest"]
    model = dk.KTopScoringPairs(k=2).fit(X, THREE)
    with pytest.raises(dk.InputError, match="there are 3 machines: choose one with machine="):
        plot.plot_pairs(model, ax=axes())
    ax = plot.plot_pairs(model, machine="b against the rest", ax=axes())
    assert legend(ax) == ["the rest", "b"]
    i, j = model.pairs_[model.problem_ == 1][0].tolist()
    (rest, own) = (line.get_xdata()[0] for line in ax.lines)
    assert own == pytest.approx(shares(X, THREE, "b", i, j))
    assert rest == pytest.approx(shares(X, np.where(THREE == "b", "b", "rest"), "rest", i, j))
