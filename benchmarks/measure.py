"""Helpers of all benchmarks: a description of the machine, interleaved timing, and tables in the documentation."""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def status(field: str) -> int:
    """Read a field of /proc/self/status in bytes: VmRSS is the resident memory, VmHWM its peak.

    Unlike getrusage, the peak is that of this program, and not also of the process that started it.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def one_thread() -> None:
    """Limit every library to one thread; call this before they are imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"


def alternate(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Time the calls in turn in each round, so that disturbances of the machine affect all of them; seconds by name.

    Each is called once before the first round, so that compilation and imports are not measured.
    """
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Median of each list, by name."""
    return {name: statistics.median(values) for name, values in seconds.items()}


def machine() -> str:
    """Describe the processor and the operating system in one line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text())
        model = found[1] if found else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def versions(*packages: str) -> str:
    """List the versions of installed packages in one line."""
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def measured_on(*packages: str) -> str:
    """Make the note below a table: the machine and the versions of the packages."""
    return f"Measured on {machine()}; {versions(*packages)}."


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Make a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def report(section: str, rows: Sequence[tuple[str, str]], packages: Sequence[str], write: bool) -> None:
    """Print names and values in two columns, and publish them if ``write`` is true."""
    print("\n".join(f"{name:<40} {value}" for name, value in rows))
    if write:
        publish(section, table(["", ""], rows), measured_on(*packages))


def publish(section: str, *parts: str, page: Path = DOCS) -> None:
    """Replace the text between the two comments of a section in the page of benchmarks."""
    begin, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    before, mark, rest = page.read_text().partition(begin)
    if not mark:
        raise SystemExit(f"{page} has no section {section!r}")
    text = "\n\n".join(parts)
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")


def microseconds(seconds: float) -> str:
    """Format seconds as microseconds with three digits."""
    return f"{seconds * 1e6:.3g}"
