"""The command ``distkern`` and its subcommands."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from distkern import cli
from distkern._version import __version__
from distkern.cli.errors import EXIT_CODES, one_line_errors
from distkern.cli.help import Group

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

TASKS: dict[str, dict[str, str]] = {
    "Start": {
        "demo": "Classify colon tumours as in the paper.",
        "reproduce": "Compute a table of a paper again.",
        "completion": "Print the script that completes commands in a shell.",
    },
    "Gram matrices": {
        "plan": "Estimate the resources of a computation.",
        "gram": "Compute a Gram matrix into a store.",
        "append": "Add samples to a stored Gram matrix.",
        "status": "Show the progress of a run.",
        "info": "Describe the contents of a store.",
        "verify": "Compare a store with its checksums, and repair it.",
    },
    "Predict": {
        "evaluate": "Cross-validate a classifier on a store.",
        "train": "Train a classifier to predict other cohorts with.",
        "predict": "Predict new samples with a trained model.",
        "report": "Write a store and its evaluation as an HTML page.",
    },
    "Which genes, which pairs": {
        "pairs": "Find pairs of features whose order tells classes apart.",
        "explain": "Explain a model by pairs of features.",
        "markers": "Find the features that distinguish groups of samples.",
        "tau": "Compute Kendall's tau between features, and write a network.",
    },
    "Rankings and groups": {
        "consensus": "Find a consensus ranking of ballots.",
        "cluster": "Cluster the samples of a store or a cohort.",
        "compare": "Test whether samples differ between groups.",
    },
    "Single cells and values": {
        "bags": "Store sets of points as samples.",
        "score-sets": "Score gene sets in each sample.",
        "normalize": "Put every sample on one distribution (quantile normalisation).",
    },
    "Run elsewhere": {
        "deploy": "Start a cluster, or print the files that run one.",
    },
}
"""What each command does, by task, in the order of the help. A command that is not here is listed last."""

OTHERS = "Other commands"

ABOUT = {name: about for commands in TASKS.values() for name, about in commands.items()}

EPILOG = f"""\b
Examples:
  distkern demo
  distkern gram cohort.csv cohort.zarr --samples columns --kernel kendall --ties b
  distkern evaluate cohort.zarr --labels clinical.csv --label relapse --out result.json
  distkern train cohort.csv --samples columns --labels clinical.csv --label relapse --out relapse.model
  distkern predict relapse.model new-patients.csv --samples columns --out calls.csv
  distkern pairs cohort.csv --samples columns --labels clinical.csv --label relapse -k 9 --model relapse.json
  distkern report cohort.zarr --evaluation result.json --out report.html
  distkern completion bash

{EXIT_CODES}

Results go to stdout; progress, warnings and errors to stderr."""


class Commands(MutableMapping[str, click.Command]):
    """The command of each file in this folder: the one that is named after its file. It is loaded when it is used."""

    def __init__(self) -> None:
        self._added: dict[str, click.Command] = {}
        self._files = [module.name for module in pkgutil.iter_modules(cli.__path__) if module.name != "main"]

    def __getitem__(self, name: str) -> click.Command:
        if name in self._added or name not in ABOUT:
            return self._others()[name]
        found: click.Command = getattr(import_module(f"{cli.__name__}.{_file(name)}"), _file(name))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*ABOUT, *self._others())))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._added[name] = command

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def _others(self) -> dict[str, click.Command]:
        """Commands that are in no task, by name; loads the files that hold none of `ABOUT`."""
        named = set(map(_file, ABOUT))
        modules = (import_module(f"{cli.__name__}.{file}") for file in self._files if file not in named)
        found = (getattr(module, module.__name__.rpartition(".")[2], None) for module in modules)
        return {str(one.name): one for one in found if isinstance(one, click.Command)} | self._added


def _file(name: str) -> str:
    return name.replace("-", "_")


class Distkern(Group):
    """Lists the subcommands by task without loading them, and turns their errors into one line each."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands in the order of the help."""
        return list(self.commands)

    def by_task(self, ctx: click.Context) -> dict[str, dict[str, str]]:
        """What each command does, by task and by the name of the command."""
        others = {name: self.commands[name].get_short_help_str(limit=80) for name in self.commands if name not in ABOUT}
        return TASKS | ({OTHERS: others} if others else {})

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin with a text."""
        if incomplete and not incomplete[0].isalnum():
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        found = {name: about for commands in self.by_task(ctx).values() for name, about in commands.items()}
        return [CompletionItem(name, help=about) for name, about in found.items() if name.startswith(incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand, and turn an exception into one line and an exit code."""
        with one_line_errors(debug=ctx.params["debug"]):
            return super().invoke(ctx)


@click.group(
    cls=Distkern,
    commands=Commands(),
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="distkern")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Compute kernel (Gram) matrices of rankings and expression cohorts in tiles, on threads or a Dask cluster.

    A matrix is stored on disk and may be larger than memory. An interrupted run continues where it stopped.
    """
