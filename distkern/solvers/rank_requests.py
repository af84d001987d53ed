"""Many algorithms over one store of ranks, which share its passes.

An algorithm is a generator: it yields a `Request`, what it wants of the next pass, and is sent the sums of that pass.
`serve` runs any number of them. Each pass answers one request of each, so that a path over λ and γ, and all folds,
share the reading of the ranks, and the columns of a pass share vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from distkern.core.typing import Floats
from distkern.engine.executors import usable_cores
from distkern.store.ranks import RankStore

Result = TypeVar("Result")

MOST_COLUMNS = 64
"""Columns of a pass: more of them take memory, and gain no speed."""


@dataclass(frozen=True)
class Request:
    """What an algorithm wants of a pass: see `RankStore.pass_over`, whose parameters these are.

    W and F are both given, (p, C) each; zeros where the algorithm has no use for one of them.
    """

    W: Floats
    F: Floats
    respond: Callable[[slice, Floats], Floats]
    by_feature: bool = False
    by_rank: bool = False


Sums = tuple[Floats | None, Floats | None]
Algorithm = Generator[Request, Sums, Result]


def serve(
    store: RankStore, algorithms: Iterable[Algorithm[Any]], columns: int = 1, most: int | None = None
) -> tuple[list[Any], int]:
    """Run algorithms to their ends; return what they return, and the number of passes.

    As many run at a time as fill the columns of a pass, and the next one begins where another ends. So memory does not
    grow with their number.

    Parameters
    ----------
    store
        The ranks.
    algorithms
        Begun when their turn comes.
    columns
        Most columns of a request.
    most
        Most columns of a pass, `MOST_COLUMNS` if None.

    Examples
    --------
    >>> def total(w, f):
    ...     found = []
    ...     yield Request(w, f, lambda rows, z: found.append(z) or z)
    ...     return float(sum(z.sum() for z in found))
    >>> store, ones = RankStore.of([[7.0, 5.0], [1.0, 2.0]]), np.ones((2, 1))
    >>> serve(store, [total(ones, ones), total(2 * ones, ones)])
    ([4.0, 8.0], 1)
    """
    together = max(1, (MOST_COLUMNS if most is None else most) // columns)
    coming, passes = enumerate(algorithms), 0
    results: dict[int, Any] = {}
    waiting: dict[int, tuple[Algorithm[Any], Request]] = {}

    def advance(number: int, algorithm: Algorithm[Any], sums: Sums | None) -> None:
        try:
            waiting[number] = algorithm, algorithm.send(sums)  # type: ignore[arg-type]
        except StopIteration as end:
            results[number] = end.value

    def begin() -> None:
        while len(waiting) < together and (new := next(coming, None)) is not None:
            advance(*new, None)

    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="distkern") as pool:
        begin()
        while waiting:
            group = sorted(waiting.items(), key=lambda one: one[0])
            answers = _one_pass(store, [request for _, (_, request) in group])
            passes += 1
            waiting.clear()
            jobs = [(number, algorithm, sums) for (number, (algorithm, _)), sums in zip(group, answers, strict=True)]
            list((map if len(jobs) == 1 else pool.map)(lambda job: advance(*job), jobs))
            begin()
    return [results[number] for number in range(len(results))], passes


def _one_pass(store: RankStore, requests: list[Request]) -> list[Sums]:
    ends = np.cumsum([request.W.shape[1] for request in requests])
    parts = [slice(int(end) - request.W.shape[1], int(end)) for request, end in zip(requests, ends, strict=True)]

    def respond(rows: slice, Z: Floats) -> Floats:
        return np.hstack(
            [request.respond(rows, Z[:, part].copy()) for request, part in zip(requests, parts, strict=True)]
        )

    def wanted(flags: list[bool]) -> Any:
        return np.flatnonzero(np.repeat(flags, [part.stop - part.start for part in parts]))

    chosen = wanted([request.by_feature for request in requests]), wanted([request.by_rank for request in requests])
    sums = store.pass_over(
        np.hstack([request.W for request in requests]),
        np.hstack([request.F for request in requests]),
        respond,
        by_feature=chosen[0],
        by_rank=chosen[1],
    )
    return [
        (
            _columns(sums[0], chosen[0], part) if request.by_feature else None,
            _columns(sums[1], chosen[1], part) if request.by_rank else None,
        )
        for request, part in zip(requests, parts, strict=True)
    ]


def _columns(total: Floats | None, chosen: Any, part: slice) -> Floats:
    assert total is not None
    return np.asarray(total[:, np.isin(chosen, np.arange(part.start, part.stop))], dtype=np.float64)
