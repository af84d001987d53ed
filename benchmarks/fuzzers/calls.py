"""Calls of everything public, compared with double loops or with the same call on plain arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import naive
import naive_pairs
import naive_ranks
import numpy as np
import pandas as pd

import distkern as dk
from distkern.io.source import as_source
from fuzzers.inputs import ODD_NUMBERS, Given, numbers, pick, samples, targets, weights
from fuzzers.judge import Case, Wrong, require, require_close, require_refused

Generator = np.random.Generator
QUIET: dict[str, Any] = {"progress": False, "executor": "serial"}


def gaussian(x: list[float], y: list[float], sigma: float) -> float:
    """exp(−‖x − y‖² / 2σ²), for σ that is as large or as small as a number can be."""
    if sigma <= 0:
        raise ValueError("not defined")
    ratio = math.dist(x, y) / sigma
    return math.exp(-ratio * ratio / 2)


def draw(rng: Generator, folder: Path) -> Case:
    """Draw one call."""
    families = (
        (kernel_call, 5), (stored_matrix, 2), (odd_parameter, 3), (learner, 6), (learner_parameter, 3), (metric, 2),
        (partition, 2), (consensus, 2), (rankings, 2), (indexing, 2), (view, 1), (correlation, 1), (saved, 2),
        (cross_validated, 1), (odd_path, 1), (odd_spec, 1), (other_functions, 2), (bags, 2), (new_samples, 2),
        (markers, 2), (gene_sets, 2),
        (explanation, 2),
        (scored_pairs, 2),
    )  # fmt: skip
    family = pick(rng, [family for family, share in families for _ in range(share)])
    return family(rng, folder)


# Kernels --------------------------------------------------------------------------------------------------------------

KERNELS: list[tuple[Callable[..., dk.Kernel], Callable[[Generator], dict[str, Any]], Callable[..., float]]] = [
    (dk.Linear, lambda rng: {}, naive.linear),
    (dk.Polynomial, lambda rng: {"degree": int(rng.integers(1, 4)), "coef0": float(rng.integers(3))}, naive.polynomial),
    (dk.Gaussian, lambda rng: {"sigma": float(10.0 ** rng.uniform(-1, 2))}, gaussian),
    (dk.Kendall, lambda rng: {"ties": pick(rng, ["zero", "b"])}, naive.kendall),
    (dk.Mallows, lambda rng: {"lam": float(rng.uniform(0, 3)), "scaled": bool(rng.integers(2))}, naive.mallows),
    (dk.Mallows, lambda rng: {"lam": 0.5, "ties": "kemeny"}, naive.mallows),
    (dk.EqualRank, lambda rng: {}, naive.equal_rank),
    (dk.PairAgreement, lambda rng: {"pairs": pick(rng, [((0, 1),), ((1, 0), (0, 1))])}, naive.pair_agreement),
]


def matrix_of(function: Callable[..., float], X: np.ndarray, Y: np.ndarray, parameters: dict[str, Any]) -> Any:
    """The kernel matrix by a double loop; None where it is not defined."""
    try:
        found = np.array([[function(list(x), list(y), **parameters) for y in Y] for x in X], dtype=np.float64)
    except (OverflowError, ZeroDivisionError, ValueError):
        return None
    return found if np.isfinite(found).all() else None


def tolerance(name: str, X: np.ndarray) -> float:
    """Relative error of a kernel on some values: differences of large numbers lose digits."""
    size, spread = np.abs(X).max(), np.ptp(X, axis=0).max()
    return 1e-9 + (1e-13 * (size / spread) ** 2 if name == "Gaussian" and spread > 0 else 0.0)


def check_matrix(found: Any, given: Given, other: Given, kernel: dk.Kernel, function: Any, parameters: Any) -> None:
    """Compare a kernel matrix with its double loop."""
    found = np.asarray(found)
    if given.values is None or other.values is None:
        require_refused(found, f"{given.what}, {other.what}")
    X, Y = (np.asarray(part.values, dtype=np.float64) for part in (given, other))
    if X.ndim != 2 or X.shape[1] != Y.shape[1] or np.isnan(X).any() or np.isnan(Y).any():
        require_refused(found, f"{given.what}, {other.what}: values are missing")
    expected = matrix_of(function, X, Y, parameters)
    if expected is None:
        require_refused(found, f"{given.what}, {other.what}: k is not finite or not defined")
    name = type(kernel).__name__
    sizes = np.sqrt(np.abs([function(list(x), list(x), **parameters) for x in np.concatenate([X, Y])]))
    require_close(found, expected, float(sizes.max() ** 2), tolerance(name, np.concatenate([X, Y])))


def refused_although_good(error: Exception, given: Given, function: Any, parameters: Any) -> None:
    """Say so where plain input with a defined result was refused."""
    if given.plain and matrix_of(function, given.values, given.values, parameters) is not None:
        size = np.abs(given.values)
        if 1e-60 < size[size > 0].min(initial=1.0) and size.max() < 1e60:
            raise Wrong(f"refused good input: {error}") from error


def kernel_call(rng: Generator, folder: Path) -> Case:
    """k(X) and k(X, Y) in containers."""
    make, parameters, function = pick(rng, KERNELS)
    chosen, m, n = parameters(rng), int(rng.integers(2, 6)), int(rng.integers(2, 7))
    kernel, given = make(**chosen), samples(rng, m, n)
    other = samples(rng, 3, n) if rng.random() < 0.3 else None
    other = None if other is not None and other.value is None else other  # k(X, None) is k(X)

    def act() -> None:
        try:
            found = kernel(given.value) if other is None else kernel(given.value, other.value)
        except Exception as error:
            if other is None:
                refused_although_good(error, given, function, chosen)
            raise
        check_matrix(found, given, other or given, kernel, function, chosen)

    return Case(f"{kernel!r} of {given.what} ({m} × {n}){'' if other is None else f' and {other.what}'}", act)


OPTIONS = ("tile", "dtype", "memory_limit", "ids", "missing", "landmarks", "landmark_seed", "executor", "store")


def stored_matrix(rng: Generator, folder: Path) -> Case:
    """compute_gram in containers, with odd options."""
    make, parameters, function = pick(rng, KERNELS)
    chosen, m, n = parameters(rng), int(rng.integers(2, 8)), int(rng.integers(2, 6))
    kernel, given = make(**chosen), samples(rng, m, n)
    odd = {} if rng.random() < 0.6 else {
        pick(rng, OPTIONS): pick(rng, ODD_NUMBERS)
    }  # fmt: skip

    def act() -> None:
        try:
            gram = dk.compute_gram(kernel, given.value, **({"store": folder / "k.zarr", **QUIET} | odd))
        except Exception as error:
            if not odd:
                refused_although_good(error, given, function, chosen)
            raise
        if not {"missing", "landmarks"} & set(odd):
            check_matrix(gram.to_numpy(), given, given, kernel, function, chosen)
        if given.ids is not None and "ids" not in odd:
            require(gram.ids == given.ids, f"ids {gram.ids} instead of {given.ids}")
        if given.features is not None:
            require(gram.features == given.features, f"features {gram.features} instead of {given.features}")

    return Case(f"compute_gram({kernel!r}, {given.what}, {odd})", act)


def odd_parameter(rng: Generator, folder: Path) -> Case:
    """A kernel with an odd parameter: refused, or the number that it means."""
    make, name, function, rest = pick(
        rng,
        [
            (dk.Gaussian, "sigma", gaussian, {}),
            (dk.Mallows, "lam", naive.mallows, {}),
            (dk.Polynomial, "coef0", naive.polynomial, {"degree": 2}),
            (dk.Polynomial, "degree", naive.polynomial, {"coef0": 1.0}),
            (dk.Kendall, "ties", None, {}), (dk.Mallows, "scaled", None, {}), (dk.SmoothedKendall, "window", None, {}),
            (dk.Diffusion, "beta", None, {}), (dk.WeightedKendall, "u", None, {}), (dk.WeightedKendall, "k", None, {}),
            (dk.PartialKendall, "kind", None, {}), (dk.PartialMallows, "draws", None, {}),
            (dk.PartialMallows, "lam", None, {}), (dk.Entropy, "beta", None, {}), (dk.Bhattacharyya, "eta", None, {}),
            (dk.QuantileLinear, "target", None, {}), (dk.QuantileLinear, "center", None, {}),
            (dk.KernelIGV, "base", None, {}), (dk.LowRank, "rank", None, {}), (dk.MeanMap, "base", None, {}),
        ],
    )  # fmt: skip
    value, X = pick(rng, ODD_NUMBERS), rng.integers(0, 4, (3, 4)).astype(float)

    def act() -> None:
        kernel = make(**{name: value}, **rest)
        found = kernel(X)
        if not np.isfinite(found).all():
            require_refused(found, f"{name}={value!r}: k is not finite")
        if function is None or value == "median":
            return
        try:
            meant = complex(value)
        except (TypeError, ValueError, OverflowError):
            require_refused(found, f"{name}={value!r}, which is no number")
        require(meant.imag == 0 and math.isfinite(meant.real), f"accepted {name}={value!r}")
        number = int(meant.real) if name == "degree" else meant.real
        expected = matrix_of(function, X, X, {name: number, **rest})
        require(expected is not None, f"accepted {name}={value!r}: k is not defined")
        require_close(found, expected)

    return Case(f"{make.__name__}({name}={value!r})(X)", act)


def odd_spec(rng: Generator, folder: Path) -> Case:
    """from_spec of what no kernel has written."""
    spec: Any = pick(rng, [dk.Gaussian(1.0), dk.Kendall() + dk.Linear(), 2 * dk.Mallows(), dk.KernelIGV()]).spec()
    for _ in range(int(rng.integers(1, 3))):
        if not isinstance(spec, dict) or not spec:
            break
        key = pick(rng, list(spec))
        match int(rng.integers(4)):
            case 0:
                spec = {k: v for k, v in spec.items() if k != key}
            case 1:
                spec = spec | {key: pick(rng, ODD_NUMBERS)}
            case 2:
                spec = spec | {
                    pick(rng, ["kernel", "x", 3, "", "module"]): pick(rng, ["os.system", {}, [], "gaussian", 1])
                }
            case _:
                spec = pick(rng, [spec, [spec], {"kernel": spec}, None, "gaussian", "{", 3, {"kernel": "kendal"}])

    def act() -> None:
        kernel = dk.from_spec(spec)
        require(isinstance(kernel, dk.Kernel), f"{kernel!r} is no kernel")
        require(dk.from_spec(kernel.spec()) == kernel, f"{kernel!r} is another kernel after a round trip")

    return Case(f"from_spec({spec!r})", act)


# Learners -------------------------------------------------------------------------------------------------------------


def estimators(rng: Generator) -> tuple[Any, str]:
    """An estimator, and whether it takes classes, numbers or nothing."""
    return pick(
        rng,
        [
            (dk.KernelSVC(C=1.0), "classes"),
            (dk.KernelSVC(C=10.0, class_weight="balanced"), "classes"),
            (dk.KernelFisherDiscriminant(), "classes"),
            (dk.KernelLogistic(0.1), "classes"),
            (dk.KernelSVR(), "numbers"),
            (dk.KernelRidge(0.5), "numbers"),
            (dk.LSRRanker(), "numbers"),
            (dk.RankSVM(), "numbers"),
            (dk.SGDRanker(epochs=3, random_state=0), "numbers"),
            (dk.KernelKMeans(2, random_state=0, n_init=2), ""),
            (dk.KernelPCA(2), ""),
            (dk.KernelStandardizer(), ""),
        ],
    )


def training(rng: Generator, m: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Kernel values of m samples, the samples, and their names."""
    X = rng.normal(size=(m, 3))
    X[: m // 2] += 1.0
    return X @ X.T + np.eye(m), X, tuple(f"s{k}" for k in range(m))


def goals(rng: Generator, kind: str, m: int) -> np.ndarray:
    """Targets of m samples of the two groups of `training`."""
    if kind == "numbers":
        return rng.normal(size=m)
    names = pick(rng, [["ill", "well"], [0, 1], [2.0, 1.0], [True, False], [-1, 1]])
    return np.array([names[k >= m // 2] for k in range(m)])


def answer(estimator: Any, gram: Any) -> np.ndarray:
    """What a fitted estimator says about samples."""
    transforms = isinstance(getattr(estimator, "model", estimator), (dk.KernelPCA, dk.KernelStandardizer))
    return np.asarray(estimator.transform(gram) if transforms else estimator.predict(gram))


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Compare predictions."""
    if expected.dtype.kind in "fc":
        require_close(found, expected, rtol=1e-6)
    else:
        require(found.shape == expected.shape and all(found == expected), f"{found} instead of {expected}")


def learner(rng: Generator, folder: Path) -> Case:
    """Fit with kernel values, targets and weights in containers, compared with the same on plain arrays."""
    estimator, kind = estimators(rng)
    m = int(rng.integers(6, 12))
    K, _, ids = training(rng, m)
    gram, matrix_what = _matrix(rng, K, ids)
    plain = goals(rng, kind, m)
    y = targets(rng, plain, ids) if kind and rng.random() < 0.8 else Given(plain, plain, "plain targets", True)
    w = Given(None, None, "no weights", True)
    if isinstance(estimator, (dk.KernelSVC, dk.KernelRidge, dk.KernelKMeans)) and rng.random() < 0.3:
        w = weights(rng, m, ids)

    def act() -> None:
        optional = {} if w.value is None else {"sample_weight": w.value}
        try:
            fitted = estimator.fit(gram, y.value, **optional) if kind else estimator.fit(gram, **optional)
            found = answer(fitted, gram)
        except Exception as error:
            if matrix_what in ("array", "ArrayGram") and y.plain and w.plain:
                raise Wrong(f"refused good input: {type(error).__name__}: {error}") from error
            raise
        named = matrix_what in NAMED_MATRICES
        meant, own = y.beside(named), w.beside(named)
        bad = [what for what, value in ((y.what, meant), (w.what, own if optional else 0)) if value is None]
        if bad or matrix_what in BAD_MATRICES:
            require_refused(found, f"{bad or matrix_what}")
        other = type(estimator)(**estimator.get_params(deep=False))
        optional = {"sample_weight": own} if optional else {}
        expected = answer(other.fit(K, meant, **optional) if kind else other.fit(K, **optional), K)
        same(found, expected)

    return Case(f"{estimator!r}.fit({matrix_what}, {y.what}, {w.what}), m={m}", act)


NAMED_MATRICES = ("ArrayGram", "DataFrame", "Float64")
BAD_MATRICES = ("missing value", "infinite value", "not symmetric", "columns in another order", "masked matrix")


def _matrix(rng: Generator, K: np.ndarray, ids: tuple[str, ...]) -> tuple[Any, str]:
    """Kernel values in a container, good or bad."""
    frame = pd.DataFrame(K, index=list(ids), columns=list(ids))
    missing, infinite, skew = K.copy(), K.copy(), K.copy()
    missing[1, 0] = missing[0, 1] = np.nan
    infinite[1, 0] = infinite[0, 1] = np.inf
    skew[0, 1] += 1.0
    mask = np.zeros(K.shape, bool)
    mask[0, 1] = mask[1, 0] = True
    good = [(K, "array"), (dk.ArrayGram(K, row_ids=ids, col_ids=ids), "ArrayGram"), (frame, "DataFrame")]
    odd = [
        (K.tolist(), "list"), (np.ma.masked_array(K), "masked array"), (missing, "missing value"),
        (infinite, "infinite value"), (skew, "not symmetric"), (frame.iloc[:, ::-1], "columns in another order"),
        (np.ma.masked_array(K, mask=mask), "masked matrix"), (K.astype(str), "text"),
        (frame.astype("Float64"), "Float64"),
    ]  # fmt: skip
    return pick(rng, good * 5 + odd)


def learner_parameter(rng: Generator, folder: Path) -> Case:
    """Fit with an odd parameter: refused, or finite predictions."""
    estimator, kind = estimators(rng)
    name = pick(rng, sorted(set(estimator.get_params(deep=False)) - {"kernel"}))
    value = pick(
        rng, (*ODD_NUMBERS, "balanced", {"ill": -2.0}, {"ill": np.nan, "well": 1.0}, {"ill": 0.0, "well": 0.0})
    )
    K, _, _ = training(rng, 8)
    y = np.repeat(["ill", "well"], 4) if kind == "classes" else goals(rng, "numbers", 8)

    def act() -> None:
        estimator.set_params(**{name: value})
        found = answer(estimator.fit(K, y) if kind else estimator.fit(K), K)
        if found.dtype.kind == "f":
            require(bool(np.isfinite(found).all()), f"{name}={value!r} gives {found}")
        if name == "class_weight" and isinstance(value, dict):
            require_refused(found, f"class_weight={value!r}")

    return Case(f"{type(estimator).__name__}({name}={value!r}).fit", act)


def new_samples(rng: Generator, folder: Path) -> Case:
    """A model on samples with a kernel meets new samples in another container or order."""
    estimator, kind = pick(rng, [(dk.KernelSVC(), "classes"), (dk.KernelRidge(0.5), "numbers"), (dk.KernelPCA(2), "")])
    estimator.set_params(kernel=pick(rng, [dk.Linear(), dk.Gaussian(2.0), dk.Polynomial(2, 1.0)]))
    _, X, _ = training(rng, 10)
    y, features = goals(rng, kind or "numbers", 10), ["f0", "f1", "f2"]
    columns = pick(rng, [features, [7, 8, 9], pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])])
    frame, T = pd.DataFrame(X, columns=columns), numbers(rng, 4, 3)
    T = np.clip(T, -1e6, 1e6)
    test = pd.DataFrame(T, columns=columns)
    given, what, meant = pick(
        rng,
        [
            (test, "the same columns", T),
            (test.iloc[:, ::-1], "the columns in another order", T),
            (test.iloc[:, [1, 2, 0]], "the columns in another order", T),
            (test.set_axis(["x", "y", "z"], axis=1), "other columns", None),
            (test.iloc[:, :2], "a column too few", None),
            (test.assign(extra=1.0) if columns is features else test.iloc[:, [0, 1, 2, 2]], "a column too many", T),
            (test.iloc[:, [0, 0, 2]], "a column twice", None),
            (np.ma.masked_array(T, mask=np.eye(4, 3, dtype=bool)), "masked values", None),
            (test.mask(np.eye(4, 3, dtype=bool)), "missing values", None),
        ],
    )

    def act() -> None:
        fitted = estimator.fit(frame, y) if kind else estimator.fit(frame)
        found = answer(fitted, given)
        if meant is None:
            require_refused(found, what)
        plain = type(estimator)(**estimator.get_params(deep=False))
        same(found, answer(plain.fit(X, y) if kind else plain.fit(X), meant))

    return Case(f"{estimator!r} predicts for {what}, columns {list(columns)}", act)


def saved(rng: Generator, folder: Path) -> Case:
    """A model is saved, loaded, and meets its own matrix or another one."""
    estimator, kind = pick(rng, [(dk.KernelSVC(), "classes"), (dk.KernelRidge(0.5), "numbers"), (dk.KernelPCA(2), "")])
    _, X, _ = training(rng, 10)
    y, kernel = goals(rng, kind or "numbers", 10), pick(rng, [dk.Linear(), dk.Gaussian(2.0), dk.Kendall()])
    other = pick(rng, ["own", "own", "other kernel", "other data", "other view", "none"])

    def act() -> None:
        gram = dk.compute_gram(kernel, X, store=folder / "k.zarr", **QUIET)
        fitted = estimator.fit(gram, y) if kind else estimator.fit(gram)
        expected = answer(fitted, gram)
        given: Any = {"own": gram, "none": None}.get(other)
        if other == "other kernel":
            given = dk.compute_gram(dk.Gaussian(0.3), X, store=folder / "o.zarr", **QUIET)
        if other == "other data":
            given = dk.compute_gram(kernel, X[::-1] + 3.0, store=folder / "o.zarr", **QUIET)
        if other == "other view":
            given = gram.centered()
        loaded = dk.load_model(dk.save_model(fitted, folder / "model.npz", given))
        found = answer(loaded, gram if given is None else X)
        same(found, expected)

    return Case(f"{estimator!r} of {kernel!r} is saved with {other} matrix", act)


def cross_validated(rng: Generator, folder: Path) -> Case:
    """cross_validate_gram with labels, groups and parameters in containers."""
    m = 18
    K, _, ids = training(rng, m)
    plain = goals(rng, "classes", m)
    y = targets(rng, plain, ids)
    odd = {} if rng.random() < 0.5 else {
        pick(rng, ["outer", "inner", "repeats", "C", "seed", "max_bytes"]): pick(rng, ODD_NUMBERS)
    }  # fmt: skip
    gram = dk.ArrayGram(K, row_ids=ids, col_ids=ids)
    options: dict[str, Any] = {"C": (0.1, 1.0), "outer": 3, "inner": 2, "repeats": 1} | odd

    def act() -> None:
        found = dk.cross_validate_gram(None, gram, y.value, **options)
        if y.values is None:
            require_refused(found, y.what)
        expected = dk.cross_validate_gram(None, K, plain, **options)
        require_close(found.accuracy, expected.accuracy)

    return Case(f"cross_validate_gram(y={y.what}, {odd})", act)


# Functions of kernel values -------------------------------------------------------------------------------------------


def partition(rng: Generator, folder: Path) -> Case:
    """Medoids, silhouettes and neighbours, by double loops."""
    m = int(rng.integers(5, 10))
    K, _, ids = training(rng, m)
    plain = np.array([pick(rng, ["a", "b"]) for _ in range(m - 2)] + ["a", "b"])
    gram, matrix_what = _matrix(rng, K, ids)
    labels = targets(rng, plain, ids)
    distances = np.sqrt(np.maximum(0.0, np.diag(K)[:, None] + np.diag(K) - 2 * K))
    which = pick(rng, ["medoids", "silhouette", "neighbors"])
    k = pick(rng, [1, 2, m - 1, *ODD_NUMBERS]) if which == "neighbors" else 0

    def act() -> None:
        if which == "neighbors":
            found = dk.kernel_neighbors(gram, k)
            require(not isinstance(k, bool) and 1 <= k < m, f"accepted {k!r} neighbours")
            nearest = np.sort(distances + np.diag([np.inf] * m), axis=1)[:, : int(k)]
            value: Any = found.distances
        elif which == "medoids":
            chosen = dk.kernel_medoids(gram, labels.value)
            value, nearest = [], []
            for name, medoid in chosen.items():
                members = plain == name
                sums = (distances[:, members] ** 2).sum(axis=1)
                value.append(sums[medoid])
                nearest.append(sums[members].min())
            require(set(chosen) == set(plain) or labels.values is None, f"clusters {set(chosen)}")
        else:
            value, nearest = dk.kernel_silhouette(gram, labels.value), silhouettes_of(distances, plain)
        bad = labels.beside(matrix_what in NAMED_MATRICES) is None and which != "neighbors"
        if which != "neighbors" and labels.by_position is not None and matrix_what not in NAMED_MATRICES:
            return  # by position
        if bad or matrix_what in BAD_MATRICES:
            require_refused(value, labels.what if bad else matrix_what)
        require_close(value, nearest, rtol=1e-6)

    return Case(f"{which}({matrix_what}, {labels.what if which != 'neighbors' else k}), m={m}", act)


def silhouettes_of(distances: np.ndarray, labels: np.ndarray) -> list[float]:
    """Rousseeuw's formula, sample by sample."""
    found = []
    for i, own in enumerate(labels):
        mates = [j for j in range(len(labels)) if labels[j] == own and j != i]
        if not mates:
            found.append(0.0)
            continue
        a = np.mean([distances[i, j] for j in mates])
        others = set(labels) - {own}
        b = min(np.mean([distances[i, j] for j in range(len(labels)) if labels[j] == name]) for name in others)
        found.append((b - a) / max(a, b) if max(a, b) > 0 else 0.0)
    return found


def indexing(rng: Generator, folder: Path) -> Case:
    """Slices of a matrix, compared with NumPy's."""
    m = int(rng.integers(3, 9))
    K, _, ids = training(rng, m)
    gram = dk.ArrayGram(K, row_ids=ids, col_ids=ids)

    def part() -> Any:
        return pick(
            rng,
            [
                slice(None), slice(1, None), slice(None, None, -1), slice(1, 3), slice(None, None, 2), slice(50, 60),
                ...,
                None, 0, -1, m - 1, m, -m - 1, [0, 2], [-1, 0], [0, 0], [], [m], np.array([True] * m),
                np.arange(m) % 2 == 0, np.array([True]), np.array([0.0, 1.0]), np.array([[0, 1]]), "s0", "zz", 1.0,
                [True, False], np.int64(1), np.array(2), (0, 1), slice("a", "b"), np.ma.masked_array([0, 1], [1, 0]),
                pd.Series([2, 0]), range(2), {0}, 10**30,
            ],
        )  # fmt: skip

    rows, cols = part(), part()
    key = pick(rng, [rows, (rows, cols), (rows, cols), (rows, cols, 0), (rows, ...), ()])
    if rng.random() < 0.3:
        key = np.ix_(rng.integers(0, m, 3), rng.integers(0, m, 2))

    def act() -> None:
        found = gram[key]
        array = found.to_numpy() if hasattr(found, "to_numpy") else np.asarray(found)
        try:
            expected = K[key]
        except (IndexError, ValueError, TypeError):
            require_refused(array, f"[{key!r}], which NumPy refuses")
        if expected.shape != array.shape and array.ndim == 2 and isinstance(key, tuple) and len(key) == 2:
            expected = K[key[0]][:, key[1]]  # rows and columns apart, as np.ix_ does
        require(array.size == expected.size, f"shape {array.shape} instead of {expected.shape}")
        require_close(array.ravel(), expected.ravel())

    return Case(f"gram[{key!r}], m={m}", act)


def view(rng: Generator, folder: Path) -> Case:
    """Centred, scaled and summed matrices, compared with NumPy's."""
    m = int(rng.integers(3, 8))
    X = numbers(rng, m, 4)
    X = np.clip(X, -1e6, 1e6)
    K, other = X @ X.T, np.eye(m)
    H = np.eye(m) - 1 / m
    gram = dk.ArrayGram(K)
    factors = pick(rng, [None, [1.0, 2.0], [1.0], [np.nan, 1.0], [-1.0, 1.0], "ab", [1, None]])
    which = pick(rng, ["centered", "unit", "sum"])

    def act() -> None:
        if which == "centered":
            require_close(gram.centered().to_numpy(), H @ K @ H, float(np.abs(K).max()), 1e-9)
        elif which == "unit":
            norms = np.sqrt(np.diag(K))
            found = gram.unit_norm().to_numpy()
            require(bool((norms > 0).all()), f"a sample of norm 0 gives {found}")
            require_close(found, K / norms / norms[:, None], rtol=1e-9)
        else:
            found = dk.SumGram([gram, dk.ArrayGram(other)], factors).to_numpy()
            a, b = [1.0, 1.0] if factors is None else factors
            require(bool(np.isfinite([a, b]).all()), f"factors {factors}")
            require_close(found, a * K + b * other, rtol=1e-9)

    return Case(f"{which} of {m} samples, factors={factors}", act)


# Rankings, metrics, correlations --------------------------------------------------------------------------------------


def metric(rng: Generator, folder: Path) -> Case:
    """Metrics of rankings, by double loops."""
    m = int(rng.integers(2, 9))
    ids = tuple(f"s{k}" for k in range(m))
    y = pick(rng, [rng.normal(size=m), rng.integers(0, 3, m).astype(float), rng.normal(size=m) + 1e7])
    f = pick(rng, [rng.normal(size=m), rng.integers(0, 3, m).astype(float)])
    true, guess = targets(rng, y, ids), targets(rng, f, ids)
    function, expected = pick(
        rng,
        [
            (dk.ranking_error, lambda: naive.ranking_error(y, f)),
            (dk.mean_squared_difference, lambda: naive.mean_over_pairs(y, f, lambda e: e * e)),
            (dk.mean_absolute_difference, lambda: naive.mean_over_pairs(y, f, abs)),
            (lambda a, b: dk.ranking_measures(a, b)["error"], lambda: naive.ranking_error(y, f)),
        ],
    )

    def act() -> None:
        found = function(true.value, guess.value)
        named = [part for part in (true, guess) if part.what.startswith("Series with")]
        if true.what == guess.what and true.what.startswith("one too"):
            return  # as many on both sides
        bad = [part.what for part in (true, guess) if part.values is None and part not in named]
        orders = {tuple(part.value.index) for part in named}
        if bad or any("gap" in part.what for part in named):
            require_refused(found, f"{true.what}, {guess.what}")
        if len(named) == 2 and len(orders) == 2:
            first, second = named
            require(set(first.value.index) == set(second.value.index), f"accepted {true.what}, {guess.what}")
            require("twice" not in true.what + guess.what, f"accepted {true.what}, {guess.what}")
        elif "another order" in true.what + guess.what:
            return  # names on one side only, or the same ones on both: position
        require(len(set(y)) > 1 or function is not dk.ranking_error, "accepted equal targets")
        require_close(found, expected(), float(np.ptp(y) + np.ptp(f)) ** 2, 1e-9)

    return Case(f"{getattr(function, '__name__', 'measures')}({true.what}, {guess.what}), m={m}", act)


def ranks(rng: Generator, m: int, n: int) -> Given:
    """Scores of items by voters."""
    given = samples(rng, m, n)
    return (
        given
        if rng.random() < 0.4
        else Given(X := rng.permuted(np.tile(np.arange(n), (m, 1)), axis=1), X, "ranks", True)
    )


def rankings(rng: Generator, folder: Path) -> Case:
    """Rankings.from_ranks and from_orderings, and their kernel."""
    m, n = int(rng.integers(1, 5)), int(rng.integers(2, 6))
    given, kind = ranks(rng, m, n), pick(rng, ["total", "interleaving", "top"])
    odd = {} if rng.random() < 0.7 else {pick(rng, ["kind", "counts", "items"]): pick(rng, ODD_NUMBERS)}

    def act() -> None:
        found = dk.Rankings.from_ranks(given.value, **({"kind": kind} | odd))
        if given.values is None:
            require_refused(found, given.what)
        require_close(found.values, given.values, rtol=0.0)
        if kind == "total" or odd:
            return
        unlike = "interleaving" if kind == "interleaving" else "top"
        seen = ~np.isnan(given.values)
        if not seen.any(axis=1).all():
            return
        expected = [[naive.partial_kendall(x, y, unlike, unlike) for y in given.values] for x in given.values]
        require_close(dk.PartialKendall(kind)(found), [[float(Fraction(v)) for v in row] for row in expected])

    return Case(f"Rankings.from_ranks({given.what}, kind={kind}, {odd}), {m} × {n}", act)


def consensus(rng: Generator, folder: Path) -> Case:
    """Consensus rankings, compared with all orders of the items."""
    m, n = int(rng.integers(1, 5)), int(rng.integers(2, 5))
    given = ranks(rng, m, n)
    w, method = (
        weights(rng, m, [f"s{k}" for k in range(m)]),
        pick(rng, ["kemeny", "kemeny", "borda", "local-search", "x"]),
    )

    def act() -> None:
        found = dk.consensus_ranking(given.value, method=method, sample_weight=w.value)
        own = w.beside(given.ids is not None)
        if given.values is None or own is None or (given.ids is not None and w.by_position is not None):
            require_refused(found, f"{given.what}, {w.what}")
        V, counts = np.asarray(given.values, float), np.asarray(own, float)

        def distance(order: Any) -> float:
            return float(
                sum(counts @ (V[:, a] < V[:, b]) for k, a in enumerate(order) for b in order[k + 1 :])
            )  # NaN compares as False: a pair that is not ranked is ignored

        require_close(found.distance, distance(list(found.order)), rtol=1e-12)
        if method == "kemeny":
            require_close(found.distance, min(map(distance, itertools.permutations(range(n)))), rtol=1e-12)
        if method == "borda":
            scores = [
                sum(counts @ (V[:, a] > V[:, b]) - counts @ (V[:, a] < V[:, b]) for b in range(n)) for a in range(n)
            ]
            sorted_scores = [scores[item] for item in found.order]
            require(sorted_scores == sorted(scores, reverse=True), f"scores {sorted_scores}")

    return Case(f"consensus_ranking({given.what}, {method}, {w.what}), {m} × {n}", act)


def correlation(rng: Generator, folder: Path) -> Case:
    """kendalltau_matrix, by a double loop over features."""
    m, n = int(rng.integers(2, 7)), int(rng.integers(2, 5))
    given, missing = samples(rng, m, n), pick(rng, ["raise", "pairwise", "drop-samples", "x"])

    def act() -> None:
        found = np.asarray(dk.kendalltau_matrix(given.value, missing=missing, **QUIET))
        if given.values is None:
            require_refused(found, given.what)
        X = np.asarray(given.values, float)
        gaps = np.isnan(X).any()
        require(not (gaps and missing == "raise"), f"accepted missing values of {given.what}")
        X = X[~np.isnan(X).any(axis=1)] if missing == "drop-samples" else X
        expected = [[1.0 if i == j else naive.tau_b(X[:, i], X[:, j]) for j in range(n)] for i in range(n)]
        for empty in np.flatnonzero(np.isnan(X).all(axis=0)):
            expected[empty][empty] = np.nan
        require_close(found, expected)

    return Case(f"kendalltau_matrix({given.what}, missing={missing}), {m} × {n}", act)


def markers(rng: Generator, folder: Path) -> Case:
    """rank_markers, by counting pairs of samples."""
    m, n = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    given, strata = samples(rng, m, n), rng.integers(0, 2, m) if rng.random() < 0.4 else None
    groups, versus = np.array(["a", "b", "c"])[rng.integers(0, 3, m)], pick(rng, ["rest", "rest", "each", "a", "x"])
    odd = {} if rng.random() < 0.8 else {pick(rng, ["strata", "continuity", "versus"]): pick(rng, ODD_NUMBERS)}

    def act() -> None:
        table = dk.rank_markers(given.value, groups, **({"versus": versus, "strata": strata} | odd | QUIET))
        X = given.values
        if X is None or np.isnan(X).any() or len(set(groups)) < 2 or (versus == "x" and "versus" not in odd):
            require_refused(table, given.what)
        if odd:
            return
        for row in table.to_dict("records"):
            names = list(map(str, range(n))) if given.features is None else list(given.features)
            x = np.asarray(X)[:, names.index(row["feature"])] if row["feature"] in names else None
            if x is None:
                return  # names that the container adds
            first = np.flatnonzero(groups == row["group"])
            second = np.flatnonzero(groups != row["group"] if versus == "rest" else groups == row["versus"])
            U, pairs, _, _ = naive_ranks.comparison(x, first, second, [0] * m if strata is None else list(strata))
            require_close(row["auroc"], U / pairs if pairs else np.nan)

    return Case(f"rank_markers({given.what}, {versus}, {odd}), {m} × {n}", act)


def gene_sets(rng: Generator, folder: Path) -> Case:
    """score_sets, from mid-ranks of the values of each sample."""
    m, n = int(rng.integers(1, 5)), int(rng.integers(3, 7))
    given, method = samples(rng, m, n), pick(rng, ["ucell", "singscore"])
    genes = [f"f{'abcdefghijklmnopqrstuvwxyz'[k]}{k}" for k in rng.permutation(n)]
    up = int(rng.integers(1, n - 1))
    down = int(rng.integers(up, n - 1))
    listed = [*genes[:up], *(f"{gene}-" for gene in genes[up:down]), *pick(rng, [[], [], ["unknown"], [3], [None]])]
    odd = {} if rng.random() < 0.8 else {pick(rng, ["max_rank", "negative_weight", "up_down"]): pick(rng, ODD_NUMBERS)}

    def act() -> None:
        found = dk.score_sets(given.value, {"s": listed}, method=method, **(odd | QUIET))
        if given.values is None or np.isnan(given.values).any():
            require_refused(found, given.what)
        if odd or given.features is None:
            return
        positions = [list(given.features).index(gene) for gene in genes[:down]]
        parts = positions[:up], positions[up:]
        score = naive_ranks.singscore if method == "singscore" else lambda x, *both: naive_ranks.ucell(x, *both, n)
        require_close(found["s"], [score(x, *parts) for x in np.asarray(given.values).tolist()])

    return Case(f"score_sets({given.what}, {listed}, {method}, {odd}), {m} × {n}", act)


def explanation(rng: Generator, folder: Path) -> Case:
    """Explain, and contributions to new samples, which must add up to the predictions for plain arrays."""
    m, n = int(rng.integers(3, 7)), int(rng.integers(2, 5))
    kernel = pick(
        rng, [dk.Kendall(), 2.0 * dk.Kendall(), dk.PartialKendall(), dk.SmoothedKendall(1.0), dk.Mallows(0.1)]
    )
    X, y = rng.integers(0, 4, (m, n)).astype(float), rng.normal(size=m)
    model, k = dk.KernelRidge(kernel=kernel).fit(X, y), pick(rng, [1, 3, 100, *ODD_NUMBERS])
    given = samples(rng, 3, n)

    def act() -> None:
        explained = dk.explain(model, k=k, executor="serial")
        require(not isinstance(kernel, dk.Mallows), f"explained {kernel!r}")
        found = explained.contributions(given.value, k=k, executor="serial")
        if given.values is None:
            require_refused(found, given.what)
        values = np.asarray(given.values, float)
        gaps = np.isnan(values).any() and not isinstance(kernel, dk.PartialKendall)
        require(not gaps, f"accepted missing values of {given.what}")
        expected = model.predict(values)
        require_close(found.of_features.sum(axis=1)[:, 0] + found.intercepts, expected)
        require_close(found.decisions[:, 0], expected)

    return Case(f"explain({kernel!r}, k={k!r}) of {given.what}, {m} × {n}", act)


def scored_pairs(rng: Generator, folder: Path) -> Case:
    """pair_scores, by a double loop over features; a parameter may be odd."""
    m, n = int(rng.integers(2, 8)), int(rng.integers(1, 6))
    given, y = samples(rng, m, n), np.array([0, 1, *rng.integers(0, 2, m - 2)])
    options: dict[str, Any] = {
        "k": pick(rng, [None, 1, 3]),
        "disjoint": bool(rng.integers(2)),
        "missing": pick(rng, ["error", "skip"]),
        "min_observed": pick(rng, [0.0, 0.5, 1.0]),
    }
    odd = rng.random() < 0.3
    if odd:
        options[pick(rng, [*options, "min_score", "features", "pairs", "pivot", "rest"])] = pick(rng, ODD_NUMBERS)

    options["store"] = pick(rng, [None, folder / "pairs"])

    def act() -> None:
        found = dk.pair_scores(given.value, y, **options, **QUIET)
        if given.values is None:
            require_refused(found, given.what)
        X = np.asarray(given.values, float)
        require(options["missing"] == "skip" or not np.isnan(X).any(), f"accepted missing values of {given.what}")
        if odd:
            return
        sides = X[y == 1].tolist(), X[y == 0].tolist()
        expected = naive_pairs.ordered_pairs([[sides]], n, min_observed=options["min_observed"])
        expected = (naive_pairs.greedy(expected) if options["disjoint"] else expected)[: options["k"]]
        names = found_names(given, n)
        ends = [(names[i], names[j]) for _, _, i, j in expected]
        require(ends == list(zip(found["first"], found["second"], strict=True)), f"{ends} expected, not {found}")
        require_close(found["score"], [float(row[0]) for row in expected])
        require_close(found["secondary"], [float(row[1]) for row in expected])

    return Case(f"pair_scores({given.what}, {options}), {m} × {n}", act)


def found_names(given: Given, n: int) -> list[str]:
    """Names of the features as `as_source` reads them; positions if there are none."""
    return list(as_source(given.value).features or map(str, range(n)))


# The rest -------------------------------------------------------------------------------------------------------------


def points_of(part: Given) -> Any:
    """What samples mean as the points of a bag: numbers along one axis are points of one dimension."""
    return np.asarray(part.value)[:, None] if part.what in ("one dimension", "a Series") else part.values


def bags(rng: Generator, folder: Path) -> Case:
    """Bags from arrays, and the linear mean map."""
    count = int(rng.integers(1, 4))
    parts = [samples(rng, int(rng.integers(1, 5)), 3) for _ in range(count)]
    if rng.random() < 0.6:
        parts = [Given(X := rng.normal(size=(int(rng.integers(1, 5)), 3)), X, "array", True) for _ in range(count)]
    odd = {} if rng.random() < 0.6 else {pick(rng, ["ids", "labels", "weights"]): pick(rng, ODD_NUMBERS)}

    def act() -> None:
        found = dk.Bags.from_arrays([part.value for part in parts], **odd)
        points = [points_of(part) for part in parts]
        for part, meant in zip(parts, points, strict=True):
            if meant is None or not np.isfinite(meant).all():
                require_refused(found, part.what)
        means = np.array([np.mean(meant, axis=0) for meant in points])
        if np.abs(means).max() < 1e100 and "weights" not in odd:
            require_close(dk.MeanMap(dk.Linear())(found), means @ means.T, float(np.abs(means).max() ** 2), 1e-9)
        loaded = dk.load_bags(dk.save_bags(found, folder / "b.zarr"))
        require_close(loaded.values, found.values, rtol=0.0)
        require(loaded.ids == found.ids, f"ids {loaded.ids} instead of {found.ids}")

    return Case(f"Bags.from_arrays({[part.what for part in parts]}, {odd})", act)


def odd_path(rng: Generator, folder: Path) -> Case:
    """Readers and writers with paths that are none, or lead to something else."""
    text = folder / "a file.txt"
    text.write_text("nothing of use\n")
    (folder / "empty").mkdir()
    (folder / "empty.npz").write_bytes(b"")
    (folder / "half.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (folder / "half.zip").write_bytes(b"PK\x03\x04")
    value = pick(
        rng,
        [
            None, 3, 1.5, "", ".", "/nonexistent/x.zarr", b"x", folder, text, folder / "empty", folder / "empty.npz",
            folder / "half.npy", folder / "half.zip", "a\0b", "x" * 300, "foo://bar/x", "s3://", ["x"], object(),
            folder / "gone" / "x.npz", "~nobody/x", pd.DataFrame(), Path(),
        ],
    )  # fmt: skip
    X = np.eye(3)
    model = dk.KernelRidge().fit(X, [1.0, 2.0, 3.0])
    name, call = pick(
        rng,
        [
            ("open_gram", lambda: dk.open_gram(value)),
            ("load_model", lambda: dk.load_model(value)),
            ("load_bags", lambda: dk.load_bags(value)),
            ("read_expression", lambda: dk.read_expression(value, samples=pick(rng, [None, "rows", "x", 3]))),
            ("repair_gram", lambda: dk.repair_gram(value)),
            ("append_gram", lambda: dk.append_gram(value, X)),
            ("compute_gram of a file", lambda: dk.compute_gram(dk.Linear(), value, store=folder / "new.zarr", **QUIET)),
            ("plan_gram of a file", lambda: dk.plan_gram(dk.Linear(), value)),
            ("kernel of a file", lambda: dk.Linear()(value)),
            ("save_model", lambda: dk.save_model(model, value) and None),
        ],
    )  # fmt: skip
    if name == "save_model" and isinstance(value, (str, Path)) and value != text:
        value = folder / "empty"

    def act() -> None:
        found = call()
        if name != "save_model":
            require_refused(found, f"the path {value!r}")

    return Case(f"{name}({value!r})", act)


def other_functions(rng: Generator, folder: Path) -> Case:
    """draws_for, plans, images, executors and the choice of a number of clusters, with odd input."""
    a, b = pick(rng, ODD_NUMBERS), pick(rng, ODD_NUMBERS)
    K, X, _ = training(rng, 8)
    y = goals(rng, "classes", 8)
    votes = rng.permuted(np.tile(np.arange(4), (6, 1)), axis=1)
    name, call = pick(
        rng,
        [
            ("draws_for", lambda: dk.draws_for(a, b)),
            ("draws_for(delta)", lambda: dk.draws_for(10, 1.0, delta=a, epsilon=b)),
            ("plan_gram", lambda: dk.plan_gram(dk.Linear(), X, tile=a, memory_limit=b)),
            ("plan_gram(workers)", lambda: dk.plan_gram(dk.Linear(), X, workers=a, dtype=b)),
            ("Threads", lambda: dk.Threads(a)),
            ("Dask", lambda: dk.Dask(a)),
            ("bags_from_images", lambda: dk.bags_from_images(rng.integers(0, 255, (2, 4, 4)), a, threshold=b)),
            ("bags_from_images(X)", lambda: dk.bags_from_images(samples(rng, 3, 4).value)),
            ("bag_components", lambda: dk.bag_components(X, dk.Gaussian(1.0), a, eta=b)),
            ("bag_components(bag)", lambda: dk.bag_components(a, dk.Linear())([[0.0, 1.0]])),
            ("witness", lambda: dk.witness(X[:4], a, dk.MeanMap(dk.Gaussian(1.0)))(b)),
            ("witness(kernel)", lambda: dk.witness(X[:4], X[4:], a)),
            ("cluster_numbers", lambda: dk.cluster_numbers(K, a, random_state=0)),
            ("cluster_numbers(references)", lambda: dk.cluster_numbers(K, [1, 2], references=a, random_state=b)),
            ("cluster_consensus", lambda: dk.cluster_consensus(votes, targets(rng, y[:6], list("abcdef")).value)),
            ("ArrayGram", lambda: dk.ArrayGram(a)),
            ("ArrayGram(ids)", lambda: dk.ArrayGram(K, row_ids=a, col_ids=b)),
            ("SumGram", lambda: dk.SumGram(a, b)),
            ("kernel * odd", lambda: (dk.Linear() * a)(X)),
            ("kernel + odd", lambda: (dk.Linear() + a)(X)),
            ("kernel ** odd", lambda: (dk.Linear() ** a)(X)),
            ("CohortPredictor", lambda: dk.CohortPredictor(a, b)),
            ("MLSRRanker", lambda: dk.MLSRRanker(a, b).fit(X, np.arange(8.0))),
            ("MLSRRankerCV", lambda: dk.MLSRRankerCV([dk.Linear()], n_kernels=a, lams=b).fit(X, np.arange(8.0))),
            ("MallowsMixture", lambda: dk.MallowsMixture(a, tol=b, n_init=1, random_state=0).fit(votes)),
            ("PlackettLuce", lambda: dk.PlackettLuce(prior=a, tol=b).fit(votes)),
            ("MallowsMixture(X)", lambda: dk.MallowsMixture(2, n_init=1, random_state=0).fit(samples(rng, 6, 4).value)),
            ("Rankings.from_orderings", lambda: dk.Rankings.from_orderings(pick(rng, [[a, b], [[a], [b]], a]))),
        ],
    )  # fmt: skip

    def act() -> None:
        found = call()
        if isinstance(found, np.ndarray):
            require(bool(np.isfinite(found).all()), f"{name} gives {found}")

    return Case(f"{name} with {a!r}, {b!r}", act)
