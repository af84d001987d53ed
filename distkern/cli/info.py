"""``distkern info``: describe the contents of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkern.cli.bags import print_bags
from distkern.cli.common import StoreLocation, json_option, open_store, print_json, print_table
from distkern.cli.help import Command
from distkern.cli.kernels import view_of, view_options

EPILOG = """\b
Examples:
  distkern info cohort.zarr
  distkern info cohort.zarr --json | jq .complete
  distkern info bags.zarr"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("store", type=StoreLocation())
@view_options
@json_option
def info(store: Path | str, as_json: bool, **asked: Any) -> None:
    """Describe STORE: its kernel, samples, tiles, progress and runs. It may also hold bags."""
    from distkern.io.bags import holds_bags

    if isinstance(store, Path) and holds_bags(store):
        print_bags(store, as_json)
        return
    gram = open_store(store, **view_of(**asked))
    found = gram.info()
    if as_json:
        print_json(found)
    else:
        print_table(_table(gram, found))


def _kernel_words(gram: Any, found: dict[str, Any]) -> str:
    """Name the kernel and, where the store was made for another one, that one."""
    from distkern.kernels.registry import from_spec

    first = found["first_kernel"]
    return repr(gram.kernel) + ("" if first == found["kernel"] else f" (a view; first {from_spec(first)!r})")


def _table(gram: Any, found: dict[str, Any]) -> list[tuple[str, str]]:
    from distkern.core.units import readable_bytes
    from distkern.store.manifest import landmark_words

    rows, cols = gram.shape
    ids = ", ".join(gram.row_ids[:3]) + (", …" if rows > 3 else "")
    dropped = len(found["dropped"])
    verb = "append" if gram.status()["grown"] else "gram"
    state = "complete" if found["complete"] else f"incomplete: the same `distkern {verb}` continues where it stopped"
    table = [
        ("store", found["path"]),
        ("kernel", _kernel_words(gram, found)),
        ("matrix", f"{rows:,} × {cols:,} {found['dtype']}, {'symmetric' if gram.is_symmetric else 'test × training'}"),
        ("features", f"{found['n_features']:,}" + (f" ({dropped:,} left out)" if dropped else "")),
        ("samples", f"{ids} (from {found['source']})"),
        ("tiles", f"{found['tiles_done']:,} of {found['tiles']:,} done, side {found['tile']:,}; {state}"),
        ("on disk", f"{readable_bytes(found['bytes_stored'])} when complete"),
        *((f"fingerprint of {axis}", digest) for axis, digest in found["fingerprint"].items()),
        ("written by", f"distkern {found['version']}, store format {found['format']}"),
    ]
    if found.get("landmarks"):
        at = f"{landmark_words(found['landmarks'])}; only their columns are stored, {rows:,} × {len(gram.landmarks):,}"
        table.insert(3, ("landmarks", at))
    for number, run in enumerate(found["runs"], start=1):
        done = f"{run['tiles_computed']:,} tiles in {run['seconds']:.1f} s on {run['executor']}"
        ended = "" if run["state"] == "finished" else f", {run['state']}"
        failed = f", {run['tasks_failed']:,} tasks failed" if run["tasks_failed"] else ""
        table.append((f"run {number}", f"{run['started']}: {done}{ended}{failed}"))
        table += [("", f"{failure['task']}: {failure['error']}") for failure in run["failures"]]
    return table
