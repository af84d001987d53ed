"""JSON documents of a store. They may come from a stranger, so every entry is checked when it is read.

Nothing that a document names is ever imported, unpickled or run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from distkern.core.errors import StoreError
from distkern.core.typing import Spec

LARGEST = 2**48
"""No count or number of bytes in a document is larger."""

Check = Callable[[Any], bool]
"""Whether a value of JSON is valid for an entry."""


def is_text(value: Any) -> bool:
    """Whether a value is text."""
    return isinstance(value, str)


def is_id(value: Any) -> bool:
    """Whether a value is an identifier: 32 hexadecimal digits."""
    return isinstance(value, str) and len(value) == 32 and not set(value) - set("0123456789abcdef")


def is_number(value: Any) -> bool:
    """Whether a value is a number; JSON's true and false are not numbers."""
    return isinstance(value, float) or (type(value) is int and abs(value) < LARGEST)


def is_seconds(value: Any) -> bool:
    """Whether a value is a finite number of seconds."""
    return is_number(value) and abs(value) < LARGEST


def is_whole(low: int = 0, high: int = LARGEST) -> Check:
    """Make the check for a whole number between two bounds."""
    return lambda value: type(value) is int and low <= value <= high


def is_list(of: Check, low: int = 0, high: int = LARGEST) -> Check:
    """Make the check for a list whose values pass a check and whose length lies between two bounds."""
    return lambda value: isinstance(value, list) and low <= len(value) <= high and all(map(of, value))


def is_mapping(of: Check) -> Check:
    """Make the check for an object whose values pass a check."""
    return lambda value: isinstance(value, dict) and all(map(of, value.values()))


class Document:
    """A JSON object of a store.

    Parameters
    ----------
    path
        Path of the store, for messages.
    entries
        The object.

    Examples
    --------
    >>> Document("k.zarr", {"tile": 5}).entry("tile", is_whole(1))
    5
    """

    def __init__(self, path: str, entries: Spec) -> None:
        self.path = path
        self.entries = entries

    @classmethod
    def parsed(cls, path: str, name: str, raw: bytes) -> Document:
        """Parse the bytes of a document.

        Raises
        ------
        StoreError
            If they are no JSON object.
        """
        try:
            entries = json.loads(raw)
        except (ValueError, RecursionError):
            raise damaged(path, f"{name!r} is no JSON") from None
        if not isinstance(entries, dict):
            raise damaged(path, f"{name!r} holds no object")
        return cls(path, entries)

    @property
    def attributes(self) -> Spec:
        """The attributes of a Zarr document; empty where there are none."""
        attributes = self.entries.get("attributes")
        return attributes if isinstance(attributes, dict) else {}

    def entry(self, key: str, is_valid: Check) -> Any:
        """Read an entry.

        Raises
        ------
        StoreError
            If the entry is missing or not valid.
        """
        if key not in self.entries:
            raise damaged(self.path, f"{key!r} is missing")
        if not is_valid(self.entries[key]):
            raise damaged(self.path, f"{key!r} cannot be {shortened(self.entries[key])}")
        return self.entries[key]


def damaged(path: str, what: str) -> StoreError:
    """Make the error of a store whose documents distkern cannot have written."""
    return StoreError(
        "the metadata of {store!r} are damaged ({what}): restore a copy of them, or compute the matrix again elsewhere",
        store=path,
        what=what,
    )


def shortened(value: Any) -> str:
    """Write a value for a message, in 60 characters at most."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deep; or a number of too many digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"


def as_json(document: Spec) -> bytes:
    """Write a document with indents, for people who read it."""
    return json.dumps(document, indent=2).encode()


def group_document(attributes: Spec) -> bytes:
    """Write the ``zarr.json`` of a group."""
    return as_json({"attributes": attributes, "zarr_format": 3, "node_type": "group"})
