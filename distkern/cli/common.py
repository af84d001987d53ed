"""What the subcommands share: options, who runs the tasks, and where words and numbers go."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from distkern.core.errors import InputError
from distkern.core.events import Listener, Progress
from distkern.core.files import as_path, refuse_existing
from distkern.core.units import parse_bytes

PLAIN_SECONDS = 10.0
"""Seconds between two lines of progress where no bar can be drawn."""

F = TypeVar("F", bound=Callable[..., Any])


class Place(click.Path):
    """A path on this machine, with a ``~`` at its beginning expanded, which shells leave in ``--out=~/page.html``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Turn the text into a path."""
        return as_path(os.fsdecode(super().convert(value, param, ctx)))


class StorePlace(Place):
    """A folder, or a URL of object storage, which stays as it is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn the text into a path, unless it is a URL."""
        return value if isinstance(value, str) and "://" in value else super().convert(value, param, ctx)


class Amount(click.ParamType):
    """An amount of memory, such as 2GiB."""

    name = "AMOUNT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Turn the text into bytes."""
        try:
            amount = parse_bytes(value)
        except InputError as error:
            self.fail(str(error), param, ctx)
        if amount < 1:
            self.fail("must be more than nothing, such as 2GiB", param, ctx)
        return amount


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Join options into one decorator that keeps their order in the help."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print no progress; errors and warnings remain.")
sep_option = click.option(
    "--sep", metavar="TEXT", help="Separator of a text table's columns; found in its header by default. \\t is a tab."
)
samples_option = click.option(
    "--samples",
    type=click.Choice(["rows", "columns"]),
    help="Which are the samples of a text table; it must be said, for it cannot be guessed safely.",
)
cohort_options = options(
    samples_option,
    click.option("--label", metavar="COLUMN", help="Column (or row) of the table that holds labels, not numbers."),
    sep_option,
)
memory_option = click.option(
    "--memory-limit", type=Amount(), help="Memory that each process may take, such as 2GiB; 60 % of what is free."
)
tls_options = options(
    click.option("--tls-ca-file", type=Place(), metavar="FILE", help="Certificate of the cluster's authority (PEM)."),
    click.option(
        "--tls-cert", type=Place(), metavar="FILE", help="Own certificate, which that authority signed (PEM)."
    ),
    click.option("--tls-key", type=Place(), metavar="FILE", help="Private key of the own certificate (PEM)."),
)
insecure_option = click.option(
    "--insecure",
    is_flag=True,
    envvar="DISTKERN_INSECURE",
    help="Let an unencrypted scheduler be reached from other machines: whoever reaches it runs code.",
)
execution_options = options(
    click.option(
        "--scheduler", metavar="ADDRESS", help="Join the Dask cluster of this scheduler, such as tls://10.0.0.1:8786."
    ),
    click.option(
        "--scheduler-file", type=Place(), metavar="FILE", help="Join the Dask cluster whose scheduler wrote this file."
    ),
    tls_options,
    insecure_option,
    click.option("--workers", type=click.IntRange(1), metavar="N", help="Start a local Dask cluster of N processes."),
    click.option("--tls", is_flag=True, help="Encrypt the cluster that --workers starts."),
    click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads of this process; one a core."),
    memory_option,
)


def refuse_several_executors(
    *, scheduler: str | None, scheduler_file: Path | None, workers: int | None, threads: int | None, **others: Any
) -> list[str]:
    """Refuse more than one choice of who runs the tasks; return the options that chose."""
    given = {"--scheduler": scheduler, "--scheduler-file": scheduler_file, "--workers": workers, "--threads": threads}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} exclude each other: choose one")
    return chosen


@contextmanager
def executor_of(
    *,
    scheduler: str | None,
    scheduler_file: Path | None,
    workers: int | None,
    threads: int | None,
    tls: bool,
    insecure: bool,
    fallback: int | None = None,
    **others: Any,
) -> Iterator[Any]:
    """Choose who runs the tasks: a cluster that runs, one that is started and stopped here, or threads.

    Nothing chosen means the cluster that Dask's configuration names, such as ``DASK_SCHEDULER_ADDRESS``, else a local
    cluster of ``fallback`` processes, else threads.
    """
    chosen = refuse_several_executors(
        scheduler=scheduler, scheduler_file=scheduler_file, workers=workers, threads=threads
    )
    if tls and workers is None and (chosen or fallback is None):
        raise click.UsageError(
            "--tls encrypts the cluster that --workers starts; to join one give --tls-ca-file, --tls-cert and --tls-key"
        )
    from distkern.engine.dask.address import configured_address

    found = None if chosen else configured_address()
    joins = scheduler is not None or scheduler_file is not None or found is not None
    workers = fallback if found is None and not chosen else workers
    certificates = certificates_of(joins, **{name: others[name] for name in ("tls_ca_file", "tls_cert", "tls_key")})
    if not joins and workers is None:
        yield "threads" if threads is None else threads
        return
    from distkern.engine.dask import cluster  # takes a second, and only these need it

    if workers is not None:
        with cluster.local_client(workers, tls=tls) as client:
            yield client
        return
    address, origin = scheduler, ""
    if scheduler_file is not None:
        address, origin = cluster.address_in(scheduler_file), f" (written in {str(scheduler_file)!r})"
    elif found is not None:
        address, origin = found, " (named by DASK_SCHEDULER_ADDRESS or Dask's configuration)"
    with cluster.joined_client(str(address), certificates=certificates, insecure=insecure, origin=origin) as client:
        yield client


