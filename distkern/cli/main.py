"""The command ``distkern`` and its subcommands."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

from distkern import cli
from distkern._version import __version__
from distkern.cli.errors import EXIT_CODES, one_line_errors

IN_ORDER = (
    *("demo", "bags", "plan", "gram", "append", "status", "info", "verify"),
    *(
        "train",
        "predict",
        "evaluate",
        "pairs",
        "cluster",
        "compare",
        "consensus",
        "explain",
        "markers",
        "score_sets",
        "normalize",
        "tau",
        "report",
        "reproduce",
        "deploy",
    ),
)
"""Commands that the help lists first, in the order of their use; all others follow in alphabetical order."""

EPILOG = f"""\b
Examples:
  distkern demo
  distkern gram cohort.csv cohort.zarr --samples columns --kernel kendall --ties b
  distkern evaluate cohort.zarr --labels clinical.csv --label relapse --out result.json
  distkern train cohort.csv --samples columns --labels clinical.csv --label relapse --out relapse.model
  distkern predict relapse.model new-patients.csv --samples columns --out calls.csv
  distkern pairs cohort.csv --samples columns --labels clinical.csv --label relapse -k 9 --model relapse.json
  distkern report cohort.zarr --evaluation result.json --out report.html

{EXIT_CODES}

Results go to stdout; progress, warnings and errors to stderr."""


class Distkern(click.Group):
    """Lists the subcommands in the order of their use, and turns their errors into one line each."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands in the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand, and turn an exception into one line and an exit code."""
        with one_line_errors(debug=ctx.params["debug"]):
            return super().invoke(ctx)


@click.group(
    cls=Distkern, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(__version__, prog_name="distkern")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Compute kernel (Gram) matrices of rankings and expression cohorts in tiles, on threads or a Dask cluster.

    A matrix is stored on disk and may be larger than memory. An interrupted run continues where it stopped.
    """


def _commands() -> Iterator[click.Command]:
    """Find the command of each file in this folder: the one that is named after its file."""
    names = {module.name for module in pkgutil.iter_modules(cli.__path__)} - {"main"}
    for name in sorted(names, key=lambda name: (IN_ORDER.index(name) if name in IN_ORDER else len(IN_ORDER), name)):
        command = getattr(import_module(f"{cli.__name__}.{name}"), name, None)
        if isinstance(command, click.Command):
            yield command


for _command in _commands():
    main.add_command(_command)
