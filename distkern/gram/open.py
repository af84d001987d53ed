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
from distkern.store.location import absolute_path, explained, location_of
from distkern.store.manifest import folder_in_root
from distkern.store.tiles import GramStore
from distkern.store.view import asked_kernel


def open_gram(path: str | os.PathLike[str], executor: Any = None, *, kernel: Kernel | None = None) -> StoredGram:
    """Open a stored Gram matrix as the kernel that it was last asked for; only its description is read.

    Parameters
    ----------
    path
        Folder or URL of the store.
    executor
        Executor of products, as for `compute_gram`; by default the Dask client that exists in this process when a
        product is computed, else threads.
    kernel
        A kernel whose values follow from the stored ones, as for `StoredGram.with_kernel`; by default the one of the
        last `compute_gram` into this store.

    Returns
    -------
    Gram or NystromGram
        The lazy handle; the approximation by landmarks where the matrix was computed with ``landmarks=``.

    Raises
    ------
    StoreError
        If there is no store at the path, its format is another one, or the record of the last kernel is damaged.
    InputError
        If the values of ``kernel`` do not follow from the stored ones.

    See Also
    --------
    compute_gram : Compute a matrix.
    repair_gram : Recompute damaged tiles.
    """
    store = GramStore.opened(path)
    pool = None if executor is None else resolve_executor(executor)
    if kernel is None:
        return handle_of(store, asked_kernel(store), pool)
    return handle_of(store, from_spec(store.manifest.kernel), pool).with_kernel(kernel)


def holds_gram(path: str | os.PathLike[str]) -> bool:
    """Whether a store lies at a path or URL, of whatever format and whether or not it is complete."""
    location = location_of(absolute_path(path))
    with explained(location.path, "open the store"):
        return folder_in_root(location.path, location.root()) is not None


def handle_of(store: GramStore, kernel: Kernel, executor: Any = None) -> StoredGram:
    """Make the handle of a store: `Gram` for a matrix, `NystromGram` for the columns of a matrix at landmarks."""
    cls: type[StoredGram] = Gram if store.manifest.landmark_columns is None else NystromGram
    return cls.of_store(store, kernel, executor)
