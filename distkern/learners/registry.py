"""Registry of the estimators that a model file may contain."""

from __future__ import annotations

from typing import TypeVar

from sklearn.base import BaseEstimator

Class = TypeVar("Class", bound=type[BaseEstimator])

SAVEABLE: dict[str, type[BaseEstimator]] = {}
"""Registered classes by name; a model file stores the name."""


def saveable(cls: Class) -> Class:
    """Register an estimator class for `save_model` and `load_model`; use it as a class decorator.

    A model file contains the constructor parameters and the public fitted attributes, whose names end with "_". Their
    values may be arrays, kernels, prepared samples, saveable estimators, numbers, text, and lists, tuples and dicts of
    these. An estimator of a third party can be loaded once its module has been imported.

    Raises
    ------
    TypeError
        If another class has this name.

    Examples
    --------
    >>> @saveable
    ... class Mean(BaseEstimator):
    ...     def fit(self, X, y):
    ...         self.mean_ = float(sum(y) / len(y))
    ...         return self
    >>> SAVEABLE.pop("Mean").__name__
    'Mean'
    """
    known = SAVEABLE.setdefault(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"{cls.__module__} and {known.__module__} both define a saveable estimator {cls.__name__}")
    SAVEABLE[cls.__name__] = cls
    return cls
