"""Change one place of the package at a time, and see whether the tests of that module fail.

Each change is made in a copy of the package, and tested by the test file that mirrors the module, together with the
module's own examples. Results are lines of JSON in a file, so that an interrupted run goes on where it stopped. They
count as long as the module has not changed since. Changes are drawn with a seed: the same seed draws the same ones.

    python benchmarks/mutations.py --out results.jsonl                    # 200 changes; about an hour on two cores
    python benchmarks/mutations.py --out results.jsonl --summary          # the table, and what survived
    python benchmarks/mutations.py --out results.jsonl --equivalent ID REASON
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from measure import table

ROOT = Path(__file__).parents[1]
ROOMS = ("store", "gram", "io", "kernels", "solvers", "learners")
COPIED = ("distkern", "tests", "docs", "deploy", "benchmarks", "pyproject.toml", "README.md")
STATUSES = ("caught", "survived", "timed out", "equivalent", "untested")
PYTEST = ("-q", "-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")  # zarr is preloaded
PRELOADED = [
    "hypothesis",
    "numba",
    "numpy",
    "pandas",
    "pytest",
    "scipy.sparse.linalg",
    "scipy.stats",
    "sklearn",
    "zarr",
]

ENDED = "the interpreter ended"

TESTED_BY = {
    "store/checksums": ("store/test_arrays.py", "build/test_append.py"),
    "store/documents": ("store/test_layout.py", "store/test_manifest.py"),
    "store/tiles": ("store/test_arrays.py", "gram/test_handle.py", "build/test_append.py"),
    "compiled/mixtures": ("kernels/bags/test_fitted_gaussians.py", "kernels/bags/test_exponential_family.py"),
    "gram/base": ("gram/test_handle.py",),
    "gram/cross": ("gram/test_handle.py",),
    "gram/nystrom": ("build/test_landmarks.py",),
    "gram/open": ("gram/test_handle.py", "build/test_landmarks.py"),
    "gram/verify": ("cli/test_verify.py",),
    "io/format": ("io/test_registry.py",),
    "io/formats/dask_arrays": ("io/test_source.py", "io/test_registry.py"),
    "io/formats/pandas_frames": ("io/test_source.py", "io/test_registry.py"),
    "io/formats/rankings": ("io/test_source.py", "io/test_registry.py"),
    "io/formats/scipy_sparse": ("io/test_source.py", "io/test_registry.py"),
    "io/formats/stored_bags": ("io/test_source.py", "io/test_registry.py", "io/test_bags.py"),
    "io/formats/text_tables": ("io/test_source.py", "io/test_registry.py", "io/test_tables.py"),
    "io/points": ("io/test_bags.py", "cli/test_bags.py"),
    "kernels/bags/explicit_features": ("kernels/bags/test_kernelized.py", "kernels/test_lowrank.py"),
    "kernels/bags/pooled_points": ("kernels/bags/test_entropy.py", "kernels/bags/test_kernelized.py"),
    "kernels/partial_mallows": ("kernels/test_partial.py",),
    "solvers/distances": ("solvers/test_lloyd.py", "learners/test_partition.py"),
    "solvers/dual": ("solvers/test_smo.py", "learners/test_svm.py"),
    "solvers/fisher": ("learners/test_discriminant.py",),
    "solvers/neighbors": ("learners/test_neighbors.py",),
    "solvers/partition": ("learners/test_partition.py",),
    "solvers/working_set": ("solvers/test_smo.py", "learners/test_svm.py"),
    "learners/base": ("learners/test_ridge.py", "learners/test_svm.py"),
    "learners/folds": ("learners/test_selection.py",),
    "learners/linear_system": ("learners/test_ridge.py",),
    "learners/memory": ("learners/test_ridge.py", "learners/test_svm.py"),
    "learners/multiclass": ("learners/test_svm.py",),
    "learners/nested": ("learners/test_selection.py",),
    "learners/newton": ("learners/test_cox.py", "learners/test_logistic.py", "learners/test_survival_svm.py"),
    "learners/pair_estimator": ("learners/test_top_pairs.py", "learners/test_pair_transformers.py"),
    "learners/pair_selection": ("learners/test_pair_selection.py", "learners/test_top_pairs.py"),
    "learners/registry": ("learners/test_persist.py",),
}
"""Tests of modules that have no file of their own, or are tested in others too."""

SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
"""What each operator becomes."""


@dataclass(frozen=True)
class Mutation:
    """One change of one place.

    Parameters
    ----------
    path, digest
        The module, from the root of the repository, and a digest of its text.
    line, start, stop
        Line number from 1, and offsets in the UTF-8 text, of what is replaced.
    before, after
        What is replaced, and by what.
    """

    path: str
    digest: str
    line: int
    start: int
    stop: int
    before: str
    after: str

    @property
    def id(self) -> str:
        """Module, offset, and a digest of the change: what identifies it."""
        change = hashlib.sha256(f"{self.digest} {self.start} {self.after}".encode()).hexdigest()
        return f"{self.path}:{self.line}:{change[:8]}"

    def applied(self, text: bytes) -> bytes:
        """The text of the module with the change."""
        return text[: self.start] + self.after.encode() + text[self.stop :]


@dataclass
class Result:
    """What a mutation led to; ``by`` is the first test that failed, or the reason why it is equivalent."""

    id: str
    status: str
    by: str = ""
    seconds: float = 0.0
    mutation: dict[str, Any] = field(default_factory=dict)


# Drawing --------------------------------------------------------------------------------------------------------------


def changes(node: ast.AST) -> Iterator[str]:
    """Source of all that may stand in the place of a node."""
    match node:
        case ast.Compare(ops=[op]) | ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in SWAPPED:
            other = SWAPPED[type(op)]()
            swapped = {"ops": [other]} if isinstance(node, ast.Compare) else {"op": other}
            yield f"({ast.unparse(changed(node, **swapped))})"
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() | float() as value):
            yield str(value + 1 if isinstance(value, int) else 1.5 * value or 1.0)
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "pass"
        case ast.AugAssign(op=op) if type(op) in SWAPPED:
            yield ast.unparse(changed(node, op=SWAPPED[type(op)]()))


def changed(node: ast.AST, **fields: object) -> ast.AST:
    """Copy a node with other fields."""
    return type(node)(**{**{name: getattr(node, name) for name in node._fields}, **fields})


def places(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that may be changed: no annotations, texts, or messages of errors."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            yield child
            if not isinstance(child, ast.Raise):
                yield from places(child)


def mutations_of(root: Path, path: str) -> Iterator[Mutation]:
    """All mutations of a module."""
    text = (root / path).read_bytes()
    digest = hashlib.sha256(text).hexdigest()[:16]
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    for node in places(ast.parse(text)):
        for after in changes(node):
            start = begins[node.lineno - 1] + node.col_offset
            stop = begins[node.end_lineno - 1] + node.end_col_offset
            yield Mutation(path, digest, node.lineno, start, stop, text[start:stop].decode(), after)


def drawn(root: Path, rooms: Sequence[str], count: int, seed: int) -> list[Mutation]:
    """Draw mutations of the modules of some rooms, all with the same probability."""
    modules = sorted(
        path.relative_to(root).as_posix() for room in rooms for path in (root / "distkern" / room).rglob("*.py")
    )
    every = [mutation for path in modules for mutation in mutations_of(root, path)]
    return random.Random(seed).sample(every, min(count, len(every)))


def tests_of(root: Path, path: str) -> list[str]:
    """The tests of a module: its own examples, the file that mirrors it, and the ones named above; else its folder."""
    module = path.removeprefix("distkern/").removesuffix(".py")
    folder, name = os.path.split(module)
    mirror = f"{folder}/test_{name}.py"
    own = [mirror] if (root / "tests" / mirror).exists() else []
    return [path, *(f"tests/{file}" for file in (*own, *TESTED_BY.get(module, ())) or (folder,))]


# Testing --------------------------------------------------------------------------------------------------------------


class FirstFailure:
    """A plugin of pytest that remembers the first test that failed."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember a failed test."""
        if report.failed and not self.name:
            self.name = report.nodeid

    pytest_collectreport = pytest_runtest_logreport


