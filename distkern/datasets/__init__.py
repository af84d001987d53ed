"""Real data sets with their source and citation, which ship with the package or are downloaded; simulated rankings."""

from __future__ import annotations

from distkern.datasets.apa import load_apa
from distkern.datasets.breast import load_breast
from distkern.datasets.celltypes import load_celltypes
from distkern.datasets.colon import load_colon
from distkern.datasets.mallows import sample_mallows
from distkern.datasets.medulloblastoma import load_medulloblastoma
from distkern.datasets.mnist import fetch_mnist, load_mnist
from distkern.datasets.pbmc import load_pbmc
from distkern.datasets.qsar import load_qsar

__all__ = [
    "fetch_mnist",
    "load_apa",
    "load_breast",
    "load_celltypes",
    "load_colon",
    "load_medulloblastoma",
    "load_mnist",
    "load_pbmc",
    "load_qsar",
    "sample_mallows",
]
