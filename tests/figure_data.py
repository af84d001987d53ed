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


def held_out(m=120, seed=0, repeats=2, classes=("ill", "well"), probabilities=True, folds=4):
    """Predictions for random samples that are a little better than chance, without ties."""
    from distkern.learners.held_out import HeldOut

    rng, count = np.random.default_rng(seed), len(classes)
    truth = rng.permutation(np.arange(m) % count)
    values = 1.5 * np.eye(count)[truth] + rng.normal(size=(repeats, m, count))
    chances = np.exp(values) / np.exp(values).sum(axis=2, keepdims=True)
    decisions = values if count > 2 else values[:, :, 1:] - values[:, :, :1]
    of_fold = np.array([rng.permutation(m) % folds for _ in range(repeats)])
    return HeldOut(classes, truth, values.argmax(axis=2), decisions, chances if probabilities else None, of_fold)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
