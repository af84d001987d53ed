"""Hosts for tests: network namespaces with their own addresses, connected by a bridge, that can be disconnected.

The bridge is in a namespace too, so that the network of this machine is neither changed nor reachable.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import NoReturn

import psutil
import pytest

PREFIX = "distkern-"
NETWORK = "10.77.0"


def skip_or_fail(reason: str) -> NoReturn:
    """Skip a test whose requirements this machine lacks; fail it instead if ``DISTKERN_RUN_ALL_TESTS`` is 1."""
    if os.environ.get("DISTKERN_RUN_ALL_TESTS") == "1":
        pytest.fail(f"DISTKERN_RUN_ALL_TESTS=1 requires this test: {reason}")
    pytest.skip(reason)


def _ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr.strip()}"
    return done.stdout


@dataclass(frozen=True)
class Host:
    """A network namespace with an address; `on` makes the command that runs a program on it."""

    name: str
    address: str
    bridge: str
    port: str

    def on(self, *command: object) -> list[str]:
        return ["ip", "netns", "exec", self.name, *map(str, command)]

    def run(self, *command: object, timeout: float = 60, **given: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.on(*command), capture_output=True, text=True, timeout=timeout, check=False, **given)  # type: ignore[call-overload]

    def disconnect(self) -> None:
        """Unplug the network: connections stay open, but no packet arrives."""
        _ip("-n", self.bridge, "link", "set", self.port, "down")

    def reconnect(self) -> None:
        _ip("-n", self.bridge, "link", "set", self.port, "up")

    def pids(self) -> list[int]:
        """All processes that run on the host."""
        return [int(pid) for pid in _ip("netns", "pids", self.name).split()]

    def kill_all(self) -> None:
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def hosts(number: int) -> Iterator[list[Host]]:
    """Make hosts with addresses from 10.77.0.1 on; kill their processes and delete them at the end of the block.

    The test is skipped without root, without ``ip``, or if the kernel does not allow namespaces.
    """
    if os.geteuid() != 0:
        skip_or_fail("making network namespaces takes root")
    if shutil.which("ip") is None:
        skip_or_fail("making network namespaces takes `ip` (Debian's iproute2)")
    _sweep()
    stem = f"{PREFIX}{os.getpid()}-"
    bridge = f"{stem}0"
    with ExitStack() as undo:
        try:
            _add_namespace(bridge, undo)
            _ip("-n", bridge, "link", "add", "bridge", "type", "bridge")
        except AssertionError as error:
            skip_or_fail(f"this machine makes no network namespaces: {error}")
        _ip("-n", bridge, "link", "set", "bridge", "up")
        made = []
        for n in range(1, number + 1):
            host = Host(f"{stem}{n}", f"{NETWORK}.{n}", bridge, f"port{n}")
            _add_namespace(host.name, undo)
            undo.callback(host.kill_all)
            _ip("-n", host.name, "link", "add", "eth0", "type", "veth", "peer", "name", host.port, "netns", bridge)
            _ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0")
            _ip("-n", host.name, "link", "set", "eth0", "up")
            _ip("-n", host.name, "route", "add", "default", "dev", "eth0")  # programs find their own address by it
            _ip("-n", bridge, "link", "set", host.port, "master", "bridge", "up")
            made.append(host)
        yield made


def _add_namespace(name: str, undo: ExitStack) -> None:
    _ip("netns", "add", name)
    undo.callback(_ip, "netns", "delete", name)
    _ip("-n", name, "link", "set", "lo", "up")


def ours() -> list[str]:
    """Names of all namespaces that tests have made and not deleted."""
    return [line.split()[0] for line in _ip("netns", "list").splitlines() if line.startswith(PREFIX)]


def _sweep() -> None:
    """Delete the namespaces of tests that were killed."""
    for name in ours():
        if not psutil.pid_exists(int(name.split("-")[1])):
            _ip("netns", "delete", name)
