"""The help of commands: options by what they are about, in panels on a terminal and as plain text elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import nullcontext
from typing import Any

import click

from distkern.cli.progress import step

PANELS: dict[str, tuple[str, ...]] = {
    "Data": (
        *("--samples", "--label", "--labels", "--sep", "--values", "--layer", "--use-rep", "--collapse", "--genes"),
        *("--gaps", "--blank", "--voter", "--item", "--rank", "--score", "--weight", "--weights"),
        *("--time", "--event", "--groups", "--strata", "--stratum", "--leave-out", "--covariates", "--covariate"),
        *("--against", "--cohort", "--new", "--external", "--external-labels", "--external-samples", "--at"),
        *("--missing", "--absent", "--apply", "--by", "--columns", "--up-down", "explain --store", "tau --pairs"),
        *("train --features", "--evaluation", "--reference", "--reference-label"),
    ),
    "Kernel": (
        *("--kernel", "--ties", "--param", "--landmarks", "--landmark-choice", "--landmark-seed", "--target"),
        *("--max-samples",),
    ),
    "Learner": (
        *("--learner", "--C", "--lam", "--risk-groups", "--calibration", "--outer", "--repeats", "--inner", "--seed"),
        *("--permutations", "--permutation-time", "--error", "--clusters", "--choose", "--references", "--resamples"),
        *("--starts", "--consensus", "--bootstrap", "--confidence", "--penalty", "--time-limit", "--multi-class"),
        *("-k", "--overlapping", "pairs --features", "--folds", "--method", "--heaviest", "--versus", "--fold-change"),
        *("--no-continuity", "--fdr", "--min-tau", "--alternative", "--max-rank", "--negative-weight"),
    ),
    "Execution": (
        *("--workers", "--threads", "--scheduler", "--scheduler-file", "--tls", "--tls-ca-file", "--tls-cert"),
        *("--tls-key", "--insecure", "--memory-limit", "--tile", "--no-resume", "--dry-run", "tau --store"),
    ),
    "Output": (
        *("--out", "--dtype", "--model", "--table", "--votes", "--scores", "--pairs", "--features", "--report"),
        *("--save-target", "--title", "--top", "--overwrite", "--json", "--quiet"),
    ),
}
"""What options are about, by heading; ``command --option`` is an option of that command only."""

OTHERS = "Options"
"""Heading of the options that are in no panel, and of all options of a command with few."""

FEW = 12
"""Most options of a command that are listed under one heading."""

NARROWEST, WIDEST = 72, 120
"""Columns of a terminal from which on help has panels, and the most columns that panels take."""


def panel_of(command: str | None, option: str) -> str:
    """Find the heading of an option.

    Examples
    --------
    >>> panel_of("train", "--features"), panel_of("explain", "--features"), panel_of("gram", "--help")
    ('Data', 'Output', 'Options')
    """
    for name in (f"{command} {option}", option):
        for panel, options in PANELS.items():
            if name in options:
                return panel
    return OTHERS


def by_panel(command: click.Command, context: click.Context) -> dict[str, list[click.Option]]:
    """The options of a command that its help shows, by heading, in the order of the headings."""
    params = command.get_params(context)
    options = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    if len(options) <= FEW:
        return {OTHERS: options}
    found: dict[str, list[click.Option]] = {panel: [] for panel in (*PANELS, OTHERS)}
    for option in options:
        found[panel_of(command.name, max(option.opts, key=len))].append(option)
    return {panel: own for panel, own in found.items() if own}


class _Help:
    """How the help of a command is written."""

    def get_help(self, ctx: click.Context) -> str:
        """Write the help, with panels where stdout is a terminal that can show them."""
        if shows_panels():
            return in_panels(self, ctx)  # type: ignore[arg-type]
        return super().get_help(ctx)  # type: ignore[misc]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by heading."""
        for panel, options in by_panel(self, ctx).items():  # type: ignore[arg-type]
            with formatter.section(panel):
                formatter.write_dl([record for option in options if (record := option.get_help_record(ctx))])


class Command(_Help, click.Command):
    """A command whose help groups its options, and which shows that it is busy."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and show that it is busy whenever none of its steps is shown; only if it has --quiet."""
        with step(str(ctx.info_name), kept=False) if "quiet" in ctx.params else nullcontext():
            return super().invoke(ctx)


class Group(_Help, click.Group):
    """A group of commands, with help as that of a `Command`."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options and the commands, each by heading."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, by heading, aligned over all headings."""
        sections = self.by_task(ctx)
        width = max((len(name) for own in sections.values() for name in own), default=0)
        for task, own in sections.items():
            with formatter.section(task):
                formatter.write_dl([(name.ljust(width), about) for name, about in own.items()])

    def by_task(self, ctx: click.Context) -> dict[str, dict[str, str]]:
        """What each command does, by heading and by the name of the command."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return {"Commands": {name: command.get_short_help_str(WIDEST) for name, command in found if command}}


# Panels --------------------------------------------------------------------------------------------------------------


def shows_panels() -> bool:
    """Whether stdout is a terminal that shows colours and is wide enough for panels."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return shutil.get_terminal_size().columns >= NARROWEST


def in_panels(command: click.Command, context: click.Context) -> str:
    """Write the help with panels, by rich-click, which is loaded here because it takes as long as all else."""
    from io import StringIO

    from rich.console import Console
    from rich_click import RichCommand, RichContext, RichGroup, RichHelpConfiguration

    about: dict[str, Any] = {"name": command.name, "params": command.params, "help": command.help}
    groups: Any = [
        {"name": panel, "options": [max(option.opts, key=len) for option in options]}
        for panel, options in by_panel(command, context).items()
        if panel != OTHERS  # rich-click makes this one
    ]
    config = RichHelpConfiguration(option_groups={"*": groups}, text_markup="ansi", max_width=WIDEST)
    twin = RichCommand(**about)
    if isinstance(command, Group):
        tasks = command.by_task(context)
        commands = [RichCommand(name, help=text) for own in tasks.values() for name, text in own.items()]  # type: ignore[call-arg]
        twin = RichGroup(commands=commands, **about)
        config.command_groups = {"*": [{"name": task, "commands": list(own)} for task, own in tasks.items()]}
    width = min(shutil.get_terminal_size().columns, WIDEST)
    console = Console(file=StringIO(), force_terminal=True, width=width)
    shown = RichContext(
        twin,
        info_name=context.info_name,
        parent=context.parent,
        rich_console=console,
        rich_help_config=config,
        help_option_names=context.help_option_names,
        show_default=context.show_default,
    )
    twin.format_help(shown, shown.make_formatter())
    plain = click.HelpFormatter(width=width)
    command.format_epilog(context, plain)
    return f"{console.file.getvalue().rstrip()}\n\n{plain.getvalue().strip(chr(10))}"  # type: ignore[attr-defined]
