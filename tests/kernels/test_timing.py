"""Time of a tile: the measured parts on a clock that the kernel itself sets."""

import numpy as np
import pytest

from distkern.kernels import timing
from distkern.kernels.base import Prepared
from distkern.kernels.timing import LARGEST, PATIENCE, TileSeconds, measure


class Clocked:
    """A kernel whose tiles take the given seconds; the clock is its own."""

    def __init__(self, per_sample, per_pair):
        self.seconds, self.now, self.sides = TileSeconds(per_sample, per_pair), 0.0, []

    def tile(self, A, B):
        self.sides.append(len(A))
        self.now += self.seconds.of_tile(len(A), len(B))


@pytest.fixture
def measured(monkeypatch):
    def measured(per_sample, per_pair, samples=4, features=3, **options):
        kernel = Clocked(per_sample, per_pair)
        monkeypatch.setattr(timing.time, "perf_counter", lambda: kernel.now)
        return kernel, measure(kernel, Prepared({"values": np.ones((samples, features))}), **options)

    return measured


@pytest.mark.parametrize(("per_sample", "per_pair"), [(1e-5, 1e-6), (0.0, 1e-5), (1e-3, 1e-5)])
def test_time_is_split_between_samples_and_pairs(measured, per_sample, per_pair):
    _, seconds = measured(per_sample, per_pair)
    assert seconds.of_tile(1000, 1000) == pytest.approx(2000 * per_sample + 1e6 * per_pair, rel=1e-6)


def test_a_slow_kernel_is_measured_on_the_smallest_tile(measured):
    kernel, seconds = measured(0.0, 2.0)
    assert set(kernel.sides) == {2}
    assert seconds.of_tile(1, 1) == pytest.approx(2.0)


def test_the_largest_tile_and_the_time_of_a_tile_are_bounded(measured):
    kernel, _ = measured(0.0, 1e-12)
    assert max(kernel.sides) == LARGEST
    kernel, _ = measured(0.0, 1e-4)
    assert 1e-4 * max(kernel.sides) ** 2 <= PATIENCE


def test_one_sample_is_repeated_to_fill_the_tiles(measured):
    _, seconds = measured(0.0, 1e-5, samples=1)
    assert seconds.of_tile(10, 10) == pytest.approx(1e-3)


def test_a_tile_takes_no_more_than_its_room(measured):
    kernel, _ = measured(0.0, 1e-12, room=200_000, features=1000)  # samples of 8,000 bytes, four copies of each
    assert max(kernel.sides) == 4
