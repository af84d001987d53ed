"""Machines with addresses of their own, joined by TLS and by nothing else; network namespaces stand for them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hosts import hosts, ours
from processes import GRAM, distkern, scheduler_words, started, surroundings, tiles, wait_for, worker_words, written

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


def test_a_host_is_cut_off_and_reconnected():
    with hosts(2) as (one, two):
        names = ours()
        assert len(names) == 3
        with started(one.on(sys.executable, "-c", ECHO), stdout=-1, text=True) as (echo,):
            assert echo.stdout.readline() == "ready\n"
            hear = (sys.executable, "-c", HEAR, one.address)
            assert two.run(*hear).stdout == "hello\n"
            one.cut_off()
            failed = two.run(*hear)
            assert failed.returncode != 0
            assert "timed out" in failed.stderr or "No route to host" in failed.stderr
            one.reconnect()
            wait_for(lambda: two.run(*hear).stdout == "hello\n", "the host did not come back")
    assert not set(ours()) & set(names)


def test_hosts_and_what_runs_on_them_are_gone_after_an_error():
    def fail():
        with hosts(1) as (host,):
            left.append(subprocess.Popen(host.on("sleep", "1000")))
            wait_for(lambda: str(left[0].pid) in host.run("ip", "netns", "pids", host.name).stdout, "no sleep", left[0])
            names.extend(ours())
            raise ZeroDivisionError

    left, names = [], []
    with pytest.raises(ZeroDivisionError):
        fail()
    assert left[0].wait(10) == -9
    assert len(names) == 2
    assert not set(ours()) & set(names)


def test_scheduler_workers_and_client_on_four_hosts(cohort, expected, tmp_path, certificates):
    """The store and the scheduler's file lie on a path that all of them share."""
    file, store = tmp_path / "scheduler.json", tmp_path / "k.zarr"
    options = certificates.options()
    with hosts(4) as (one, two, three, four), open(tmp_path / "log", "wb") as log:
        given = {"stdout": log, "stderr": log, "env": surroundings()}
        scheduler = one.on(*scheduler_words(file, one.address, "tls", *options))
        workers = [host.on(*worker_words(file, host.address, tmp_path, *options)) for host in (two, three)]
        with started(scheduler, *workers, **given) as processes:
            wait_for(lambda: written(file), "no scheduler file", *processes)
            address = json.loads(file.read_text())["address"]
            assert address.startswith(f"tls://{one.address}:")
            wait_for(lambda: (tmp_path / "log").read_text().count("Registered to:") >= 2, "no workers", *processes)
            gram = distkern("gram", cohort, store, *GRAM[:-1])
            stranger = four.run(*gram, "--scheduler", address, env=surroundings())
            assert "speaks TLS: give --tls-ca-file" in stranger.stderr
            joined = four.run(*gram, "--scheduler-file", file, *options, env=surroundings())
    assert joined.returncode == 0, joined.stderr
    assert f"on a Dask cluster at {address}: 2 workers" in joined.stderr
    assert tiles(store) == expected
    said = (tmp_path / "log").read_text()
    for host in (two, three):
        assert f"tls://{host.address}:" in said


def test_deploy_local_for_another_host(cohort, expected, tmp_path):
    """Without TLS only what both ends insist on; the dashboard is nowhere to be found from outside."""
    file, store = tmp_path / "scheduler.json", tmp_path / "k.zarr"
    with hosts(2) as (one, two):
        words = distkern("deploy", "local", "--workers", 1, "--host", one.address, "--scheduler-file", file)
        with started(one.on(*words), env=surroundings(DISTKERN_INSECURE="1"), stdout=-1, stderr=-1) as (process,):
            wait_for(lambda: written(file), "no scheduler file", process)
            gram = distkern("gram", cohort, store, *GRAM, "--scheduler-file", file)
            refused = two.run(*gram, env=surroundings())
            assert refused.returncode == 3
            assert "'tcp://10.77.0.1:8786' is not encrypted" in refused.stderr
            dashboard = "import socket, sys; socket.create_connection((sys.argv[1], 8787), 5)"
            assert one.run(sys.executable, "-c", dashboard, "127.0.0.1").returncode == 0
            assert "Connection refused" in two.run(sys.executable, "-c", dashboard, one.address).stderr
            joined = two.run(*gram, "--insecure", env=surroundings())
            assert joined.returncode == 0, joined.stderr
    assert tiles(store) == expected
