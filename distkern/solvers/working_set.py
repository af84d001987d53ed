"""Dual problems on a Gram matrix that does not fit in memory: a working set of samples that all problems share.

It holds the samples that violate the optimality conditions most and those with free coefficients. Kernel values within
it are gathered by a pass over the tiles, and kept from round to round as far as its samples stay; the problems
restricted to it are solved in memory; then one product of the whole matrix, with a column for each problem, gives the
gradients of all samples, which say exactly how far from optimal each problem is. Osuna, Freund and Girosi, "An improved
training algorithm for support vector machines", NNSP (1997). Each round starts from exact gradients, so that single
precision within the working set costs no accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.compiled import smo
from distkern.core.errors import MemoryLimitError
from distkern.core.sentences import OptionalPart, Parameter
from distkern.core.typing import Array, Floats, Indices
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite
from distkern.solvers import newton
from distkern.solvers.dual import State

SHARE = 0.75
"""Part of the memory beside the vectors that kernel values take; the rest is for tiles on their way."""

FEWEST = 32
"""Samples in a working set at least."""

GATHERED = 3
"""Times its own bytes that a block takes while it is gathered from stored tiles."""

WORTH_A_COPY = 2
"""Problems in a chain that repay a copy of the kernel values of its samples."""

FEW_ENOUGH = 0.9
"""Part of the samples in memory up to which a chain of problems is better off with a copy of its own."""

EARLY = 0.1
"""A round solves the working set up to this share of the largest violation, or half the tolerance if that is more."""


def vector_bytes(samples: int, variables: int, problems: int) -> int:
    """Bytes of what each problem holds for each variable, and of its columns of a product with the matrix."""
    return 8 * problems * (12 * variables + 3 * samples) + 8 * min(smo.BLOCK, variables) ** 2


def room_for_values(gram: BaseGram, states: list[State], memory: int) -> int:
    """Bytes for kernel values out of what may be taken: a share of what the vectors of all problems leave.

    Raises
    ------
    MemoryLimitError
        If not even the vectors fit, with a small working set where the matrix is not in memory.
    """
    size, variables = len(gram), max(len(state.samples) for state in states)
    vectors = vector_bytes(size, variables, len(states))
    room = int(SHARE * max(0, memory - vectors))
    least = 0 if isinstance(gram, ArrayGram) else 4 * min(size, FEWEST) ** 2
    if memory < vectors or room < least:
        raise MemoryLimitError(
            "training on {samples:,} samples needs {needed:,} bytes of memory at least and {allowed:,} are allowed: "
            "use fewer samples or a machine with more memory{limit}",
            samples=size,
            needed=vectors + int(least / SHARE),
            allowed=memory,
            limit=OptionalPart(", or raise {memory_limit}", memory_limit=Parameter("memory_limit")),
        )
    return room


def place(rows: Indices, cols: Indices) -> Any:
    """What indexes a block of an array: slices where both lists of positions are runs."""
    runs = [slice(int(part[0]), int(part[-1]) + 1) for part in (rows, cols) if part[-1] - part[0] + 1 == len(part)]
    return tuple(runs) if len(runs) == 2 else np.ix_(rows, cols)


@dataclass(frozen=True, eq=False)
class Held:
    """Kernel values in memory.

    Parameters
    ----------
    K
        Values of some samples, less ``shift``.
    at
        Row of each sample in K; −1 where it has none.
    spare
        Bytes that solving a chain of problems may take beside.
    """

    K: Array
    at: Indices
    shift: float
    spare: int


def along(chain: list[State], held: Held, tol: float, limit: int, early: float = 0.0) -> None:
    """Solve the problems of a chain one after the other, as far as their samples are held.

    Parameters
    ----------
    tol, limit
        Largest violation to stop at, and most pairs to change.
    early
        Stop at this share of the largest violation now, where that is more.
    """
    copied = _copied(chain, held)
    before = None
    for state in chain:
        state.follow(before)
        before = state
        rows = held.at[state.samples]
        here = np.flatnonzero(rows >= 0)
        alpha, F, bounds = state.alpha[here], state.F[here], state.bounds[here]
        values = (held.K, rows[here])
        view = (state.means[here], state.grand + held.shift, state.scale[here])
        spare = held.spare
        if copied is not None:
            values, view = (copied, np.arange(len(here))), (np.zeros(len(here)), 0.0, np.ones(len(here)))
            spare -= copied.nbytes
        problem = (*values, state.signs[here], bounds, *view, alpha, F)
        goal, blocks = max(tol, early * state.violation()), newton.FIRST
        while True:
            pairs = min(limit - state.iterations, blocks * newton.PAIRS)
            count, violation = smo.minimize(*problem, goal, pairs, blocks)
            state.iterations += count
            if violation <= goal or state.iterations >= limit:
                break
            free = int(((alpha > 0) & (alpha < bounds)).sum())
            enough = newton.blocks_before(free, len(here))
            if newton.may_step(free, spare) and blocks >= enough:
                newton.step(*problem)
            blocks = enough
        state.alpha[here], state.F[here] = alpha, F


def _copied(chain: list[State], held: Held) -> Floats | None:
    """Kernel values of a chain of problems on some samples by themselves, where they repay the room they take."""
    if len(chain) < WORTH_A_COPY:
        return None
    first = chain[0]
    rows = held.at[first.samples]
    here = np.flatnonzero(rows >= 0)
    if len(here) > FEW_ENOUGH * len(held.K) or 16 * len(here) ** 2 > held.spare:
        return None
    if not all(first.sees_as(state) for state in chain[1:]):
        return None
    view = (first.means[here], first.grand + held.shift, first.scale[here])
    return smo.local(held.K, rows[here], *view, np.arange(len(here)))


class Rounds:
    """Rounds of a working set that chains of problems share: ``room`` bytes for kernel values, ``each`` like `map`."""

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
        self._at = np.full(len(gram), -1, dtype=np.int64)  # row of each sample in the working set
        self._K = np.empty((self._capacity, self._capacity), dtype=np.float32)
        self._shift = np.nan
        self._order = np.random.default_rng(0).permutation(len(gram))  # which of equals goes first

    def run(self, max_passes: int) -> None:
        """Go on until all problems are solved, or stopped early."""
        if any(not state.is_new for state in self._states):
            self._follow(self._states)
        while open_ones := [state for state in self._states if self._is_open(state)]:
            if self._passes >= max_passes:
                return
            self._gather(self._chosen(open_ones))
            going = {id(state) for state in open_ones}
            chains = [[state for state in chain if id(state) in going] for chain in self._chains]
            list(self._each(self._improve, chains))
            self._follow(open_ones)

    def _improve(self, chain: list[State]) -> None:
        along(chain, Held(self._K, self._at, self._shift, self._spare), 0.5 * self._tol, self._limit, EARLY)

    def _is_open(self, state: State) -> bool:
        return state.violation() > self._tol and state.iterations < self._limit

    def _follow(self, states: list[State]) -> None:
        """Exact gradients of some problems at all samples, by one product."""
        product = self._gram.matmat(np.stack([state.vector(None, len(self._gram)) for state in states], axis=1))
        finite(product)
        self._passes += 1
        for column, state in enumerate(states):
            state.receive(product[state.samples, column])
            state.passes, state.bytes_read = self._passes, self._gram.bytes_read() - self._started
            state.note()

    # The working set -------------------------------------------------------------------------------------------------

    def _chosen(self, states: list[State]) -> Indices:
        """Samples of the next working set: of those that violate or are in it, those that violate most in a problem."""
        urgency = np.full(len(self._gram), -np.inf)
        for state in states:
            np.maximum.at(urgency, state.samples, state.urgency())
        fresh = self._at < 0
        idle = fresh & (urgency <= 0.0) & (self._passes > 0)
        ranking = np.lexsort((self._order, -urgency, idle))
        return np.sort(ranking[: self._capacity])

    def _gather(self, chosen: Indices) -> None:
        """Let the samples that were not chosen go, and read kernel values of the new ones with all."""
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
            if np.isnan(self._shift):  # what all values share shall take no digits of single precision
                self._shift = float(block.mean())
            where, there = np.flatnonzero(is_new[rows]), np.flatnonzero(self._at[cols] >= 0)
            values = (block[np.ix_(where, there)] - self._shift).astype(np.float32)
            own, slots = self._at[rows[where]], self._at[cols[there]]
            self._K[np.ix_(own, slots)] = values
            self._K[np.ix_(slots, own)] = values.T
        self._passes += 1

    def _read(self, new: Indices, chosen: Indices) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Kernel values of the new samples with all: gathered at once where they are few, else in a pass over tiles."""
        spare = self._K.nbytes * (1 - SHARE) / SHARE
        if GATHERED * 8 * len(new) * len(chosen) <= spare:
            yield new, chosen, self._gram.block(new, chosen)
        else:
            yield from self._gram.tiles()
