"""Figures and one self-contained HTML page of results; they need ``pip install 'distkern[report]'``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from distkern.core.errors import MissingExtraError

_HOME_OF = {
    "plot_gram": "distkern.plot.matrix",
    "plot_kernel_pca": "distkern.plot.matrix",
    "plot_accuracy": "distkern.plot.scores",
    "plot_chosen_C": "distkern.plot.scores",
    "plot_cluster_numbers": "distkern.plot.clusters",
    "plot_silhouettes": "distkern.plot.clusters",
    "write_cluster_report": "distkern.report.cluster_page",
    "write_report": "distkern.report.page",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        try:
            return getattr(import_module(_HOME_OF[name]), name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "matplotlib":
                raise
            raise MissingExtraError.of("The report", "report") from error
    raise AttributeError(f"module 'distkern.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
