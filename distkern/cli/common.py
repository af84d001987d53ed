"""Options, executors, output and checks that several subcommands share."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from distkern.cli.progress import display, echo, step
from distkern.cli.progress import progress_of as progress_of
from distkern.core.errors import InputError
from distkern.core.files import as_path, refuse_existing
from distkern.core.names import shown, shown_json
from distkern.core.suggest import did_you_mean
from distkern.core.units import counted, parse_bytes

VALUES = ("scores", "ranks", "orderings", "approval")
"""What the values of ballots may mean."""

LEAST_ROOM = 20
"""Columns that the values of a table take at least where they are wrapped."""

OTHER_TABLES = frozenset(
    {".bz2", ".feather", ".gz", ".h5ad", ".json", ".npz", ".parquet", ".tsv", ".xls", ".xlsx", ".xz", ".zarr", ".zip"}
)
"""Ends of the names of files that hold something other than comma-separated values."""

F = TypeVar("F", bound=Callable[..., Any])


class LocalPath(click.Path):
    """A path on this machine. A leading ``~`` is expanded, because shells leave it in ``--out=~/page.html``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Turn the text into a path."""
        return as_path(os.fsdecode(super().convert(value, param, ctx)))


class StoreLocation(LocalPath):
    """The location of a store: a path on this machine, or a URL of object storage."""

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
            self.fail("must be 1 byte or more, such as 2GiB", param, ctx)
        return amount


class Numbers(click.ParamType):
    """A whole number, or a range such as 2-10, up to ``most``."""

    name = "K|FROM-TO"

    def __init__(self, most: int) -> None:
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """Turn the text into a range of numbers."""
        if isinstance(value, range):
            return value
        first, dash, last = str(value).partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            self.fail(f"must be a number such as 4 or a range such as 2-10, not {value!r}", param, ctx)
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= self.most:
            self.fail(f"must ascend from at least 1 to at most {self.most:,}, not {value!r}", param, ctx)
        return range(low, high + 1)


class Choice(click.Choice):
    """One of some words; a mistyped one is answered with the most similar word."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Find the word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            known = [str(choice) for choice in self.choices]
            raise click.BadParameter(error.message.rstrip(".") + did_you_mean(value, known), ctx, param) from None


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
    "--sep",
    metavar="TEXT",
    help="Separator of the columns of a text table, \\t for a tab. Default: found from the header.",
)
samples_option = click.option(
    "--samples",
    type=Choice(["rows", "columns"]),
    help="Whether the rows or the columns of a table are the samples. Text tables and spreadsheets need this option.",
)
anndata_options = options(
    click.option(
        "--layer",
        metavar="KEY",
        help="The layer that holds the values: of AnnData, or raw; of a loom file; or an assay of R's "
        "SummarizedExperiment.",
    ),
    click.option("--use-rep", metavar="KEY", help="For AnnData: the array in obsm that holds the values, as X_pca."),
)
gene_options = options(
    click.option(
        "--collapse",
        type=Choice(["most-variable", "mean", "max"]),
        help="Make one feature of those of each gene: the one with the largest variance over the samples, or their "
        "mean or maximum in each sample. Default: features are taken as they are.",
        show_default=False,
    ),
    click.option(
        "--genes",
        type=LocalPath(),
        metavar="FILE|COLUMN",
        help="Table for --collapse: features in the first column, their genes in the only other one or in 'gene' or "
        "'symbol'; or what the cohort's own file calls the genes, such as gene_symbols for 10x or Description for GCT. "
        "Default: features are called by their genes.",
        show_default=False,
    ),
)
reading_options = options(
    samples_option,
    click.option(
        "--label", metavar="COLUMN", help="Column (or row) of the table that holds labels instead of numbers."
    ),
    anndata_options,
    gene_options,
)
cohort_options = options(
    reading_options,
    click.option(
        "--values",
        type=Choice(VALUES),
        help="Meaning of the values of ballots. scores: the largest is the best. ranks: 1 is the best. orderings: the "
        "columns are places, the best first, and each cell names an item. approval: marks such as yes, x, no and -1.",
    ),
    sep_option,
)


def memory_limit(about: str) -> Callable[[F], F]:
    """Make the option that limits the memory; ``about`` says whose memory that is, and the default."""
    return click.option("--memory-limit", type=Amount(), help=about)


