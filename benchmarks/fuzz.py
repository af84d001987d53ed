"""Call everything with good, odd and bad input, damage files, and write odd tables.

A case passes if its answer is right, compared with a naive computation on what the input means, or if it is an error of
distkern, a ValueError or a TypeError whose sentence says what was wrong. Everything is drawn with a seed; a case that
fails is printed with the words that repeat it.

    python benchmarks/fuzz.py                              # 3,000 calls, 300 damaged files, 1,000 tables
    python benchmarks/fuzz.py --seed 7 --only calls        # other cases of one kind
    python benchmarks/fuzz.py --seed 7 --case calls:1234   # one case, with its traceback
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]  # the naive computations of the tests

import numpy as np  # noqa: E402
from fuzzers import calls, damage, tables  # noqa: E402
from fuzzers.judge import Case, problem_of  # noqa: E402

KINDS = {"calls": (calls.draw, 3_000), "damage": (damage.draw, 300), "tables": (tables.draw, 1_000)}
"""How a case of each kind is drawn, and how many there are."""

SMALL = {"calls": 150, "damage": 30, "tables": 80}


@dataclass(frozen=True)
class Finding:
    """A case that failed."""

    name: str
    what: str
    problem: str


def drawn(kind: str, number: int, seed: int, folder: Path) -> Case:
    """Draw one case; it may write into ``folder``."""
    draw, _ = KINDS[kind]
    rng = np.random.default_rng([seed, list(KINDS).index(kind), number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of containers that are not recommended
        return draw(rng, folder)


def findings(kind: str, count: int, seed: int, folder: Path) -> Iterator[Finding]:
    """Run the cases of a kind; yield those that fail."""
    for number in range(count):
        own = folder / f"{kind}-{number}"
        own.mkdir()
        case = drawn(kind, number, seed, own)
        problem = problem_of(case)
        if problem is not None:
            yield Finding(f"{kind}:{number}", case.what, problem)
        shutil.rmtree(own)


def repeat(name: str, seed: int, folder: Path) -> None:
    """Run one case again, and let its error through."""
    kind, _, number = name.partition(":")
    case = drawn(kind, int(number), seed, folder)
    print(case.what)
    case.act()


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="seed of all cases; default: %(default)s")
    parser.add_argument("--only", choices=list(KINDS), help="cases of one kind")
    parser.add_argument("--count", type=int, help="number of cases of each kind; default: 3,000, 300 and 1,000")
    parser.add_argument("--case", metavar="KIND:NUMBER", help="one case, with its traceback")
    parser.add_argument("--small", action="store_true", help="few cases")
    return parser.parse_args(words)


def run(chosen: Any, folder: Path) -> list[Finding]:
    """Run the chosen cases; print those that fail and a summary."""
    found: list[Finding] = []
    for kind, (_, usual) in KINDS.items():
        if chosen.only not in (None, kind):
            continue
        count = chosen.count or (SMALL[kind] if chosen.small else usual)
        began, before = time.monotonic(), len(found)
        for finding in findings(kind, count, chosen.seed, folder):
            found.append(finding)
            print(f"{finding.name}: {finding.what}\n    {finding.problem}", flush=True)
        print(f"{kind}: {len(found) - before} of {count} cases failed, {time.monotonic() - began:.0f} s", flush=True)
    for problem, number in Counter(finding.problem.split(": ")[0] for finding in found).most_common():
        print(f"{number:>5} {problem}")
    if found:
        print(f"repeat one with: python benchmarks/fuzz.py --seed {chosen.seed} --case {found[0].name}")
    return found


def main(words: Sequence[str] | None = None) -> list[Finding]:
    """Do what the command line says; return the cases that failed."""
    chosen = options(words)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if chosen.case:
                repeat(chosen.case, chosen.seed, Path(folder))
                return []
            return run(chosen, Path(folder))
        finally:
            damage.forget()


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
