"""`distkern deploy local` and the clusters that commands start: their addresses, certificates and end."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from processes import GRAM, distkern, started, surroundings, tiles, written

from distkern.engine.dask.cluster import served_cluster
from distkern.engine.dask.security import Certificates


def listening(process: psutil.Process) -> set[tuple[str, int]]:
    """Addresses on which a process and its descendants listen."""
    family = [process, *process.children(recursive=True)]
    return {
        (connection.laddr.ip, connection.laddr.port)
        for member in family
        for connection in member.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


@pytest.mark.slow
def test_a_local_cluster_listens_on_loopback_computes_and_stops(cohort, expected, tmp_path, run):
    file, folder = tmp_path / "scheduler.json", tmp_path / "tls"
    words = distkern(
        "deploy", "local", "--workers", 1, "--port", 0, "--dashboard-port", 0, "--scheduler-file", file,
        "--tls", "--certificates", folder,
    )  # fmt: skip
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": surroundings()}
    with started(words, start_new_session=True, **given) as (process,):
        lines = [process.stdout.readline() for _ in range(6)]
        assert written(file)
        found = listening(psutil.Process(process.pid))
        assert len(found) >= 5  # scheduler and its dashboard, nanny, worker and its dashboard
        assert {ip for ip, _ in found} == {"127.0.0.1"}
        assert lines[3].split()[:4] == ["join", "it", "dask", "worker"]
        assert "--dashboard-address 127.0.0.1:0" in lines[3]
        used = [word for word in lines[4].split() if word not in ("use", "it")]
        assert used[:2] == ["distkern", "gram"]
        options = used[used.index("kendall") + 1 :]
        result = run("gram", cohort, tmp_path / "k.zarr", *GRAM, *options)
        assert result.exit_code == 0, result.output
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said == "stopping the workers and the scheduler\n"
    assert not psutil.wait_procs(family, timeout=20)[1]
    assert tiles(tmp_path / "k.zarr") == expected
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_only_encrypted_ports_listen_beyond_loopback(certificates):
    with served_cluster(1, host="0.0.0.0", certificates=certificates) as cluster:
        found = listening(psutil.Process())
        beyond = {port for ip, port in found if ip != "127.0.0.1"}
        assert int(cluster.scheduler_address.rpartition(":")[2]) in beyond
        assert int(cluster.dashboard_link.split(":")[2].partition("/")[0]) not in beyond
        assert len(beyond) == 3  # scheduler, nanny and worker, but no dashboard
        assert all(address.startswith("tls://") for address in cluster.scheduler_info["workers"])


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_an_unencrypted_scheduler_beyond_loopback_is_refused(run, host):
    result = run("deploy", "local", "--host", host)
    assert result.exit_code == 3
    assert f"a scheduler at '{host}' would not be encrypted" in result.stderr
    assert "`distkern deploy certificates DIR`" in result.stderr
    assert "--insecure" in result.stderr


def test_a_port_that_is_in_use_is_refused(run, tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = run("deploy", "local", "--workers", 1, "--port", port, "--dashboard-port", 0)
    assert result.exit_code == 3
    assert result.stderr.startswith(f"Error: no scheduler can listen at 127.0.0.1:{port}")
    assert "give another --host or --port" in result.stderr


def test_certificates_are_never_overwritten(run, tmp_path):
    folder = tmp_path / "a folder"
    result = run("deploy", "certificates", folder)
    assert result.exit_code == 0
    assert result.stdout == (
        f"--tls-ca-file '{folder}/ca.pem' --tls-cert '{folder}/cert.pem' --tls-key '{folder}/key.pem'\n"
    )
    made = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(made) == {"ca.pem", "cert.pem", "key.pem"}
    again = run("deploy", "certificates", folder)
    assert again.exit_code == 3
    assert "exists: give another folder, or delete it" in again.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == made


def test_openssl_accepts_the_certificates_in_strict_mode(certificates: Certificates):
    checked = subprocess.run(
        ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", certificates.ca, certificates.cert],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout == f"{certificates.cert}: OK\n", checked.stderr
    assert Path(certificates.key).read_text().startswith("-----BEGIN PRIVATE KEY-----")


def test_tls_without_its_package_names_the_extra(run, cohort, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"] + ["cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    for words in (
        ("deploy", "certificates", tmp_path / "tls"),
        ("gram", cohort, tmp_path / "k.zarr", *GRAM, "--workers", "1", "--tls"),
    ):
        result = run(*words)
        assert result.exit_code == 3
        assert "pip install 'distkern[tls]'" in result.stderr
    assert not (tmp_path / "tls").exists()
