"""Top-scoring pairs as people read them: lines of text, and the JSON of a model file.

A file contains the rules alone, so that a model of 20,000 genes is a page of text: the names of the two features of
each pair, what the pair votes for, and what the decision takes besides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from distkern._version import __version__
from distkern.core.errors import InputError, InputTypeError
from distkern.core.names import beside_numbers, checked_names, shown
from distkern.learners.multiclass import BinaryProblems

KIND = "distkern top-scoring pairs"

FORMAT = 1
"""Version of the file; one with a larger version was written by a later version of distkern."""

ABOUT = (
    "In one sample, a pair votes for votes_for where the value of first is less than the value of second, and against "
    "it where it is greater; equal values do not vote. The decision is the sum of the votes divided by their number."
)

_DAMAGE = (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError, OverflowError)
"""Errors of reading JSON that `document_of` did not write."""


# Text ----------------------------------------------------------------------------------------------------------------


def rule_lines(model: Any) -> list[str]:
    """Write a line for each pair, such as ``ESR1 < TBC1D9 → relapse   score 0.8984   no 3 of 90, relapse 41 of 44``."""
    sides = [sides_of(model, problem) for problem in model.problem_.tolist()]
    rules = [
        f"{shown(a)} < {shown(b)} → {shown(side[0])}"
        for (a, b), side in zip(model.pair_names_.tolist(), sides, strict=True)
    ]
    width = max(map(len, rules))
    lines = [
        f"{rule:<{width}}   score {score:.4f}   {_agreement(model, number)}"
        for number, (rule, score) in enumerate(zip(rules, model.scores_.tolist(), strict=True))
    ]
    if len(model.classes_) == 2 and len(lines) % 2 == 0:
        sizes = model.class_count_
        draw, why = int(sizes[1] > sizes[0]), "the first class" if sizes[0] == sizes[1] else "the larger class"
        lines.append(f"a draw, which an even number of votes allows, goes to {shown(_label(model, draw))}, {why}")
    return lines


def sides_of(model: Any, problem: int) -> tuple[Any, Any]:
    """What a pair of a problem votes for, and against: labels, or None for the rest."""
    positive, negative = BinaryProblems(len(model.classes_), model.multi_class == "ovr").pairs[problem]
    return _label(model, positive), None if negative is None else _label(model, negative)


def _label(model: Any, number: int) -> Any:
    return model.classes_[number : number + 1].tolist()[0]


def _agreement(model: Any, number: int) -> str:
    """How many samples of both sides have first < second."""
    binary = BinaryProblems(len(model.classes_), model.multi_class == "ovr")
    positive, negative = binary.pairs[model.problem_[number]]
    less, sizes = model.counts_[number, :, 0], model.observed_[number]
    if negative is None:
        other, name = [k for k in range(len(sizes)) if k != positive], "the rest"
    else:
        other, name = [negative], beside_numbers(_label(model, negative))
    against = f"{name} {less[other].sum()} of {sizes[other].sum()}"
    return f"{against}, {beside_numbers(_label(model, positive))} {less[positive]} of {sizes[positive]}"


# JSON ----------------------------------------------------------------------------------------------------------------


def document_of(model: Any) -> str:
    """Write a fitted model as JSON, a pair on each line.

    Raises
    ------
    InputTypeError
        If the labels are neither texts nor numbers.
    """
    if model.classes_.dtype.kind not in "biufUOT" or not all(
        isinstance(label, (str, int, float)) for label in model.classes_.tolist()
    ):
        raise InputTypeError(
            f"the labels are of type {model.classes_.dtype}, which a file of rules cannot hold: use texts or numbers"
        )
    named = hasattr(model, "feature_names_in_")
    rows = model.pair_names_.tolist() if named else model.pairs_.tolist()
    pairs = ",\n  ".join(_json(_pair(model, number, *row)) for number, row in enumerate(rows))
    parts = {
        "kind": _json(KIND),
        "format": _json(FORMAT),
        "distkern": _json(__version__),
        "about": _json(ABOUT),
        "classes": _json(model.classes_.tolist()),
        "class_count": _json(model.class_count_.tolist()),
        "pairs": f"[\n  {pairs}\n ]",
        "estimator": _json(type(model).__name__),
        "parameters": _json({k: _plain(v) for k, v in model.get_params(deep=False).items() if _fits(v)}),
    }
    if not named:
        parts["n_features"] = _json(int(model.n_features_in_))
    for name in ("k_path", "probA", "probB"):
        if hasattr(model, f"{name}_"):
            parts[name] = _json(_plain(getattr(model, f"{name}_")))
    return "{\n" + ",\n".join(f' "{name}": {value}' for name, value in parts.items()) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _pair(model: Any, number: int, first: Any, second: Any) -> dict[str, Any]:
    votes_for, against = sides_of(model, int(model.problem_[number]))
    return {
        "first": first,
        "second": second,
        "votes_for": votes_for,
        "against": against,
        "score": float(model.scores_[number]),
        "secondary": float(model.secondary_[number]),
        "counts": model.counts_[number].tolist(),
        "observed": model.observed_[number].tolist(),
    }


def _fits(value: Any) -> bool:
    """Whether JSON holds a parameter; an executor, a function and a splitter only matter for training."""
    if isinstance(value, (list, tuple)):
        return all(map(_fits, value))
    return value is None or isinstance(value, (bool, int, float, str, np.generic, np.ndarray))


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def is_rules_file(path: Path) -> bool:
    """Whether a file begins as JSON does."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip()[:1] == b"{"
    except (OSError, ValueError):
        return False


def read_rules(path: Path, known: Mapping[str, type[BaseEstimator]]) -> Any:
    """Read a model from the JSON of `document_of`.

    Features with names keep their names only: the model then knows the features of its pairs, in the order in which
    they appear, and finds them in any cohort.

    Parameters
    ----------
    known
        Estimators by name.

    Raises
    ------
    InputError
        If the file is damaged, of another kind, or was written by a later version of distkern.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kind, number = document["kind"], int(document["format"])
    except _DAMAGE as error:
        raise InputError(
            f"{str(path)!r} is no model, or it is damaged: save the model again with save_model"
        ) from error
    if kind != KIND:
        raise InputError(f"{path} is a file of kind {kind!r:.80}, not {KIND}")
    if number > FORMAT:
        raise InputError(
            f"{path} was written by distkern {document.get('distkern')} in format {number}; this is distkern "
            f"{__version__}, which reads formats up to {FORMAT}: install that version or a later one"
        )
    try:
        return _model(document, known)
    except _DAMAGE as error:
        raise InputError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _model(document: Mapping[str, Any], known: Mapping[str, type[BaseEstimator]]) -> Any:
    name = document["estimator"]
    if name not in ("KTopScoringPairs", "TopScoringPair"):
        raise ValueError(f"no estimator of rules is called {name!r}")
    model: Any = known[name](**document["parameters"])
    model._check()
    model.classes_ = np.array(document["classes"])
    model.class_count_ = _whole(document["class_count"], (len(model.classes_),))
    if model.classes_.ndim != 1 or len(model.classes_) < 2 or (model.classes_[:-1] >= model.classes_[1:]).any():
        raise ValueError("classes must be two or more labels in order")
    pairs = document["pairs"]
    _set_features(model, document, [(pair["first"], pair["second"]) for pair in pairs])
    _set_problems(model, [(pair["votes_for"], pair["against"]) for pair in pairs])
    for key in ("score", "secondary"):
        values = np.array([pair[key] for pair in pairs], dtype=np.float64)
        if not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(f"{key} must be 0 or more")
        setattr(model, {"score": "scores_"}.get(key, f"{key}_"), values)
    model.counts_ = _whole([pair["counts"] for pair in pairs], (len(pairs), len(model.classes_), 2))
    model.observed_ = _whole([pair["observed"] for pair in pairs], model.counts_.shape[:2])
    for key in ("probA", "probB"):
        if key in document:
            setattr(model, f"{key}_", np.array(document[key], dtype=np.float64))
            if getattr(model, f"{key}_").shape != (int(model.problem_[-1]) + 1,):
                raise ValueError(f"{key} must be a number for each binary problem")
    if "k_path" in document:
        path = document["k_path"]
        model.k_path_ = list(map(np.array, path)) if np.ndim(path[0][0]) else np.array(path)
    return model


def _set_features(model: Any, document: Mapping[str, Any], pairs: Sequence[tuple[Any, Any]]) -> None:
    """Set the features of the pairs: names, or positions among all."""
    given = [feature for pair in pairs for feature in pair]
    if not pairs or len({type(feature) for feature in given}) != 1 or any(a == b for a, b in pairs):
        raise ValueError("pairs must be pairs of two names, or of two positions")
    if isinstance(given[0], str):
        names = list(dict.fromkeys(checked_names(given, "feature")))
        place = {name: position for position, name in enumerate(names)}
        model.feature_names_in_, model.n_features_in_ = np.array(names, dtype=object), len(names)
        model.pairs_ = np.array([[place[a], place[b]] for a, b in pairs], dtype=np.intp)
        model.pair_names_ = np.array(pairs, dtype=object)
        return
    model.n_features_in_ = int(document["n_features"])
    model.pairs_ = _whole(pairs, (len(pairs), 2)).astype(np.intp)
    if (model.pairs_ >= model.n_features_in_).any():
        raise ValueError(f"a pair has a position beyond {model.n_features_in_} features")
    model.pair_names_ = model.pairs_.astype(str).astype(object)


def _set_problems(model: Any, sides: Sequence[tuple[Any, Any]]) -> None:
    """Set the binary problem of each pair from what it votes for and against."""
    count = len(BinaryProblems(len(model.classes_), model.multi_class == "ovr").pairs)
    number = {sides_of(model, problem): problem for problem in range(count)}
    model.problem_ = np.array([number[side] for side in sides], dtype=np.intp)
    sizes = np.bincount(model.problem_, minlength=count)
    if (np.diff(model.problem_) < 0).any() or not sizes.all():
        raise ValueError("the pairs of a binary problem must follow each other, and each problem must have one")
    model.n_pairs_ = int(sizes[0]) if count == 1 else sizes


def _whole(values: Any, shape: tuple[int, ...]) -> Any:
    found = np.array(values)
    if found.shape != shape or found.dtype.kind not in "iu" or (found < 0).any():
        raise ValueError(f"expected whole numbers of shape {shape}")
    return found.astype(np.int64)
