"""How a command ends: the files that it wrote, and the commands that go on from there, on stderr.

A command that is shown runs when it is copied: it has the names of the user's files, and the options that the user
typed, quoted for the shell. Words in capitals, such as FILE, are for what only the user knows; the line says so.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from distkern.cli.common import Amount, is_given, say

MOST_LINES = 4
"""Most lines that a command ends with."""

READING = ("samples", "layer", "use_rep", "collapse", "genes", "sep")
"""Parameters that say how the samples in a file are read."""

NOT_REPEATED = {"as_json", "quiet", "overwrite"}
"""Parameters that belong to one run only."""


def conclude(*made: Path | str | None, then: Sequence[str] = ()) -> None:
    """Say which files the command wrote, and what to run next; nothing if it is quiet or prints for programs."""
    given = click.get_current_context().params
    if given.get("quiet") or given.get("as_json"):
        return
    files = [str(file) for file in made if file is not None]
    lines = [f"written to {', '.join(files)}"] if files else []
    lines += [f"{'      ' if number else 'next: '}{line}" for number, line in enumerate(then)]
    for line in lines[:MOST_LINES]:
        say(line)


def command(name: str, *words: Any) -> str:
    """Write a command of distkern as a shell takes it.

    Examples
    --------
    >>> command("evaluate", Path("my cohort.zarr"), "--labels", Path("-a.csv"))
    "distkern evaluate 'my cohort.zarr' --labels ./-a.csv"
    """
    return shlex.join(["distkern", name, *map(_word, words)])


def opened(page: Path) -> str:
    """Write the command that opens a page."""
    return shlex.join(["python", "-m", "webbrowser", _word(page)])


def typed(*names: str) -> list[Any]:
    """The options among these parameters that the user typed, as words of a command."""
    context, words = click.get_current_context(), []
    for param in context.command.params:
        if isinstance(param, click.Option) and param.name in names and is_given(str(param.name)):
            words += _words(param, context.params[param.name])
    return words


def again(*more: Any, name: str | None = None, without: Sequence[str] = ()) -> str:
    """Write this command, or another one with the same parameters, without some of them, and with further words."""
    context = click.get_current_context()
    params = [param for param in context.command.params if param.name not in (*without, *NOT_REPEATED)]
    arguments = [context.params[param.name] for param in params if isinstance(param, click.Argument)]
    options = typed(*(str(param.name) for param in params))
    words = (*(one for one in arguments if one is not None), *more, *options)
    return command(name or str(context.info_name), *words)


def clustering(store: Path | str, samples: int) -> list[str]:
    """The command that clusters the samples of a store, if they are enough."""
    return [command("cluster", store, "-k", f"2-{min(10, samples - 1)}")] if samples > 3 else []


def unused(name: str | Path) -> Path:
    """Find a name that no file has: this one, or the same with a number."""
    path, number = Path(name), 1
    while path.exists():
        number += 1
        path = Path(name).with_stem(f"{Path(name).stem}-{number}")
    return path


def stem_of(path: Path | str) -> str:
    """The name of a file, or of a store, without its folder and all that follows the first point.

    Examples
    --------
    >>> stem_of(Path("data/cohort.tsv.gz")), stem_of("s3://bucket/cohort.zarr")
    ('cohort', 'cohort')
    """
    name = str(path).rstrip("/").rpartition("/")[2]
    return name.lstrip(".").partition(".")[0] or "distkern"


def _words(option: click.Option, value: Any) -> list[Any]:
    name = max(option.opts, key=len)
    if option.is_flag:
        return [name]
    if option.multiple:
        return [word for one in value for word in (name, one)]
    if isinstance(value, range):
        return [name, f"{value[0]}-{value[-1]}" if len(value) > 1 else value[0]]
    if isinstance(option.type, Amount):
        return [name, f"{value}B"]
    return [name, *value] if isinstance(value, tuple) else [name, value]


def _word(part: Any) -> str:
    return f"./{part}" if isinstance(part, Path) and str(part).startswith("-") else str(part)
