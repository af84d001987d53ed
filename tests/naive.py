"""Naive twins of the kernels and solvers: loops transcribed from the formulas, without NumPy arithmetic."""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations


def direction(x, i, j):
    """1 if feature i is larger than feature j, −1 if smaller, 0 if tied; also for infinite values."""
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
    """exp(−λ d), with d a sum over pairs: 1 if discordant, 1/4 or 1/2 if tied in exactly one sample."""
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


# Partial rankings; NaN is not observed -----------------------------------------------------------------------------


def is_observed(value):
    return value == value


def compatible(x, kind):
    """All total rankings (a rank for each item, larger = preferred) that agree with a partial ranking."""
    n = len(x)
    for ranks in permutations(range(n)):
        for i, j in permutations(range(n), 2):
            if is_observed(x[i]) and is_observed(x[j]) and x[i] > x[j] and ranks[i] < ranks[j]:
                break
            if kind == "top" and is_observed(x[i]) and not is_observed(x[j]) and ranks[i] < ranks[j]:
                break
        else:
            yield ranks


def partial_kendall_by_enumeration(x, y, kind_x, kind_y):
    """The definition: exact mean over all pairs of compatible rankings."""
    pairs = [(ranks_x, ranks_y) for ranks_x in compatible(x, kind_x) for ranks_y in compatible(y, kind_y)]
    total = sum(concordant - discordant for concordant, discordant, *_ in (pair_counts(a, b) for a, b in pairs))
    return Fraction(total, len(pairs) * math.comb(len(x), 2))


def expected_direction(x, i, j, kind):
    """E sign(σ(i) − σ(j)) over the rankings σ compatible with x, as a fraction."""
    if is_observed(x[i]) and is_observed(x[j]):
        return Fraction(direction(x, i, j))
    if not is_observed(x[i]) and not is_observed(x[j]):
        return Fraction(0)
    if not is_observed(x[i]):
        return -expected_direction(x, j, i, kind)
    if kind == "top":
        return Fraction(1)
    seen = [item for item in range(len(x)) if is_observed(x[item])]
    return Fraction(sum(direction(x, i, item) for item in seen), len(seen) + 1)


def partial_kendall(x, y, kind_x, kind_y):
    """Exact value from the expected directions of all pairs of items."""
    total = sum(
        expected_direction(x, i, j, kind_x) * expected_direction(y, i, j, kind_y)
        for i, j in combinations(range(len(x)), 2)
    )
    return total / math.comb(len(x), 2)


def mean_mallows(rankings_x, rankings_y, lam):
    """Mean of exp(−λ n_d) over pairs of total rankings."""
    values = [math.exp(-lam * pair_counts(a, b)[1]) for a in rankings_x for b in rankings_y]
    return math.fsum(values) / len(values)


def partial_mallows(x, y, lam, kind_x, kind_y):
    return mean_mallows(list(compatible(x, kind_x)), list(compatible(y, kind_y)), lam)


def rank_span(x, i):
    """Ranks, 1 for the largest value, that feature i can have when the ties of x are broken."""
    above = sum(1 for value in x if value > x[i])
    return range(above + 1, above + 1 + sum(1 for value in x if value == x[i]))


def pair_agreement(x, y, pairs):
    """Mean over pairs of features of the product of the two signs."""
    total = 0
    for a, b in pairs:
        total += (int(x[a] < x[b]) - int(x[a] > x[b])) * (int(y[a] < y[b]) - int(y[a] > y[b]))
    return total / len(pairs)


def equal_rank(x, y):
    """Σ over features and ranks of the probability that the feature has that rank in x and y, ties broken at random."""
    total = Fraction(0)
    for i in range(len(x)):
        spans = rank_span(x, i), rank_span(y, i)
        for r in range(1, len(x) + 1):
            if r in spans[0] and r in spans[1]:
                total += Fraction(1, len(spans[0]) * len(spans[1]))
    return float(total)


