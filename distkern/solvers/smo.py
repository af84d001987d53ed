"""Solver for many dual problems of support vector machines on one Gram matrix, which need not fit in memory.

A matrix that fits is read once, and every problem is solved in memory (`distkern.compiled.smo`). Otherwise, the
problems share a working set of samples (`distkern.solvers.working_set`).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from distkern.core.allowance import allowing
from distkern.core.blas import one_blas_thread
from distkern.core.errors import InputError
from distkern.core.parameters import whole_number
from distkern.core.typing import Array, Indices
from distkern.engine.executors import usable_cores
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite, require_symmetric
from distkern.solvers.definite import largest_diagonal
from distkern.solvers.dual import Problem, Solution, State
from distkern.solvers.working_set import (
    SHARE,
    CachedValues,
    Rounds,
    block_index,
    refuse_indefinite_values,
    room_for_values,
    solve_chain,
    vector_bytes,
)

MOST_PAIRS, PAIRS_PER_VARIABLE = 10_000_000, 100
"""Most changed pairs where no limit is given: 10 million, or 100 for each variable if that is more, as in LIBSVM."""

WORTH_THREADS = 2000
"""Minimum total number of variables for which threads are started."""

AT_ONCE = 8
"""Maximum number of chains that share the spare memory; constant, so that results do not depend on the threads."""


def solve(
    gram: BaseGram,
    chains: Sequence[Sequence[Problem]],
    *,
    memory: int,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_passes: int = 1000,
    threads: int | None = None,
) -> list[list[Solution]]:
    """Solve chains of problems on one matrix, which is read once if it fits in memory, else in few passes.

    Parameters
    ----------
    gram
        Symmetric Gram matrix.
    chains
        Lists of problems. Chains are independent. Within a chain, a problem whose bounds are a multiple of the bounds
        of its predecessor, and which is equal otherwise, starts from the predecessor's solution.
    memory
        Bytes to use. Three quarters of what remains after the vectors are for kernel values, the rest for tiles being
        read. The matrix is kept in double precision if that fits, else in single precision if that fits. An array is
        not copied.
    tol
        Violation of the optimality conditions at which to stop.
    max_iter
        Maximum number of changed pairs of coefficients for each problem; −1 for 10 million, or 100 for each
        variable if that is more.
    max_passes
        Maximum number of passes over a matrix that does not fit in memory.
    threads
        Number of threads for the chains; by default the number of usable cores.

    Returns
    -------
    list of list of Solution
        Solutions in the order of the chains; ``converged`` is False for a problem that was stopped early.

    Raises
    ------
    InputError
        If the matrix is not symmetric or positive semidefinite, or has values that are not finite; or if the problem
        has numbers so large that its solution is not finite.
    MemoryLimitError
        If the vectors and the smallest working set do not fit; raised before the matrix is read.

    Examples
    --------
    >>> samples = np.array([-1.0, 1.0])
    >>> problem = Problem(np.arange(2), samples, np.full(2, 10.0), -np.ones(2))
    >>> [[found]] = solve(ArrayGram(np.outer(samples, samples)), [[problem]], memory=2**20)
    >>> found.alpha.tolist(), found.offset, found.objective, found.gap
    ([0.5, 0.5], 0.0, -0.5, 0.0)
    """
    states = [[State(problem) for problem in chain] for chain in chains]
    everything = [state for chain in states for state in chain]
    most = max(MOST_PAIRS, PAIRS_PER_VARIABLE * max(len(state.samples) for state in everything))
    max_iter, max_passes = whole_number(max_iter, "max_iter", -1), whole_number(max_passes, "max_passes", 0)
    limit = most if max_iter < 0 else max_iter
    started = gram.bytes_read()
    room = room_for_values(gram, everything, memory)
    at, dtype = _plan(gram, everything, room)
    workers = threads or usable_cores() if sum(len(state.samples) for state in everything) >= WORTH_THREADS else 1
    workers = max(1, min(len(chains), workers))
    spare = int(room * (1 - SHARE) / SHARE) // min(len(chains), AT_ONCE)
    on_the_way = memory - room - vector_bytes(len(gram), max(len(one.samples) for one in everything), len(everything))
    with one_blas_thread(), allowing(on_the_way), ThreadPoolExecutor(workers) as pool:
        each = pool.map if workers > 1 else map
        if dtype is None:
            Rounds(gram, states, room, spare, tol, limit, each).run(max_passes)
        else:
            K, shift = _read(gram, at, dtype)
            for state in everything:
                if not state.is_new:
                    v = state.vector(at, len(K))
                    state.set_gradient((K @ v + shift * v.sum())[at[state.samples]])
            refuse_indefinite_values(gram, K, shift, at, everything[0])
            cached = CachedValues(K, at, shift, spare)
            list(each(lambda chain: solve_chain(chain, cached, tol, limit), states))
            for state in everything:
                state.passes, state.bytes_read = 1, gram.bytes_read() - started
                state.record_objective()
                state.refuse_negative_curvature(largest_diagonal(gram))
    return [[state.solution(tol) for state in chain] for chain in states]


def _plan(gram: BaseGram, states: list[State], room: int) -> tuple[Indices, np.dtype[Any] | None]:
    """Row of each sample in the matrix of all samples used, −1 for others; and its dtype, None if it does not fit."""
    if isinstance(gram, ArrayGram):
        return np.arange(len(gram)), np.dtype(np.float64)
    at = np.full(len(gram), -1, dtype=np.int64)
    for state in states:
        at[state.samples] = 0
    used = np.flatnonzero(at == 0)
    at[used] = np.arange(len(used))
    fitting = (np.dtype(kind) for kind in (np.float64, np.float32) if np.dtype(kind).itemsize * len(used) ** 2 <= room)
    return at, next(fitting, None)


def _read(gram: BaseGram, at: Indices, dtype: np.dtype[Any]) -> tuple[Array, float]:
    """Kernel values of the samples used, from an array without a copy or in one pass over the matrix, and their shift.

    In single precision, a common offset is subtracted from the values to save digits; it is the second value returned.
    """
    shift = 0.0
    if isinstance(gram, ArrayGram):
        values = gram.values
        K = values if values.flags.c_contiguous else values.T if values.flags.f_contiguous else values.copy()
    else:
        used = np.flatnonzero(at >= 0)
        K = np.empty((len(used), len(used)), dtype=dtype)
        part = gram if len(used) == len(gram) else gram[np.ix_(used, used)]
        for number, (rows, cols, block) in enumerate(part.tiles()):
            if number == 0 and dtype == np.float32:
                shift = float(block.mean())
            K[block_index(rows, cols)] = block - shift if shift else block
    largest = float(finite(np.array(require_symmetric(K))))
    if not np.isfinite(4 * largest):
        raise InputError(
            f"the Gram matrix has values of up to {largest:.3g}, too large to be added: scale the kernel down"
        )
    return K, shift
