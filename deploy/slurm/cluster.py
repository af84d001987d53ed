"""Computes a Gram matrix on SLURM jobs of Dask workers.

    python cluster.py cohort.npy cohort.zarr

Run it where `sbatch` works and where it may run as long as the work takes. Both paths, this folder and the environment
lie on a file system that all nodes share. The environment: pip install 'distkern[slurm]'

The number of jobs is fixed, and workers leave before the wall time ends their job in the middle of a tile. When the
last one has left and work remains, the program ends; run it again, and it goes on from what is stored.
"""

import sys
from pathlib import Path

import dask
from dask_jobqueue import SLURMCluster
from distributed import Client

import distkern as dk

KERNEL = dk.Kendall(ties="b")
JOBS = 4


def slurm_cluster() -> SLURMCluster:
    """Describe a job: 16 workers of one thread, which speak TLS and show no page beyond their node."""
    return SLURMCluster(
        job_name="distkern",
        queue=None,
        account=None,
        walltime="24:00:00",
        cores=16,
        processes=16,
        memory="65536 MiB",
        worker_extra_args=[
            "--lifetime 85500s",
            "--lifetime-stagger 300s",
            "--dashboard-address 127.0.0.1:0",
        ],
        job_script_prologue=[
            "export NUMBA_CACHE_DIR=$(mktemp -d)",  # compiled code is trusted: nobody else may write there
            "trap 'rm -rf \"$NUMBA_CACHE_DIR\"' EXIT",
        ],
        log_directory="distkern-logs",
        security=True,
        shared_temp_directory=str(Path.cwd()),
        scheduler_options={"dashboard_address": "127.0.0.1:8787"},
    )


if __name__ == "__main__":
    cohort, store = sys.argv[1:]
    dask.config.set({"distributed.scheduler.no-workers-timeout": "15 minutes"})
    with slurm_cluster() as cluster, Client(cluster) as client:
        cluster.scale(jobs=JOBS)
        client.wait_for_workers(1)
        print(dk.compute_gram(KERNEL, cohort, store=store, executor=client))
