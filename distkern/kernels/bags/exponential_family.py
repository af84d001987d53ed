"""The kernel between bags of an exponential family: Laplace's approximation for Gaussians and multinomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from distkern.compiled.mixtures import weighted_pairs
from distkern.core.bags import split_rows
from distkern.core.errors import InputError, SampleError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of
from distkern.io.source import as_source
from distkern.kernels.bags.entropy import Entropy
from distkern.kernels.bags.fitted_gaussians import GaussianPairs
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.parameters import check_number, check_whole
from distkern.kernels.trust import is_valid


@dataclass(frozen=True)
class ExponentialFamily(GaussianPairs):
    """k(μ, μ') = exp(−(A + B) h(p'') + A h(p) + B h(p')) (2√(AB) / (A + B))^(s/2), h the entropy of the fitted density.

    p, p' and p'' are the members of the family with s parameters that are fitted to two bags of masses A and B and to
    their sum. For equal masses A = B = β this is exp(−2β [h(p'') − (h(p) + h(p'))/2]).

    It is Laplace's approximation of φ(μ) = ∫ e^(μ[log p_θ]) ω(dθ) over the family under Jeffreys' prior ω, with unit
    norm; it is exact for Gaussians. There h is ½ log det Σ plus a constant, so that β = 1 is the inverse generalised
    variance with unit norm. For points in d dimensions the kernel of Gaussians is positive semidefinite if β is above
    (d − 1)/2, where the integral is finite, or, for equal masses, a multiple of ½; for other β it is not, for some
    bags. For multinomials of unequal masses it need not be positive semidefinite, since the approximation is not exact.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), section 7.

    Parameters
    ----------
    eta
        η ≥ 0, added to the diagonal of each covariance, in the unit of the points squared; for Gaussians.
    beta
        β > 0, the width, and mass of each bag: above (d − 1)/2, or a multiple of ½. With ``masses="counts"`` the mass
        of a weight of 1.
    family
        ``"gaussian"``: h = ½ log det Σ and s = d + d(d + 1)/2. ``"multinomial"``: points are equal or not,
        h = −Σ p ln p and s is the number of components less one.
    masses
        ``"equal"``: β for every bag. ``"counts"``: β times the sum of its weights.
    components
        Number of components of a multinomial family; used where masses are unequal, and by default the number of
        columns of rows of counts.

    Raises
    ------
    SampleError
        If a covariance is singular and η is 0, or a mass is too small for the family; the message names it.
    InputError
        If the kernel is not positive semidefinite for this β and number of dimensions, or the number of components is
        not known.

    See Also
    --------
    Bhattacharyya : Compares the Gaussians, not their entropies.
    Entropy : Distributions on a finite set.

    Notes
    -----
    Samples are `Bags`; for multinomial families also rows of counts (m, n), a bag each. O(L d²) per bag of L points
    in d dimensions, then O(d³) per pair; for multinomials as for `Entropy`, which for equal masses has these
    values with 2β. Values lie in (0, 1].

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> bags = Bags.from_arrays([[-1.0, 1.0], [0.0, 2.0]])
    >>> ExponentialFamily(beta=2.0)(bags)
    array([[1.  , 0.64],
           [0.64, 1.  ]])
    >>> ExponentialFamily(family="multinomial", masses="counts")([[2, 1], [4, 2]]).round(4)  # equal shares: (√8 / 3)^½
    array([[1.   , 0.971],
           [0.971, 1.   ]])
    """

    name: ClassVar[str] = "exponential-family"
    beta: float = 1.0
    family: Literal["gaussian", "multinomial"] = "gaussian"
    masses: Literal["equal", "counts"] = "equal"
    components: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.beta, "beta", "more than 0")
        if self.components is not None:
            check_whole(self.components, "components")

    @property
    def takes_counts(self) -> bool:
        """Whether a row of counts is a bag."""
        return self.family == "multinomial"

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Fix the number of dimensions, and the number of components of a multinomial family."""
        kernel: Any = super().resolve(X, seed)
        if self.family == "gaussian" or self.masses == "equal" or self.components is not None:
            return kernel
        if not kernel.counted:
            raise InputError(
                "the number of components of bags is not known, and kernels of unequal masses depend on it: give "
                "components=, or rows of counts"
            )
        return kernel.set_params(components=as_source(X).shape[1])

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse a β, or a mass, for which the kernel is not positive semidefinite in this number of dimensions."""
        if self.family == "multinomial":
            return
        least, multiple = (points.shape[2] - 1) / 2, self.masses == "equal" and not 2 * self.beta % 1
        if self.masses == "counts":
            masses = self.beta * weights.sum(axis=1)
            for row in np.flatnonzero(masses <= least).tolist():
                raise SampleError(
                    f"bag {name_of(row, ids)} has the mass {masses[row]:g}, and points in {points.shape[2]} dimensions "
                    f"need more than {least:g}: give a larger beta, or leave the bag out",
                    row,
                )
        elif self.beta <= least and not multiple:
            raise InputError(
                f"with beta={self.beta:g} the kernel between bags of points in {points.shape[2]} dimensions is not "
                f"positive semidefinite: give a multiple of 0.5, or a number above {least:g}"
            )
        super().check_bags(weights, points, ids)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Fit each bag: its mean and covariance, or its shares; and its mass."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        weights = X if self.counted else split_rows(X)[0]
        masses = self.beta * weights.sum(axis=1) if self.masses == "counts" else np.full(len(X), float(self.beta))
        if self.family == "gaussian":
            arrays = dict(super().prepare(X, start).arrays)
        elif self.counted:
            shares = X / X.sum(axis=1, keepdims=True) if self.masses == "equal" else X
            arrays = dict(self._entropy.prepare(shares, start).arrays)
        else:
            arrays = dict(self._entropy.prepare(X, start).arrays)
        return Prepared(arrays if self.masses == "equal" else arrays | {"sums": masses}, start)

    @property
    def _entropy(self) -> Entropy:
        """The kernel that prepares multinomials, and has J between them."""
        return Entropy(normalize=self.masses == "equal" and not self.counted, dimensions=self.dimensions)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        if self.family == "gaussian" and self.masses == "equal":
            return super().tile(A, B)
        if self.family == "gaussian":
            logs = self._of_gaussians(A, B)
        else:
            logs = -2 * self.beta * self._entropy.divergences(A, B)
        if self.masses == "counts":
            logs = logs + self._of_masses(A, B)
        values = np.exp(np.minimum(logs, 0.0))
        if A is B:
            np.fill_diagonal(values, self.diagonal(A))
        return values

    def _of_gaussians(self, A: Prepared, B: Prepared) -> Floats:
        """−(A + B) h(p'') + A h(p) + B h(p')."""
        A.refuse_unlike(B)
        a, b = A.arrays, B.arrays
        mixed = weighted_pairs(a["means"], a["covariances"], a["sums"], b["means"], b["covariances"], b["sums"], A is B)
        own = np.add.outer(a["sums"] * a["logdets"], b["sums"] * b["logdets"])
        return 0.5 * (own - np.add.outer(a["sums"], b["sums"]) * mixed)

    def _of_masses(self, A: Prepared, B: Prepared) -> Floats:
        """Log of the factor of unequal masses; for multinomials also 2J of the masses, which J of counts contains.

        With g = A p, h(g) = A h(p) − A ln A. So −(A + B) h(p'') + A h(p) + B h(p') = −2 [J(g, g') − J(A, B)].
        """
        one, other = A.arrays["sums"][:, None], B.arrays["sums"][None, :]
        ratio = np.log(2 * np.sqrt(one * other) / (one + other))
        if self.family == "gaussian":
            d = A.arrays["means"].shape[1]
            return (d + d * (d + 1) / 2) / 2 * ratio
        if self.components is None:
            raise InputError(
                "the number of components depends on the cohort: call resolve(X) first, or give components="
            )
        half = (one + other) / 2
        return (self.components - 1) / 2 * ratio + one * np.log(one / half) + other * np.log(other / half)

    def diagonal(self, A: Prepared) -> Floats:
        """Ones."""
        return super().diagonal(A) if self.family == "gaussian" else np.ones(len(A))

    def _log_values(self, own: Floats, mixed: Floats, form: Floats, d: int) -> Floats:
        return self.beta * (0.5 * own - mixed - np.log1p(form / 4))


@is_valid.register
def _(kernel: ExponentialFamily, A: Prepared) -> bool:
    """Whether the numbers of atoms of the bags are possible."""
    return kernel.family == "gaussian" or is_valid(Entropy(), A)
