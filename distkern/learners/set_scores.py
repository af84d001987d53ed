"""Scores of gene sets in each sample, from the ranks of the genes within the sample: UCell and singscore."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from distkern.build.look import Looking, LookTask
from distkern.compiled.rank_sums import set_rank_sums
from distkern.core.errors import InputError, InputTypeError, MemoryLimitError
from distkern.core.frames import pandas_for
from distkern.core.names import checked_names
from distkern.core.parameters import entries, one_of, whole_number
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import parse_bytes, readable_bytes
from distkern.core.warning import warn
from distkern.engine.memory import share_of
from distkern.engine.progress import progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import await_workers, run
from distkern.io.gmt import read_gmt
from distkern.io.source import Source, as_source
from distkern.io.tables import beginning
from distkern.learners.validation import not_negative
from distkern.pairs.columns import first_missing, refuse_missing

Method = Literal["ucell", "singscore"]
METHODS = ("ucell", "singscore")

RESULT = "a table of scores"
"""Name of the result in messages."""

SCORE_BYTES = 24
"""Bytes of a score: in the table, and in the result of a task."""

NAMED_SETS, NAMED_GENES = 5, 3
"""Most sets that a warning names, and most genes of each."""


class GeneSet(NamedTuple):
    """A set of genes that speak for it, and of genes that speak against it."""

    name: str
    up: tuple[str, ...]
    down: tuple[str, ...]


@dataclass(frozen=True)
class Members:
    """The features of each set by part: first the up parts of all sets, then the down parts that exist.

    Parameters
    ----------
    first_part, parts
        For each feature, the position in ``parts`` of the first part that holds it, and the end, (n + 1,).
    sizes
        Number of features of each part.
    signed
        Numbers of the sets with a down part.
    """

    first_part: Indices
    parts: Indices
    sizes: Indices
    signed: Indices

    @classmethod
    def of(cls, up: Sequence[Sequence[int]], down: Sequence[Sequence[int]], n: int) -> Members:
        """Turn the features of each part around.

        Examples
        --------
        >>> Members.of([[2, 0], [1]], [[], [2]], 3)
        Members(first_part=array([0, 1, 2, 4]), parts=array([0, 1, 0, 2]), sizes=array([2, 1, 1]), signed=array([1]))
        """
        signed = np.flatnonzero([len(part) for part in down])
        found = [*up, *(down[number] for number in signed.tolist())]
        sizes = np.array([len(features) for features in found], dtype=np.int64)
        features = np.array([feature for part in found for feature in part], dtype=np.int64)
        order = np.argsort(features, kind="stable")
        ends = np.cumsum(np.bincount(features, minlength=n))
        return cls(np.concatenate([[0], ends]), np.repeat(np.arange(len(sizes)), sizes)[order], sizes, signed)


@dataclass(frozen=True)
class Scale:
    """How sums of ranks become scores.

    Parameters
    ----------
    method, weight
        Score, and weight of the down part for UCell.
    features
        Number of features.
    most
        Largest rank that counts.
    """

    method: Method
    weight: float
    features: int
    most: int


def score_sets(
    X: Any,
    sets: Any,
    method: Method = "ucell",
    *,
    max_rank: int = 1500,
    negative_weight: float = 1.0,
    up_down: tuple[str, str] | None = None,
    executor: Any = None,
    progress: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    r"""1 − U / (k R): the scores of gene sets in each sample, from the ranks of the genes within the sample.

    ``"ucell"``, with r the ranks of the k genes of the set among all features, the largest value first, ties averaged,
    and ranks beyond R = ``max_rank`` set to R + 1:

    .. math:: U = \sum r - \frac{k (k + 1)}{2},\qquad s = 1 - \frac{U}{k R},\qquad
        \mathrm{score} = \max(s_{\mathrm{up}} - w\, s_{\mathrm{down}},\, 0)

    ``"singscore"``, with ρ the mean rank of the k genes among N features, the smallest value first, ties averaged:

    .. math:: s = \frac{\rho - (k + 1) / 2}{(2 N - k + 1) / 2 - (k + 1) / 2},\qquad
        \mathrm{score} = s_{\mathrm{up}} - s_{\mathrm{down}}

    Without genes that speak against the set, the score is that of its up part alone.

    Source: Andreatta and Carmona, "UCell: robust and scalable single-cell gene signature scoring" (2021); Foroutan et
    al., "Single sample scoring of molecular phenotypes" (2018).

    Parameters
    ----------
    X
        Samples in rows, features with names in columns: a DataFrame, AnnData, or the path of a file, as for
        `compute_gram`. Files are read in blocks of samples; a sparse sample costs its non-zeros.
    sets
        Genes of each set: a dict from name to list of genes, or the path of a GMT file. A gene that ends with ``-``
        speaks against the set, and a ``+`` at its end is removed, unless the cohort has a feature of just that name. A
        pair of lists ``(up, down)`` in a dict is taken as it is. Genes are found by name; a repeated gene counts once.
    method
        ``"ucell"``, from 0 to 1, or ``"singscore"``, from 0 to 1 without a down part, from −1 to 1 with one.
    max_rank
        R of UCell; the number of features where that is smaller. singscore ranks all features.
    negative_weight
        w of UCell.
    up_down
        Ends of names, such as ``("_UP", "_DN")``: two sets NAME_UP and NAME_DN become one set NAME. A set without its
        other half stays as it is.
    executor, progress, memory_limit
        As for `compute_gram`. The scores must fit ``memory_limit`` too.

    Returns
    -------
    DataFrame
        (samples, sets): the score of each set in each sample, with the names of both.

    Raises
    ------
    SampleError
        If a value is NaN; the sample and the feature are named. ±infinity is a value like another.
    InputError
        If the cohort has no names of features, none of the genes is among them, a gene of a set names two features, a
        set has no gene that speaks for it or the same gene for and against it, or has more genes than can be ranked.
    MemoryLimitError
        If the scores do not fit in memory.

    Warns
    -----
    UserWarning
        If the cohort lacks genes of a set: the message names them and how many remain, which are scored as a set of
        their number. If no gene of a part of a set remains, the score of the set is NaN. If ``up_down`` joins no sets.

    See Also
    --------
    read_gmt : Gene sets from a file.
    rank_markers : Tests of single features.

    Notes
    -----
    The R package UCell gives 0 where no gene of a set ranks within R, and the formula (k − 1) / (2 R). It counts genes
    that the cohort lacks as not expressed. singscore's R package gives equal values the smallest of their ranks by
    default, here as with ``tiesMethod = "average"``; its scores are those with ``centerScore = FALSE`` without a down
    part, and those with ``centerScore = TRUE`` with one.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = pd.DataFrame({"CD3D": [5, 0], "CD3E": [4, 0], "CD79A": [0, 7], "ACTB": [1, 1]}, index=["c1", "c2"])
    >>> score_sets(cells, {"T": ["CD3D", "CD3E"], "B": ["CD79A", "CD3D-"]}).round(3)
          T      B
    c1  1.0  0.000
    c2  0.5  0.625
    >>> score_sets(cells, {"T": (["CD3D", "CD3E"], ["CD79A"])}, method="singscore").round(3)
          T
    c1  1.0
    c2 -1.0
    """
    one_of(method, "method", METHODS)
    whole_number(max_rank, "max_rank", 1)
    not_negative(negative_weight, "negative_weight")
    pandas_for(RESULT)
    limit = None if memory_limit is None else parse_bytes(memory_limit)
    source = as_source(X)
    if source.ragged:
        raise InputError("the samples are bags, whose coordinates are no genes: give a cohort of vectors")
    names, up, down = members_of(source, joined(given_sets(sets, source), up_down))
    n = source.shape[1]
    scale = Scale(method, float(negative_weight), n, min(int(max_rank), n) if method == "ucell" else n)
    for parts in (up, down):
        _refuse_large(names, parts, scale)
    _require_memory(source, len(names), limit)
    pool, listener = resolve_executor(executor), progress_listener(progress)
    await_workers(pool, listener)
    scores = _scores(source, Members.of(up, down, n), len(names), scale, Looking(pool, listener, limit))
    return _named(scores, X, source, names)


# Sets ----------------------------------------------------------------------------------------------------------------


def given_sets(sets: Any, source: Source) -> list[GeneSet]:
    """Sets as they were given, with the signs of their genes taken off.

    Raises
    ------
    InputTypeError
        If it is neither a dict nor a path.
    InputError
        If there are none, the cohort has no names, or a set has no gene for it, or one for and against it.
    """
    if isinstance(sets, (str, os.PathLike)):
        sets = read_gmt(sets)
    if not isinstance(sets, Mapping):
        raise InputTypeError(f"sets must be a dict from name to list of genes, or the path of a GMT file, not {sets!r}")
    if source.features is None:
        raise InputError("the cohort has no names of features, by which genes are found: give a DataFrame or AnnData")
    if not sets:
        raise InputError("there are no sets to score: give one or more")
    names = checked_names(sets, "set")
    if len(set(names)) < len(names):
        raise InputError(f"two sets have the name {Counter(names).most_common(1)[0][0]!r}: rename one of them")
    known = frozenset(source.features)
    return [_signed(name, genes, known) for name, genes in zip(names, sets.values(), strict=True)]


def _signed(name: str, genes: Any, known: frozenset[str]) -> GeneSet:
    """Divide the genes of a set by their signs; a pair of lists is divided already."""
    if isinstance(genes, tuple) and len(genes) == 2 and not any(isinstance(part, str) for part in genes):
        up, down = (_unique(part, name) for part in genes)
    else:
        given = _unique(genes, name)
        down = tuple(gene[:-1] for gene in given if gene.endswith("-") and gene not in known)
        others = (gene for gene in given if gene in known or not gene.endswith("-"))
        up = tuple(gene[:-1] if gene.endswith("+") and gene not in known else gene for gene in others)
    return GeneSet(name, tuple(dict.fromkeys(up)), tuple(dict.fromkeys(down)))


def _unique(genes: Any, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, entries(genes, f"the genes of the set {name!r}"))))


def joined(sets: list[GeneSet], up_down: tuple[str, str] | None) -> list[GeneSet]:
    """Join sets whose names differ by their ends into one, and refuse sets without a gene that speaks for them.

    Examples
    --------
    >>> joined([GeneSet("EMT_UP", ("VIM",), ()), GeneSet("EMT_DN", ("CDH1",), ())], ("_UP", "_DN"))
    [GeneSet(name='EMT', up=('VIM',), down=('CDH1',))]
    """
    if up_down is not None:
        sets = _pairs(sets, *_ends(up_down))
    for one in sets:
        if not one.up:
            raise InputError(f"the set {one.name!r} has no gene that speaks for it: give it one, or leave it out")
        both = [gene for gene in one.up if gene in one.down]
        if both:
            raise InputError(f"the gene {both[0]!r} speaks for and against the set {one.name!r}: leave one of them")
    return sets


def _ends(up_down: Any) -> tuple[str, str]:
    ends = entries(up_down, "up_down")
    if len(ends) != 2 or not all(isinstance(end, str) and end for end in ends) or ends[0] == ends[1]:
        raise InputError(f"up_down must be two different ends of names, such as ('_UP', '_DN'), not {up_down!r}")
    return ends[0], ends[1]


def _pairs(sets: list[GeneSet], up: str, down: str) -> list[GeneSet]:
    by_name = {one.name: one for one in sets}
    taken: set[str] = set()
    for one in sets:
        stem = one.name.removesuffix(up)
        other = by_name.get(stem + down) if stem != one.name else None
        if other is None:
            continue
        if one.down or other.down:
            raise InputError(
                f"the sets {one.name!r} and {other.name!r} become one set {stem!r}, and have genes that speak against "
                "them already: take off the signs, or rename the sets"
            )
        by_name[one.name] = GeneSet(stem, one.up, other.up)
        taken.add(other.name)
    if not taken:
        warn(
            f"no two sets were joined: none is called NAME{up} with another called NAME{down} (the sets are "
            f"{beginning(list(by_name))})"
        )
    result = [by_name[one.name] for one in sets if one.name not in taken]
    twice = [name for name, times in Counter(one.name for one in result).items() if times > 1]
    if twice:
        raise InputError(f"two sets have the name {twice[0]!r} after up and down were joined: rename one of them")
    return result


def members_of(source: Source, sets: list[GeneSet]) -> tuple[list[str], list[list[int]], list[list[int]]]:
    """Names of the sets, and the features of their up parts and of their down parts; genes that are lacking are named.

    Raises
    ------
    InputError
        If no gene of any set is in the cohort, or a gene names two features.
    """
    assert source.features is not None
    positions = {name: position for position, name in enumerate(source.features)}
    genes = [gene for one in sets for gene in (*one.up, *one.down)]
    if not any(gene in positions for gene in genes):
        raise InputError(
            f"none of the {len(set(genes)):,} genes of the sets is a feature of the cohort (they begin "
            f"{beginning(genes)}, and the features {beginning(source.features)}): give names of the same kind"
        )
    times = Counter(source.features)
    repeated = next((gene for gene in genes if times[gene] > 1), None)
    if repeated is not None:
        raise InputError(f"{times[repeated]} features have the name {repeated!r} of a gene: give each its own name")
    _warn_of_absent(sets, positions)
    up, down = (
        [[positions[gene] for gene in part if gene in positions] for part in parts]
        for parts in ([one.up for one in sets], [one.down for one in sets])
    )
    for number, one in enumerate(sets):
        if not up[number] or (one.down and not down[number]):
            up[number], down[number] = [], []  # the score is NaN
    return [one.name for one in sets], up, down


def _warn_of_absent(sets: list[GeneSet], positions: Mapping[str, int]) -> None:
    lines = []
    for one in sets:
        absent = [gene for gene in (*one.up, *one.down) if gene not in positions]
        if absent:
            total = len(one.up) + len(one.down)
            parts = {"up": one.up, "down": one.down}
            lost = [word for word, part in parts.items() if part and not {*part} & positions.keys()]
            nothing = f", which has no {' and no '.join(lost)} gene: its scores are NaN" if lost else ""
            named = ", ".join(map(repr, absent[:NAMED_GENES])) + (", …" if len(absent) > NAMED_GENES else "")
            lines.append(f"{total - len(absent)} of {total} genes of {one.name!r} remain (without {named}){nothing}")
    if lines:
        more = f"; and genes of {len(lines) - NAMED_SETS} more sets" if len(lines) > NAMED_SETS else ""
        warn(f"the cohort lacks genes of {len(lines)} of {len(sets)} sets: {'; '.join(lines[:NAMED_SETS])}{more}")


def _refuse_large(names: list[str], parts: list[list[int]], scale: Scale) -> None:
    """Refuse sets whose scale has no length: more genes than are ranked, or all features."""
    for name, part in zip(names, parts, strict=True):
        if scale.method == "ucell" and len(part) > scale.most:
            raise InputError(
                "the set {name!r} has {size:,} genes, and only {most:,} are ranked: raise {limit}, or leave it out",
                name=name,
                size=len(part),
                most=scale.most,
                limit=Argument("max_rank"),
            )
        if scale.method == "singscore" and len(part) == scale.features:
            raise InputError(
                f"the set {name!r} holds all {len(part):,} features, so its mean rank is the same in every sample: "
                "give the cohort with all its features, or leave the set out"
            )


def _require_memory(source: Source, sets: int, limit: int | None) -> None:
    needed, allowed = SCORE_BYTES * len(source) * sets, share_of(limit, 1)
    if needed > allowed:
        raise MemoryLimitError(
            "the scores of {sets:,} sets in {samples:,} samples take {needed} and may take {allowed}: score fewer sets "
            "or samples at a time",
            sets=sets,
            samples=len(source),
            needed=readable_bytes(needed),
            allowed=readable_bytes(allowed),
        )


# Scores --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreTask:
    """Rank the features within some samples, and score the sets."""

    look: LookTask
    members: Members
    sets: int
    scale: Scale


class Scored(NamedTuple):
    """The scores of some samples, (rows, sets); and the first value that is NaN."""

    rows: slice
    scores: Floats
    missing: tuple[int, int] | None


def score_samples(task: ScoreTask) -> Scored:
    """Score the sets in some samples."""
    from scipy import sparse

    look, members, scale = task.look, task.members, task.scale
    first, n = look.rows.start, look.source.shape[1]
    scores = np.empty((look.rows.stop - first, task.sets))
    for part, block in look.strips():
        missing = first_missing(block, part.start)
        if missing is not None:
            return Scored(look.rows, scores, missing)
        rows = block if hasattr(block, "indptr") else sparse.csr_array(block)
        starts, features = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
        sums = set_rank_sums(
            rows.data, features, starts, n, members.first_part, members.parts, members.sizes, scale.most
        )
        scores[part.start - first : part.stop - first] = scores_of(sums, members, task.sets, scale)
        del block, rows
    return Scored(look.rows, scores, None)


def _scores(source: Source, members: Members, sets: int, scale: Scale, looking: Looking) -> Floats:
    """Score each set in each sample, (samples, sets)."""
    scores = np.empty((len(source), sets))
    missing: list[tuple[int, int]] = []

    def done(found: Scored) -> None:
        scores[found.rows] = found.scores
        if found.missing is not None:
            missing.append(found.missing)

    tasks = [ScoreTask(look, members, sets, scale) for look in looking.tasks(source)]
    run(looking.reader(source), score_samples, tasks, done, phase="rank samples", listener=looking.listener)
    refuse_missing(missing, source)
    return scores


def scores_of(twice_sums: Array, members: Members, sets: int, scale: Scale) -> Floats:
    """Scores (samples, sets), from twice the sums of the descending ranks of the parts, (samples, parts).

    Examples
    --------
    >>> members = Members.of([[0, 1]], [[]], 4)
    >>> scores_of(np.array([[6], [14]]), members, 1, Scale("ucell", 1.0, 4, 4))  # the first ranks, or the last
    array([[1. ],
           [0.5]])
    >>> scores_of(np.array([[6], [14]]), members, 1, Scale("singscore", 1.0, 4, 4))
    array([[1.],
           [0.]])
    """
    sizes = members.sizes
    with np.errstate(invalid="ignore", divide="ignore"):  # of sets without a feature
        if scale.method == "ucell":
            scores = 1 - (twice_sums - sizes * (sizes + 1)) / (2 * sizes * scale.most)
        else:
            twice_mean = 2 * (scale.features + 1) - twice_sums / sizes  # of ascending ranks
            scores = (twice_mean - (sizes + 1)) / (2 * (scale.features - sizes))
    up, down, signed = scores[:, :sets], scores[:, sets:], members.signed
    if scale.method == "ucell":
        up[:, signed] = np.maximum(up[:, signed] - scale.weight * down, 0.0)
    else:
        up[:, signed] -= down
    up[:, sizes[:sets] == 0] = np.nan
    return up


def _named(scores: Floats, X: Any, source: Source, names: list[str]) -> Any:
    """Make the table of scores, with the index of X where it is a DataFrame."""
    pd = pandas_for(RESULT)
    index = X.index.copy() if isinstance(X, pd.DataFrame) else None if source.ids is None else pd.Index(source.ids)
    return pd.DataFrame(scores, index=index, columns=pd.Index(names, dtype=object))
