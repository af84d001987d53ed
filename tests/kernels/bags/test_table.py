"""The table of base kernel values between the distinct points of a tile."""

import numpy as np

from distkern import (
    Bags,
    Gaussian,
    KernelBhattacharyya,
    KernelIGV,
    Linear,
    MeanMap,
    Polynomial,
)
from distkern.kernels.bags import table


def test_the_table_of_shared_points_gives_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.integers(1, 4, (8, 2)) / 3 for _ in range(20)])
    for base in (Gaussian(0.3), Linear(), Polynomial(2, 1.0)):  # ⟨x, x⟩ may round otherwise than ‖x‖²
        for kernel in (KernelIGV(base, 0.05), KernelBhattacharyya(base, 3, 0.05), MeanMap(base)):
            shared = kernel(bags)
            with monkeypatch.context() as patched:
                patched.setattr(table, "TABLE_BYTES", 0)
                np.testing.assert_array_equal(kernel(bags), shared)


def test_the_base_kernel_is_computed_for_pairs_of_distinct_points_only(monkeypatch):
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.integers(0, 8, (30, 2)).astype(float) for _ in range(12)])
    computed, tile = [], Gaussian.tile
    monkeypatch.setattr(Gaussian, "tile", lambda self, A, B: computed.append(len(A) * len(B)) or tile(self, A, B))
    MeanMap(Gaussian(1.0))(bags)
    assert set(computed) == {len(np.unique(bags.values, axis=0)) ** 2}
