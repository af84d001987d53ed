"""Messages with named fields, rendered for users of Python or of the command line.

The same argument has two names: ``overwrite=True`` in Python is ``--overwrite`` on the command line. A message
therefore contains a *reference*, such as `Argument`, instead of the name. ``str(sentence)`` is the message for Python;
`Sentence.render` takes a function that names references. Programs can read the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Argument:
    """An argument of the function that was called; without ``value`` the user chooses the value.

    Examples
    --------
    >>> print(Argument("overwrite", True), Argument("labels"))
    overwrite=True labels=
    """

    name: str
    value: Any = ...

    def __str__(self) -> str:
        return f"{self.name}={'' if self.value is ... else repr(self.value)}"


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator, which Python users set when they make it."""

    name: str

    def __str__(self) -> str:
        return f"{self.name}="


@dataclass(frozen=True)
class Call:
    """A function or class to call, with some of its arguments.

    Examples
    --------
    >>> print(Call("compute_gram"), Call("repair_gram", ("a.zarr",)), Call("Kendall", (Argument("ties", "zero"),)))
    compute_gram repair_gram('a.zarr') Kendall(ties='zero')
    """

    function: str
    arguments: tuple[Any, ...] = ()

    def __str__(self) -> str:
        words = ", ".join(str(value) if isinstance(value, Argument) else repr(value) for value in self.arguments)
        return f"{self.function}({words})" if self.arguments else self.function


@dataclass(frozen=True)
class SameCall:
    """The call that raised the error, made once more."""

    def __str__(self) -> str:
        return "the same call"


Reference = Argument | Parameter | Call | SameCall
"""Names that differ between Python and the command line."""

Names = Callable[[Reference], str | None]
"""Function that names a reference for a kind of user; None if they have no counterpart of it."""


@dataclass(frozen=True, init=False)
class Sentence:
    """A template, as for ``str.format``, with its fields: plain values, references, and sentences.

    A template without fields is not formatted, so that a finished message may contain braces.

    Examples
    --------
    >>> sentence = Sentence("{path!r} exists: pass {overwrite}", path="a.zarr", overwrite=Argument("overwrite", True))
    >>> print(sentence)
    'a.zarr' exists: pass overwrite=True
    >>> sentence.render(lambda reference: f"--{reference.name}")
    "'a.zarr' exists: pass --overwrite"
    """

    template: str
    fields: Mapping[str, Any]

    def __init__(self, template: str, /, **fields: Any) -> None:
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "fields", fields)

    def render(self, names: Names = str) -> str:
        """Fill the template; ``names`` renders the references. If it returns None, they are rendered as in Python."""
        if not self.fields:
            return str(self.template)
        return self.template.format(**{field: _rendered(value, names) for field, value in self.fields.items()})

    def __str__(self) -> str:
        return self.render()


@dataclass(frozen=True, init=False)
class OptionalPart(Sentence):
    """A part of a sentence, omitted for users who have no counterpart of one of its references.

    Examples
    --------
    >>> part = OptionalPart(", or pass {ids}", ids=Argument("ids"))
    >>> part.render(), part.render(lambda reference: None)
    (', or pass ids=', '')
    """

    def render(self, names: Names = str) -> str:
        """Fill the template; an empty text if ``names`` does not know a reference."""
        known = all(names(value) is not None for value in self.fields.values() if isinstance(value, Reference))
        return super().render(names) if known else ""


def _rendered(value: Any, names: Names) -> Any:
    """Turn references and sentences into text; plain values stay, so that the template can format them."""
    if isinstance(value, Sentence):
        return value.render(names)
    return (names(value) or str(value)) if isinstance(value, Reference) else value
