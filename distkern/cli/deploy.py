"""``distkern deploy``: start a Dask cluster, or print files that run one on SLURM and Kubernetes."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from distkern.cli import recipes
from distkern.cli.common import Amount, LocalPath, insecure_option, memory_option, print_table, say
from distkern.cli.ending import conclude
from distkern.cli.help import Group
from distkern.cli.progress import echo
from distkern.core.files import write_text

CERTIFICATES = Path("distkern-certificates")

_PASSES_OPTIONS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""Settings of commands whose last arguments are another command with its options."""

EPILOG = """\b
Examples:
  distkern deploy local --workers 4
  distkern deploy local --workers 16 --host 10.0.0.1 --tls --scheduler-file /shared/scheduler.json
  distkern deploy certificates ~/distkern-certificates
  distkern deploy slurm --partition long --cores 32 --memory 128GiB --jobs 4 --out cluster.py
  distkern deploy slurm --srun --walltime 12:00:00 --out job.sh
  distkern deploy kubernetes --workers 20 --memory 4GiB gram /data/X.npy /data/X.zarr --kernel kendall

All servers listen on the loopback interface unless --host says otherwise; other interfaces need TLS."""


@click.group(cls=Group, epilog=EPILOG)
def deploy() -> None:
    """Start a Dask cluster, or print the files that run one on SLURM or Kubernetes."""


@deploy.command(short_help="Create the TLS certificates of a cluster.")
@click.argument("folder", type=LocalPath(), metavar="DIR")
@click.option("--days", type=click.IntRange(1), default=365, help="Days for which they are valid.")
def certificates(folder: Path, days: int) -> None:
    """Create the TLS certificates of one cluster, in a folder that only its owner can read.

    Anyone with a copy of the folder can join the cluster and run code on it. To exclude someone create new ones.
    """
    from distkern.engine.dask.security import write_certificates

    echo(shlex.join(write_certificates(folder, days).options()))


@deploy.command(short_help="Run a cluster on this machine.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    help="Number of worker processes of one thread each. Default: one per core.",
)
@memory_option
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8786, help="Port of the scheduler; 0 takes a free port.")
@click.option(
    "--dashboard-port",
    type=click.IntRange(0, 65535),
    default=8787,
    help="Port of the dashboard, which always listens on the loopback interface.",
)
@click.option("--tls", is_flag=True, help="Encrypt the cluster, and admit only holders of the certificates.")
@click.option(
    "--certificates",
    "folder",
    type=LocalPath(),
    default=CERTIFICATES,
    metavar="DIR",
    help="Folder of the certificates of --tls; it is created if it does not exist.",
)
@insecure_option
@click.option(
    "--scheduler-file",
    type=LocalPath(),
    metavar="FILE",
    help="Write the address to this file, for --scheduler-file of other commands.",
)
def local(
    workers: int | None,
    memory_limit: int | None,
    host: str,
    port: int,
    dashboard_port: int,
    tls: bool,
    folder: Path,
    insecure: bool,
    scheduler_file: Path | None,
) -> None:
    """Run a scheduler and workers on this machine until Ctrl-C, and print the command that uses them."""
    from distkern.engine.dask.cluster import served_cluster
    from distkern.engine.dask.security import Certificates, write_certificates
    from distkern.engine.executors import usable_cores

    used = None
    if tls:
        used = Certificates.within(folder) if folder.exists() else write_certificates(folder)
    number = workers or usable_cores()
    with served_cluster(
        number,
        memory_limit,
        host=host,
        port=port,
        dashboard_port=dashboard_port,
        certificates=used,
        insecure=insecure,
        scheduler_file=scheduler_file,
    ) as cluster:
        joins = (
            ["--scheduler", cluster.scheduler_address]
            if scheduler_file is None
            else ["--scheduler-file", str(scheduler_file)]
        )
        keys = used.options() if used else []
        joining = shlex.join([*(joins if scheduler_file else joins[1:]), *keys])
        options = shlex.join([*joins, *keys, *(["--insecure"] if insecure else [])])
        print_table(
            [
                ("scheduler", cluster.scheduler_address),
                ("workers", f"{number}, one thread each"),
                ("dashboard", cluster.dashboard_link),
                ("join it", f"dask worker {joining} --nthreads 1 --dashboard-address 127.0.0.1:0"),
                ("use it", f"distkern gram cohort.npy cohort.zarr --kernel kendall {options}"),
                ("stop it", "Ctrl-C"),
            ]
        )
        sys.stdout.flush()
        try:
            while True:
                signal.pause()
        except KeyboardInterrupt:
            say("stopping the workers and the scheduler")


