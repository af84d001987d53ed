"""GEO: series matrices, and SOFT files of data sets (GDS) and of families of samples (GSE, GPL).

Features are rows and samples are columns; what GEO says of the samples become their columns. Format:
https://www.ncbi.nlm.nih.gov/geo/info/soft.html.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from distkern.core.errors import InputError
from distkern.core.names import checked_names
from distkern.io.annotated import Block, Lines, columns_by_sample, lines_of
from distkern.io.compression import ENDINGS, beginning_of
from distkern.io.format import Columns, Format, Opened, ReadOptions

SERIES, SOFT = "a GEO series matrix", "a GEO SOFT file"
"""Names of the formats in messages."""

_CHARACTERISTIC = re.compile(r"characteristics(_ch\d+)?")
_KEY = re.compile(r"([^:]{1,60}):\s+(.*)", re.DOTALL)
_SAMPLE = re.compile(r"GSM\d+")


def described(samples: Sequence[str], facts: Sequence[tuple[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Make columns of what is said of samples; ``age: 53`` among the characteristics is 53 in the column ``age``.

    Parameters
    ----------
    samples
        Names of the samples.
    facts
        Name of each line, and its text for each sample. Texts of one name for one sample are joined.

    Examples
    --------
    >>> described(["a", "b"], [("characteristics_ch1", ["age: 53", "sex: F"]), ("characteristics_ch1", ["sex: M", ""])])
    {'age': ['53', ''], 'sex': ['M', 'F']}
    """
    columns: dict[str, list[list[str]]] = {}
    kinds = (True, False)  # characteristics first: they are what labels are taken from
    for wanted in kinds:
        for name, texts in facts:
            characteristic = _CHARACTERISTIC.fullmatch(name) is not None
            if characteristic is not wanted:
                continue
            for k, text in enumerate(texts):
                pair = _KEY.fullmatch(text) if characteristic else None
                column, value = (pair[1].strip(), pair[2].strip()) if pair else (name, text.strip())
                if value or not characteristic:
                    columns.setdefault(column, [[] for _ in samples])[k].append(value)
    return {name: ["; ".join(filter(None, texts)) for texts in cells] for name, cells in columns.items()}


# Series matrices ---------------------------------------------------------------------------------------------------


@dataclass
class _Series:
    """The lines before the table, and its header."""

    facts: list[tuple[str, list[str]]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    header: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, lines: Lines) -> _Series:
        """Read them."""
        found = cls()
        for cells in lines:
            name = cells[0]
            if name == "!series_matrix_table_begin":
                found.header = lines.next("the header of the table")
                break
            if name.startswith("!Sample_"):
                found.facts.append((name.removeprefix("!Sample_"), cells[1:]))
            if "supplementary_file" in name and len(cells) > 1:
                found.files.append(cells[1])
            if not name.startswith("!"):
                raise lines.wrong(f"begins with {name!r}, where !Series_ or !Sample_ must be: get the file again")
        if not found.header:
            raise lines.cut_off("before !series_matrix_table_begin")
        if len(found.header) < 2:
            raise lines.wrong("names no sample: get the file again")
        for name, texts in found.facts:
            if len(texts) != len(found.header) - 1:
                raise InputError(
                    f"{lines.path.name!r} is {SERIES} whose line !Sample_{name} has {len(texts):,} texts for "
                    f"{len(found.header) - 1:,} samples: get it again"
                )
        return found

    def columns(self) -> dict[str, list[str]]:
        """Columns of texts of the samples."""
        return described(self.header[1:], self.facts)


def _open_series(path: Path, options: ReadOptions) -> Opened:
    with lines_of(path, SERIES) as lines:
        series = _Series.read(lines)
        block = Block(series.header, list(range(1, len(series.header))))
        _fill(lines, block, "!series_matrix_table_end")
    if not block.rows:
        raise _no_values(path, SERIES, series.files)
    return block.opened(path, series.columns())


