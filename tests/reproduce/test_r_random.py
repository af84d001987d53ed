"""Numbers that R 3.5 prints; positions count from 1 there."""

import numpy as np
import pytest

from distkern import InputError
from distkern.reproduce.r_random import RRandom


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (0, [0.8966972, 0.2655087, 0.3721239]),
        (1, [0.2655087, 0.3721239, 0.5728534]),
        (42, [0.9148060, 0.9370754, 0.2861395]),
        (123, [0.2875775, 0.7883051, 0.4089769]),
    ],
)
def test_runif(seed, expected):
    assert RRandom(seed).uniforms(3).round(7).tolist() == expected


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (1, [3, 4, 5, 7, 2, 8, 9, 6, 10, 1]),
        (42, [10, 9, 3, 6, 4, 8, 5, 1, 2, 7]),
        (123, [3, 8, 4, 7, 6, 1, 10, 9, 2, 5]),
    ],
)
def test_sample_before_R_3_6(seed, expected):
    assert (RRandom(seed).sample(10) + 1).tolist() == expected
    assert (RRandom(seed).sample(10, 4) + 1).tolist() == expected[:4]


def test_sample_with_replacement_takes_the_floor():
    """From the first five uniform numbers of seed 123: 0.2876, 0.7883, 0.4090, 0.8830 and 0.9405."""
    assert (RRandom(123).draw(10, 5) + 1).tolist() == [3, 8, 5, 9, 10]


def test_numbers_continue_across_calls_and_across_the_end_of_the_state():
    whole, parts = RRandom(7), RRandom(7)
    np.testing.assert_array_equal(whole.uniforms(1300), np.concatenate([parts.uniforms(n) for n in (1, 623, 676)]))
    assert RRandom(7).sample(0).tolist() == []


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_a_seed_that_R_does_not_take_is_refused(seed):
    with pytest.raises(InputError, match="a seed of R is a whole number"):
        RRandom(seed)
