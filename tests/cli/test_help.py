"""Help: commands by task, options by what they are about, in panels on a terminal and as plain text elsewhere."""

from __future__ import annotations

import re
from collections import Counter

import click
import pytest
from terminals import on_terminal, plain

from distkern.cli.help import FEW, OTHERS, PANELS, Command, by_panel
from distkern.cli.main import ABOUT, TASKS, main

LONG = ("gram", "plan", "evaluate", "train", "cluster", "pairs", "predict")


def context_of(command):
    """The context of a command in the context of distkern, whose settings it has."""
    whole = click.Context(main, info_name="distkern", **main.context_settings)
    return click.Context(main.commands[command], info_name=command, parent=whole)


def options_of(command):
    context = context_of(command)
    return [param for param in context.command.get_params(context) if isinstance(param, click.Option)]


def names_of(command):
    return {max(option.opts, key=len) for option in options_of(command) if not option.hidden}


def test_every_command_is_in_exactly_one_task():
    listed = Counter(name for commands in TASKS.values() for name in commands)
    assert listed == Counter(list(main.commands))
    assert all(isinstance(main.commands[name], (Command, click.Group)) for name in ABOUT)


def test_help_lists_the_commands_below_their_tasks(run):
    lines = run("--help").stdout.splitlines()
    for task, commands in TASKS.items():
        start = lines.index(f"{task}:")
        names = [line.split()[0] for line in lines[start + 1 : start + 1 + len(commands)]]
        assert names == list(commands)


def test_every_option_of_a_long_command_is_in_a_panel():
    for name in main.commands:
        if isinstance(main.commands[name], click.Group):
            continue
        panels = by_panel(main.commands[name], context_of(name))
        if len(panels) > 1:
            assert [max(option.opts, key=len) for option in panels[OTHERS]] == ["--help"], name
    for name in LONG:
        assert len(names_of(name)) > FEW


def test_panels_name_options_that_exist_and_none_twice():
    named = [name for options in PANELS.values() for name in options]
    assert len(named) == len(set(named))
    known = {name: names_of(name) for name in main.commands}
    for words in named:
        *command, option = words.split()
        assert option in (known[command[0]] if command else set().union(*known.values())), words


@pytest.mark.parametrize("command", LONG)
def test_plain_help_has_every_option_below_the_heading_of_its_panel(run, command):
    text = run(command, "--help").stdout
    sections = re.split(r"^(\w+):$", text, flags=re.MULTILINE)
    found = dict(zip(sections[1::2], sections[2::2], strict=True))
    for panel, options in by_panel(main.commands[command], context_of(command)).items():
        for option in options:
            assert re.search(rf"^  (-\w, )?{max(option.opts, key=len)}\b", found[panel], re.MULTILINE)


@pytest.mark.parametrize("command", ["gram", "evaluate"])
def test_panels_on_a_terminal_hold_all_that_plain_help_holds(run, command):
    code, text = on_terminal(command, "--help")
    assert code == 0
    assert "\x1b[" in text
    for panel in by_panel(main.commands[command], context_of(command)):
        assert re.search(rf"╭─ {panel} ─+╮", plain(text))
    for option in names_of(command):
        assert re.search(rf"{option}\b", plain(text)), option
    assert f"Examples:\n    distkern {command}" in plain(text)
    words = " ".join(run(command, "--help").stdout.split())
    assert "INPUT" not in words or "INPUT" in plain(text)


def test_commands_on_a_terminal_are_in_panels_by_task():
    code, text = on_terminal("--help")
    assert code == 0
    for task, commands in TASKS.items():
        assert f"─ {task} ─" in plain(text)
        for name, about in commands.items():
            assert re.search(rf"│ {name} ", plain(text))
            assert about in " ".join(plain(text).replace("│", " ").split())
    assert "5  interrupted" in plain(text)


@pytest.mark.parametrize("surroundings", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"columns": 60}])
def test_help_is_plain_where_panels_do_not_fit(surroundings):
    code, text = on_terminal("gram", "--help", **surroundings)
    assert code == 0
    assert not {"\x1b", "╭"} & set(text)
    for option in names_of("gram"):
        assert option in text


def test_a_narrow_terminal_with_panels_shows_every_option_whole():
    _, text = on_terminal("evaluate", "--help", columns=72)
    assert max(map(len, plain(text).splitlines())) <= 72 or "distkern evaluate" in text
    for option in names_of("evaluate"):
        assert re.search(rf"{option}\b", plain(text)), option
