"""The Mallows kernel on total rankings and on the ordering of any real-valued sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from distkern.core.typing import Array, Floats
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.kendall import ConcordanceView, concordance, total_pairs
from distkern.kernels.parameters import check_number


@dataclass(frozen=True)
class Mallows(ConcordanceView):
    """k(x, y) = exp(−λ d(x, y)), with d the number of discordant pairs where there are no ties.

    With ties, d is a quarter of the squared distance of the sign embeddings: d = (t_x + t_y − 2 (n_c − n_d)) / 4, where
    t is the number of pairs that a sample does not tie. So a pair tied in exactly one sample costs 1/4. With strictly
    discordant pairs alone, the kernel would not be positive semidefinite. ``scaled=True`` divides d by C(n, 2).

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, equation 2 and theorem 1.

    Parameters
    ----------
    lam
        λ ≥ 0, per discordant pair; with ``scaled=True`` per fraction of all pairs.
    scaled
        Whether d is divided by C(n, 2). At n = 20,000 features d is of the order of 10⁸, and only the scaled form has
        values above 0.
    ties
        ``"embedding"``: as above. ``"kemeny"``: a pair tied in exactly one sample costs 1/2 (Kemeny's distance).

    Raises
    ------
    SampleError
        If a sample holds NaN; the message names it.

    See Also
    --------
    Kendall : A linear function of the same counts.
    PartialMallows : Top-k lists, and missing values.
    MallowsMixture : The model of rankings of that name.
    Diffusion : Another kernel that separates all distributions of rankings.

    Notes
    -----
    Samples are rows (m, n) of any real values; only their order counts. Values lie in (0, 1]. The cost is that of the
    Kendall kernel.

    Examples
    --------
    >>> Mallows(lam=0.5)([[1, 2, 3]], [[3, 2, 1]])  # exp(-0.5 * 3)
    array([[0.22313016]])
    """

    name: ClassVar[str] = "mallows"
    lam: float = 1.0
    scaled: bool = False
    ties: Literal["embedding", "kemeny"] = "embedding"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.lam, "lam")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        if self.ties == "embedding":
            return super().tile(A, B)
        S, joint = concordance(A, B)
        return self._of_distance((total_pairs(A) - joint - S) / 2, total_pairs(A))

    def diagonal(self, A: Prepared) -> Floats:
        """Ones: d(x, x) = 0."""
        return np.ones(len(A))

    def stored(self) -> Kernel:
        """The concordance; this kernel for Kemeny's distance, which also needs the pairs tied in both samples."""
        return super().stored() if self.ties == "embedding" else self

    @property
    def summary(self) -> tuple[str, ...]:
        """The number of untied pairs, for the distance of the embedding."""
        return super().summary if self.ties == "embedding" else ()

    def from_stored(self, values: Floats, rows: Mapping[str, Array], cols: Mapping[str, Array], n: int) -> Floats:
        """Values of this kernel from those of ``stored()``."""
        return super().from_stored(values, rows, cols, n) if self.ties == "embedding" else values

    def from_counts(self, S: Array, t_rows: Array, t_cols: Array, pairs: int) -> Floats:
        """Kernel values from the concordance, the untied pairs and C(n, 2)."""
        return self._of_distance((t_rows + t_cols - 2 * S) / 4, pairs)

    def _of_distance(self, distance: Floats, pairs: int) -> Floats:
        return np.exp(-self.lam * (distance / pairs if self.scaled else distance))
