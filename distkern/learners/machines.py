"""The machines of a fitted model: f(x) = Σ_s a_s κ(x_s, x) + b, one for each class, component or target.

κ are the values that the learner takes: those of a kernel k, or of k after a `KernelStandardizer`. In feature space,
with k(x, y) = ⟨φ(x), φ(y)⟩, both are inner products of ψ(x) = (φ(x) − μ) / ν(x): μ is the mean of the training samples,
or 0, and ν(x) is the norm of φ(x) − μ, or 1. So f(x) = ⟨w, ψ(x)⟩ + b with w = Σ_s c_s φ(x_s). Without a mean, c_s =
a_s / ν_s; with one, c_s = a_s / ν_s − mean_t(a_t / ν_t), so that every training sample has a coefficient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names
from distkern.io.source import Source
from distkern.kernels.base import Kernel, Prepared, finite_tile, prepare_source
from distkern.kernels.incomplete import Incomplete
from distkern.learners.decomposition import KernelPCA
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.logistic import KernelLogistic
from distkern.learners.memory import require_memory, row_blocks
from distkern.learners.newton import SurvivalLearner
from distkern.learners.predictor import CohortPredictor, fitted_part
from distkern.learners.ranking import MLSRRanker, PairRanker
from distkern.learners.ridge import KernelRidge
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.learners.svr import KernelSVR
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram, CenteredGram, View
from distkern.operators.lowrank import LowRankGram
from distkern.pairs.embeddings import Embedding, embed, embed_incomplete

READING_BYTES = 10
"""Bytes that each value of the samples of a stored matrix takes while they are read."""

LEARNERS = (
    "KernelSVC, KernelSVR, KernelFisherDiscriminant, KernelLogistic, KernelRidge, KernelPCA, KernelCox, SurvivalSVM, "
    "or a ranker"
)


@dataclass(frozen=True)
class Machines:
    """Machines f(x) = Σ_s a_s κ(x_s, x) + b of one learner.

    Parameters
    ----------
    names
        Name of each machine.
    coefficients
        a, (samples, machines), of all training samples or of those with a coefficient.
    intercepts
        b, (machines,).
    positions
        Positions of these samples among the training samples; None for all.
    """

    names: tuple[str, ...]
    coefficients: Floats
    intercepts: Floats
    positions: Array | None = None


@singledispatch
def machines_of(learner: Any) -> Machines:
    """Coefficients, intercepts and names of the machines of a fitted learner.

    Two classes have one machine, "b against a", positive for class b. One-vs-one has a machine for each pair of
    classes, positive for the first; one-vs-rest, logistic regression and Fisher's discriminant of several classes have
    one for each class. Targets and components have one each, and survival learners the risk. The intercept of a centred
    component is its value at φ = 0.

    Raises
    ------
    InputTypeError
        If the learner has no such machines.

    Examples
    --------
    >>> model = KernelSVC().fit(np.eye(2), ["a", "b"])
    >>> machines_of(model).names, machines_of(model).coefficients.ravel()
    (('b against a',), array([-1.,  1.]))
    """
    raise InputTypeError(
        f"{type(learner).__name__} has no decision function that is linear in feature space: explain {LEARNERS}, alone "
        "or after a KernelStandardizer in a pipeline"
    )


@machines_of.register
def _(learner: KernelSVC) -> Machines:
    words = [str(label) for label in learner.classes_.tolist()]
    names = tuple(
        f"{words[one]} against {'the rest' if other is None else words[other]}"
        for one, other in learner._binary().pairs
    )
    return Machines(names, learner._support_coefficients(), np.asarray(learner.intercept_), learner.support_)


@machines_of.register
def _(learner: KernelSVR) -> Machines:
    return Machines(("f",), learner.dual_coef_.T, np.asarray(learner.intercept_), learner.support_)


@machines_of.register
def _(learner: KernelFisherDiscriminant | KernelLogistic) -> Machines:
    words = [str(label) for label in learner.classes_.tolist()]
    names = (f"{words[1]} against {words[0]}",) if len(words) == 2 else tuple(words)
    coefficients = learner.dual_coef_.reshape(len(learner.dual_coef_), -1)
    return Machines(names, coefficients, np.atleast_1d(learner.intercept_))


@machines_of.register
def _(learner: KernelRidge) -> Machines:
    coefficients = learner.dual_coef_.reshape(len(learner.dual_coef_), -1)
    targets = coefficients.shape[1]
    names = ("f",) if learner.dual_coef_.ndim == 1 else tuple(f"target {k}" for k in range(targets))
    return Machines(names, coefficients, np.zeros(targets))


@machines_of.register
def _(learner: KernelPCA) -> Machines:
    return Machines(tuple(map(str, learner.get_feature_names_out())), *learner._expanded())


@machines_of.register
def _(learner: PairRanker) -> Machines:
    return Machines(("score",), learner.dual_coef_[:, None], np.zeros(1))


@machines_of.register
def _(learner: SurvivalLearner) -> Machines:
    return Machines(("risk",), learner.dual_coef_[:, None], np.zeros(1))


@machines_of.register
def _(learner: MLSRRanker) -> Machines:
    if learner._takes_samples():
        return Machines(("score",), learner.dual_coef_[:, None], np.zeros(1))
    if learner.n_kernels_ > 1:
        raise InputError(
            f"the model is a sum of functions of {learner.n_kernels_} kernels, each with a feature space of its own: "
            "explain a ranker of one kernel"
        )
    return Machines(("score",), learner.kernel_coef_.T, np.zeros(1))


# A whole model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decided:
    """New samples, and what the machines say of them.

    Parameters
    ----------
    embedded
        Function that returns φ of the samples from one position to another.
    values
        f(x), (samples, machines).
    norms
        ν(x), (samples,).
    """

    embedded: Callable[[int, int], Embedding]
    values: Floats
    norms: Floats


@dataclass(frozen=True)
class _New:
    """New samples: their kernel values with the training samples and k(x, x), and their φ, of some at a time."""

    against: Callable[[slice], tuple[Floats, Floats]]
    embedded: Callable[[int, int], Embedding]


@dataclass(frozen=True)
class FeatureSpaceModel:
    """A fitted model as machines in the feature space of its kernel.

    Parameters
    ----------
    kernel
        Kernel with all data-dependent parameters fixed.
    samples
        The training samples as the kernel prepared them, or those with a coefficient.
    machines
        The machines; their coefficients are those of ``samples``.
    standardizer
        The step that centred and scaled the kernel values, or None.
    features, dropped
        Names of the features that the kernel compares, and positions of features that were left out before.
    """

    kernel: Kernel
    samples: Prepared
    machines: Machines
    standardizer: KernelStandardizer | None
    features: Names
    dropped: tuple[int, ...] = ()

    @property
    def is_centred(self) -> bool:
        """Whether a mean is subtracted in feature space."""
        return self.standardizer is not None and self.standardizer.center

    @property
    def coefficients(self) -> Floats:
        """The coefficients c of the samples, (samples, machines): w = Σ_s c_s φ(x_s)."""
        scaled = self.machines.coefficients / self._norms[:, None]
        return scaled - scaled.mean(axis=0) if self.is_centred else scaled

    @property
    def _norms(self) -> Floats:
        """ν of the training samples."""
        own = self.standardizer
        if own is None or not own.unit_norm:
            return np.ones(len(self.samples))
        if not own.center:
            return np.sqrt(own.diagonal_)
        return np.sqrt(own.diagonal_ - 2 * own.means_ + own.grand_mean_)

    def decided(self, source: Source) -> Decided:
        """Prepare new samples, which have the features of the model in its order, and compute f and ν of each.

        Raises
        ------
        SampleError
            If the kernel refuses a sample; the message names it.
        InputError
            If a sample has norm zero after centring, and is scaled to norm 1.
        """
        parts = self._incomplete(source) if source.interleaving else self._complete(source)
        ids = tuple(map(str, range(len(source)))) if source.ids is None else source.ids
        values, norms = np.empty((len(source), len(self.machines.names))), np.ones(len(source))
        for rows in row_blocks(len(source), len(self.samples)):
            view = self._view(*parts.against(rows), ids[rows])
            values[rows] = view.matmat(self.machines.coefficients) + self.machines.intercepts
            if self.standardizer is not None and self.standardizer.unit_norm:
                norms[rows] = view.row_norms  # type: ignore[attr-defined]
        return Decided(parts.embedded, values, norms)

    def _complete(self, source: Source) -> _New:
        prepared = prepare_source(self.kernel, source, like=self.samples)
        ids = source.ids

        def against(rows: slice) -> tuple[Floats, Floats]:
            part = prepared.part(rows.start, rows.stop)
            values = finite_tile(self.kernel, part, self.samples, None if ids is None else ids[rows])
            return values, self.kernel.diagonal(part)

        return _New(against, lambda start, stop: embed(self.kernel, prepared.part(start, stop)))

    def _incomplete(self, source: Source) -> _New:
        def part(start: int, stop: int) -> tuple[Floats, Names]:
            return source.read(slice(start, stop)), None if source.ids is None else source.ids[start:stop]

        def against(rows: slice) -> tuple[Floats, Floats]:
            X, ids = part(rows.start, rows.stop)
            return Incomplete(self.kernel).against(X, self.samples, ids)

        return _New(against, lambda start, stop: embed_incomplete(self.kernel, *part(start, stop)))

    def _view(self, values: Floats, squares: Floats, ids: tuple[str, ...]) -> BaseGram:
        """Values between new samples and the training samples, as the learner takes them."""
        view: BaseGram = ArrayGram(values, row_diag=squares, col_diag=self.kernel.diagonal(self.samples), row_ids=ids)
        own = self.standardizer
        if own is not None and own.center:
            means = view.matmat(np.full(view.shape[1], 1 / view.shape[1]))
            view = CenteredGram(view, means, own.means_, own.grand_mean_)
        return view.unit_norm() if own is not None and own.unit_norm else view


def in_feature_space(model: Any, gram: Any = None, memory_limit: int | str | None = None) -> FeatureSpaceModel:
    """View a fitted model as machines in the feature space of its kernel.

    Parameters
    ----------
    model
        A learner, a pipeline of a `KernelStandardizer` and a learner, a finished search for one, or a
        `CohortPredictor`.
    gram
        The matrix that the model was fitted on, if it was fitted on one and is no `CohortPredictor`.
    memory_limit
        Memory that the samples of a matrix may take; by default half of the available memory.

    Raises
    ------
    InputError, InputTypeError
        If the model has other steps, or no machines; if it was fitted on kernel values and there is no matrix that
        knows the samples; or the matrix is another one.
    NotFittedError
        If the model is not fitted.
    MemoryLimitError
        If the samples of the matrix do not fit in memory.
    """
    if isinstance(model, CohortPredictor):
        model, gram = model.model, model.gram if gram is None else gram
    if not hasattr(model, "fit"):
        raise InputTypeError(f"explain takes a fitted model, not {model!r:.100}: give {LEARNERS}")
    check_is_fitted(model)
    *before, learner = _steps(model)
    if len(before) > 1 or not all(isinstance(step, KernelStandardizer) for step in before):
        steps = " and ".join(type(step).__name__ for step in before)
        raise InputError(
            f"explain takes a learner alone, or after one KernelStandardizer; there is {steps} before "
            f"{type(learner).__name__}"
        )
    machines = machines_of(learner)
    standardizer = before[0] if before else None
    first = before[0] if before else learner
    if first._takes_samples():
        if gram is not None:
            raise InputError("the model was fitted on samples, which it knows: leave the matrix out")
        kernel, samples, names = first.kernel_, first.prepared_, getattr(first, "feature_names_in_", None)
        known = FeatureSpaceModel(kernel, samples, machines, standardizer, None if names is None else tuple(names))
        whole = learner is not first  # the prepared samples of a learner itself are those with a coefficient
    else:
        known, whole = _on_matrix(model, gram, machines, standardizer, memory_limit), True
    return _aligned(known) if whole else known


def _steps(model: Any) -> Iterator[Any]:
    """The estimators of a model, in their order."""
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if step is not None and step != "passthrough":
                yield from _steps(step)
    elif (inner := fitted_part(model)) is not None:
        yield from _steps(inner)
    else:
        yield model


def _on_matrix(
    model: Any, gram: Any, machines: Machines, standardizer: KernelStandardizer | None, memory_limit: Any
) -> FeatureSpaceModel:
    """Machines of a model that was fitted on a matrix, with the samples of its columns."""
    if gram is None:
        raise InputError(
            "the model was fitted on kernel values, which do not tell the samples: give the matrix that it was fitted "
            "on, as in explain(model, gram)"
        )
    if isinstance(gram, View):
        raise InputError(
            "explain takes the matrix itself, not a centred or scaled view: fit a pipeline of a KernelStandardizer and "
            "the learner on the matrix"
        )
    columns = CohortPredictor(model, gram).gram
    if not hasattr(columns, "prepared_columns"):
        raise InputTypeError(f"explain takes a Gram matrix that knows its samples, not {type(gram).__name__}")
    if isinstance(columns, LowRankGram):
        raise InputError(
            "the matrix approximates the kernel by landmarks, and its values are no sums over pairs of features: fit "
            "the model on a whole matrix, such as one of fewer samples"
        )
    if columns.n_features is not None:
        m, n = columns.shape[1], int(columns.n_features)
        require_memory(READING_BYTES * m * n, memory_limit, f"reading {m:,} samples of {n:,} features")
    samples = columns.prepared_columns()  # refuses a matrix of values only
    return FeatureSpaceModel(columns.kernel, samples, machines, standardizer, columns.features, tuple(columns.dropped))


def _aligned(known: FeatureSpaceModel) -> FeatureSpaceModel:
    """Machines with a coefficient for each sample, 0 for those without one."""
    own = known.machines
    if own.positions is None:
        return known
    coefficients = np.zeros((len(known.samples), len(own.names)))
    coefficients[own.positions] = own.coefficients
    return replace(known, machines=replace(own, coefficients=coefficients, positions=None))
