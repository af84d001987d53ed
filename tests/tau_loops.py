"""tau of pairs of columns by double loops and by SciPy."""

import math

import naive
import numpy as np
from scipy.stats import kendalltau, norm


def naive_tau(x, y, strata):
    S, untied_x, untied_y = naive.strata_counts(x, y, strata)
    return S / math.sqrt(untied_x * untied_y) if untied_x and untied_y else math.nan


def naive_p(x, y, strata):
    """The normal approximation, with the variance over all orderings of y within each stratum."""
    S, untied_x, untied_y = naive.strata_counts(x, y, strata)
    if not (untied_x and untied_y):
        return math.nan
    parts = [[k for k, one in enumerate(strata) if one == label] for label in sorted(set(strata))]
    variance = sum(naive.variance_of_concordance([x[k] for k in part], [y[k] for k in part]) for part in parts)
    return 2 * norm.sf(abs(S) / math.sqrt(variance)) if variance else math.nan


class Naive:
    """Values of all columns of X with all columns of Y."""

    def __init__(self, X, Y=None, strata=None):
        self.X, self.Y = np.asarray(X, float), np.asarray(X if Y is None else Y, float)
        self.strata = [0] * len(self.X) if strata is None else list(strata)

    def each(self, function):
        return np.array([[function(x.tolist(), y.tolist(), self.strata) for y in self.Y.T] for x in self.X.T])

    @property
    def tau(self):
        return self.each(naive_tau)

    @property
    def p(self):
        return self.each(naive_p)

    def scipy_p(self, **options):
        return self.each(lambda x, y, _: kendalltau(x, y, **options).pvalue)
