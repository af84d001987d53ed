"""Open a stored matrix, or its approximation by landmarks."""

from __future__ import annotations

import os
from typing import Any

from distkern.engine.resolve import resolve_executor
from distkern.gram.base import StoredGram
from distkern.gram.handle import Gram
from distkern.gram.nystrom import NystromGram
from distkern.kernels.base import Kernel
from distkern.kernels.registry import from_spec
from distkern.store.tiles import GramStore


def open_gram(path: str | os.PathLike[str], executor: Any = None) -> StoredGram:
    """Open a stored Gram matrix as the kernel it was first computed for; only its description is read.

    Parameters
    ----------
    path
        Folder or URL of the store.
    executor
        Executor of products, as for `compute_gram`; by default the Dask client that exists in this process when a
        product is computed, else threads.

    Returns
    -------
    Gram or NystromGram
        The lazy handle; the approximation by landmarks where the matrix was computed with ``landmarks=``.

    Raises
    ------
    StoreError
        If there is no store at the path, or its format is another one.
    """
    store = GramStore.opened(path)
    return handle_of(store, from_spec(store.manifest.kernel), None if executor is None else resolve_executor(executor))


def handle_of(store: GramStore, kernel: Kernel, executor: Any = None) -> StoredGram:
    """Make the handle of a store: `Gram` for a matrix, `NystromGram` for the columns of a matrix at landmarks."""
    cls: type[StoredGram] = Gram if store.manifest.landmark_columns is None else NystromGram
    return cls.of_store(store, kernel, executor)
