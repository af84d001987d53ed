"""Features of new samples are found by name: in any order, among others, whatever the version of an Ensembl number."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from distkern.core.errors import InputError
from distkern.core.sentences import Argument, Sentence
from distkern.core.typing import Indices
from distkern.core.validation import Names, are_named, some_names
from distkern.core.warning import warn

_VERSIONED = re.compile(r"(ENS[A-Z]*[EFGPRT]\d{11})\.\d+")
"""An Ensembl number with its version, which changes from release to release, as in ``ENSG00000012048.23``."""

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec"
_ELSEWHERE = "mrz|mär|märz|mai|okt|dez|mrt|mei|mars|avr|août|déc|ene|abr|ago|dic|fev|set|out"
"""Short names of months in English, and where they differ in German, Dutch, French, Spanish and Portuguese."""

_CONVERTED = re.compile(
    rf"X?\d{{1,2}}(?:-|\. ?)(?:{_MONTHS}|{_ELSEWHERE})\.?(?:[-. ](?:\d\d){{1,2}})?"
    rf"|(?:{_MONTHS})-\d\d?"
    r"|(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[ T]00:00:00)?"
    r"|\d[.,]\d+e\+\d+",
    re.IGNORECASE,
)
"""Symbols of genes that a spreadsheet converted: SEPT2 to 2-Sep, Sep-02, 02. Sep, 2-Sep-20 or 2020-09-02, which R turns
into X2.Sep as the name of a column; 2310009E13 to 2.31E+19."""

_FEW = 0.1
"""Where a larger part of the names are dates, the features are dates, such as those of a time series."""


WITHOUT_THEM = Sentence(
    "; or average over the places of the missing ones with {missing} (Kendall kernels); or train on the common ones",
    missing=Argument("missing", "interleaving"),
)
"""What else can be done about features that are missing at prediction."""


def places_by_name(
    known: Names, new: Names, whose: str, remedy: str | Sentence = "", samples: Names = None
) -> Indices | None:
    """Position of each earlier feature among the new ones; None where these are the same, or where position decides.

    Position decides where one side has no names, or only the default positions of a container.

    Parameters
    ----------
    known, new
        Names of the features of the stored or training samples, and of the new ones.
    whose
        Name of the new samples in messages.
    remedy
        What else can be done about missing features, as the end of the message.
    samples
        Names of the new samples, which tell whether they are transposed.

    Raises
    ------
    InputError
        If an earlier feature is missing, two have one name, or default positions are in another order.

    Examples
    --------
    >>> places_by_name(("TP53", "MYC"), ("MYC", "KRAS", "TP53"), "X")
    array([2, 0])
    >>> places_by_name(("TP53", "MYC"), ("MYC", "KRAS"), "X")
    Traceback (most recent call last):
    distkern.core.errors.InputError: X lacks 1 of the 2 features that are needed: 'TP53'. Give all of them, in any ...
    """
    if new is None or (known is None and not are_named(new)):
        return None
    known = tuple(map(str, range(len(new)))) if known is None else tuple(known)
    if known == tuple(new):
        return None
    if not (are_named(known) and are_named(new)):
        refuse_other_order(known, tuple(new), whose)
        return None
    places = find_names(known, new, whose)
    if (places < 0).any():
        lacking = [known[k] for k in np.flatnonzero(places < 0).tolist()]
        raise missing_features(lacking, known, new, whose, remedy, samples)
    return places


def find_names(wanted: Sequence[str], names: Names, whose: str) -> Indices:
    """Position of each wanted name among the names of the features; −1 if it is absent.

    Ensembl numbers that are not found are compared without their versions, with a warning.

    Raises
    ------
    InputError
        If two features have one of these names, or a name is wanted twice.

    Examples
    --------
    >>> find_names(["MYC", "TP53"], ["TP53", "KRAS"], "X")
    array([-1,  0])
    """
    names = tuple(names or ())
    places = _places(wanted, names, whose)
    lacking = np.flatnonzero(places < 0).tolist()
    if not lacking or not any(_VERSIONED.fullmatch(name) for name in (*names, *(wanted[k] for k in lacking))):
        return places
    places[lacking] = _places([_unversioned(wanted[k]) for k in lacking], tuple(map(_unversioned, names)), whose)
    found = int((places[lacking] >= 0).sum())
    if found:
        warn(f"{found:,} features of {whose} are found by their Ensembl numbers without the versions")
    return places


def missing_features(
    lacking: Sequence[str],
    known: Sequence[str],
    new: Sequence[str],
    whose: str,
    remedy: str | Sentence = "",
    samples: Names = None,
) -> InputError:
    """Return the error for features that new samples lack: how many, which, and what to do.

    Parameters
    ----------
    lacking, known, new
        Names of the features that are lacking, of all that are needed, and of those of the new samples.
    whose, remedy, samples
        As for `places_by_name`.

    Examples
    --------
    >>> print(missing_features(["TP53"], ["TP53"], ["patient 1"], "X", samples=["MYC", "TP53"]))
    X is transposed: its samples are called 'TP53', which are features. Read it with rows and columns exchanged
    """
    hint = ""
    for names, which in ((new, "symbols"), (lacking, "symbols that are needed")):
        if found := converted(names):
            hint += f"; a spreadsheet converted {which}, such as {some_names(found)}: restore them"
    if len(lacking) == len(known):
        needed = set(known)
        exchanged = [name for name in samples or () if name in needed]
        if exchanged:
            return InputError(
                f"{whose} is transposed: its samples are called {some_names(exchanged)}, which are features. Read it "
                "with rows and columns exchanged"
            )
        return InputError(
            "{whose} has none of the {count:,} features that are needed: it has {new}, and {known} are needed. Check "
            "that both use the same kind of names, such as symbols, Entrez or Ensembl numbers{hint}",
            **{"whose": whose, "count": len(known), "new": some_names(new), "known": some_names(known), "hint": hint},
        )
    return InputError(
        "{whose} lacks {lacking:,} of the {count:,} features that are needed: {names}. Give all of them, in any order "
        "and among others{remedy}{hint}",
        **{"whose": whose, "lacking": len(lacking), "count": len(known), "names": some_names(lacking)},
        **{"remedy": remedy, "hint": hint, "features": tuple(lacking)},
    )


def warn_of_spreadsheets(features: Names, whose: str) -> None:
    """Warn, by name, if a few features look like symbols that a spreadsheet converted to dates or numbers.

    Examples
    --------
    >>> warn_of_spreadsheets(["TP53", "MYC"], "'cohort.csv'")
    """
    found = converted(features or ())
    if found and len(found) <= max(1, _FEW * len(features or ())):
        warn(
            f"{len(found)} of {len(features or ()):,} features of {whose} ({some_names(found)}) look like gene "
            "symbols that a spreadsheet converted to dates or numbers: restore them from the original annotation"
        )


def converted(names: Sequence[str]) -> list[str]:
    """Names that look like gene symbols that a spreadsheet converted to dates or numbers.

    Examples
    --------
    >>> converted(["TP53", "2-Sep", "SEPT2"])
    ['2-Sep']
    """
    return [name for name in names if _CONVERTED.fullmatch(name)]


def _places(wanted: Sequence[str], names: Sequence[str], whose: str) -> Indices:
    place: dict[str, int] = {}
    repeated = {name for position, name in enumerate(names) if place.setdefault(name, position) != position}
    seen: set[str] = set()
    for name in wanted:
        if name in repeated:
            raise InputError(f"two features of {whose} are called {name!r}: rename one or leave it out")
        if name in seen and name in place:
            raise InputError(
                f"two of the earlier features are called {name!r}, so that their names do not tell which feature of "
                f"{whose} is meant: rename one or leave it out"
            )
        seen.add(name)
    return np.array([place.get(name, -1) for name in wanted], dtype=np.intp)


def refuse_other_order(known: Sequence[str], new: Sequence[str], whose: str) -> None:
    """Refuse the same names in another order, where order decides: positions of a table that was sorted or cut.

    Examples
    --------
    >>> refuse_other_order(("0", "1"), ("1", "0"), "X")
    Traceback (most recent call last):
    distkern.core.errors.InputError: X has the same features in another order (number 0 is '1', not '0'): put them ...
    """
    if tuple(known) != tuple(new) and sorted(known) == sorted(new):
        first = next(k for k, pair in enumerate(zip(known, new, strict=True)) if pair[0] != pair[1])
        raise InputError(
            f"{whose} has the same features in another order (number {first} is {new[first]!r}, not "
            f"{known[first]!r}): put them in the same order, as in frame[names]"
        )


def _unversioned(name: str) -> str:
    found = _VERSIONED.fullmatch(name)
    return name if found is None else found[1]
