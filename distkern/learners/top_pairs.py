"""Top-scoring pairs: classification by the order of two features, for one pair or several that vote."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import warn_of_constant
from distkern.io.source import Source
from distkern.learners.base import delete_attribute
from distkern.learners.multiclass import BinaryProblems, sigmoid
from distkern.learners.pair_estimator import PairEstimator
from distkern.learners.pair_rules_file import rule_lines
from distkern.learners.pair_selection import Training
from distkern.learners.pair_votes import Decider, agreeing, decisions, refuse_undecided, votes_of
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelClassifier


@saveable
class KTopScoringPairs(KernelClassifier, PairEstimator):
    r"""Classify a sample by votes of k pairs of features: each votes by the order of its two values in the sample.

    .. math::

        s_{ij} = \tfrac12 \Bigl[\frac{L_1 - G_1}{n_1} - \frac{L_0 - G_0}{n_0}\Bigr], \qquad
        f(x) = \frac{\sum_q v_q(x)}{\sum_q |v_q(x)|}, \qquad
        v_q(x) = \operatorname{sgn}(x_{\mathrm{second}} - x_{\mathrm{first}})

    L_c and G_c are the numbers of samples of class c with x_i < x_j and with x_i > x_j, and n_c is the number of
    samples that observe both. The k pairs with the largest abs(s) are chosen, and written so that first < second speaks
    for class 1. Where scores are equal, the larger secondary score decides, abs(mean₁(R_i − R_j) − mean₀(R_i − R_j))
    with R the mid-rank within a sample, then the order of the features. No value of two samples is ever compared, so
    that no sample needs to be normalised.

    Source: Geman, d'Avignon, Naiman and Winslow, "Classifying gene expression profiles from pairwise mRNA comparisons",
    SAGMB 3 (2004); Tan, Naiman, Xu, Winslow and Geman, "Simple decision rules for classifying human cancers from gene
    expression profiles", Bioinformatics 21 (2005). A tie counts half here, where the published score abs(L_1/n_1 −
    L_0/n_0) depends on the order of the two features; without ties the two are equal.

    Parameters
    ----------
    k
        Number of pairs; ``"variance"``: the k of ``k_range`` with the largest abs(mean₁ κ − mean₀ κ) / sqrt(var₁ κ +
        var₀ κ) on the training samples, κ(x) the number of pairs that vote for class 1; ``"cv"``, or a list of numbers:
        the k with the best score in inner folds. Each fold chooses its pairs again. Ties go to the smallest k.
        An even number of votes may draw.
    k_range
        Least and largest number of pairs to choose from; as far as there are pairs.
    disjoint
        Whether no feature may be in two pairs: the pairs are taken greedily, the best first.
    features
        None: all features compete. A number n, or ``"wilcoxon:n"``: the n/2 features that are largest and the n/2 that
        are smallest in class 1, by the rank sum of their ranks within samples; chosen on training samples only, also
        within folds. A list: these features, by name or position.
    pairs
        Pairs of features, (q, 2), by name or position, of which alone the best are chosen.
    pivot
        Features of which at least one must be in each pair.
    missing
        ``"error"`` refuses missing values. ``"skip"``: a score counts the samples that observe both features, and a
        pair abstains where a value is missing.
    min_observed
        Least fraction of the samples of either class that must observe both features of a pair.
    absent
        Features of pairs that new samples lack: ``"error"`` refuses them by name, ``"abstain"`` lets their pairs
        abstain.
    min_pairs
        Least fraction of the pairs whose two values must be there in a new sample; below it the decision is NaN, and
        `predict` refuses the sample by name.
    multi_class
        Three or more classes: ``"ovr"``, a set of pairs for each class against the rest, or ``"ovo"``, one for each
        pair of classes.
    rest
        The rest of a class: ``"pooled"``, its samples count alike; ``"mean"``, its classes count alike.
    group_agg
        With groups, s is the mean of the groups' (``"mean"``), or the one closest to 0 (``"min"``), 0 if signs differ.
    weights
        Votes count ``"none"``: 1 each; ``"score"``: as much as the score of their pair.
    cv, scoring, random_state
        Inner folds for ``k="cv"`` and for calibration: their number, a splitter or splits that hold each sample out
        once; the score to maximise, ``"balanced_accuracy"``, ``"accuracy"`` or a function of true and predicted labels;
        and the seed that shuffles stratified folds.
    calibrate
        Calibrate `predict_proba` by Platt's sigmoid of the decisions for held-out samples. By default, probabilities
        are the shares of the votes.
    executor
        What counts pairs, as for `compute_gram`: None for the Dask client of this process, else threads.
    progress
        Whether to show a bar; None for one on terminals only.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default what the executor allows.

    Attributes
    ----------
    classes_, class_count_
        The labels, sorted, and the number of training samples of each.
    pairs_
        Positions of the two features of each pair, (pairs, 2): first < second speaks for class 1, which is
        ``classes_[1]`` of two classes, the class itself against the rest, or the first class of a pair of classes. The
        pairs of one binary problem follow those of the problem before it, the best first.
    pair_names_
        Names of the features of each pair, (pairs, 2); their positions if they have no names.
    scores_, secondary_
        abs(s), from 0 to 1, and the secondary score, in ranks, (pairs,).
    problem_, n_pairs_
        Number of the binary problem of each pair, (pairs,), and the number of pairs: one number for two classes, else
        one for each problem.
    counts_, observed_
        Numbers of training samples of each class with first < second, and with first > second, (pairs, classes, 2), and
        with both values, (pairs, classes).
    k_path_
        Numbers k, and the t or the mean score of each, (numbers, 2); a list of such arrays for the problems of several
        classes with ``k="variance"``. Only if k was chosen.
    probA_, probB_
        A and B of the probability 1 / (1 + exp(A f + B)) of each binary problem; only with ``calibrate``.
    n_features_in_, feature_names_in_
        Number of features of the training samples, and their names if they have names.

    See Also
    --------
    TopScoringPair : One pair.
    AllPairsMajorityVote : All pairs.
    TopPairs : The votes as features of another learner.
    pair_scores : The table of scores.
    PairAgreement : The kernel of such votes.

    Notes
    -----
    All pairs of features are counted in one pass for all folds and binary problems, with integers: the result does not
    depend on workers. O(m n²) for m samples of n features; ``features=`` is the remedy where that is too much. New
    samples may have their features in any order, and others besides. A draw of two classes, f = 0, goes to the larger
    class. Of several classes with the same f, the one wins whose agreeing pairs have the larger sum of scores.

    Examples
    --------
    >>> import pandas as pd
    >>> cohort = pd.DataFrame(
    ...     {"ESR1": [9, 8, 9, 2, 1, 3], "TBC1D9": [7, 7, 6, 5, 6, 6], "ACTB": [8, 6, 7, 7, 8, 5]}
    ... )
    >>> model = TopScoringPair().fit(cohort, ["no", "no", "no", "relapse", "relapse", "relapse"])
    >>> print(model.rules())
    ESR1 < TBC1D9 → relapse   score 1.0000   no 0 of 3, relapse 3 of 3
    >>> model.predict(pd.DataFrame({"TBC1D9": [70.0], "ESR1": [12.0]}))
    array(['relapse'], dtype='<U7')
    """

    counts_: Array
    observed_: Array
    class_count_: Indices

    def __init__(
        self,
        k: Any = "variance",
        *,
        k_range: tuple[int, int] = (2, 10),
        disjoint: bool = True,
        features: Any = None,
        pairs: Any = None,
        pivot: Any = None,
        missing: str = "error",
        min_observed: float = 0.5,
        absent: str = "error",
        min_pairs: float = 0.5,
        multi_class: str = "ovr",
        rest: str = "pooled",
        group_agg: str = "mean",
        weights: str = "none",
        cv: Any = 5,
        scoring: Any = "balanced_accuracy",
        random_state: int = 0,
        calibrate: bool = False,
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
        self.min_pairs = min_pairs
        self.multi_class = multi_class
        self.rest = rest
        self.group_agg = group_agg
        self.weights = weights
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state
        self.calibrate = calibrate
        self.executor = executor
        self.progress = progress
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, groups: Any = None) -> KTopScoringPairs:
        """Choose the pairs.

        Parameters
        ----------
        X
            Samples (m, n), in any container or file that `compute_gram` takes.
        y
            Labels, (m,).
        groups
            Group of each sample, such as the platform that measured it, (m,): scores compare samples of one group only.

        Raises
        ------
        InputError
            If there is one class, fewer than two features, two features of one name, fewer pairs than k, or an unknown
            name; if all samples are constant, or no group holds two classes.
        SampleError
            If a value is missing and ``missing="error"``; the sample and the feature are named.
        MemoryLimitError
            If the ranks of the samples, or the work on a tile, do not fit in memory.

        Warns
        -----
        UserWarning
            If a class has one sample, some samples are constant, or some groups hold one class only.
        """
        training = self._train(X, y, groups)
        found = self._choose(training)
        self._count(training)
        for name in ("probA_", "probB_"):
            delete_attribute(self, name)
        if found is not None:
            self._calibrate(training, found.f[:, 0])
        return self

    def votes(self, X: Any) -> Array:
        """Vote of each pair in each sample, (samples, pairs) int8: +1 for class 1, −1 against it, 0 if it abstains.

        Raises
        ------
        InputError
            If X lacks features of pairs, unless ``absent="abstain"``, or has values missing, unless ``missing="skip"``.
        """
        return np.concatenate([votes.signs for _, votes in self._voted(X)[1]])

    def decision_function(self, X: Any) -> Floats:
        """Decision values of the samples.

        Returns
        -------
        ndarray
            Two classes: f(x) from −1 to 1, (samples,), positive for ``classes_[1]``; 0 is a draw. Otherwise a value for
            each class, (samples, classes): f of the class against the rest, where the winner among equal ones is raised
            by the last bit; or, one-vs-one, the number of problems won plus c / (3 (abs(c) + 1)) with c the sum of f.
            NaN where too few pairs have both values (``min_pairs``).

        Raises
        ------
        InputError
            As for `votes`.
        """
        f, support, _ = self._decided(X)
        return self._decider().by_class(f, support)

    def predict(self, X: Any) -> Array:
        """Label of each sample, (samples,).

        Raises
        ------
        InputError
            As for `votes`; and if too few pairs have both values in a sample, which is named.
        """
        f, support, source = self._decided(X)
        refuse_undecided(f, source.ids, self.min_pairs)
        return self.classes_[self._decider().decide(f, support)]

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (samples, classes), in the order of ``classes_``; NaN where f is.

        By default the share of the votes, (1 + f)/2 for two classes. With ``calibrate``, Platt's sigmoid of f, whose
        most probable class may differ from `predict`.

        Raises
        ------
        InputError
            As for `votes`.
        """
        f, support, _ = self._decided(X)
        if hasattr(self, "probA_"):
            return self._binary().probabilities(f, self.probA_, self.probB_)
        return self._decider().probabilities(f, support)

    def rules(self) -> str:
        """Write the pairs as people read them, one line each: the rule, its score, and how many samples agree."""
        check_is_fitted(self)
        return "\n".join(rule_lines(self))

    # Fitting ---------------------------------------------------------------------------------------------------------

    def _count(self, training: Training) -> None:
        """Count the samples of each class that order the chosen pairs either way."""
        counts = np.zeros((len(self.pairs_), len(training.classes), 3), dtype=np.int64)
        members = np.eye(len(training.classes), dtype=np.int64)[training.codes]
        skip = self.missing == "skip"
        for rows, votes in votes_of(training.source, self.pairs_, training.source.features, skip=skip):
            for column, which in enumerate((votes.signs > 0, votes.signs < 0, votes.observed)):
                counts[:, :, column] += which.T.astype(np.int64) @ members[rows]
        self.counts_, self.observed_ = counts[:, :, :2].copy(), counts[:, :, 2].copy()

    def _calibrate(self, training: Training, f: Floats) -> None:
        """Fit the sigmoid of each problem to its decisions for held-out samples."""
        fitted = []
        for problem, (positive, _) in enumerate(training.binary.pairs):
            own = training.binary.members(problem, training.codes)
            fitted.append(sigmoid(f[own, problem], training.codes[own] == positive, np.ones(len(own))))
        self.probA_, self.probB_ = np.array(fitted).T

    # Deciding --------------------------------------------------------------------------------------------------------

    def _binary(self) -> BinaryProblems:
        return BinaryProblems(len(self.classes_), self.multi_class == "ovr")

    def _decider(self) -> Decider:
        return Decider(self._binary(), self.class_count_)

    def _voted(self, X: Any) -> tuple[Source, Any]:
        check_is_fitted(self)
        source, places = self._placed(X)
        return source, votes_of(source, places[self.pairs_], source.features, skip=self.missing == "skip")

    def _decided(self, X: Any) -> tuple[Floats, Floats, Source]:
        """Decisions f and the support of each problem, (samples, problems), and the samples."""
        source, blocks = self._voted(X)
        starts = np.searchsorted(self.problem_, np.arange(self.problem_[-1] + 1))
        f, support = np.empty((2, len(source), len(starts)))
        weights = self.scores_ if self.weights == "score" else np.ones(len(self.scores_))
        for rows, votes in blocks:
            warn_of_constant(votes.constant & votes.observed.any(axis=1), source.ids, rows.start)
            f[rows] = decisions(votes, weights, starts, self.min_pairs)
            support[rows] = agreeing(votes, self.scores_, starts)
        return f, support, source

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # a few features have too few pairs to tell three classes apart
        return tags


