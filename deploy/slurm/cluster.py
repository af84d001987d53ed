"""Computes a Gram matrix on SLURM jobs of Dask workers.

    python cluster.py cohort.npy cohort.zarr

Run it on a node where `sbatch` works and programs may run for as long as the computation takes. Both paths, this folder
and the environment (pip install 'distkern[slurm]') must be on a file system that all nodes share.

The number of jobs is fixed. Workers stop before the wall time, so that no job ends in the middle of a tile. If tiles
remain when the last worker has stopped, the program ends; run it again, and it continues from the stored tiles.
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
    """Describe a job: 16 workers of one thread each, with TLS, whose dashboards stay on their node."""
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
            "export NUMBA_CACHE_DIR=$(mktemp -d)",  # code from a cache is run: no other user may write there
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
