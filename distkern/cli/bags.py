"""``distkern bags``: group points into bags, and store them."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import click

from distkern.cli.common import (
    LocalPath,
    json_option,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_unwritable,
    sep_option,
    separator_of,
)
from distkern.cli.ending import command, conclude, stem_of, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.core.files import refuse_occupied

EPILOG = """\b
Examples:
  distkern bags cells.csv bags.zarr --by patient --columns CD4,CD8,CD19 --label relapse
  distkern bags cells.parquet bags.zarr --by patient --weight area
  distkern bags cells.h5ad bags.zarr --by donor --use-rep X_pca --label condition
  distkern gram bags.zarr gram.zarr --kernel kernel-igv --param base=gaussian --param base__sigma=0.1

INPUT has a row for each point: a text table (.csv, .tsv, .txt, .tab, also .gz), a .parquet or an .h5ad file. BAGS is a
folder that `distkern gram`, `append`, `cluster`, `plan` and `info` read. It also serves as --labels of `evaluate`,
where the column of labels is called label."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.argument("bags", type=LocalPath())
@click.option("--by", metavar="COLUMN", required=True, help="Column (of obs) with the name of each point's bag.")
@click.option(
    "--columns",
    metavar="LIST",
    multiple=True,
    help="Columns with the coordinates, separated by commas. Default: all other columns of numbers. May be repeated.",
)
@click.option("--weight", metavar="COLUMN", help="Column (of obs) with the weight of each point.")
@click.option("--label", metavar="COLUMN", help="Column (of obs) with the label of each bag.")
@click.option(
    "--use-rep", metavar="KEY", help="For an .h5ad file: the array in obsm that holds the coordinates, such as X_pca."
)
@click.option("--layer", metavar="KEY", help="For an .h5ad file: the layer that holds the coordinates.")
@sep_option
@click.option("--overwrite", is_flag=True, help="Replace BAGS if it exists.")
@json_option
@quiet_option
def bags(
    input: Path,
    bags: Path,
    by: str,
    columns: tuple[str, ...],
    sep: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Group the points in INPUT into bags by a column of names, and store them in BAGS."""
    from distkern.io.bags import save_bags
    from distkern.io.points import bags_from_file

    refuse_unwritable(bags)
    refuse_occupied(bags, overwrite)
    named = [name.strip() for row in csv.reader(columns) for name in row] or None
    on_interruption("nothing was written: run the same command again")
    listener = progress_of(quiet)
    made, coordinates = bags_from_file(input, by, columns=named, sep=separator_of(sep), on_event=listener, **given)
    save_bags(made, bags, overwrite=overwrite, on_event=listener)
    print_bags(bags, as_json, coordinates)
    kernel = ("--kernel", "mean-map", "--param", "base=gaussian", "--param", "base__sigma=median")
    conclude(bags, then=[command("gram", bags, unused(f"{stem_of(bags)}-gram.zarr"), *kernel)])


def print_bags(path: Path, as_json: bool, coordinates: list[str] | None = None) -> None:
    """Describe stored bags; name their coordinates if these are given."""
    import numpy as np

    from distkern.core.units import readable_bytes
    from distkern.io.bags import StoredBagsReader, read_labels_of_bags

    reader = StoredBagsReader(str(path))
    sizes, labels = reader.sizes(), Counter(read_labels_of_bags(path).values()).most_common()
    found: dict[str, Any] = {
        "path": str(path),
        "bags": len(sizes),
        "points": int(sizes.sum()),
        "smallest": int(sizes.min()),
        "median": float(np.median(sizes)),
        "largest": int(sizes.max()),
        "dimensions": reader.dimensions,
        "labels": dict(labels),
        "bytes": sum(file.stat().st_size for file in path.rglob("*") if file.is_file()),
    }
    if as_json:
        print_json(found | ({} if coordinates is None else {"columns": coordinates}))
        return
    first = "" if not coordinates else f": {', '.join(coordinates[:8])}{', …' if len(coordinates) > 8 else ''}"
    ids = ", ".join(reader.ids[:3]) + (", …" if len(sizes) > 3 else "")
    print_table(
        [
            ("bags", f"{found['bags']:,} in {found['path']} ({ids})"),
            ("points", f"{found['points']:,}; {found['smallest']:,} to {found['largest']:,} per bag"),
            ("dimensions", f"{found['dimensions']:,}{first}"),
            *([("labels", ", ".join(f"{count:,} {label}" for label, count in labels))] if labels else []),
            ("on disk", readable_bytes(found["bytes"])),
        ]
    )
