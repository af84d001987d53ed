"""The address of a store, and one sentence for whatever goes wrong there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distkern.core.errors import DistkernError, InputError, StoreError
from distkern.engine.memory import share_of

SCHEMES = ("s3", "gs", "az")
"""Object storage of Amazon and all that speak its protocol, of Google, and of Microsoft."""

ALWAYS_FITS = 2**20
"""Bytes for which nobody asks the system how many there are: the answer would take longer than reading them."""


def place(path: Any) -> str:
    """Absolute path of a store, or its URL, so that it means the same to workers in other folders.

    Raises
    ------
    InputError
        If it is neither a path nor a URL of object storage.

    Examples
    --------
    >>> place("s3://bucket/cohort.zarr/")
    's3://bucket/cohort.zarr'
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise InputError(f"store must be a path or a URL, not {path!r}") from None
    scheme, separator, rest = text.partition("://")
    if separator and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme):
        if scheme not in SCHEMES:
            known = ", ".join(f"{name}://" for name in SCHEMES)
            raise InputError(f"stores cannot lie at {scheme}:// ({text!r}): give a path, or a URL with {known}")
        bucket, _, prefix = rest.partition("/")
        keys = [key for key in prefix.split("/") if key]
        if not bucket or not keys or {".", ".."} & set(keys):
            raise InputError(f"{text!r} names no store: give {scheme}://bucket/name.zarr")
        return f"{scheme}://{bucket}/{'/'.join(keys)}"
    if shortened := next((name for name in SCHEMES if text.startswith(f"{name}:/")), None):
        raise InputError(f"{text!r} is a URL that pathlib has shortened: give it as text, with {shortened}://")
    return os.path.abspath(os.path.expanduser(text))


def is_remote(path: str) -> bool:
    """Whether a store lies on object storage."""
    return "://" in path


@contextmanager
def explained(path: str, doing: str) -> Iterator[None]:
    """Turn what the file system or object storage raises into one sentence that names the store."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot {doing} {path!r}: {error.strerror or said(error)}") from error
    except Exception as error:
        if not type(error).__module__.startswith("obstore"):
            raise
        raise StoreError(f"cannot {doing} {path!r}: {said(error)}") from error


def said(error: Exception) -> str:
    """What a server answered, without the request that it answered to.

    Examples
    --------
    >>> said(OSError("GET http://host/x in 5ms - Status 404: <Error><Code>NoSuchBucket</Code></Error>"))
    'NoSuchBucket'
    >>> said(OSError("Error performing GET http://host/x in 5ms - HTTP error: error sending request"))
    'Error performing GET http://host/x in 5ms - HTTP error: error sending request'
    """
    text = str(error).partition("\nDebug source")[0].strip()
    found = [re.search(f"<{tag}>(.*?)</{tag}>", text) for tag in ("Code", "Message")]
    answer = ": ".join(match[1] for match in found if match)
    advice = {"PermissionDeniedError", "UnauthenticatedError"} & {type(error).__name__}
    return " ".join((answer or text).split()) + (": check the credentials in the environment" if advice else "")


def refuse_beyond_memory(path: str, what: str, needed: int, error: type[DistkernError] = StoreError) -> None:
    """Refuse to read what a store claims to hold, where that cannot fit.

    Raises
    ------
    StoreError
        Before any memory is taken; another error where the store is known to be sound so far.
    """
    if needed > ALWAYS_FITS and needed > share_of(None, 1):
        raise error(
            f"{what} of {path!r} would take {needed:,} bytes of memory, more than there is: give this process more if "
            "the store is yours; if it is not, it may claim what it does not hold"
        )
