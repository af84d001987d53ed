import os
import signal

import pytest
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of jobs in the background; tests interrupt what they start
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "suite",
    deadline=None,
    max_examples=30,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.register_profile("uncompiled", settings.get_profile("suite"), max_examples=8)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


SLOW_EXAMPLES = "distkern/reproduce/kernlab_svm.py"
"""The module whose example is slow: compiling its solver takes ten seconds."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith(SLOW_EXAMPLES):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def cluster_address():
    """Address of a cluster: a scheduler, and two worker processes of one thread each."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs="ERROR"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def client(cluster_address):
    from distributed import Client

    with Client(cluster_address) as client:
        yield client


@pytest.fixture(scope="session")
def s3_server():
    """A server of the S3 protocol on loopback."""
    from s3 import Server

    with Server() as server:
        yield server


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The server with an empty bucket and no counted requests; its address and credentials are in the environment."""
    s3_server.empty()
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def s3_client(client, s3):
    """A client of the cluster whose workers have the credentials."""
    client.run(os.environ.update, s3.environment)
    return client
