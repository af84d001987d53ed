"""``distkern completion``: the script that completes commands, options and their values in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from distkern.cli.common import Choice
from distkern.cli.help import Command
from distkern.cli.progress import echo

EPILOG = """\b
Examples:
  distkern completion bash > ~/.distkern-completion.bash
  distkern completion zsh > ~/.zfunc/_distkern
  distkern completion fish > ~/.config/fish/completions/distkern.fish

\b
Where the script goes:
  bash  any file, which ~/.bashrc loads: add the line  . ~/.distkern-completion.bash
  zsh   a folder of functions: ~/.zshrc has  fpath+=~/.zfunc  before  autoload -Uz compinit && compinit
  fish  the folder of completions, as above; nothing else is needed

A new shell then completes commands, options, and the values of options, such as kernels. Write the script again after
an update of click, which makes it."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes distkern's commands in SHELL: bash, zsh or fish."""
    found = get_completion_class(shell)
    assert found is not None
    echo(found(context.find_root().command, {}, "distkern", "_DISTKERN_COMPLETE").source())
