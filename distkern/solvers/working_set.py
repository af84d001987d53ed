"""Dual problems on a Gram matrix that does not fit in memory: a working set of samples shared by all problems.

The working set contains the samples that violate the optimality conditions most. A round has three steps:

1. Read the kernel values within the working set, in a pass over the tiles; values of samples that stay are kept.
2. Solve all problems restricted to the working set, in memory.
3. Compute the gradients of all samples, by one product of the matrix with a column for each problem.

The gradients give the exact violation of each problem. Each round starts from exact gradients, so that single precision
within the working set costs no accuracy. Osuna, Freund and Girosi, "An improved training algorithm for support vector
machines", NNSP (1997).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.compiled import smo
from distkern.core.allowance import allowed_bytes
from distkern.core.errors import MemoryLimitError
from distkern.core.sentences import OptionalPart, Parameter
from distkern.core.typing import Array, Floats, Indices
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite
from distkern.solvers import newton
from distkern.solvers.definite import (
    EIGEN,
    largest_diagonal,
    names,
    refuse_indefinite,
    refuse_negative_curvature,
    refuse_negative_eigenvalue,
)
from distkern.solvers.dual import State

SHARE = 0.75
"""Fraction of the memory for kernel values, after the vectors of all problems; the rest is for tiles being read."""

FEWEST = 32
"""Minimum number of samples in a working set."""

GATHERED = 3
"""Memory to read a block from stored tiles, relative to the size of the block."""

WORTH_A_COPY = 2
"""Minimum number of problems in a chain for which a copy of its kernel values pays off."""

FEW_ENOUGH = 0.9
"""Maximum fraction of the cached samples for which a chain copies its kernel values."""

PATIENCE = 3
"""Rounds of steps without progress after which a problem is left as it is."""

PATIENCE_OF_PASSES = 20
"""Passes over the matrix without progress after which a problem is left as it is."""

EARLY = 0.1
"""A round reduces the violation within the working set to this fraction, or to half the tolerance if that is larger."""


def vector_bytes(samples: int, variables: int, problems: int) -> int:
    """Bytes of the vectors of all problems, and of their columns of a product with the matrix."""
    return 8 * problems * (12 * variables + 3 * samples) + 8 * min(smo.BLOCK, variables) ** 2


def room_for_values(gram: BaseGram, states: list[State], memory: int) -> int:
    """Bytes for kernel values: a fraction of ``memory`` after the vectors of all problems, and after tiles being read.

    Raises
    ------
    MemoryLimitError
        If the vectors do not fit, together with the smallest working set if the matrix is not in memory.
    """
    size, variables = len(gram), max(len(state.samples) for state in states)
    vectors = vector_bytes(size, variables, len(states))
    reading = 0 if isinstance(gram, ArrayGram) else gram.reading_bytes()  # tiles on their way count
    room = max(0, min(int(SHARE * (memory - vectors)), memory - vectors - reading))
    least = 0 if isinstance(gram, ArrayGram) else 4 * min(size, FEWEST) ** 2
    if memory < vectors or room < least:
        raise MemoryLimitError(
            "training on {samples:,} samples needs {needed:,} bytes of memory at least and {allowed:,} are allowed: "
            "use fewer samples or a machine with more memory{limit}",
            samples=size,
            needed=vectors + max(int(least / SHARE), least + reading),
            allowed=memory,
            limit=OptionalPart(", or raise {memory_limit}", memory_limit=Parameter("memory_limit")),
        )
    return room


def block_index(rows: Indices, cols: Indices) -> Any:
    """Index of a block of an array: slices if both lists of positions are contiguous, else ``np.ix_``."""
    runs = [slice(int(part[0]), int(part[-1]) + 1) for part in (rows, cols) if part[-1] - part[0] + 1 == len(part)]
    return tuple(runs) if len(runs) == 2 else np.ix_(rows, cols)


@dataclass(frozen=True, eq=False)
class CachedValues:
    """Kernel values in memory.

    Parameters
    ----------
    K
        Kernel values between some samples, minus ``shift``.
    at
        Row of each sample in K; −1 if it is not cached.
    shift
        Constant that was subtracted.
    spare
        Bytes that solving a chain of problems may use in addition.
    """

    K: Array
    at: Indices
    shift: float
    spare: int


class Stalls:
    """Number of times in a row that neither the objective nor the violation became smaller, which rounding causes."""

    def __init__(self, patience: int = PATIENCE) -> None:
        self._objective, self._violation, self._count, self._patience = np.inf, np.inf, 0, patience

    def too_many(self, objective: float, violation: float) -> bool:
        """Whether to stop, after a number of rounds of steps without progress; NaN is no progress."""
        progress = objective < self._objective or violation < self._violation
        self._count = 0 if progress else self._count + 1
        self._objective = min(objective, self._objective)
        self._violation = min(violation, self._violation)
        return self._count >= self._patience


def refuse_indefinite_values(gram: BaseGram, K: Array, shift: float, at: Indices, state: State) -> None:
    """Refuse cached kernel values (minus the shift) that are not positive semidefinite; ``at`` as in `CachedValues`.

    Where problems are on a view of the matrix, the view between some of the samples of one problem is tested.
    """
    largest = largest_diagonal(gram)
    if not state.is_view():
        used = int((at >= 0).sum())
        named = names(gram)
        refuse_indefinite(
            K[:used, :used], largest, shift=shift, named=lambda row: named(int(np.flatnonzero(at == row)[0]))
        )
        return
    rows = at[state.samples]
    here = np.flatnonzero(rows >= 0)
    here = here[np.unique(np.linspace(0, len(here) - 1, min(len(here), EIGEN)).astype(np.intp))]
    scale = state.scale[here]
    view = (state.means[here], state.grand + shift, scale)
    block = smo.local(K, rows[here], *view, np.arange(len(here)))
    refuse_negative_eigenvalue(block, largest / float((scale**2).min()))


def solve_chain(chain: list[State], cached: CachedValues, tol: float, limit: int, early: float = 0.0) -> None:
    """Solve the problems of a chain one after the other, restricted to their cached samples.

    Parameters
    ----------
    tol, limit
        Violation at which to stop, and maximum number of changed pairs.
    early
        Stop at this fraction of the current violation if it is larger than ``tol``.
    """
    copied = _copied(chain, cached)
    before = None
    for state in chain:
        state.warm_start(before)
        before = state
        rows = cached.at[state.samples]
        here = np.flatnonzero(rows >= 0)
        alpha, F, bounds = state.alpha[here], state.F[here], state.bounds[here]
        values = (cached.K, rows[here])
        view = (state.means[here], state.grand + cached.shift, state.scale[here])
        spare = cached.spare
        if copied is not None:
            values, view = (copied, np.arange(len(here))), (np.zeros(len(here)), 0.0, np.ones(len(here)))
            spare -= copied.nbytes
        problem = (*values, state.signs[here], bounds, *view, alpha, F)
        goal, blocks, stalls = max(tol, early * state.violation()), newton.FIRST, Stalls()
        while True:
            pairs = min(limit - state.iterations, blocks * newton.PAIRS)
            count, violation = smo.minimize(*problem, goal, pairs, blocks)
            state.iterations += count
            objective = float(0.5 * alpha @ (state.signs[here] * F + state.linear[here]))
            if violation <= goal or state.iterations >= limit or count == 0 or stalls.too_many(objective, violation):
                break
            free = int(((alpha > 0) & (alpha < bounds)).sum())
            enough = newton.blocks_before(free, len(here))
            if newton.may_step(free, spare) and blocks >= enough:
                newton.step(*problem)
            blocks = enough
        state.alpha[here], state.F[here] = alpha, F


def _copied(chain: list[State], cached: CachedValues) -> Floats | None:
    """Contiguous copy of the kernel values of a chain, if it pays off and fits in memory."""
    if len(chain) < WORTH_A_COPY:
        return None
    first = chain[0]
    rows = cached.at[first.samples]
    here = np.flatnonzero(rows >= 0)
    if len(here) > FEW_ENOUGH * len(cached.K) or 16 * len(here) ** 2 > cached.spare:
        return None
    if not all(first.has_kernel_of(state) for state in chain[1:]):
        return None
    view = (first.means[here], first.grand + cached.shift, first.scale[here])
    return smo.local(cached.K, rows[here], *view, np.arange(len(here)))


class Rounds:
    """Solves chains of problems in rounds of a shared working set.

    Parameters
    ----------
    gram
        Symmetric Gram matrix.
    chains
        States of the problems.
    room, spare
        Bytes for the kernel values of the working set, and in addition for each chain that is being solved.
    tol, limit
        Violation at which to stop, and maximum number of changed pairs.
    each
        Function like `map` that runs the chains, possibly in threads.
    """

    def __init__(
        self,
        gram: BaseGram,
        chains: list[list[State]],
        room: int,
        spare: int,
        tol: float,
        limit: int,
        each: Callable[..., Any],
    ) -> None:
        self._gram, self._chains, self._tol, self._limit, self._each = gram, chains, tol, limit, each
        self._states = [state for chain in chains for state in chain]
        self._capacity = min(len(gram), int((room // 4) ** 0.5))
        self._spare = spare
        self._started = gram.bytes_read()
        self._passes = 0
        self._largest = largest_diagonal(gram)
        self._stalls, self._stuck = {id(state): Stalls(PATIENCE_OF_PASSES) for state in self._states}, set[int]()
        self._at = np.full(len(gram), -1, dtype=np.int64)  # row of each sample in the working set, or −1
        self._K = np.empty((self._capacity, self._capacity), dtype=np.float32)
        self._shift = np.nan
        self._order = np.random.default_rng(0).permutation(len(gram))  # breaks ties at random

    def run(self, max_passes: int) -> None:
        """Run rounds until all problems are solved or a limit is reached."""
        tested = False
        if any(not state.is_new for state in self._states):
            self._update_gradients(self._states)
        while unsolved := [state for state in self._states if self._is_unsolved(state)]:
            if self._passes >= max_passes:
                return
            self._read_working_set(self._select(unsolved))
            if not tested:
                refuse_indefinite_values(self._gram, self._K, self._shift, self._at, self._states[0])
                tested = True
            numbers = {id(state) for state in unsolved}
            chains = [[state for state in chain if id(state) in numbers] for chain in self._chains]
            list(self._each(self._solve_restricted, chains))
            self._update_gradients(unsolved)

    def _solve_restricted(self, chain: list[State]) -> None:
        cached = CachedValues(self._K, self._at, self._shift, self._spare)
        solve_chain(chain, cached, 0.5 * self._tol, self._limit, EARLY)

    def _is_unsolved(self, state: State) -> bool:
        return state.violation() > self._tol and state.iterations < self._limit and id(state) not in self._stuck

    def _update_gradients(self, states: list[State]) -> None:
        """Compute the exact gradients of some problems at all samples, by one product."""
        V = np.stack([state.vector(None, len(self._gram)) for state in states], axis=1)
        product = finite(self._gram.matmat(V))
        refuse_negative_curvature(V, product, self._largest)
        self._passes += 1
        for column, state in enumerate(states):
            state.set_gradient(product[state.samples, column])
            state.passes, state.bytes_read = self._passes, self._gram.bytes_read() - self._started
            state.record_objective()
            if self._stalls[id(state)].too_many(state.objectives[-1], state.violation()):
                self._stuck.add(id(state))

    # The working set -------------------------------------------------------------------------------------------------

    def _select(self, states: list[State]) -> Indices:
        """Samples of the next working set, by their largest violation in any problem.

        Samples outside the current working set that violate no condition come last.
        """
        violations = np.full(len(self._gram), -np.inf)
        for state in states:
            np.maximum.at(violations, state.samples, state.relative_violations())
        outside = self._at < 0
        last = outside & (violations <= 0.0) & (self._passes > 0)
        ranking = np.lexsort((self._order, -violations, last))
        return np.sort(ranking[: self._capacity])

    def _read_working_set(self, chosen: Indices) -> None:
        """Replace the samples that were not chosen by the new ones, and read the kernel values of the new ones."""
        wanted = np.zeros(len(self._at), dtype=bool)
        wanted[chosen] = True
        self._at[~wanted] = -1
        new = chosen[self._at[chosen] < 0]
        if len(new) == 0:
            return
        taken = np.zeros(self._capacity, dtype=bool)
        taken[self._at[chosen[self._at[chosen] >= 0]]] = True
        self._at[new] = np.flatnonzero(~taken)[: len(new)]
        is_new = np.zeros(len(self._at), dtype=bool)
        is_new[new] = True
        for rows, cols, block in self._read(new, chosen):
            finite(block)
            if np.isnan(self._shift):  # a common offset would cost digits in single precision
                self._shift = float(block.mean())
            where, there = np.flatnonzero(is_new[rows]), np.flatnonzero(self._at[cols] >= 0)
            values = (block[np.ix_(where, there)] - self._shift).astype(np.float32)
            own, slots = self._at[rows[where]], self._at[cols[there]]
            self._K[np.ix_(own, slots)] = values
            self._K[np.ix_(slots, own)] = values.T
        self._passes += 1

    def _read(self, new: Indices, chosen: Indices) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Kernel values of the new samples: one block if it fits in memory, else all tiles of the matrix."""
        spare = (allowed_bytes() or 0) - self._gram.reading_bytes()
        if GATHERED * 8 * len(new) * len(chosen) <= spare:
            yield new, chosen, self._gram.block(new, chosen)
        else:
            yield from self._gram.tiles()
