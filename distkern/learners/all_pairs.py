"""The majority vote of all pairs of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.parameters import flag, one_of
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import counted
from distkern.core.validation import are_constant, warn_of_constant
from distkern.engine.progress import progress_listener
from distkern.io.source import Source
from distkern.kernels.base import check_source
from distkern.kernels.kendall import Kendall
from distkern.learners.base import KernelEstimator, delete_attribute
from distkern.learners.memory import row_blocks
from distkern.learners.multiclass import BinaryProblems
from distkern.learners.pair_estimator import compared_samples
from distkern.learners.pair_votes import SHOWN, Decider, refuse_missing
from distkern.learners.probabilities import HeldOutProbabilities
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelClassifier
from distkern.learners.validation import fraction, labels_and_weights, samples_of
from distkern.operators.base import BaseGram
from distkern.pairs.codes import sign_codes
from distkern.pairs.contrasts import Cells
from distkern.pairs.signs import SignPlanes, signs_of_pairs

ZEROS = ("abstain", "paper")


DIGITS = 12
"""Digits of a weighted vote, which is at most 1: equal votes of two classes differ by rounding beyond them."""


@saveable
class AllPairsMajorityVote(HeldOutProbabilities, KernelClassifier, KernelEstimator):
    r"""Classifier by the majority vote of all pairs of features.

    .. math::

        f(x) = \frac{\sum_{i<j} \operatorname{sgn}(s_{ij}) \operatorname{sgn}(x_j - x_i)}
                    {\sum_{i<j} |\operatorname{sgn}(s_{ij}) \operatorname{sgn}(x_j - x_i)|},
        \qquad
        s_{ij} = \tfrac12 \Bigl( \frac{L_1 - G_1}{n_1} - \frac{L_0 - G_0}{n_0} \Bigr)

    where L_c and G_c are the numbers of training samples of class c with x_i < x_j and with x_i > x_j. Class 1 is
    predicted if f > 0, class 0 if f < 0, and the larger class if f = 0. Signs are found exactly, and ties vote for no
    class. Jiao and Vert, "The Kendall and Mallows kernels for permutations", IEEE TPAMI 40 (2018), section 6.

    With ``weighted`` each vote counts as much as its score:

    .. math::

        f(x) = \frac{2}{p(p-1)} \sum_{i<j} s_{ij} \operatorname{sgn}(x_j - x_i)
             = \tfrac12 \bigl( \operatorname{mean}_{C_1} \tau_a(x, \cdot)
               - \operatorname{mean}_{C_0} \tau_a(x, \cdot) \bigr)

    which needs no pair: it is half the difference of the mean values of Kendall's kernel with the two classes.

    Parameters
    ----------
    weighted
        Whether a vote is weighted by its score.
    zero
        ``"abstain"``: pairs with a score of 0 do not vote. ``"paper"``: they vote for class 1 where x_j < x_i, as the
        authors' code does, else for class 0; a tie x_i = x_j counts as "not less"; and the last pair does not vote if
        the number of pairs is even. On cohorts with many such pairs they outvote all others, whatever the sample.
    kernel
        With ``weighted``: None for Kendall's tau-a of the samples; ``"precomputed"`` if X contains kernel values, a
        Gram matrix or an array; or another kernel of samples, whose mean values are then compared.
    missing
        ``"error"`` refuses missing values. ``"skip"``: a pair counts the training samples that observe both features,
        and does not vote where one is missing.
    min_observed
        Least fraction of the training samples of either class that must observe a pair that votes.
    probability
        Calibrate probabilities for `predict_proba`, by Platt's sigmoid of the votes that five folds hold out.
    executor, progress
        As for `compute_gram`; the pairs are counted in tiles.

    Attributes
    ----------
    classes_, class_count_
        The labels, sorted, and the number of training samples of each.
    signs_
        Two planes of bits for each binary problem, uint64 (problems, 2, words): the pairs with a score above 0, and
        below. Only without ``weighted``.
    coef_
        Coefficients of the training samples in the mean kernel values, (m, problems). Only with ``weighted``.
    probA_, probB_
        A and B of the probability 1 / (1 + exp(A f + B)) of each binary problem; only with ``probability``.
    n_features_in_, feature_names_in_
        Number of features of the training samples, and their names if they have names.

    See Also
    --------
    KTopScoringPairs : The best pairs only.
    KernelSVC : Learns a weight for every pair, on Kendall's kernel.

    Notes
    -----
    Several classes: each is compared with the rest, and the class with the largest f is predicted. Without ``weighted``
    the rest are all other samples; with it, the mean over the other classes, so that the largest mean kernel value
    decides. Memory p²/4 bytes for each problem: 100 MB for 20,000 features. Prediction is one pass over these bits for
    each sample. Features are found by name, in any order.

    Examples
    --------
    >>> X, y = [[1, 2, 3], [1, 3, 2], [3, 2, 1], [2, 3, 1]], ["up", "up", "down", "down"]
    >>> model = AllPairsMajorityVote().fit(X, y)
    >>> model.predict([[10, 20, 30], [9, 1, 0]]), model.decision_function([[10, 20, 30]])
    (array(['up', 'down'], dtype='<U4'), array([1.]))
    """

    classes_: Array
    class_count_: Indices

    def __init__(
        self,
        weighted: bool = False,
        zero: str = "abstain",
        *,
        kernel: Any = None,
        missing: str = "error",
        min_observed: float = 0.5,
        probability: bool = False,
        executor: Any = None,
        progress: Any = False,
    ) -> None:
        self.weighted = weighted
        self.zero = zero
        self.kernel = kernel
        self.missing = missing
        self.min_observed = min_observed
        self.probability = probability
        self.executor = executor
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "skip" and not self.weighted
        tags.classifier_tags.poor_score = True  # a few features have too few pairs to tell three classes apart
        return tags

    def fit(self, X: Any, y: Any) -> AllPairsMajorityVote:
        """Find the sign of the score of every pair; with ``weighted``, keep the samples.

        Parameters
        ----------
        X
            Samples (m, p), in any container that `compute_gram` takes; or kernel values (m, m) if the kernel is
            precomputed.
        y
            Labels, (m,).

        Raises
        ------
        InputError
            If there is one class or one feature, or a parameter is unknown.
        SampleError
            If a value is missing and ``missing="error"``; the sample and the feature are named.
        MemoryLimitError
            If the signs do not fit in memory.
        """
        one_of(self.zero, "zero", ZEROS)
        flag(self.weighted, "weighted"), flag(self.probability, "probability")
        fraction(self.min_observed, "min_observed")
        if not self.weighted and self.kernel is not None:
            raise InputError("votes that are not weighted take no kernel: leave kernel= out, or set weighted=True")
        if self.zero == "paper" and (self.weighted or self.missing == "skip"):
            raise InputError(
                "zero='paper' is the published vote, without weights and for complete samples: give only one of them"
            )
        for name in ("signs_", "coef_", "kernel_", "prepared_", "probA_", "probB_"):
            delete_attribute(self, name)
        source = compared_samples(self, X) if self._takes_samples() else None
        gram = None if source is not None else self._training_gram(X)
        labels, _, _ = labels_and_weights(y, None, samples_of(X) if gram is None else gram)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.class_count_ = np.bincount(codes)
        if self.weighted:
            self._prepare(source)
            self.coef_ = self._mean_coefficients(codes)
        else:
            assert source is not None
            self._find_signs(source, codes)
        if self.probability:
            model = clone(self).set_params(probability=False)
            self._calibrate(model, lambda rows, columns: _part(source, gram, rows, columns), codes)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Decision values of the samples.

        Returns
        -------
        ndarray
            Two classes: f(x) from −1 to 1, (samples,), positive for ``classes_[1]``; 0 is a draw. Otherwise f of each
            class against the rest, (samples, classes).

        Raises
        ------
        InputError
            If X lacks features of the training samples.
        SampleError
            If a value is missing, unless ``missing="skip"``.
        """
        f = self._f(X)
        return f[:, 0] if len(self.classes_) == 2 else f

    def predict(self, X: Any) -> Array:
        """Label of each sample, (samples,).

        Raises
        ------
        InputError
            As for `decision_function`.
        """
        f = self._f(X)
        return self.classes_[Decider(self._binary(), self.class_count_).decide(f, np.zeros_like(f))]

    def _binary(self) -> BinaryProblems:
        return BinaryProblems(len(self.classes_), one_vs_rest=True)

    def _f(self, X: Any) -> Floats:
        """Decisions of the binary problems, (samples, problems)."""
        check_is_fitted(self)
        if not self.weighted:
            return self._voted(self._placed(X))
        f = self._expansion(self._placed(X) if self._takes_samples() else X, self.coef_)
        return np.round(f, DIGITS)

    # All votes alike -------------------------------------------------------------------------------------------------

    def _find_signs(self, source: Source, codes: Indices) -> None:
        cells = Cells.of(codes)
        contrasts = [
            cells.contrast(positive, None if negative is None else [negative])
            for positive, negative in self._binary().pairs
        ]
        planes = signs_of_pairs(
            sign_codes(source, cells, missing=self.missing),  # type: ignore[arg-type]
            contrasts,
            min_observed=self.min_observed,
            executor=self.executor,
            listener=progress_listener(self.progress),
        )
        self.signs_ = np.stack([[plane.positive, plane.negative] for plane in planes])

    def _voted(self, source: Source) -> Floats:
        f = np.empty((len(source), len(self.signs_)))
        planes = [SignPlanes(self.n_features_in_, *signs) for signs in self.signs_]
        for rows in row_blocks(len(source), source.shape[1]):
            values = source.read(rows)
            if self.missing != "skip":
                every = np.arange(source.shape[1])
                refuse_missing(np.isnan(values), rows.start, source.ids, every, source.features)
            warn_of_constant(are_constant(values), source.ids, rows.start)
            for number, plane in enumerate(planes):
                votes = plane.votes(values, published=self.zero == "paper")
                cast = votes.sum(axis=1)
                f[rows, number] = np.divide(votes[:, 1] - votes[:, 0], cast, out=np.zeros(len(cast)), where=cast > 0)
        return f

    # Votes weighted by their scores ----------------------------------------------------------------------------------

    def _takes_samples(self) -> bool:
        return self.kernel is None or super()._takes_samples()

    def _prepare(self, source: Source | None) -> None:
        """Prepare the training samples; of a matrix of kernel values nothing is read."""
        if source is not None:
            kernel = Kendall(ties="zero") if self.kernel is None else self.kernel
            self.kernel_ = kernel.resolve(source, 0)
            self.prepared_ = self.kernel_.prepare(check_source(self.kernel_, source))

    def _mean_coefficients(self, codes: Indices) -> Floats:
        """Coefficients of ½ (mean of the class − mean of the others); each of the others counts alike."""
        means = np.eye(len(self.classes_))[codes] / self.class_count_
        if len(self.classes_) == 2:
            return (means[:, 1:] - means[:, :1]) / 2
        return (means - (means.sum(axis=1, keepdims=True) - means) / (len(self.classes_) - 1)) / 2

    def _placed(self, X: Any) -> Source:
        """View new samples with the features of the training samples, found by name."""
        source, places = self._found_by_name(X)
        if (places < 0).any():
            lacking = self.feature_names_in_[places < 0].tolist()
            named = ", ".join(map(repr, lacking[:SHOWN])) + (", …" if len(lacking) > SHOWN else "")
            raise InputError(f"X lacks {counted(len(lacking), 'feature')}, which all pairs compare ({named}): add them")
        same = len(places) == source.shape[1] and (places == np.arange(len(places))).all()
        return source if same else source.with_features(places)


def _part(source: Source | None, gram: BaseGram | None, rows: Indices, columns: Indices) -> Any:
    """Kernel values between rows and columns, or the samples of the rows."""
    if gram is not None:
        return gram[np.ix_(rows, columns)]
    assert source is not None
    return source.part(rows)
