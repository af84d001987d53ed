"""Where a cohort was read from: its file, and the options that change what is read from it.

A store keeps this as text, so that a page and a later command can name the file, and read it in the same way.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, fields

_STRING = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_WORDS = re.compile(rf"({_STRING})(?: with (\w+={_STRING}(?:, \w+={_STRING})*))?: ")


@dataclass(frozen=True)
class Origin:
    """The file of a cohort, and how it is read.

    Parameters
    ----------
    file
        Name of the file, without its folder.
    samples
        ``"rows"`` or ``"columns"``, for a text table.
    label
        Column (or row) of labels, which is not a feature.
    layer, use_rep
        Key of ``layers`` or of ``obsm`` of AnnData that is read instead of X.
    values
        ``"ranks"`` (1 = best) or ``"orderings"`` (each cell of place 1, 2, … names an item) for ballots that were
        turned into scores (larger = preferred).

    Examples
    --------
    >>> print(Origin("golub.tsv", samples="columns"))
    'golub.tsv' with samples='columns'
    >>> Origin.in_text("'golub.tsv' with samples='columns': AnnData 72 × 7,129")
    Origin(file='golub.tsv', samples='columns', label=None, layer=None, use_rep=None, values=None)
    >>> Origin.in_text("NumPy array 2 × 3") is None
    True
    """

    file: str
    samples: str | None = None
    label: str | None = None
    layer: str | None = None
    use_rep: str | None = None
    values: str | None = None

    @property
    def options(self) -> dict[str, str]:
        """The options that were given, by name."""
        return {field.name: value for field in fields(self)[1:] if (value := getattr(self, field.name)) is not None}

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.file!r}" + (f" with {options}" if options else "")

    def code(self) -> str | None:
        """Python that reads the cohort, with ``import distkern as dk``; None where one call does not do that.

        Examples
        --------
        >>> Origin("golub.tsv", samples="columns").code(), Origin("X.npy").code()
        ("dk.read_expression('golub.tsv', samples='columns')", "'X.npy'")
        """
        if self.values is not None:
            return None
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"dk.read_expression({self.file!r}{options})" if options else repr(self.file)

    @classmethod
    def in_text(cls, text: str) -> Origin | None:
        """Find the origin at the beginning of a description of samples; None where it has none."""
        found = _WORDS.match(text)
        if found is None:
            return None
        given = [word.partition("=") for word in re.findall(rf"\w+={_STRING}", found[2] or "")]
        try:
            return cls(ast.literal_eval(found[1]), **{name: ast.literal_eval(value) for name, _, value in given})
        except (TypeError, ValueError, SyntaxError):  # a stranger's text
            return None
