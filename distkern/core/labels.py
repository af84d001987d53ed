"""The one check of labels: classes, clusters and groups of samples."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

from distkern.core.alignment import SampleNames, aligned, as_sample_names
from distkern.core.errors import InputError, InputTypeError
from distkern.core.names import is_missing
from distkern.core.typing import Array, Indices

MISSING_TEXTS = frozenset({"", "NA", "NaN", "nan", "<NA>", "NaT"})
"""Texts that mean a missing value: in tables, and what NumPy and pandas turn missing values into beside texts."""

_BLANKS = "[\\s\u200b\u2060\ufeff]+"
_AROUND = re.compile(f"^{_BLANKS}|{_BLANKS}$")
"""Blanks around a text: spaces of all kinds, tabs, line breaks, and characters without width."""


def stripped(text: str) -> str:
    r"""Remove the blanks around a text, those without width included.

    Examples
    --------
    >>> stripped("Male\xa0"), stripped("\tMale  adult\u200b")
    ('Male', 'Male  adult')
    """
    return _AROUND.sub("", text)


def checked_labels(labels: Any, samples: Any, what: str = "labels") -> Array:
    """Validate the label of each sample: one for each, none missing, and no two that only look alike.

    Parameters
    ----------
    labels
        Labels, (m,): texts, or numbers.
    samples
        The m samples: `SampleNames`, a Gram matrix, or their number.
    what
        Name of the labels in messages.

    Returns
    -------
    ndarray
        The labels without their container, (m,).

    Raises
    ------
    InputError
        If the shape is wrong, the names differ from the names of the samples, a label is missing, or two labels differ
        only by blanks around them.

    Examples
    --------
    >>> checked_labels(["a", "b", "a"], 3)
    array(['a', 'b', 'a'], dtype='<U1')
    >>> checked_labels(["a", None, "b"], SampleNames(3, ("p", "q", "r")))
    Traceback (most recent call last):
    distkern.core.errors.InputError: the label of sample 'q' is missing (labels contains NaN or None; 1 such): ...
    """
    known = as_sample_names(samples)
    values = aligned(labels, known, what)
    if values.shape != (known.count,):
        raise InputError(f"got {what} of shape {values.shape} for {known.count} samples: give one for each")
    refuse_missing_labels(values, known, what)
    refuse_alike(values, what)
    return values


def encoded_labels(labels: Any, samples: Any, what: str = "labels") -> tuple[Array, Indices]:
    """Validate labels; return the distinct ones, sorted, and the number of the label of each sample.

    Raises
    ------
    InputError
        See `checked_labels`.
    InputTypeError
        If the labels cannot be sorted, because some are texts and others are numbers.

    Examples
    --------
    >>> encoded_labels(["b", "a", "b"], 3)
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    return sorted_labels(checked_labels(labels, samples, what), what)


def sorted_labels(values: Array, what: str = "labels") -> tuple[Array, Indices]:
    """Distinct labels, sorted, and the number of each label; the labels are those that were checked."""
    try:
        return np.unique(values, return_inverse=True)
    except TypeError as error:
        raise InputTypeError(
            f"{what} holds labels of several types, such as texts and numbers: convert it, as in {what}.astype(str)"
        ) from error


def refuse_missing_labels(values: Array, known: SampleNames, what: str) -> None:
    """Refuse labels that are NaN, None, NaT, infinite, empty, or a text that stands for a missing value."""
    missing = np.flatnonzero(_are_missing(values))
    if len(missing) == 0:
        return
    value, noun = values.tolist()[missing[0]], "group" if what == "groups" else "label"
    found, contents = "is missing", f"{what} contains NaN or None; "
    if isinstance(value, str):
        found, contents = f"is {value!r}, which means missing", ""
    raise InputError(
        f"the {noun} of sample {known.name(missing[0])} {found} ({contents}{len(missing)} such): give it a {noun}, or "
        "leave the sample out"
    )


def _are_missing(values: Array) -> Array:
    if values.dtype.kind == "f":
        return ~np.isfinite(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind not in "OUST":
        return np.zeros(len(values), dtype=bool)
    return np.array([is_missing(value) or _is_empty(value) for value in values.tolist()], dtype=bool)


def _is_empty(value: Any) -> bool:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return isinstance(value, str) and stripped(value) in MISSING_TEXTS


def refuse_alike(values: Array, what: str) -> None:
    """Refuse two texts that differ only by blanks around them, or by how their characters are composed."""
    if values.dtype.kind not in "OUT":
        return
    spelt: dict[str, str] = {}
    for text in {value for value in values.tolist() if isinstance(value, str)}:
        other = spelt.setdefault(stripped(unicodedata.normalize("NFC", text)), text)
        if other != text:
            first, second = sorted((other, text))
            raise InputError(
                f"{what} has both {first!r} and {second!r}, which differ only by blanks around them or by the encoding "
                f"of their characters: make them one, as in {what}.str.strip()"
            )
