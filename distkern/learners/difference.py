"""Tests of difference and of dependence on a Gram matrix, by permutations that share one matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist

from distkern.core.alignment import aligned
from distkern.core.containers import as_floats
from distkern.core.errors import InputError
from distkern.core.events import Listener, Progress, silent
from distkern.core.labels import encoded_labels
from distkern.core.parameters import one_of, whole_number
from distkern.core.typing import Array, Floats, Indices
from distkern.core.weights import sample_weights
from distkern.learners.matrices import training_matrix
from distkern.learners.memory import memory_allowed, read_matrix, require_memory
from distkern.learners.validation import samples_of
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.solvers.labelings import every_labeling, number_of_labelings, permuted

TIE = 1e-10
"""Statistics that differ by less than this part of the largest k(x, x) are equal up to rounding."""

FACTOR = 1e-6
"""Part of the trace of the kernel of a covariate that its low-rank factor may leave out."""

MOST_DISTANCES = 2000
"""Distinct covariates from which the median distance is found; of more, as many evenly spaced ones."""

COLUMNS = 4
"""Arrays of a batch of labelings in memory at once: the operand, the product, and what they are made of."""


@dataclass(frozen=True, eq=False)
class DifferenceTest:
    """A statistic of samples and labels, and its values where labels do not belong to samples.

    Parameters
    ----------
    name
        Name of the statistic.
    statistic
        Its value.
    pvalue
        (1 + number of permutations with a statistic at least as high) / (1 + number of permutations); if ``exact``, the
        fraction of all labelings with a statistic at least as high.
    null
        Statistics of the permuted labels, (permutations,); if ``exact``, of all labelings.
    exact
        Whether all distinct labelings were computed.
    settings
        Arguments of the test.
    seconds
        Duration.

    See Also
    --------
    mmd_test, hsic_test, permanova : Make it.
    """

    name: str
    statistic: float
    pvalue: float
    null: Floats
    exact: bool
    settings: dict[str, Any]
    seconds: float

    @property
    def permutations(self) -> int:
        """Number of permutations, or of labelings if the test is exact."""
        return len(self.null)

    def __str__(self) -> str:
        how = f"all {self.permutations:,} labelings" if self.exact else f"{self.permutations:,} permutations"
        return f"{self.name} {self.statistic:.6g}, p = {self.pvalue:.4g} ({how})"


def mmd_test(
    gram: Any,
    groups: Any,
    *,
    permutations: int = 9999,
    strata: Any = None,
    sample_weight: Any = None,
    kernel: Any = "precomputed",
    random_state: int = 0,
    memory_limit: int | str | None = None,
    on_event: Listener = silent,
) -> DifferenceTest:
    r"""Kernel two-sample test: whether two groups of samples come from the same distribution.

    .. math::

        \mathrm{MMD}^2_u = \frac{\sum_{i \ne j \in 1} w_i w_j k_{ij}}{W_1^2 - \sum_1 w_i^2}
        + \frac{\sum_{i \ne j \in 0} w_i w_j k_{ij}}{W_0^2 - \sum_0 w_i^2}
        - \frac{2 \sum_{i \in 1, j \in 0} w_i w_j k_{ij}}{W_1 W_0}

    the unbiased estimate of the squared distance between the means of the groups in feature space, with W_g the sum of
    the weights of group g. It may be negative. The p-value is that of permutations of the groups: exact for samples
    that are exchangeable, whatever the kernel. All permutations are one product with the matrix. If the groups can be
    formed in no more ways than ``permutations``, all of them are computed.

    Source: Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 13 (2012), lemma 6.

    Parameters
    ----------
    gram
        Symmetric Gram matrix or array, (m, m); or samples (m, n) if there is a kernel.
    groups
        Group of each sample, (m,), two kinds. For more groups take `permanova` or `hsic_test`.
    permutations
        Number of permutations; the smallest p-value is 1 / (1 + permutations).
    strata
        Groups are permuted within strata only, such as hospitals, (m,).
    sample_weight
        Weight of each sample, (m,), which stays with the sample. For counts of voters, ``Rankings.expand`` gives each a
        row of its own.
    kernel
        ``"precomputed"``, or the kernel of the samples.
    random_state
        Seed of the permutations.
    memory_limit
        Memory for kernel values and labelings; by default half of the available memory. A larger matrix is read once
        for each batch of permutations.
    on_event
        Called with a `Progress` event after each batch of permutations.

    Raises
    ------
    InputError
        If there are not two groups, a group has one sample only, or each stratum has one group only.
    MemoryLimitError
        If one permutation does not fit in memory.

    See Also
    --------
    permanova : Three groups or more, and strata.
    hsic_test : A covariate instead of groups.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, group = rng.normal(size=(40, 3)), np.array(["control", "patient"])[np.arange(40) % 2]
    >>> X[::2] += 1.0
    >>> found = mmd_test(X @ X.T, group, permutations=999)
    >>> print(found)
    MMD² 4.11815, p = 0.001 (999 permutations)
    """
    names, test = _Test.of(gram, groups, "groups", permutations, strata, sample_weight, kernel, memory_limit)
    if len(names) != 2:
        raise InputError(
            f"MMD compares two groups, and there are {len(names)} ({_some(names)}): take permanova or hsic_test, or "
            "the samples of two groups"
        )
    sizes = np.bincount(test.codes)
    if sizes.min() < 2:
        raise InputError(f"group {names[sizes.argmin()]!r} has one sample: two or more are needed")
    w, K = test.weights, test.matrix
    rows, own = K.matmat(w[:, None])[:, 0], w**2 * np.asarray(K.row_diag())
    total, w_sum, w_squares = float(w @ rows), float(w.sum()), float((w**2).sum())

    def statistics(labelings: Indices) -> Floats:
        first = (labelings == 1) * w[:, None]
        inside = np.einsum("mb,mb->b", first, K.matmat(first))
        with_all, diagonal = first.T @ rows, (labelings == 1).T @ own
        mass, squares = first.sum(axis=0), (first * w[:, None]).sum(axis=0)
        of_first = (inside - diagonal) / (mass**2 - squares)
        rest = total - 2 * with_all + inside - (own.sum() - diagonal)
        of_rest = rest / ((w_sum - mass) ** 2 - (w_squares - squares))
        return of_first + of_rest - 2 * (with_all - inside) / (mass * (w_sum - mass))

    return test.run("MMD²", statistics, 1, {"groups": names}, random_state, on_event)


def permanova(
    gram: Any,
    groups: Any,
    *,
    permutations: int = 9999,
    strata: Any = None,
    sample_weight: Any = None,
    kernel: Any = "precomputed",
    random_state: int = 0,
    memory_limit: int | str | None = None,
    on_event: Listener = silent,
) -> DifferenceTest:
    r"""Permutational analysis of variance: whether groups of samples have the same mean in feature space.

    .. math::

        F = \frac{(S - \sum_g S_g) / (a - 1)}{\sum_g S_g / (m - a)}, \qquad
        S_g = \frac{1}{2 W_g} \sum_{i, j \in g} w_i w_j \|\varphi(x_i) - \varphi(x_j)\|^2

    for a groups of m samples, with S over all samples. Groups of different spread are a difference too.

    Source: Anderson, *A new method for non-parametric multivariate analysis of variance*, Austral Ecology 26 (2001).

    Parameters
    ----------
    gram, permutations, strata, sample_weight, kernel, random_state, memory_limit, on_event
        As for `mmd_test`.
    groups
        Group of each sample, (m,), of two kinds or more.

    Raises
    ------
    InputError
        If there is one group, as many groups as samples, or each stratum has one group only.

    See Also
    --------
    mmd_test : Two groups, and any difference of their distributions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, group = rng.normal(size=(40, 3)), np.array(["a", "b", "c", "d"])[np.arange(40) % 4]
    >>> X[::2] += 1.0
    >>> print(permanova(X @ X.T, group, permutations=999))
    pseudo-F 6.03589, p = 0.002 (999 permutations)
    """
    names, test = _Test.of(gram, groups, "groups", permutations, strata, sample_weight, kernel, memory_limit)
    w, K = test.weights, test.matrix
    count, m = len(names), int(np.count_nonzero(w))
    if count < 2 or m <= count:
        raise InputError(
            f"there {'is 1 group' if count == 1 else f'are {count} groups'} of {m} samples: two groups or more are "
            "needed, and more samples than groups"
        )
    rows, own = K.matmat(w[:, None])[:, 0], w * np.asarray(K.row_diag())
    whole = float(own.sum() - w @ rows / w.sum())

    def statistics(labelings: Indices) -> Floats:
        within = np.full(labelings.shape[1], float(own.sum()))
        for inside, mass in _squares(K, w, rows, labelings, count):
            within -= np.divide(inside, mass, out=np.zeros_like(inside), where=mass > 0)
        return ((whole - within) / (count - 1)) / (within / (m - count))

    return test.run("pseudo-F", statistics, count - 1, {"groups": names}, random_state, on_event)


def hsic_test(
    gram: Any,
    covariate: Any,
    *,
    covariate_kernel: str = "auto",
    permutations: int = 9999,
    strata: Any = None,
    sample_weight: Any = None,
    kernel: Any = "precomputed",
    random_state: int = 0,
    memory_limit: int | str | None = None,
    on_event: Listener = silent,
) -> DifferenceTest:
    r"""Kernel independence test: whether samples depend on a covariate.

    .. math::

        \mathrm{HSIC} = \sum_{ij} p_i p_j \tilde k_{ij}\, \ell_{ij} = \tfrac1{m^2} \operatorname{tr}(H K H L)
        \text{ for equal weights } p_i = \tfrac1m

    where k̃ is the kernel centred on the weighted mean, and ℓ the kernel of the covariate: 1 for the same category and
    0 for another; or exp(−d²/(2σ²)) of the distance d of numbers, with σ the median distance of distinct values. The
    latter is factored to 10⁻⁶ of its trace, into r columns. A permutation takes a product with C − 1 columns for C
    categories, with r for numbers.

    Source: Gretton, Fukumizu, Teo, Song, Schölkopf & Smola, *A kernel statistical test of independence*, NIPS (2007).

    Parameters
    ----------
    gram, permutations, strata, sample_weight, kernel, random_state, memory_limit, on_event
        As for `mmd_test`; the covariates are permuted.
    covariate
        Covariate of each sample, (m,): texts or truth values, which are categories, or numbers; or (m, q) numbers.
    covariate_kernel
        ``"delta"`` for categories, also where they are coded as numbers; ``"gaussian"`` for numbers. ``"auto"``: by the
        type of the covariate.

    Raises
    ------
    InputError
        If the covariate is constant, also within each stratum, or a value is missing.

    See Also
    --------
    mmd_test : Two groups.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(30, 80, size=60)
    >>> X = rng.normal(size=(60, 3)) + age[:, None] / 20
    >>> found = hsic_test(X @ X.T, age, permutations=999)
    >>> found.pvalue, found.settings["covariate_kernel"]
    (0.001, 'gaussian')
    """
    values = np.asarray(covariate)
    one_of(covariate_kernel, "covariate_kernel", ("auto", "delta", "gaussian"))
    numbers = covariate_kernel == "gaussian" or (covariate_kernel == "auto" and _are_numbers(covariate, values))
    labels = _numbered(gram, covariate, values) if numbers else covariate
    names, test = _Test.of(gram, labels, "covariate", permutations, strata, sample_weight, kernel, memory_limit)
    w, K = test.weights / test.weights.sum(), test.matrix
    rows = K.matmat(w[:, None])[:, 0]
    grand = float(w @ rows)
    factor, sigma = None, None
    if numbers:
        distinct = np.unique(np.asarray(covariate, dtype=np.float64).reshape(len(labels), -1), axis=0)
        factor, sigma = _gaussian_factor(distinct[names])  # those of samples of weight 0 are left out

    def of_categories(labelings: Indices) -> Floats:
        total = np.zeros(labelings.shape[1])
        with_all = w * rows
        for code, (inside, mass) in enumerate(_squares(K, w, rows, labelings, len(names))):
            total += inside - 2 * mass * ((labelings == code).T @ with_all) + grand * mass**2
        return total

    def of_numbers(labelings: Indices) -> Floats:
        assert factor is not None
        total = np.zeros(labelings.shape[1])
        for column in factor.T:
            scores = column[labelings] * w[:, None]
            mass = scores.sum(axis=0)
            total += np.einsum("mb,mb->b", scores, K.matmat(scores)) - 2 * mass * (scores.T @ rows) + grand * mass**2
        return total

    settings: dict[str, Any] = {"covariate_kernel": "gaussian" if numbers else "delta"}
    settings |= {"sigma": sigma, "columns": factor.shape[1]} if factor is not None else {"categories": names}
    return test.run("HSIC", of_numbers if numbers else of_categories, 1, settings, random_state, on_event)


# Permutations --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Test:
    """What the tests share: the matrix, the labels, and the labelings that are compared."""

    matrix: BaseGram
    codes: Indices
    blocks: Indices
    weights: Floats
    permutations: int
    memory: int

    @classmethod
    def of(
        cls,
        gram: Any,
        labels: Any,
        what: str,
        permutations: int,
        strata: Any,
        sample_weight: Any,
        kernel: Any,
        memory_limit: int | str | None,
    ) -> tuple[list[Any], _Test]:
        whole_number(permutations, "permutations", 1)
        matrix = training_matrix(gram, kernel, memory_limit)
        weights, kept = sample_weights(sample_weight, matrix)
        names, codes = encoded_labels(labels, matrix, what)
        blocks = np.zeros(len(codes), dtype=np.intp) if strata is None else encoded_labels(strata, matrix, "strata")[1]
        if len(kept) < len(codes):
            matrix, codes, blocks, weights = matrix[np.ix_(kept, kept)], codes[kept], blocks[kept], weights[kept]
            present, codes = np.unique(codes, return_inverse=True)
            names = np.asarray(names)[present]
        if all(len(np.unique(codes[blocks == block])) < 2 for block in np.unique(blocks)):
            where = "" if strata is None else " within each stratum"
            raise InputError(f"{what} has one value only{where}, so that no permutation changes it: give others")
        memory = memory_allowed(memory_limit)
        if not isinstance(matrix, ArrayGram) and matrix.nbytes <= memory // 2:
            matrix = ArrayGram(read_matrix(matrix), row_ids=matrix.row_ids)
        return np.asarray(names).tolist(), cls(matrix, codes, blocks, weights, permutations, memory)

    def run(
        self,
        name: str,
        statistics: Callable[[Indices], Floats],
        columns: int,
        settings: dict[str, Any],
        random_state: int,
        on_event: Listener,
    ) -> DifferenceTest:
        """Compute the statistic of the labels as they are, and of all labelings or permutations, batch by batch."""
        started = time.perf_counter()
        m, possible = len(self.codes), number_of_labelings(self.codes, self.blocks)
        exact = possible <= self.permutations
        count = possible if exact else self.permutations
        column = 8 * COLUMNS * m * columns
        require_memory(column, self.memory, f"one permutation of {m:,} samples")
        resident = self.matrix.nbytes if isinstance(self.matrix, ArrayGram) else 0
        at_once = max(1, min(count, max(0, self.memory - resident) // column, -(-count // 10)))
        observed = float(statistics(self.codes[:, None])[0])
        labelings, null = self._labelings(exact, random_state), np.empty(count)
        for start in range(0, count, at_once):
            part = np.stack([next(labelings) for _ in range(min(at_once, count - start))], axis=1)
            null[start : start + part.shape[1]] = statistics(part)
            on_event(Progress("permute", start + part.shape[1], count))
        bound = observed - TIE * (abs(observed) if name == "pseudo-F" else float(np.abs(self.matrix.row_diag()).max()))
        reached = int((null >= bound).sum())
        about = {"samples": m, "strata": len(np.unique(self.blocks)), "random_state": random_state}
        return DifferenceTest(
            name,
            observed,
            reached / count if exact else (1 + reached) / (1 + count),
            null,
            exact,
            settings | about,
            time.perf_counter() - started,
        )

    def _labelings(self, exact: bool, random_state: int) -> Iterator[Indices]:
        if exact:
            yield from every_labeling(self.codes, self.blocks)
            return
        rng = np.random.default_rng(random_state)
        while True:
            yield permuted(self.codes, self.blocks, rng)


def _squares(
    K: BaseGram, weights: Floats, rows: Floats, labelings: Indices, count: int
) -> Iterator[tuple[Floats, Floats]]:
    """zᵀ K z and Σ z of each class of each labeling, z_i = w_i for its members; ``rows`` is K w."""
    rest, product_of_rest = np.repeat(weights[:, None], labelings.shape[1], axis=1), rows[:, None]
    for code in range(count - 1):
        own = (labelings == code) * weights[:, None]
        product = K.matmat(own)
        yield np.einsum("mb,mb->b", own, product), own.sum(axis=0)
        rest = rest - own
        product_of_rest = product_of_rest - product
    yield np.einsum("mb,mb->b", rest, product_of_rest), rest.sum(axis=0)


# Covariates ----------------------------------------------------------------------------------------------------------


def _are_numbers(covariate: Any, values: Array) -> bool:
    categorical = str(getattr(covariate, "dtype", "")) == "category"
    kinds = {values.dtype.kind, getattr(getattr(covariate, "dtype", None), "kind", "")}
    return not categorical and bool(kinds & set("iuf"))


def _numbered(gram: Any, covariate: Any, values: Array) -> Any:
    """Number the distinct values of a covariate, which labelings then permute."""
    samples = samples_of(gram)
    numbers = as_floats(aligned(covariate, samples, "covariate"), "covariate")
    if numbers.shape[:1] != (samples.count,) or numbers.ndim > 2:
        raise InputError(f"got a covariate of shape {values.shape} for {samples.count} samples: give one for each")
    wrong = np.flatnonzero(~np.isfinite(numbers.reshape(len(numbers), -1)).all(axis=1))
    if len(wrong):
        name = samples.name(wrong[0])
        raise InputError(f"the covariate of sample {name!r} is not a finite number ({len(wrong)} such): leave it out")
    return np.unique(numbers.reshape(len(numbers), -1), axis=0, return_inverse=True)[1].ravel()


def _gaussian_factor(distinct: Floats) -> tuple[Floats, float]:
    """F with F Fᵀ = ℓ of the distinct values up to `FACTOR` of its trace, by pivoted Cholesky; and σ."""
    spaced = distinct[np.linspace(0, len(distinct) - 1, min(MOST_DISTANCES, len(distinct))).astype(np.intp)]
    sigma = float(np.median(pdist(spaced)))
    left = np.ones(len(distinct))
    columns: list[Floats] = []
    while left.sum() > FACTOR * len(distinct) and len(columns) < len(distinct):
        pivot = int(left.argmax())
        column = np.exp(-cdist(distinct, distinct[pivot : pivot + 1], "sqeuclidean")[:, 0] / (2 * sigma**2))
        for known in columns:
            column = column - known * known[pivot]
        columns.append(column / np.sqrt(left[pivot]))
        left = np.maximum(left - columns[-1] ** 2, 0.0)
    return np.stack(columns, axis=1), sigma


def _some(names: list[Any]) -> str:
    return ", ".join(map(repr, names[:3])) + (", …" if len(names) > 3 else "")
