"""Figures: each function draws one on matplotlib axes; they need ``pip install 'distkern[report]'``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from distkern.core.errors import MissingExtraError

_HOME_OF = {
    "features": "distkern.plot.explanation",
    "pairs": "distkern.plot.explanation",
    "plot_accuracy": "distkern.plot.accuracy",
    "plot_calibration": "distkern.plot.calibration",
    "plot_chosen_C": "distkern.plot.chosen_C",
    "plot_cluster_numbers": "distkern.plot.cluster_numbers",
    "plot_confusion": "distkern.plot.confusion",
    "plot_decision_curve": "distkern.plot.decision_curve",
    "plot_estimates": "distkern.plot.estimates",
    "plot_gram": "distkern.plot.gram",
    "plot_kernel_pca": "distkern.plot.kernel_pca",
    "plot_markers": "distkern.plot.markers",
    "plot_preferences": "distkern.plot.preferences",
    "plot_null": "distkern.plot.null",
    "plot_precision_recall": "distkern.plot.precision_recall",
    "plot_roc": "distkern.plot.roc",
    "plot_silhouettes": "distkern.plot.silhouettes",
    "plot_survival": "distkern.plot.survival",
    "plot_targets": "distkern.plot.targets",
    "plot_witness": "distkern.plot.witness",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        try:
            return getattr(import_module(_HOME_OF[name]), name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "matplotlib":
                raise
            raise MissingExtraError.of("A figure", "report") from error
    raise AttributeError(f"module 'distkern.plot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
