"""Seconds of rank sums of sparse cells on one thread: markers, scores of gene sets.

``python benchmarks/rank_sums.py``: 10,000 cells, and the table in docs/benchmarks.md.
``python benchmarks/rank_sums.py --small``: a few cells, nothing written.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

from measure import alternate, measured_on, medians, one_thread, publish, table

one_thread()

import anndata  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import scanpy  # noqa: E402
from scipy import sparse, stats  # noqa: E402
from sparse_cells import GENES, cells  # noqa: E402

from distkern import rank_markers, score_sets  # noqa: E402

GROUPS, SETS, SET_GENES, MAX_RANK = 10, 50, 50, 1500
PEER_CELLS = 50
"""Cells that a package takes one after the other; its time is that of as many as ours."""

Call = Callable[[], object]


def cohort(count: int) -> anndata.AnnData:
    """Log-normalised counts of cells in groups; some genes of each group are expressed more in it."""
    rng = np.random.default_rng(1)
    X = cells(count, "log-normalised counts")
    groups = rng.permutation(np.arange(count) % GROUPS)
    own = rng.integers(0, 5 * GROUPS, GENES)  # a tenth of the genes mark one of the groups each
    X.data = X.data * np.where(own[X.indices] == np.repeat(groups, np.diff(X.indptr)), 1.5, 1.0)
    obs = pd.DataFrame({"type": pd.Categorical(groups.astype(str))}, index=[f"c{k}" for k in range(count)])
    return anndata.AnnData(sparse.csr_matrix(X), obs, pd.DataFrame(index=[f"g{k}" for k in range(GENES)]))


def scanpy_markers(adata: anndata.AnnData) -> None:
    """Wilcoxon's test with the correction for ties, of scanpy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scanpy.tl.rank_genes_groups(adata, "type", method="wilcoxon", tie_correct=True)


def scores_one_by_one(adata: anndata.AnnData, sets: dict[str, list[str]], count: int) -> None:
    """UCell's score of some cells, from ranks by SciPy."""
    positions = [adata.var_names.get_indexer(genes) for genes in sets.values()]
    for row in range(count):
        ranks = np.minimum(stats.rankdata(-adata.X[[row]].toarray()[0]), MAX_RANK + 1)
        for genes in positions:
            k = len(genes)
            1 - (ranks[genes].sum() - k * (k + 1) / 2) / (k * MAX_RANK)


def jobs(count: int) -> list[tuple[str, str, Call, str, Call | None, float]]:
    """What is timed: its name, its size, our call, the name and the call of the peer, and its part of the work."""
    adata = cohort(count)
    one = {"executor": 1, "progress": False}
    rng = np.random.default_rng(3)
    sets = {f"set {k}": list(rng.choice(adata.var_names, SET_GENES, replace=False)) for k in range(SETS)}
    few = min(PEER_CELLS, count)
    size = f"{count:,} cells × {GENES:,} genes"
    return [
        (
            f"markers of {GROUPS} groups against the rest", size,
            lambda: rank_markers(adata, "type", fold_change="log1p", **one),
            "scanpy, wilcoxon, tie_correct", lambda: scanpy_markers(adata), 1.0,
        ),
        (
            f"markers of {GROUPS} groups against each other", size,
            lambda: rank_markers(adata, "type", versus="each", fold_change="log1p", **one), "–", None, 1.0,
        ),
        (
            f"UCell of {SETS} sets of {SET_GENES} genes", size, lambda: score_sets(adata, sets, **one),
            "scipy.stats.rankdata", lambda: scores_one_by_one(adata, sets, few), few / count,
        ),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few cells, one round, nothing written")
    parser.add_argument("--cells", type=int, default=10_000, help="number of cells; nothing is written of another one")
    arguments = parser.parse_args()
    count, rounds = (60, 1) if arguments.small else (arguments.cells, 3)
    rows = []
    for name, size, ours, peer, theirs, part in jobs(count):
        calls = {"distkern": ours} if theirs is None else {"distkern": ours, peer: theirs}
        seconds = medians(alternate(calls, rounds))
        times = ["–", "–"] if theirs is None else [
            f"{seconds[peer] / part:.3g} s", f"{seconds[peer] / part / seconds['distkern']:.0f} times as long"
        ]  # fmt: skip
        rows.append([name, size, f"{seconds['distkern']:.3g} s", peer, *times])
        print("  ".join(rows[-1]), flush=True)
    if not arguments.small and count == parser.get_default("cells"):
        header = ["", "", "distkern", "peer", "its time", "it takes"]
        publish("rank sums", table(header, rows), measured_on("distkern", "numba", "numpy", "scanpy", "scipy"))


if __name__ == "__main__":
    main()