@lru_cache(maxsize=64)
def diffusion_shares(n, beta):
    """e^{βΔ} at the identity, by ranks of the items, from the exponential series over the graph."""
    start = tuple(range(n))
    term, shares = {start: math.exp(-beta * (n - 1))}, {}
    for k in range(1, int(beta * (n - 1)) + 120):
        following = {}
        for ranks, share in term.items():
            shares[ranks] = shares.get(ranks, 0.0) + share
            for r in range(n - 1):
                swapped = tuple({r: r + 1, r + 1: r}.get(rank, rank) for rank in ranks)
                following[swapped] = following.get(swapped, 0.0) + share * beta / k
        term = following
    return shares


def diffusion(x, y, beta):
    """Probability of the ranking of x after diffusion from the ranking of y, with the items renumbered by y."""
    items = sorted(range(len(x)), key=lambda i: y[i])
    renamed = [x[i] for i in items]
    return diffusion_shares(len(x), beta)[tuple(sum(1 for v in renamed if v < value) for value in renamed)]


def mean_over_span(x, i, values):
    """Mean of ``values``, one for each rank, over the ranks that feature i can have."""
    span = rank_span(x, i)
    return sum(values[r - 1] for r in span) / len(span)


def weighted_kendall(x, y, pair_weight, u):
    """Σ_{i<j} w_ij(x) w_ij(y) sgn sgn, with ``pair_weight`` a function of the weights of two items."""
    own, other = ([mean_over_span(z, i, u) for i in range(len(z))] for z in (x, y))
    terms = []
    for i, j in combinations(range(len(x)), 2):
        signs = direction(x, i, j) * direction(y, i, j)
        terms.append(pair_weight(own[i], own[j]) * pair_weight(other[i], other[j]) * signs)
    return math.fsum(terms)


def top_kendall(x, y, k):
    """Weight 1 if both items of a pair are among the k best; for a tied item the probability of it."""
    inside = [float(r <= k) for r in range(1, len(x) + 1)]
    return weighted_kendall(x, y, lambda a, b: a * b, inside)


def average_kendall(x, y):
    return sum(top_kendall(x, y, k) for k in range(1, len(x) + 1)) / len(x)


def tie_groups(x):
    """Sizes of the groups of equal values."""
    return [list(x).count(value) for value in set(x)]


def tau_b(x, y):
    """tau-b, NaN where a feature is constant on the samples that observe both; values may be NaN."""
    seen = [(a, b) for a, b in zip(x, y, strict=True) if a == a and b == b]
    x, y = [a for a, _ in seen], [b for _, b in seen]
    if len(set(x)) < 2 or len(set(y)) < 2:
        return math.nan
    return kendall(x, y, ties="b")


def strata_counts(x, y, strata):
    """S, and the pairs untied in x and in y, added up over the strata; only samples of one stratum are compared."""
    totals = [0, 0, 0]
    for label in set(strata):
        inside = [k for k, one in enumerate(strata) if one == label]
        concordant, discordant, x_only, y_only, _ = pair_counts([x[k] for k in inside], [y[k] for k in inside])
        for position, value in enumerate((concordant - discordant, y_only, x_only)):
            totals[position] += value + (concordant + discordant) * (position > 0)
    return totals


def chance_of_concordance(x, y, alternative="two-sided"):
    """Fraction of all orderings of y whose S is at least as extreme as that of x and y."""
    concordant, discordant, *_ = pair_counts(x, y)
    shares = []
    for shuffled in permutations(y):
        c, d, *_ = pair_counts(x, shuffled)
        s, found = c - d, concordant - discordant
        shares.append({"two-sided": abs(s) >= abs(found), "less": s <= found, "greater": s >= found}[alternative])
    return sum(shares) / len(shares)


def variance_of_concordance(x, y):
    """Variance of S over all orderings of y."""
    values = []
    for shuffled in permutations(y):
        c, d, *_ = pair_counts(x, shuffled)
        values.append(c - d)
    return sum(value**2 for value in values) / len(values) - (sum(values) / len(values)) ** 2


# Smoothed: the expected sign of x_i + ε_i − x_j − ε_j --------------------------------------------------------------


