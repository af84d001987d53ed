"""Figures of notebooks come from distkern.plot: no cell draws by hand."""

import ast
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
LAYOUT = {"subplots", "show"}
"""What a notebook may call of pyplot: to put figures side by side, and to show them."""

DRAWING = frozenset(
    "annotate arrow axhline axhspan axline axvline axvspan bar bar_label barh boxplot clabel colorbar contour contourf "
    "errorbar eventplot fill fill_between fill_betweenx hexbin hist hist2d hlines imshow legend loglog matshow pcolor "
    "pcolormesh pie plot plot_date quiver scatter semilogx semilogy stackplot stairs stem step streamplot text "
    "tricontour tricontourf tripcolor triplot violinplot vlines add_artist add_collection add_patch add_line "
    "inset_axes twinx twiny".split()
)
"""Methods of matplotlib's axes, of its pyplot, and of pandas, that draw."""


def drawn_by_hand(source):
    """What a cell calls or imports to draw without distkern.plot; its own functions and variables may have any name."""
    tree = ast.parse(source)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names if "matplotlib" in one.name and one.name != "matplotlib.pyplot"]
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("matplotlib", "distkern.plot.axes")):
            found.append(node.module)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("plt", "pyplot"):
            found += [f"plt.{node.attr}"] if node.attr not in LAYOUT else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWING - own:
            found.append(node.func.attr)
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_draws_by_hand(path):
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [names for names in map(drawn_by_hand, cells) if names] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("fig, ax = plt.subplots()\nplot.plot_gram(gram, ax=ax)\nax.set_title('a')\nplt.show()", []),
        ("import matplotlib.pyplot as plt\nfrom distkern import plot", []),
        ("ax.plot([1], [2])", ["plot"]),
        ("fig.colorbar(axes[0].imshow(values))", ["colorbar", "imshow"]),
        ("frame['a'].hist()", ["hist"]),
        ("plt.hist(values)", ["hist", "plt.hist"]),
        ("plt.rcParams.update({})", ["plt.rcParams"]),
        ("from matplotlib.lines import Line2D", ["matplotlib.lines"]),
        ("from distkern.plot.axes import OKABE_ITO", ["distkern.plot.axes"]),
    ],
)
def test_drawing_is_noticed(source, found):
    assert drawn_by_hand(source) == found
