"""Who is in a cluster: how covariates differ between the clusters of a partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency, false_discovery_control, kruskal

from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.typing import Array

FEWEST = 5
"""Expected numbers of samples below which the χ² approximation is doubtful."""


@dataclass(frozen=True, eq=False)
class Membership:
    """Covariates by cluster.

    Parameters
    ----------
    tests
        DataFrame with a row for each covariate: covariate, kind (categories or numbers), test, samples with a value,
        statistic, df, pvalue, adjusted (Benjamini–Hochberg over the covariates), effect (Cramér's V for categories, ε²
        for numbers, both from 0 to 1), and doubtful: whether a χ² test expects fewer than five samples in a cell.
    summary
        DataFrame with a row for each covariate and category, or number: covariate, value, and for each cluster the
        share of its samples with that category, or the median.

    See Also
    --------
    cluster_covariates : Makes it.
    """

    tests: Any
    summary: Any

    def __str__(self) -> str:
        return str(self.tests.to_string(index=False)) + "\n\n" + str(self.summary.to_string(index=False))


def cluster_covariates(labels: Any, covariates: Any, *, sample_weight: Any = None) -> Membership:
    r"""Test which covariates differ between clusters, and summarise them for each cluster.

    .. math::

        \chi^2 = \sum_{cv} \frac{(n_{cv} - e_{cv})^2}{e_{cv}}, \qquad
        H = \frac{12}{m (m + 1)} \sum_c \frac{R_c^2}{n_c} - 3 (m + 1)

    Categories: Pearson's χ² test of independence. Numbers: the rank test of Kruskal & Wallis, with ties. P-values are
    adjusted for the number of covariates by Benjamini & Hochberg. Samples without a value are left out of the test of
    their covariate. The tests hold for covariates that were not clustered.

    Parameters
    ----------
    labels
        Cluster of each sample, (m,).
    covariates
        DataFrame, (m, covariates): columns of numbers, or of texts, truth values or categories.
    sample_weight
        Number of observations that each sample stands for, such as voters, (m,), whole numbers.

    Raises
    ------
    InputError
        If there is one cluster, labels and covariates have other names or lengths, or a weight is no whole number.

    See Also
    --------
    KernelKMeans : The clusters.
    rank_markers : Features that distinguish clusters.
    group_preferences : Items that distinguish clusters of voters.

    Examples
    --------
    >>> import pandas as pd
    >>> voters = pd.DataFrame({"sex": list("fffmmm") * 5, "age": np.arange(30)})
    >>> found = cluster_covariates([0, 0, 0, 1, 1, 1] * 5, voters)
    >>> found.tests[["covariate", "test", "statistic", "pvalue", "adjusted"]].round(4).to_dict("records")[0]
    {'covariate': 'sex', 'test': 'chi-squared', 'statistic': 30.0, 'pvalue': 0.0, 'adjusted': 0.0}
    >>> print(found.summary.round(2).to_string(index=False))
    covariate  value    0    1
          sex      f  1.0  0.0
          sex      m  0.0  1.0
          age median 13.0 16.0
    """
    import pandas as pd

    from distkern.learners.partition import whole_weights
    from distkern.learners.validation import samples_of

    table = covariates if isinstance(covariates, pd.DataFrame) else pd.DataFrame(covariates)
    samples = samples_of(table)
    names, codes = encoded_labels(labels, samples)
    if len(names) < 2:
        raise InputError("all samples are in one cluster: two are needed to compare")
    counts = whole_weights(sample_weight, samples).astype(np.intp)
    rows, lines = [], []
    for column in table.columns:
        values = table[column]
        of_value = np.flatnonzero(values.notna().to_numpy() & (counts > 0))
        own, repeated = codes[of_value], counts[of_value]
        numbers = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if numbers:
            found = values.to_numpy(dtype=np.float64, na_value=np.nan)[of_value]
            rows.append({"covariate": column, "kind": "numbers"} | _rank_test(found, own, repeated))
            medians = [_median(found, repeated, own == c) for c in range(len(names))]
            lines.append({"covariate": column, "value": "median", **dict(zip(names, medians, strict=True))})
            continue
        kinds, coded = np.unique(values.to_numpy(dtype=object)[of_value].astype(str), return_inverse=True)
        crossed = np.zeros((len(names), len(kinds)), dtype=np.int64)
        np.add.at(crossed, (own, coded), repeated)
        rows.append({"covariate": column, "kind": "categories"} | _chi_squared(crossed))
        shares = crossed / np.maximum(crossed.sum(axis=1, keepdims=True), 1)
        for number, kind in enumerate(kinds):
            lines.append({"covariate": column, "value": str(kind), **dict(zip(names, shares[:, number], strict=True))})
    tests = pd.DataFrame(rows)
    known = tests["pvalue"].notna().to_numpy()
    tests["adjusted"] = np.nan
    if known.any():
        tests.loc[known, "adjusted"] = false_discovery_control(tests.loc[known, "pvalue"].to_numpy())
    order = ["covariate", "kind", "test", "samples", "statistic", "df", "pvalue", "adjusted", "effect", "doubtful"]
    return Membership(tests[order], pd.DataFrame(lines))


def _chi_squared(crossed: Array) -> dict[str, Any]:
    """Pearson's test of a table of clusters by categories; NaN where there is nothing to compare."""
    used = crossed[crossed.sum(axis=1) > 0]
    used = used[:, used.sum(axis=0) > 0]
    out: dict[str, Any] = {"test": "chi-squared", "samples": int(crossed.sum())}
    if min(used.shape) < 2:
        return out | {"statistic": np.nan, "df": 0, "pvalue": np.nan, "effect": np.nan, "doubtful": False}
    found = chi2_contingency(used, correction=False)
    effect = float(np.sqrt(found.statistic / used.sum() / (min(used.shape) - 1)))
    numbers = {"statistic": float(found.statistic), "df": int(found.dof), "pvalue": float(found.pvalue)}
    return out | numbers | {"effect": effect, "doubtful": bool((found.expected_freq < FEWEST).any())}


def _rank_test(values: Array, codes: Array, counts: Array) -> dict[str, Any]:
    """The test of Kruskal & Wallis; NaN where there is nothing to compare."""
    present = np.unique(codes)
    out: dict[str, Any] = {"test": "Kruskal-Wallis", "samples": int(counts.sum()), "df": max(0, len(present) - 1)}
    if len(present) < 2 or len(np.unique(values)) < 2:
        return out | {"statistic": np.nan, "pvalue": np.nan, "effect": np.nan, "doubtful": False}
    groups = [np.repeat(values[codes == c], counts[codes == c]) for c in present]
    found = kruskal(*groups)
    effect = float(found.statistic) / (counts.sum() - 1)
    return out | {
        "statistic": float(found.statistic),
        "pvalue": float(found.pvalue),
        "effect": effect,
        "doubtful": min(map(len, groups)) < FEWEST,
    }


def _median(values: Array, counts: Array, members: Array) -> float:
    repeated = np.repeat(values[members], counts[members])
    return float(np.median(repeated)) if len(repeated) else float("nan")
