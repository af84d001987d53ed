"""Start a Dask cluster on this machine, or join a running one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster
from distributed.security import Security

from distkern.core.errors import InputError
from distkern.engine.dask.preflight import HOW_TO_TLS, PATIENCE, check_scheduler
from distkern.engine.dask.security import (
    ENCRYPTED,
    REMEDY,
    Certificates,
    context_of,
    on_loopback,
    refuse_unencrypted,
    split_address,
    temporary_security,
)

_IGNORE_SIGINT = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""Preloaded by workers: Ctrl-C reaches all processes of a terminal, but only the client must react to it."""

LOOPBACK = "127.0.0.1"


def _local_cluster(workers: int, security: Security | None, **given: Any) -> LocalCluster:
    """Start workers of one thread each, with their dashboards on loopback, since TLS does not cover dashboards."""
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        worker_dashboard_address=f"{LOOPBACK}:0",
        security=security,
        protocol=None if security is None else "tls://",
        silence_logs="ERROR",
        preload=_IGNORE_SIGINT,
        **given,
    )


@contextmanager
def local_client(workers: int, memory_limit: int | None = None, *, tls: bool = False) -> Iterator[Client]:
    """Start worker processes of one thread each on this machine, and stop them at the end of the block.

    Parameters
    ----------
    workers
        Number of worker processes.
    memory_limit
        Bytes that each may use; by default an equal share of the machine's memory.
    tls
        Encrypt connections, with temporary certificates in memory.
    """
    security = temporary_security() if tls else None
    with (
        _local_cluster(
            workers, security, host=LOOPBACK, dashboard_address=f"{LOOPBACK}:0", memory_limit=memory_limit or "auto"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def joined_client(
    address: str, *, certificates: Certificates | None = None, insecure: bool = False, origin: str = ""
) -> Iterator[Client]:
    """Connect to a running cluster, and leave it running at the end of the block.

    Parameters
    ----------
    address
        ``tcp://host:port`` or ``tls://host:port`` of the scheduler. Without a protocol it is TLS if certificates are
        given, else tcp.
    certificates
        The certificates for TLS; by default the certificates of Dask's configuration.
    insecure
        Also join an unencrypted scheduler that is not on this machine's loopback.
    origin
        Where the address was found, for error messages.

    Raises
    ------
    InputError
        If no scheduler answers, only one end uses TLS, a certificate is refused, or the connection would not be
        encrypted.
    """
    protocol = split_address(address)[0]
    if certificates is not None and "://" not in address:
        protocol, address = "tls", f"tls://{address}"
    if certificates is not None and protocol not in ENCRYPTED:
        raise InputError(
            f"{address!r}{origin} is not encrypted, but certificates were given: {HOW_TO_TLS}, or give no certificates"
        )
    refuse_unencrypted(address, insecure)
    security = Security() if certificates is None else certificates.security()
    context = context_of(security)
    if protocol in ENCRYPTED and context is None:
        raise InputError(f"the scheduler at {address!r}{origin} uses TLS: give --tls-ca-file, --tls-cert and --tls-key")
    if protocol in ("tcp", "tls"):
        check_scheduler(address, context if protocol == "tls" else None, origin)
    try:
        client = Client(address, security=security, timeout=PATIENCE)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r}{origin}: {error}") from error
    with client:
        yield client


def address_in(file: Path) -> str:
    """Read the scheduler address from a scheduler file.

    Raises
    ------
    InputError
        If there is no such file, or it contains no address.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "scheduler.json")
    ...     _ = file.write_text('{"type": "Scheduler", "address": "tcp://127.0.0.1:8786"}')
    ...     address_in(file)
    'tcp://127.0.0.1:8786'
    """
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["address"])
    except FileNotFoundError:
        raise InputError(
            f"there is no scheduler file {str(file)!r}: a scheduler writes it when it starts, so start that first, or "
            "check the path"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read the scheduler file {str(file)!r}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{str(file)!r} is not a scheduler file, which is JSON with an address: give the file that `dask "
            "scheduler --scheduler-file` writes"
        ) from error


@contextmanager
def served_cluster(
    workers: int,
    memory_limit: int | None = None,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    dashboard_port: int = 0,
    certificates: Certificates | None = None,
    insecure: bool = False,
    scheduler_file: Path | None = None,
) -> Iterator[LocalCluster]:
    """Start a scheduler that others can join, with worker processes, and stop them at the end of the block.

    Parameters
    ----------
    workers, memory_limit
        As in `local_client`.
    host, port
        Where the scheduler listens. The dashboard listens on loopback only, since it has no authentication.
    certificates
        The certificates for TLS; without them the cluster is not encrypted.
    insecure
        Listen on other addresses than loopback also without encryption.
    scheduler_file
        Where the scheduler writes its address for clients and workers.

    Raises
    ------
    InputError
        If it would listen without encryption on another address than loopback, or cannot listen there.
    """
    if certificates is None and not insecure and not on_loopback(host):
        raise InputError(
            f"a scheduler at {host!r} would not be encrypted and could be reached from other machines, {REMEDY}"
        )
    security = None if certificates is None else certificates.security()
    try:
        cluster = _local_cluster(
            workers,
            security,
            host=host,
            scheduler_port=port,
            dashboard_address=f"{LOOPBACK}:{dashboard_port}",
            memory_limit=memory_limit or "auto",
            scheduler_kwargs={"scheduler_file": None if scheduler_file is None else str(scheduler_file)},
        )
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"no scheduler can listen at {host}:{port} ({error}): give another --host or --port"
        ) from error
    with cluster:
        yield cluster
