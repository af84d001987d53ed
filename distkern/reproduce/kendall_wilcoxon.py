"""Section 6 of Jiao & Vert: Wilcoxon's test of the support vector machine with Kendall's kernel against all others.

The paper says that it "outperforms all the other methods at a P-value of 0.07 according to a Wilcoxon rank test", and
prints no more. It is computed here from the published accuracies of table 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import wilcoxon

from distkern.core.typing import Floats
from distkern.reproduce.kendall_accuracy import DATASETS, METHODS, published, published_average
from distkern.reproduce.tables import Row

BEST = "SVMkdtALL"
"""The method that is compared with the others."""

PRINTED = 0.07
"""The P-value of the paper: the largest of the one-sided ones."""


def rows() -> Iterator[Row]:
    """Compute the P-values of Wilcoxon's signed rank test over the ten data sets, without equal accuracies.

    Yields
    ------
    dict
        A row for each other ``method``: its ``average``; numbers of data sets on which SVMkdtALL is ``better`` and
        ``worse``; the exact ``one_sided`` P-value, with that of the ``paper`` beside the largest, and the ``two_sided``
        one; the one-sided one by the ``normal`` approximation with continuity correction; and by ``holm``, one-sided
        and adjusted for all comparisons.

    Examples
    --------
    >>> {row["method"]: round(row["one_sided"], 4) for row in rows() if row["one_sided"] > 0.05}
    {'SVMlinearTOP': 0.0654, 'SVMlinearALL': 0.0742}
    """
    others = [method for method in METHODS if method != BEST]
    differences = [_differences(method) for method in others]
    one_sided = [_p_value(each, alternative="greater") for each in differences]
    adjusted = holm(one_sided)
    for number, (method, each) in enumerate(zip(others, differences, strict=True)):
        yield {
            "method": method,
            "average": published_average(method),
            "better": int((each > 0).sum()),
            "worse": int((each < 0).sum()),
            "paper": PRINTED if one_sided[number] == max(one_sided) else None,
            "one_sided": one_sided[number],
            "two_sided": _p_value(each, alternative="two-sided"),
            "normal": _p_value(each, alternative="greater", method="asymptotic", correction=True),
            "holm": adjusted[number],
        }


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust P-values by Holm's method: the i-th smallest of m by max over j ≤ i of min(1, (m − j + 1) p₍ⱼ₎).

    Source: Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.5, 0.25, 0.0625])
    [0.5, 0.5, 0.1875]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * np.take(p_values, order)))
    return adjusted.tolist()


def _differences(method: str) -> Floats:
    """Accuracy of the best method minus that of another one, on each data set, with the two digits of the table."""
    return np.array([round(published(name, BEST) - published(name, method), 2) for name in DATASETS])


def _p_value(differences: Floats, **options: object) -> float:
    return float(wilcoxon(differences[differences != 0], **options).pvalue)
