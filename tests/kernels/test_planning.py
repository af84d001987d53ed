"""Memory of tiles and types of stored values: defaults, algebra, and what a store keeps."""

from distkern import Kendall, Linear, LowRank, MeanMap
from distkern.kernels.base import Kernel
from distkern.kernels.kendall import Concordance
from distkern.kernels.planning import bytes_per_tile, stored_dtype


def test_by_default_a_tile_takes_three_arrays_of_its_size_and_is_stored_as_asked():
    assert bytes_per_tile(Kernel(), 10, 20, 1000) == 3 * 8 * 10 * 20
    assert stored_dtype(Kernel(), 1000, "float32") == "float32"


def test_a_sum_keeps_one_tile_while_the_other_is_computed():
    one, other = (bytes_per_tile(kernel, 100, 100, 50) for kernel in (Kendall(), Linear()))
    both = bytes_per_tile(Kendall() + Linear(), 100, 100, 50)
    assert max(one, other) + 8 * 100**2 <= both <= one + other + 8 * 100**2
    assert bytes_per_tile(2.0 * Linear(), 100, 100, 50) == other + 16 * 100**2


def test_a_kernel_between_bags_counts_the_tiles_of_its_base():
    n, points = 1 + 3 * 100, 100  # two dimensions
    assert bytes_per_tile(MeanMap(Linear(), dimensions=2), 9, 9, n) > bytes_per_tile(Linear(), points, points, 2)
    assert bytes_per_tile(MeanMap(LowRank(Linear(), 3)), 9, 9, n) == bytes_per_tile(Linear(), 9, 9, n)


def test_counts_are_stored_in_the_smaller_integer_type_that_holds_all_pairs():
    assert [stored_dtype(Concordance(), n, "float64") for n in (10, 65_536, 65_537)] == ["int32", "int32", "int64"]
