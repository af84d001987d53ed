"""The papers' tables: protocol, data, published numbers beside ours."""

from __future__ import annotations

from distkern.reproduce.kendall_accuracy import citation, published, published_average
from distkern.reproduce.tables import Table

__all__ = ["TABLES", "citation", "published", "published_average"]

TABLES = {
    table.name: table
    for table in (
        Table(
            "kendall-accuracy",
            "distkern.reproduce.cancer_cohorts:accuracies",
            "Jiao & Vert (2015), table 2",
            "accuracy of two classifiers with four kernels on cancer cohorts",
        ),
        Table(
            "kendall-sensitivity",
            "distkern.reproduce.cancer_cohorts:sensitivities",
            "Jiao & Vert (2015), figure 2, middle",
            "accuracy of the support vector machine against C",
        ),
        Table(
            "smoothing",
            "distkern.reproduce.smoothing:rows",
            "Jiao & Vert (2015), figure 3",
            "accuracy of the smoothed Kendall kernel against the width of the noise",
        ),
    )
}
"""The tables that `distkern reproduce` computes, by name."""
