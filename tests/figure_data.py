"""Data and axes for tests of figures."""

import numpy as np
from matplotlib.figure import Figure

from distkern import Evaluation


def evaluation(C=(1.0, 1.0, 10.0, 1.0), accuracy=(0.8, 0.6, 1.0, 0.8), **settings):
    columns = ([0, 0, 1, 1], [0, 1, 0, 1], [5, 5, 5, 5], accuracy, accuracy, accuracy, C)
    return Evaluation(*map(np.array, columns), classes=("a", "b"), settings=settings, seconds=0.1)


def gram(m=12, seed=0):
    X = np.random.default_rng(seed).normal(size=(m, 6)) + 1.0
    return X @ X.T


def axes():
    return Figure().subplots()
