"""Gene sets from GMT files: a set in each line, with its name, a description, and its genes, separated by tabs."""

from __future__ import annotations

import os

from distkern.core.errors import InputError
from distkern.core.files import as_path
from distkern.core.names import checked_names
from distkern.io.tables import open_text


def read_gmt(path: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    r"""Read gene sets: ``name<tab>description<tab>gene<tab>gene…`` in each line.

    Source: the format of the Molecular Signatures Database.

    Parameters
    ----------
    path
        File in UTF-8, compressed with gzip or not, which its content decides.

    Returns
    -------
    dict
        Genes of each set by its name, in the order of the file; a gene that a line repeats counts once. Spaces around
        names and empty cells are left out, and so are the descriptions. Signs at the end of a gene stay: `score_sets`
        reads them.

    Raises
    ------
    InputError
        If there is no file, a line has no tab, no name or no gene, two sets have the same name, a name holds control
        characters, or the file has no set; the message names the line.

    See Also
    --------
    score_sets : Scores of the sets in each sample.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "types.gmt")
    ...     _ = file.write_text("T cell\thttps://example.org\tCD3D\tCD3E\nB cell\t\tCD79A\tMS4A1\tCD3D-\n")
    ...     read_gmt(file)
    {'T cell': ('CD3D', 'CD3E'), 'B cell': ('CD79A', 'MS4A1', 'CD3D-')}
    """
    file = as_path(path)
    if not file.is_file():
        raise InputError(f"there is no file of gene sets {str(file)!r}: check the path")
    sets: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    with open_text(file) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            name, genes = _set_in(line.rstrip("\r\n"), f"line {number} of {file.name!r}")
            if name in sets:
                raise InputError(
                    f"lines {lines[name]} and {number} of {file.name!r} both hold the set {name!r}: rename or remove "
                    "one of them"
                )
            sets[name], lines[name] = genes, number
    if not sets:
        raise InputError(f"{file.name!r} holds no gene sets: give a GMT file, with a set in each line")
    return sets


def _set_in(line: str, where: str) -> tuple[str, tuple[str, ...]]:
    """Name and genes of the set in a line."""
    cells = [cell.strip() for cell in line.split("\t")]
    if len(cells) == 1:
        raise InputError(f"{where} has no tab: a GMT file separates name, description and genes by tabs")
    if not cells[0]:
        raise InputError(f"{where} has no name in its first cell: name the set")
    genes = tuple(dict.fromkeys(gene for gene in cells[2:] if gene))
    if not genes:
        raise InputError(
            f"{where} has no gene after the name {cells[0]!r} and the description: the genes begin in the third cell"
        )
    name, *_ = checked_names([cells[0]], "set", where)
    return name, checked_names(genes, "gene", where)
