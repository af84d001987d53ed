"""From a kernel's name to its class, and from its JSON spec back to the kernel."""

from __future__ import annotations

from typing import Any

from distkern.core.errors import InputError
from distkern.core.typing import Spec
from distkern.kernels.algebra import Normalized, Power, Product, Scaled, Sum
from distkern.kernels.bags.based import KernelBhattacharyya, KernelIGV, MeanMap
from distkern.kernels.bags.entropy import Entropy
from distkern.kernels.bags.gaussian import Bhattacharyya, ExponentialFamily, GeneralizedVariance
from distkern.kernels.base import Kernel
from distkern.kernels.kendall import Concordance, Kendall
from distkern.kernels.lowrank import LowRank
from distkern.kernels.mallows import Mallows
from distkern.kernels.partial import PartialKendall
from distkern.kernels.partial_mallows import PartialMallows
from distkern.kernels.permutation import Diffusion, EqualRank
from distkern.kernels.smoothed import SmoothedKendall
from distkern.kernels.vectors import Gaussian, Linear, Polynomial
from distkern.kernels.weighted import WeightedKendall

KERNELS: dict[str, type[Kernel]] = {
    cls.name: cls
    for cls in (
        Concordance,
        Kendall,
        Mallows,
        PartialKendall,
        PartialMallows,
        SmoothedKendall,
        EqualRank,
        Diffusion,
        WeightedKendall,
        Linear,
        Polynomial,
        Gaussian,
        LowRank,
        Bhattacharyya,
        GeneralizedVariance,
        ExponentialFamily,
        MeanMap,
        KernelIGV,
        KernelBhattacharyya,
        Entropy,
        Sum,
        Product,
        Scaled,
        Power,
        Normalized,
    )
}


def from_spec(spec: Spec) -> Kernel:
    """Build the kernel that ``kernel.spec()`` describes.

    Raises
    ------
    InputError
        If the name or a parameter is unknown.

    Examples
    --------
    >>> from_spec({"kernel": "kendall", "ties": "b"})
    Kendall(ties='b')
    """
    params: dict[str, Any] = dict(spec)
    name = params.pop("kernel", None)
    if not isinstance(name, str) or name not in KERNELS:
        raise InputError(f"no kernel is called {name!r}; there are {', '.join(sorted(KERNELS))}")
    params = {key: from_spec(value) if isinstance(value, dict) else value for key, value in params.items()}
    try:
        return KERNELS[name](**params)
    except TypeError as error:
        raise InputError(f"the kernel {name!r} cannot be built from {params}: {error}") from error