def expected_sign(t, noise, first, second):
    """E sgn(t + ε − ε'), odd in t; ``first`` and ``second`` are the windows of the two items."""
    if t < 0:
        return -expected_sign(-t, noise, first, second)
    if first == second == 0:
        return float(t > 0)
    large, small = max(first, second), min(first, second)
    if noise == "uniform":
        if t >= (large + small) / 2:
            return 1.0
        if t <= (large - small) / 2:
            return 2 * t / large
        return 1 - ((large + small) / 2 - t) ** 2 / (large * small)
    if noise == "gaussian":
        return math.erf(t / (math.sqrt(2) * math.hypot(first, second)))
    if first == second:
        return 1 - (1 + t / (2 * first)) * math.exp(-t / first)
    if small == 0:
        return 1 - math.exp(-t / large)
    return 1 - (large**2 * math.exp(-t / large) - small**2 * math.exp(-t / small)) / (large**2 - small**2)


def smoothed_kendall(x, y, noise, windows):
    """``windows`` has one number per feature."""
    terms = []
    for i, j in combinations(range(len(x)), 2):
        signs = [expected_sign(z[i] - z[j], noise, windows[i], windows[j]) for z in (x, y)]
        terms.append(signs[0] * signs[1])
    return math.fsum(terms) / math.comb(len(x), 2)


def mean_kendall(copies_x, copies_y, skip_same=False):
    """Mean of the Kendall kernel over pairs of copies, without those of equal number if ``skip_same``."""
    values = [
        kendall(a, b) for p, a in enumerate(copies_x) for q, b in enumerate(copies_y) if not (skip_same and p == q)
    ]
    return math.fsum(values) / len(values)


# Fisher's discriminant: sums over samples, and Gaussian elimination --------------------------------------------


def solve(A, b):
    """Gaussian elimination with pivots."""
    n, rows = len(b), [[*row, value] for row, value in zip(A, b, strict=True)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * c for a, c in zip(rows[i], rows[k], strict=True)]
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (rows[k][n] - math.fsum(rows[k][j] * x[j] for j in range(k + 1, n))) / rows[k][k]
    return x


def fisher_system(K, y, mu):
    """N + μ I, N the scatter of the columns of K about the mean of their class, and those means by class."""
    m, labels = len(K), sorted(set(y))
    members = {label: [j for j in range(m) if y[j] == label] for label in labels}
    means = {c: [math.fsum(K[i][j] for j in members[c]) / len(members[c]) for i in range(m)] for c in labels}
    N = [
        [math.fsum((K[a][j] - means[y[j]][a]) * (K[b][j] - means[y[j]][b]) for j in range(m)) for b in range(m)]
        for a in range(m)
    ]
    for i in range(m):
        N[i][i] += mu
    return N, means


def fisher(K, y, mu):
    """α for two classes."""
    N, means = fisher_system(K, y, mu)
    first, second = (means[label] for label in sorted(means))
    return solve(N, [b - a for a, b in zip(first, second, strict=True)])


# Ranking by least squares, and its measures ------------------------------------------------------------------------


def multiscale_system(grams, weights, lam, y):
    """Matrix and right-hand side of the block system (7) of the paper, for the stacked α of all kernels."""
    m, count = len(y), len(grams)
    D = [[m * (i == j) - 1 for j in range(m)] for i in range(m)]
    A = [[0.0] * (count * m) for _ in range(count * m)]
    for s in range(count):
        for i in range(m):
            for j in range(m):
                value = 2 / m * math.fsum(D[i][k] * grams[s][k][j] for k in range(m))
                for t in range(count):
                    A[t * m + i][s * m + j] = value + m * lam * weights[t] * (t == s and i == j)
    right = [2 / m * math.fsum(D[i][k] * y[k] for k in range(m)) for i in range(m)]
    return A, right * count


def mean_over_pairs(y, f, error):
    """Mean over all pairs of samples of the error of (y_i − y_j) − (f_i − f_j)."""
    m = len(y)
    return math.fsum(error((y[i] - y[j]) - (f[i] - f[j])) for i in range(m) for j in range(m)) / m**2