@saveable
class TopScoringPair(KTopScoringPairs):
    """Classify a sample by the order of the two features that tell the classes apart best: k = 1.

    Source: Geman, d'Avignon, Naiman and Winslow, "Classifying gene expression profiles from pairwise mRNA comparisons",
    SAGMB 3 (2004).

    Parameters
    ----------
    features, pairs, pivot, missing, min_observed, absent, min_pairs, multi_class, rest, group_agg
        As for `KTopScoringPairs`.
    executor, progress, memory_limit
        As for `KTopScoringPairs`.

    Attributes
    ----------
    classes_, class_count_, pairs_, pair_names_, scores_, secondary_, problem_, n_pairs_, counts_, observed_
        As for `KTopScoringPairs`.
    n_features_in_, feature_names_in_
        As for `KTopScoringPairs`.

    See Also
    --------
    KTopScoringPairs : More pairs, that vote.

    Examples
    --------
    >>> model = TopScoringPair().fit([[1, 2, 9], [2, 3, 1], [5, 4, 2], [6, 5, 7]], ["a", "a", "b", "b"])
    >>> model.pairs_, model.predict([[10, 20, 30]])
    (array([[1, 0]]), array(['a'], dtype='<U1'))
    """

    def __init__(
        self,
        *,
        features: Any = None,
        pairs: Any = None,
        pivot: Any = None,
        missing: str = "error",
        min_observed: float = 0.5,
        absent: str = "error",
        min_pairs: float = 0.5,
        multi_class: str = "ovr",
        rest: str = "pooled",
        group_agg: str = "mean",
        executor: Any = None,
        progress: Any = False,
        memory_limit: int | str | None = None,
    ) -> None:
        super().__init__(
            k=1,
            features=features,
            pairs=pairs,
            pivot=pivot,
            missing=missing,
            min_observed=min_observed,
            absent=absent,
            min_pairs=min_pairs,
            multi_class=multi_class,
            rest=rest,
            group_agg=group_agg,
            executor=executor,
            progress=progress,
            memory_limit=memory_limit,
        )
