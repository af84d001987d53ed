"""Fitted models as files without pickle: plain arrays and a JSON header in one ``.npz``.

A file holds data only, so one from a stranger cannot run code: classes come from a closed list, and kernels from the
kernels' own registry.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from distkern._version import __version__
from distkern.core.errors import InputError, InputTypeError
from distkern.core.files import as_path, refuse_existing, written_whole
from distkern.core.sentences import Argument, Call
from distkern.core.typing import Array
from distkern.engine.memory import share_of
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.registry import from_spec
from distkern.kernels.trust import FEATURE_BYTES, could_have_prepared
from distkern.learners.cluster import KernelKMeans
from distkern.learners.decomposition import KernelPCA
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.mixture import MallowsMixture
from distkern.learners.predictor import CohortPredictor, PreparedColumns
from distkern.learners.rank_svm import RankSVM, SGDRanker
from distkern.learners.ranker_search import MLSRRankerCV
from distkern.learners.ranking import LSRRanker, MLSRRanker
from distkern.learners.ridge import KernelRidge
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.learners.svr import KernelSVR

FORMAT = 1
"""Number of the file format; a file with a larger one was written by a later distkern."""

KIND = "distkern model"

ESTIMATORS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        KernelFisherDiscriminant,
        KernelKMeans,
        KernelPCA,
        KernelRidge,
        KernelSVC,
        KernelSVR,
        KernelStandardizer,
        LSRRanker,
        MLSRRanker,
        MLSRRankerCV,
        MallowsMixture,
        RankSVM,
        SGDRanker,
    )
}
"""The estimators that a file may hold, besides pipelines of them."""

Arrays = dict[str, Array]

_NOT_OURS = (EOFError, zipfile.BadZipFile, zlib.error, KeyError, TypeError, AttributeError, ValueError)
"""What reading another file, or a damaged one, ends in."""


def save_model(model: Any, path: str | os.PathLike[str], gram: Any = None, *, overwrite: bool = False) -> Path:
    """Write a fitted model to one ``.npz`` file.

    Parameters
    ----------
    model
        A fitted estimator of this package (`KernelFisherDiscriminant`, `KernelKMeans`, `KernelPCA`, `KernelRidge`,
        `KernelSVC`, `KernelSVR`, `KernelStandardizer`, `LSRRanker`, `MLSRRanker`, `MLSRRankerCV`, `MallowsMixture`,
        `RankSVM` or `SGDRanker`), a pipeline of them, or a `CohortPredictor`, which brings its own ``gram``.
    path
        The file to write, taken as it is.
    gram
        The matrix that the model was fitted on. With it the file also holds the prepared training samples and their
        names, so that the loaded model predicts for raw samples anywhere.
    overwrite
        Replace a file that exists.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the file exists, the model or the matrix holds what a file cannot, or the columns of the matrix are not the
        samples that the model was fitted on.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> model = KernelSVC().fit(np.eye(2), ["a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     load_model(save_model(model, f"{folder}/model.npz")).predict(np.eye(2))
    array(['a', 'b'], dtype='<U1')
    """
    if isinstance(model, CohortPredictor):
        model, gram = model.model, model.gram if gram is None else gram
    check_is_fitted(model)
    target = as_path(path)
    refuse_existing(target, overwrite)
    arrays: Arrays = {}
    header = {"kind": KIND, "format": FORMAT, "distkern": __version__, "model": _encode(model, "model", arrays)}
    header["columns"] = None if gram is None else _encode_columns(CohortPredictor(model, gram).gram, arrays)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with written_whole(target, overwrite=overwrite) as file:
        np.savez(file, allow_pickle=False, header=text, **arrays)
    return target


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save_model` wrote.

    Returns
    -------
    estimator or CohortPredictor
        The fitted estimator or pipeline; a `CohortPredictor`, which predicts for raw samples, where the file holds the
        training samples too.

    Raises
    ------
    InputError
        If there is no such file, or it is damaged, of another kind, or of a later distkern.
    """
    path = as_path(path)
    arrays, header = _read(path)
    try:
        model = _decode(header["model"], arrays)
        if header["columns"] is None:
            return model
        columns = header["columns"]
        prepared = _decode(columns["prepared"], arrays)
        about = {key: columns[key] for key in ("ids", "features", "n_features", "dropped") if key in columns}
        kernel = from_spec(columns["kernel"])
        if not _is_sound(kernel, prepared, columns.get("n_features")):
            raise ValueError(f"the samples in it are nothing that {kernel!r} prepares")
        return CohortPredictor(model, PreparedColumns(kernel, prepared, **about))
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _is_sound(kernel: Kernel, prepared: Prepared, n: int | None) -> bool:
    """Whether samples are what the kernel prepares: compiled code takes some of their arrays as indices."""
    known = set() if n is None else {int(n)}
    if n is None:  # the columns were made by hand; most kernels keep a number for each feature, or how many there are
        known |= {array.shape[-1] for array in prepared.arrays.values() if array.ndim > 1}
        known |= {int(array[0]) for name, array in prepared.arrays.items() if name.endswith("features")}
    room = share_of(None, 1) // FEATURE_BYTES
    return any(features <= room and could_have_prepared(kernel, prepared, features) for features in known)


def _read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: check the path")
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        kind, number = header["kind"], int(header["format"])
    except _NOT_OURS as error:  # what NumPy says of such a file is to unpickle it
        raise InputError(
            f"{str(path)!r} is not a model that save_model wrote, or it is damaged: get the file again, or save the "
            "model again with save_model"
        ) from error
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}; check the file") from error
    if kind != KIND:
        raise InputError(f"{path} is a file of kind {kind!r}, not a {KIND}")
    if number > FORMAT:
        raise InputError(
            f"{path} was written by distkern {header.get('distkern')} in format {number}; this is distkern "
            f"{__version__}, which reads formats up to {FORMAT}: install that version or a later one"
        )
    return arrays, header


def _encode_columns(gram: Any, arrays: Arrays) -> dict[str, Any]:
    if not hasattr(gram, "prepared_columns"):
        raise InputError(
            "this Gram matrix holds kernel values only, not the samples they came from: save with a matrix from {call} "
            "or a slice of it, or without {gram}",
            call=Call("compute_gram"),
            gram=Argument("gram"),
        )
    prepared = gram.prepared_columns()
    if gram.n_features is None and not _is_sound(gram.kernel, prepared, None):
        raise InputError(
            "these training samples do not tell how many features they have: give PreparedColumns n_features="
        )
    return {
        "kernel": gram.kernel.spec(),
        "prepared": _encode(prepared, "columns", arrays),
        "ids": list(gram.col_ids),
        "features": None if gram.features is None else list(gram.features),
        "n_features": gram.n_features,
        "dropped": list(gram.dropped),
    }


# Values ------------------------------------------------------------------------------------------------------------


def _encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Turn a value into JSON; arrays go to ``arrays`` under its name. Every kind has a tag of its own."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, np.generic):
        return _encode(value.item(), name, arrays)
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, arrays)
    if isinstance(value, Kernel):
        return {"kernel": value.spec()}
    if isinstance(value, Prepared):
        parts = {part: _encode_array(array, f"{name}.{part}", arrays) for part, array in value.arrays.items()}
        return {"prepared": parts, "start": value.start}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]}
    if isinstance(value, dict):
        pairs = enumerate(value.items())
        return {
            "dict": [[_encode(k, f"{name}.{i}k", arrays), _encode(v, f"{name}.{i}v", arrays)] for i, (k, v) in pairs]
        }
    if isinstance(value, Pipeline):
        return {"pipeline": [[step, _encode(part, f"{name}.{step}", arrays)] for step, part in value.steps]}
    if type(value).__name__ in ESTIMATORS and type(value) is ESTIMATORS[type(value).__name__]:
        return _encode_estimator(value, name, arrays)
    raise InputTypeError(
        f"{name} is a {type(value).__name__}, which a file cannot hold: save a fitted {', '.join(ESTIMATORS)} or a "
        "pipeline of them (of a finished search, its best_estimator_)"
    )


