"""How fast: numba functions and fixed-order products on plain arrays. No classes, no kernels, no I/O."""

import distkern.core.jit  # noqa: F401  # takes the digest of all routines before the text of one of them is read
