"""A small disk for tests: a tmpfs that can be filled, freed, and made read-only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from hosts import skip_or_fail
from processes import wait_for

PREFIX = "distkern-"


def _run(*words: object) -> str:
    """Run a program; return its error message, empty on success."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


@dataclass(frozen=True)
class Disk:
    """A mounted file system that holds a few MiB."""

    folder: Path

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"

    def fill(self) -> None:
        """Fill the disk completely."""
        with self._filler.open("ab", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass

    def free(self) -> None:
        self._filler.unlink()

    def remount(self, mode: str) -> None:
        """Set the mode to ``"ro"`` or ``"rw"`` once no file is open for writing."""
        wait_for(lambda: not _run("mount", "-o", f"remount,{mode}", self.folder), f"cannot be mounted {mode}")


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Disk]:
    """Mount a tmpfs, and unmount it at the end of the block; the test is skipped if it cannot be mounted."""
    if os.geteuid() != 0:
        skip_or_fail("mounting takes root")
    _sweep()
    folder.mkdir()
    failed = _run("mount", "-t", "tmpfs", "-o", f"size={size}", f"{PREFIX}{os.getpid()}", folder)
    if failed:
        skip_or_fail(f"this machine mounts nothing: {failed}")
    try:
        yield Disk(folder)
    finally:
        assert not _run("umount", "--lazy", folder)


def ours() -> list[tuple[str, str]]:
    """Name and folder of all disks that tests have mounted and not unmounted."""
    mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    return [(name, folder) for name, folder, kind in mounts if kind == "tmpfs" and name.startswith(PREFIX)]


def _sweep() -> None:
    """Unmount the disks of tests that were killed."""
    for name, folder in ours():
        if not psutil.pid_exists(int(name.removeprefix(PREFIX))):
            _run("umount", "--lazy", folder)
