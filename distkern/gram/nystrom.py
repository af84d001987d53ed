"""The Nyström approximation of a Gram matrix that is too large to compute, from its columns at some landmarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distkern.core.errors import StoreError
from distkern.core.typing import Array, Floats, Indices, Spec
from distkern.gram.base import StoredGram
from distkern.gram.handle import Gram
from distkern.kernels.base import Kernel
from distkern.operators.lowrank import ArrayFeatures, Features, LowRankGram
from distkern.store.samples import among
from distkern.store.tiles import GramStore
from distkern.store.true_entries import sample_in

CUTOFF = 10.0
"""Eigenvalues of W up to ``CUTOFF`` · sqrt(k) · ε times the largest are taken as zero."""


@dataclass(frozen=True)
class NystromError:
    """How far a Nyström approximation k̂ is from its kernel k.

    Parameters
    ----------
    trace
        Σ (k(x, x) − k̂(x, x)) / Σ k(x, x) over all samples, exact. K − K̂ is positive semidefinite, so this is also
        ‖K − K̂‖₊ / ‖K‖₊ in the nuclear norm, and no entry is off by more than the largest k(x, x) − k̂(x, x).
    frobenius, frobenius_se
        ‖K − K̂‖ / ‖K‖ in the Frobenius norm, estimated from the exact diagonal and the sampled entries, and its standard
        error.
    rms, largest
        Root mean square and maximum of |k(x, y) − k̂(x, y)| over the sampled entries.
    entries
        Number of sampled entries: pairs of different samples, drawn uniformly.
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
    """B = U Λ^(−1/2), (k, r), with W = U Λ Uᵀ on the eigenvalues that are more than rounding: B Bᵀ = W⁺.

    Eigenvalues up to ``CUTOFF`` · sqrt(k) · ε · λ_max are left out. Rounding the entries of W to a relative ε moves an
    eigenvalue by some sqrt(k) ε λ_max at most: what is kept is known to a tenth or better. K̂ is the kernel of the
    samples projected on the directions that are kept, so K − K̂ is positive semidefinite whatever is left out.

    Parameters
    ----------
    W
        Kernel values (k, k) between the landmarks.
    rounding
        ε, the precision of the numbers that W was stored in.

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
    """The stored m × k part and its landmarks, with W^(−1/2) once asked for; a matrix and its slices share it."""

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
    """φ(x) = W^(−1/2) c(x) of some row samples of a stored m × k part, whose rows are the c(x)."""

    def __init__(self, landmarked: _Landmarked, at: Indices | None = None) -> None:
        super().__init__(landmarked.part)
        self._landmarked, self._at = landmarked, at

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredFeatures, (self._landmarked, self._at)

    @property
    def basis(self) -> Floats:
        """W^(−1/2) on the eigenvalues of W that are more than rounding, (k, r)."""
        return self._landmarked.basis

    @property
    def _positions(self) -> Indices:
        return np.arange(self.about.shape[0]) if self._at is None else self._at

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the samples."""
        names = self.about.row_ids
        return names if self._at is None else tuple(names[position] for position in self._at)

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

    def blocks(self) -> Iterator[tuple[Indices, Floats]]:
        """Pass over the samples, each stored block of them read once, at most as many rows at a time as a block has."""
        part = self._landmarked.part
        samples = part._store.rows
        computed = among(samples, self._positions)
        order = np.argsort(computed, kind="stable")
        borders = np.flatnonzero(np.diff(computed[order] // samples.block)) + 1
        every = np.arange(part.shape[1])
        for places in np.split(order, borders) if len(order) else []:
            which, inner = np.unique(computed[places], return_inverse=True)
            values = part._computed(which, every)
            for start in range(0, len(places), samples.block):
                piece = slice(start, start + samples.block)
                yield places[piece], values[inner[piece]]

    def adjoint(self, V: Floats) -> Floats:
        """Φᵀ V, in one pass over the part where its executor is."""
        return self.basis.T @ self._landmarked.part._product(V, self._at, transposed=True)

    def times(self, U: Floats) -> Floats:
        """Φ U, in one pass over the part where its executor is."""
        return self._landmarked.part._product(self.basis @ U, self._at)

    def of(self, X: Any) -> ArrayFeatures:
        """φ of new raw samples, from their kernel values with the landmarks alone."""
        cross = self._landmarked.part.cross(X)
        return ArrayFeatures(cross.to_numpy(cross.nbytes) @ self.basis, cross.row_ids)


class NystromGram(StoredGram, LowRankGram):
    """K̂ = C W⁺ Cᵀ, with C = K[:, L] and W = K[L, L] for k landmark samples L: the Nyström approximation of K.

    Made by `compute_gram` with ``landmarks=``, and by `open_gram`. Only C, m × k, is computed and stored. K̂ is positive
    semidefinite, exact on the rows and columns of the landmarks, and exact everywhere where the samples span no more
    directions in feature space than the landmarks do. Everything that a `Gram` offers to a learner is there and lazy;
    nothing makes the m × m matrix unless it is asked for.

    Source: Williams & Seeger, *Using the Nyström method to speed up kernel machines* (2001). W⁺ leaves out eigenvalues
    that are rounding, see `whitening`.

    Parameters
    ----------
    part
        The stored m × k matrix C.
    landmarks
        Positions of the landmarks among its row samples.

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
            If the landmarks in the store are not among its samples.
        """
        landmarks = np.array(store.meta["landmark_positions"], dtype=np.intp)
        rows, cols = store.meta["samples"]
        if landmarks.shape != (cols,) or not ((landmarks >= 0) & (landmarks < rows)).all():
            raise StoreError(
                f"the landmarks of {store.path!r} are not {cols} of its {rows} samples: the store is damaged"
            )
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

    # How good it is --------------------------------------------------------------------------------------------

    def error(self) -> NystromError:
        """Compare with true entries, which were computed beside the part; no samples are needed.

        The trace is exact. The sampled entries are a uniform sample of all pairs, also where samples have been added
        since the store was made.

        Raises
        ------
        CorruptTileError
            If the stored entries do not match their checksum.
        """
        pairs, true = self._true_entries()
        asked, places = np.unique(pairs, return_inverse=True)
        values = self._rows.take(asked).read()
        first, second = places.reshape(pairs.shape)
        off = true - np.einsum("ij,ij->i", values[first], values[second])
        exact, approximate = self.part.row_diag(), self.row_diag()
        frobenius, spread = _frobenius(off, true, exact - approximate, exact)
        total = float(exact.sum())
        return NystromError(
            trace=float((exact - approximate).sum()) / total if total > 0 else 0.0,
            frobenius=frobenius,
            frobenius_se=spread,
            rms=float(np.sqrt(np.mean(off**2))) if len(off) else 0.0,
            largest=float(np.abs(off).max(initial=0.0)),
            entries=len(off),
        )

    def _true_entries(self) -> tuple[Indices, Floats]:
        """Positions (2, entries) of the sampled pairs, and the kernel's values there."""
        pairs, stored = sample_in(self.path, self._store.meta["error_sample"])
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
        k − k̂ and k of a uniform sample of the entries that are not on the diagonal.
    diagonal_off, diagonal
        k − k̂ and k of all entries on the diagonal.
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
