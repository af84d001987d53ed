"""Model selection for the multiscale ranker by cross-validation with closed-form held-out predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from distkern.core.alignment import aligned
from distkern.core.errors import InputError
from distkern.core.labels import checked_labels
from distkern.core.parameters import one_of
from distkern.core.typing import Floats, Indices
from distkern.kernels.base import Kernel
from distkern.kernels.vectors import Gaussian
from distkern.learners.memory import read_matrix, require_memory
from distkern.learners.metrics import mean_absolute_difference, mean_squared_difference, ranking_error
from distkern.learners.ranking import LSRRanker, MLSRRanker, matrices, ranking_targets
from distkern.learners.registry import saveable
from distkern.learners.validation import samples_of, whole, with_own_errors
from distkern.solvers.holdout import HoldOut, holdout_bytes

Measure = Callable[[Floats, Floats], float]

SCORINGS: dict[str, Measure] = {
    "ranking_error": ranking_error,
    "mean_squared_difference": mean_squared_difference,
    "mean_absolute_difference": mean_absolute_difference,
}
"""Functions to minimise, by name."""

LAMS = tuple(10.0**power for power in range(-5, 2))
"""Values of λ in the paper."""

WIDTHS = tuple(4.0**power for power in range(-3, 4))
"""Values of σ in the paper, for the kernel exp(−‖x − y‖² / σ); this form reproduces its published numbers."""


def paper_kernel(width: float) -> Gaussian:
    """exp(−‖x − y‖² / σ) with the paper's σ.

    Examples
    --------
    >>> paper_kernel(8.0)
    Gaussian(sigma=2.0)
    """
    return Gaussian(float(np.sqrt(width / 2)))


@saveable
class MLSRRankerCV(BaseEstimator):
    """Multiscale least squares ranking, with kernels, weights and λ chosen by cross-validation.

    All sets of up to ``n_kernels`` candidate kernels, all weights and all λ are evaluated. For each weighted sum of
    kernels, one eigendecomposition of the centred matrix gives the held-out predictions for all λ and all folds in
    closed form (see `HoldOut`). They equal those of models fitted without the fold, each with its own mλ/2.

    Parameters
    ----------
    kernels
        Candidate kernels, for samples; ``"precomputed"``: X is a list of the Gram matrices or arrays of all candidates;
        or None, the seven Gaussian kernels of the paper, exp(−‖x − y‖² / σ) with σ = 4⁻³, …, 4³.
    n_kernels
        Maximum number of kernels in a sum.
    ratios
        Candidate values of v_t / v_1 for the kernels after the first. Only λ v_t matters, so v_1 = 1.
    lams
        Candidate values of λ.
    cv
        Number of folds, splitter or splits, as in scikit-learn. Test sets must not overlap, and a training set must
        contain all other samples. Leave-one-out by default.
    scoring
        Function to minimise: ``"ranking_error"``, ``"mean_squared_difference"``, ``"mean_absolute_difference"``, or a
        function of targets and scores. The score is its mean over the folds; for leave-one-out, its value over all
        held-out predictions.
    memory_limit
        Memory that the search may use, in bytes or text such as ``"2GiB"``; by default half of the available memory. It
        needs the matrices of all candidates and five more.

    Attributes
    ----------
    best_estimator_
        `MLSRRanker` with the chosen parameters, fitted to all samples.
    best_params_
        Chosen ``kernels`` (positions among the candidates), ``weights`` and ``lam``.
    best_score_
        Smallest cross-validated score. Ties go to fewer kernels, then to larger λ.
    cv_results_
        Lists ``kernels``, ``weights``, ``lam`` and ``score`` of all combinations.
    n_features_in_
        Number of columns of X.

    See Also
    --------
    MLSRRanker : The model with given parameters.

    Examples
    --------
    >>> samples = np.linspace(0.0, 3.0, 30)[:, None]
    >>> search = MLSRRankerCV([Gaussian(0.1), Gaussian(1.0)], lams=[1e-3, 1e-1]).fit(samples, samples[:, 0] ** 2)
    >>> search.best_params_, len(search.cv_results_["score"])
    ({'kernels': (1,), 'weights': (1.0,), 'lam': 0.001}, 10)
    """

    best_estimator_: MLSRRanker
    best_params_: dict[str, Any]
    cv_results_: dict[str, Any]

    def __init__(
        self,
        kernels: Sequence[Kernel] | str | None = None,
        *,
        n_kernels: int = 2,
        ratios: Sequence[float] = (0.5, 1.0, 2.0),
        lams: Sequence[float] = LAMS,
        cv: Any = None,
        scoring: str | Measure = "ranking_error",
        memory_limit: int | str | None = None,
    ) -> None:
        self.kernels = kernels
        self.n_kernels = n_kernels
        self.ratios = ratios
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, groups: Any = None) -> MLSRRankerCV:
        """Evaluate all combinations and fit the best one to all samples.

        Parameters
        ----------
        X, y
            Samples (m, n), or the list of the matrices (m, m) of all candidates, and targets (m,).
        groups
            Groups for the splitter ``cv``.

        Raises
        ------
        InputError
            If a parameter is invalid, the folds overlap, a matrix is not square, symmetric and positive semidefinite, a
            value is not finite, a target is missing, all targets are equal, or there are fewer than three samples.
        MemoryLimitError
            If the matrices do not fit in memory; raised before they are computed.
        """
        measure, lams, ratios = self._measure(), _positive(self.lams, "lams"), _positive(self.ratios, "ratios")
        candidates = self._matrices(X, y)
        m, samples = len(candidates[0]), samples_of(matrices(X)[0] if self._is_precomputed() else X)
        targets = ranking_targets(y, samples)
        folds = self._folds(
            m, aligned(y, samples, "y"), None if groups is None else checked_labels(groups, samples, "groups")
        )
        tried: list[tuple[tuple[int, ...], tuple[float, ...], float, float]] = []
        for chosen, weights in self._combinations(len(candidates), ratios):
            spectrum = HoldOut(np.sum([candidates[t] / v for t, v in zip(chosen, weights, strict=True)], axis=0))
            for lam in lams:
                alphas = [(m - len(fold)) * lam / 2 for fold in folds]
                found = spectrum.predictions(targets, folds, alphas)
                tried.append((chosen, weights, lam, _score(measure, targets, found, folds)))
        best = min(tried, key=lambda one: (one[3], len(one[0]), -one[2]))
        names = ("kernels", "weights", "lam", "score")
        self.cv_results_ = {name: list(column) for name, column in zip(names, zip(*tried, strict=True), strict=True)}
        self.best_params_: dict[str, Any] = dict(zip(names[:3], best[:3], strict=True))
        self.best_score_ = best[3]
        chosen, weights, lam = best[:3]
        precomputed = self._is_precomputed()
        kernels = "precomputed" if precomputed else [self._candidates()[t] for t in chosen]
        best_ranker = MLSRRanker(kernels, list(weights), lam, memory_limit=self.memory_limit)
        self.best_estimator_ = best_ranker.fit([matrices(X)[t] for t in chosen] if precomputed else X, y)
        self.n_features_in_ = self.best_estimator_.n_features_in_
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def predict(self, X: Any) -> Floats:
        """Score of each sample, (samples,), from samples, or from the matrices (samples, m) of all candidates."""
        selected = self._select_matrices(X)  # raises NotFittedError before the attribute is read
        return self.best_estimator_.predict(selected)

    def score(self, X: Any, y: Any) -> float:
        """Minus `ranking_error`; see `MLSRRanker`."""
        selected = self._select_matrices(X)
        return self.best_estimator_.score(selected, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    # Helpers ---------------------------------------------------------------------------------------------------------

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _select_matrices(self, X: Any) -> Any:
        """X for the best estimator: the matrices of its kernels, or the samples unchanged."""
        check_is_fitted(self)
        if not self._is_precomputed():
            return X
        parts = matrices(X)
        count = 1 + max(max(some) for some in self.cv_results_["kernels"])
        if len(parts) != count:
            raise InputError(f"X holds {len(parts)} matrices and there were {count} candidates: give one for each")
        return [parts[t] for t in self.best_params_["kernels"]]

    def _candidates(self) -> list[Kernel]:
        kernels = [paper_kernel(width) for width in WIDTHS] if self.kernels is None else self.kernels
        if isinstance(kernels, str) or not len(kernels) or not all(isinstance(kernel, Kernel) for kernel in kernels):
            raise InputError(f"kernels must be 'precomputed' or kernels such as Gaussian(1.0); got {self.kernels!r}")
        return list(kernels)

    def _matrices(self, X: Any, y: Any) -> list[Floats]:
        """Gram matrices of all candidates as arrays."""
        if self._is_precomputed():
            parts: Sequence[Any] = matrices(X)
            self._require_memory(len(parts), len(parts[0]))
            fitted = LSRRanker()
            grams = [fitted._training_gram(part) for part in parts]
        else:
            kernels = self._candidates()
            self._require_memory(len(kernels), X.shape[0] if hasattr(X, "shape") and X.shape else len(X))
            grams = [LSRRanker(kernel=kernel)._training_gram(X, self.memory_limit) for kernel in kernels]
        sizes = {gram.shape[0] for gram in grams}
        if len(sizes) > 1:
            raise InputError(f"the matrices of the candidates are of unlike sizes, {sorted(sizes)}: slice them alike")
        return [read_matrix(gram) for gram in grams]

    def _require_memory(self, candidates: int, samples: int) -> None:
        needed = 8 * candidates * samples**2 + holdout_bytes(samples, samples)
        require_memory(needed, self.memory_limit, f"a search over {candidates} kernels of {samples:,} samples")

    def _measure(self) -> Measure:
        if callable(self.scoring):
            return self.scoring
        return SCORINGS[one_of(self.scoring, "scoring", SCORINGS)]

    def _folds(self, samples: int, y: Any, groups: Any) -> list[Indices]:
        """Positions of the held-out samples of each fold."""
        if samples < 3:
            raise InputError(f"got {samples} samples: to leave one out and rank a pair, a search needs three or more")
        if self.cv is None:
            return [np.array([i], dtype=np.intp) for i in range(samples)]
        splits = with_own_errors(lambda: list(check_cv(self.cv).split(np.zeros(samples), y, groups)))
        folds = []
        for train, test in splits:
            if len(train) + len(test) != samples or len(np.union1d(train, test)) != samples:
                raise InputError(
                    "a split of cv leaves samples out of both its training and its test set: each sample must be in one"
                )
            folds.append(np.asarray(test, dtype=np.intp))
        if len(np.unique(np.concatenate(folds))) < sum(map(len, folds)):
            raise InputError("the test sets of cv overlap: a search leaves every sample out at most once")
        if max(map(len, folds)) > samples - 2:
            raise InputError("a fold of cv leaves fewer than two samples to train on: use smaller ones")
        return folds

    def _combinations(
        self, candidates: int, ratios: Sequence[float]
    ) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
        for count in range(1, min(whole(self.n_kernels, "n_kernels"), candidates) + 1):
            for chosen in combinations(range(candidates), count):
                for others in product(ratios, repeat=count - 1):
                    yield chosen, (1.0, *others)


def _positive(values: Any, name: str) -> list[float]:
    numbers = sorted({with_own_errors(float, value) for value in np.ravel(values)})
    if not numbers or not all(0 < number < np.inf for number in numbers):
        raise InputError(f"{name} must be positive finite numbers to choose from; got {values!r}")
    return numbers


def _score(measure: Measure, targets: Floats, found: Floats, folds: list[Indices]) -> float:
    if all(len(fold) == 1 for fold in folds):
        where = np.concatenate(folds)
        return measure(targets[where], found[where])
    return float(np.mean([measure(targets[fold], found[fold]) for fold in folds]))
