"""Starting a Dask cluster on this machine, and joining one that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster
from distributed.security import Security

from distkern.core.errors import InputError
from distkern.engine.dask.greeting import HOW_TO_TLS, PATIENCE, greet
from distkern.engine.dask.security import (
    BOTH_WAYS,
    ENCRYPTED,
    Certificates,
    context_of,
    on_loopback,
    refuse_unencrypted,
    split_address,
    temporary_security,
)

_LEAVE_INTERRUPTIONS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""What workers run first: Ctrl-C reaches all processes of a terminal, and it is the client that ends the work."""

LOOPBACK = "127.0.0.1"


def _local_cluster(workers: int, security: Security | None, **given: Any) -> LocalCluster:
    """Start workers of one thread each; no page of theirs, which TLS does not cover, leaves this machine."""
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        worker_dashboard_address=f"{LOOPBACK}:0",
        security=security,
        protocol=None if security is None else "tls://",
        silence_logs="ERROR",
        preload=_LEAVE_INTERRUPTIONS,
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
        Bytes that each may take; an equal share of the machine's memory by default.
    tls
        Encrypt what they say to each other, with certificates that live in memory.
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
    """Join the running cluster whose scheduler listens at ``address``, and leave it running at the end of the block.

    Parameters
    ----------
    address
        ``tcp://host:port`` or ``tls://host:port``; without a protocol it is TLS where certificates are given.
    certificates
        What TLS is spoken with; by default what Dask's configuration names.
    insecure
        Join an unencrypted scheduler beyond this machine's loopback too.
    origin
        Words that say where the address came from, for errors.

    Raises
    ------
    InputError
        If no scheduler answers there, one end speaks TLS and the other does not, a certificate is refused, or the
        connection would not be encrypted.
    """
    protocol = split_address(address)[0]
    if certificates is not None and "://" not in address:
        protocol, address = "tls", f"tls://{address}"
    if certificates is not None and protocol not in ENCRYPTED:
        raise InputError(
            f"{address!r}{origin} is not encrypted, and certificates were given: {HOW_TO_TLS}, or none of them"
        )
    refuse_unencrypted(address, insecure)
    security = Security() if certificates is None else certificates.security()
    context = context_of(security)
    if protocol in ENCRYPTED and context is None:
        raise InputError(
            f"the scheduler at {address!r}{origin} speaks TLS: give --tls-ca-file, --tls-cert and --tls-key"
        )
    if protocol in ("tcp", "tls"):
        greet(address, context if protocol == "tls" else None, origin)
    try:
        client = Client(address, security=security, timeout=PATIENCE)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r}{origin}: {error}") from error
    with client:
        yield client


def address_in(file: Path) -> str:
    """Read the address from the file that a scheduler writes when it starts.

    Raises
    ------
    InputError
        If there is no such file, or it says no address.

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
            f"{str(file)!r} is not a scheduler file, which is JSON with an address: give the one that `dask scheduler "
            "--scheduler-file` writes"
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
    """Start a scheduler and worker processes that others may join, and stop them at the end of the block.

    Parameters
    ----------
    workers, memory_limit
        As in `local_client`.
    host, port
        Where the scheduler listens. The dashboard stays on loopback, for nothing protects it.
    certificates
        What TLS is spoken with; without them the cluster is not encrypted.
    insecure
        Listen unencrypted beyond loopback too.
    scheduler_file
        Where the scheduler writes its address for those who join.

    Raises
    ------
    InputError
        If it would listen unencrypted beyond loopback, or cannot listen there.
    """
    if certificates is None and not insecure and not on_loopback(host):
        raise InputError(
            f"a scheduler at {host!r} would not be encrypted and could be reached from other machines, {BOTH_WAYS}"
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