def certificates_of(wanted: bool, *, tls_ca_file: Path | None, tls_cert: Path | None, tls_key: Path | None) -> Any:
    """Take the three files of TLS together; None where none is given."""
    files = {"--tls-ca-file": tls_ca_file, "--tls-cert": tls_cert, "--tls-key": tls_key}
    missing = [name for name, file in files.items() if file is None]
    if len(missing) == len(files):
        return None
    if missing:
        raise click.UsageError(
            f"TLS takes --tls-ca-file, --tls-cert and --tls-key together: add {' and '.join(missing)}"
        )
    if not wanted:
        raise click.UsageError("certificates are for a cluster that runs: add --scheduler or --scheduler-file")
    from distkern.engine.dask.security import Certificates

    return Certificates(*files.values())  # type: ignore[arg-type]


def separator_of(text: str | None) -> str | None:
    r"""Take ``\t`` for a tab, and refuse what separates nothing."""
    sep = None if text is None else text.replace("\\t", "\t")
    if sep is not None and len(sep) != 1:
        raise click.BadParameter(f"a separator is one character, not {text!r}", param_hint="'--sep'")
    return sep


# Output ------------------------------------------------------------------------------------------------------------


def say(text: str, quiet: bool = False) -> None:
    """Tell people on stderr how the work goes."""
    if not quiet:
        click.echo(text, err=True)


def print_json(value: Any) -> None:
    """Print a result for programs."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(rows: list[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")


def progress_of(quiet: bool) -> Listener:
    """Choose who draws progress on stderr: a bar on a terminal, now and then a line elsewhere, nothing when quiet."""
    if quiet:
        return lambda event: None
    if not sys.stderr.isatty():
        return PlainLines()
    from distkern.engine.progress import progress_listener

    return progress_listener(True)


class PlainLines:
    """Writes the progress of long work as lines, for logs: at most one in ten seconds, and the end of each phase."""

    def __init__(self) -> None:
        self._phase = self._note = ""
        self._written = time.monotonic()

    def __call__(self, event: Progress) -> None:
        """Write a line if it is time."""
        if event.phase != self._phase:
            self._phase, self._written = event.phase, time.monotonic()
        if event.note not in ("", self._note):
            say(f"{event.phase}: {event.note}")
        self._note = event.note
        if event.done >= event.total or time.monotonic() - self._written >= PLAIN_SECONDS:
            self._written = time.monotonic()
            say(f"{event.phase}: {event.done:,} of {event.total:,}")


def open_store(store: Path | str) -> Any:
    """Open a Gram matrix.

    Raises
    ------
    InputError, StoreError
        If there is none at the path.
    """
    if isinstance(store, Path) and store.is_file():
        raise InputError(f"{str(store)!r} is a file, and a store is a folder: give the path of a store")
    from distkern.gram.open import open_gram  # loads numba and zarr, which takes a second
    from distkern.io.bags import holds_bags

    if isinstance(store, Path) and holds_bags(store):
        raise InputError(f"{str(store)!r} holds bags, not their matrix: compute it with `distkern gram`")
    return open_gram(store)


def refuse_unwritable(path: Path | str) -> None:
    """Refuse a path at which nothing can be made, before the work that would go there; a URL only the server can.

    Raises
    ------
    InputError
        Names the part of the path that stands in the way.
    """
    if isinstance(path, str):
        return
    place = path.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise InputError(f"{str(path)!r} cannot be made: {place.name!r} is a file, not a folder; give another path")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"{str(path)!r} cannot be made: the folder {str(place)!r} is not writable; give another path")


def refuse_unwritable_file(path: Path, overwrite: bool) -> None:
    """Refuse to write over a file, before the work that would fill it.

    Raises
    ------
    InputError
        If it exists and may not be overwritten, or its folder cannot take it.
    """
    refuse_existing(path, overwrite)
    refuse_unwritable(path.parent)
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r} to write {path.name!r} into: make it first")


def say_what_was_computed(runs: list[dict[str, Any]], before: int, quiet: bool, nothing: str) -> None:
    """Say what this process computed, of all the runs that a store knows, ``before`` of which had ended earlier."""
    from distkern.store.runs import this_client

    own = [run for run in runs[before:] if run["client"] == this_client()]
    if own:
        run = own[-1]
        say(f"computed {run['tiles_computed']:,} tiles in {run['seconds']:.1f} s on {run['executor']}", quiet)
    else:
        say(nothing, quiet)
