"""Kernels: one file per family, those between bags in a folder, the algebra in the base, and a registry of names."""
