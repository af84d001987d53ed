"""One command on all tasks of one ``srun``: the first is the scheduler, the second the client, the rest are workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client, rpc
from distributed.security import Security

from distkern.core.errors import InputError, MissingExtraError, TaskError
from distkern.engine.dask.cluster import LOOPBACK, address_in
from distkern.engine.dask.security import Certificates

PATIENCE = 600
"""Seconds that the client waits for a first worker."""


@contextmanager
def under_srun(scheduler_file: Path, certificates: Certificates) -> Iterator[None]:
    """Run the block in the client's task when a worker is there; the other tasks do their part and never return.

    Parameters
    ----------
    scheduler_file
        A path that all tasks share, where nothing lies yet.
    certificates
        What all tasks speak TLS with.

    Raises
    ------
    InputError
        Outside of ``srun``, or with less than three tasks.
    TaskError
        If no worker comes.
    MissingExtraError
        If the package ``dask-jobqueue`` is not installed.
    """
    missing = [name for name in ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID") if name not in os.environ]
    if missing:
        raise InputError(f"this runs as the tasks of one srun, and {missing[0]} is not set: start it with `srun`")
    if int(os.environ["SLURM_NTASKS"]) < 3:
        raise InputError("a scheduler, a client and a worker take three tasks or more: raise --ntasks of the job")
    security = certificates.security()
    runner = _runner_class(security)(
        scheduler_file=str(scheduler_file),
        scheduler_options={"protocol": "tls://", "security": security, "dashboard_address": f"{LOOPBACK}:0"},
        worker_class="distributed.Nanny",
        worker_options={
            "protocol": "tls://",
            "security": security,
            "nthreads": 1,
            "memory_limit": _memory_of_a_task(),
            "dashboard_address": f"{LOOPBACK}:0",
        },
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # dask-jobqueue makes it end with exit code 0
    with runner:
        with Client(runner.scheduler_address, security=security, set_as_default=False) as client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise TaskError(f"no worker came within {PATIENCE} s: look into the output of the job") from None
        yield


def _memory_of_a_task() -> int | str:
    """Bytes that SLURM grants a task; where it says nothing, a share of the machine."""
    granted = os.environ.get("SLURM_MEM_PER_CPU")
    return "auto" if granted is None else int(granted) * 2**20 * int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))


def _runner_class(security: Security) -> Any:
    try:
        from dask_jobqueue.slurm import SLURMRunner
    except ImportError as error:
        raise MissingExtraError.of("running under srun", "slurm") from error

    class Runner(SLURMRunner):
        """Ends the scheduler through TLS, and reads its file only when it is written to the end."""

        async def get_scheduler_address(self) -> str:
            import asyncio

            while True:
                try:
                    return address_in(self.scheduler_file)
                except InputError:
                    await asyncio.sleep(0.2)

        async def before_client_start(self) -> None:
            known = security.get_connection_args("client")
            self.scheduler_comm: Any = rpc(self.scheduler_address, connection_args=known)

    return Runner