memory_option = memory_limit("Memory that each process may use, such as 2GiB. Default: 60 % of the free memory.")
learner_memory_option = memory_limit(
    "Memory for kernel values and the work on them, such as 2GiB. Default: half of the free memory."
)
tls_options = options(
    click.option(
        "--tls-ca-file", type=LocalPath(), metavar="FILE", help="Certificate of the cluster's authority (PEM)."
    ),
    click.option(
        "--tls-cert", type=LocalPath(), metavar="FILE", help="Own certificate, signed by that authority (PEM)."
    ),
    click.option("--tls-key", type=LocalPath(), metavar="FILE", help="Private key of the own certificate (PEM)."),
)
insecure_option = click.option(
    "--insecure",
    is_flag=True,
    envvar="DISTKERN_INSECURE",
    help="Allow an unencrypted scheduler that other machines can reach. Anyone who reaches it can run code.",
)
executor_options = options(
    click.option(
        "--scheduler", metavar="ADDRESS", help="Use the Dask cluster of this scheduler, such as tls://10.0.0.1:8786."
    ),
    click.option(
        "--scheduler-file",
        type=LocalPath(),
        metavar="FILE",
        help="Use the Dask cluster whose scheduler wrote this file.",
    ),
    tls_options,
    insecure_option,
    click.option("--workers", type=click.IntRange(1), metavar="N", help="Start a local Dask cluster of N processes."),
    click.option("--tls", is_flag=True, help="Encrypt the cluster that --workers starts."),
    click.option(
        "--threads",
        type=click.IntRange(1),
        metavar="N",
        help="Number of threads of this process. Default: one per core.",
    ),
)
execution_options = options(executor_options, memory_option)


def refuse_several_executors(
    *, scheduler: str | None, scheduler_file: Path | None, workers: int | None, threads: int | None, **others: Any
) -> list[str]:
    """Refuse more than one option that chooses an executor; return the options that were given."""
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
    """Choose the executor: a running cluster, a local cluster for the length of the block, or threads.

    Without an option this is the cluster in Dask's configuration, such as ``DASK_SCHEDULER_ADDRESS``, else a local
    cluster of ``fallback`` processes, else threads.
    """
    chosen = refuse_several_executors(
        scheduler=scheduler, scheduler_file=scheduler_file, workers=workers, threads=threads
    )
    if tls and workers is None and (chosen or fallback is None):
        raise click.UsageError(
            "--tls encrypts the cluster that --workers starts: for a running one give --tls-ca-file, --tls-cert and "
            "--tls-key"
        )
    from distkern.engine.dask.address import configured_address

    found = None if chosen else configured_address()
    joins = scheduler is not None or scheduler_file is not None or found is not None
    workers = fallback if found is None and not chosen else workers
    certificates = certificates_of(joins, **{name: others[name] for name in ("tls_ca_file", "tls_cert", "tls_key")})
    if not joins and workers is None:
        yield "threads" if threads is None else threads
        return
    from distkern.engine.dask import cluster  # its import takes a second

    if workers is not None:
        with _started(cluster.local_client(workers, tls=tls), f"starting {counted(workers, 'worker')}") as client:
            yield client
        return
    address, origin = scheduler, ""
    if scheduler_file is not None:
        address, origin = cluster.address_in(scheduler_file), f" (written in {str(scheduler_file)!r})"
    elif found is not None:
        address, origin = found, " (named by DASK_SCHEDULER_ADDRESS or Dask's configuration)"
    joined = cluster.joined_client(str(address), certificates=certificates, insecure=insecure, origin=origin)
    with _started(joined, f"joining {address}") as client:
        yield client


@contextmanager
def _started(cluster: AbstractContextManager[Any], name: str) -> Iterator[Any]:
    """Enter a cluster, and show that this takes time."""
    with ExitStack() as stack:
        with step(name):
            client = stack.enter_context(cluster)
        yield client


def certificates_of(wanted: bool, *, tls_ca_file: Path | None, tls_cert: Path | None, tls_key: Path | None) -> Any:
    """Return the certificates if all three files of TLS are given; None if none is."""
    files = {"--tls-ca-file": tls_ca_file, "--tls-cert": tls_cert, "--tls-key": tls_key}
    missing = [name for name, file in files.items() if file is None]
    if len(missing) == len(files):
        return None
    if missing:
        raise click.UsageError(
            f"TLS needs --tls-ca-file, --tls-cert and --tls-key together: add {' and '.join(missing)}"
        )
    if not wanted:
        raise click.UsageError("certificates are for a running cluster: add --scheduler or --scheduler-file")
    from distkern.engine.dask.security import Certificates

    return Certificates(*files.values())  # type: ignore[arg-type]


def separator_of(text: str | None) -> str | None:
    r"""Read the option ``--sep``, in which ``\t`` is a tab; refuse anything but one character."""
    sep = None if text is None else text.replace("\\t", "\t")
    if sep is not None and len(sep) != 1:
        raise click.BadParameter(f"a separator is one character, not {text!r}", param_hint="'--sep'")
    return sep


