"""The handle of a store: the common base of a stored Gram matrix and a stored Nyström approximation."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np

from distkern.core.errors import CorruptTileError, InputError
from distkern.core.sentences import Call
from distkern.core.typing import Array, Spec
from distkern.engine.progress import progress_listener
from distkern.gram.cross import first_difference
from distkern.gram.verify import damages
from distkern.kernels.base import Kernel
from distkern.kernels.registry import from_spec
from distkern.operators.base import BaseGram
from distkern.store.runs import read_runs, store_status
from distkern.store.tiles import GramStore, same_store
from distkern.store.view import follows


class StoredGram(BaseGram):
    """A Gram matrix in a store. Made by `compute_gram` and `open_gram`; pickled as the path of the store.

    Parameters
    ----------
    store
        The open store.
    kernel
        A kernel whose values follow from the stored ones.
    executor
        Executor of products and other passes over the tiles; by default the Dask client of this process, else threads.

    See Also
    --------
    compute_gram, open_gram : Make it.
    ArrayGram : The same for an array in memory.
    """

    def __init__(self, store: GramStore, kernel: Kernel, executor: Any = None) -> None:
        self._store = store
        self._grid = store.grid
        self._kernel = kernel
        self._executor = executor

    @classmethod
    @abstractmethod
    def of_store(cls, store: GramStore, kernel: Kernel, executor: Any = None) -> Self:
        """Make the handle of an open store, with the values of a kernel that follow from the stored ones."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (type(self), self.path, self.kernel, self._store.manifest.id)

    @property
    def path(self) -> str:
        """Folder or URL of the store."""
        return self._store.path

    @property
    def kernel(self) -> Kernel:
        """The kernel of the values of this handle, with every data-dependent parameter as a number."""
        return self._kernel

    def with_kernel(self, kernel: Kernel) -> Self:
        """View the stored values as those of another kernel that follow from them; nothing is computed.

        The integer concordance of ranked samples is stored once. Kendall's kernel with either treatment of ties and
        the Mallows kernel at every λ are views of it.

        Raises
        ------
        InputError
            If the values of the kernel do not follow from the stored ones; SampleError if the kernel is not defined for
            a stored sample.
        """
        if not follows(kernel, self._store.manifest):
            raise InputError(
                "{kernel!r} is not made of what {store!r} stores ({stored!r}), which was computed for {first!r}: "
                "compute it from the samples with {call}",
                kernel=kernel,
                store=self.path,
                stored=from_spec(self._store.manifest.stored),
                first=from_spec(self._store.manifest.kernel),
                call=Call("compute_gram"),
            )
        view = self.of_store(self._store, kernel, self._executor)
        for axis in self._store.axes:
            kernel.check_summary(view._summary(axis), self._store.samples(axis).ids)
        return view

    @property
    def features(self) -> tuple[str, ...] | None:
        """Names of the features; None where the samples came without."""
        return self._store.manifest.features

    @property
    def n_features(self) -> int:
        """Number of features that the kernel compared."""
        return self._store.manifest.n_features

    @property
    def dropped(self) -> tuple[int, ...]:
        """Positions of the features that were left out because a sample has no value of them."""
        return tuple(self._store.manifest.dropped)

    def _digests(self, axis: str) -> Array | None:
        """Digests of the data of all samples of an axis, read once; None where they are damaged.

        Rows of bags are padded to the largest bag of their cohort, and their digests depend on it: bags have none.
        """
        samples = self._store.samples(axis)
        axis = samples.axis
        if axis not in self._known_digests:
            self._known_digests[axis] = None
            if not self._kernel.takes_bags:
                try:
                    self._known_digests[axis] = samples.all_digests()
                except CorruptTileError as error:  # the matrix can be read as it is
                    warnings.warn(
                        f"models cannot compare their training samples with this matrix: {error}", stacklevel=4
                    )
        return self._known_digests[axis]

    @cached_property
    def _known_digests(self) -> dict[str, Array | None]:
        return {}

    def info(self) -> Spec:
        """All that is known of the store, JSON-ready: its plan, the number of tiles done, and its runs.

        ``kernel`` is that of this handle, ``first_kernel`` the one for which the store was made.
        """
        done = int(np.count_nonzero(self._store.checksums(refresh=True)))
        return {
            **self._store.manifest.to_json(),
            "kernel": self.kernel.spec(),
            "first_kernel": self._store.manifest.kernel,
            "path": self.path,
            "tiles_done": done,
            "tiles": self._grid.count,
            "complete": done == self._grid.count,
            "samples_computed": [self._grid.rows, self._grid.cols],
            "runs": [run.to_json() for run in read_runs(self._store)],
        }

    def status(self) -> Spec:
        """Progress of the store and whether a run is working on it, JSON-ready, read anew; see `store_status`."""
        return {**store_status(self._store), "kernel": self.kernel.spec()}

    @property
    def is_complete(self) -> bool:
        """Whether every tile is computed."""
        return bool(self.info()["complete"])

    def verify(self, progress: Any = None) -> list[str]:
        """Compare everything that is done with its checksum; return one sentence for each damaged part.

        Parameters
        ----------
        progress
            ``None``: a bar on a terminal or in a notebook; ``True``, ``False``, or a function of `Progress` events.
        """
        return [str(error) for error in self.damages(progress)]

    def damages(self, progress: Any = None) -> list[CorruptTileError]:
        """Compare everything that is done with its checksum, as `verify` does; return the errors."""
        return damages(self._store, progress_listener(progress))

    def first_difference(self, X: Any) -> int | None:
        """Position of the first of some samples whose values are not those of the row samples; None if all are equal.

        Raises
        ------
        InputError
            If the number of samples or the features differ.
        """
        return first_difference(self._store, X)

    def bytes_read(self) -> int:
        """Bytes of tiles and prepared samples read through this handle so far."""
        return self._store.bytes_read

    def _summary(self, axis: str) -> dict[str, Array]:
        """Summary of all computed samples of an axis: the numbers that the kernel needs beside the stored values."""
        samples = self._store.samples(axis)
        axis = samples.axis  # "rows" for both axes of a symmetric matrix
        if axis not in self._summaries:
            self._summaries[axis] = {name: samples.column(name) for name in self._kernel.summary}
        return self._summaries[axis]

    @cached_property
    def _summaries(self) -> dict[str, dict[str, Array]]:
        return {}

    def __repr__(self) -> str:
        info, (rows, cols) = self.info(), self.shape
        state = "complete" if info["complete"] else f"{info['tiles_done']} of {info['tiles']} tiles done"
        return f"<{type(self).__name__} {rows} × {cols} of {self.kernel!r} at {self.path!r}, {state}>"


def _reopened(cls: type[StoredGram], path: str, kernel: Kernel, store_id: str) -> StoredGram:
    return cls.of_store(same_store(path, store_id), kernel)