def run_tests(root: str, words: Sequence[str], compiled: str | None, answer: Any) -> None:
    """Run pytest in this new process on the package in ``root``; send its exit code and the first failure."""
    os.setsid()  # what the tests start ends with them
    os.chdir(root)
    os.environ |= {"PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    if compiled is not None:
        os.environ["NUMBA_CACHE_DIR"] = compiled
    sys.dont_write_bytecode = True
    sys.path.insert(0, root)
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    import pytest

    first = FirstFailure()
    code = pytest.main([*PYTEST, *words], plugins=[first])
    answer.send((int(code), first.name))


def tested(root: Path, words: Sequence[str], seconds: float, compiled: str | None) -> tuple[int | None, str]:
    """Exit code of pytest, None if it took too long, and the first test that failed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    answers, answer = context.Pipe(duplex=False)
    process = context.Process(target=run_tests, args=(str(root), list(words), compiled, answer))
    process.start()
    answer.close()
    try:
        return answers.recv() if answers.poll(seconds) else (None, "")
    except EOFError:  # the interpreter crashed
        return -1, ENDED
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.kill()
        process.join()


@cache
def fault_of(root: Path, words: Sequence[str], seconds: float) -> str:
    """Why tests cannot judge a change: without any change, they fail or take too long; empty if they can."""
    code, by = tested(root, words, seconds, None)
    if code == 0:
        return ""
    return (
        f"{' '.join(words)} took more than {seconds:g} s without a change" if code is None else f"failed before: {by}"
    )


def examined(root: Path, mutation: Mutation, seconds: float) -> Result:
    """Make a change in a copy of the package, test it, and undo it."""
    file, began = root / mutation.path, time.monotonic()
    text, status = file.read_bytes(), file.stat()
    words = tests_of(root, mutation.path)
    if reason := fault_of(root, tuple(words), seconds):
        return Result(mutation.id, "untested", reason, 0.0, asdict(mutation))
    try:
        file.write_bytes(mutation.applied(text))
        with tempfile.TemporaryDirectory() as empty:
            compiled = mutation.path.startswith("distkern/compiled/")
            code, by = tested(root, words, seconds, empty if compiled else None)
    finally:
        file.write_bytes(text)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # Python's and Numba's caches compare it
    if code is None or by == ENDED:
        fault_of.cache_clear()  # the machine may have changed, or be busier
    if reason := fault_of(root, tuple(words), seconds):
        return Result(mutation.id, "untested", reason, 0.0, asdict(mutation))
    found = "timed out" if code is None else "survived" if code == 0 else "caught"
    return Result(mutation.id, found, by, round(time.monotonic() - began, 1), asdict(mutation))


def copied(folder: Path) -> Path:
    """Copy the package and its tests, with their compiled code."""
    root = folder / "copy"
    root.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("*.zarr"))
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, root / name)
    return root


# Results --------------------------------------------------------------------------------------------------------------


def read(file: Path) -> dict[str, Result]:
    """Results by identifier; later lines replace earlier ones, and a line that was cut off counts for nothing."""
    found: dict[str, Result] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        with suppress(json.JSONDecodeError):
            result = Result(**json.loads(line))
            found[result.id] = result
    return found


def write(file: Path, result: Result) -> None:
    """Append a result."""
    with file.open("a") as lines:
        lines.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")


def summary(results: Iterable[Result]) -> str:
    """A table of rooms and statuses, and the list of what no test noticed."""
    results = list(results)
    counts = Counter((result.mutation["path"].split("/")[1], result.status) for result in results)
    rooms = sorted({room for room, _ in counts})
    rows = [[room, *(str(counts[room, status]) for status in STATUSES)] for room in rooms]
    rows.append(["all", *(str(sum(counts[room, status] for room in rooms)) for status in STATUSES)])
    lines = [table(["", *STATUSES], rows)]
    for result in sorted(results, key=lambda result: result.id):
        if result.status != "caught":
            where, what = result.id, result.mutation
            lines += ["", f"{result.status}: {where} {result.by}", f"  - {what['before']}", f"  + {what['after']}"]
    return "\n".join(lines)


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", default=ROOMS, help=f"folders of the package; default: {' '.join(ROOMS)}")
    parser.add_argument("--out", type=Path, default=Path("mutations.jsonl"), help="file of results, which is continued")
    parser.add_argument("--count", type=int, default=200, help="number of mutations; default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw; default: %(default)s")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for each mutation; default: %(default)s")
    parser.add_argument("--again", action="store_true", help="test what survived or timed out once more")
    parser.add_argument("--summary", action="store_true", help="print the results so far, and test nothing")
    parser.add_argument(
        "--equivalent", nargs=2, metavar=("ID", "REASON"), help="note that a mutation changes no result"
    )
    parser.add_argument("--small", action="store_true", help="one mutation, of one module")
    return parser.parse_args(words)


def run(chosen: argparse.Namespace) -> None:
    """Test the drawn mutations that have no result yet."""
    rooms, count = (("solvers",), 1) if chosen.small else (chosen.rooms, chosen.count)
    known = {} if chosen.small else read(chosen.out)
    with tempfile.TemporaryDirectory() as folder:
        root = copied(Path(folder))
        for number, mutation in enumerate(drawn(root, rooms, count, chosen.seed), 1):
            before = known.get(mutation.id)
            if before and before.status not in ("untested", *(("survived", "timed out") if chosen.again else ())):
                continue
            result = examined(root, mutation, chosen.seconds)
            print(f"{number}/{count} {result.status} in {result.seconds} s: {result.id} {result.by}", flush=True)
            known[result.id] = result
            if not chosen.small:
                write(chosen.out, result)
    print(summary(known.values()))


def main(words: Sequence[str] | None = None) -> None:
    """Do what the command line says."""
    chosen = options(words)
    if chosen.equivalent:
        name, reason = chosen.equivalent
        known = read(chosen.out)
        if name not in known:
            sys.exit(f"{chosen.out} has no result of {name!r}: copy the whole ID from the summary")
        write(chosen.out, replace(known[name], status="equivalent", by=reason))
    elif chosen.summary:
        print(summary(read(chosen.out).values()))
    else:
        run(chosen)


if __name__ == "__main__":
    main()
