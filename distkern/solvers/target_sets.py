"""Sets that a learned target of quantile normalisation lies in, with their exact proximal maps.

A target f has a number for each of p ranks. All sets ask for Σ f = 0, which loses nothing where the model has a free
intercept, and for (1/p) Σ f² ≤ 1:

* `Ridge`: nothing more.
* `Bounded` (BND): f ascends.
* `Smooth` (SPAV): f ascends, and its roughness (γ/2) Σ (f_{r+1} − f_r)² is added to the objective.

The proximal map of a set is argmin ½ ‖f − g‖² + step · penalty(f) over its f. For a cone of centred vectors and the
ball it is: centre, project onto the cone, and scale to the radius √p if longer. That is the projection onto the
intersection, because the cone contains 0. For `Smooth`, a multiplier μ of the ball gives f = a S(g, a τ) with S the
smoothed isotonic regression, τ = step · γ and a = 1/(1 + μ). Its norm ascends with a, which secants within brackets
find.

Source: Vert's slides on supervised quantile normalisation (SUQUAN), "Constraints on f" and "SUQUAN-BND and
SUQUAN-SPAV". The slides bound Σ (f_{r+1} − f_r)² for SPAV, and solve "a penalised version (as opposed to a constrained
version)": this one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.compiled.isotonic import isotonic, smooth_isotonic
from distkern.core.typing import Floats

NEGLIGIBLE = 1e-300
"""Weight of the roughness below which it changes no value."""

SAME_NORM = 1e-12
"""Relative difference of norms that are equal."""

SECANTS = 200
"""Most steps to a norm: more than bisection takes. Some four suffice."""


def centred(f: Floats) -> Floats:
    """Subtract the mean."""
    return f - f.mean()


def at_radius(f: Floats) -> Floats:
    """Centre f, and scale it to the norm √p; zero if f is constant.

    Examples
    --------
    >>> at_radius(np.array([1.0, 2.0, 3.0])).round(3)
    array([-1.225,  0.   ,  1.225])
    """
    largest = np.abs(f).max()
    f = centred(f / largest) if largest > 0 else np.zeros(len(f))
    norm = float(np.linalg.norm(f))
    return f * (math.sqrt(len(f)) / norm) if norm > 1e-13 * math.sqrt(len(f)) else np.zeros(len(f))


def in_ball(f: Floats) -> Floats:
    """Nearest vector with a norm of √p or less."""
    norm, radius = float(np.linalg.norm(f)), math.sqrt(len(f))
    return f * (radius / norm) if norm > radius else f


@dataclass(frozen=True)
class Ridge:
    """{f : Σ f = 0, (1/p) Σ f² ≤ 1}.

    Examples
    --------
    >>> Ridge().proximal(np.array([7.0, 3.0, 5.0]), 1.0).round(3)
    array([ 1.225, -1.225,  0.   ])
    """

    def proximal(self, g: Floats, step: float) -> Floats:
        """Project g, (p,), onto the set; the step does not matter."""
        return in_ball(centred(g))

    def penalty(self, f: Floats) -> float:
        """Zero."""
        return 0.0


@dataclass(frozen=True)
class Bounded:
    """{f : f_0 ≤ … ≤ f_{p−1}, Σ f = 0, (1/p) Σ f² ≤ 1}.

    Examples
    --------
    >>> Bounded().proximal(np.array([0.2, 0.0, 0.7]), 1.0)
    array([-0.2, -0.2,  0.4])
    """

    def proximal(self, g: Floats, step: float) -> Floats:
        """Project g, (p,), onto the set; the step does not matter."""
        return in_ball(isotonic(centred(g)))

    def penalty(self, f: Floats) -> float:
        """Zero."""
        return 0.0


@dataclass(frozen=True)
class Smooth:
    """The set of `Bounded`, with the penalty (γ/2) Σ (f_{r+1} − f_r)².

    Parameters
    ----------
    gamma
        γ, from 0 on.

    Examples
    --------
    >>> Smooth(1.0).proximal(np.array([-0.3, 0.0, 0.3]), 1.0)
    array([-0.15,  0.  ,  0.15])
    """

    gamma: float

    def proximal(self, g: Floats, step: float) -> Floats:
        """Argmin ½ ‖f − g‖² + step · penalty(f) over the set, (p,)."""
        g, tau, radius = centred(g), step * self.gamma, math.sqrt(len(g))
        f = _smoothed(g, tau)
        norm = float(np.linalg.norm(f))
        if norm <= radius:
            return f
        low, high = radius / float(np.linalg.norm(isotonic(g))), radius / norm
        return in_ball(_on_sphere(g, tau, radius, low, high))

    def penalty(self, f: Floats) -> float:
        """(γ/2) Σ (f_{r+1} − f_r)²."""
        steps = np.diff(f)
        return 0.5 * self.gamma * float(steps @ steps)


def _smoothed(g: Floats, tau: float) -> Floats:
    return np.asarray(smooth_isotonic(g, tau) if tau > NEGLIGIBLE else isotonic(g), dtype=np.float64)


def _on_sphere(g: Floats, tau: float, radius: float, low: float, high: float) -> Floats:
    """Scale S(g, a τ) by the factor a in [low, high] with which it has the norm √p.

    The logarithm of the norm, by that of a, has a slope of nearly 1 where f is smooth: secants from there.
    """
    ends, last = (math.log(low), math.log(high)), None
    at = ends[1]
    for _ in range(SECANTS):
        share = math.exp(at)
        f = share * _smoothed(g, share * tau)
        excess = math.log(float(np.linalg.norm(f)) / radius)
        if abs(excess) <= SAME_NORM or ends[1] - ends[0] <= SAME_NORM:
            break
        ends = (at, ends[1]) if excess < 0 else (ends[0], at)
        slope = 1.0 if last is None or at == last[0] else (excess - last[1]) / (at - last[0])
        last = at, excess
        at = at - excess / slope if slope > 0 else ends[0]
        if not ends[0] < at < ends[1]:
            at = 0.5 * (ends[0] + ends[1])
    return f


TargetSet = Ridge | Bounded | Smooth
