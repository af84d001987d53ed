"""Saving and loading of fitted models: arrays and a JSON header in one ``.npz`` file, without pickle.

Top-scoring pairs are a JSON file that people can read (`distkern.learners.pair_rules_file`). A file contains data only,
so loading an untrusted file runs no code from it. Estimator classes are found by name in the registry of saveable
estimators, and kernels in the registry of kernels.
"""

from __future__ import annotations

import json
import math
import os
import pkgutil
import struct
import sys
import zipfile
import zlib
from importlib import import_module
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from distkern import learners
from distkern._version import __version__
from distkern.core.errors import InputError, InputTypeError
from distkern.core.files import as_path, refuse_existing, write_text, written_whole
from distkern.core.sentences import Argument, Call
from distkern.core.typing import Array
from distkern.engine.memory import share_of
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.kendall import codes_alone, from_codes
from distkern.kernels.registry import from_spec
from distkern.kernels.trust import FEATURE_BYTES, could_have_prepared
from distkern.learners.identity import identity_of, refuse_damaged_identity
from distkern.learners.pair_rules_file import document_of, is_rules_file, read_rules
from distkern.learners.predictor import CohortPredictor, PreparedColumns, first_step
from distkern.learners.registry import SAVEABLE
from distkern.learners.top_pairs import KTopScoringPairs

FORMAT = 2
"""Version of the file format; a file with a larger one was written by a later version of distkern.

2: samples that were ranked are kept as ranks alone; ``missing`` and the card of a `CohortPredictor`.
"""

KIND = "distkern model"

Arrays = dict[str, Array]

_READ_ERRORS = (
    *(EOFError, zipfile.BadZipFile, zlib.error, struct.error, SyntaxError, TokenError, KeyError, TypeError),
    *(AttributeError, ValueError, OverflowError, RuntimeError, MemoryError),
)
"""Errors raised by reading a file of another kind or a damaged one."""


def estimators() -> dict[str, type[BaseEstimator]]:
    """All saveable estimator classes by name, after importing every module of this folder.

    Importing a module registers its classes, so a new learner needs no entry here.
    """
    for module in pkgutil.iter_modules(learners.__path__, f"{learners.__name__}."):
        import_module(module.name)
    return dict(sorted(SAVEABLE.items()))


