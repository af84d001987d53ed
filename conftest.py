"""Figures that an example or a test opens are closed after it, wherever it is."""

import sys

import pytest


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Close all figures after each test."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
