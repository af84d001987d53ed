"""Kernels between digits as sets of pixels: time of a pair, and of an entry in the table of the paper.

``python benchmarks/bags.py``: 40 to 80 pixels, and the table in docs/benchmarks.md.
``python benchmarks/bags.py --small``: a few seconds, nothing written.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from measure import measured_on, microseconds, publish, table

from distkern import Gaussian, LowRank
from distkern.datasets import load_mnist
from distkern.io.source import as_source
from distkern.kernels.base import prepare_source
from distkern.reproduce.semigroup import RANK, REPEATS, SIGMA, balanced, drawn, measured, of_points

IMAGES = 250
"""Number of images in the measured tile."""

OF_THE_PAPER = {40: (1000, 1500), 60: (2400, 3600), 80: (3200, 5500)}
"""Minutes for k-IGV and for Bhattacharyya's kernel in table 1, by number of pixels."""


def a_pair(kernel: Any, bags: Any) -> tuple[float, float]:
    """Seconds to prepare one bag, and to compute one pair of a diagonal tile, on one thread."""
    resolved = kernel.resolve(bags)
    few = prepare_source(resolved, as_source(bags[:4]))
    resolved.tile(few, few)  # compiles
    began = time.thread_time()
    block = prepare_source(resolved, as_source(bags))
    middle = time.thread_time()
    resolved.tile(block, block)
    m = len(bags)
    return (middle - began) / m, (time.thread_time() - middle) / (m * (m + 1) / 2)


def off_by(kernel: Any, exact: Any, bags: Any) -> tuple[str, str]:
    """Root mean square error of the entries, and the median error bound if the kernel has one."""
    upper = np.triu_indices(len(bags), 1)
    error = (kernel(bags) - exact(bags))[upper]
    bound = f"{np.median(kernel.error_bound(bags)[upper]):.2g}" if hasattr(kernel, "error_bound") else "–"
    return f"{np.sqrt(np.mean(error**2)):.1e}", bound


def rows_of(pixels: int, small: bool) -> list[list[str]]:
    """Rows of the table for one number of pixels per image."""
    images, digits = load_mnist()
    if small:
        images, digits = balanced(images, digits, 4)
    sample = drawn(images, digits, pixels, 0)
    some, rows = sample.bags[: min(IMAGES, len(digits))], []
    exact, low = of_points(Gaussian(SIGMA)), of_points(LowRank(Gaussian(SIGMA), RANK))
    for name, minutes in zip(("k-IGV", "Bhattacharyya, r = 10"), OF_THE_PAPER[pixels], strict=True):
        for how, kernel in (("exact", exact[name]), (f"rank {RANK}", low[name])):
            a_bag, of_a_pair = a_pair(kernel, some)
            found, gram, machines = measured(kernel, sample.bags, sample.labels, 1 if small else REPEATS, 0)
            errors = ("", "") if how == "exact" else off_by(kernel, exact[name], some)
            row = [f"{pixels}", name, how, f"{a_bag * 1e3:.2g} ms", microseconds(of_a_pair)]
            row += [f"{gram:.1f} s", f"{machines:.1f} s", f"{3 * (gram + machines):.0f} s"]
            rows.append([*row, f"{minutes:,} min" if how == "exact" else "", *errors])
            print(*rows[-1], f"{found.mean():.1f}%", sep="  ", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few images, nothing written")
    small = parser.parse_args().small
    rows = [row for pixels in ((40,) if small else OF_THE_PAPER) for row in rows_of(pixels, small)]
    if small:
        return
    header = ["pixels", "kernel", "", "a bag", "a pair, μs", "a matrix", "its machines", "an entry", "the paper's"]
    note = (
        "A bag and a pair in processor time of one thread, all else in seconds of the clock on all cores. A matrix is "
        "of 1,000 images, 500,500 pairs; its machines are those of 15 splits; an entry of table 1 is three of both. "
        "Off by: root mean square of an entry, and the median bound of the error of its logarithm."
    )
    publish("bags", table([*header, "off by", "bound"], rows), note, measured_on("distkern", "numba", "numpy"))


if __name__ == "__main__":
    main()
