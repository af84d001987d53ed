"""The site names every public name, its neighbours, every figure and message, and `make docs` built all its pages."""

import ast
import builtins
import importlib
import inspect
import pkgutil
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "api.md"

pytestmark = pytest.mark.skipif(not (ROOT / "distkern").is_dir(), reason="needs the source tree")


def listed(text):
    """Names that the reference lists, as (module, name)."""
    module, found = "", []
    for line in text.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.removeprefix(".. currentmodule:: ")
        elif name := re.fullmatch(r"   (\w+)", line):
            found.append((module, name[1]))
    return found


def wanted():
    """Public names, as (module, name); the figures that `distkern.report` holds too are those of `distkern.plot`."""
    modules = {
        name: importlib.import_module(name).__all__ for name in ("distkern", "distkern.plot", "distkern.datasets")
    }
    modules["distkern"] = set(modules["distkern"]) - {"__version__", "datasets"}
    modules["distkern.report"] = set(importlib.import_module("distkern.report").__all__) - set(modules["distkern.plot"])
    return sorted((module, name) for module, names in modules.items() for name in names)


def test_the_reference_lists_every_public_name_once():
    assert sorted(listed(PAGE.read_text(encoding="utf-8"))) == wanted()


def test_a_name_that_is_missing_is_noticed():
    assert listed(".. currentmodule:: distkern\n\n   Kendall\n   KernelSVC\n") == [
        ("distkern", "Kendall"),
        ("distkern", "KernelSVC"),
    ]
    without = PAGE.read_text(encoding="utf-8").replace("   KernelSVC\n", "")
    assert sorted(listed(without)) != wanted()


# Neighbours ----------------------------------------------------------------------------------------------------------


def neighbours(text):
    """Names in the section "See Also" of a docstring."""
    section = re.search(r"^See Also\n-+\n(.*?)(?=\n\n|\Z)", inspect.cleandoc(text), re.MULTILINE | re.DOTALL)
    lines = section[1].splitlines() if section else []
    return [name for line in lines for name in line.partition(" : ")[0].split(", ")]


def inventory():
    """Names of other projects, with the name of their file: those that docstrings may mention."""
    rows = [
        (path.stem, *line.split())
        for path in sorted((ROOT / "docs" / "inventories").glob("*.inv"))
        for line in path.read_text(encoding="utf-8").splitlines()[3:]
    ]
    return {name: (project, kind, page) for project, name, kind, page in rows}


def found(name, module=None):
    """What a name stands for, in a module or anywhere; None if there is no such thing."""
    for whole in ([f"{module}.{name}"] if module else []) + [name]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of other packages
                return pkgutil.resolve_name(whole)
        except (ImportError, AttributeError):
            continue
    return getattr(builtins, name, None)


@pytest.mark.parametrize(("module", "name"), wanted(), ids=lambda part: part.removeprefix("distkern."))
def test_docstrings_name_neighbours_that_exist(module, name):
    value = getattr(importlib.import_module(module), name)
    names = neighbours(value.__doc__)
    is_error = isinstance(value, type) and issubclass(value, Exception)
    assert names or is_error or module == "distkern.datasets"
    assert len(names) == len(set(names))
    assert name not in names
    ours = [each for each in names if each not in inventory()]
    assert [each for each in ours if not (found(each, module) or found(each, "distkern"))] == []


def test_a_neighbour_that_does_not_exist_is_noticed():
    text = """Summary.

    See Also
    --------
    Kendall, Mallow : One of them.
    sklearn.svm.SVC : Another.

    Examples
    --------
    """
    assert neighbours(text) == ["Kendall", "Mallow", "sklearn.svm.SVC"]
    assert found("Kendall", "distkern")
    assert not found("Mallow", "distkern")
    assert "sklearn.svm.SVC" in inventory()


def test_names_of_other_projects_exist_there():
    for name, (project, kind, page) in inventory().items():
        if name != "None":
            assert found(name) is not None, (project, name)
        assert kind in ("class", "function", "method", "data"), name
        assert re.fullmatch(r"[\w./-]+", page), name


def test_inventories_are_those_of_the_configuration():
    text = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    mapped = re.findall(r'^        "([\w-]+)": "https://', text, re.MULTILINE)
    assert sorted(mapped) == sorted(path.stem for path in (ROOT / "docs" / "inventories").glob("*.inv"))


