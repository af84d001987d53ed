"""Marks of parameters."""

import pytest


def with_slow(everyday, slow):
    """Values of a parameter: those that are tested every day, and those that only slow tests take."""
    return [*everyday, *(pytest.param(value, marks=pytest.mark.slow) for value in slow)]
