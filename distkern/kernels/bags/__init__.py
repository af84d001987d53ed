"""Kernels between bags: samples that are weighted sets of points."""
