"""A newcomer's path on the command line: the demo, and from two files to called patients, in processes of their own.

``python benchmarks/newcomer.py`` writes a table in docs/benchmarks.md. With ``--small`` it runs once, and writes
nothing. The first run compiles into an empty cache, as after an installation; the second finds all of it compiled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import measured_on, publish, table

from distkern.datasets import load_breast

COMMANDS = {
    "demo": "demo --out demo",
    "train": "train nki.csv --samples columns --labels clinical.csv --label er --features vdx.csv --missing "
    "drop-features --out er.model",
    "predict": "predict er.model patient.csv --samples columns --out calls.csv",
    "predict a cohort": "predict er.model vdx.csv --samples columns --out cohort.csv",
}


def write(folder: Path) -> None:
    """Write the files that a newcomer has: two cohorts with the samples in columns, labels, and one patient."""
    nki, vdx = load_breast("nki"), load_breast("vdx")
    nki.to_df().T.to_csv(folder / "nki.csv")
    nki.obs[["er"]].to_csv(folder / "clinical.csv")
    vdx.to_df().T.to_csv(folder / "vdx.csv")
    vdx.to_df().iloc[:1].T.to_csv(folder / "patient.csv")


def run(cache: Path) -> dict[str, float]:
    """Run all commands in an empty folder, with the compiled routines of a cache; seconds of each."""
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        for name, words in COMMANDS.items():
            began = time.perf_counter()
            command = [sys.executable, "-m", "distkern", *words.split()]
            environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
            subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)
            seconds[name] = time.perf_counter() - began
    return seconds


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        first = run(Path(cache))
        second = first if options.small else run(Path(cache))
    rows = [[f"`distkern {words}`", f"{first[name]:.3g}", f"{second[name]:.3g}"] for name, words in COMMANDS.items()]
    for row in rows:
        print(*row, flush=True)
    if not options.small:
        header = ["command", "first run, s", "later, s"]
        publish("newcomer", table(header, rows), measured_on("distkern", "numpy", "numba"))


if __name__ == "__main__":
    main()
