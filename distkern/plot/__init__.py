"""Figures: each function draws one on matplotlib axes; they need ``pip install 'distkern[report]'``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from distkern.core.errors import MissingExtraError

_HOME_OF = {
    "plot_accuracy": "distkern.plot.accuracy",
    "plot_bag": "distkern.plot.bag",
    "plot_calibration": "distkern.plot.calibration",
    "plot_chosen_C": "distkern.plot.chosen_C",
    "plot_cluster_numbers": "distkern.plot.cluster_numbers",
    "plot_comparison": "distkern.plot.comparison",
    "plot_confusion": "distkern.plot.confusion",
    "plot_consensus": "distkern.plot.consensus",
    "plot_curves": "distkern.plot.curves",
    "plot_decision_curve": "distkern.plot.decision_curve",
    "plot_dendrogram": "distkern.plot.dendrogram",
    "plot_embedding": "distkern.plot.embedding",
    "plot_estimates": "distkern.plot.estimates",
    "plot_features": "distkern.plot.explanation",
    "plot_function": "distkern.plot.bag",
    "plot_gram": "distkern.plot.gram",
    "plot_kernel_pca": "distkern.plot.kernel_pca",
    "plot_markers": "distkern.plot.markers",
    "plot_null": "distkern.plot.null",
    "plot_pairs": "distkern.plot.explanation",
    "plot_precision_recall": "distkern.plot.precision_recall",
    "plot_preferences": "distkern.plot.preferences",
    "plot_roc": "distkern.plot.roc",
    "plot_score_grid": "distkern.plot.score_grid",
    "plot_silhouettes": "distkern.plot.silhouettes",
    "plot_survival": "distkern.plot.survival",
    "plot_targets": "distkern.plot.targets",
    "plot_witness": "distkern.plot.witness",
}

_FIRST_NAMES = {"features": "plot_features", "pairs": "plot_pairs"}
"""Names under which figures were first known."""

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    name = _FIRST_NAMES.get(name, name)
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
