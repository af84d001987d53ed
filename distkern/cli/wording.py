"""The names that messages use on the command line: options for arguments, commands for functions."""

from __future__ import annotations

import shlex
from typing import Any

import click

from distkern.core.errors import DistkernError
from distkern.core.sentences import Argument, Call, Parameter, Reference, Sentence

OPTIONS: dict[str, str | None] = {
    "Y": "--against FILE",
    "absent": "--absent",
    "blank": "--blank TEXT",
    "collapse": "--collapse",
    "columns": "--columns",
    "count": None,
    "disjoint": "--overlapping",
    "dtype": "--dtype",
    "evaluation": "--evaluation FILE",
    "executor": None,
    "fdr": "--fdr",
    "features": "--features",
    "fold_change": "--fold-change",
    "folds": "--folds",
    "format": None,
    "gaps": "--gaps",
    "genes": "--genes",
    "gram": None,
    "ids": None,
    "item": "--item COLUMN",
    "items": None,
    "key_added": None,
    "label": "--label COLUMN",
    "loser": None,
    "layer": "--layer",
    "use_rep": "--use-rep",
    "labels": "--labels FILE",
    "landmark_choice": "--landmark-choice",
    "landmarks": "--landmarks",
    "max_bytes": "--memory-limit",
    "max_rank": "--max-rank",
    "memory_limit": "--memory-limit",
    "min_tau": "--min-tau",
    "missing": "--missing",
    "overwrite": "--overwrite",
    "rank": "--rank COLUMN",
    "resume": "--no-resume",
    "samples": "--samples",
    "score": "--score COLUMN",
    "seed": "--seed",
    "sep": "--sep",
    "tie": None,
    "ties": "--ties",
    "time_limit": "--time-limit",
    "values": "--values",
    "versus": "--versus",
    "voter": "--voter COLUMN",
    "winner": None,
}
"""The option of each argument that a message refers to; None where commands have none."""

COMMANDS: dict[str, str | None] = {
    "Kendall": "--kernel kendall",
    "append_gram": "distkern append",
    "block": None,
    "compute_gram": "distkern gram",
    "cross": None,
    "embedding_blocks": None,
    "open_gram": None,
    "read_expression": None,
    "repair_gram": "distkern verify --repair",
    "with_kernel": "--kernel",
}
"""The command, or the option, of each function and class that a message refers to; None where there is none."""


def continue_without(*options: str) -> None:
    """Set the options to leave out, so that the same command continues instead of starting again."""
    click.get_current_context().meta["distkern.without"] = options


def the_same_command() -> str:
    """Name the command that continues the work: this one, without the options that would start again."""
    context = click.get_current_context(silent=True)
    options = context.meta.get("distkern.without", ()) if context else ()
    return "the same command" + (f" without {' and '.join(options)}" if options else "")


def cli_name(reference: Reference) -> str | None:
    """Write a reference as users of the command line type it; None if no command offers it.

    Examples
    --------
    >>> cli_name(Argument("samples", "rows")), cli_name(Argument("resume", False)), cli_name(Argument("labels"))
    ('--samples rows', '--no-resume', '--labels FILE')
    >>> cli_name(Call("repair_gram", ("a.zarr",))), cli_name(Argument("ids"))
    ('`distkern verify --repair a.zarr`', None)
    """
    match reference:
        case Argument(name, value):
            return _with_value(OPTIONS.get(name), value)
        case Call(function, arguments):
            command = COMMANDS.get(function)
            words = None if command is None else " ".join([command, *map(_word, arguments)])
            return f"`{words}`" if words is not None and words.startswith("distkern ") else words
        case Parameter():
            return None  # no command passes these on
    return the_same_command()


def _with_value(option: str | None, value: Any) -> str | None:
    if option is None or value is ...:
        return option
    flag = option.partition(" ")[0]
    return flag if isinstance(value, bool) else f"{flag} {shlex.quote(str(value))}"


def _word(argument: Any) -> str:
    return str(cli_name(argument)) if isinstance(argument, Argument) else shlex.quote(str(argument))


def in_cli_words(message: Sentence | BaseException | str) -> str:
    """Render the message of an error or a warning for users of the command line.

    Examples
    --------
    >>> rows = Argument("samples", "rows")
    >>> in_cli_words(DistkernError("say which are the samples, such as {samples}", samples=rows))
    'say which are the samples, such as --samples rows'
    """
    if isinstance(message, DistkernError):
        message = message.sentence
    elif isinstance(message, Warning) and message.args:
        message = message.args[0]
    return message.render(cli_name) if isinstance(message, Sentence) else str(message)