def ranking_error(y, f):
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j]]
    lost = [(y[i] - y[j]) * ((f[i] < f[j]) + 0.5 * (f[i] == f[j])) for i, j in pairs]
    return math.fsum(lost) / len(pairs)


def losing_pairs(y, f, groups, loss):
    """Mean of loss(1 − (f_i − f_j)), where positive, over pairs of one group with y_i > y_j; number of these pairs."""
    m = len(y)
    pairs = [(i, j) for i in range(m) for j in range(m) if y[i] > y[j] and groups[i] == groups[j]]
    total = math.fsum(loss(1 - (f[i] - f[j])) for i, j in pairs if 1 - (f[i] - f[j]) > 0)
    return total / len(pairs), len(pairs)


def logistic_loss(y, f, w):
    """Σ w log(1 + exp(−y f)), y = ±1."""
    return math.fsum(w[i] * math.log1p(math.exp(-y[i] * f[i])) for i in range(len(y)))


def squared_hinge_loss(y, f, w):
    """Σ w max(0, 1 − y f)², y = ±1."""
    return math.fsum(w[i] * max(0.0, 1 - y[i] * f[i]) ** 2 for i in range(len(y)))


def multinomial_loss(codes, f, w):
    """Σ w (log Σ_c exp(f_c) − f_y), y the number of the class."""
    return math.fsum(w[i] * (math.log(math.fsum(map(math.exp, f[i]))) - f[i][codes[i]]) for i in range(len(codes)))


# Quantile normalisation ----------------------------------------------------------------------------------------------


def interpolated(target, place):
    """The target at a place between two of its numbers, exactly: a fraction of exact fractions."""
    low = min(int(place), len(target) - 1)
    if place == low:
        return Fraction(target[low])
    return (1 - (place - low)) * Fraction(target[low]) + (place - low) * Fraction(target[low + 1])


def place_of_rank(rank, observed, p):
    """Where a rank among ``observed`` values lies on a target of p numbers; the middle for a single value."""
    return Fraction(p - 1, 2) if observed == 1 else Fraction(rank) * Fraction(p - 1, observed - 1)


def on_target(x, target, ties="mean"):
    """Φ_f(x)_j: the mean of f over the ranks of the values equal to x_j, or f at the middle of these; NaN stays."""
    observed = [value for value in x if is_observed(value)]
    out = []
    for value in x:
        if not is_observed(value):
            out.append(value)
            continue
        below = sum(1 for other in observed if other < value)
        ranks = range(below, below + sum(1 for other in observed if other == value))
        if ties == "mid":
            ranks = [Fraction(ranks[0] + ranks[-1], 2)]
        found = [interpolated(target, place_of_rank(rank, len(observed), len(target))) for rank in ranks]
        out.append(float(sum(found) / len(found)))
    return out


def spearman(x, y):
    """Pearson's correlation of the mid-ranks."""
    r, s = (on_target(z, list(range(len(z)))) for z in (x, y))
    mean = (len(x) - 1) / 2
    product, *squares = (
        sum((a - mean) * (b - mean) for a, b in zip(p, q, strict=True)) for p, q in ((r, s), (r, r), (s, s))
    )
    return product / math.sqrt(math.prod(squares))


# Survival ------------------------------------------------------------------------------------------------------------


def cox_denominators(t, e, f, ties, strata):
    """Σ exp(f) over each risk set, as (event, {sample: share of exp(f) that counts}), with Efron's shares if asked."""
    m = len(t)
    out = []
    for i in range(m):
        if not e[i]:
            continue
        at_risk = [j for j in range(m) if strata[j] == strata[i] and t[j] >= t[i]]
        together = [j for j in at_risk if t[j] == t[i] and e[j]]
        taken = together.index(i) / len(together) if ties == "efron" else 0.0
        out.append((i, {j: 1 - taken if j in together else 1.0 for j in at_risk}))
    return out


