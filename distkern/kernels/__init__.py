"""Kernels: one file per family, kernels between bags in a folder, the algebra in the base, and what finds them by name."""
