"""The second voice of every kernel: double loops transcribed from the formulas, nothing clever, no NumPy arithmetic."""

import math
from itertools import combinations


def direction(x, i, j):
    """1 if feature i lies above feature j, −1 below, 0 tied; works for infinite values too."""
    return int(x[i] > x[j]) - int(x[i] < x[j])


def pair_counts(x, y):
    """Concordant, discordant, tied in x only, tied in y only, tied in both."""
    concordant = discordant = x_only = y_only = both = 0
    for i, j in combinations(range(len(x)), 2):
        dx, dy = direction(x, i, j), direction(y, i, j)
        if dx == 0 and dy == 0:
            both += 1
        elif dx == 0:
            x_only += 1
        elif dy == 0:
            y_only += 1
        elif dx == dy:
            concordant += 1
        else:
            discordant += 1
    return concordant, discordant, x_only, y_only, both


def kendall(x, y, ties="zero"):
    concordant, discordant, x_only, y_only, both = pair_counts(x, y)
    pairs = concordant + discordant + x_only + y_only + both
    if ties == "zero":
        return (concordant - discordant) / pairs
    untied_x, untied_y = pairs - x_only - both, pairs - y_only - both
    return (concordant - discordant) / math.sqrt(untied_x * untied_y)


def mallows(x, y, lam, scaled=False, ties="embedding"):
    """The distance is summed pair by pair: 1 where discordant, p where tied in exactly one sample."""
    _, discordant, x_only, y_only, _ = pair_counts(x, y)
    penalty = {"embedding": 0.25, "kemeny": 0.5}[ties]
    distance = discordant + penalty * (x_only + y_only)
    return math.exp(-lam * (distance / math.comb(len(x), 2) if scaled else distance))


def linear(x, y):
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def polynomial(x, y, degree, coef0):
    return (linear(x, y) + coef0) ** degree


def gaussian(x, y, sigma):
    return math.exp(-math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * sigma**2))


def matrix(kernel, X, Y, **params):
    """Every entry by a double loop."""
    return [[kernel(list(x), list(y), **params) for y in Y] for x in X]
