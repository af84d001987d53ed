"""The Nyström approximation of a Gram matrix from its columns at landmark samples, for cohorts too large for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distkern.core.alignment import SampleNames
from distkern.core.errors import StoreError
from distkern.core.typing import Array, Floats, Indices, Spec
from distkern.gram.base import StoredGram
from distkern.gram.handle import Gram
from distkern.kernels.base import Kernel
from distkern.operators.identity import Identity
from distkern.operators.lowrank import ArrayFeatures, Features, LowRankGram
from distkern.store.samples import among
from distkern.store.tiles import GramStore

CUTOFF = 10.0
"""Eigenvalues of W up to ``CUTOFF`` · sqrt(k) · ε times the largest count as zero."""


@dataclass(frozen=True)
class NystromError:
    """The error of a Nyström approximation k̂ of a kernel k.

    Parameters
    ----------
    trace
        Σ (k(x, x) − k̂(x, x)) / Σ k(x, x) over all samples, exact. K − K̂ is positive semidefinite, so this is also
        ‖K − K̂‖₊ / ‖K‖₊ in the nuclear norm, and no entry has a larger error than the largest k(x, x) − k̂(x, x).
    frobenius, frobenius_se
        ‖K − K̂‖ / ‖K‖ in the Frobenius norm, estimated from the exact diagonal and the sampled entries, and its standard
        error.
    rms, largest
        Root mean square and maximum of abs(k(x, y) − k̂(x, y)) over the sampled entries.
    entries
        Number of sampled entries: pairs of different samples, drawn uniformly.

    See Also
    --------
    NystromGram.error : Estimates it.
    """

    trace: float
    frobenius: float
    frobenius_se: float
    rms: float
    largest: float
    entries: int

    def to_dict(self) -> Spec:
        """All fields as JSON-ready values."""
        return asdict(self)

    def __str__(self) -> str:
        norms = (
            f"trace error {max(0.0, self.trace):.2%}, Frobenius error {self.frobenius:.2%} ± {self.frobenius_se:.2%}"
        )
        return f"{norms}; on {self.entries:,} true entries root mean square {self.rms:.3g}, at most {self.largest:.3g}"


def whitening(W: Floats, rounding: float) -> Floats:
    """B = U Λ^(−1/2), (k, r), from W = U Λ Uᵀ restricted to eigenvalues above rounding, so that B Bᵀ = W⁺.

    Eigenvalues up to ``CUTOFF`` · sqrt(k) · ε · λ_max are left out. Rounding the entries of W to a relative ε changes
    an eigenvalue by at most about sqrt(k) ε λ_max, so the relative error of the others is a tenth or less. K̂ is the
    kernel of the samples projected on the remaining directions, so K − K̂ is positive semidefinite in any case.

    Parameters
    ----------
    W
        Kernel values (k, k) between the landmarks.
    rounding
        ε, the precision of the stored values of W.

    Examples
    --------
    >>> B = whitening(np.array([[4.0, 4.0], [4.0, 4.0]]), 2.0**-52)
    >>> B.shape, np.round(B @ B.T, 4).tolist()
    ((2, 1), [[0.0625, 0.0625], [0.0625, 0.0625]])
    """
    eigenvalues, vectors = np.linalg.eigh((W + W.T) / 2)
    cutoff = CUTOFF * np.sqrt(len(W)) * rounding * max(0.0, float(eigenvalues[-1]))
    kept = eigenvalues > cutoff
    return vectors[:, kept] / np.sqrt(eigenvalues[kept])


class _Landmarked:
    """The stored m × k part, its landmarks and, when first needed, W^(−1/2); shared by a matrix and its slices."""

    def __init__(self, part: Gram, landmarks: Indices) -> None:
        self.part, self.landmarks = part, landmarks

    def __reduce__(self) -> tuple[Any, ...]:
        return _Landmarked, (self.part, self.landmarks)

    @cached_property
    def basis(self) -> Floats:
        """W^(−1/2), from the rows of the part at the landmarks."""
        dtype = np.dtype(self.part.info()["dtype"])
        W = self.part.block(self.landmarks, slice(None))
        return whitening(W, float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps))


class StoredFeatures(Features):
    """φ(x) = W^(−1/2) c(x) of some row samples of a stored m × k part, whose rows are c(x)."""

    def __init__(self, landmarked: _Landmarked, at: Indices | None = None) -> None:
        super().__init__(landmarked.part)
        self._landmarked, self._at = landmarked, at

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredFeatures, (self._landmarked, self._at)

    @property
    def basis(self) -> Floats:
        """W^(−1/2), (k, r), restricted to eigenvalues of W above rounding; see ``whitening``."""
        return self._landmarked.basis

    @property
    def _positions(self) -> Indices:
        return np.arange(self.about.shape[0]) if self._at is None else self._at

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the samples."""
        names = self.about.row_ids
        return names if self._at is None else tuple(names[position] for position in self._at)

    @property
    def samples(self) -> SampleNames:
        """Names of the samples, and their positions in the stored matrix."""
        whole = self.about.row_samples
        return whole if self._at is None else whole.take(self._at)

    def __len__(self) -> int:
        return self.about.shape[0] if self._at is None else len(self._at)

    def take(self, positions: Indices) -> StoredFeatures:
        """Select some samples; nothing is read."""
        return StoredFeatures(self._landmarked, self._positions[positions])

    def equals(self, other: Features) -> bool:
        """Whether these are the features of the same samples in the same order."""
        return (
            isinstance(other, StoredFeatures)
            and self._landmarked is other._landmarked
            and np.array_equal(self._positions, other._positions)
        )

    @property
    def identity(self) -> Identity | None:
        """Digests of the samples, and the kernel approximated by the landmarks."""
        part = self._landmarked.part
        of_landmarks = part.identity
        whole = Identity(part._digests("rows"), of_landmarks.values)
        some = whole if self._at is None else whole.take(self._at)
        return some.on("landmarks", of_landmarks.mark())

    def blocks(self) -> Iterator[tuple[Indices, Floats]]:
        """Yield the samples, reading each stored block of them once; no more rows at a time than a block has."""
        part = self._landmarked.part
        samples = part._store.rows
        computed = among(samples, self._positions)
        order = np.argsort(computed, kind="stable")
        borders = np.flatnonzero(np.diff(computed[order] // samples.block)) + 1
        every = np.arange(part.shape[1])
        for where in np.split(order, borders) if len(order) else []:
            which, inner = np.unique(computed[where], return_inverse=True)
            values = part._computed(which, every)
            for start in range(0, len(where), samples.block):
                piece = slice(start, start + samples.block)
                yield where[piece], values[inner[piece]]

    def adjoint(self, V: Floats) -> Floats:
        """Φᵀ V, in one pass over the part on its executor."""
        return self.basis.T @ self._landmarked.part._product(V, self._at, transposed=True)

    def times(self, U: Floats) -> Floats:
        """Φ U, in one pass over the part on its executor."""
        return self._landmarked.part._product(self.basis @ U, self._at)

    def of(self, X: Any) -> ArrayFeatures:
        """φ of new raw samples, from their kernel values with the landmarks."""
        cross = self._landmarked.part.cross(X)
        return ArrayFeatures(cross.to_numpy(cross.nbytes) @ self.basis, cross.row_ids)


class NystromGram(StoredGram, LowRankGram):
    """K̂ = C W⁺ Cᵀ, with C = K[:, L] and W = K[L, L] for k landmark samples L: the Nyström approximation of K.

    Made by `compute_gram` with ``landmarks=``, and by `open_gram`. Only C, m × k, is computed and stored. K̂ is positive
    semidefinite. It is exact in the rows and columns of the landmarks, and everywhere if the landmarks span all samples
    in feature space. Learners use it like a `Gram`; all operations are lazy, and only ``to_numpy`` makes the m × m
    matrix.

    Source: Williams & Seeger, *Using the Nyström method to speed up kernel machines* (2001). W⁺ leaves out eigenvalues
    that are due to rounding; see ``whitening``.

    Parameters
    ----------
    part
        The stored m × k matrix C.
    landmarks
        Positions of the landmarks among its row samples.

    See Also
    --------
    Gram : All entries, in tiles.
    LowRank : The approximation as a kernel.
    sklearn.kernel_approximation.Nystroem : Features of the same approximation.

    Examples
    --------
    >>> import tempfile
    >>> from distkern import Linear, compute_gram
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gram = compute_gram(Linear(), X, store=folder + "/k.zarr", landmarks=5)
    ...     gram.shape, gram.part.shape, gram.rank, bool(np.allclose(gram.to_numpy(), X @ X.T))
    ((50, 50), (50, 5), 3, True)
    """

    def __init__(self, part: Gram, landmarks: Indices) -> None:
        self._landmarked = _Landmarked(part, landmarks)
        features = StoredFeatures(self._landmarked)
        StoredGram.__init__(self, part._store, part.kernel, part._executor)
        LowRankGram.__init__(self, features, features)

    @classmethod
    def of_store(cls, store: GramStore, kernel: Kernel, executor: Any = None) -> NystromGram:
        """Make the handle of an open store, with the values of a kernel that follow from the stored ones.

        Raises
        ------
        StoreError
            If the store holds no landmarks.
        """
        columns = store.manifest.landmark_columns
        if columns is None:
            raise StoreError(f"{store.path!r} holds a matrix without landmarks")
        landmarks = np.array(columns.positions, dtype=np.intp)
        return cls(Gram(store, kernel, executor), landmarks)

    @property
    def part(self) -> Gram:
        """C, the stored m × k matrix between all samples and the landmarks."""
        return self._landmarked.part

    @property
    def landmarks(self) -> Indices:
        """Positions of the landmarks among the samples, ascending."""
        return self._landmarked.landmarks

    def info(self) -> Spec:
        """All that is known of the store of the part, JSON-ready: its plan, the number of tiles done, and its runs."""
        return {name: value for name, value in super().info().items() if name != "error_sample"}

    def _summary(self, axis: str) -> dict[str, Array]:
        return self.part._summary(axis)  # cached once for both

    # Error of the approximation ------------------------------------------------------------------------------

    def error(self) -> NystromError:
        """Compare with exact entries, which are stored beside the part; the samples are not needed.

        The trace error is exact. The stored entries are a uniform sample of all pairs, also if samples have been added
        since the store was made.

        Raises
        ------
        CorruptTileError
            If the stored entries do not match their checksum.
        """
        pairs, true = self._true_entries()
        distinct, where = np.unique(pairs, return_inverse=True)
        values = self._rows.take(distinct).read()
        first, second = where.reshape(pairs.shape)
        off = true - np.einsum("ij,ij->i", values[first], values[second])
        exact, approximate = self.part.row_diag(), self.row_diag()
        frobenius, deviation = _frobenius(off, true, exact - approximate, exact)
        total = float(exact.sum())
        return NystromError(
            trace=float((exact - approximate).sum()) / total if total > 0 else 0.0,
            frobenius=frobenius,
            frobenius_se=deviation,
            rms=float(np.sqrt(np.mean(off**2))) if len(off) else 0.0,
            largest=float(np.abs(off).max(initial=0.0)),
            entries=len(off),
        )

    def _true_entries(self) -> tuple[Indices, Floats]:
        """Positions (2, entries) of the sampled pairs, and their exact kernel values."""
        columns = self._store.manifest.landmark_columns
        assert columns is not None
        pairs, stored = columns.true_entries.arrays(self.path)
        if not self.kernel.summary:
            return pairs, stored
        computed = among(self._store.rows, pairs.ravel()).reshape(pairs.shape)
        summary = self._summary("rows")
        first, second = ({name: array[at] for name, array in summary.items()} for at in computed)
        return pairs, self.kernel.from_stored(stored, first, second, self.n_features)

    def __repr__(self) -> str:
        return f"<NystromGram {len(self)} × {len(self)} by {len(self.landmarks)} landmarks on {self.part!r}>"


def _frobenius(off: Floats, true: Floats, diagonal_off: Floats, diagonal: Floats) -> tuple[float, float]:
    """‖K − K̂‖ / ‖K‖ and its standard error, a ratio of two means by the delta method.

    Parameters
    ----------
    off, true
        k − k̂ and k of a uniform sample of the off-diagonal entries.
    diagonal_off, diagonal
        k − k̂ and k of all diagonal entries.
    """
    m, entries = len(diagonal), len(off)
    pairs = m * (m - 1)
    above = (diagonal_off**2).sum() + (pairs * np.mean(off**2) if entries else 0.0)
    below = (diagonal**2).sum() + (pairs * np.mean(true**2) if entries else 0.0)
    if below == 0:
        return 0.0, 0.0
    ratio = above / below
    if ratio == 0 or entries < 2:
        return float(np.sqrt(ratio)), 0.0
    deviation = np.std(off**2 - ratio * true**2, ddof=1) * pairs / (below * np.sqrt(entries))
    return float(np.sqrt(ratio)), float(deviation / (2 * np.sqrt(ratio)))