def save_model(model: Any, path: str | os.PathLike[str], gram: Any = None, *, overwrite: bool = False) -> Path:
    """Write a fitted model to one file: ``.npz``, or JSON for the rules of `KTopScoringPairs` and `TopScoringPair`.

    Parameters
    ----------
    model
        A fitted estimator of this package, such as `KernelSVC`; a pipeline of such estimators; or a `CohortPredictor`,
        which contains its own ``gram``.
    path
        File to write. No suffix is added.
    gram
        The matrix that the model was fitted on. If given, the file also contains the prepared training samples and
        their names, so that the loaded model predicts for raw samples.
    overwrite
        Replace an existing file.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        If the file exists, the matrix does not know its samples, or it is not the matrix that the model was fitted on:
        its columns are other samples, or its values are those of another kernel or view. If there is a matrix, and the
        model takes samples.
    InputTypeError
        If the model contains a value that a file cannot.
    NotFittedError
        If the model is not fitted.

    See Also
    --------
    load_model : Reads the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from distkern import KernelSVC
    >>> model = KernelSVC().fit(np.eye(2), ["a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     load_model(save_model(model, f"{folder}/model.npz")).predict(np.eye(2))
    array(['a', 'b'], dtype='<U1')
    """
    missing, card = "error", None
    if isinstance(model, CohortPredictor):
        missing, card = model.missing, model.card
        model, gram = model.model, model.gram if gram is None else gram
    check_is_fitted(model)
    target = as_path(path)
    refuse_existing(target, overwrite)
    if isinstance(model, KTopScoringPairs):
        if gram is not None:
            raise InputError(
                "{model} takes samples: leave out {gram}", model=type(model).__name__, gram=Argument("gram")
            )
        write_text(target, document_of(model), overwrite=overwrite)
        return target
    arrays: Arrays = {}
    header = {"kind": KIND, "format": FORMAT, "distkern": __version__, "model": _encode(model, "model", arrays)}
    header["columns"] = None if gram is None else _encode_columns(CohortPredictor(model, gram).gram, arrays)
    header |= {"missing": missing, "card": card}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with written_whole(target, overwrite=overwrite) as file:
        np.savez(file, allow_pickle=False, header=text, **arrays)
    return target


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model file written by `save_model`.

    Returns
    -------
    estimator or CohortPredictor
        The fitted estimator or pipeline. If the file also contains the training samples, a `CohortPredictor`, which
        predicts for raw samples.

    Raises
    ------
    InputError
        If the file does not exist, is damaged or of another kind, or was written by a later version of distkern.

    See Also
    --------
    save_model : Writes the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from distkern import KernelRidge
    >>> model = KernelRidge().fit(np.eye(2), [1.0, 2.0])
    >>> with TemporaryDirectory() as folder:
    ...     load_model(save_model(model, f"{folder}/model.npz")).dual_coef_
    array([0.5, 1. ])
    """
    path = as_path(path)
    if is_rules_file(path):
        return read_rules(path, estimators())
    arrays, header = _read(path)
    try:
        model = _decode(header["model"], arrays)
        missing, card = header.get("missing", "error"), header.get("card")
        if header["columns"] is None and missing == "error" and card is None:
            return model
        if header["columns"] is None:
            return CohortPredictor(model, missing=missing, card=card)
        columns = header["columns"]
        prepared = _decode(columns["prepared"], arrays)
        about = {key: columns[key] for key in ("ids", "features", "n_features", "dropped") if key in columns}
        kernel = from_spec(columns["kernel"])
        if not _is_valid(kernel, prepared, columns.get("n_features")):
            raise ValueError(f"{kernel!r} cannot have prepared the samples in it")
        known = identity_of(first_step(model))
        digests = None if known is None else known.digests
        known_columns = PreparedColumns(kernel, prepared, **about, digests=digests)
        return CohortPredictor(model, known_columns, missing, card)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _is_valid(kernel: Kernel, prepared: Prepared, n: int | None) -> bool:
    """Whether the kernel can have prepared these samples; compiled code uses some of their arrays as indices."""
    known = set() if n is None else {int(n)}
    if n is None:  # number of features unknown: most kernels store one value a feature, or the number itself
        known |= {array.shape[-1] for array in prepared.arrays.values() if array.ndim > 1}
        known |= {int(array[0]) for name, array in prepared.arrays.items() if name.endswith("features")}
    room = share_of(None, 1) // FEATURE_BYTES
    return any(features <= room and could_have_prepared(kernel, prepared, features) for features in known)


def _read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    if not os.path.isfile(path):  # also false for a name that no system takes
        raise InputError(f"there is no file {str(path)!r}: check the path")
    try:
        arrays = _arrays_in(path)
        header = json.loads(arrays.pop("header").tobytes())
        kind, number = header["kind"], int(header["format"])
    except _READ_ERRORS as error:  # NumPy's own message recommends to unpickle the file
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


def _arrays_in(path: Path) -> Arrays:
    """Read all arrays of a file, which together are never larger than the file, as `save_model` compresses nothing."""
    with path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
        members = archive.infolist()
        if any(one.compress_type != zipfile.ZIP_STORED for one in members):
            raise ValueError("it is compressed, so it may be of any size once it is read")
        if sum(one.file_size for one in members) > path.stat().st_size:
            raise ValueError("its parts are larger than the file")
        return {one.filename.removesuffix(".npy"): _array_in(archive, one) for one in members}


def _array_in(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """Read one array, if it is as large as its header says: NumPy makes room for it before it reads it."""
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with archive.open(member) as file:
        shape, _, dtype = headers[np.lib.format.read_magic(file)](file)
        rest, entries = member.file_size - file.tell(), math.prod(map(int, shape))
    if dtype.hasobject or entries * dtype.itemsize != rest or (rest == 0 and entries):
        raise ValueError(f"{member.filename} is not the array that its header describes")
    with archive.open(member) as file:
        array = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    if dtype.kind == "U" and np.frombuffer(array.tobytes(), f"{dtype.byteorder}u4").max(initial=0) > sys.maxunicode:
        raise ValueError(f"{member.filename} contains text beyond Unicode")  # Python fails on it wherever it is used
    return array


def _encode_columns(gram: Any, arrays: Arrays) -> dict[str, Any]:
    if not hasattr(gram, "prepared_columns"):
        raise InputError(
            "this Gram matrix holds kernel values only, not the samples they came from: save with a matrix from {call} "
            "or a slice of it, or without {gram}",
            call=Call("compute_gram"),
            gram=Argument("gram"),
        )
    prepared = gram.prepared_columns()
    if gram.n_features is None and not _is_valid(gram.kernel, prepared, None):
        raise InputError(
            "the number of features of these training samples is unknown: give PreparedColumns n_features="
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
    """Encode a value as JSON with a tag for its kind; arrays are added to ``arrays`` under ``name``."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, np.generic):
        return _encode(value.item(), name, arrays)
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, arrays)
    if isinstance(value, Kernel):
        return {"kernel": value.spec()}
    if isinstance(value, Prepared):
        codes = codes_alone(value)
        if codes is not None:  # two bytes of five
            return {"ranked": _encode_array(codes, f"{name}.codes", arrays), "start": value.start}
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
    if SAVEABLE.get(type(value).__name__) is type(value):
        return _encode_estimator(value, name, arrays)
    raise InputTypeError(
        f"{name} is a {type(value).__name__}, which a file cannot hold: save a fitted {', '.join(estimators())} or a "
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
    """Decode a value encoded by `_encode`."""
    if "value" in coded:
        return coded["value"]
    if "array" in coded:
        if not coded.get("objects"):
            return arrays[coded["array"]]
        as_objects = f"{coded['array']} as objects"
        if as_objects not in arrays:  # a file may name one array many times
            arrays[as_objects] = arrays[coded["array"]].astype(object)
        return arrays[as_objects]
    if "kernel" in coded:
        return from_spec(coded["kernel"])
    if "prepared" in coded:
        parts = {part: _decode(array, arrays) for part, array in coded["prepared"].items()}
        return Prepared(parts, int(coded["start"]))
    if "ranked" in coded:
        codes = _decode(coded["ranked"], arrays)
        if codes.ndim != 2 or codes.dtype.kind != "u":
            raise ValueError("the ranks of its samples are no ranks")
        return from_codes(codes, int(coded["start"]))
    if "list" in coded:
        return [_decode(item, arrays) for item in coded["list"]]
    if "tuple" in coded:
        return tuple(_decode(item, arrays) for item in coded["tuple"])
    if "dict" in coded:
        return {_decode(key, arrays): _decode(item, arrays) for key, item in coded["dict"]}
    if "pipeline" in coded:
        return Pipeline([(str(step), _decode(part, arrays)) for step, part in coded["pipeline"]])
    name, known = coded["estimator"], estimators()
    if name not in known:
        raise InputError(f"no estimator is called {name!r}; a file may hold {', '.join(known)}")
    estimator = known[name](**{key: _decode(item, arrays) for key, item in coded["params"].items()})
    for key, item in coded["fitted"].items():
        if not _is_fitted_name(key):
            raise InputError(f"{key!r} is no fitted attribute")
        setattr(estimator, key, _decode(item, arrays))
    refuse_damaged_identity(estimator)
    return estimator