def cox_loss(t, e, f, ties, strata):
    """−(1/m) Σ over events of f − log Σ exp(f) over the risk set."""
    parts = cox_denominators(t, e, f, ties, strata)
    logs = [math.log(math.fsum(share * math.exp(f[j]) for j, share in shares.items())) for _, shares in parts]
    return -math.fsum(f[i] - log for (i, _), log in zip(parts, logs, strict=True)) / len(t)


def cox_derivatives(t, e, f, ties, strata):
    """Gradient and matrix of second derivatives of `cox_loss`."""
    m = len(t)
    gradient, hessian = [0.0] * m, [[0.0] * m for _ in range(m)]
    for i, shares in cox_denominators(t, e, f, ties, strata):
        total = math.fsum(share * math.exp(f[j]) for j, share in shares.items())
        p = {j: share * math.exp(f[j]) / total for j, share in shares.items()}
        gradient[i] -= 1 / m
        for j in p:
            gradient[j] += p[j] / m
            hessian[j][j] += p[j] / m
            for k in p:
                hessian[j][k] -= p[j] * p[k] / m
    return gradient, hessian


def concordant_pairs(t, e, risk, weight=None, tau=math.inf):
    """Twice the weight of concordant pairs plus that of pairs of equal risk, and twice that of all comparable pairs."""
    found = comparable = 0
    for i in range(len(t)):
        for j in range(len(t)):
            if not e[i] or not t[i] < tau or not (t[j] > t[i] or (t[j] == t[i] and not e[j])):
                continue
            w = 1 if weight is None else weight[i]
            comparable += 2 * w
            found += 2 * w if risk[i] > risk[j] else w if risk[i] == risk[j] else 0
    return found, comparable


def still_observed(t, e, at):
    """Kaplan-Meier estimate of the chance that a time is not censored by ``at``; events come before censorings."""
    chance = 1.0
    for s in sorted(set(t)):
        if s <= at:
            here = [j for j in range(len(t)) if t[j] == s]
            censored = sum(not e[j] for j in here)
            at_risk = sum(t[j] >= s for j in range(len(t))) - (len(here) - censored)
            if censored:
                chance *= 1 - censored / at_risk
    return chance


def survival_curve(t, e):
    """Time, samples at risk, events, Kaplan-Meier estimate and Greenwood's standard error, at every time."""
    rows, chance, total = [], 1.0, 0.0
    for s in sorted(set(t)):
        at_risk = sum(other >= s for other in t)
        events = sum(bool(e[j]) for j in range(len(t)) if t[j] == s)
        chance *= 1 - events / at_risk
        total += events / (at_risk * (at_risk - events)) if events < at_risk else 0.0
        rows.append((s, at_risk, events, chance, chance * total**0.5))
    return rows


def log_rank(t, e, groups, strata):
    """Expected events of the groups if they do not differ, and the covariance of the observed numbers."""
    names = sorted(set(groups))
    expected, covariance = [0.0] * len(names), [[0.0] * len(names) for _ in names]
    for stratum in set(strata):
        own = [i for i in range(len(t)) if strata[i] == stratum]
        for s in {t[i] for i in own if e[i]}:
            at_risk = [i for i in own if t[i] >= s]
            n, d = len(at_risk), sum(bool(e[i]) for i in own if t[i] == s)
            counts = [sum(groups[i] == name for i in at_risk) for name in names]
            for g in range(len(names)):
                expected[g] += d * counts[g] / n
                for h in range(len(names)):
                    if n > 1:
                        spread = d * (n - d) / (n - 1) * counts[g] / n
                        covariance[g][h] += spread * ((g == h) - counts[h] / n)
    return expected, covariance


def survival_pairs_loss(t, e, f):
    """Mean of max(0, 1 − (f_j − f_i))² over pairs with an event at t_i < t_j, and the number of these pairs."""
    m = len(t)
    pairs = [(i, j) for i in range(m) for j in range(m) if e[i] and t[i] < t[j]]
    return math.fsum(max(0.0, 1 - (f[j] - f[i])) ** 2 for i, j in pairs) / len(pairs), len(pairs)