def configured():
    pytest.importorskip("sphinx")
    return runpy.run_path(str(ROOT / "docs" / "conf.py"))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("(X: Array | None = None)", "(X: ~numpy.ndarray | None = None)"),
        (
            "(X: ~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.float64]])",
            "(X: ~numpy.ndarray)",
        ),
        ("(*, ax: Axes | None)", "(*, ax: ~matplotlib.axes.Axes | None)"),
        ("~pandas.core.frame.DataFrame", "~pandas.DataFrame"),
        ('(path: ~pathlib._local.Path, dtype: str = "float64")', '(path: ~pathlib.Path, dtype: str = "float64")'),
        ("(rows: Sequence[int], kind: str = 'Any')", "(rows: ~collections.abc.Sequence[int], kind: str = 'Any')"),
        (None, None),
    ],
)
def test_types_of_signatures_have_their_documented_names(given, wanted):
    assert configured()["documented"](given) == wanted


def test_a_formula_is_mathml_and_half_is_no_twelve():
    nodes = pytest.importorskip("docutils.nodes")
    translator = SimpleNamespace(body=[])
    with pytest.raises(nodes.SkipNode):
        configured()["formula"](translator, nodes.math_block("", r"\tfrac12 x_12"))
    written = "".join("".join(translator.body).split())
    assert written.startswith('<divclass="math"><math')
    assert "<mn>1</mn><mn>2</mn>" in written
    assert "<mn>12</mn>" not in written


# Figures, messages, commands ----------------------------------------------------------------------------------------


def figures(text):
    """Code and options of each figure of the gallery."""
    for block in text.split(".. plot::")[1:]:
        yield re.findall(r"^   (?:>>>|\.\.\.) ?(.*)$", block, re.MULTILINE), re.findall(r":alt: (.+)", block)


def test_the_gallery_shows_every_figure_in_ten_lines_and_describes_it():
    shown = set()
    for code, described in figures((ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")):
        assert len(code) <= 10, code
        assert len(described) == 1, code
        shown |= {
            node.func.id
            for node in ast.walk(ast.parse("\n".join(code)))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
    assert set(importlib.import_module("distkern.plot").__all__) <= shown


def templates():
    """Patterns of all messages in the source: a field stands for any text."""
    texts = set()
    for path in (ROOT / "distkern").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values]
                texts.add("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(re.sub(r"\{\w+(![rs])?(:,)?\}", "\0", node.value))
    return [re.compile(re.escape(text).replace("\0", ".+"), re.DOTALL) for text in texts if len(text) > 30]


def quoted(text):
    """Messages that a page quotes."""
    return [" ".join(block.split()) for block in re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


def test_messages_that_the_page_of_messages_quotes_are_those_of_the_source():
    known = templates()
    messages = quoted((ROOT / "docs" / "faq.md").read_text(encoding="utf-8"))
    assert messages
    assert [text for text in messages if not any(pattern.fullmatch(text) for pattern in known)] == []
    assert not any(pattern.fullmatch("the file is empty, as no message of ours says") for pattern in known)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_commands_of_the_page_of_tasks_work(tmp_path):
    text = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    python = f'"{sys.executable}"'
    script, programs = ["set -e", f'distkern() {{ {python} -m distkern "$@"; }}'], []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "python" and ">>>" not in block:  # the others are doctests
            script.append(f"{python} - <<'END'\n{block}END")
        elif not language:
            programs += [line.split()[0] for line in block.splitlines()]
            script += [line for line in block.splitlines() if line.startswith("distkern ")]
    assert set(programs) == {"distkern", "sbatch", "kubectl"}
    assert programs.count("distkern") > 15
    done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"er.html", "calls.csv", "genes.csv", "risks.csv", "network.csv", "groups.html", "types.csv"}


# The site ------------------------------------------------------------------------------------------------------------


@pytest.mark.site
def test_the_site_has_its_front_its_reference_and_all_notebooks():
    site = ROOT / "site" / "html"
    assert "docs/index.html" in (site / "index.html").read_text(encoding="utf-8")
    reference = (site / "docs" / "api" / "distkern.KernelSVC.html").read_text(encoding="utf-8")
    assert "Upper bound of the dual coefficients" in reference
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks == {path.stem for path in (site / "notebooks").glob("*.html")}
    pages = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    assert [name for name, (_, _, page) in inventory().items() if f"/{page}#{name}" not in pages] == []
    assert re.findall(r"<(?:script|img|iframe|link)[^>]* (?:src|href)=\"(?:https?:)?//[^\"]*", pages) == []
    assert re.findall(r"<img (?![^>]*alt=\"[^\"])[^>]*>", pages) == []
