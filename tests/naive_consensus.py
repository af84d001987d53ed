"""Slow, obvious versions of consensus rankings: all orders, all orders with ties."""

from itertools import permutations, product

import numpy as np


def preferred_of(X, weights):
    """Q(a, b) and T(a, b), counted one by one."""
    n = X.shape[1]
    preferred, tied = np.zeros((n, n)), np.zeros((n, n))
    for row, weight in zip(X, weights, strict=True):
        for a in range(n):
            for b in range(n):
                preferred[a, b] += weight * (row[a] > row[b])
                tied[a, b] += weight * (a != b and row[a] == row[b])
    return preferred, tied


def kemeny_costs(preferred):
    """Cost of each order: a dictionary in lexicographic order."""
    n = len(preferred)
    return {
        order: sum(preferred[late, early] for place, late in enumerate(order) for early in order[:place])
        for order in permutations(range(n))
    }


def optimal_orders(preferred):
    """The least cost, and the orders that have it."""
    costs = kemeny_costs(preferred)
    least = min(costs.values())
    return least, [order for order, cost in costs.items() if cost == least]


def weak_orders(n):
    """All orders with ties of n items: the bucket of each item, from 0 for the best."""
    return [numbers for numbers in product(range(n), repeat=n) if set(numbers) == set(range(max(numbers) + 1))]


def cost_with_ties(numbers, preferred, tied, penalty):
    """K⁽ᵖ⁾ between an order with ties and all ballots, summed."""
    total = 0.0
    for a in range(len(numbers)):
        for b in range(a):
            first, last = (a, b) if numbers[a] < numbers[b] else (b, a)
            if numbers[a] == numbers[b]:
                total += penalty * (preferred[a, b] + preferred[b, a])
            else:
                total += preferred[last, first] + penalty * tied[a, b]
    return total


def footrule(order, X, weights):
    """Σ w |place − place on the ballot|, with mean places of ties and of the completions of partial ballots."""
    n = X.shape[1]
    total = 0.0
    for row, weight in zip(X, weights, strict=True):
        seen = [item for item in range(n) if not np.isnan(row[item])]
        for place, item in enumerate(order, start=1):
            if item in seen:
                above = sum(row[other] > row[item] for other in seen)
                equal = sum(row[other] == row[item] for other in seen)
                own = (above + (equal + 1) / 2) * (n + 1) / (len(seen) + 1)
                total += weight * abs(place - own)
    return total
