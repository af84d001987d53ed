"""Permutation tests: nested cross-validation of permuted labels, and tests of difference on a Gram matrix.

``python benchmarks/permutations.py`` writes a table in docs/benchmarks.md. With ``--small`` it takes a few seconds, and
writes nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import measured_on, publish, table
from sklearn.pipeline import make_pipeline

from distkern import (
    KernelFisherDiscriminant,
    KernelRidge,
    KernelStandardizer,
    KernelSVC,
    hsic_test,
    mmd_test,
    permanova,
    permutation_test,
)

Case = Callable[[int, int], tuple[int, Any]]


def samples(m: int) -> tuple[np.ndarray, np.ndarray]:
    """A Gram matrix of Gaussian features, and a covariate that they do not depend on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 50))
    return X @ X.T / 50, rng.normal(size=m)


def nested(last: Any, **how: Any) -> Case:
    """5 × 5 nested folds of labels of two classes."""

    def run(m: int, permutations: int) -> tuple[int, Any]:
        K, values = samples(m)
        model = make_pipeline(KernelStandardizer(), last)
        return m, permutation_test(model, K, np.where(values > 0, "ill", "well"), permutations=permutations, **how)

    return run


def difference(test: Any, groups: int) -> Case:
    """A test of groups of equal size, or of numbers if there are no groups."""

    def run(m: int, permutations: int) -> tuple[int, Any]:
        K, values = samples(m)
        given = values if groups == 0 else np.array([f"group {k}" for k in range(groups)])[np.arange(m) % groups]
        return m, test(K, given, permutations=permutations)

    return run


CASES: dict[str, tuple[Case, int, int]] = {
    "permutation_test, Fisher's discriminant, six μ": (nested(KernelFisherDiscriminant()), 500, 10_000),
    "permutation_test, ridge regression, six α": (nested(KernelRidge()), 500, 10_000),
    "permutation_test, support vector machine, six C, 60 s": (nested(KernelSVC(), time_limit=60.0), 500, 10_000),
    "mmd_test": (difference(mmd_test, 2), 5000, 10_000),
    "permanova, four groups": (difference(permanova, 4), 5000, 10_000),
    "hsic_test, four categories": (difference(hsic_test, 4), 5000, 10_000),
    "hsic_test, numbers": (difference(hsic_test, 0), 5000, 1_000),
}


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    rows = []
    for name, (case, m, permutations) in CASES.items():
        if options.small:
            m, permutations = 60, 10
        else:
            case(60, 10)  # compiles
        began = time.perf_counter()
        size, found = case(m, permutations)
        rows.append([name, f"{size:,}", f"{found.permutations:,}", f"{time.perf_counter() - began:.3g}"])
        print(*rows[-1], flush=True)
    if not options.small:
        header = ["test", "samples", "permutations", "s"]
        publish("permutations", table(header, rows), measured_on("distkern", "numpy", "scikit-learn"))


if __name__ == "__main__":
    main()
