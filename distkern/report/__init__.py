"""Self-contained HTML pages of results, and the figures of `distkern.plot` under their first names.

They need ``pip install 'distkern[report]'``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME_OF = {
    "plot_accuracy": "distkern.plot",
    "plot_calibration": "distkern.plot",
    "plot_chosen_C": "distkern.plot",
    "plot_cluster_numbers": "distkern.plot",
    "plot_confusion": "distkern.plot",
    "plot_decision_curve": "distkern.plot",
    "plot_estimates": "distkern.plot",
    "plot_gram": "distkern.plot",
    "plot_kernel_pca": "distkern.plot",
    "plot_markers": "distkern.plot",
    "plot_null": "distkern.plot",
    "plot_precision_recall": "distkern.plot",
    "plot_preferences": "distkern.plot",
    "plot_roc": "distkern.plot",
    "plot_silhouettes": "distkern.plot",
    "plot_survival": "distkern.plot",
    "plot_targets": "distkern.plot",
    "plot_witness": "distkern.plot",
    "write_cluster_report": "distkern.report.cluster_page",
    "write_report": "distkern.report.page",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'distkern.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
