"""The stored Gram matrix as a lazy operator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from distkern.core.allowance import allowed_bytes
from distkern.core.errors import MemoryLimitError
from distkern.core.events import Listener, silent
from distkern.core.sentences import Parameter
from distkern.core.typing import Array, Floats, Indices, Spec
from distkern.core.units import readable_bytes
from distkern.engine.progress import Late, progress_listener
from distkern.gram.all_pairs import work_on_pairs
from distkern.gram.base import StoredGram
from distkern.gram.cross import against_stored
from distkern.gram.map_reduce import kernel_values
from distkern.gram.prepared import opened, prepared_block
from distkern.gram.products import product
from distkern.gram.tile_groups import OVERHEAD_BYTES
from distkern.kernels.base import Kernel, Prepared
from distkern.operators.array import ArrayGram
from distkern.operators.identity import Identity, of_kernel
from distkern.operators.pairwise import PairWork, SampleArrays, State, arrays_at
from distkern.store.layout import DIAGONAL
from distkern.store.samples import among, standing_for
from distkern.store.tiles import GramStore

BAR_AFTER = 10.0
"""Seconds before a pass shows its progress."""


class Gram(StoredGram):
    """A stored Gram matrix. Made by `compute_gram` and `open_gram`.

    Values are read by ``block``, ``matmat``, ``to_numpy`` and ``np.asarray``, tile by tile, and each tile is compared
    with its checksum. Slices, ``centered()`` and ``unit_norm()`` are lazy views.

    See Also
    --------
    ArrayGram : The same for an array in memory.
    NystromGram : The same from the columns of landmarks.
    SumGram : A weighted sum of such matrices.
    """

    @classmethod
    def of_store(cls, store: GramStore, kernel: Kernel, executor: Any = None) -> Gram:
        """Make the handle of an open store, with the values of a kernel that follow from the stored ones."""
        return cls(store, kernel, executor)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of row samples and of column samples."""
        rows, cols = self._store.manifest.samples
        return rows, cols

    @property
    def is_symmetric(self) -> bool:
        """Whether rows and columns are the same samples in the same order."""
        return self._grid.symmetric

    @cached_property
    def row_ids(self) -> tuple[str, ...]:
        """Names of the row samples."""
        return self._store.rows.ids

    @cached_property
    def col_ids(self) -> tuple[str, ...]:
        """Names of the column samples."""
        return self.row_ids if self._grid.symmetric else self._store.cols.ids

    @property
    def identity(self) -> Identity:
        """Digests of the column samples, from the store, and the kernel."""
        return Identity(self._digests("cols"), self._kernel_values)

    @cached_property
    def _kernel_values(self) -> Spec:
        return of_kernel(self._kernel.spec())

    # Reading ---------------------------------------------------------------------------------------------------

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        return self._computed(among(self._store.rows, rows), among(self._store.cols, cols))

    def reading_bytes(self) -> int:
        """Bytes that a tile takes while it is read: as it is stored, as numbers, and as values of the kernel.

        The first ones are overhead of the process, and are not counted.
        """
        height, width = min(self._grid.side, self._grid.rows), min(self._grid.side, self._grid.cols)
        item = np.dtype(self._store.manifest.dtype).itemsize
        tile = (2 * item + 8 + 16 * bool(self._kernel.summary)) * height * width
        return max(0, tile - OVERHEAD_BYTES)

    def _refuse_tiles_beyond_memory(self) -> None:
        """Refuse to read tiles that take more than the present work may."""
        allowed = allowed_bytes()
        if allowed is not None and self.reading_bytes() > allowed:
            raise MemoryLimitError(
                "reading tiles of side {side} of {store!r} takes {needed} and may take {allowed}: raise {limit}, or "
                "compute the matrix with smaller tiles",
                side=self._grid.side,
                store=self.path,
                needed=readable_bytes(self.reading_bytes()),
                allowed=readable_bytes(allowed),
                limit=Parameter("memory_limit"),
            )

    def _computed(self, rows: Indices, cols: Indices) -> Floats:
        """Read the entries at positions of computed samples: of several equal samples only one is computed."""
        self._refuse_tiles_beyond_memory()
        out = np.empty((len(rows), len(cols)))  # stored values, converted to kernel values at the end
        in_row, in_col = _by_block(rows, self._grid.side), _by_block(cols, self._grid.side)
        for i, (out_rows, inner_rows) in in_row.items():
            for j, (out_cols, inner_cols) in in_col.items():
                if self._grid.symmetric and i > j:
                    if j in in_row and i in in_col:
                        continue  # copied together with its mirror image
                    tile = self._store.read_tile(j, i).T
                else:
                    tile = self._store.read_tile(i, j)
                out[np.ix_(out_rows, out_cols)] = tile[np.ix_(inner_rows, inner_cols)]
                if self._grid.symmetric and i < j and j in in_row and i in in_col:
                    (mirror_rows, inner_mirror), (mirror_cols, inner_cross) = in_row[j], in_col[i]
                    out[np.ix_(mirror_rows, mirror_cols)] = tile.T[np.ix_(inner_mirror, inner_cross)]
        return self._values(out, rows, cols)

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Yield the matrix once, reading each stored byte once: (row positions, column positions, entries)."""
        for rows, cols, values in self._computed_tiles():
            top, bottom = standing_for(self._store.rows, rows), standing_for(self._store.cols, cols)
            if top is None and bottom is None:
                yield rows, cols, values
                continue
            (where, which), (there, other) = top or (rows, np.arange(len(rows))), bottom or (cols, np.arange(len(cols)))
            yield where, there, values[np.ix_(which, other)]

    def _computed_tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        self._refuse_tiles_beyond_memory()
        for i, j in self._grid.tiles():
            rows, cols = np.arange(*self._grid.row_range(i)), np.arange(*self._grid.col_range(j))
            values = self._values(self._store.read_tile(i, j), rows, cols)
            yield rows, cols, values
            if self._grid.symmetric and i != j:
                yield cols, rows, values.T

    def matmat(self, V: Array, progress: Any = None) -> Floats:
        """K V: product with a vector (n,) or with the columns of a matrix (n, k), in one pass over the stored tiles.

        Workers of the executor read and multiply groups of tiles; only vectors and partial sums are sent. Each stored
        byte is read once, and equal samples are multiplied once. A matrix of less than 32 MiB is multiplied in this
        process. If the memory of a task or of this process does not suffice for all vectors, groups of them have a pass
        each. The bits do not depend on the executor. Stores with another tile size may differ by rounding, about 1e-15
        of Σ_j abs(K_ij V_j).

        Parameters
        ----------
        V
            A vector (n,), or vectors in columns (n, k).
        progress
            ``None``: a bar on a terminal or in a notebook, if the pass takes longer than ten seconds. ``True``,
            ``False``, or a function of `Progress` events.

        Raises
        ------
        InputError
            If the number of rows of V is not the number of columns of the matrix.
        MemoryLimitError
            If the memory of a task does not suffice for 32 vectors.
        IncompleteGramError, CorruptTileError
            If a tile is not computed, or does not match its checksum.

        Examples
        --------
        >>> import tempfile
        >>> from distkern import Kendall, compute_gram
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gram = compute_gram(Kendall(), [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], store=folder + "/gram.zarr")
        ...     gram.matmat([1.0, 0.5])
        array([ 0.5, -0.5])
        """
        listener = Late(progress_listener(progress), BAR_AFTER if progress is None else 0)
        try:
            return self._product(self._operand(V), listener=listener)
        finally:
            listener.close()

    def _product(
        self,
        V: Floats,
        rows: Indices | None = None,
        cols: Indices | None = None,
        listener: Listener = silent,
        transposed: bool = False,
    ) -> Floats:
        out = product(
            self._store,
            self._kernel,
            V[:, None] if V.ndim == 1 else V,
            (self._summary("rows"), self._summary("cols")),
            executor=self._executor,
            listener=listener,
            top=self._store.rows.index if rows is None else among(self._store.rows, rows),
            left=self._store.cols.index if cols is None else among(self._store.cols, cols),
            transposed=transposed,
        )
        return out[:, 0] if V.ndim == 1 else out

    def _map_reduce(self, work: PairWork, arrays: SampleArrays, additive: SampleArrays, part: Indices | None) -> State:
        listener = Late(progress_listener(None), BAR_AFTER)
        try:
            return work_on_pairs(
                self._store,
                self._kernel,
                work,
                arrays,
                additive,
                self._summary("rows"),
                executor=self._executor,
                listener=listener,
                where=self._store.rows.index if part is None else among(self._store.rows, part),
            )
        finally:
            listener.close()

    def _values(self, stored: Floats, rows: Indices, cols: Indices) -> Floats:
        """Convert stored values of computed samples to values of the kernel."""
        summaries = arrays_at(self._summary("rows"), rows), arrays_at(self._summary("cols"), cols)
        return kernel_values(self._kernel, stored, *summaries, self.n_features)

    def row_diag(self) -> Floats:
        """k(x, x) of the row samples."""
        return self._row_diagonal[among(self._store.rows, np.arange(self.shape[0]))]

    def col_diag(self) -> Floats:
        """k(x, x) of the column samples."""
        return self._col_diagonal[among(self._store.cols, np.arange(self.shape[1]))]

    @cached_property
    def _row_diagonal(self) -> Floats:
        return self._diagonal("rows")

    @cached_property
    def _col_diagonal(self) -> Floats:
        return self._row_diagonal if self._grid.symmetric else self._diagonal("cols")

    def _diagonal(self, side: str) -> Floats:
        dtype = self._store.manifest.dtype
        stored = self._store.samples(side).column(DIAGONAL).astype(dtype).astype(np.float64)  # rounded like the tiles
        if not self._kernel.summary:
            return stored
        summary = self._summary(side)
        return self._kernel.from_stored(stored, summary, summary, self._store.manifest.n_features)

    def to_dask(self) -> Any:
        """The matrix as a lazy dask array with one chunk per tile.

        Workers read tiles by path and compare them with their checksums. Chunks below the diagonal of a symmetric
        matrix are transposes of stored tiles; a tile is read once if both are needed. A slice of the array reads only
        its tiles. ``bytes_read()`` does not count these reads. Equal samples that are computed once are repeated.

        Returns
        -------
        dask.array.Array
            (rows, columns) float64.

        Examples
        --------
        >>> import tempfile
        >>> from distkern import Kendall, compute_gram
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gram = compute_gram(Kendall(), [[1, 2, 3], [3, 2, 1], [1, 3, 2]], store=folder + "/gram.zarr", tile=2)
        ...     array = gram.to_dask()
        ...     array.chunks, array.sum(axis=0).compute().round(3)
        (((2, 1), (2, 1)), array([ 0.333, -0.333,  1.   ]))
        """
        from distkern.engine.dask.tiled_array import tiled_array  # loads dask only for those who use it

        grid, (rows, cols) = self._grid, (self._store.rows.index, self._store.cols.index)
        array = tiled_array(
            partial(_tile_values, self.path, self._store.manifest.id, self._kernel),
            [stop - start for start, stop in map(grid.row_range, range(grid.row_blocks))],
            [stop - start for start, stop in map(grid.col_range, range(grid.col_blocks))],
            symmetric=grid.symmetric,
            identity=(self._store.manifest.id, self._kernel.spec()),
        )
        array = array if rows is None else array[rows]
        return array if cols is None else array[:, cols]

    # New samples -----------------------------------------------------------------------------------------------

    def prepared_columns(self) -> Prepared:
        """All column samples as the kernel prepared them, in memory."""
        blocks = [prepared_block(self._store, "cols", j) for j in range(self._grid.col_blocks)]
        whole = {name: np.concatenate([block.arrays[name] for block in blocks]) for name in blocks[0].arrays}
        index = self._store.cols.index
        return Prepared(whole) if index is None else Prepared(whole).take(index)

    def cross(self, X: Any) -> ArrayGram:
        """Kernel between new raw samples (rows) and the column samples, whose prepared arrays are in the store.

        Raises
        ------
        InputError
            If the new samples have another number of features, or the kernel is not defined for one of them.
        MemoryLimitError
            If the result does not fit in memory: give fewer samples at a time.
        """
        source, values, row_diag = against_stored(self._store, self.kernel, X)
        return ArrayGram(
            np.take(values, among(self._store.cols, np.arange(self.shape[1])), axis=1),
            row_diag=row_diag,
            col_diag=self.col_diag(),
            row_ids=source.ids,
            col_ids=self.col_ids,
            identity=self.identity,
        )


def _by_block(positions: Indices, side: int) -> dict[int, tuple[Indices, Indices]]:
    """Group positions by block: {block: (indices in ``positions``, positions inside the block)}."""
    blocks = positions // side
    return {
        int(block): (where := np.flatnonzero(blocks == block), positions[where] - block * side)
        for block in np.unique(blocks)
    }


def _tile_values(path: str, store_id: str, kernel: Kernel, i: int, j: int) -> Floats:
    """Read tile (i, j) of the store at a path, on a worker, as values of a kernel."""
    store = opened(path, store_id)
    rows, cols = (samples.read(block, only=kernel.summary) for samples, block in ((store.rows, i), (store.cols, j)))
    return kernel_values(kernel, store.read_tile(i, j), rows, cols, store.manifest.n_features)
