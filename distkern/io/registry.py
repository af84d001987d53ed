"""Finds the format of a file, and the kind of a container in memory, among the files of `distkern.io.formats`.

The format of a file follows from its suffix, then from its content. Importing this module and the formats imports no
library of containers (pandas, AnnData, h5py, Zarr): workers need none of them until they read such a file.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from distkern.core.errors import InputError, InputTypeError
from distkern.core.files import as_path
from distkern.core.sentences import Argument
from distkern.io import formats as folder
from distkern.io.blocks import Reader
from distkern.io.foreign import head_of, refuse_foreign
from distkern.io.format import Container, Format, Opened, ReadOptions
from distkern.io.sheets import file_and_sheet


@cache
def modules() -> tuple[ModuleType, ...]:
    """Import the files of the formats' folder."""
    names = sorted(found.name for found in pkgutil.iter_modules(folder.__path__))
    return tuple(importlib.import_module(f"{folder.__name__}.{name}") for name in names)


def formats() -> tuple[Format, ...]:
    """Return all formats: special cases first, general formats last.

    Examples
    --------
    >>> [format.name for format in formats() if ".npy" in format.suffixes]
    ['NumPy array']
    """
    found = [format for module in modules() for format in getattr(module, "FORMATS", ())]
    return tuple(sorted(found, key=lambda format: (format.general, format.name)))


def containers() -> tuple[Container, ...]:
    """Return all containers in memory: those recognised by their classes first."""
    found = [container for module in modules() for container in getattr(module, "CONTAINERS", ())]
    return tuple(sorted(found, key=lambda container: container.method is not None))


def find_format(path: Path) -> Format:
    """Find the format of a file or folder by its suffix, then by its content.

    The longest suffix wins. Where several formats share it, or none has it, the content decides. Kinds of files that
    are known and not read are refused with advice.

    Raises
    ------
    InputError
        If nothing lies at the path, or no format is found; the message lists the known ones.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/values", "wb") as file:
    ...         np.save(file, np.eye(2))
    ...     find_format(Path(folder, "values")).name
    'NumPy array'
    """
    try:
        path, _ = file_and_sheet(path)
        exists = path.exists()
    except OSError:  # no name that the file system may have
        exists = False
    if not exists:
        raise InputError(f"there is no file {str(path)!r}: check the path")
    head = head_of(path)
    refuse_foreign(path, head)
    able = [format for format in formats() if format.folder == path.is_dir()]
    longest = max((len(format.suffix_of(path.name)) for format in able), default=0)
    named = [format for format in able if 0 < len(format.suffix_of(path.name)) == longest]
    if len(named) == 1:
        return named[0]
    recognised = next((format for format in named or able if format.recognises(path, head)), None)
    if recognised is not None:
        return recognised
    if named:
        return named[-1]
    known = ", ".join(format.describe() for format in formats())
    raise InputError(f"{path.name!r} is of no known format; the known ones are: {known}")


def open_file(path: Path, options: ReadOptions | None = None) -> Opened:
    """Open a cohort by its path.

    Raises
    ------
    InputError
        If nothing lies there, its format is unknown, or it cannot be read as a cohort.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.eye(3))
    ...     open_file(Path(folder, "X.npy")).values.shape
    (3, 3)
    """
    path, options = as_path(path), options or ReadOptions()
    found = find_format(path)
    check_orientation(path, found, options)
    return found.open(path, options)


def table_names(path: Path, sep: str | None = None) -> tuple[list[str], list[str]]:
    r"""Read the names of the rows and of the columns of a table whose samples may be either.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "cohort.csv").write_text("id,TP53,MYC\np1,1,2\n")
    ...     table_names(Path(folder, "cohort.csv"))
    (['p1'], ['TP53', 'MYC'])
    """
    names = find_format(path).names
    return ([], []) if names is None else names(path, ReadOptions(sep=sep))


def check_orientation(path: Path, found: Format, options: ReadOptions) -> None:
    """Refuse samples in columns where the format has them in rows, and the reverse."""
    if found.samples is not None and options.samples not in (None, found.samples):
        line = found.samples.removesuffix("s")
        raise InputError(
            "in {file!r} every {line} is a sample: save it transposed, or leave out {samples}",
            file=path.name,
            line=line,
            samples=Argument("samples", options.samples),
        )
    for name in ("layer", "use_rep"):
        if getattr(options, name) is not None and name not in found.options:
            raise InputError(
                "{file!r} is {format}, which has {lacks}: leave out {option}",
                file=path.name,
                format=found.name,
                lacks="no obsm" if found.options else "neither layers nor obsm",
                option=Argument("layer") if name == "layer" else Argument("use_rep"),
            )


def open_container(X: Any) -> Opened:
    """Open a container in memory.

    Raises
    ------
    InputTypeError
        If no container of this class is known.
    InputError
        If the container does not hold a cohort.
    """
    container = next((container for container in containers() if container.holds(X)), None)
    if container is None:
        hint = "give X.to_numpy()" if hasattr(X, "to_numpy") else "give numpy.asarray(X) if every row is a sample"
        raise InputTypeError(f"a cohort cannot be read from a {type(X).__module__}.{type(X).__qualname__}: {hint}")
    return container.open(X)


def reader_of(opened: Opened) -> Reader:
    """Return the reader of an open cohort; its values may be another container in memory."""
    if isinstance(opened.values, Reader):
        return opened.values
    reader = reader_of(open_container(opened.values))
    if opened.kind is not None and not reader.portable:  # values in a file of their own keep the name of that file
        reader.kind = opened.kind
    return reader
