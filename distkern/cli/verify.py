"""``distkern verify``: compare the contents of a store with their checksums, and repair them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkern.cli.common import StoreLocation, json_option, open_store, print_json, progress_of, quiet_option, say
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.kernels import view_of, view_options
from distkern.cli.progress import echo
from distkern.cli.wording import in_cli_words
from distkern.core.errors import CorruptTileError, StoreError

EPILOG = """\b
Examples:
  distkern verify cohort.zarr
  distkern verify cohort.zarr --repair

The exit code is 3 if something is damaged and was not repaired."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("store", type=StoreLocation())
@click.option("--repair", is_flag=True, help="Recompute damaged tiles from the samples in the store.")
@view_options
@json_option
@quiet_option
def verify(store: Path | str, repair: bool, as_json: bool, quiet: bool, **asked: Any) -> None:
    """Read all of STORE and compare it with its checksums."""
    from distkern.build.repair import repair_gram

    gram = open_store(store, **view_of(**asked))
    damage = [_description(found) for found in gram.damages(progress=progress_of(quiet))]
    on_interruption("run the same command again")
    repaired = repair_gram(store, progress=progress_of(quiet)) if damage and repair else 0
    left = gram.damages(progress=False) if repaired else damage
    info = gram.info()
    if as_json:
        state = {"complete": info["complete"], "tiles_done": info["tiles_done"], "tiles": info["tiles"]}
        state["kernel"] = info["kernel"]
        print_json({"path": info["path"], "damage": damage, "repaired": repaired, "whole": not left} | state)
    else:
        for found in damage:
            echo(found)
        if repaired:
            echo(f"{store}: recomputed {repaired:,} damaged tile{'s' if repaired > 1 else ''}")
        if not left:
            done = f"{info['tiles_done']:,} of {info['tiles']:,} tiles done, all match their checksums"
            echo(f"{store}: intact: {done} ({gram.kernel!r})")
    if left:
        number = f"{len(left):,} damaged part{'s' if len(left) > 1 else ''}"
        raise StoreError(
            f"{str(store)!r} has {number}" + ("" if repair else f": run `distkern verify --repair {store}`")
        )
    if not info["complete"]:
        verb = "append" if gram.status()["grown"] else "gram"
        say(f"the matrix is not complete: the same `distkern {verb}` continues where it stopped", quiet)


def _description(error: CorruptTileError) -> str:
    """Name the damage, without the advice to use the command that the user has just run."""
    return str(error.fields["damage"]) if "damage" in error.fields else in_cli_words(error)
