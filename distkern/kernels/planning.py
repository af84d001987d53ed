"""The properties of a kernel that a plan needs: memory of a tile, and the type of the stored values.

Both are functions with a default for every kernel. A kernel that needs another estimate registers it beside its class:

    @bytes_per_tile.register
    def _(kernel: MyKernel, a: int, b: int, n: int) -> int:
        return 8 * a * b * n
"""

from __future__ import annotations

from functools import singledispatch

from distkern.kernels.base import Kernel, Pair, Transformed


@singledispatch
def bytes_per_tile(kernel: Kernel, a: int, b: int, n: int) -> int:
    """Bytes that a tile of a × b entries on n features takes beyond the prepared blocks, its result included.

    The default is three arrays of the size of the result.
    """
    return 24 * a * b


@bytes_per_tile.register
def _(kernel: Pair, a: int, b: int, n: int) -> int:
    """Bytes of the first operand's tile, kept while the second is computed, and of the result."""
    left, right = bytes_per_tile(kernel.left, a, b, n), bytes_per_tile(kernel.right, a, b, n)
    return 8 * a * b + max(left, 8 * a * b + right)


@bytes_per_tile.register
def _(kernel: Transformed, a: int, b: int, n: int) -> int:
    """Bytes of the base kernel's tile and of the transformed one."""
    return bytes_per_tile(kernel.base, a, b, n) + 16 * a * b


@singledispatch
def stored_dtype(kernel: Kernel, n: int, dtype: str) -> str:
    """Type of the stored values of samples of n features where the user asks for ``dtype``: that type by default."""
    return dtype
