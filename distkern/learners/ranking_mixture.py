"""What mixtures of ranking models share: expectation-maximisation, predictions, and the choice of their number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.parameters import entries
from distkern.core.rankings import Rankings
from distkern.core.sentences import Parameter, Sentence
from distkern.core.typing import Floats, Indices
from distkern.core.warning import warn
from distkern.learners.ballots import voters_of
from distkern.learners.randomness import random_state_of
from distkern.learners.validation import REPEATS, not_negative, whole


@dataclass(frozen=True)
class Run:
    """Result of one start: components, objective after each iteration, and whether it converged."""

    components: Any
    history: tuple[float, ...]
    converged: bool


class RankingMixture(ClusterMixin, DensityMixin, BaseEstimator):
    """Base of mixtures: a subclass defines its data, its components, and the two steps of an iteration."""

    @abstractmethod
    def _data(self, X: Any, *, reset: bool = False) -> Any:
        """Validate samples, and return what the two steps take."""

    @abstractmethod
    def _fitted(self) -> Any:
        """The fitted components."""

    @abstractmethod
    def _log_joint(self, components: Any, data: Any) -> Floats:
        """Log π_c p_c(x), (samples, components)."""

    @abstractmethod
    def _maximised(self, data: Any, counts: Floats, memberships: Floats, before: Any) -> Any:
        """Components of higher expected log-likelihood than those before, for memberships (samples, components)."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """Number of free parameters, for the Bayesian information criterion."""

    def _penalty(self, components: Any) -> float:
        """What the objective subtracts from the log-likelihood: minus the logarithm of a prior."""
        return 0.0

    def predict(self, X: Any) -> Indices:
        """Most probable component of each sample, (samples,)."""
        return self._joint(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each component given the sample, (samples, components)."""
        joint = self._joint(X)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def score_samples(self, X: Any) -> Floats:
        """Log-likelihood of each sample, (samples,)."""
        return np.asarray(logsumexp(self._joint(X), axis=1), dtype=np.float64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-likelihood of the voters."""
        each = self.score_samples(X)
        return float(np.average(each, weights=voters_of(X, sample_weight)))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion −2 log L + p log m, m the number of voters; lower is better."""
        voters = voters_of(X, sample_weight).sum()
        return -2 * voters * self.score(X, sample_weight=sample_weight) + self._n_parameters() * log(voters)

    def monte_carlo_error(self, X: Any, sample_weight: Any = None) -> float:
        """Standard error of `score` that random numbers leave: 0 where the likelihood is exact."""
        return 0.0

    def _joint(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._log_joint(self._fitted(), self._data(X))

    def _run(self, data: Any, counts: Floats, start: Any, history: tuple[float, ...] = ()) -> Run:
        """Iterate from components until the objective converges; a step that lowers it, by chance, is not taken."""
        components, before = start, start
        earlier, reached = len(history), list(history)
        while True:
            joint = self._log_joint(components, data)
            each = logsumexp(joint, axis=1)
            reached.append(float(counts @ each) - self._penalty(components))
            if len(reached) > earlier + 1 and reached[-1] < reached[-2]:
                return Run(before, tuple(reached[:-1]), True)
            converged = len(reached) > earlier + 1 and reached[-1] - reached[-2] <= self.tol * float(counts.sum())
            if converged or len(reached) >= self.max_iter:
                return Run(components, tuple(reached), converged)
            before = components
            components = self._maximised(data, counts, np.exp(joint - each[:, None]), components)

    def _check_parameters(self) -> None:
        for name in ("n_components", "max_iter"):
            whole(getattr(self, name), name)
        whole(self.n_init, "n_init", REPEATS)
        not_negative(self.tol, "tol")

    def _check_distinct(self, distinct: int, samples: int) -> None:
        if distinct < self.n_components:
            raise InputError(
                f"got {distinct} distinct rankings (n_samples={samples}) for n_components={self.n_components}: "
                "ask for fewer components"
            )

    def _keep(self, best: Run) -> None:
        """Keep what the best start says of its iterations."""
        self.history_ = np.array(best.history)
        self.n_iter_, self.converged_ = len(best.history), best.converged
        if not best.converged:
            message = Sentence(
                "the mixture stopped after {iterations} iterations before it converged: raise {max_iter} or {tol}",
                iterations=self.max_iter,
                max_iter=Parameter("max_iter"),
                tol=Parameter("tol"),
            )
            warn(ConvergenceWarning(message))


# The number of components --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComponentNumbers:
    """Criteria for the number of components of a mixture.

    Parameters
    ----------
    numbers
        Numbers of components.
    bic
        Bayesian information criterion of the mixture of all voters; lower is better.
    held_out
        Mean log-likelihood of voters that the mixture was not fitted to; higher is better.
    standard_error
        Standard error of ``held_out``, from its differences between folds.
    monte_carlo_error
        Part of that error that comes from random completions of rankings; 0 where likelihoods are exact.

    See Also
    --------
    choose_components : Makes it.
    """

    numbers: tuple[int, ...]
    bic: Floats
    held_out: Floats
    standard_error: Floats
    monte_carlo_error: Floats

    @property
    def by_bic(self) -> int:
        """Number with the least criterion."""
        return self.numbers[int(self.bic.argmin())]

    @property
    def by_held_out(self) -> int:
        """Number with the largest held-out log-likelihood."""
        return self.numbers[int(self.held_out.argmax())]


def choose_components(
    mixture: RankingMixture, rankings: Rankings, numbers: Iterable[int], *, folds: int = 5, random_state: Any = None
) -> ComponentNumbers:
    """Fit mixtures of several numbers of components, to all voters and with some of them held out.

    Parameters
    ----------
    mixture
        `MallowsMixture` or `PlackettLuceMixture`; its number of components does not count.
    rankings
        Rankings, whose counts are voters: each voter is in one fold, also if others rank alike.
    numbers
        Numbers of components.
    folds
        Number of parts, each of which is held out once.
    random_state
        Seed of the folds.

    Raises
    ------
    InputError
        If there are fewer voters than folds, or a part has fewer distinct rankings than components.

    See Also
    --------
    PlackettLuceMixture, MallowsMixture : The models.
    cluster_numbers : Numbers of clusters of kernel k-means.

    Examples
    --------
    >>> from distkern import MallowsMixture
    >>> from distkern.datasets import sample_mallows
    >>> votes = sample_mallows([4, 3, 2, 1], 1.0, 200, random_state=0)
    >>> choose_components(MallowsMixture(n_init=2, random_state=0), votes, [1, 2], random_state=0).by_bic
    1
    """
    if not isinstance(rankings, Rankings):
        raise InputError("choose_components takes Rankings: make them with Rankings.from_ranks or from_orderings")
    tried = tuple(whole(number, "each of numbers") for number in entries(numbers, "numbers"))
    if not tried or whole(folds, "folds") < 2 or rankings.counts.sum() < folds:
        raise InputError("choose_components needs a number of components, two folds or more, and a voter in each")
    random = random_state_of(random_state)
    fold_of = random.permutation(np.arange(rankings.counts.sum()) % folds)
    row_of = np.repeat(np.arange(len(rankings)), rankings.counts)
    parts = np.stack([np.bincount(row_of[fold_of == fold], minlength=len(rankings)) for fold in range(folds)])
    bic, held_out, errors = np.empty(len(tried)), np.empty((len(tried), folds)), np.empty((len(tried), folds))
    for place, number in enumerate(tried):
        model = clone(mixture).set_params(n_components=number)
        bic[place] = model.fit(rankings).bic(rankings)
        for fold, out in enumerate(parts):
            model = clone(model).fit(_of_voters(rankings, rankings.counts - out))
            unseen = _of_voters(rankings, out)
            held_out[place, fold], errors[place, fold] = model.score(unseen), model.monte_carlo_error(unseen)
    shares = parts.sum(axis=1) / rankings.counts.sum()
    spread = held_out.std(axis=1, ddof=1) / np.sqrt(folds)
    return ComponentNumbers(tried, bic, held_out @ shares, spread, np.sqrt(errors**2 @ shares**2))


def _of_voters(rankings: Rankings, counts: Indices) -> Rankings:
    """The rankings that some of the voters gave."""
    kept = np.flatnonzero(counts)
    return Rankings(rankings.values[kept], rankings.items, tuple(rankings.kind[row] for row in kept), counts[kept])
