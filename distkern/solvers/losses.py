"""Convex losses Σ_i w_i ℓ_i(f_i) of the scores of samples, with gradients and second derivatives, for `newton_cg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.special import expit

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices

Product = Callable[[Floats], Floats]


class Loss(Protocol):
    """A convex function L of scores f, (m, columns): one column for a binary problem, one for each class otherwise."""

    columns: int
    """Number of columns of the scores."""

    total: float
    """Sum of the weights of the samples; the gradient of L is compared with it."""

    def intercept(self) -> Floats:
        """Constant score with the least loss, (columns,)."""

    def value(self, f: Floats) -> float:
        """L(f)."""

    def gradient(self, f: Floats) -> Floats:
        """Gradient of L at f, (m, columns)."""

    def curvature(self, f: Floats) -> Product:
        """Function that multiplies vectors, (m, columns), by the second derivative of L at f.

        With one column it takes any number of vectors, (m, any). With several, the second derivative couples the
        scores of one sample only.
        """


class _Binary:
    """Two classes: signs y = ±1, and weights, as columns (m, 1).

    Parameters
    ----------
    signs
        y, +1 or −1, (m,).
    weights
        w ≥ 0, (m,), by which the terms are multiplied; 1/m by default. A sample of weight 0 takes no part.

    Raises
    ------
    InputError
        If a sign is not ±1, a weight is negative or not finite, or a class has no weight.
    """

    columns = 1

    def __init__(self, signs: Array, weights: Array | None = None) -> None:
        y = np.asarray(signs, dtype=np.float64)
        wrong = np.flatnonzero(np.abs(y) != 1)
        if len(wrong):
            raise InputError(f"signs must be +1 or -1; sample {wrong[0]} has {y[wrong[0]]}")
        self.signs = y[:, None]
        checked, self.total, self._masses = _weights((y > 0).astype(np.intp), 2, weights)
        self.weights = checked[:, None]


class Logistic(_Binary):
    """Logistic loss of two classes: L(f) = Σ_i w_i log(1 + exp(−y_i f_i)).

    The gradient is −w_i y_i s(−y_i f_i), and the second derivative diag(w_i s(f_i) s(−f_i)), with s(x) = 1 / (1 +
    exp(−x)). Parameters are those of `_Binary`.

    Examples
    --------
    >>> loss = Logistic(np.array([1.0, 1.0, 1.0, -1.0]))
    >>> loss.intercept().round(6), loss.value(np.zeros((4, 1))) == np.log(2)
    (array([1.098612]), np.True_)
    """

    def intercept(self) -> Floats:
        """Logarithm of the ratio of the weights of the classes."""
        logarithms = np.log(self._masses / power_of_two(self.total))
        return logarithms[1:] - logarithms[:1]

    def value(self, f: Floats) -> float:
        """L(f)."""
        return float((self.weights * np.logaddexp(0.0, -self.signs * f)).sum())

    def gradient(self, f: Floats) -> Floats:
        """Gradient of L at f, (m, 1)."""
        return -self.weights * self.signs * expit(-self.signs * f)

    def curvature(self, f: Floats) -> Product:
        """Product with the second derivative of L at f."""
        diagonal = self.weights * expit(f) * expit(-f)
        return lambda V: diagonal * V


class SquaredHinge(_Binary):
    """Squared hinge loss of two classes: L(f) = Σ_i w_i max(0, 1 − y_i f_i)².

    The second derivative is the generalised one, 2 w_i where y_i f_i < 1 and 0 elsewhere. Parameters are those of
    `_Binary`.

    Examples
    --------
    >>> SquaredHinge(np.array([1.0, -1.0])).value(np.array([[2.0], [0.5]]))
    1.125
    """

    def intercept(self) -> Floats:
        """Difference of the weights of the classes, relative to their sum."""
        shares = self._masses / self.total
        return shares[1:] - shares[:1]

    def value(self, f: Floats) -> float:
        """L(f)."""
        return float((self.weights * np.maximum(1.0 - self.signs * f, 0.0) ** 2).sum())

    def gradient(self, f: Floats) -> Floats:
        """Gradient of L at f, (m, 1)."""
        return -2.0 * self.weights * self.signs * np.maximum(1.0 - self.signs * f, 0.0)

    def curvature(self, f: Floats) -> Product:
        """Product with the generalised second derivative of L at f."""
        diagonal = 2.0 * self.weights * (self.signs * f < 1.0)
        return lambda V: diagonal * V


class Squared:
    """Squared loss: L(f) = Σ_i w_i (f_i − y_i)².

    Parameters
    ----------
    targets
        y, (m,).
    weights
        w ≥ 0, (m,), by which the terms are multiplied; 1/m by default. A sample of weight 0 takes no part.

    Raises
    ------
    InputError
        If a weight is negative or not finite, or all are 0.

    Examples
    --------
    >>> loss = Squared(np.array([1.0, 4.0]))
    >>> loss.intercept(), loss.value(np.zeros((2, 1)))
    (array([2.5]), 8.5)
    """

    columns = 1

    def __init__(self, targets: Array, weights: Array | None = None) -> None:
        self.targets = np.asarray(targets, dtype=np.float64)[:, None]
        checked, self.total, _ = _weights(np.zeros(len(self.targets), dtype=np.intp), 1, weights)
        self.weights = checked[:, None]

    def intercept(self) -> Floats:
        """Weighted mean of the targets."""
        return (self.weights * self.targets).sum(axis=0) / self.total

    def value(self, f: Floats) -> float:
        """L(f)."""
        return float((self.weights * (f - self.targets) ** 2).sum())

    def gradient(self, f: Floats) -> Floats:
        """Gradient of L at f, (m, 1)."""
        return 2.0 * self.weights * (f - self.targets)

    def curvature(self, f: Floats) -> Product:
        """Product with the second derivative of L at f."""
        return lambda V: 2.0 * self.weights * V


class Multinomial:
    """Logistic loss of several classes: L(f) = Σ_i w_i (log Σ_c exp(f_ic) − f_{i,y_i}).

    With p_ic = exp(f_ic) / Σ_d exp(f_id), column c of the gradient is w_i (p_ic − [y_i = c]), and the second derivative
    maps v to w_i p_ic (v_ic − Σ_d p_id v_id).

    Parameters
    ----------
    codes
        y, the number of the class of each sample, from 0, (m,).
    classes
        Number of classes, 2 or more.
    weights
        w ≥ 0, (m,), by which the terms are multiplied; 1/m by default. A sample of weight 0 takes no part.

    Raises
    ------
    InputError
        If a weight is negative or not finite, or a class has no weight.

    Examples
    --------
    >>> loss = Multinomial(np.array([0, 1, 2]), 3)
    >>> loss.gradient(np.zeros((3, 3)))[0].round(6)
    array([-0.222222,  0.111111,  0.111111])
    """

    def __init__(self, codes: Indices, classes: int, weights: Array | None = None) -> None:
        self.columns = classes
        self._at = np.arange(len(codes)), np.asarray(codes)
        checked, self.total, self._masses = _weights(self._at[1], classes, weights)
        self.weights = checked[:, None]

    def intercept(self) -> Floats:
        """Logarithms of the weights of the classes, less their mean."""
        logarithms = np.log(self._masses / power_of_two(self.total))
        return logarithms - logarithms.mean()

    def value(self, f: Floats) -> float:
        """L(f)."""
        best = f.argmax(axis=1)
        top = f[self._at[0], best]
        others = np.exp(f - top[:, None])
        others[self._at[0], best] = 0.0  # its 1 is left to log1p, which keeps the digits of a small sum
        losses = np.log1p(others.sum(axis=1)) + (top - f[self._at])
        return float((self.weights[:, 0] * losses).sum())

    def gradient(self, f: Floats) -> Floats:
        """Gradient of L at f, (m, classes); each row adds up to 0."""
        out = self.probabilities(f)
        out[self._at] = 0.0
        out[self._at] = -out.sum(axis=1)  # p − 1, to all digits
        out *= self.weights
        return out

    def curvature(self, f: Floats) -> Product:
        """Product with the second derivative of L at f."""
        p = self.probabilities(f)
        weighted = self.weights * p
        return lambda V: weighted * (V - (p * V).sum(axis=1, keepdims=True))

    @staticmethod
    def probabilities(f: Floats) -> Floats:
        """p_ic = exp(f_ic) / Σ_d exp(f_id), (m, classes)."""
        out = np.exp(f - f.max(axis=1, keepdims=True))
        out /= out.sum(axis=1, keepdims=True)
        return out


class Among:
    """A loss of some samples as a loss of all: the others, such as a held-out fold, take no part.

    Parameters
    ----------
    loss
        Loss of some samples.
    members
        Their positions.
    samples
        Number of all samples.

    Examples
    --------
    >>> loss = Among(Logistic(np.array([1.0, -1.0])), np.array([0, 2]), 3)
    >>> loss.gradient(np.zeros((3, 1))).ravel()
    array([-0.25,  0.  ,  0.25])
    """

    def __init__(self, loss: Loss, members: Indices, samples: int) -> None:
        self._loss, self._members, self._samples = loss, members, samples
        self.columns, self.total = loss.columns, loss.total

    def intercept(self) -> Floats:
        """Constant score with the least loss."""
        return self._loss.intercept()

    def value(self, f: Floats) -> float:
        """L of the scores of the members."""
        return self._loss.value(f[self._members])

    def gradient(self, f: Floats) -> Floats:
        """Gradient of L at f, (m, columns): 0 for other samples."""
        return self._among_all(self._loss.gradient(f[self._members]))

    def curvature(self, f: Floats) -> Product:
        """Product with the second derivative of L at f."""
        product = self._loss.curvature(f[self._members])
        return lambda V: self._among_all(product(V[self._members]))

    def _among_all(self, rows: Floats) -> Floats:
        out = np.zeros((self._samples, rows.shape[1]))
        out[self._members] = rows
        return out


def power_of_two(number: float) -> float:
    """Largest power of two up to a positive number, by which a division is exact; 1 for 0."""
    return float(np.ldexp(1.0, np.frexp(number)[1] - 1)) if number > 0 else 1.0


def _weights(codes: Indices, classes: int, weights: Array | None) -> tuple[Floats, float, Floats]:
    """Weights of the samples, 1/m by default, their sum, and the sum of each class."""
    m = len(codes)
    w = np.full(m, 1.0 / max(m, 1)) if weights is None else np.array(weights, dtype=np.float64)
    if w.shape != (m,):
        raise InputError(f"got weights of shape {w.shape} for {m} samples")
    wrong = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if len(wrong):
        raise InputError(f"weights must be finite and not negative; sample {wrong[0]} has {w[wrong[0]]}")
    if m and not 0 <= codes.min() <= codes.max() < classes:
        raise InputError(f"class numbers must be from 0 to {classes - 1}; got {codes.min()} to {codes.max()}")
    masses = np.bincount(codes, weights=w, minlength=classes).astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        total = float(masses.sum())
    if not np.isfinite(total):
        raise InputError("the sum of the weights is beyond what float64 holds: scale the weights down")
    if not (masses > 0).all():
        raise InputError(
            f"class {int(np.argmin(masses))} has no sample of positive weight: leave the class out, or give its "
            "samples a weight"
        )
    return w, total, masses
