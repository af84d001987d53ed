"""Marks of parameters."""

import pytest


def with_slow(everyday, slow):
    """Values of a parameter, or tuples of several: those of the everyday tests, and those that only slow tests take."""
    return [*everyday, *(pytest.param(*_values(value), marks=pytest.mark.slow) for value in slow)]


def _values(value):
    """The values of several parameters, or the value of one."""
    return value if isinstance(value, tuple) else (value,)
