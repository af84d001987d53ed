"""Supervised quantile normalisation: a linear model of ranks, with the target distribution that suits it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError, SampleError
from distkern.core.parameters import one_of
from distkern.core.sentences import Argument, Parameter
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import name_of, warn_of_constant
from distkern.core.warning import warn
from distkern.io.source import Source
from distkern.kernels.quantile_targets import (
    BY_FORMULA,
    LEARNED,
    TIES,
    Learner,
    checked_target,
    refuse_other_length,
    refuse_unranked,
    target_by_formula,
)
from distkern.learners.base import SampleEstimator, delete_attribute
from distkern.learners.memory import memory_allowed, require_memory, row_blocks
from distkern.learners.quantile import QuantileNormalizer
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelClassifier, KernelRegressor
from distkern.learners.validation import (
    class_weights,
    cohort_names,
    labels_and_weights,
    not_negative,
    positive,
    samples_of,
    targets_and_weights,
    whole,
)
from distkern.solvers.rank_requests import Algorithm, serve
from distkern.solvers.target_gram import weight_step
from distkern.solvers.target_learning import Fitted, Task, WeightStep, alternate
from distkern.solvers.target_losses import Logistic, Loss, Softmax, Squared, SquaredHinge
from distkern.solvers.target_sets import Bounded, Ridge, Smooth, TargetSet, at_radius
from distkern.solvers.target_svd import class_differences, leading_pair
from distkern.solvers.target_trace import relax
from distkern.store.ranks import BLOCK_BYTES, MISSING, RankStore

CONSTRAINTS = ("spav", "bnd", "ridge", "svd", "trace", "fixed")
"""Sets that the target may lie in."""

GAMMA = 0.1
"""Weight of the roughness where none is given."""

LEAST_GAP = 1e-3
"""Least relative gap at which the relaxation ends: each digit more takes ten times the passes."""

COPIES = 48
"""Numbers that an output takes for each feature: the steps that L-BFGS remembers, and the tables and sums of a pass."""

COPIES_OF_OUTPUTS = 8
"""Numbers that an output takes for each sample."""

BLOCKS = 4
"""Blocks of ranks that are read at a time, about."""


class SUQUANEstimator(SampleEstimator):
    """What models with a learned target share."""

    constraint: str
    target: Any
    lam: float
    gamma: float | None
    trace_norm: float | None
    ties: str
    missing: str
    n_iter: int
    tol: float
    max_iter: int
    memory_limit: int | str | None
    target_: Floats
    coef_: Floats
    intercept_: Any
    objective_: Floats
    degenerate_: bool
    singular_values_: Floats
    gap_: float
    n_passes_: int
    n_iter_: int

    @property
    def normalizer_(self) -> QuantileNormalizer:
        """The target as a fitted `QuantileNormalizer`; only if it ascends."""
        check_is_fitted(self)
        if self.target_.ndim != 1 or (np.diff(self.target_) < 0).any():
            raise AttributeError("the target does not ascend, so that no QuantileNormalizer has it")
        normalizer = QuantileNormalizer(self.target_.copy(), self.ties, self.missing)
        normalizer.target_, normalizer.n_features_in_ = self.target_.copy(), self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            normalizer.feature_names_in_ = self.feature_names_in_.copy()
        return normalizer

    # Training --------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        positive(self.lam, "lam")
        self._check_steps()
        if self.gamma is not None:
            not_negative(self.gamma, "gamma")
            if self.constraint != "spav":
                raise InputError(f"gamma is the weight of the roughness of spav: leave it out of {self.constraint}")
        if (self.trace_norm is None) == (self.constraint == "trace"):
            raise InputError(
                "{given} bounds the trace norm, of constraint 'trace' alone: give both, or neither",
                given=Parameter("trace_norm"),
            )
        if self.trace_norm is not None:
            positive(self.trace_norm, "trace_norm")

    def _check_steps(self) -> None:
        """Validate what a search has as well."""
        one_of(self.constraint, "constraint", CONSTRAINTS)
        one_of(self.ties, "ties", TIES)
        one_of(self.missing, "missing", MISSING)
        positive(self.tol, "tol")
        whole(self.max_iter, "max_iter")
        whole(self.n_iter, "n_iter")

    def _store(self, X: Any) -> tuple[RankStore, Source | None]:
        """Rank the training samples, unless they are ranked; set the attributes that describe the features."""
        if isinstance(X, RankStore):
            self.n_features_in_ = X.shape[1]
            self._set_feature_names(X.features)
            return self._as_asked(X), None
        source = self._samples(X, reset=True)
        refuse_unranked(source)
        m, p = source.shape
        require_memory(4 * m * p, self.memory_limit, f"the ranks of {m:,} samples of {p:,} features")
        return self._as_asked(RankStore.of(source, self.missing)), source

    def _as_asked(self, store: RankStore) -> RankStore:
        """A store with the treatment of equal and of missing values that was asked for."""
        gap = store.gap() if self.missing == "error" else None
        if gap is not None:
            raise SampleError(
                "sample {sample} has no value (NaN) for feature {feature}: leave it out, or give {missing}",
                gap[0],
                sample=name_of(gap[0], store.ids),
                feature=name_of(gap[1], store.features),
                missing=Argument("missing", "interpolate"),
            )
        return store.with_ties(self.ties)

    def _learns_target(self) -> bool:
        """Whether the first target is learned from values."""
        return isinstance(self.target, str) and self.target in LEARNED

    def _first_target(self, p: int, source: Source | None) -> Floats:
        """The target as it is given, by formula, or learned; never from labels."""
        if isinstance(self.target, str) and self.target in BY_FORMULA:
            return target_by_formula(self.target, p)
        if not self._learns_target():
            given = checked_target(self.target)
            refuse_other_length(given, p)
            return given
        if source is None:
            raise InputError(
                f"the {self.target} target is made of values, and a store of ranks has none: give numbers, or one of "
                f"{', '.join(BY_FORMULA)}"
            )
        return Learner(self.target, self.missing, limit=memory_allowed(self.memory_limit)).learn(source)

    def _within(self, gamma: float | None) -> TargetSet | None:
        sets: dict[str, TargetSet] = {
            "ridge": Ridge(),
            "bnd": Bounded(),
            "spav": Smooth(GAMMA if gamma is None else float(gamma)),
        }
        return sets.get(self.constraint)

    def _train(self, store: RankStore, source: Source | None, task: Task, gamma: float | None) -> int:
        """Fit, and set the attributes; return the number of passes."""
        p, outputs = store.shape[1], task.Y.shape[1]
        require_memory(outputs * bytes_of_output(*store.shape), self.memory_limit, f"a model of {p:,} features")
        for name in ("singular_values_", "gap_"):
            delete_attribute(self, name)
        if self.constraint == "trace":
            return self._relax(store, task)
        first = None if self.constraint == "svd" else self._first_target(p, source)
        step = weight_step(store, outputs, self._memory(store))
        (fitted,), passes = serve(store, [self._algorithm(task, first, self._within(gamma), step)], outputs)
        self._set_model(fitted)
        return passes

    def _task(self, loss: Loss, Y: Floats, shares: Floats, lam: float) -> Task:
        return Task(loss, Y, shares, float(lam), float(self.tol), int(self.max_iter))

    def _memory(self, store: RankStore) -> int:
        """Bytes that are left beside the ranks."""
        held = store.ranks.nbytes if store.path is None else BLOCKS * BLOCK_BYTES
        return memory_allowed(self.memory_limit) - held

    def _algorithm(
        self, task: Task, first: Floats | None, within: TargetSet | None, step: WeightStep
    ) -> Algorithm[Fitted]:
        if first is None:
            pair = yield from leading_pair(class_differences(task.Y[:, 0], task.shares), self.n_features_in_)
            self.singular_values_ = np.array([pair.first, pair.second])
            return (yield from step(task, pair.v * math.sqrt(self.n_features_in_), None))
        if within is None:
            return (yield from step(task, first, None))
        start = yield from step(task, at_radius(first), None)
        return (yield from alternate(task, within, start, self.n_iter, refit=step))

    def _set_model(self, fitted: Fitted) -> None:
        several = fitted.W.shape[1] > 1
        self.target_, self.objective_ = fitted.f.copy(), np.array(fitted.objective)
        self.coef_ = fitted.W.T.copy() if several else fitted.W[:, 0].copy()
        self.intercept_ = fitted.b.copy() if several else float(fitted.b[0])
        self.n_iter_ = max(1, len(fitted.objective) - 1)
        self.degenerate_ = bool(fitted.degenerate)
        if fitted.degenerate:
            warn("the ranks explain nothing, so that no target was learned: the first one is kept; lower lam or gamma")
        self._warn_unless(fitted.converged)

    def _warn_unless(self, converged: bool) -> None:
        if not converged:
            warn(f"the model has not converged after {self.max_iter:,} iterations: raise max_iter", ConvergenceWarning)

    def _relax(self, store: RankStore, task: Task) -> int:
        p, most = self.n_features_in_, int(self.max_iter)
        tol = max(float(self.tol), LEAST_GAP)
        (found,), passes = serve(store, [relax(task, p, float(self.trace_norm or 0), tol, most)])
        self.coef_, self.target_, self.intercept_ = found.W, found.F, found.b
        self.objective_, self.gap_ = np.array(found.objective), found.gap
        self.n_iter_ = max(1, len(found.objective) - 1)
        self.degenerate_ = found.W.shape[1] == 0
        self._warn_unless(found.converged)
        return passes

    # Prediction ------------------------------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> Floats:
        """Outputs z of each sample, (k, K), each sample alone."""
        check_is_fitted(self)
        if self.constraint == "trace":
            W, F = self.coef_, self.target_
        else:
            W = self.coef_[:, None] if self.coef_.ndim == 1 else self.coef_.T
            F = np.repeat(self.target_[:, None], W.shape[1], axis=1)
        parts = []
        for store in self._ranked(X):
            Z = np.zeros((len(store), W.shape[1]))
            if W.shape[1]:
                store.pass_over(W, F, _kept(Z))
            parts.append(Z.sum(axis=1, keepdims=True) if self.constraint == "trace" else Z)
        return np.concatenate(parts) + self.intercept_

    def _ranked(self, X: Any) -> Iterator[RankStore]:
        if isinstance(X, RankStore):
            known = getattr(self, "feature_names_in_", None)
            if X.shape[1] != self.n_features_in_ or (
                known is not None and X.features is not None and tuple(known) != X.features
            ):
                raise InputError(
                    f"X holds ranks among {X.shape[1]:,} features, which are not the {self.n_features_in_:,} of the "
                    "training samples in their order: rank the samples with these features"
                )
            yield self._as_asked(X)
            return
        source, places = self._found_by_name(X)
        lacking = np.flatnonzero(places < 0)
        if len(lacking):
            names = ", ".join(map(repr, self.feature_names_in_[lacking[:3]].tolist()))
            raise InputError(
                f"X lacks {len(lacking):,} of the {len(places):,} features of the training samples, such as {names}: "
                "ranks among fewer features are others; give all"
            )
        if not np.array_equal(places, np.arange(source.shape[1])):
            source = source.with_features(places)
        for rows in row_blocks(*source.shape):
            ranked = RankStore.of_rows(source, rows, self.missing)
            warn_of_constant(ranked.groups == 1, source.ids, rows.start)
            yield ranked.with_ties(self.ties)


def bytes_of_output(m: int, p: int) -> int:
    """Memory of a model with one output while it is fitted."""
    return 8 * (COPIES * p + COPIES_OF_OUTPUTS * m)


def _kept(Z: Floats) -> Any:
    def respond(rows: slice, found: Floats) -> Floats:
        Z[rows] = found
        return found

    return respond


@dataclass(frozen=True)
class Labels:
    """Classes, the number of each sample's class, and weights of the samples; zero for those that do not count."""

    classes: Array
    codes: Array
    weights: Floats

    @classmethod
    def of(cls, y: Any, sample_weight: Any, samples: Any, m: int) -> Labels:
        """Validate labels and weights of m samples."""
        labels, given, kept = labels_and_weights(y, sample_weight, samples)
        classes, found = np.unique(labels, return_inverse=True)
        codes, weights = np.zeros(m, dtype=np.intp), np.zeros(m)
        codes[kept], weights[kept] = found, given
        return cls(classes, codes, weights)

    def responses(self, loss: str) -> tuple[Loss, Floats]:
        """The loss, and responses (m, K): ±1, or indicators of classes for the logistic loss of several."""
        K = len(self.classes)
        if K == 2:
            chosen: Loss = Logistic() if loss == "logistic" else SquaredHinge()
            return chosen, (2.0 * self.codes - 1.0)[:, None]
        members = np.eye(K)[self.codes]
        return (Softmax(), members) if loss == "logistic" else (SquaredHinge(), 2 * members - 1)

    def shares(self, by_class: Floats, rows: Indices | None = None) -> Floats:
        """Weights of the samples, or of some of them, times those of their classes, (m,), with a sum of 1."""
        shares = self.weights * by_class[self.codes]
        if rows is not None:
            shares[np.setdiff1d(np.arange(len(shares)), rows)] = 0.0
        total = float(shares.sum())
        if not 0 < total < np.inf:
            raise InputError("the weights of the samples, times those of the classes, are beyond what float64 holds")
        return shares / total

    def by_class(self, class_weight: Any, rows: Indices | None = None) -> Floats:
        """Weight of each class; ``"balanced"`` counts the samples of nonzero weight, or those among some of them."""
        kept = np.flatnonzero(self.weights > 0) if rows is None else rows[self.weights[rows] > 0]
        return class_weights(class_weight, self.classes, self.classes[self.codes[kept]])