# Printed files -----------------------------------------------------------------------------------------------------

out_option = click.option("--out", type=LocalPath(), metavar="FILE", help="Write to this new file instead of stdout.")


def _print_or_write(text: str, out: Path | None, use: Sequence[str] = ()) -> None:
    """Print a file, or write it and say how it is used."""
    if out is None:
        echo(text, nl=False)
    else:
        write_text(out, text, overwrite=False)
        conclude(out, then=[shlex.join([*use, str(out)])] if use else ())


@deploy.command(short_help="Print a program or job script for SLURM.")
@click.option("--partition", metavar="NAME", help="Partition of the jobs. Default: that of SLURM.")
@click.option("--account", metavar="NAME", help="Account of the jobs. Default: that of SLURM.")
@click.option("--walltime", default="24:00:00", help="Wall time of a job.")
@click.option("--cores", type=click.IntRange(1), default=16, help="Cores of a job, each with one worker.")
@click.option("--memory", type=Amount(), default="64GiB", help="Memory of a job.")
@click.option("--jobs", type=click.IntRange(1), default=4, help="Number of jobs.")
@click.option(
    "--srun", is_flag=True, help="Print a job script for one job with all cores, which runs everything under one srun."
)
@out_option
def slurm(out: Path | None, **given: Any) -> None:
    """Print a Python program that runs workers as SLURM jobs, or a job script that uses one srun."""
    _print_or_write(recipes.slurm(**given), out)


@deploy.command(context_settings=_PASSES_OPTIONS_ON, short_help="Run a command on the tasks of one srun.")
@click.argument("folder", type=LocalPath(), metavar="DIR")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def srun(context: click.Context, folder: Path, command: tuple[str, ...]) -> None:
    """Run a distkern COMMAND on the tasks of one srun, as in the job script of `distkern deploy slurm --srun`.

    All tasks share DIR, which holds the certificates of the job in tls/.
    """
    from distkern.engine.dask.security import Certificates
    from distkern.engine.dask.srun import under_srun

    certificates, file = Certificates.within(folder / "tls"), folder / "scheduler.json"
    with under_srun(file, certificates):
        root: Any = context.find_root().command
        root.main(
            [*command, "--scheduler-file", str(file), *certificates.options()],
            prog_name="distkern",
            standalone_mode=False,
        )


@deploy.command(context_settings=_PASSES_OPTIONS_ON, short_help="Print manifests for Kubernetes.")
@click.option("--name", default="distkern", help="Name of the created resources.")
@click.option("--image", default="distkern:latest", help="Image built from deploy/Dockerfile.")
@click.option("--workers", type=click.IntRange(1), default=4, help="Number of workers of one thread each.")
@click.option("--memory", type=Amount(), default="4GiB", help="Memory of a worker.")
@click.option("--storage", type=Amount(), default="100GiB", help="Size of the volume at /data.")
@click.option("--cluster", is_flag=True, help="Print a cluster that keeps running instead of a job.")
@out_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def kubernetes(out: Path | None, **given: Any) -> None:
    """Print manifests for the Dask operator that run a distkern COMMAND, such as gram /data/X.npy /data/X.zarr ..."""
    _print_or_write(recipes.kubernetes(**given), out, use=("kubectl", "apply", "-f"))
