"""Names of samples, features, items, bags, labels and stores: one line of printable characters each.

A name is printed on terminals and pages, and written into tables. A line break or a tab inside a name makes one row or
cell look like several, and an escape sequence controls the terminal. `checked_names` refuses such names where data
enter, and `shown` escapes them where names of somebody else's file are printed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from distkern.core.errors import InputError
from distkern.core.parameters import entries

_CONTROLS = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
"""Control characters, line and paragraph separators, and lone surrogates."""

_REFUSED = re.compile(f"[{_CONTROLS}]")
_ESCAPED = re.compile(f"[{_CONTROLS}\u202a-\u202e\u2066-\u2069\ufeff]")
"""Also changes of the direction of text, which show another name, and byte-order marks, which show nothing."""

_WORDS = {"\n": "a line break", "\r": "a line break", "\t": "a tab", "\0": "a NUL character", "\x1b": "an escape code"}


def shown(text: object) -> str:
    r"""Return text for a terminal or a page: characters that control it are written as escapes.

    Examples
    --------
    >>> print(shown("sample\x1b]0;title\x07"), shown("Zürich 北京"))
    sample\x1b]0;title\x07 Zürich 北京
    """
    return _ESCAPED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), str(text))


def beside_numbers(label: object) -> str:
    """Write a label beside a count of its samples: in quotes if it looks like a number, which would be read as another.

    Examples
    --------
    >>> print("85", beside_numbers(1), "65", beside_numbers("0"), "12", beside_numbers("relapse"))
    85 '1' 65 '0' 12 relapse
    """
    text = shown(label)
    return f"'{text}'" if re.match(r"[-+.]?\d", text) else text


def shown_json(text: str) -> str:
    r"""Return JSON text for a terminal: characters that control it are written as escapes of JSON, line breaks stay.

    Examples
    --------
    >>> print(shown_json('["Zürich2J"]'))
    ["Zürich\u009b2J"]
    """
    return _ESCAPED.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def is_missing(value: Any) -> bool:
    """Whether a value means that there is none: None, NaN, ``pandas.NA``, ``NaT``, or a masked element.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), "NA", 0)]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        return False


def checked_names(names: Iterable[Any], what: str, source: str | None = None) -> tuple[str, ...]:
    r"""Convert names to text, and refuse those that are missing or not one line of printable characters.

    Parameters
    ----------
    names
        The names, in order.
    what
        What they name, in the singular, such as ``"sample"``.
    source
        File of the names, for the message.

    Raises
    ------
    InputError
        If a name is missing, or contains a line break, a tab, or another control character.

    Examples
    --------
    >>> checked_names(["p1", 2], "sample")
    ('p1', '2')
    >>> checked_names(["A\t1\nB\t2"], "feature", "cohort.tsv")
    Traceback (most recent call last):
    distkern.core.errors.InputError: the name of feature 1 of 'cohort.tsv', 'A\t1\nB\t2', contains a tab: give it a ...
    """
    given = list(names) if isinstance(names, str) else entries(names, f"the names of {what}s")
    texts = tuple(map(str, given))
    of = "" if source is None else f" of {source!r}"
    absent = next((k for k, name in enumerate(given) if not isinstance(name, str) and is_missing(name)), None)
    if absent is not None:
        raise InputError(f"{what} {absent + 1}{of} has no name ({given[absent]!r}): give it one")
    if _REFUSED.search("".join(texts)):
        position, text = next((k, text) for k, text in enumerate(texts) if _REFUSED.search(text))
        raise InputError(
            f"the name of {what} {position + 1}{of}, {_short(text)}, contains {_culprit(text)}: give it a name of one "
            "line without control characters, and check the quotation marks if it comes from a text table"
        )
    return texts


def refuse_repeated(names: Iterable[str], what: str) -> None:
    """Refuse a name that two of them have.

    Raises
    ------
    InputError
        Names it.

    Examples
    --------
    >>> refuse_repeated(["a", "b", "a"], "item")
    Traceback (most recent call last):
    distkern.core.errors.InputError: two items have the name 'a': make the names unique
    """
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(f"two {what}s have the name {repeated[0]!r}: make the names unique")


def checked_text(text: str, what: str, source: str | None = None) -> str:
    r"""Refuse a text that is not one line of printable characters, such as a label or the name of a store.

    Raises
    ------
    InputError
        If it contains a line break, a tab, or another control character.

    Examples
    --------
    >>> checked_text("yes\x07", "the label of sample 'p1'")
    Traceback (most recent call last):
    distkern.core.errors.InputError: the label of sample 'p1', 'yes\x07', contains a control character: write it on ...
    """
    if _REFUSED.search(text):
        of = "" if source is None else f" in {source!r}"
        raise InputError(
            f"{what}{of}, {_short(text)}, contains {_culprit(text)}: write it on one line, without control characters"
        )
    return text


def _culprit(text: str) -> str:
    found = _REFUSED.search(text)
    assert found is not None
    return _WORDS.get(found[0], "a control character")


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:40] + "…")