def gives_probabilities(model: Any) -> bool:
    """Whether the loss is that of probabilities."""
    return bool(model.loss == "logistic")


class SUQUANLabelled(KernelClassifier, SUQUANEstimator):
    """What classifiers with a learned target share."""

    loss: str
    class_weight: Any
    classes_: Array
    class_weight_: Floats

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn's blobs of two features have two orders only
        return tags

    def _labelled(self, X: Any, store: RankStore, y: Any, sample_weight: Any) -> tuple[Labels, Loss, Floats]:
        """Validate labels; return them, the loss and the responses."""
        one_of(self.loss, "loss", ("logistic", "squared_hinge"))
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: give a label for every sample")
        names = cohort_names(store.ids, len(store)) if isinstance(X, RankStore) else samples_of(X)
        labelled = Labels.of(y, sample_weight, names, len(store))
        if len(labelled.classes) > 2 and self.constraint in ("svd", "trace"):
            raise InputError(
                f"{self.constraint} tells two classes apart, and there are {len(labelled.classes)}: use another "
                "constraint, or OneVsRestClassifier of scikit-learn"
            )
        self.classes_ = labelled.classes
        self.class_weight_ = labelled.by_class(self.class_weight)
        return labelled, *labelled.responses(self.loss)

    def decision_function(self, X: Any) -> Floats:
        """Output z of each sample, (k,), positive for ``classes_[1]``; or of each class, (k, classes)."""
        Z = self._outputs(X)
        return Z[:, 0] if len(self.classes_) == 2 else Z

    def predict(self, X: Any) -> Array:
        """Label of each sample, (k,)."""
        return predicted(self._outputs(X), self.classes_)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (k, classes); with the logistic loss."""
        return probabilities(self._outputs(X))


def predicted(Z: Floats, classes: Array) -> Array:
    """Labels of samples with outputs (k, K)."""
    return classes[(Z[:, 0] > 0).astype(int) if len(classes) == 2 else Z.argmax(axis=1)]


def probabilities(Z: Floats) -> Floats:
    """Probabilities of classes of samples with outputs (k, K), of the logistic loss."""
    from scipy.special import expit, softmax

    found = softmax(Z, axis=1) if Z.shape[1] > 1 else np.column_stack([expit(-Z[:, 0]), expit(Z[:, 0])])
    return np.asarray(found, dtype=np.float64)


@saveable
class SUQUANClassifier(SUQUANLabelled):
    r"""Supervised quantile normalisation (SUQUAN): a linear classifier and the target distribution that suits it.

    .. math::

        \min_{W, b, f \in F}\ \frac{1}{m} \sum_i \ell\left(W^\top \Phi_f(x_i) + b,\ y_i\right) + \lambda \lVert W
        \rVert^2 + \frac{\gamma}{2} \sum_r (f_{r+1} - f_r)^2, \qquad \Phi_f(x)_j = f[\mathrm{rank}(x)_j]

    Only the ranks of the values within each sample count. A new sample is classified alone, without the cohort. The
    objective is not convex: the target that is found depends on the one to start from.

    Source: Vert's slides on supervised quantile normalisation (SUQUAN), Algorithms 1 and 2, with [Π_x]_jr = 1 where
    feature j has rank r (the slide prints the transpose).

    Parameters
    ----------
    constraint
        F, with Σ f = 0 and (1/p) Σ f² ≤ 1 where f is learned. ``"bnd"``: f ascends. ``"spav"``: f ascends and is
        smooth, by γ, which is 0 elsewhere. ``"ridge"``: nothing more. ``"svd"``: f is the leading right singular vector
        of the difference of the classes' mean rank matrices (two classes). ``"trace"``: a convex relaxation, a sum of
        models with a bounded trace norm (two classes). ``"fixed"``: f is ``target`` as it is; this is the linear model
        on the output of `QuantileNormalizer`.
    target
        f to start from, or to keep: as for `QuantileNormalizer`. Learned from the values alone, never from labels.
    lam
        λ > 0. With ``"fixed"``, scikit-learn's C is 1/(2 m λ). Not used by ``"trace"``.
    gamma
        γ ≥ 0, of ``"spav"`` alone; 0.1 if None.
    trace_norm
        Largest trace norm, of ``"trace"`` alone: √p ‖w‖ for a single model.
    n_iter
        Number of times that f, and W after it, are optimised.
    loss
        ``"logistic"`` (of several classes: softmax with a common f) or ``"squared_hinge"`` (of several classes: each
        against the rest, with a common f).
    class_weight
        Factors of the sample weights: a dict from label to factor, ``"balanced"``: m / (classes · samples of the
        class), or None: 1.
    ties
        What equal values have. ``"mean"``: the mean of f over their ranks. ``"mid"``: f at their middle rank, linear
        between two.
    missing
        ``"error"``: NaN is refused. ``"interpolate"``: the q observed values of a sample take f interpolated to q
        points, and a missing value has the mean of f. That is 0 for a learned f, so that it contributes nothing.
    tol
        Norm of the gradient by W at the end, relative to that of the constant model. ``"trace"``: the gap relative to
        the loss of the constant model, 0.001 at least.
    max_iter
        Most iterations of each step; of ``"trace"``, most models.
    memory_limit
        Memory that ranks in memory may take, in bytes or text; by default half of the available memory.

    Attributes
    ----------
    target_
        f, (p,), at the norm √p where it is learned (less if γ weighs more). ``"trace"``: a column for each model.
    coef_
        w, (p,), or (classes, p). ``"trace"``: (p, models).
    intercept_
        b, a number, or (classes,).
    classes_, class_weight_
        The labels, and the factor of each.
    objective_
        The objective at the first target and after each iteration; it never increases. ``"svd"`` and ``"fixed"``: one
        number.
    degenerate_
        Whether the ranks explain nothing, so that the first target was kept.
    singular_values_
        The two largest, of ``"svd"``: if they are close, f is arbitrary.
    gap_
        Bound of the distance from the minimum, of ``"trace"``.
    n_iter_, n_passes_
        Iterations (``"trace"``: models), 1 at least, and passes over the ranks.
    normalizer_
        The target as a `QuantileNormalizer`, where it ascends.
    n_features_in_, feature_names_in_
        p, and names of the features, if the samples have them.

    Raises
    ------
    SampleError
        If a value is infinite, or missing with ``missing="error"``, or a sample has none; it is named.
    InputError
        If there is one class, or fewer than two features, a parameter is wrong, or new samples lack features.

    Warns
    -----
    UserWarning
        If the model is degenerate.
    ConvergenceWarning
        If it has not converged.

    See Also
    --------
    SUQUANClassifierCV : Chooses λ and γ.
    SUQUANRegressor : A quantity instead of classes.
    QuantileNormalizer : A target that knows no labels.

    Notes
    -----
    Samples are rows, in any container or file that `compute_gram` takes, or a `RankStore`, which is sorted once and may
    be larger than memory. Sample weights are scaled to a sum of 1; a target that is learned from values does not count
    them. O(m p) a pass.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, w = rng.normal(size=(200, 20)), rng.normal(size=20)
    >>> y = np.where(X @ w > 0, "ill", "well")
    >>> model = SUQUANClassifier("bnd", target="cauchy").fit(X[:150], y[:150])
    >>> bool(np.corrcoef(model.target_, np.sort(X, axis=1).mean(axis=0))[0, 1] > 0.95)
    True
    >>> model.predict(X[150:151]).tolist() == y[150:151].tolist()
    True
    """

    def __init__(
        self,
        constraint: str = "spav",
        target: Any = "median",
        lam: float = 0.01,
        gamma: float | None = None,
        *,
        trace_norm: float | None = None,
        n_iter: int = 1,
        loss: str = "logistic",
        class_weight: dict[Any, float] | str | None = None,
        ties: str = "mean",
        missing: str = "error",
        tol: float = 1e-6,
        max_iter: int = 500,
        memory_limit: int | str | None = None,
    ) -> None:
        self.constraint = constraint
        self.target = target
        self.lam = lam
        self.gamma = gamma
        self.trace_norm = trace_norm
        self.n_iter = n_iter
        self.loss = loss
        self.class_weight = class_weight
        self.ties = ties
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SUQUANClassifier:
        """Fit to samples (m, p), or their ranks, labels (m,) and weights (m,).

        Raises
        ------
        SampleError, InputError
            See the class.
        MemoryLimitError
            If the ranks do not fit in memory: a `RankStore` in a folder does not need to.
        """
        self._check()
        store, source = self._store(X)
        labelled, loss, Y = self._labelled(X, store, y, sample_weight)
        task = self._task(loss, Y, labelled.shares(self.class_weight_), self.lam)
        self.n_passes_ = self._train(store, source, task, self.gamma)
        return self


@saveable
class SUQUANRegressor(KernelRegressor, SUQUANEstimator):
    r"""Supervised quantile normalisation (SUQUAN) for a quantity: least squares, with the target that suits it.

    .. math::

        \min_{w, b, f \in F}\ \frac{1}{m} \sum_i \left(w^\top \Phi_f(x_i) + b - y_i\right)^2 + \lambda \lVert w
        \rVert^2 + \frac{\gamma}{2} \sum_r (f_{r+1} - f_r)^2, \qquad \Phi_f(x)_j = f[\mathrm{rank}(x)_j]

    Source: Vert's slides on supervised quantile normalisation (SUQUAN), whose objective takes any loss.

    Parameters
    ----------
    constraint, target, lam, gamma, trace_norm, n_iter, ties, missing, tol, max_iter, memory_limit
        As for `SUQUANClassifier`; ``"svd"`` needs classes. With ``"fixed"``, this is scikit-learn's ``Ridge`` with
        alpha = m λ on the output of `QuantileNormalizer`.

    Attributes
    ----------
    target_, coef_, intercept_, objective_, degenerate_, gap_, n_iter_, n_passes_, normalizer_, n_features_in_,
    feature_names_in_
        As for `SUQUANClassifier`.

    Raises
    ------
    SampleError, InputError
        As for `SUQUANClassifier`, with a target y that is missing or infinite in the place of labels.

    See Also
    --------
    SUQUANClassifier : Classes instead of a quantity.
    QuantileNormalizer : A target that knows no labels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = X @ rng.normal(size=20)
    >>> bool(SUQUANRegressor("bnd", "exponential").fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.7)
    True
    """

    def __init__(
        self,
        constraint: str = "spav",
        target: Any = "median",
        lam: float = 0.01,
        gamma: float | None = None,
        *,
        trace_norm: float | None = None,
        n_iter: int = 1,
        ties: str = "mean",
        missing: str = "error",
        tol: float = 1e-6,
        max_iter: int = 500,
        memory_limit: int | str | None = None,
    ) -> None:
        self.constraint = constraint
        self.target = target
        self.lam = lam
        self.gamma = gamma
        self.trace_norm = trace_norm
        self.n_iter = n_iter
        self.ties = ties
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SUQUANRegressor:
        """Fit to samples (m, p), or their ranks, numbers (m,) and weights (m,).

        Raises
        ------
        SampleError, InputError
            See the class.
        MemoryLimitError
            If the ranks do not fit in memory: a `RankStore` in a folder does not need to.
        """
        self._check()
        if self.constraint == "svd":
            raise InputError("svd needs two classes: use another constraint")
        store, source = self._store(X)
        names = cohort_names(store.ids, len(store)) if isinstance(X, RankStore) else samples_of(X)
        numbers, weights, kept = targets_and_weights(y, sample_weight, names)
        if numbers.ndim > 1:
            raise InputError(f"y has {numbers.shape[1]} columns: fit a model for each")
        Y, shares = np.zeros((len(store), 1)), np.zeros(len(store))
        Y[kept, 0], shares[kept] = numbers, weights / weights.sum()
        self.n_passes_ = self._train(store, source, self._task(Squared(), Y, shares, self.lam), self.gamma)
        return self

    def predict(self, X: Any) -> Floats:
        """Output z of each sample, (k,)."""
        return self._outputs(X)[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scikit-learn's blobs of two features have two orders only
        return tags
