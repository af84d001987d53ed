"""Random numbers of R before version 3.6, which drew the folds of published experiments."""

from __future__ import annotations

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices

WORDS = 624
"""Words of the state of the Mersenne Twister."""

SCRAMBLES = 50
"""Times that ``set.seed`` scrambles the seed before the state is filled."""


class RRandom:
    """The random numbers of R after ``set.seed(seed)``, as R drew them before version 3.6.

    The generator is the Mersenne Twister MT19937. ``set.seed`` maps the seed by x ↦ 69069 x + 1 modulo 2³², 50 times,
    and fills the state with the values that follow; the first of them is the position in the state, which R sets to its
    end. A uniform number u is a word of 32 bits times 2⁻³², and one of n positions is ⌊n u⌋. (Since version 3.6 R draws
    positions by rejection.)

    Parameters
    ----------
    seed
        A whole number from 0 to 2³¹ − 1.

    Raises
    ------
    InputError
        If the seed is outside this range.

    Examples
    --------
    ``set.seed(42); runif(3)`` and ``set.seed(1); sample(10)`` in R 3.5; positions count from 0 here:

    >>> RRandom(42).uniforms(3).round(7).tolist()
    [0.914806, 0.9370754, 0.2861395]
    >>> (RRandom(1).sample(10) + 1).tolist()
    [3, 4, 5, 7, 2, 8, 9, 6, 10, 1]
    """

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 2**31:
            raise InputError(f"a seed of R is a whole number from 0 to 2³¹ − 1, not {seed!r}")
        word, words = seed, []
        for _ in range(SCRAMBLES + 1 + WORDS):
            word = (69069 * word + 1) % 2**32
            words.append(word)
        self._bits = np.random.MT19937()
        key = np.array(words[-WORDS:], dtype=np.uint32)
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": WORDS}}

    def uniforms(self, count: int) -> Floats:
        """Draw uniform numbers from [0, 1): R's ``runif(count)``."""
        return self._bits.random_raw(count) / 2.0**32

    def draw(self, n: int, count: int) -> Indices:
        """Draw positions from 0 to n − 1 with replacement: R's ``sample(n, count, replace = TRUE) - 1``."""
        return np.floor(n * self.uniforms(count)).astype(np.intp)

    def sample(self, n: int, count: int | None = None) -> Indices:
        """Draw different positions from 0 to n − 1, by default all in random order: R's ``sample(n, count) - 1``.

        Each draw takes a random one of the positions that are left, and the last of them moves into its place.
        """
        left, drawn = list(range(n)), []
        for uniform in self.uniforms(n if count is None else count):
            place = int(len(left) * uniform)
            drawn.append(left[place])
            left[place] = left[-1]
            left.pop()
        return np.array(drawn, dtype=np.intp)