def _encode_array(value: Array, name: str, arrays: Arrays) -> dict[str, Any]:
    text = value.dtype.kind in "OT"
    if text and not all(isinstance(item, str) for item in value.flat):
        raise InputTypeError(f"{name} holds Python objects, which a file cannot: use labels that are text or numbers")
    arrays[name] = value.astype(np.str_) if text else value
    return {"array": name, "objects": True} if text else {"array": name}


def _encode_estimator(value: Any, name: str, arrays: Arrays) -> dict[str, Any]:
    params = value.get_params(deep=False)
    fitted = {key: item for key, item in vars(value).items() if key not in params and _is_fitted_name(key)}
    return {
        "estimator": type(value).__name__,
        "params": {key: _encode(item, f"{name}.{key}", arrays) for key, item in params.items()},
        "fitted": {key: _encode(item, f"{name}.{key}", arrays) for key, item in fitted.items()},
    }


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _decode(coded: dict[str, Any], arrays: Arrays) -> Any:
    """Turn what `_encode` made back into the value."""
    if "value" in coded:
        return coded["value"]
    if "array" in coded:
        array = arrays[coded["array"]]
        return array.astype(object) if coded.get("objects") else array
    if "kernel" in coded:
        return from_spec(coded["kernel"])
    if "prepared" in coded:
        parts = {part: _decode(array, arrays) for part, array in coded["prepared"].items()}
        return Prepared(parts, int(coded["start"]))
    if "list" in coded:
        return [_decode(item, arrays) for item in coded["list"]]
    if "tuple" in coded:
        return tuple(_decode(item, arrays) for item in coded["tuple"])
    if "dict" in coded:
        return {_decode(key, arrays): _decode(item, arrays) for key, item in coded["dict"]}
    if "pipeline" in coded:
        return Pipeline([(str(step), _decode(part, arrays)) for step, part in coded["pipeline"]])
    name = coded["estimator"]
    if name not in ESTIMATORS:
        raise InputError(f"no estimator is called {name!r}; a file may hold {', '.join(ESTIMATORS)}")
    estimator = ESTIMATORS[name](**{key: _decode(item, arrays) for key, item in coded["params"].items()})
    for key, item in coded["fitted"].items():
        if not _is_fitted_name(key):
            raise InputError(f"{key!r} is no fitted attribute")
        setattr(estimator, key, _decode(item, arrays))
    return estimator
