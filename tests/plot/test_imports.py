import subprocess
import sys

import pytest


def fresh(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_pyplot_is_not_imported():
    code = (
        "import sys; from distkern.plot import plot_gram; ax = plot_gram([[1, 0], [0, 1]]); "
        "print(type(ax.figure).__name__, 'matplotlib.pyplot' in sys.modules)"
    )
    assert fresh(code).split() == ["Figure", "False"]


@pytest.mark.slow
def test_a_new_figure_is_one_of_pyplot_if_pyplot_is_imported():
    code = (
        "import matplotlib; matplotlib.use('agg'); from matplotlib import pyplot as plt; "
        "from distkern.report import plot_gram; ax = plot_gram([[1, 0], [0, 1]]); print(plt.gcf() is ax.figure)"
    )
    assert fresh(code).split() == ["True"]


def test_importing_the_packages_imports_no_plotting_library():
    names = ("matplotlib", "sklearn", "jinja2")
    code = f"import sys, distkern.plot, distkern.report; print(*(name in sys.modules for name in {names}))"
    assert fresh(code).split() == ["False", "False", "False"]


@pytest.mark.parametrize("package", ["plot", "report"])
@pytest.mark.parametrize("name", ["plot_gram", "plot_accuracy"])
def test_a_missing_extra_is_named(package, name):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from distkern import MissingExtraError\n"
        f"try:\n    from distkern.{package} import {name}\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    assert "pip install 'distkern[report]'" in fresh(code)


def test_figures_keep_their_first_names():
    import distkern.plot
    import distkern.report

    figures = set(distkern.report.__all__) - {"write_report", "write_cluster_report"}
    assert figures <= set(distkern.plot.__all__)
    for name in figures:
        assert getattr(distkern.report, name) is getattr(distkern.plot, name)
    assert distkern.plot.pairs is distkern.plot.plot_pairs
    assert distkern.plot.features is distkern.plot.plot_features


def test_every_figure_is_a_function_of_axes():
    import inspect

    import distkern.plot

    for name in distkern.plot.__all__:
        assert name.startswith("plot_")
        ax = inspect.signature(getattr(distkern.plot, name)).parameters["ax"]
        assert ax.default is None
        assert ax.kind is ax.KEYWORD_ONLY
