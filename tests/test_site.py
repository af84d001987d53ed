"""The site names every public name and reaches every page; `make docs` builds it without a warning."""

import importlib
import re
from pathlib import Path

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


@pytest.mark.site
def test_the_site_has_its_front_its_reference_and_all_notebooks():
    site = ROOT / "site" / "html"
    assert "docs/index.html" in (site / "index.html").read_text(encoding="utf-8")
    reference = (site / "docs" / "api" / "distkern.KernelSVC.html").read_text(encoding="utf-8")
    assert "Upper bound of the dual coefficients" in reference
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks == {path.stem for path in (site / "notebooks").glob("*.html")}
