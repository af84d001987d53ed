"""Every notebook runs from top to bottom and is committed with its results."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
OF_FAULTS = [FOLDER / "03-cluster.ipynb"]
WITHOUT_WORK = [  # no work on a stored Gram matrix
    FOLDER / f"{name}.ipynb"
    for name in ("10-table-2", "11-does-supervision-help", "12-another-platform", "13-an-election")
]
WIDGET = "application/vnd.jupyter.widget-view+json"


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS][:1] == ["01-first-cohort.ipynb"]


def marked(path):
    marks = pytest.mark.faults if path in OF_FAULTS else pytest.mark.slow
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("path", list(map(marked, NOTEBOOKS)))
@pytest.mark.filterwarnings("default")  # what Jupyter's own machinery warns of in this process
def test_runs_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    committed = [shown(cell) for cell in notebook.cells if cell.cell_type == "code"]
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    live = [output for cell in notebook.cells for output in cell.get("outputs", []) if WIDGET in output.get("data", {})]
    assert bool(live) == (path not in WITHOUT_WORK), "the progress bar of a notebook is a widget"
    executed = [shown(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert executed == committed, "run the notebook again and commit it"
    assert list(tmp_path.iterdir()) == []  # it cleans up after itself


def shown(cell):
    """Kinds of output of a cell; progress bars are live widgets and are not committed."""
    kinds = [sorted(output.get("data", {})) for output in cell.outputs if output.output_type != "stream"]
    return [kind for kind in kinds if WIDGET not in kind]
