"""A script: a computation of a user who is not root, whose store becomes read-only half-way, and then writable again.

Permissions do not apply to root, so a root process changes its user to nobody once it has loaded all modules.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
from fault_injection import KENDALL, SIDE, Disturbance, last_run, samples, tiles_done

from distkern import StoreError, compute_gram, open_gram

NOBODY = 65534


def drop_root():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def allow(store, mode):
    """Set the mode of all folders of a store."""
    for folder in (store, *(path for path in store.rglob("*") if path.is_dir())):
        folder.chmod(mode)


def main(loaded, store, executor):
    X = samples()
    compute_gram(KENDALL, X, store=loaded, tile=SIDE, executor=executor)
    open_gram(loaded).block([0], [1])
    drop_root()
    said = []
    disturb = Disturbance(10, lambda: allow(store, 0o500))
    for progress in (disturb, False):
        try:
            compute_gram(KENDALL, X, store=store, tile=SIDE, executor=executor, progress=progress)
        except StoreError as error:
            said.append(str(error))
    some = slice(0, SIDE)
    readable = np.array_equal(open_gram(store).block(some, some), KENDALL(X[some]))
    done = tiles_done(store)
    allow(store, 0o700)
    compute_gram(KENDALL, X, store=store, executor=executor)
    computed = last_run(store)["tiles_computed"]
    print(json.dumps({"said": said, "readable": readable, "done": done, "computed": computed, "user": os.geteuid()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), "serial" if sys.argv[3] == "serial" else int(sys.argv[3]))
