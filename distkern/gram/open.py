"""Open what was stored."""

from __future__ import annotations

import os
from typing import Any

from distkern.engine.resolve import resolve_executor
from distkern.gram.handle import Gram
from distkern.gram.nystrom import NystromGram, opened_gram
from distkern.kernels.registry import from_spec
from distkern.store.tiles import GramStore


def open_gram(path: str | os.PathLike[str], executor: Any = None) -> Gram | NystromGram:
    """Open a stored Gram matrix, as the kernel it was first computed for; nothing but its description is read.

    Parameters
    ----------
    path
        Folder of the store.
    executor
        Who multiplies the matrix, as for `compute_gram`; by default the Dask client that exists in this process when it
        is multiplied, else threads.

    Returns
    -------
    Gram or NystromGram
        The lazy handle; the approximation by landmarks where the matrix was computed with ``landmarks=``.

    Raises
    ------
    StoreError
        If there is no store at the path, or it is of another format.
    """
    store = GramStore.opened(path)
    pool = None if executor is None else resolve_executor(executor)
    return opened_gram(store, from_spec(store.meta["kernel"]), pool)