def _fill(lines: Lines, block: Block, end: str) -> None:
    """Read the rows of a table up to its last line, which must be there."""
    for cells in lines:
        if cells[0] == end:
            return
        block.add(lines, cells)
    raise lines.cut_off(f"before {end}")


def _no_values(path: Path, kind: str, files: Sequence[str]) -> InputError:
    named = [file.rpartition("/")[2] for file in files if file.upper() != "NONE"]
    where = f", such as {named[0]!r}" if named else ""
    return InputError(
        f"{path.name!r} is {kind} without values: the values are in supplementary files of the series{where}; read "
        "those, and give this file for the labels"
    )


def _columns_of_series(path: Path, options: ReadOptions) -> Columns:
    with lines_of(path, SERIES) as lines:
        series = _Series.read(lines)
    return columns_by_sample(series.header[1:], series.columns())


def _is_series(path: Path, head: bytes) -> bool:
    text = beginning_of(head).lstrip(b'\r\n"')
    return text.startswith((b"!Series_", b"!Sample_")) or b"\n!series_matrix_table_begin" in text


# SOFT --------------------------------------------------------------------------------------------------------------


@dataclass
class _Entity:
    """A part of a SOFT file: what follows ``^SAMPLE = GSM1`` and its like, with its table of numbers or of texts."""

    kind: str
    name: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    block: Block | None = None

    def fact(self, name: str) -> list[str]:
        """Texts of a name."""
        return [text for known, text in self.facts if known == name]

    def read(self, lines: Lines, end: str) -> None:
        """Read its table: numbers of a data set or a sample, texts of a platform."""
        self.header = lines.next("the header of the table")
        samples: list[int] = []
        if self.kind == "DATASET":
            samples = [place for place, name in enumerate(self.header) if _SAMPLE.fullmatch(name)]
        elif self.kind == "SAMPLE" and "VALUE" in self.header:
            samples = [self.header.index("VALUE")]
            self.header[samples[0]] = self.name
        if samples:
            notes = [k for k in range(1, len(self.header)) if k not in samples] if self.kind == "DATASET" else []
            self.block = Block(self.header, samples, notes=notes)
        for cells in lines:
            if cells[0].lower() == end:
                return
            if self.block is None:
                self.rows.append(cells + [""] * (len(self.header) - len(cells)))
            else:
                self.block.add(lines, [sys.intern(cells[0]), *cells[1:]])
        raise lines.cut_off(f"before {end}")


def _entities(lines: Lines) -> list[_Entity]:
    """Read all parts of a SOFT file."""
    found: list[_Entity] = []
    for cells in lines:
        name, _, value = (text.strip() for text in "\t".join(cells).partition("="))
        if name.startswith("^"):
            found.append(_Entity(name[1:].upper(), value))
        elif not found:
            raise lines.wrong(f"begins with {cells[0]!r}, where ^DATABASE or its like must be: get the file again")
        elif name.lower().endswith("_table_begin"):
            found[-1].read(lines, name.lower().replace("_begin", "_end"))
        elif name.startswith("!"):
            found[-1].facts.append((name[1:].partition("_")[2], value))
        elif not name.startswith("#"):
            raise lines.wrong(f"begins with {cells[0]!r}, where ^, ! or # must be: get the file again")
    return found


def _open_soft(path: Path, options: ReadOptions) -> Opened:
    with lines_of(path, SOFT) as lines:
        entities = _entities(lines)
        datasets = [entity for entity in entities if entity.kind == "DATASET"]  # its facts, and its table
        dataset = next((entity for entity in datasets if entity.header), next(iter(datasets), None))
        if dataset is None:
            return _family(path, entities)
        if not dataset.header:
            raise lines.cut_off("before !dataset_table_begin")
    if dataset.block is None or not dataset.block.rows:
        raise _no_values(path, SOFT, [])
    return dataset.block.opened(path, _subsets(dataset.block.ids(), entities))


