"""Mixtures of Plackett–Luce models, by expectation-maximisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_expit, softmax
from scipy.stats import rankdata
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.rankings import Rankings
from distkern.core.typing import Floats, Indices
from distkern.learners.ballots import ballots_of, voters_of
from distkern.learners.kmeans import generators_of
from distkern.learners.ranking_mixture import RankingMixture
from distkern.learners.registry import saveable
from distkern.learners.validation import positive, whole
from distkern.solvers import plackett_luce as solver
from distkern.solvers.plackett_luce import Choices, Worths

STEPS = 3
"""Maximum number of Newton steps of a component in an iteration; each step raises the expected likelihood."""

LEAST_SHARE = 1e-10
"""Least part of each ranking that counts for each component, so that the δ of rare ties stay finite."""


@dataclass(frozen=True)
class _Components:
    """Weights π (c,), and the parameters of each component."""

    weights: Floats
    worths: tuple[Worths, ...]


@saveable
class PlackettLuceMixture(RankingMixture):
    r"""Mixture of Plackett–Luce models, for total, partial and top-k rankings, with ties.

    .. math::

        p(x) = \sum_c \pi_c\, P(x \mid \alpha_c, \delta_c)

    with P of `PlackettLuce`. Fitted by expectation-maximisation; a maximisation step is Newton's method on the weighted
    rankings from the worths before. Gormley and Murphy, "Exploring voting blocs within the Irish electorate", Journal
    of the American Statistical Association 103 (2008).

    Parameters
    ----------
    n_components
        Number of components.
    prior
        Number of wins and of losses of each item against a hypothetical item, in each component; more than 0, since a
        component with few rankings would have no finite worths.
    n_init
        Number of starts: the worths that single rankings suggest, which are drawn one after another, with a probability
        that grows as a ranking is unlikely under those before. The best result is kept.
    max_iter
        Maximum number of iterations of a start.
    tol
        A start stops when an iteration increases the objective by at most this for each voter.
    random_state
        Seed of the starts.

    Attributes
    ----------
    weights_
        π, (components,), descending.
    worths_
        α, (components, n); they sum to 1 in each component.
    log_worths_
        log α minus their mean in each component.
    tie_orders_, ties_
        Numbers k ≥ 2 of items that were tied in the data, and their δ, (components, ties).
    labels_
        Most probable component of each training sample, (m,).
    log_likelihood_
        Log-likelihood of all voters, without the prior.
    n_iter_, converged_
        Iterations of the best start, and whether it reached ``tol``.
    history_
        Log-likelihood plus the logarithm of the prior after each iteration of the best start; it never decreases.
    n_features_in_, feature_names_in_
        Number of items, and their names if they have names.

    See Also
    --------
    choose_components : How many components.
    PlackettLuce : One component.
    MallowsMixture : Another model.

    Examples
    --------
    >>> left, right = [["a", "b", "c"], ["a", "c", "b"]], [["c"], ["b", "c"]]
    >>> votes = Rankings.from_orderings(left + right, counts=[30, 20, 25, 5], kind=["total", "total", "top", "top"])
    >>> model = PlackettLuceMixture(2, random_state=0).fit(votes)
    >>> model.labels_, model.weights_.round(1)
    (array([0, 0, 1, 1]), array([0.6, 0.4]))
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        prior: float = 0.5,
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PlackettLuceMixture:
        """Fit to rankings (m, n).

        Parameters
        ----------
        X
            Rankings; see `PlackettLuce`.
        y
            Ignored.
        sample_weight
            Number of voters of each ranking, (m,); by default the counts of `Rankings`, else 1.

        Raises
        ------
        InputError
            If there are fewer distinct rankings than components, all choices are ties, or a parameter is out of range.
        """
        self._check_parameters()
        positive(self.prior, "prior")
        ballots = ballots_of(self, X, reset=True)
        weights = voters_of(X, sample_weight)
        distinct, inverse = ballots.distinct()
        counts = np.bincount(inverse, weights, minlength=len(distinct)).astype(np.float64)
        kinds = np.unique(distinct.kind, return_inverse=True)[1]
        sorted_rows = np.lexsort([*np.where(np.isnan(distinct.values), -np.inf, distinct.values).T, kinds])
        kept = sorted_rows[counts[sorted_rows] > 0]  # in an order that the order of the samples does not change
        distinct, counts = distinct[kept], counts[kept]
        self._check_distinct(len(distinct), len(weights))
        choices = _choices_of(distinct)
        self._check_choices(choices, counts)
        starts = (self._memberships(choices, counts, start) for start in generators_of(self.random_state, self.n_init))
        runs = (self._run(choices, counts, self._maximised(choices, counts, start, None)) for start in starts)
        best = max(runs, key=lambda run: run.history[-1])
        order = np.argsort(-best.components.weights, kind="stable")
        fitted = [best.components.worths[c] for c in order]
        self.weights_ = best.components.weights[order]
        raw = np.array([worths.log_worths for worths in fitted])
        self.worths_, self.log_worths_ = softmax(raw, axis=1), raw - raw.mean(axis=1, keepdims=True)
        self.tie_orders_ = fitted[0].orders[1:]
        self.ties_ = np.exp([worths.log_ties[1:] for worths in fitted])
        self.log_likelihood_ = best.history[-1] + self._penalty(best.components)
        self.labels_ = self._log_joint(self._fitted(), _choices_of(ballots)).argmax(axis=1)
        self._keep(best)
        return self

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Rankings, Indices]:
        """Draw total rankings, with ties where the model has them, and the component of each, (n_samples,)."""
        check_is_fitted(self)
        random = np.random.default_rng(random_state)
        labels = random.choice(len(self.weights_), whole(n_samples, "n_samples"), p=self.weights_ / self.weights_.sum())
        levels = np.empty((len(labels), self.n_features_in_))
        for c, worths in enumerate(self._fitted().worths):
            rows = np.flatnonzero(labels == c)
            levels[rows] = solver.drawn_levels(worths, len(rows), random)
        names = getattr(self, "feature_names_in_", None)
        return Rankings.from_ranks(rankdata(-levels, axis=1), items=names), labels

    # Expectation-maximisation ----------------------------------------------------------------------------------------

    def _memberships(self, choices: Choices, counts: Floats, random: np.random.Generator) -> Floats:
        """Memberships (m, c) by the worths that c drawn rankings suggest."""
        best = np.full(len(counts), -np.inf)
        found: list[Floats] = []
        for _ in range(self.n_components):
            surprise = counts if not found else counts * np.maximum(best.max() - best, 0)
            surprise = surprise if surprise.sum() > 0 else counts
            alone = np.full(len(counts), LEAST_SHARE)
            alone[random.choice(len(counts), p=surprise / surprise.sum())] = 1.0
            found.append(solver.log_likelihoods(self._worths(choices, alone, None), choices))
            best = np.max(found, axis=0)
        return softmax(np.array(found).T, axis=1)

    def _worths(self, choices: Choices, weights: Floats, before: Worths | None) -> Worths:
        totals = solver.totals_of(choices, weights)
        start = solver.first_guess(totals) if before is None else before
        return solver.maximised_by_newton(totals, float(self.prior), start, STEPS, 1e-7).worths

    def _log_joint(self, components: _Components, data: Choices) -> Floats:
        each = [solver.log_likelihoods(worths, data) for worths in components.worths]
        return np.log(components.weights) + np.array(each).T

    def _maximised(self, data: Choices, counts: Floats, memberships: Floats, before: _Components | None) -> _Components:
        shares = counts[:, None] * np.maximum(memberships, LEAST_SHARE)
        starts = [None] * shares.shape[1] if before is None else before.worths
        worths = tuple(self._worths(data, shares[:, c], start) for c, start in enumerate(starts))
        return _Components(shares.sum(axis=0) / shares.sum(), worths)

    def _penalty(self, components: _Components) -> float:
        logs = np.array([worths.log_worths for worths in components.worths])
        return float(-self.prior * (log_expit(logs) + log_expit(-logs)).sum())

    def _fitted(self) -> _Components:
        orders = np.concatenate([[1], self.tie_orders_]).astype(np.intp)
        ties = np.hstack([np.zeros((len(self.weights_), 1)), np.log(self.ties_)])
        worths = tuple(Worths(each, orders, tie) for each, tie in zip(self.log_worths_, ties, strict=True))
        return _Components(self.weights_, worths)

    def _n_parameters(self) -> int:
        return len(self.weights_) * (self.n_features_in_ + len(self.tie_orders_)) - 1

    def _data(self, X: Any, *, reset: bool = False) -> Choices:
        return _choices_of(ballots_of(self, X, reset=reset))

    def _check_choices(self, choices: Choices, counts: Floats) -> None:
        if choices.n_sets == 0:
            raise InputError("no ranking orders two items: at least one must rank an item before or beside another")
        order = solver.unbounded_order(solver.totals_of(choices, counts))
        if order is not None:
            raise InputError(
                f"items are tied wherever {order} of them can be, so that the parameter of ties of {order} has no "
                "finite estimate: leave tied rankings out, or break their ties"
            )


def _choices_of(ballots: Rankings) -> Choices:
    return solver.choices_of(ballots.values, np.array(ballots.kind) == "top")