# Output ------------------------------------------------------------------------------------------------------------


def say(text: str, quiet: bool = False) -> None:
    """Write a message for people to stderr."""
    if not quiet:
        display().write(text)


def print_json(value: Any) -> None:
    """Print a result for programs."""
    echo(shown_json(json.dumps(value, indent=2, ensure_ascii=False)))


def print_table(rows: list[tuple[str, str]], aligned: bool = True) -> int:
    """Print names and values in two columns, and return the number of lines; what controls a terminal is escaped.

    On a terminal long values go on below their beginning.

    Parameters
    ----------
    aligned
        Whether the values are below one another also where stdout is no terminal.
    """
    terminal = sys.stdout.isatty()
    width = max(len(name) for name, _ in rows) if aligned or terminal else 0
    room = shutil.get_terminal_size().columns - width - 2 if terminal else 0
    lines = []
    for name, value in rows:
        wrapped = textwrap.wrap(shown(value), room, break_on_hyphens=False) if room >= LEAST_ROOM else []
        first, *rest = wrapped or [shown(value)]
        lines += [f"{shown(name):<{width}}  {first}", *(f"{'':<{width}}  {line}" for line in rest)]
    for line in lines:
        echo(line)
    return len(lines)


def open_store(store: Path | str, kernel: Any = None, executor: Any = None) -> Any:
    """Open a Gram matrix as the kernel that is asked for; by default the one of the last `distkern gram`.

    Raises
    ------
    InputError, StoreError
        If there is no Gram matrix at the path, or the kernel does not follow from its values.
    """
    if isinstance(store, Path) and store.exists():
        from distkern.io.foreign import head_of, refuse_foreign

        refuse_foreign(store, head_of(store))
    if isinstance(store, Path) and store.is_file():
        raise InputError(f"{str(store)!r} is a file, and a store is a folder: give the path of a store")
    from distkern.gram.open import open_gram  # its import takes a second
    from distkern.io.bags import holds_bags

    if isinstance(store, Path) and holds_bags(store):
        raise InputError(f"{str(store)!r} holds bags, not their matrix: compute it with `distkern gram`")
    with step(f"opening {str(store)!r}"):
        return open_gram(store, executor=executor, kernel=kernel)


def refuse_unwritable(path: Path | str) -> None:
    """Refuse a path that cannot be written, before the computation starts; only the server can check a URL.

    Raises
    ------
    InputError
        If a part of the path is a file, or its folder is not writable.
    """
    if isinstance(path, str):
        return
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise InputError(
            "{path!r} cannot be written: {existing!r} is a file, not a folder; give another path",
            path=str(path),
            existing=existing.name,
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(
            "{path!r} cannot be written: the folder {existing!r} is not writable; give another path",
            path=str(path),
            existing=str(existing),
        )


def is_given(name: str) -> bool:
    """Whether the user typed the option of this parameter of the command, be it with the default value."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse_unwritable_file(path: Path, overwrite: bool) -> None:
    """Refuse a file that exists or cannot be written, before the computation starts.

    Raises
    ------
    InputError
        If it exists and ``overwrite`` is false, or its folder does not exist or is not writable.
    """
    refuse_existing(path, overwrite)
    refuse_unwritable(path.parent)
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r} for {path.name!r}: make it first")


def refuse_unwritable_table(path: Path, overwrite: bool) -> None:
    """Refuse a file of comma-separated values that cannot be written, or whose name promises another format.

    Raises
    ------
    InputError
        If the name ends as that of another format; otherwise see `refuse_unwritable_file`.
    """
    if path.suffix.lower() in OTHER_TABLES:
        raise InputError(
            f"{path.name!r} would hold comma-separated values, and its name ends with {path.suffix!r}: let it end with "
            "'.csv'"
        )
    refuse_unwritable_file(path, overwrite)


def refuse_same_file(files: Mapping[str, Path | None]) -> None:
    """Refuse two options, the keys, that name one file, which the second would write over."""
    given = [file.absolute() for file in files.values() if file is not None]
    if len(set(given)) < len(given):
        *first, last = files
        raise click.UsageError(f"{', '.join(first)} and {last} name one file twice: give each its own")


def report_computed(runs: list[dict[str, Any]], before: int, quiet: bool, nothing: str) -> None:
    """Report the last run of this process after the first ``before`` runs of the store; ``nothing`` if it has none."""
    from distkern.store.runs import this_process

    own = [run for run in runs[before:] if run["client"] == this_process()]
    if own:
        run = own[-1]
        say(f"computed {run['tiles_computed']:,} tiles in {run['seconds']:.1f} s on {run['executor']}", quiet)
    else:
        say(nothing, quiet)
