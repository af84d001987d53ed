"""A Dask cluster made of the tasks of one ``srun``: task 0 is the scheduler, 1 the client, the others workers."""

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
"""Seconds that the client waits for the first worker."""


@contextmanager
def under_srun(scheduler_file: Path, certificates: Certificates) -> Iterator[None]:
    """Run the block in the client's task once there is a worker; in the other tasks the call does not return.

    Parameters
    ----------
    scheduler_file
        Path of a new file on a file system that all tasks share.
    certificates
        The certificates of all tasks.

    Raises
    ------
    InputError
        If the process is not a task of ``srun``, or there are fewer than three tasks.
    TaskError
        If no worker joins within `PATIENCE` seconds.
    MissingExtraError
        If the package ``dask-jobqueue`` is not installed.
    """
    missing = [name for name in ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID") if name not in os.environ]
    if missing:
        raise InputError(f"this must run as the tasks of one srun, but {missing[0]} is not set: start it with `srun`")
    if int(os.environ["SLURM_NTASKS"]) < 3:
        raise InputError("scheduler, client and workers need three tasks or more: raise --ntasks of the job")
    security = certificates.security()
    runner = _runner_class(security)(
        scheduler_file=str(scheduler_file),
        scheduler_options={"protocol": "tls://", "security": security, "dashboard_address": f"{LOOPBACK}:0"},
        worker_class="distributed.Nanny",
        worker_options={
            "protocol": "tls://",
            "security": security,
            "nthreads": 1,
            "memory_limit": _memory_per_task(),
            "dashboard_address": f"{LOOPBACK}:0",
        },
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # dask-jobqueue replaces it by one that exits with code 0
    with runner:
        with Client(runner.scheduler_address, security=security, set_as_default=False) as client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise TaskError(f"no worker joined within {PATIENCE} s: see the output of the job") from None
        yield


def _memory_per_task() -> int | str:
    """Bytes that SLURM grants a task; ``"auto"``, a share of the machine, if it sets no limit."""
    granted = os.environ.get("SLURM_MEM_PER_CPU")
    return "auto" if granted is None else int(granted) * 2**20 * int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))


def _runner_class(security: Security) -> Any:
    try:
        from dask_jobqueue.slurm import SLURMRunner
    except ImportError as error:
        raise MissingExtraError.of("running under srun", "slurm") from error

    class Runner(SLURMRunner):
        """Uses TLS also to stop the scheduler, and waits until the scheduler file is complete."""

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
