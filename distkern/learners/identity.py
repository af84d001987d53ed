"""What a fitted model knows of its training matrix: the data of the samples, the kernel and its views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distkern.core.errors import DistkernError, InputError
from distkern.core.typing import Spec
from distkern.kernels.registry import from_spec
from distkern.operators.identity import Identity, agree

DIGESTS, VALUES = "training_digests_", "training_values_"
"""Attributes of a fitted model; they are also in its file."""


def keep_identity(model: Any, identity: Identity | None) -> None:
    """Set the attributes of a model that tell its training matrix; delete what is not known of the matrix."""
    known = {} if identity is None else {DIGESTS: identity.digests, VALUES: identity.values}
    for name in (DIGESTS, VALUES):
        if known.get(name) is not None:
            setattr(model, name, known[name])
        elif hasattr(model, name):
            delattr(model, name)


def identity_of(model: Any) -> Identity | None:
    """Identity of the training matrix of a model; None where it is not known, as for arrays and files of old."""
    values = getattr(model, VALUES, None)
    return Identity(getattr(model, DIGESTS, None), values) if isinstance(values, dict) else None


def refuse_damaged_identity(model: Any) -> None:
    """Refuse what no training matrix can have set, in a model from a file.

    Raises
    ------
    ValueError, TypeError, KeyError, AttributeError
        If the attributes are of another form.
    """
    values, digests = getattr(model, VALUES, None), getattr(model, DIGESTS, None)
    if values is not None:
        _words(values), _marks(values)
    if digests is not None and not (
        digests.dtype == np.uint8 and digests.ndim == 2 and digests.shape[1] % 8 == 0 and values is not None
    ):
        raise ValueError(f"{DIGESTS} are no digests")
    if digests is not None and len(digests) != model.n_features_in_:
        raise ValueError(f"{DIGESTS} are not those of {model.n_features_in_} samples")


def refuse_other_matrix(known: Identity | None, new: Identity | None, names: Sequence[str]) -> None:
    """Refuse a matrix that contradicts the training matrix of a model; what either does not know is not compared.

    Parameters
    ----------
    known
        Identity of the training matrix.
    new, names
        Identity of another matrix with as many columns, and the names of its columns.

    Raises
    ------
    InputError
        If the matrix holds values of another kernel or of another view, its columns are samples with other data, or
        they are in another order.
    """
    if known is None or new is None:
        return
    _refuse_other_values(known.values, new.values)
    if known.digests is None or new.digests is None or known.digests.shape != new.digests.shape:
        return
    off = np.flatnonzero((known.digests != new.digests).any(axis=1))
    if not len(off):
        return
    column = int(off[0])
    remedy = "give kernel values with the training samples as columns, as in gram[np.ix_(test, train)]"
    if known.mark() == new.mark():
        raise InputError(
            f"the columns of the Gram matrix are the samples that the model was fitted on, in another order (from "
            f"number {column}, {names[column]!r}): {remedy}"
        )
    raise InputError(
        f"the columns of the Gram matrix are not the samples that the model was fitted on: {len(off)} of {len(names)} "
        f"have other data, the first is number {column}, {names[column]!r}; {remedy}, or fit the model again"
    )


def _refuse_other_values(known: Spec, new: Spec) -> None:
    if agree(known, new) or agree(_current(known), _current(new)):
        return
    fitted, given = _words(known), _words(new)
    if fitted == given:
        marks = f" ({_marks(new)}, not {_marks(known)})" if _marks(new) else ""
        given = f"the same on other samples, or with other parameters{marks}"
    views = {known.get("view"), new.get("view")} & {"centred", "unit norm"}
    remedy = " (a KernelStandardizer before the model, in a pipeline, treats new samples as it treated these)"
    raise InputError(
        f"the model was fitted on values of {fitted}, and the Gram matrix holds values of {given}: give values of the "
        f"kernel and the views that it was fitted on{remedy if views else ''}"
    )


def _current(values: Any) -> Any:
    """The values with the specs of kernels as this version of distkern writes them."""
    if isinstance(values, dict) and "kernel" in values:
        try:
            return from_spec(values).spec()
        except (DistkernError, TypeError, ValueError, AttributeError, RecursionError):
            return values  # a kernel of a module that is not imported
    if isinstance(values, dict):
        return {key: _current(value) for key, value in values.items()}
    return [_current(value) for value in values] if isinstance(values, (list, tuple)) else values


def _words(values: Any) -> str:
    """Describe the values of a matrix in a few words.

    Examples
    --------
    >>> mark = {"samples": 40, "digest": "00"}
    >>> _words({"view": "unit norm", "of": {"view": "centred", "of": {"kernel": "linear"}, "on": mark}})
    'Linear() centred on 40 samples scaled to unit norm'
    """
    view = values.get("view")
    if view is None:
        try:
            return repr(from_spec(values))
        except (DistkernError, TypeError, ValueError, AttributeError, RecursionError):
            return f"the kernel {values.get('kernel')!r}"
    if view == "sum":
        return " + ".join(f"{factor:g} × {_words(of)}" for factor, of in values["of"])
    of, mark = _words(values["of"]), values.get("on")
    count = "some" if mark is None else str(mark["samples"])
    ending = {"centred": f"centred on {count} samples", "landmarks": f"approximated by {count} landmarks"}
    return f"{of} {ending.get(view, f'scaled to {view}')}"


def _marks(values: Any) -> str:
    """Short digests of long specs, and of the sets of samples that the views depend on."""
    if isinstance(values, (list, tuple)):
        return " ".join(filter(None, map(_marks, values)))
    if not isinstance(values, dict):
        return ""
    own = [one["digest"][:8] for one in (values, values.get("on") or {}) if "digest" in one]
    return " ".join([*own, *filter(None, [_marks(values.get("of"))])])
