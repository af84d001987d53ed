"""Top-scoring pairs as features: the signs of the best pairs, or the values of their features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from distkern.core.typing import Array, Floats, Indices
from distkern.learners.memory import row_blocks
from distkern.learners.pair_estimator import PairEstimator
from distkern.learners.pair_votes import refuse_missing, votes_of
from distkern.learners.registry import saveable
from distkern.learners.validation import with_own_errors


class PairTransformer(TransformerMixin, PairEstimator):
    """Chooses the best k pairs of each binary problem; the same pair of two problems counts once."""

    def __init__(
        self,
        k: Any = 10,
        *,
        k_range: tuple[int, int] = (2, 10),
        disjoint: bool = False,
        features: Any = None,
        pairs: Any = None,
        pivot: Any = None,
        missing: str = "error",
        min_observed: float = 0.5,
        absent: str = "error",
        multi_class: str = "ovr",
        rest: str = "pooled",
        group_agg: str = "mean",
        cv: Any = 5,
        scoring: Any = "balanced_accuracy",
        random_state: int = 0,
        executor: Any = None,
        progress: Any = False,
        memory_limit: int | str | None = None,
    ) -> None:
        self.k = k
        self.k_range = k_range
        self.disjoint = disjoint
        self.features = features
        self.pairs = pairs
        self.pivot = pivot
        self.missing = missing
        self.min_observed = min_observed
        self.absent = absent
        self.multi_class = multi_class
        self.rest = rest
        self.group_agg = group_agg
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state
        self.executor = executor
        self.progress = progress
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Choose the pairs; samples (m, n), labels (m,), and the group of each sample as for `KTopScoringPairs`.

        Raises
        ------
        InputError, SampleError
            As for `KTopScoringPairs`.
        """
        self._choose(self._train(X, y, groups))
        self._keep(_first_of_each(self.pairs_))
        return self

    def fit_transform(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Choose the pairs, and transform the training samples."""
        return self.fit(X, y, groups).transform(X)

    def _keep(self, chosen: Indices) -> None:
        """Keep some of the pairs, in their order."""
        for name in ("pairs_", "pair_names_", "scores_", "secondary_", "problem_"):
            setattr(self, name, getattr(self, name)[chosen])
        self.n_pairs_ = len(chosen)

    def _more_feature_names(self, input_features: Any) -> Array:
        """Return the names of the input features; refuse names that the training samples do not have."""
        check_is_fitted(self)
        return with_own_errors(_check_feature_names_in, self, input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _first_of_each(pairs: Indices) -> Indices:
    """Positions of the first occurrence of each pair of features, in whatever direction."""
    _, first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    return np.sort(first)


@saveable
class TopPairs(PairTransformer):
    """Transform samples to the signs of the best k pairs: +1 where x_first < x_second, −1 where greater, 0 where equal.

    v_q(x) = sgn(x_second − x_first) of the pairs of `KTopScoringPairs`, as features of any other learner. The inner
    product of two transformed samples is `PairAgreement` of these pairs, times k.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 6 ("top features selected by TSP").

    Parameters
    ----------
    k, k_range
        Number of pairs of each binary problem, as for `KTopScoringPairs`.
    disjoint
        Whether no feature may be in two pairs. By default they may overlap, as in the paper.
    features, pairs, pivot, missing, min_observed, absent, multi_class, rest, group_agg
        As for `KTopScoringPairs`. Pairs whose features are absent or missing give 0.
    cv, scoring, random_state, executor, progress, memory_limit
        As for `KTopScoringPairs`.

    Attributes
    ----------
    pairs_, pair_names_, scores_, secondary_, problem_, classes_, class_count_
        As for `KTopScoringPairs`. Of a pair that several binary problems chose, the first occurrence.
    n_pairs_
        Number of pairs.
    n_features_in_, feature_names_in_
        As for `KTopScoringPairs`.

    See Also
    --------
    TopPairGenes : The genes of these pairs.
    KTopScoringPairs : The votes alone, as a classifier.

    Examples
    --------
    >>> X, y = [[1, 2, 9], [2, 3, 1], [5, 4, 2], [6, 5, 7]], ["a", "a", "b", "b"]
    >>> top = TopPairs(k=1).fit(X, y)
    >>> top.transform(X).ravel().tolist(), top.get_feature_names_out().tolist()
    ([-1, -1, 1, 1], ['x1<x0'])
    """

    def transform(self, X: Any) -> Array:
        """Sign of each pair in each sample, (samples, pairs) int8.

        Raises
        ------
        InputError
            If X lacks features of pairs, unless ``absent="abstain"``, or has values missing, unless ``missing="skip"``.
        """
        check_is_fitted(self)
        source, places = self._placed(X)
        blocks = votes_of(source, places[self.pairs_], source.features, skip=self.missing == "skip")
        return np.concatenate([votes.signs for _, votes in blocks])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns, such as ``"ESR1<TBC1D9"``."""
        names = self._more_feature_names(input_features)
        return np.array([f"{names[a]}<{names[b]}" for a, b in self.pairs_], dtype=object)


@saveable
class TopPairGenes(PairTransformer):
    """Select the features of the best k pairs, in the order of their first appearance.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 6: the input of SVMlinearTOP and
    SVMpolyTOP.

    Parameters
    ----------
    k, k_range
        Number of pairs of each binary problem, as for `KTopScoringPairs`.
    disjoint
        Whether no feature may be in two pairs. By default they may overlap, as in the paper.
    features, pairs, pivot, missing, min_observed, absent, multi_class, rest, group_agg
        As for `KTopScoringPairs`. With ``missing="skip"`` missing values stay, and with ``absent="abstain"`` absent
        features are missing values.
    cv, scoring, random_state, executor, progress, memory_limit
        As for `KTopScoringPairs`.

    Attributes
    ----------
    genes_
        Positions of the selected features.
    pairs_, pair_names_, scores_, secondary_, problem_, classes_, class_count_, n_pairs_
        As for `TopPairs`.
    n_features_in_, feature_names_in_
        As for `KTopScoringPairs`.

    See Also
    --------
    TopPairs : The signs of the pairs.

    Examples
    --------
    >>> X, y = [[1, 2, 9], [2, 3, 1], [5, 4, 2], [6, 5, 7]], ["a", "a", "b", "b"]
    >>> genes = TopPairGenes(k=1).fit(X, y)
    >>> genes.get_support(indices=True), genes.transform(X[:1])
    (array([1, 0]), array([[2., 1.]]))
    """

    genes_: Indices

    def fit(self, X: Any, y: Any, groups: Any = None) -> TopPairGenes:
        """Choose the pairs; samples (m, n), labels (m,), and the group of each sample as for `KTopScoringPairs`.

        Raises
        ------
        InputError, SampleError
            As for `KTopScoringPairs`.
        """
        super().fit(X, y, groups)
        self.genes_ = unique_features(self.pairs_)
        return self

    def transform(self, X: Any) -> Floats:
        """Values of the selected features, (samples, features).

        Raises
        ------
        InputError
            If X lacks selected features, unless ``absent="abstain"``, or values are missing, unless ``missing="skip"``.
        """
        check_is_fitted(self)
        source, places = self._placed(X)
        columns = places[self.genes_]
        there = np.flatnonzero(columns >= 0)
        out = np.full((len(source), len(columns)), np.nan)
        for rows in row_blocks(len(source), source.shape[1]):
            values = source.read(rows)[:, columns[there]]
            if self.missing == "error":
                refuse_missing(np.isnan(values), rows.start, source.ids, columns[there], source.features)
            out[rows, there] = values
        return out

    def get_support(self, indices: bool = False) -> Array:
        """Whether each input feature is selected, (n,); with ``indices`` the positions of the selected ones."""
        check_is_fitted(self)
        return self.genes_ if indices else np.isin(np.arange(self.n_features_in_), self.genes_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the selected features."""
        return self._more_feature_names(input_features)[self.genes_]


def unique_features(pairs: Indices) -> Indices:
    """The features of pairs in the order of their first appearance.

    Examples
    --------
    >>> unique_features(np.array([[3, 1], [1, 5], [3, 0]]))
    array([3, 1, 5, 0])
    """
    return np.array(list(dict.fromkeys(pairs.ravel().tolist())), dtype=np.intp)
