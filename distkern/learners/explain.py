"""The pairs of features, and the features, that decide in a model on a Kendall kernel: exactly, for each machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distkern.compiled.pair_numbers import fill_contributions
from distkern.core.errors import MissingExtraError
from distkern.core.parameters import one_of
from distkern.core.typing import Floats, Indices
from distkern.core.units import parse_bytes
from distkern.engine.progress import Late, progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.kernels.base import Kernel
from distkern.learners.machines import Decided, FeatureSpaceModel, in_feature_space
from distkern.learners.memory import require_memory
from distkern.learners.predictor import as_samples
from distkern.learners.validation import whole
from distkern.pairs.embeddings import Embedding, embed
from distkern.pairs.weights import PairTotals, TileNumbers, exact_sums, pass_over_pairs, union

BAR_AFTER = 10.0
"""Seconds before a pass shows its progress."""

AT_A_TIME = 4
"""New samples whose entries for a tile of pairs are in memory at a time."""


def explain(
    model: Any,
    gram: Any = None,
    *,
    k: int = 100,
    executor: Any = "threads",
    memory_limit: int | str | None = None,
    progress: Any = None,
) -> Explanation:
    r"""Explain a fitted model by the weights of all pairs of features, exactly.

    .. math::

        f(x) = \sum_{i<j} w_{ij}\, \frac{\varphi_{ij}(x) - \mu_{ij}}{\nu(x)} + b, \qquad
        w_{ij} = \sum_s c_s\, \varphi_{ij}(x_s)

    where φ_ij(x) is the entry of the pair in feature space: sgn(x_i − x_j) for ``Kendall(ties="zero")``, whose divisor
    C(n, 2) is in w; sgn(x_i − x_j) / sqrt(t_x) for tau-b; the expected sign for `PartialKendall` and `SmoothedKendall`;
    a weighted sign for `WeightedKendall`. Without a `KernelStandardizer` μ = 0, ν = 1, and c_s are the coefficients of
    the training samples (y_s α_s in a support vector machine). With one, μ is the mean of the training samples and ν(x)
    the norm of φ(x) − μ, and every training sample has a coefficient, through μ.

    The weights follow from the formula of the kernel in Jiao and Vert, *The Kendall and Mallows kernels for
    permutations*, equation 3 (section 6 with ties): it is the inner product of vectors of signs.

    Parameters
    ----------
    model
        Fitted `KernelSVC`, `KernelSVR`, `KernelFisherDiscriminant`, `KernelLogistic`, `KernelRidge`, `KernelPCA`,
        `KernelCox`, `SurvivalSVM`, or a ranker; alone, after a `KernelStandardizer` in a pipeline, in a finished
        search, or as a `CohortPredictor`, such as `load_model` returns. Several classes, targets or components have a
        machine each.
    gram
        The matrix that the model was fitted on, from `compute_gram`, if it was fitted on one. It knows the samples.
    k
        Number of the heaviest pairs listed for each machine: by absolute weight, then by the positions of the features.
    executor
        Who works: ``"threads"``, ``"serial"``, a number of threads, a Dask client, or an `Executor`. Workers in other
        processes are sent the samples with each task.
    memory_limit
        Memory that the work may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.
    progress
        ``None``: a bar on a terminal or in a notebook, if the pass takes longer than ten seconds. ``True``, ``False``,
        or a function of `Progress` events.

    Returns
    -------
    Explanation
        ``.pairs`` and ``.features`` are tables; ``.contributions(new)`` explains the decision values of new samples.

    Raises
    ------
    InputError
        If the kernel is no sum over pairs of features, such as Mallows'; the model was fitted on kernel values and no
        matrix is given, or another one; or there is another step in the pipeline.
    InputTypeError
        If the model is no such learner.
    NotFittedError
        If the model is not fitted.
    MemoryLimitError
        If the samples do not fit in memory.

    See Also
    --------
    KTopScoringPairs : A model that is a few pairs.
    distkern.plot.plot_pairs, distkern.plot.plot_features : The figures.

    Notes
    -----
    One pass over all pairs, O(n² m / 8) lookups and additions for Kendall's kernels, and O(n² m) for the others; O(n m)
    memory. Weights are sums in float64, with an error of at most m ε Σ|c_s|; pairs whose weights differ by less may be
    listed in the wrong order at the end of the list. The weights listed are rounded once. Where kernel values were
    stored in single precision, decision values have that precision, and the contributions add up to it.

    Examples
    --------
    >>> from distkern.kernels.kendall import Kendall
    >>> from distkern.learners.svm import KernelSVC
    >>> import pandas as pd
    >>> X = pd.DataFrame({"TP53": [1, 2, 1, 5], "MYC": [3, 4, 0, 1], "KRAS": [2, 3, 2, 3]}, dtype=float)
    >>> model = KernelSVC(C=10.0, kernel=Kendall(), tol=1e-9).fit(X, ["no", "no", "yes", "yes"])
    >>> explained = explain(model, k=2)
    >>> explained.machines, explained.pairs.round(3)
    (('yes against no',),   first second  weight
    0  TP53    MYC     0.5
    1   MYC   KRAS    -0.5)
    >>> explained.features.round(3)
      feature  weight  importance
    0    TP53     0.5       0.500
    1     MYC    -1.0       0.707
    2    KRAS     0.5       0.500
    """
    k = whole(k, "k")
    known = in_feature_space(model, gram, memory_limit)
    machines = len(known.machines.names)
    n, needed = _size(known, len(known.samples))
    needed += 64 * machines * (n + k)
    require_memory(needed, memory_limit, f"the weights of all pairs of {n:,} features")
    space = _PairSpace.of(known)
    work = _Pass(n, machines, k, len(space.training), machines + 3, -1.0)
    found = work.run(space.training.sums(space.weights), executor, progress, memory_limit, needed)
    first, second = np.divmod(union(found.best), n)
    weights = exact_sums(space.training, space.weights, first, second)
    order = _by_size(weights)
    return Explanation(
        known.machines.names,
        known.machines.intercepts,
        tuple(map(str, range(n))) if known.features is None else tuple(known.features),
        first[order],
        second[order],
        weights[order],
        found.sums.T,
        np.sqrt(found.squares.T),
        known,
        space,
    )


@dataclass(frozen=True, repr=False)
class Explanation:
    """The pairs of features and the features that decide in the machines of a model; made by `explain`.

    Parameters
    ----------
    machines
        Name of each machine, such as "yes against no": its decision value is positive for "yes".
    intercepts
        b of each machine, (machines,).
    names
        Names of the features, (n,); their positions as text if they have no names.
    first, second
        Positions of the two features of the heaviest pairs, (pairs,).
    weights
        w_ij of these pairs in each machine, (pairs, machines). A positive weight speaks for the positive class where
        the first feature is above the second.
    feature_weights
        W_i = Σ_j w_ij, (n, machines): positive if a high rank of the feature speaks for the positive class. They sum to
        0, since only the order counts.
    importances
        sqrt(Σ_j w_ij²), (n, machines): what the pairs of the feature weigh, also where opposite weights cancel in W_i.

    See Also
    --------
    explain : Makes it.
    """

    machines: tuple[str, ...]
    intercepts: Floats
    names: tuple[str, ...]
    first: Indices
    second: Indices
    weights: Floats
    feature_weights: Floats
    importances: Floats
    _model: FeatureSpaceModel
    _space: _PairSpace

    def __repr__(self) -> str:
        listed = f"{len(self.first):,} of the heaviest pairs"
        return f"<Explanation of {_machines(self.machines)}: {listed} of {len(self.names):,} features, {self.kernel!r}>"

    @property
    def kernel(self) -> Kernel:
        """The kernel of the model, with all data-dependent parameters fixed."""
        return self._model.kernel

    @cached_property
    def pairs(self) -> Any:
        """The heaviest pairs, as a DataFrame: first, second, and the weight in each machine."""
        columns = {"first": _of(self.names, self.first), "second": _of(self.names, self.second)}
        return _table(columns, {"weight": self.weights}, self.machines)

    @cached_property
    def features(self) -> Any:
        """All features in their order, as a DataFrame: feature, and the weight and importance in each machine."""
        numbers = {"weight": self.feature_weights, "importance": self.importances}
        return _table({"feature": list(self.names)}, numbers, self.machines)

    def contributions(
        self,
        new: Any,
        *,
        k: int = 20,
        missing: str = "error",
        executor: Any = "threads",
        memory_limit: int | str | None = None,
        progress: Any = None,
    ) -> Contributions:
        r"""Explain the decision values of new samples by the pairs and the features that moved them.

        .. math::

            c_{ij}(x) = w_{ij}\, \frac{\varphi_{ij}(x) - \mu_{ij}}{\nu(x)}, \qquad c_i(x) = \tfrac12 \sum_j c_{ij}(x)

        The contributions of all pairs and the intercept add up to the decision value, and so do those of all features.

        Parameters
        ----------
        new
            Samples in rows, in any container that `compute_gram` takes. Features are found by name, in any order and
            among others. Without names, the columns must be the features of the model in its order.
        k
            Number of pairs listed for each sample and machine, by absolute contribution.
        missing
            As for `CohortPredictor`. With ``"interleaving"``, φ_ij(x) is the expected sign where feature i or j is not
            observed, and the contributions add up to the decision value of the sample as it is.
        executor, memory_limit, progress
            See `explain`.

        Raises
        ------
        InputError
            If a feature of the model is missing, or there are no names and another number of features.
        SampleError
            If the kernel refuses a sample; the message names it.
        MemoryLimitError
            If the contributions do not fit in memory: give fewer samples at a time.

        Examples
        --------
        >>> from distkern.kernels.kendall import Kendall
        >>> from distkern.learners.ridge import KernelRidge
        >>> model = KernelRidge(kernel=Kendall()).fit(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), [1.0, 0.0])
        >>> found = explain(model).contributions(np.array([[1.0, 3.0, 2.0]]))
        >>> found.pairs
          sample first second  contribution
        0      0     1      2     -0.200000
        1      0     1      0      0.142857
        2      0     2      0      0.142857
        >>> found.scores[["decision", "intercept", "listed pairs"]].round(3)
           decision  intercept  listed pairs
        0     0.086        0.0         0.086
        """
        k, model = whole(k, "k"), self._model
        source = as_samples(new)
        if one_of(missing, "missing", ("error", "interleaving")) == "interleaving":
            source = source.interleaved()
        source = source.like(len(self.names), model.dropped, model.features, "X")
        machines = len(self.machines)
        kinds = len(source) * machines
        n, needed = _size(model, len(model.samples))
        needed += 8 * n * (4 * kinds + 8 * len(source)) + 64 * kinds * k
        require_memory(needed, memory_limit, f"the contributions of {n:,} features to {kinds:,} decision values")
        decided = model.decided(source)
        terms = _Terms.of(self._space, decided)
        work = _Pass(n, kinds, k, len(self._space.training) + kinds, machines + AT_A_TIME + 5, 1.0)
        found = work.run(terms.numbers(), executor, progress, memory_limit, needed)
        best = [found.best[start : start + machines] for start in range(0, kinds, machines)]
        return Contributions(
            self.machines,
            self.intercepts,
            self.names,
            tuple(map(str, range(len(source)))) if source.ids is None else source.ids,
            decided.values,
            tuple(terms.listed(sample, union(own), n) for sample, own in enumerate(best)),
            found.sums.reshape(len(source), machines, n).transpose(0, 2, 1) / 2,
        )


@dataclass(frozen=True)
class SamplePairs:
    """The pairs that moved the decision values of a sample most.

    Parameters
    ----------
    first, second
        Positions of the two features, (pairs,): in the sample, the first is above the second, or they are equal.
    contributions
        c_ij(x) in each machine, (pairs, machines).
    """

    first: Indices
    second: Indices
    contributions: Floats


@dataclass(frozen=True, repr=False)
class Contributions:
    """What pairs of features and features contribute to the decision values of some samples.

    Made by `Explanation.contributions`.

    Parameters
    ----------
    machines, intercepts, names
        As in `Explanation`.
    samples
        Names of the samples; their positions as text if they have no names.
    decisions
        f(x) of each machine, (samples, machines), as the model computes it from kernel values.
    of_pairs
        The pairs of the largest contributions to each sample.
    of_features
        c_i(x), (samples, n, machines).

    See Also
    --------
    Explanation.contributions : Makes it.
    """

    machines: tuple[str, ...]
    intercepts: Floats
    names: tuple[str, ...]
    samples: tuple[str, ...]
    decisions: Floats
    of_pairs: tuple[SamplePairs, ...]
    of_features: Floats

    def __repr__(self) -> str:
        parts = f"{len(self.samples):,} samples, {len(self.names):,} features"
        return f"<Contributions to {_machines(self.machines)}: {parts}>"

    @cached_property
    def pairs(self) -> Any:
        """The pairs that moved each sample most, as a DataFrame: sample, first, second, and the contributions.

        In the sample, the first feature is above the second, or they are equal.
        """
        own = self.of_pairs
        columns = {
            "sample": [name for name, pairs in zip(self.samples, own, strict=True) for _ in pairs.first],
            "first": [name for pairs in own for name in _of(self.names, pairs.first)],
            "second": [name for pairs in own for name in _of(self.names, pairs.second)],
        }
        numbers = np.concatenate([pairs.contributions for pairs in own])
        return _table(columns, {"contribution": numbers}, self.machines)

    @cached_property
    def features(self) -> Any:
        """All features of each sample, as a DataFrame: sample, feature, and the contributions."""
        columns = {
            "sample": np.repeat(np.array(self.samples, dtype=object), len(self.names)),
            "feature": np.tile(np.array(self.names, dtype=object), len(self.samples)),
        }
        numbers = self.of_features.reshape(-1, len(self.machines))
        return _table(columns, {"contribution": numbers}, self.machines)

    @cached_property
    def scores(self) -> Any:
        """Decision values, as a DataFrame: sample, and f(x), b, and the sums of the listed and of all other pairs.

        Of each machine, the decision value is the sum of the other three columns.
        """
        listed = np.stack([pairs.contributions.sum(axis=0) for pairs in self.of_pairs])
        intercepts = np.broadcast_to(self.intercepts, listed.shape)
        numbers = {
            "decision": self.decisions,
            "intercept": intercepts,
            "listed pairs": listed,
            "other pairs": self.of_features.sum(axis=1) - listed,
        }
        return _table({"sample": list(self.samples)}, numbers, self.machines)


# Weights and contributions in pairs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PairSpace:
    """The coefficients of training samples from which w and μ of every pair follow.

    Parameters
    ----------
    training
        Embedding of the training samples with a coefficient.
    weights
        w_ij = Σ_s weights_s e_ij(x_s), (samples, machines).
    mean
        μ_ij = Σ_s mean_s e_ij(x_s), (samples, 1), or (samples, 0) without a mean.
    """

    training: Embedding
    weights: Floats
    mean: Floats

    @classmethod
    def of(cls, model: FeatureSpaceModel) -> _PairSpace:
        coefficients = model.coefficients
        used = np.flatnonzero(coefficients.any(axis=1) | model.is_centred)
        whole = len(used) == len(coefficients)
        training = embed(model.kernel, model.samples if whole else model.samples.take(used))
        # a scale that all samples have belongs to the weights: φ(x) are then the signs themselves
        scales, unit = training.scales[:, None], training.unit
        mean = scales / (unit * max(1, len(used)))
        return cls(training, coefficients[used] * scales * unit, mean if model.is_centred else mean[:, :0])


@dataclass(frozen=True)
class _Terms:
    """The contributions of pairs to the decision values of new samples.

    Parameters
    ----------
    space
        The weights and the mean.
    new
        Embeddings of batches of new samples.
    scales
        g(x) / unit of each new sample: φ_ij(x) = scale · e_ij(x).
    norms
        ν(x) of each new sample.
    """

    space: _PairSpace
    new: tuple[Embedding, ...]
    scales: Floats
    norms: Floats

    @classmethod
    def of(cls, space: _PairSpace, decided: Decided) -> _Terms:
        count = len(decided.values)
        new = tuple(decided.embedded(at, min(at + AT_A_TIME, count)) for at in range(0, count, AT_A_TIME))
        scales = np.concatenate([part.scales for part in new]) / space.training.unit
        return cls(space, new, scales, decided.norms)

    def numbers(self) -> TileNumbers:
        """c_ij of a tile, for each new sample and machine."""
        machines = self.space.weights.shape[1]
        sums = self.space.training.sums(np.hstack([self.space.weights, self.space.mean]))

        def of_tile(rows: slice, cols: slice) -> Iterator[Floats]:
            both = sums(rows, cols)
            weights, mean = both[:machines], both[machines] if len(both) > machines else np.zeros(both.shape[1:])
            sample = 0
            for part in self.new:
                for entries in part.tile(rows, cols):
                    for own in weights:
                        numbers = np.empty(entries.shape)
                        fill_contributions(own, mean, entries, self.scales[sample], self.norms[sample], numbers)
                        yield numbers
                    sample += 1

        return of_tile

    def listed(self, sample: int, codes: Indices, n: int) -> SamplePairs:
        """The contributions of some pairs to one sample, from weights and means that are rounded once."""
        first, second = np.divmod(codes, n)
        both = np.hstack([self.space.weights, self.space.mean])
        exact = exact_sums(self.space.training, both, first, second)
        machines = self.space.weights.shape[1]
        batch, place = divmod(sample, AT_A_TIME)
        entries = self.new[batch].entries(first, second)[place] * self.scales[sample]
        below = entries < 0
        entries = (entries - exact[:, machines:].sum(axis=1)) / self.norms[sample]
        numbers = exact[:, :machines] * entries[:, None]
        order = _by_size(numbers)
        above = np.where(below, second, first)[order], np.where(below, first, second)[order]
        return SamplePairs(*above, numbers[order])


@dataclass(frozen=True)
class _Pass:
    """A pass over the pairs of n features: how many kinds of numbers, best pairs, samples and tiles in memory."""

    n: int
    kinds: int
    k: int
    samples: int
    tiles: int
    turned: float

    def run(self, numbers: TileNumbers, executor: Any, progress: Any, memory_limit: Any, needed: int) -> PairTotals:
        """Pass over the pairs, with the memory that is left beside the bytes that are needed anyway."""
        return pass_over_pairs(
            numbers,
            self.n,
            self.kinds,
            self.k,
            samples=self.samples,
            turned=self.turned,
            executor=resolve_executor(executor),
            listener=Late(progress_listener(progress), BAR_AFTER if progress is None else 0),
            tiles=self.tiles,
            limit=None if memory_limit is None else max(0, parse_bytes(memory_limit) - needed),
        )


def _size(model: FeatureSpaceModel, samples: int) -> tuple[int, int]:
    """Number of features, and bytes that samples take in the pair space; refuses a kernel that has none."""
    one = embed(model.kernel, model.samples.part(0, 1))
    return one.n_features, one.value_bytes * one.n_features * samples


def _by_size(numbers: Floats) -> Indices:
    """Order of pairs (pairs, machines) by their largest number in any machine; equal ones stay in their order."""
    return np.argsort(-np.abs(numbers).max(axis=1, initial=0.0), kind="stable")


def _machines(names: tuple[str, ...]) -> str:
    """Name one machine, or count several."""
    return repr(names[0]) if len(names) == 1 else f"{len(names)} machines"


# Tables ---------------------------------------------------------------------------------------------------------------


def _of(names: Sequence[str], positions: Indices) -> list[str]:
    return [names[position] for position in positions]


def _table(columns: dict[str, Any], numbers: dict[str, Floats], machines: tuple[str, ...]) -> Any:
    """A DataFrame of names, then numbers (rows, machines), in columns named by machine if there are several."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("a table of an explanation", "io") from error
    filled = dict(columns)
    for at, machine in enumerate(machines):
        for kind, values in numbers.items():
            filled[kind if len(machines) == 1 else f"{kind} {machine}"] = values[:, at]
    return pd.DataFrame(filled)
