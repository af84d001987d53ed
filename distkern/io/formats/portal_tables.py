"""Tables of portals, whose header settles what is what: cBioPortal, and TCGA and its like from UCSC Xena.

Features are rows and samples are columns. Format: https://docs.cbioportal.org/file-formats/ (expression data),
https://ucsc-xena.gitbook.io/project/ (genomic matrices).
"""

from __future__ import annotations

import re
from pathlib import Path

from distkern.core.errors import InputError
from distkern.io.annotated import Block, lines_of
from distkern.io.compression import ENDINGS, beginning_of
from distkern.io.format import Format, Opened, ReadOptions
from distkern.io.tables import MISSING

SYMBOL, ENTREZ = "Hugo_Symbol", "Entrez_Gene_Id"
_OTHERS = ("Cytoband", "Composite.Element.REF")
"""Further columns with texts of the genes in tables of cBioPortal."""

_FIRST_OF_XENA = frozenset({"sample", "Sample", "xena_sample", "Ensembl_ID", "probe", "#probe"})
_OF_PATIENT = re.compile(r"(TCGA|TARGET|GTEX|CPTAC|MMRF|BEATAML)[-_.][\w.-]+")
"""Names of samples of the projects in Xena."""


def _open_cbioportal(path: Path, options: ReadOptions) -> Opened:
    with lines_of(path, "a table of cBioPortal") as lines:
        header = lines.next("its header")
        genes = [place for place, name in enumerate(header) if name in (SYMBOL, ENTREZ, *_OTHERS)]
        block = Block(header, [place for place in range(len(header)) if place not in genes], genes[0], genes[1:])
        for cells in lines:
            block.add(lines, cells)
    _refuse_empty(path, block)
    opened = block.opened(path, {})
    other = opened.about.get(ENTREZ, ())
    for k, name in enumerate(block.features):
        if name in MISSING and other and other[k] not in MISSING:
            block.features[k] = other[k]  # a gene without a symbol keeps its number
    return opened


def _open_xena(path: Path, options: ReadOptions) -> Opened:
    with lines_of(path, "a matrix of UCSC Xena") as lines:
        header = lines.next("its header")
        block = Block(header, list(range(1, len(header))))
        for cells in lines:
            block.add(lines, cells)
    _refuse_empty(path, block)
    return block.opened(path, {})


def _refuse_empty(path: Path, block: Block) -> None:
    if not block.rows or not block.samples:
        raise InputError(
            f"{path.name!r} contains no numbers: it has {len(block.rows)} rows and {len(block.samples)} columns of them"
        )


def _header(head: bytes) -> list[str]:
    line = beginning_of(head).lstrip(b"\r\n").partition(b"\n")[0]
    return [cell.strip().strip('"') for cell in line.decode("utf-8", "replace").split("\t")]


def _is_cbioportal(path: Path, head: bytes) -> bool:
    return len(set(_header(head)[:2]) & {SYMBOL, ENTREZ}) == 2 or _header(head)[0] == SYMBOL


def _is_xena(path: Path, head: bytes) -> bool:
    first, *others = _header(head)
    samples = others[:-1] if len(others) > 1 else others  # the last name may be cut off
    return first in _FIRST_OF_XENA and bool(samples) and all(map(_OF_PATIENT.fullmatch, samples))


_SUFFIXES = tuple(f"{name}{end}" for name in (".txt", ".tsv") for end in ENDINGS)
FORMATS = (
    Format("cBioPortal table", _SUFFIXES, _open_cbioportal, _is_cbioportal, samples="columns"),
    Format("UCSC Xena matrix", _SUFFIXES, _open_xena, _is_xena, samples="columns"),
)
