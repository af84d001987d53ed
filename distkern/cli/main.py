"""The command ``distkern`` and its subcommands."""

from __future__ import annotations

from typing import Any

import click

from distkern._version import __version__
from distkern.cli.append import append
from distkern.cli.bags import bags
from distkern.cli.cluster import cluster
from distkern.cli.demo import demo
from distkern.cli.deploy import deploy
from distkern.cli.errors import EXIT_CODES, one_line_errors
from distkern.cli.evaluate import evaluate
from distkern.cli.gram import gram
from distkern.cli.info import info
from distkern.cli.plan import plan
from distkern.cli.report import report
from distkern.cli.reproduce import reproduce
from distkern.cli.status import status
from distkern.cli.verify import verify

EPILOG = f"""\b
Examples:
  distkern demo
  distkern gram cohort.csv cohort.zarr --samples columns --kernel kendall --ties b
  distkern evaluate cohort.zarr --labels clinical.csv --label relapse --out result.json
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


for _command in (demo, bags, plan, gram, append, status, info, verify, evaluate, cluster, report, reproduce, deploy):
    main.add_command(_command)
