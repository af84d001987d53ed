"""Count the inversions of a few long samples as plain Python, and print which bodies in `simd` were entered.

A process of its own, since the compiler is switched off by the environment.
"""

import json

import numpy as np

from distkern.compiled import bitplanes, block_inversions, simd

entered = dict.fromkeys(
    ("popcount", "greater_bits", "unequal_bits", "inversions_within", "inversions_between", "add_later_counts"), 0
)


def watched(name, body):
    def call(*arguments):
        entered[name] += 1
        return body(*arguments)

    return call


for where in (bitplanes, block_inversions):
    for routine in entered:
        if hasattr(where, routine):
            setattr(where, routine, watched(routine, getattr(simd, routine)))

from distkern.kernels.kendall import Concordance  # noqa: E402  (after the bodies are watched)

rng = np.random.default_rng(0)
values = {}
for number, count, levels in (
    ("few", 70, 70),
    ("few with ties", 70, 5),
    ("many", 9000, 9000),
    ("many with ties", 9000, 40),
):
    X = (
        rng.integers(0, levels, (2, count)).astype(float)
        if levels < count
        else rng.permuted(np.tile(np.arange(float(count)), (2, 1)), axis=1)
    )
    signs = sum(int((np.sign(X[0, i] - X[0, i + 1 :]) * np.sign(X[1, i] - X[1, i + 1 :])).sum()) for i in range(count))
    values[number] = [int(Concordance()(X)[0, 1]), signs]
print(json.dumps({"entered": entered, "values": values}))
