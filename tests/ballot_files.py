"""Rankings that hypothesis draws for files, their order as a naive program sees it, and files of ballots."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from distkern import Rankings

SIGNS = "abcXYZ019 >=,;:#\"'{}()|+-._&éß北"

names = st.text(SIGNS, min_size=1, max_size=6).map(str.strip).filter(lambda name: name not in ("", "NA", "NaN", "nan"))


@st.composite
def rankings(draw, ties=True, gaps=True, names=names):
    """Rankings of one to five items, none of them empty; those with gaps are all of one kind."""
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    items = draw(st.lists(names, min_size=n, max_size=n, unique_by=str.lower))
    kind = draw(st.sampled_from(["top", "interleaving"]))
    value = st.sampled_from([-1.5, 0.0, 1.0, 2.0]) if ties else st.none()
    rows = []
    for _ in range(m):
        row = [draw(value) for _ in range(n)] if ties else list(map(float, draw(st.permutations(range(n)))))
        if gaps:
            lacking = draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
            row = [math.nan if k in lacking else cell for k, cell in enumerate(row)]
        rows.append(row)
    kinds = [kind if any(map(math.isnan, row)) else "total" for row in rows]
    counts = draw(st.lists(st.integers(1, 20), min_size=m, max_size=m))
    return Rankings.from_ranks(rows, kind=kinds, counts=counts, items=items), kind


def places(values) -> list[list[float]]:
    """For each row, the mean place of each item among those observed, from 1, by counting; NaN if not observed."""
    found = []
    for row in np.asarray(values).tolist():
        seen = [x for x in row if not math.isnan(x)]
        found.append(
            [
                math.nan if math.isnan(x) else 1 + sum(y > x for y in seen) + (sum(y == x for y in seen) - 1) / 2
                for x in row
            ]
        )
    return found


def same_order(first: Rankings, second: Rankings) -> bool:
    """Whether two rankings put the same items in the same order, for the same voters, with the same kinds."""
    return (
        first.items == second.items
        and first.kind == second.kind
        and first.counts.tolist() == second.counts.tolist()
        and np.array_equal(places(first.values), places(second.values), equal_nan=True)
    )


SOC = """\
# FILE NAME: 00004-00000101.soc
# TITLE: Netflix Prize Data
# DATA TYPE: soc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 9
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bob: "B" Lee, Jr.
# ALTERNATIVE NAME 3: Cid
5: 1,2,3
3: 3, 1, 2
1: 2,3,1
"""