def _subsets(ids: Sequence[str], entities: Sequence[_Entity]) -> dict[str, list[str]]:
    """Columns of the subsets of a GDS: by type, such as ``disease state``, the description of each sample's subset."""
    columns: dict[str, list[str]] = {}
    for entity in (entity for entity in entities if entity.kind == "SUBSET"):
        kind = next(iter(entity.fact("type")), "subset")
        known = {name.strip() for text in entity.fact("sample_id") for name in text.split(",")}
        texts = columns.setdefault(kind, [""] * len(ids))
        for k, name in enumerate(ids):
            if name in known:
                texts[k] = next(iter(entity.fact("description")), entity.name)
    return columns


def _family(path: Path, entities: Sequence[_Entity]) -> Opened:
    """Read a family: a table of values for each sample, whose features are matched by their names."""
    samples = [entity for entity in entities if entity.kind == "SAMPLE"]
    tables = {entity.name: entity.block for entity in samples if entity.block is not None and entity.block.rows}
    filled = [entity for entity in samples if entity.name in tables]
    files = [text for entity in samples for name, text in entity.facts if name.startswith("supplementary_file")]
    if not filled:
        raise _no_values(path, SOFT, files)
    platforms = sorted({text for entity in filled for text in entity.fact("platform_id")})
    if len(platforms) > 1:
        raise InputError(
            f"{path.name!r} is {SOFT} with samples of {len(platforms)} platforms ({', '.join(platforms)}) that measure "
            "different features: get the series matrix of one platform"
        )
    place: dict[str, int] = {}
    for name, table in tables.items():
        for feature in table.features:
            place.setdefault(feature, len(place))
        if len(set(table.features)) < len(table.features):
            twice = next(feature for feature in table.features if table.features.count(feature) > 1)
            raise InputError(f"sample {name!r} of {path.name!r} has two values for feature {twice!r}: leave one")
    values = np.full((len(filled), len(place)), np.nan)
    for sample, table in zip(values, tables.values(), strict=True):
        sample[[place[feature] for feature in table.features]] = np.concatenate(table.rows)
    ids, features = checked_names(tables, "sample", path.name), checked_names(place, "feature", path.name)
    return Opened(values, ids, features, described(ids, _facts(filled)), about=_platform(features, entities))


def _facts(samples: Sequence[_Entity]) -> list[tuple[str, list[str]]]:
    """What a family says of its samples, as the lines of a series matrix would say it."""
    told = [(entity, name) for entity in samples for name in dict.fromkeys(name for name, _ in entity.facts)]
    times: dict[str, int] = {}
    for entity, name in told:
        times[name] = max(times.get(name, 0), len(entity.fact(name)))
    return [
        (name, [known[k] if k < len(known) else "" for known in (entity.fact(name) for entity in samples)])
        for name, count in times.items()
        for k in range(count)
    ]


def _platform(features: Sequence[str], entities: Sequence[_Entity]) -> dict[str, list[str]]:
    """Texts of the features from the table of the platform, if the file has it."""
    table = next((entity for entity in entities if entity.kind == "PLATFORM" and entity.rows), None)
    if table is None:
        return {}
    known = {row[0]: row for row in table.rows}
    return {
        name: [known[feature][k] if feature in known else "" for feature in features]
        for k, name in enumerate(table.header)
        if k > 0 and name
    }


def _columns_of_soft(path: Path, options: ReadOptions) -> Columns:
    opened = _open_soft(path, options)
    return columns_by_sample(opened.ids, opened.columns)


def _is_soft(path: Path, head: bytes) -> bool:
    text = beginning_of(head).lstrip(b'\r\n"')
    return text.startswith((b"^DATABASE", b"^DATASET", b"^SERIES", b"^SAMPLE", b"^PLATFORM"))


FORMATS = (
    Format(
        "GEO series matrix",
        tuple(f"{name}{end}" for name in ("_series_matrix.txt", ".txt") for end in ENDINGS),
        _open_series,
        _is_series,
        samples="columns",
        columns=_columns_of_series,
    ),
    Format(
        "GEO SOFT",
        tuple(f"{name}{end}" for name in (".soft", ".txt") for end in ENDINGS),
        _open_soft,
        _is_soft,
        samples="columns",
        columns=_columns_of_soft,
    ),
)
