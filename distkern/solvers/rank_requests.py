"""Many algorithms over one store of ranks, which share its passes.

An algorithm is a generator: it yields a `Request`, what it wants of the next pass, and is sent the sums of that pass.
`serve` runs any number of them. Each pass answers one request of each, so that a path over λ and γ, and all folds, take
about as many passes as the longest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from distkern.core.typing import Floats
from distkern.store.ranks import RankStore

Result = TypeVar("Result")

MOST_COLUMNS = 64
"""Most columns of a pass: more of them take memory, and gain no speed."""


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


def serve(store: RankStore, algorithms: Sequence[Algorithm[Any]]) -> tuple[list[Any], int]:
    """Run algorithms to their ends; return what they return, and the number of passes.

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
    results: list[Any] = [None] * len(algorithms)
    waiting: dict[int, Request] = {}
    for number, algorithm in enumerate(algorithms):
        _advance(number, algorithm, None, waiting, results)
    passes = 0
    while waiting:
        for group in _groups(waiting):
            answers = _one_pass(store, [waiting.pop(number) for number in group])
            passes += 1
            for number, sums in zip(group, answers, strict=True):
                _advance(number, algorithms[number], sums, waiting, results)
    return results, passes


def _advance(
    number: int, algorithm: Algorithm[Any], sums: Sums | None, waiting: dict[int, Request], results: list[Any]
) -> None:
    try:
        waiting[number] = algorithm.send(sums)  # type: ignore[arg-type]
    except StopIteration as end:
        results[number] = end.value


def _groups(waiting: dict[int, Request]) -> list[list[int]]:
    """Algorithms whose requests go into one pass."""
    groups: list[list[int]] = []
    room = 0
    for number, request in waiting.items():
        columns = request.W.shape[1]
        if columns > room:
            groups.append([])
            room = MOST_COLUMNS
        groups[-1].append(number)
        room -= columns
    return groups


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
