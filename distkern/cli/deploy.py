"""``distkern deploy``: start a cluster that others join, and print what batch systems and Kubernetes need."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path

import click

from distkern.cli.common import Place, insecure_option, memory_option, print_table, say

CERTIFICATES = Path("distkern-certificates")

EPILOG = """\b
Examples:
  distkern deploy local --workers 4
  distkern deploy local --workers 16 --host 10.0.0.1 --tls --scheduler-file /shared/scheduler.json
  distkern deploy certificates ~/distkern-certificates

Everything listens on this machine's loopback unless told otherwise, and beyond it only with TLS."""


@click.group(epilog=EPILOG, short_help="Start a cluster, or print what one needs.")
def deploy() -> None:
    """Start a Dask cluster that others join, or print what SLURM and Kubernetes need to run one."""


@deploy.command()
@click.argument("folder", type=Place(), metavar="DIR")
@click.option("--days", type=click.IntRange(1), default=365, show_default=True, help="How long they are valid.")
def certificates(folder: Path, days: int) -> None:
    """Make TLS certificates that all members of one cluster share, in a folder that its owner alone can read.

    Who holds a copy of the folder may join the cluster and run code on it. To shut somebody out make new ones.
    """
    from distkern.engine.dask.security import write_certificates

    click.echo(shlex.join(write_certificates(folder, days).options()))


@deploy.command()
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Worker processes of one thread; one a core.")
@memory_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8786, show_default=True, help="0 takes a free one.")
@click.option(
    "--dashboard-port",
    type=click.IntRange(0, 65535),
    default=8787,
    show_default=True,
    help="Port of the dashboard, on loopback whatever the host.",
)
@click.option("--tls", is_flag=True, help="Encrypt, and let in only who has the certificates.")
@click.option(
    "--certificates",
    "folder",
    type=Place(),
    default=CERTIFICATES,
    show_default=True,
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
        options = shlex.join([*joins, *(used.options() if used else [])])
        print_table(
            [
                ("scheduler", cluster.scheduler_address),
                ("workers", f"{number}, one thread each"),
                ("dashboard", cluster.dashboard_link),
                ("use it", f"distkern gram cohort.npy cohort.zarr --kernel kendall {options}"),
                ("stop it", "Ctrl-C"),
            ]
        )
        click.get_text_stream("stdout").flush()
        try:
            while True:
                signal.pause()
        except KeyboardInterrupt:
            say("stopping the workers and the scheduler")
