"""The cluster that a command joins: by address, by file or by the environment, with TLS and without."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager

import dask
import numpy as np
import pytest
from marks import with_slow
from processes import GRAM, dask_processes, tiles

from distkern import Kendall, compute_gram
from distkern.engine.dask import cluster, preflight
from distkern.engine.dask.security import write_certificates


@pytest.fixture(scope="module")
def tcp(cluster_address, tmp_path_factory):
    """The scheduler file of an unencrypted cluster."""
    file = tmp_path_factory.mktemp("tcp") / "scheduler.json"
    file.write_text(json.dumps({"type": "Scheduler", "address": cluster_address}))
    return file


@pytest.fixture(scope="module")
def tls(tmp_path_factory, certificates):
    """The scheduler file of an encrypted cluster that `dask scheduler` and `dask worker` started."""
    with dask_processes(tmp_path_factory.mktemp("tls"), *certificates.options(), protocol="tls") as file:
        yield file


@pytest.fixture
def hasty(monkeypatch):
    """Do not wait half a minute for a scheduler that does not exist."""
    monkeypatch.setattr(preflight, "PATIENCE", 1.0)
    monkeypatch.setattr(preflight, "SILENCE", 0.5)


def address_of(file):
    return json.loads(file.read_text())["address"]


def joined(result, address):
    assert result.exit_code == 0, result.output
    assert f"on a Dask cluster at {address}" in result.stderr


def refused(result, *messages):
    assert result.exit_code == 3, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for text in messages:
        assert text in result.stderr


def test_a_cluster_is_found_by_file_by_address_and_by_the_environment(
    cohort, expected, tmp_path, run, tcp, monkeypatch
):
    address = address_of(tcp)
    words = [word for word in GRAM if word != "--quiet"]
    joined(run("gram", cohort, tmp_path / "file.zarr", *words, "--scheduler-file", tcp), address)
    joined(run("gram", cohort, tmp_path / "address.zarr", *words, "--scheduler", address), address)
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
    with dask.config.set(dask.config.collect_env()):
        joined(run("gram", cohort, tmp_path / "named.zarr", *words), address)
        own = run(
            "gram", cohort, tmp_path / "own.zarr", *words, "--threads", "1"
        )  # an option takes precedence over the environment
    assert "on 1 thread in this process" in own.stderr
    for name in ("file", "address", "named", "own"):
        assert tiles(tmp_path / f"{name}.zarr") == expected


@pytest.mark.slow
def test_a_cluster_is_joined_with_tls(cohort, expected, tmp_path, run, tls, certificates):
    assert address_of(tls).startswith("tls://127.0.0.1:")
    for name, words in (
        ("file", ("--scheduler-file", tls)),
        ("bare", ("--scheduler", address_of(tls).removeprefix("tls://"))),
    ):
        result = run("gram", cohort, tmp_path / f"{name}.zarr", *GRAM, *words, *certificates.options())
        assert result.exit_code == 0, result.output
        assert tiles(tmp_path / f"{name}.zarr") == expected
    with dask.config.set(environment(tls, certificates)):
        joined(run("gram", cohort, tmp_path / "named.zarr", *GRAM[:-1]), address_of(tls))
    assert tiles(tmp_path / "named.zarr") == expected


def environment(tls, certificates):
    """Dask's configuration that names a cluster and the certificates for it."""
    return {
        "scheduler-address": address_of(tls),
        "distributed.comm.tls.ca-file": str(certificates.ca),
        "distributed.comm.tls.client.cert": str(certificates.cert),
        "distributed.comm.tls.client.key": str(certificates.key),
    }


@pytest.mark.slow
def test_the_demo_runs_on_a_cluster_whose_certificates_the_environment_names(tmp_path, run, tls, certificates):
    with dask.config.set(environment(tls, certificates)):
        result = run("demo", "--out", tmp_path / "demo", "--repeats", "1")
    assert result.exit_code == 0, result.output
    assert f"on a Dask cluster at {address_of(tls)}" in result.stderr
    assert "mean accuracy" in result.stdout


