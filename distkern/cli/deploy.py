"""``distkern deploy``: start a cluster that others join, and print what batch systems and Kubernetes need."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import click

from distkern.cli import recipes
from distkern.cli.common import Amount, Place, insecure_option, memory_option, print_table, say
from distkern.core.files import write_text

CERTIFICATES = Path("distkern-certificates")

EPILOG = """\b
Examples:
  distkern deploy local --workers 4
  distkern deploy local --workers 16 --host 10.0.0.1 --tls --scheduler-file /shared/scheduler.json
  distkern deploy certificates ~/distkern-certificates
  distkern deploy slurm --partition long --cores 32 --memory 128GiB --jobs 4 --out cluster.py
  distkern deploy slurm --srun --walltime 12:00:00 --out job.sh
  distkern deploy kubernetes --workers 20 --memory 4GiB gram /data/X.npy /data/X.zarr --kernel kendall

Everything listens on this machine's loopback unless told otherwise, and beyond it only with TLS."""


@click.group(epilog=EPILOG, short_help="Start a cluster, or print what one needs.")
def deploy() -> None:
    """Start a Dask cluster that others join, or print what SLURM and Kubernetes need to run one."""


@deploy.command()
@click.argument("folder", type=Place(), metavar="DIR")
@click.option("--days", type=click.IntRange(1), default=365, help="How long they are valid.")
def certificates(folder: Path, days: int) -> None:
    """Make TLS certificates that all members of one cluster share, in a folder that its owner alone can read.

    Who holds a copy of the folder may join the cluster and run code on it. To shut somebody out make new ones.
    """
    from distkern.engine.dask.security import write_certificates

    click.echo(shlex.join(write_certificates(folder, days).options()))


@deploy.command()
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Worker processes of one thread; one a core.")
@memory_option
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8786, help="0 takes a free one.")
@click.option(
    "--dashboard-port",
    type=click.IntRange(0, 65535),
    default=8787,
    help="Port of the dashboard, on loopback whatever the host.",
)
@click.option("--tls", is_flag=True, help="Encrypt, and let in only who has the certificates.")
@click.option(
    "--certificates",
    "folder",
    type=Place(),
    default=CERTIFICATES,
    metavar="DIR",
    help="Where --tls finds them; they are made if nothing is there.",
)
@insecure_option
@click.option("--scheduler-file", type=Place(), metavar="FILE", help="Write the address for those who join.")
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


# What is printed ---------------------------------------------------------------------------------------------------

out_option = click.option("--out", type=Place(), metavar="FILE", help="Write it into a file that does not exist yet.")


def _print_or_write(text: str, out: Path | None) -> None:
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text, overwrite=False)


@deploy.command()
@click.option("--partition", metavar="NAME", help="Where the jobs are queued; SLURM's default.")
@click.option("--account", metavar="NAME", help="Who pays; SLURM's default.")
@click.option("--walltime", default="24:00:00", help="Time of a job.")
@click.option("--cores", type=click.IntRange(1), default=16, help="Cores of a job; a worker each.")
@click.option("--memory", type=Amount(), default="64GiB", help="Memory of a job.")
@click.option("--jobs", type=click.IntRange(1), default=4, help="Number of jobs, which is fixed.")
@click.option("--srun", is_flag=True, help="One job that holds all cores, and runs everything under one srun.")
@out_option
def slurm(out: Path | None, **given: Any) -> None:
    """Print a Python program that runs workers as SLURM jobs, or a job script that runs all under one srun."""
    _print_or_write(recipes.slurm(**given), out)


@deploy.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("folder", type=Place(), metavar="DIR")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def srun(context: click.Context, folder: Path, command: tuple[str, ...]) -> None:
    """Run a distkern COMMAND on a cluster made of the tasks of one srun, as `distkern deploy slurm --srun` does.

    DIR is shared by all tasks and holds the certificates of the job in tls/.
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


@deploy.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--name", default="distkern", help="Name of all that is made.")
@click.option("--image", default="distkern:latest", help="Image made from deploy/Dockerfile.")
@click.option("--workers", type=click.IntRange(1), default=4, help="Workers of one thread.")
@click.option("--memory", type=Amount(), default="4GiB", help="Memory of a worker.")
@click.option("--storage", type=Amount(), default="100GiB", help="Size of the volume at /data.")
@click.option("--cluster", is_flag=True, help="A cluster that stays, and no job.")
@out_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def kubernetes(out: Path | None, **given: Any) -> None:
    """Print manifests for the Dask operator that run a distkern COMMAND, such as gram /data/X.npy /data/X.zarr ..."""
    _print_or_write(recipes.kubernetes(**given), out)
