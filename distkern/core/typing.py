"""Array types that all floors use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Spec = dict[str, Any]
"""The parameters of a kernel, or another description, as JSON."""