@pytest.mark.slow
def test_a_local_cluster_is_encrypted_by_one_flag(cohort, expected, tmp_path, run):
    result = run("gram", cohort, tmp_path / "k.zarr", *GRAM[:-1], "--workers", "1", "--tls")
    joined(result, "tls://127.0.0.1:")
    assert tiles(tmp_path / "k.zarr") == expected


@pytest.mark.slow
def test_the_client_of_the_user_is_used_and_not_closed(tls, certificates, tmp_path):
    from distributed import Client

    X = np.random.default_rng(0).normal(size=(6, 9))
    with Client(scheduler_file=str(tls), security=certificates.security()) as client:
        gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=3, progress=False)
        assert "tls://" in gram.info()["runs"][-1]["executor"]
        assert client.status == "running"
        assert client.submit(abs, -1).result() == 1


# Refusals ----------------------------------------------------------------------------------------------------------


def test_a_missing_scheduler_file_is_refused(cohort, tmp_path, run):
    result = run("gram", cohort, tmp_path / "k.zarr", *GRAM, "--scheduler-file", tmp_path / "none.json")
    refused(result, f"there is no scheduler file '{tmp_path / 'none.json'}'", "start that first")


@pytest.mark.parametrize("text", ["", "not json", "[]", '{"type": "Scheduler"}'])
def test_another_file_than_a_scheduler_file_is_refused(cohort, tmp_path, run, text):
    (tmp_path / "x.json").write_text(text)
    result = run("gram", cohort, tmp_path / "k.zarr", *GRAM, "--scheduler-file", tmp_path / "x.json")
    refused(result, "x.json' is not a scheduler file", "`dask scheduler --scheduler-file`")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scheduler", "a:1", "--scheduler-file", "b"), "--scheduler and --scheduler-file exclude each other"),
        (("--scheduler", "a:1", "--tls-cert", "b"), "add --tls-ca-file and --tls-key"),
        (("--tls-ca-file", "a", "--tls-cert", "b", "--tls-key", "c"), "add --scheduler or --scheduler-file"),
        (("--scheduler", "a:1", "--tls"), "--tls encrypts the cluster that --workers starts"),
    ],
)
def test_options_that_exclude_each_other_are_refused(cohort, tmp_path, run, words, said):
    result = run("gram", cohort, tmp_path / "k.zarr", *GRAM, *words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_an_invalid_address_is_refused(cohort, tmp_path, run):
    result = run("gram", cohort, tmp_path / "k.zarr", *GRAM, "--scheduler", "node7")
    refused(result, "'node7' is not the address of a scheduler", "such as tls://10.0.0.1:8786")


def test_invalid_certificates_are_refused(cohort, tmp_path, run, certificates):
    words = ("gram", cohort, tmp_path / "k.zarr", *GRAM, "--scheduler", "tls://127.0.0.1:9")
    options = certificates.options()
    refused(run(*words, *options[:-1], tmp_path / "no.pem"), f"there is no file '{tmp_path / 'no.pem'}'")
    no_key = tmp_path / "no-key.pem"
    no_key.write_text("no key")
    no_key.chmod(0o600)
    refused(run(*words, *options[:-1], no_key), "cannot be used", "PEM files")
    refused(run(*words), "uses TLS: give --tls-ca-file, --tls-cert and --tls-key")


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_an_address_where_nothing_answers_is_refused(cohort, tmp_path, run, certificates, monkeypatch):
    words = ("gram", cohort, tmp_path / "k.zarr", *GRAM)
    said = "no Dask scheduler answers at 'tcp://127.0.0.1:9'"
    refused(run(*words, "--scheduler", "tcp://127.0.0.1:9"), f"{said}: Connection refused")
    (tmp_path / "stale.json").write_text('{"address": "tcp://127.0.0.1:9"}')
    refused(run(*words, "--scheduler-file", tmp_path / "stale.json"), f"{said} (written in ")
    with dask.config.set({"scheduler-address": "tcp://127.0.0.1:9"}):
        refused(run(*words), f"{said} (named by DASK_SCHEDULER_ADDRESS or Dask's configuration)")
    assert not (tmp_path / "k.zarr").exists()


@contextmanager
def listener(answer):
    """Listen on loopback, and call ``answer`` with each connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                held.append(connection)
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        for connection in held:
            connection.close()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "answer", with_slow([lambda connection: None], [socket.socket.close]), ids=["silent", "closes"]
)
def test_another_server_at_the_address_is_refused(cohort, tmp_path, run, answer):
    with listener(answer) as address:
        result = run("gram", cohort, tmp_path / "k.zarr", *GRAM, "--scheduler", address)
    refused(result, f"no Dask scheduler answers at '{address}'")


def test_a_scheduler_that_starts_late_is_waited_for(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    late = threading.Event()

    def serve():
        late.wait(10)
        with socket.create_server(("127.0.0.1", port)) as server:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"hello")

    thread = threading.Thread(target=serve)
    thread.start()
    monkeypatch.setattr(preflight.time, "sleep", lambda seconds: late.set())
    preflight.check_scheduler(f"tcp://127.0.0.1:{port}", None)
    thread.join(10)
    assert late.is_set()


def test_tls_at_one_end_only_is_refused(cohort, tmp_path, run, tcp, tls, certificates, monkeypatch):
    monkeypatch.setattr(preflight, "SILENCE", 1.0)
    words = ("gram", cohort, tmp_path / "k.zarr", *GRAM, "--scheduler")
    plain, encrypted = address_of(tcp), address_of(tls)
    refused(run(*words, encrypted.replace("tls", "tcp")), "uses TLS: write tls:// and give --tls-ca-file")
    refused(run(*words, plain.replace("tcp", "tls"), *certificates.options()), "it does not use TLS", "write tcp://")
    refused(run(*words, plain, *certificates.options()), "is not encrypted, but certificates were given")


def test_a_certificate_of_another_authority_is_refused(cohort, tmp_path, run, tls, certificates):
    other = write_certificates(tmp_path / "other")
    words = ("gram", cohort, tmp_path / "k.zarr", *GRAM, "--scheduler", address_of(tls))
    refused(run(*words, *other.options()), "its certificate was not signed by the authority of --tls-ca-file")
    other = type(other)(certificates.ca, other.cert, other.key)
    refused(run(*words, *other.options()), "it refused the certificate of --tls-cert")


def test_other_hosts_need_tls_or_insecure(cohort, tmp_path, run, monkeypatch):
    words = ("gram", cohort, tmp_path / "k.zarr", *GRAM, "--scheduler", "tcp://192.0.2.1:8786")
    said = ("'tcp://192.0.2.1:8786' is not encrypted", "`distkern deploy certificates DIR`", "--insecure", "DISTKERN_I")
    refused(run(*words), *said)
    refused(run(*words[:-1], "192.0.2.1:8786"), "not encrypted")
    (tmp_path / "s.json").write_text('{"address": "tcp://192.0.2.1:8786"}')
    refused(run(*words[:-2], "--scheduler-file", tmp_path / "s.json"), *said)
    with dask.config.set({"scheduler-address": "tcp://192.0.2.1:8786"}):
        refused(run(*words[:-2]), *said)

    def check_scheduler(address, *others):
        raise cluster.InputError(f"went on to {address}")

    monkeypatch.setattr(cluster, "check_scheduler", check_scheduler)
    refused(run(*words, "--insecure"), "went on to tcp://192.0.2.1:8786")
    monkeypatch.setenv("DISTKERN_INSECURE", "1")
    refused(run(*words), "went on to tcp://192.0.2.1:8786")
