"""``distkern markers``: features that distinguish groups of samples."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import click

from distkern.cli.cohort import count_classes, read_cohort, read_column
from distkern.cli.common import (
    Choice,
    LocalPath,
    anndata_options,
    execution_options,
    executor_of,
    json_option,
    print_json,
    print_table,
    progress_of,
    quiet_option,
    refuse_unwritable_table,
    samples_option,
    sep_option,
    separator_of,
)
from distkern.cli.ending import again, conclude, stem_of, unused
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.progress import echo
from distkern.core.files import write_text
from distkern.core.names import shown

EPILOG = """\b
Examples:
  distkern markers cells.h5ad --label cell_type --out markers.csv
  distkern markers cohort.tsv.gz --samples columns --labels clinical.csv --label relapse --versus no
  distkern markers cells.h5ad --label cell_type --strata donor --fold-change log1p --workers 4

Each feature is compared between groups by Wilcoxon's rank-sum test. p is corrected for ties and for continuity, and q
is the false discovery rate among the features of one comparison. Groups are matched by the samples' ids."""

_LABELS_HELP = "File with the groups, a text table whose first column holds the samples' ids. Default: INPUT."


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.option("--labels", type=LocalPath(), metavar="FILE", help=_LABELS_HELP)
@click.option("--label", metavar="COLUMN", help="Column with the groups. It may be left out if the file has only one.")
@click.option("--strata", metavar="COLUMN", help="Column of strata, such as donors, within which samples are compared.")
@click.option(
    "--versus",
    default="rest",
    metavar="GROUP",
    help="What each group is compared with: rest, all other samples; each, every other group; or one group.",
)
@click.option(
    "--fold-change",
    type=Choice(["difference", "log1p", "ratio"]),
    default="difference",
    help="difference: of the means, for values that are logarithms. log1p: log2 ratio of the means of log(1 + count), "
    "as in scanpy. ratio: log2 ratio of the means.",
)
@click.option("--no-continuity", is_flag=True, help="Do not correct p for continuity, as in scanpy.")
@click.option("--top", type=click.IntRange(0), default=5, help="Number of features that are printed for each group.")
@samples_option
@anndata_options
@sep_option
@click.option("--out", type=LocalPath(), metavar="FILE", help="Write all features and comparisons as a CSV table.")
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it exists.")
@execution_options
@json_option
@quiet_option
def markers(
    input: Path,
    versus: str,
    fold_change: str,
    no_continuity: bool,
    top: int,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    memory_limit: int | None,
    **given: Any,
) -> None:
    """Compare every feature of the samples in INPUT between groups."""
    if out is not None:
        refuse_unwritable_table(out, overwrite)
    source, name, groups, strata = _read(input, given)
    on_interruption("nothing was written: run the same command again")
    with executor_of(**given) as executor:
        from distkern.learners.markers import rank_markers

        table = rank_markers(
            source,
            groups,
            versus=versus,
            strata=strata,
            fold_change=fold_change,  # type: ignore[arg-type]
            continuity=not no_continuity,
            executor=executor,
            progress=progress_of(quiet),
            memory_limit=memory_limit,
        )
    if out is not None:
        write_text(out, table.to_csv(index=False), overwrite=overwrite)
    best = _best(table, top)
    if as_json:
        sizes = dict(Counter(groups).most_common())
        print_json({"label": name, "groups": sizes, "markers": best, "out": out and str(out)})
        return
    echo(shown(f"{len(groups):,} samples of {str(input)!r} by {name!r}: {count_classes(groups)}"))
    _show(best)
    conclude(out, then=[] if out is not None else [again("--out", unused(f"{stem_of(input)}-markers.csv"))])


def _read(path: Path, given: dict[str, Any]) -> tuple[Any, str, list[str], list[str] | None]:
    """Read the samples, the name of the column of groups, and the group and the stratum of each sample."""
    from distkern.io.registry import find_format

    labels, label, strata = given["labels"], given["label"], given["strata"]
    is_table = find_format(path).samples is None
    if is_table and labels is None and strata is not None:
        raise click.UsageError("--label and --strata would be two columns of one table: save them as --labels FILE")
    if is_table and labels is None and label is None:
        raise click.UsageError("name the column of INPUT that holds the groups with --label, or give --labels FILE")
    sep = separator_of(given["sep"])
    how = {name: given[name] for name in ("samples", "layer", "use_rep")}
    source = read_cohort(path, label=label if is_table and labels is None else None, sep=sep, **how)
    ids = source.ids or tuple(map(str, range(len(source))))
    file, where = (path, given["samples"]) if labels is None else (labels, "rows")
    name, groups = read_column(file, label, ids, samples=where, sep=sep, whose="the cohort")
    if strata is None:
        return source, name, groups, None
    return source, name, groups, read_column(file, strata, ids, samples=where, sep=sep, whose="the cohort")[1]


def _best(table: Any, top: int) -> list[dict[str, Any]]:
    """Rows of the features with the largest z of each comparison, ready for JSON."""
    rows = table[table["z"] > 0].groupby(["group", "versus"], observed=True, sort=False).head(top)
    return [{name: _plain(value) for name, value in row.items()} for row in rows.to_dict("records")]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _show(best: list[dict[str, Any]]) -> None:
    """Print the markers of each comparison in a line."""
    lines: dict[str, list[str]] = {}
    for row in best:
        comparison = f"{row['group']} against {row['versus']}"
        lines.setdefault(comparison, []).append(f"{row['feature']} (auroc {row['auroc']:.3f}, q {row['q']:.2g})")
    if lines:
        print_table([(comparison, ", ".join(words)) for comparison, words in lines.items()])
