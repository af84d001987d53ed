"""Count the inversions of a few long samples as plain Python, and print which bodies in `simd` were entered.

A process of its own, since the compiler is switched off by the environment.
"""

import json

import numpy as np

ROUTINES = (
    "popcount",
    "greater_bits",
    "unequal_bits",
    "inversions_within",
    "inversions_between",
    "untied_inversions",
    "tied_equals",
    "add_later_counts",
)


def watch(entered):
    """Count the calls of each routine wherever it was imported."""
    from distkern.compiled import bitplanes, block_inversions, simd

    def watched(name, body):
        def call(*arguments):
            entered[name] += 1
            return body(*arguments)

        return call

    for module in (bitplanes, block_inversions):
        for name in ROUTINES:
            if hasattr(module, name):
                setattr(module, name, watched(name, getattr(simd, name)))


def samples(rng, count, levels):
    """Two samples without ties, or with ``levels`` values."""
    if levels < count:
        return rng.integers(0, levels, (2, count)).astype(float)
    return rng.permuted(np.tile(np.arange(float(count)), (2, 1)), axis=1)


def main():
    entered = dict.fromkeys(ROUTINES, 0)
    watch(entered)
    from distkern.kernels.kendall import Concordance

    rng, values = np.random.default_rng(0), {}
    for count, levels in ((70, 70), (70, 5), (9000, 9000), (9000, 2000)):
        X = samples(rng, count, levels)
        later = (np.sign(X[:, i, None] - X[:, i + 1 :]) for i in range(count))
        values[f"{count} features, {levels} values"] = [int(Concordance()(X)[0, 1]), sum(int(x @ y) for x, y in later)]
    print(json.dumps({"entered": entered, "values": values}))


if __name__ == "__main__":
    main()
