"""``distkern reproduce``: compute a table of a paper again, and compare it with the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.common import (
    Choice,
    LocalPath,
    json_option,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_unwritable_file,
    say,
)
from distkern.cli.ending import conclude
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo
from distkern.cli.tables import print_columns
from distkern.core.suggest import did_you_mean

if TYPE_CHECKING:
    from distkern.reproduce.tables import Row, Table

EPILOG = """\b
Examples:
  distkern reproduce --list
  distkern reproduce kendall-accuracy --cohort CT --repeats 2
  distkern reproduce kendall-accuracy --data cohorts/ --out accuracy.csv
  distkern reproduce kendall-accuracy --cohort CT --folds random --seed 1
  distkern reproduce smoothing --quick

The file of --out is rewritten after every row, so that an interruption loses no row. Its first lines name the command
and the versions that made it. It also has a column for each repetition."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("table", required=False)
@click.option("--list", "listed", is_flag=True, help="List the tables.")
@click.option(
    "--data", type=LocalPath(), metavar="FOLDER", help="Folder of the data sets that do not come with distkern."
)
@click.option("--cohort", "cohorts", multiple=True, help="Use only this data set; may be repeated.")
@click.option(
    "--folds",
    type=Choice(["authors", "random"]),
    help="Folds of kendall-accuracy: the folds of the paper's authors, or random folds. Default: authors.",
)
@click.option("--repeats", type=click.IntRange(1), help="Number of repetitions. Default: as in the paper.")
@click.option("--seed", type=click.IntRange(0), help="Seed of all random numbers. Default: 0.")
@click.option("--quick", is_flag=True, help="Compute a smaller version of the table.")
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write the rows as CSV.")
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it exists.")
@json_option
@quiet_option
def reproduce(
    table: str | None,
    listed: bool,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Compute TABLE as in its paper, and print the published numbers beside ours."""
    from distkern.reproduce import TABLES

    if listed:
        _list(list(TABLES.values()), as_json)
        return
    if table not in TABLES:
        fault = "give a table" if table is None else f"there is no table {table!r}"
        raise click.UsageError(f"{fault}: {', '.join(TABLES)}{did_you_mean(table or '', TABLES)}")
    chosen = TABLES[table]
    given = {name: value for name, value in asked.items() if value is not False and value not in (None, ())}
    _refuse_options(chosen, given)
    if out is not None:
        refuse_unwritable_file(out, overwrite)
    on_interruption("nothing was written" if out is None else f"the finished rows are in {str(out)!r}")
    listener = {"on_event": progress_of(quiet)} if "on_event" in chosen.options() else {}
    rows = _written(chosen, given, chosen.rows(**given, **listener), out, quiet)
    if as_json:
        defined = [{name: None if value != value else value for name, value in row.items()} for row in rows]
        print_json({"table": chosen.name, "source": chosen.source, "made": _made(chosen, given), "rows": defined})
        return
    echo(f"{chosen.source}: {chosen.about}")
    _print_rows(rows)
    conclude(out)


def _list(tables: list[Table], as_json: bool) -> None:
    if as_json:
        print_json([{"table": table.name, "source": table.source, "about": table.about} for table in tables])
        return
    print_table([(table.name, f"{table.about} ({table.source})") for table in tables])


def _refuse_options(table: Table, given: dict[str, Any]) -> None:
    known = table.options()
    words = {name: f"--{name.removesuffix('s') if name == 'cohorts' else name}" for name in (*known, *given)}
    for name in given:
        if name not in known:
            takes = ", ".join(words[option] for option in known if option != "on_event")
            raise click.UsageError(f"the table {table.name} takes no {words[name]}; it takes {takes or 'no option'}")


def _written(table: Table, given: dict[str, Any], rows: Any, out: Path | None, quiet: bool) -> list[Row]:
    """Compute all rows; report and write each as soon as it is computed."""
    from distkern.reproduce.tables import as_text, write_rows

    done: list[Row] = []
    for row in rows:
        done.append(row)
        say("  ".join(filter(None, (as_text(row[name]) for name in _shown([row])))), quiet)
        if out is not None:
            write_rows(out, done, _made(table, given))
    return done


def _made(table: Table, given: dict[str, Any]) -> list[str]:
    """Describe how the numbers were made: the command without the paths of files, the versions and the source."""
    from distkern.reproduce.tables import versions

    words = ["distkern reproduce", table.name]
    for name, value in ((name, given[name]) for name in table.options() if name in given):
        words += [f"--cohort {cohort}" for cohort in value] if name == "cohorts" else []
        words += ["--data FOLDER"] if name == "data" else ["--quick"] if name == "quick" else []
        words += [f"--{name} {value}"] if name in ("folds", "repeats", "seed") else []
    return [" ".join(words), versions(), table.source]


def _shown(rows: list[Row]) -> list[str]:
    from distkern.reproduce.tables import REPEATED

    return list(dict.fromkeys(name for row in rows for name in row if not name.startswith(REPEATED)))


def _print_rows(rows: list[Row]) -> None:
    """Print rows in columns, with numbers aligned to the right."""
    from distkern.reproduce.tables import as_text

    names = _shown(rows)
    cells = [[_short(row.get(name), as_text) for name in names] for row in rows]
    print_columns(names, cells, [any(isinstance(row.get(name), (int, float)) for row in rows) for name in names])


def _short(value: Any, as_text: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) and value == value else as_text(value)
