"""Kernels between bags: samples that are weighted sets of points."""

from distkern.kernels.bags.entropy import Entropy as Entropy
from distkern.kernels.bags.exponential_family import ExponentialFamily as ExponentialFamily
from distkern.kernels.bags.fitted_gaussians import Bhattacharyya as Bhattacharyya
from distkern.kernels.bags.fitted_gaussians import GeneralizedVariance as GeneralizedVariance
from distkern.kernels.bags.kernelized import KernelBhattacharyya as KernelBhattacharyya
from distkern.kernels.bags.kernelized import KernelIGV as KernelIGV
from distkern.kernels.bags.kernelized import MeanMap as MeanMap
