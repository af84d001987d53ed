"""The loss of the survival support vector machine, for `newton_cg`."""

from __future__ import annotations

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.solvers.cox import NO_EVENT
from distkern.solvers.losses import Product
from distkern.solvers.rank_svm import Pairs

ROUNDS = 100
"""Maximum number of steps to the best constant score, each of which is exact if the same samples count."""


class SurvivalHinge:
    """Squared hinge of pairs and squared error of logarithms of times, of scores f that grow with the time.

    L(f) = r / (2|P|) Σ_{(i,j) ∈ P} max(0, 1 − (f_j − f_i))² + (1 − r) / (2m) Σ_i ζ_i², where P contains the pairs with
    an event at t_i < t_j, and ζ_i = log t_i − f_i, or max(0, log t_i − f_i) if t_i is censored. Sums over P take
    O(m log m). Van Belle, Pelckmans, Suykens and Van Huffel, "Support vector machines for survival analysis", CIMED
    (2007); Pölsterl, Navab and Katouzian, "Fast training of support vector machines for survival analysis", ECML PKDD
    (2015).

    Parameters
    ----------
    time, event
        t of each sample, and whether it is that of an event, (m,).
    rank_ratio
        r in [0, 1].

    Raises
    ------
    InputError
        If there is no event; if r > 0 and there is no pair; or if r < 1 and a time is 0.

    Examples
    --------
    >>> loss = SurvivalHinge(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]), 1.0)
    >>> loss.count, loss.value(np.array([[0.0], [0.0], [2.0]]))
    (2, 0.25)
    """

    columns, total = 1, 1.0

    def __init__(self, time: Floats, event: Array, rank_ratio: float) -> None:
        self._ratio, self._m = rank_ratio, len(time)
        self._event = np.asarray(event, dtype=np.bool_)
        if not self._event.any():
            raise InputError(NO_EVENT)
        self._pairs: Pairs | None = None
        self._logs = np.zeros(self._m)
        if rank_ratio > 0:
            try:
                self._pairs = Pairs(np.asarray(time, dtype=np.float64), lower=self._event)
            except InputError as error:
                samples = f"{self._m} sample{'s' * (self._m != 1)}"
                raise InputError(
                    f"there is no comparable pair among {samples}: none has a later time than that of an event; give "
                    "more samples"
                ) from error
        if rank_ratio < 1:
            zeros = np.flatnonzero(np.asarray(time) == 0)
            if len(zeros):
                raise InputError(
                    f"the time of sample {zeros[0]} is 0, which has no logarithm ({len(zeros)} such): leave such "
                    "samples out, or rank only, with a ratio of 1"
                )
            self._logs = np.log(time)

    @property
    def count(self) -> int:
        """|P|; 0 if r = 0."""
        return 0 if self._pairs is None else self._pairs.count

    def intercept(self) -> Floats:
        """Constant with the least error of the logarithms of times; 0 if r = 1."""
        if self._ratio == 1:
            return np.zeros(1)
        constant = float(self._logs.mean())
        for _ in range(ROUNDS):
            counted = self._event | (self._logs > constant)
            fresh = float(self._logs[counted].mean()) if counted.any() else constant
            if fresh == constant:
                break
            constant = fresh
        return np.array([constant])

    def value(self, f: Floats) -> float:
        """L(f)."""
        ranked = 0.5 * self._ratio * self._pairs.squared_hinge(f[:, 0])[0] if self._pairs is not None else 0.0
        return ranked + 0.5 * (1 - self._ratio) * float((self._errors(f) ** 2).sum()) / self._m

    def gradient(self, f: Floats) -> Floats:
        """Gradient of L at f, (m, 1)."""
        out = -(1 - self._ratio) * self._errors(f) / self._m
        if self._pairs is not None:
            out += 0.5 * self._ratio * self._pairs.squared_hinge(f[:, 0])[1]
        return out[:, None]

    def curvature(self, f: Floats) -> Product:
        """Product of vectors, (m, columns), with the generalised second derivative of L at f."""
        counted = self._event | (self._logs > f[:, 0])
        diagonal = (1 - self._ratio) * counted[:, None] / self._m

        def product(V: Floats) -> Floats:
            if self._pairs is None:
                return diagonal * V
            return 0.5 * self._ratio * self._pairs.curvature(f[:, 0], V) + diagonal * V

        return product

    def _errors(self, f: Floats) -> Floats:
        """ζ."""
        errors = self._logs - f[:, 0]
        return np.where(self._event, errors, np.maximum(errors, 0.0))
