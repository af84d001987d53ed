"""Small real data sets that ship with the package; each names its source, its citation and its orientation."""

from __future__ import annotations

from distkern.datasets.apa import load_apa
from distkern.datasets.colon import load_colon
from distkern.datasets.medulloblastoma import load_medulloblastoma
from distkern.datasets.qsar import load_qsar

__all__ = ["load_apa", "load_colon", "load_medulloblastoma", "load_qsar"]
