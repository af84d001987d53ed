"""Starting a Dask cluster on this machine, and joining one that runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, LocalCluster

from distkern.core.errors import InputError

_LEAVE_INTERRUPTIONS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""What workers run first: Ctrl-C reaches all processes of a terminal, and it is the client that ends the work."""


@contextmanager
def local_client(workers: int, memory_limit: int | None = None) -> Iterator[Client]:
    """Start worker processes of one thread each on this machine, and stop them at the end of the block.

    Parameters
    ----------
    workers
        Number of worker processes.
    memory_limit
        Bytes that each may take; an equal share of the machine's memory by default.
    """
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=memory_limit or "auto",
            silence_logs="ERROR",
            preload=_LEAVE_INTERRUPTIONS,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def joined_client(address: str, timeout: float = 30) -> Iterator[Client]:
    """Join the running cluster whose scheduler listens at ``address``, and leave it running at the end of the block.

    Raises
    ------
    InputError
        If no scheduler answers there.
    """
    try:
        client = Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r}: {error}") from error
    with client:
        yield client
