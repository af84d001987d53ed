import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite",
    deadline=None,
    max_examples=60,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.register_profile("uncompiled", settings.get_profile("suite"), max_examples=8)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(scope="session")
def cluster_address():
    """Address of a real cluster: a scheduler and two worker processes of one thread."""
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
