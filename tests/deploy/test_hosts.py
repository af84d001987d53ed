"""A cluster on several hosts that communicate by TLS; network namespaces take the place of hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import hosts, ours
from processes import GRAM, distkern, started, surroundings, tiles, wait_for, written

from distkern.engine.dask.security import Certificates

ROOT = Path(__file__).parents[2]

ECHO = """
import socket
with socket.create_server(("0.0.0.0", 7)) as server:
    print("ready", flush=True)
    while True:
        connection, _ = server.accept()
        connection.sendall(b"hello")
        connection.close()
"""
HEAR = "import socket, sys; print(socket.create_connection((sys.argv[1], 7), 1).recv(5).decode())"


def test_a_host_is_disconnected_and_reconnected():
    with hosts(2) as (one, two):
        names = ours()
        assert len(names) == 3
        with started(one.on(sys.executable, "-c", ECHO), stdout=-1, text=True) as (echo,):
            assert echo.stdout.readline() == "ready\n"
            hear = (sys.executable, "-c", HEAR, one.address)
            assert two.run(*hear).stdout == "hello\n"
            one.disconnect()
            failed = two.run(*hear)
            assert failed.returncode != 0
            assert "timed out" in failed.stderr or "No route to host" in failed.stderr
            one.reconnect()
            wait_for(lambda: two.run(*hear).stdout == "hello\n", "the host did not come back")
    assert not set(ours()) & set(names)


def test_hosts_and_their_processes_are_removed_after_an_error():
    def fail():
        with hosts(1) as (host,):
            left.append(subprocess.Popen(host.on("sleep", "1000")))
            wait_for(lambda: left[0].pid in host.pids(), "no sleep", left[0])
            names.extend(ours())
            raise ZeroDivisionError

    left, names = [], []
    with pytest.raises(ZeroDivisionError):
        fail()
    assert left[0].wait(10) == -9
    assert len(names) == 2
    assert not set(ours()) & set(names)


STRANGER = """
import socket, ssl, sys
context = ssl._create_unverified_context()
with context.wrap_socket(socket.create_connection((sys.argv[1], 8786), 10)) as scheduler:
    print(scheduler.recv(1))
"""
SSH = """#!/bin/bash
host=$1
shift
exec ip netns exec "$host" bash -c "$*"
"""


@pytest.mark.slow
def test_a_cluster_and_its_client_on_four_hosts(cohort, expected, tmp_path):
    """The recipe for ssh starts the cluster, with a replacement of ssh; all hosts share the path of the store."""
    folder, log, ssh = tmp_path / "a folder", tmp_path / "log", tmp_path / "ssh"
    folder.mkdir()
    ssh.write_text(SSH)
    ssh.chmod(0o755)
    file, store, used = folder / "scheduler.json", folder / "k.zarr", Certificates.within(folder / "tls")
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "DISTKERN_SSH": str(ssh)}
    with hosts(4) as (one, two, three, four), log.open("wb") as out:
        recipe = ["bash", ROOT / "deploy" / "ssh" / "cluster.sh", folder, one.name, two.name, three.name]
        with started(recipe, stdout=out, stderr=out, env=surroundings(**path)) as (process,):
            wait_for(lambda: written(file), "no scheduler file", process)
            address = json.loads(file.read_text())["address"]
            assert address == f"tls://{one.address}:8786"
            wait_for(lambda: log.read_text().count("Registered to:") >= 2, "no workers", process)
            page = "import socket, sys; socket.create_connection((sys.argv[1], 8787), 5)"
            assert one.run(sys.executable, "-c", page, "127.0.0.1").returncode == 0
            assert "Connection refused" in four.run(sys.executable, "-c", page, one.address).stderr
            stranger = four.run(sys.executable, "-c", STRANGER, one.address)
            assert "certificate required" in stranger.stderr.lower().replace("_", " ")
            gram = distkern("gram", cohort, store, *GRAM[:-1])
            joined = four.run(*gram, "--scheduler-file", file, *used.options(), env=surroundings())
        assert process.returncode == 0
        wait_for(lambda: not [pid for host in (one, two, three) for pid in host.pids()], "something went on running")
    assert joined.returncode == 0, joined.stderr
    assert f"on a Dask cluster at {address}: 2 workers" in joined.stderr
    assert tiles(store) == expected
    for host in (two, three):
        assert f"Start worker at: tls://{host.address}:" in re.sub(" +", " ", log.read_text())
