"""Which λ of Mallows' kernel, which window and noise of the smoothed Kendall kernel, which treatment of ties.

Each setting is a kernel of its own: only C of the support vector machine is chosen, by inner folds. The protocol is
that of `distkern.reproduce.comparison`, and each setting is compared with Kendall's tau-b on the same samples.

Windows are in standard deviations of the values of a sample. Gaussian and Laplace noise have the standard deviation of
uniform noise with a window of 1. λ is per fraction of all pairs (``scaled=True``).

    distkern reproduce kernel-settings --out docs/figures/kernel-settings.csv
"""

from __future__ import annotations

from collections.abc import Iterator

from distkern.core.events import Listener, Progress, silent
from distkern.kernels.kendall import Kendall
from distkern.kernels.mallows import Mallows
from distkern.kernels.smoothed import SmoothedKendall
from distkern.reproduce.comparison import Method, about, compared, held_out, on_samples, own_deviation
from distkern.reproduce.kernels_compared import REPEATS, every_fifth, questions
from distkern.reproduce.tables import Row

ASKED = ("colon", "T cells", "NKI → VDX, receptor", "VDX → NKI, receptor")
"""Questions of `distkern.reproduce.kernels_compared` on which settings are compared."""

LAMBDAS = (0.1, 1.0, 3.0, 10.0, 30.0)
"""Values of λ."""

WINDOWS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Windows of uniform noise."""

SAME = 1.0
"""Window of uniform noise whose standard deviation the other noises have."""

BASE = on_samples("Kendall", Kendall(ties="b"))
"""What all settings are compared with: tau-b."""


def settings() -> Iterator[tuple[str, str, Method]]:
    """Yield the name of each parameter, its value, and the method.

    Examples
    --------
    >>> sorted({parameter for parameter, _, _ in settings()})
    ['noise', 'ties', 'window', 'λ']
    """
    yield "ties", "b", BASE
    yield "ties", "zero", on_samples("Kendall", Kendall(ties="zero"))
    for lam in LAMBDAS:
        yield "λ", f"{lam:g}", on_samples("Mallows", Mallows(lam, scaled=True))
    for window in WINDOWS:
        yield "window", f"{window:g}", _smoothed(SmoothedKendall(window))
    yield "noise", "gaussian", _smoothed(SmoothedKendall(SAME / 12**0.5, noise="gaussian"))
    yield "noise", "laplace", _smoothed(SmoothedKendall(SAME / 24**0.5, noise="laplace"))


def _smoothed(kernel: SmoothedKendall) -> Method:
    return on_samples("smoothed Kendall", kernel, of=own_deviation)


def rows(*, repeats: int = REPEATS, seed: int = 0, quick: bool = False, on_event: Listener = silent) -> Iterator[Row]:
    """Compute the table.

    Parameters
    ----------
    repeats
        Repetitions of the folds within a cohort.
    seed
        Seed of the folds, of the shifts and of the bootstrap.
    quick
        Compute one repetition, on every fifth feature.

    Yields
    ------
    dict
        A row for each ``question`` and setting: ``kernel``, ``parameter`` and its ``value``; ``balanced`` accuracy and
        the area under the curve ``auc`` with their intervals; and ``gain``, by how much the former is above that of
        tau-b on the same samples, with its interval.
    """
    asked = [question for question in questions(1 if quick else repeats, seed) if question.name in ASKED]
    tried = list(settings())
    for place, whole in enumerate(asked):
        question = every_fifth(whole) if quick else whole
        base = None
        for number, (parameter, value, method) in enumerate(tried, start=1):
            found = held_out(question, method.start(question.X, question.y))
            base = found if base is None else base
            yield (
                about(question)
                | {"kernel": method.name, "parameter": parameter, "value": value}
                | compared(found, base, seed)
            )
            on_event(Progress("kernel settings", place * len(tried) + number, len(asked) * len(tried)))
