"""How fast: numba functions and fixed-order products on plain arrays. No classes, no kernels, no I/O."""
