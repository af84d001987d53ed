"""Figures that an example or a test opens are closed after it, wherever it is."""

import sys

import pytest

collect_ignore = ["docs/comparison.py", "docs/conf.py", "docs/picture.py"]
"""Scripts of the documentation, which set the backend of figures, or draw."""


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Close all figures after each test."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
