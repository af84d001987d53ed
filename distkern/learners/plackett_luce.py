"""Plackett–Luce and Bradley–Terry models of rankings and comparisons."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError, SampleError
from distkern.core.feature_names import places_by_name
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.parameters import entries, one_of
from distkern.core.rankings import Rankings
from distkern.core.sentences import Parameter, Sentence
from distkern.core.typing import Floats, Indices
from distkern.core.validation import some_names
from distkern.core.warning import warn
from distkern.learners.ballots import ballots_of, voters_of
from distkern.learners.registry import saveable
from distkern.learners.validation import not_negative, whole
from distkern.solvers import plackett_luce as solver
from distkern.solvers.plackett_luce import Choices, Totals, Worths

MOST_NEWTON = 1500
"""Largest number of parameters for which ``solver="auto"`` takes Newton's method, whose matrix is their square."""


@saveable
class PlackettLuce(DensityMixin, BaseEstimator):
    r"""Plackett–Luce model of rankings, with ties, for total, partial and top-k rankings.

    .. math::

        P(C_1 \succ C_2 \succ \ldots) = \prod_j \frac{f(C_j)}{\sum_{S \subseteq A_j} f(S)},\qquad
        f(S) = \delta_{|S|} \Bigl(\prod_{i \in S} \alpha_i\Bigr)^{1/|S|}

    A ranking is a sequence of choices: C_j are the items at place j, more than one if they are tied, and A_j are the
    items that were left. The worths α sum to 1. δ₁ = 1, and δ_k says how often k items tie; the sum is over the sets
    S of sizes that occur as ties. Without ties, the chance of an item is α_i / Σ_{l ∈ A} α_l. With ties of pairs
    only, comparisons follow Davidson's model. Turner, van Etten, Firth and Kosmidis, "Modelling rankings in R: the
    PlackettLuce package", Computational Statistics 35 (2020).

    In a total ranking all items are available at first. Items that a ``"top"`` ranking does not observe are available
    at each choice and are never chosen. Items that an ``"interleaving"`` ranking does not observe were not available.

    Parameters
    ----------
    prior
        Number of wins and of losses of each item against a hypothetical item, which are added to the data. Worths are
        then finite whatever the data, and biased little towards equality. 0 is maximum likelihood, which is refused if
        some items never win or never lose against the others.
    solver
        ``"newton"``: Newton's method with the exact second derivatives. ``"mm"``: Hunter's MM algorithm ("MM algorithms
        for generalized Bradley–Terry models", Annals of Statistics 32, 2004), which takes more iterations and no
        matrix of all pairs of items, and gives no covariance. ``"auto"``: ``"newton"`` for up to 1,500 parameters.
    max_iter
        Maximum number of iterations.
    tol
        Iterations stop when no logarithm of a worth or a δ changes by more.

    Attributes
    ----------
    worths_
        α, (n,); they sum to 1.
    log_worths_
        log α minus their mean, (n,).
    tie_orders_, ties_
        Numbers k ≥ 2 of items that were tied in the data, and δ_k of each.
    covariance_
        Covariance of ``log_worths_`` and the log δ, (n + ties, n + ties): the inverse of the observed information of
        data and prior. None for ``"mm"``.
    log_likelihood_
        Log-likelihood of all voters, without the prior.
    n_iter_, converged_
        Iterations, and whether they reached ``tol``.
    n_features_in_, feature_names_in_
        Number of items, and their names if they have names.

    See Also
    --------
    BradleyTerry : Comparisons of two items.
    PlackettLuceMixture : Groups of voters.
    consensus_ranking : One order without a model.

    Notes
    -----
    Samples are `Rankings`, or rows of finite values (m, n) with larger = preferred, equal = tied. Equal rankings are
    merged, and equal sets of available items too.

    Examples
    --------
    >>> votes = Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]], counts=[6, 3, 1])
    >>> model = PlackettLuce().fit(votes)
    >>> model.worths_.round(2)
    array([0.69, 0.28, 0.04])
    >>> np.exp(model.score_samples(votes)).round(2)
    array([0.61, 0.26, 0.08])
    """

    def __init__(self, *, prior: float = 0.5, solver: str = "auto", max_iter: int = 1000, tol: float = 1e-8) -> None:
        self.prior = prior
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PlackettLuce:
        """Fit to rankings (m, n).

        Parameters
        ----------
        X
            Rankings.
        y
            Ignored.
        sample_weight
            Number of voters of each ranking, (m,); by default the counts of `Rankings`, else 1.

        Raises
        ------
        InputError
            If the estimates are not finite: with ``prior=0``, items never win or never lose against the others; or all
            choices are ties. The message names them. Also if no ranking orders two items, or a parameter is out of
            range.
        """
        self._check_parameters()
        choices, weights = self._choices(X, sample_weight, reset=True)
        return self._fit(choices, weights)

    def score_samples(self, X: Any) -> Floats:
        """Log-likelihood of each ranking, (samples,); −infinity if it ties as many items as were never tied before."""
        check_is_fitted(self)
        return solver.log_likelihoods(self._parameters(), self._choices(X, None, reset=False)[0])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-likelihood of the voters."""
        check_is_fitted(self)
        choices, weights = self._choices(X, sample_weight, reset=False)
        return float(np.average(solver.log_likelihoods(self._parameters(), choices), weights=weights))

    def predict(self, X: Any) -> Floats:
        """Order the items that each ranking compares by worth, (samples, n): 1 for the last; NaN if not compared.

        The order in which X ranks the items does not count. This is their most probable order without ties.
        """
        check_is_fitted(self)
        ballots = self._ballots(X, reset=False)
        compared = ~np.isnan(ballots.values) | (np.array(ballots.kind) == "top")[:, None]
        better = np.sign(self.worths_[:, None] - self.worths_[None, :])
        above = compared.astype(np.float64) @ better.T
        return np.where(compared, (above + compared.sum(axis=1)[:, None] + 1) / 2, np.nan)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion −2 log L + 2 p, with p = n − 1 + number of tie parameters; lower is better."""
        return self._criterion(X, sample_weight, lambda voters: 2.0)

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion −2 log L + p log m, m the number of voters; lower is better."""
        return self._criterion(X, sample_weight, log)

    def covariance(self, reference: Any = None) -> Floats:
        """Covariance of the log-worths, (n, n), relative to an item, by name or position, or else to their mean."""
        check_is_fitted(self)
        n = len(self.worths_)
        if self.covariance_ is None:
            raise InputError("the MM algorithm computes no covariance: fit with {solver}", solver="solver='newton'")
        if reference is None:
            return self.covariance_[:n, :n]
        contrast = np.eye(n)
        contrast[:, self._places([reference])[0]] -= 1
        return contrast @ self.covariance_[:n, :n] @ contrast.T

    def standard_errors(self, reference: Any = None) -> Floats:
        """Standard errors of the log-worths, (n,), relative to an item, by name or position, or else to their mean."""
        return np.sqrt(np.maximum(self.covariance(reference).diagonal(), 0))

    def first_probabilities(self, items: Any = None) -> Floats:
        """Probability that an item is chosen first from some items (by default all), alone or tied, (items,).

        Without ties they sum to 1.
        """
        check_is_fitted(self)
        places = np.arange(len(self.worths_)) if items is None else self._places(items)
        if len(places) == 1:
            return np.ones(1)
        return solver.first_chances(self._parameters(), places[None, :])[0]

    def pair_probabilities(self) -> Floats:
        """Probability that item i is preferred to item j when these two are compared, (n, n); NaN on the diagonal.

        Without ties this is also the probability that i comes before j in a total ranking. Entries (i, j) and (j, i)
        sum to 1 minus the probability of a tie.
        """
        check_is_fitted(self)
        first, second = np.indices((len(self.worths_),) * 2).reshape(2, -1)
        chances = self._outcomes(first, second)[:, 0].reshape((len(self.worths_),) * 2)
        np.fill_diagonal(chances, np.nan)
        return chances

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Rankings:
        """Draw total rankings, with ties where the model has them.

        Parameters
        ----------
        n_samples
            Number of rankings.
        random_state
            None, a seed, or a generator of NumPy.

        Examples
        --------
        >>> model = PlackettLuce().fit([[3, 2, 1], [3, 1, 2], [3, 2, 1]])
        >>> model.sample(2, random_state=0).values
        array([[2., 1., 3.],
               [3., 2., 1.]])
        """
        check_is_fitted(self)
        random = np.random.default_rng(random_state)
        levels = solver.drawn_levels(self._parameters(), whole(n_samples, "n_samples"), random)
        return Rankings.from_ranks(rankdata(-levels, axis=1), items=getattr(self, "feature_names_in_", None))

    # Fitting ---------------------------------------------------------------------------------------------------------

    def _fit(self, choices: Choices, weights: Floats) -> PlackettLuce:
        if choices.n_sets == 0 or not (weights[choices.owners] > 0).any():
            raise InputError("no ranking orders two items: at least one must rank an item before or beside another")
        totals = solver.totals_of(choices, weights)
        self._check_bounded(totals, weights)
        n, start = choices.n_items, solver.first_guess(totals)
        auto = "newton" if n + len(totals.orders) - 1 <= MOST_NEWTON else "mm"
        method = auto if self.solver == "auto" else self.solver
        maximise = solver.maximised_by_newton if method == "newton" else solver.maximised_by_mm
        found = maximise(totals, float(self.prior), start, self.max_iter, self.tol)
        self._check_convergence(found)
        worths = found.worths
        self.worths_ = softmax(worths.log_worths)
        self.log_worths_ = worths.log_worths - worths.log_worths.mean()
        self.tie_orders_, self.ties_ = worths.orders[1:], np.exp(worths.log_ties[1:])
        self.covariance_ = None if found.information is None else solver.covariance_of(found.information, n)
        self.log_likelihood_ = float(weights @ solver.log_likelihoods(self._parameters(), choices))
        self.n_iter_, self.converged_ = found.iterations, found.converged
        return self

    def _check_parameters(self) -> None:
        not_negative(self.prior, "prior")
        one_of(self.solver, "solver", ("auto", "newton", "mm"))
        whole(self.max_iter, "max_iter")
        not_negative(self.tol, "tol")

    def _check_bounded(self, totals: Totals, weights: Floats) -> None:
        """Refuse data for which an estimate is infinite, and name the items."""
        order = solver.unbounded_order(totals)
        if order is not None:
            raise InputError(
                f"items are tied wherever {order} of them can be, so that the parameter of ties of {order} has no "
                "finite estimate: leave tied rankings out, or break their ties"
            )
        if self.prior > 0:
            return
        component, between = solver.strong_components(totals.choices, weights)
        if len(between) == 1:
            return
        names = self._item_names()
        for wins, lost in ((between, "lose"), (between.T, "win")):
            for group in np.flatnonzero(~wins.any(axis=0)):
                if 2 * (component == group).sum() <= len(component):
                    items = [names[item] for item in np.flatnonzero(component == group)]
                    raise InputError(
                        "these items never {lost} against the others: {items}. Their worths have no finite estimates "
                        "({count} groups of items are not connected by wins and losses): give {prior}, or leave out "
                        "such items",
                        items=some_names(items),
                        lost=lost,
                        count=len(between),
                        prior="prior=0.5",
                    )

    def _check_convergence(self, found: solver.Fit) -> None:
        if found.singular:
            raise InputError(
                "the likelihood has no maximum: estimates run away, since ties occur wherever they can: give {prior}, "
                "or leave tied rankings out",
                prior="prior=0.5",
            )
        if found.converged:
            return
        message = Sentence(
            "the model stopped after {iterations} iterations before it converged: raise {max_iter} or {tol}",
            iterations=found.iterations,
            max_iter=Parameter("max_iter"),
            tol=Parameter("tol"),
        )
        warn(ConvergenceWarning(message))

    # Input and parameters --------------------------------------------------------------------------------------------

    def _choices(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[Choices, Floats]:
        """The choices that rankings consist of, and the number of voters of each ranking."""
        ballots = self._ballots(X, reset=reset)
        return solver.choices_of(ballots.values, np.array(ballots.kind) == "top"), voters_of(X, sample_weight)

    def _ballots(self, X: Any, *, reset: bool) -> Rankings:
        return ballots_of(self, X, reset=reset)

    def _parameters(self) -> Worths:
        orders = np.concatenate([[1], self.tie_orders_]).astype(np.intp)
        return Worths(self.log_worths_, orders, np.concatenate([[0.0], np.log(self.ties_)]))

    def _criterion(self, X: Any, sample_weight: Any, price: Any) -> float:
        voters = self._choices(X, sample_weight, reset=False)[1].sum()
        parameters = len(self.worths_) - 1 + len(self.ties_)
        return float(-2 * voters * self.score(X, sample_weight=sample_weight) + parameters * price(voters))

    def _item_names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        return tuple(map(str, range(self.n_features_in_) if names is None else names))

    def _places(self, items: Any) -> Indices:
        """Positions of items that are given by name or by position."""
        names = self._item_names()
        by_name = {name: place for place, name in enumerate(names)}
        places = []
        for item in entries(items, "items"):
            if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
                place = int(item) if 0 <= item < len(names) else -1
            else:
                place = by_name.get(str(item), -1)
            if place < 0:
                raise InputError(f"there is no item {item!r}: the {len(names)} items are {some_names(names)}")
            places.append(place)
        repeated = [names[place] for place in places if places.count(place) > 1]
        if repeated or not places:
            raise InputError(f"item {repeated[0]!r} is given twice" if repeated else "no items are given")
        return np.array(places, np.intp)

    def _outcomes(self, first: Indices, second: Indices) -> Floats:
        """Probabilities that the first of two items wins, that the second does, and of a tie, (pairs, 3)."""
        a, b = self.log_worths_[first], self.log_worths_[second]
        tie = dict(zip(self.tie_orders_.tolist(), np.log(self.ties_).tolist(), strict=True)).get(2, -np.inf)
        logs = np.stack([a, b, (a + b) / 2 + tie], axis=1)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))


@saveable
class BradleyTerry(PlackettLuce):
    r"""Bradley–Terry model of comparisons of two items, with Davidson's ties: `PlackettLuce` for pairs.

    .. math::

        P(i \succ j) = \frac{\alpha_i}{\alpha_i + \alpha_j + \nu \sqrt{\alpha_i \alpha_j}},\qquad
        P(i \sim j) = \frac{\nu \sqrt{\alpha_i \alpha_j}}{\alpha_i + \alpha_j + \nu \sqrt{\alpha_i \alpha_j}}

    ν = 0 if there are no ties. Bradley and Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952);
    Davidson, "On extending the Bradley–Terry model to accommodate ties in paired comparison experiments", Journal of
    the American Statistical Association 65 (1970).

    Samples are `Rankings` that each compare two items, or `PairwiseVotes`, whose votes are the weights. Parameters,
    attributes and methods are those of `PlackettLuce`; ``ties_`` is ν. `score_samples` takes rankings.

    See Also
    --------
    PlackettLuce : Whole rankings.
    PairwiseVotes : Its input.

    Examples
    --------
    >>> games = PairwiseVotes(("a", "b", "c"), [[0, 5, 9], [3, 0, 4], [1, 2, 0]])
    >>> model = BradleyTerry(prior=0).fit(games)
    >>> model.worths_.round(3)
    array([0.61 , 0.288, 0.102])
    >>> model.predict_proba([("a", "b"), ("c", "b")]).round(3)
    array([[0.679, 0.321],
           [0.261, 0.739]])
    """

    def predict_proba(self, pairs: Any) -> Floats:
        """Probability that the first item of each pair wins, that the second does, and of a tie if the model has ties.

        Parameters
        ----------
        pairs
            (pairs, 2): names of two items, or their positions.
        """
        check_is_fitted(self)
        found = []
        for number, pair in enumerate(entries(pairs, "pairs")):
            two = entries(pair, f"pair {number}")
            if len(two) != 2:
                raise InputError(f"pair {number} has {len(two)} items: give two")
            found.append(self._places(two))
        if not found:
            raise InputError("there are no pairs: give at least one")
        first, second = np.array(found).T
        return self._outcomes(first, second)[:, : 2 + len(self.ties_)]

    def score_samples(self, X: Any) -> Floats:
        """Log-likelihood of each comparison, (samples,)."""
        if isinstance(X, PairwiseVotes):
            raise InputError("pairwise votes are sums of comparisons: score takes them, score_samples takes rankings")
        return super().score_samples(X)

    def _choices(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[Choices, Floats]:
        if not isinstance(X, PairwiseVotes):
            return super()._choices(X, sample_weight, reset=reset)
        if sample_weight is not None:
            raise InputError("pairwise votes are weights themselves: give no sample_weight with them")
        wins, ties = X.wins, np.triu(X.ties)
        if reset:
            self.n_features_in_, self.feature_names_in_ = X.n_items, np.array(X.items, dtype=object)
        else:
            places = places_by_name(getattr(self, "feature_names_in_", None), X.items, "X")
            if places is not None:
                wins, ties = wins[np.ix_(places, places)], np.triu(X.ties[np.ix_(places, places)])
        if len(wins) != self.n_features_in_ or len(wins) < 2:
            raise InputError(f"got votes on {len(wins)} items; the model is for {max(self.n_features_in_, 2)} or more")
        (winner, loser), (one, other) = np.nonzero(wins), np.nonzero(ties)
        tied = np.arange(len(winner) + len(one)) >= len(winner)
        first, second = np.concatenate([winner, one]), np.concatenate([loser, other])
        weights = np.concatenate([wins[winner, loser], ties[one, other]])
        return solver.choices_of_pairs(first, second, tied, len(wins)), weights

    def _ballots(self, X: Any, *, reset: bool) -> Rankings:
        ballots = super()._ballots(X, reset=reset)
        compared = (~np.isnan(ballots.values)).sum(axis=1)
        top = (np.array(ballots.kind) == "top") & (compared < ballots.n_items)
        sizes = np.where(top, ballots.n_items, compared)
        wrong = np.flatnonzero(sizes > 2)
        if len(wrong):
            raise SampleError(
                f"ranking {wrong[0]} compares {sizes[wrong[0]]} items ({len(wrong)} rankings compare more than two): "
                "BradleyTerry takes comparisons of two items, PlackettLuce all rankings",
                int(wrong[0]),
            )
        return ballots
