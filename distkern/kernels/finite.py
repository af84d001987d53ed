"""Kernels on a finite set, such as genes, k-mers or cell types: a table of values, and the tables of a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from distkern.core.bags import Bags
from distkern.core.containers import numbers, plain
from distkern.core.errors import InputError, InputTypeError, ParameterTypeError, SampleError
from distkern.core.names import checked_names, is_missing
from distkern.core.parameters import entries, is_sequence, one_of
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names, are_named, name_of, refuse_infinite, refuse_nan
from distkern.io.source import Source, as_source
from distkern.kernels.base import Kernel, Prepared, strips
from distkern.kernels.parameters import check_number
from distkern.kernels.trust import draw_samples, is_valid

ASYMMETRY = 1e-10
"""Largest difference of K and its transpose, relative to the largest value, that is taken for rounding."""

NEGATIVE = 1e-8
"""A table is refused where its smallest eigenvalue is below minus this fraction of the largest."""

LISTED = 5
"""Most names that a message lists."""


@dataclass(frozen=True, repr=False)
class Table(Kernel):
    """κ(a, b) = K[a, b]: a kernel between the components of a finite set, such as genes, k-mers or cell types.

    As the base of `MeanMap`, `KernelIGV` and `KernelBhattacharyya` it compares samples that are sets of components: the
    cell types of a tumour, the k-mers of a sequence, the mutated genes of a patient. With a = the shares of the
    components in a sample, `MeanMap` is aᵀKa'.

    Source: Kondor & Jebara, *A kernel between sets of vectors* (2003), sections 2 and 3; Cuturi, Fukumizu & Vert,
    *Semigroup kernels on measures* (2005), section 5 and conclusion.

    Parameters
    ----------
    K
        (n, n): kernel values between the n components; symmetric and positive semidefinite.
    names
        Names of the components; by default those of a DataFrame ``K``, or none.

    Raises
    ------
    InputError
        If K is not square, finite and symmetric, its smallest eigenvalue is below −1e-8 times the largest, two
        components have the same name; or samples have components that the table lacks, which the message lists.

    See Also
    --------
    network_kernel : A table from the edges of a network.
    MeanMap : The kernel of sets with such a base.

    Notes
    -----
    A kernel between bags on this base takes two kinds of samples.

    - A matrix of counts or shares, (m, n), dense or sparse, in memory or a file: each row is a bag. Columns are found
      by name where both have names, in any order; columns that the table lacks are refused, components without a column
      are absent. The kernel then works on r features of each component, K = FFᵀ of rank r: O(n r²) per sample, and
      O(r³) per pair for `KernelIGV`, O(r) for `MeanMap`. ``LowRank(Table(K), rank)`` makes r smaller.
    - `Bags` whose points are positions in K: see `bags`. A pair of samples with d and d' distinct components takes the
      values between these only.

    The table is part of the kernel, and of the store and models made with it: 8 bytes per value in memory for the
    matrix, about 40 for the parameter.

    Examples
    --------
    >>> from distkern import MeanMap
    >>> table = Table([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]], ["CD4", "CD8", "B"])
    >>> MeanMap(table)([[1, 1, 0], [0, 0, 5]])  # each row is a bag
    array([[0.75, 0.  ],
           [0.  , 1.  ]])
    >>> MeanMap(table)(table.bags([["CD4", "CD8"], {"B": 5}]))
    array([[0.75, 0.  ],
           [0.  , 1.  ]])
    """

    name: ClassVar[str] = "table"
    K: tuple[tuple[float, ...], ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        values, names = with_names(self.K, "K")
        object.__setattr__(self, "K", values)
        super().__post_init__()
        given = names if self.names is None else component_names(self.names)
        matrix = _checked(np.array(self.K, dtype=np.float64))
        object.__setattr__(self, "K", tuple(map(tuple, matrix.tolist())))
        object.__setattr__(self, "names", fitting_names(given, names, len(matrix), "K"))

    def __repr__(self) -> str:
        return f"Table({len(self.K):,} components)"

    @cached_property
    def matrix(self) -> Floats:
        """K as an array, (n, n)."""
        matrix = np.array(self.K, dtype=np.float64)
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def factor(self) -> Floats:
        """F with K = FFᵀ, (n, r): the features of the components, from the eigenvectors of K."""
        eigenvalues, vectors = np.linalg.eigh(self.matrix)
        kept = eigenvalues > len(eigenvalues) * np.finfo(np.float64).eps * eigenvalues[-1]
        kept[-1] = True  # at least one
        factor: Floats = np.ascontiguousarray(vectors[:, kept] * np.sqrt(np.maximum(eigenvalues[kept], 0.0)))
        factor.flags.writeable = False
        return factor

    def bags(self, samples: Any, weights: Any = None, ids: Any = None, labels: Any = None) -> Bags:
        """Make bags of components from lists of names, dicts from name to weight, or a matrix of counts.

        Parameters
        ----------
        samples
            m lists of names, where a name that is repeated counts as often; m dicts from name to weight; a dict with
            such a sample for each name of a bag; or a matrix (m, n) of counts, dense or sparse, whose columns are found
            by name. For a table without names, positions in K take the place of names.
        weights
            For lists: m lists of weights, one for each name.
        ids, labels
            Names of the samples; a label for each.

        Raises
        ------
        InputError
            If a name is not in the table; the message lists such names.

        Examples
        --------
        >>> table = Table([[1.0, 0.5], [0.5, 1.0]], ["CD4", "CD8"])
        >>> table.bags([["CD8", "CD4", "CD8"], {"CD4": 0.3}]).weights
        array([1. , 2. , 0.3])
        >>> table.bags([["CD4", "CD3"]])
        Traceback (most recent call last):
        distkern.core.errors.InputError: the table has no component 'CD3': leave it out, or give a table that has it
        """
        if hasattr(samples, "shape") or isinstance(samples, Source):
            return self._bags_of_counts(as_source(samples), ids, labels)
        if isinstance(samples, Mapping):
            ids, samples = list(samples) if ids is None else ids, list(samples.values())
        counted = _counted(entries(samples, "samples"), None if weights is None else entries(weights, "weights"))
        place = _places(self.names, len(self.K), {name for count in counted for name in count})
        ordered = [sorted((place[name], weight) for name, weight in count.items()) for count in counted]
        points = [np.array([code for code, _ in count], dtype=np.float64) for count in ordered]
        return Bags.from_arrays(points, [[weight for _, weight in count] for count in ordered], ids, labels)

    def _bags_of_counts(self, source: Source, ids: Any, labels: Any) -> Bags:
        from scipy.sparse import csr_array  # here, so that a worker of dense samples need not load it

        codes = positions_of_columns(self.names, len(self.K), source.features, source.shape[1])
        points, weights = [], []
        for rows in strips(*source.shape):
            block = csr_array(source.read(rows)) if not source.sparse else source.read_sparse(rows)
            for first, stop in pairwise(block.indptr.tolist()):
                points.append(codes[block.indices[first:stop]].astype(np.float64))
                weights.append(block.data[first:stop])
        return Bags.from_arrays(points, weights, source.ids if ids is None else ids, labels)

    def of_columns(self, features: Names, columns: int) -> Table:
        """Return the table of the columns of a matrix of counts, in their order.

        Parameters
        ----------
        features
            Names of the columns, if they have any.
        columns
            Number of columns.
        """
        codes = positions_of_columns(self.names, len(self.K), features, columns)
        if np.array_equal(codes, np.arange(len(self.K))):
            return self
        names = None if self.names is None else tuple(self.names[code] for code in codes.tolist())
        return Table(tuple(map(tuple, self.matrix[np.ix_(codes, codes)].tolist())), names)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples that are not one position in K."""
        refuse_nan(X, ids, features)
        refuse_infinite(X, ids, features)
        if X.shape[1] != 1:
            raise InputError(
                f"the components of a table are positions in K, one number each, and these samples have {X.shape[1]} "
                "features: make bags of components with the table's bags(...)"
            )
        refuse_other_codes(X[:, 0], len(self.K), ids)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Keep the positions in K."""
        if X.shape[1] != 1:  # also here, where no check comes before
            raise InputError(f"the samples have {X.shape[1]} features, and the components of a table are one number")
        return Prepared({"codes": np.asarray(X)[:, 0].astype(np.int64)}, start)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        A.refuse_unlike(B)
        values: Floats = self.matrix[np.ix_(A.arrays["codes"], B.arrays["codes"])]
        return values

    def diagonal(self, A: Prepared) -> Floats:
        """K[a, a] of each component."""
        values: Floats = np.diag(self.matrix)[A.arrays["codes"]]
        return values


@is_valid.register
def _(kernel: Table, A: Prepared) -> bool:
    """Whether the positions are in K."""
    codes = A.arrays["codes"]
    return bool(((codes >= 0) & (codes < len(kernel.K))).all())


@draw_samples.register
def _(kernel: Table, n: int) -> Iterator[Array]:
    """The first component."""
    if n == 1:
        yield np.zeros(1)


def network_kernel(
    edges: Any, kind: Literal["diffusion", "laplacian"] = "diffusion", beta: float = 1.0, *, names: Any = None
) -> Table:
    """K = e^(−βL), or (I + βL)⁻¹, with L = D − W the Laplacian of a network of genes, an ontology or a tree.

    Components are alike where many short paths join them. Rows of K sum to 1. Both kernels are positive definite.

    Source: Kondor & Lafferty, *Diffusion kernels on graphs and other discrete structures* (2002); Smola & Kondor,
    *Kernels and regularization on graphs* (2003).

    Parameters
    ----------
    edges
        Pairs of names, or triples with a weight above 0; a DataFrame with two or three such columns; or a networkx
        graph. Directions do not count: the same edge may be given both ways, with one weight. An edge from a component
        to itself changes nothing.
    kind
        ``"diffusion"``: e^(−βL). ``"laplacian"``: the regularised Laplacian (I + βL)⁻¹.
    beta
        β ≥ 0, per unit of weight: at 0, K = I; as β grows, K becomes equal within each connected part.
    names
        Names of all components, in the order of K; those without an edge are like themselves only. By default those of
        the edges, in order of first occurrence.

    Returns
    -------
    Table
        (n, n), for `MeanMap`, `KernelIGV` and `KernelBhattacharyya`.

    Raises
    ------
    InputError
        If there is no edge, a weight is not a positive finite number, an edge is given with two weights, or ``names``
        lacks a component of an edge.

    See Also
    --------
    Table : The kernel that takes the matrix.
    scipy.sparse.csgraph.laplacian : The matrix L.

    Notes
    -----
    O(n³) for n components, by their eigenvectors.

    Examples
    --------
    >>> table = network_kernel([("TP53", "MDM2"), ("MDM2", "MDM4")], "laplacian", beta=1.0)
    >>> table.names, table.matrix[0]
    (('TP53', 'MDM2', 'MDM4'), array([0.625, 0.25 , 0.125]))
    """
    one_of(kind, "kind", ("diffusion", "laplacian"))
    if isinstance(beta, bool) or not isinstance(beta, (int, float, np.number)):
        raise InputTypeError(f"beta must be a number, not {beta!r}")
    check_number(float(beta), "beta")
    weights, nodes = _edges(edges)
    known = checked_names(dict.fromkeys(nodes) if names is None else entries(names, "names"), "component")
    place = {name: position for position, name in enumerate(known)}
    lacking = [name for name in nodes if name not in place]
    if lacking:
        raise InputError(f"names lacks {lacking[0]!r}, which an edge has ({len(lacking)} such): add it")
    laplacian = np.zeros((len(known), len(known)))
    for (first, second), weight in weights.items():
        a, b = place[first], place[second]
        laplacian[a, b] = laplacian[b, a] = -weight
    with np.errstate(over="ignore"):
        np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    if not np.isfinite(laplacian).all():
        raise InputError("the weights of the edges sum to more than float64 holds: scale them down")
    eigenvalues, vectors = np.linalg.eigh(laplacian)
    spectrum = beta * np.maximum(eigenvalues, 0.0)
    values = (vectors * (np.exp(-spectrum) if kind == "diffusion" else 1 / (1 + spectrum))) @ vectors.T
    return Table(tuple(map(tuple, ((values + values.T) / 2).tolist())), known)


# Positions ----------------------------------------------------------------------------------------------------------


def refuse_other_codes(codes: Array, n: int, ids: Names = None) -> None:
    """Refuse samples that are not positions in a set of n components.

    Raises
    ------
    SampleError
        Names the first such sample.
    """
    wrong = (codes != np.floor(codes)) | (codes < 0) | (codes >= n)
    for row in np.flatnonzero(wrong).tolist():
        raise SampleError(
            f"sample {name_of(row, ids)} is {codes[row]:g}, and the components of the table are the whole numbers from "
            f"0 to {n - 1}: make bags of components with the table's bags(...)",
            row,
        )


def positions_of_columns(names: Names, n: int, features: Names, columns: int) -> Indices:
    """Position of each column of a matrix of counts among n components, by name where both have names.

    Raises
    ------
    InputError
        If a column is no component, two are the same, or there are no names and other numbers of both.
    """
    if names is None or features is None or not (are_named(features) or set(features) <= set(names)):
        if columns != n:
            raise InputError(
                f"the samples have {columns:,} columns and the table has {n:,} components: give a column for each "
                "component, in the same order, or names to both"
            )
        return np.arange(columns, dtype=np.intp)
    twice = _twice(features)
    if twice is not None:
        raise InputError(f"two columns are called {twice!r}: add them up, or leave one out")
    place = _places(names, n, features)
    return np.array([place[name] for name in features], dtype=np.intp)


def _places(names: Names, n: int, wanted: Iterable[Any]) -> dict[Any, int]:
    """Position of each of these components among n, by name, or by position where they have no names."""
    known = None if names is None else {name: code for code, name in enumerate(names)}
    place: dict[Any, int] = {}
    unknown = []
    for component in wanted:
        code = _code(component, n) if known is None else known.get(str(component))
        if code is None:
            unknown.append(component)
        else:
            place[component] = code
    if unknown:
        some = ", ".join(sorted(map(repr, unknown))[:LISTED]) + (", …" if len(unknown) > LISTED else "")
        several, them = ("s", "them") if len(unknown) > 1 else ("", "it")
        raise InputError(
            f"the table has no component{several} {some}{f' ({len(unknown):,} such)' if several else ''}: leave {them} "
            f"out, or give a table that has {them}"
            + ("" if known is not None else f"; without names the components are 0 to {n - 1}")
        )
    return place


# Reading ------------------------------------------------------------------------------------------------------------


def with_names(K: Any, what: str, *, square: bool = True) -> tuple[Any, tuple[str, ...] | None]:
    """The values of a DataFrame or sparse matrix, and the names of its rows; other values as they are."""
    if not (hasattr(K, "iloc") or hasattr(K, "tocsr")):
        return K, None
    found = plain(K, what)
    rows, columns = found.names
    if square and rows != columns:
        raise InputError(f"the rows and the columns of {what} have other names, or another order: give both the same")
    return numbers(found.values, what), rows


def _twice(names: Iterable[str]) -> str | None:
    """The first name that occurs more than once."""
    return next((name for name, times in Counter(names).items() if times > 1), None)


def component_names(names: Any) -> tuple[str, ...]:
    """Names of components, as a parameter of a kernel."""
    if isinstance(names, (str, bytes)) or not is_sequence(names):
        raise ParameterTypeError(f"names must be a list of names, or None, not {names!r}")
    return checked_names(list(names), "component")


def fitting_names(
    names: tuple[str, ...] | None, own: tuple[str, ...] | None, n: int, what: str
) -> tuple[str, ...] | None:
    """Names of n components, without repetition; if the matrix has names, they must be the same."""
    if names is None:
        return None
    if own is not None and own != names:
        raise InputError(f"names differ from those that {what} has: leave them out, or give {what} as an array")
    if len(names) != n:
        raise InputError(f"{what} has {n} components and names has {len(names)}: give one name for each")
    twice = _twice(names)
    if twice is not None:
        raise InputError(f"two components are called {twice!r}: make the names unique")
    return names


def _checked(K: Floats) -> Floats:
    """The matrix, exactly symmetric; refused if it is not square, symmetric and positive semidefinite."""
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise InputError(f"K must be a square matrix, a row and a column for each component; its shape is {K.shape}")
    apart = abs(K - K.T)
    if apart.max() > ASYMMETRY * abs(K).max():
        row, col = (int(place) for place in np.unravel_index(np.argmax(apart), K.shape))
        raise InputError(
            f"K is not symmetric: K[{row}, {col}] is {K[row, col]:.6g} and K[{col}, {row}] is {K[col, row]:.6g}; give "
            "a symmetric matrix, such as (K + K.T) / 2"
        )
    K = (K + K.T) / 2
    eigenvalues = np.linalg.eigvalsh(K)
    if eigenvalues[0] < -NEGATIVE * abs(eigenvalues[-1]):
        raise InputError(
            f"K is not positive semidefinite: its smallest eigenvalue is {eigenvalues[0]:.6g} and its largest "
            f"{eigenvalues[-1]:.6g}; use network_kernel, or add {-eigenvalues[0]:.6g} to its diagonal"
        )
    return K


def _counted(samples: list[Any], weights: list[Any] | None) -> list[dict[Any, float]]:
    """Weight of each component of each sample; components of weight 0 are left out."""
    if weights is not None and len(weights) != len(samples):
        raise InputError(f"there are {len(samples)} samples and {len(weights)} lists of weights: give one for each")
    counted: list[dict[Any, float]] = []
    for position, sample in enumerate(samples):
        if isinstance(sample, (str, bytes)):
            raise InputTypeError(f"sample {position} is the text {sample!r}: give a list of names")
        if isinstance(sample, Mapping):
            if weights is not None:
                raise InputError("the samples are dicts, which have weights of their own: leave weights out")
            names, heavy = list(sample), list(sample.values())
        else:
            names = entries(sample, f"sample {position}")
            heavy = [1.0] * len(names) if weights is None else entries(weights[position], "weights")
        if len(heavy) != len(names):
            raise InputError(f"sample {position} has {len(names)} names and {len(heavy)} weights: give one for each")
        sums: dict[Any, float] = {}
        for name, weight in zip(names, numbers(heavy, f"the weights of sample {position}").tolist(), strict=True):
            if is_missing(name):
                raise InputError(f"sample {position} has a component without a name: leave it out, or name it")
            if weight != 0:
                sums[name] = sums.get(name, 0.0) + weight
        counted.append(sums)
    return counted


def _code(component: Any, n: int) -> int | None:
    """A position in K; None if it is none."""
    whole = not isinstance(component, (bool, str)) and isinstance(component, (int, float, np.number))
    return int(component) if whole and component == int(component) and 0 <= component < n else None


def _edges(edges: Any) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Weight of each edge between two names, and all names in order of first occurrence."""
    nodes: dict[str, None] = {}
    if hasattr(edges, "nodes") and callable(getattr(edges, "edges", None)):
        nodes |= dict.fromkeys(checked_names(list(edges.nodes), "component"))
        edges = [(a, b, 1.0 if weight is None else weight) for a, b, weight in edges.edges(data="weight")]
    elif hasattr(edges, "iloc"):
        edges = list(zip(*(edges.iloc[:, k] for k in range(edges.shape[1])), strict=True))
    weights: dict[tuple[str, str], float] = {}
    for position, edge in enumerate(entries(edges, "edges")):
        ends, weight = _edge(edge, position)
        nodes |= dict.fromkeys(ends)
        first, second = sorted(ends)
        if weights.setdefault((first, second), weight) != weight:
            raise InputError(
                f"the edge between {first!r} and {second!r} has the weights {weights[first, second]:g} and {weight:g}: "
                "give one"
            )
    if not nodes:
        raise InputError("there is no edge: give pairs of names")
    return {ends: weight for ends, weight in weights.items() if ends[0] != ends[1]}, list(nodes)


def _edge(edge: Any, position: int) -> tuple[tuple[str, str], float]:
    """The two names and the weight of an edge."""
    parts = [] if isinstance(edge, (str, bytes)) else entries(edge, f"edge {position}")
    if len(parts) not in (2, 3):
        raise InputError(f"edge {position} is {edge!r}: give two names, or two names and a weight")
    first, second = checked_names(parts[:2], "component")
    try:
        weight = float(parts[2]) if len(parts) == 3 else 1.0
    except (TypeError, ValueError) as error:
        raise InputError(f"the weight of edge {position} is {parts[2]!r}: give a number above 0") from error
    if not 0 < weight < np.inf:
        raise InputError(f"the weight of edge {position} is {parts[2]!r}: give a finite number above 0")
    return (first, second), weight
