"""Prediction for raw samples with a model that was fitted on a Gram matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from distkern.core.alignment import aligned
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.io.blocks import ArrayReader
from distkern.io.source import Source, as_source
from distkern.kernels.base import Kernel, Prepared, finite_tile, prepare_source
from distkern.learners.memory import row_blocks
from distkern.learners.validation import refuse_other_columns, samples_of
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram


class CohortPredictor:
    """f(x) for raw samples x, computed from the kernel values k(x, x_1), …, k(x, x_m) with the training samples.

    A model that was fitted on a Gram matrix predicts from kernel values. This class combines it with the training
    samples, so that it predicts from new samples.

    Parameters
    ----------
    model
        Fitted estimator or pipeline that takes kernel values, such as ``KernelSVC()`` or
        ``make_pipeline(KernelStandardizer(), KernelSVC())``.
    gram
        The matrix that it was fitted on, or another matrix with the same columns. It must know its samples: a matrix
        from ``compute_gram``, a slice of one, or `PreparedColumns`.

    Raises
    ------
    InputError
        If the model takes samples itself, or its training samples differ from the columns in number or name.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from distkern.kernels.vectors import Linear
    >>> from distkern.learners.svm import KernelSVC
    >>> X, kernel = np.array([[0.0], [1.0], [4.0], [5.0]]), Linear()
    >>> model = KernelSVC(C=10.0).fit(kernel(X), ["low", "low", "high", "high"])
    >>> CohortPredictor(model, PreparedColumns(kernel, kernel.prepare(X))).predict([[2.0], [3.0]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(self, model: Any, gram: Any) -> None:
        check_is_fitted(model)
        if not get_tags(model).input_tags.pairwise:
            raise InputError(f"{type(model).__name__} was fitted on raw samples: call its own predict")
        if model.n_features_in_ != gram.shape[1]:
            raise InputError(
                f"the model was fitted on {model.n_features_in_} samples and the Gram matrix has {gram.shape[1]} "
                "columns: give the matrix it was fitted on, such as gram[np.ix_(train, train)]"
            )
        refuse_other_columns(_training_ids(model), gram)
        self.model, self.gram = model, gram

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        return self.model.classes_

    def predict(self, X: Any) -> Array:
        """Prediction for each of the samples (samples, n), in any container that `compute_gram` accepts."""
        return np.concatenate([self.model.predict(part) for part in self._cross(X)])

    def decision_function(self, X: Any) -> Floats:
        """Output of the model's ``decision_function`` for the samples (samples, n)."""
        return np.concatenate([self.model.decision_function(part) for part in self._cross(X)])

    def transform(self, X: Any) -> Floats:
        """Output of the model's ``transform`` for the samples (samples, n)."""
        return np.concatenate([self.model.transform(part) for part in self._cross(X)])

    def score(self, X: Any, y: Any) -> float:
        """Fraction of the samples (samples, n) whose label is predicted correctly."""
        return float(accuracy_score(aligned(y, samples_of(X), "y"), self.predict(X)))

    def __repr__(self) -> str:
        return f"CohortPredictor({self.model!r}, {self.gram!r})"

    def _cross(self, X: Any) -> Iterator[BaseGram]:
        """Kernel values of blocks of samples, so that memory is bounded for any number of samples."""
        source = as_source(
            X if hasattr(X, "shape") or not isinstance(X, Sequence) or isinstance(X, str) else np.array(X)
        )
        blocks = list(row_blocks(len(source), max(self.gram.shape[1], source.shape[1])))
        if len(blocks) == 1:
            yield self.gram.cross(source)
            return
        for rows in blocks:
            ids = None if source.ids is None else source.ids[rows]
            yield self.gram.cross(Source(ArrayReader(source.read(rows)), ids, source.features))


def _training_ids(model: Any) -> Any:
    """Names of the training samples of a model; None if it does not know them."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    known = (getattr(step, "training_ids_", None) for step in steps)
    return next((ids for ids in known if ids is not None), None)


class PreparedColumns:
    """Prepared training samples x_1, …, x_m of a model, from which k(x, x_1), …, k(x, x_m) can be computed.

    Parameters
    ----------
    kernel
        Kernel with all data-dependent parameters fixed.
    prepared
        The m prepared training samples.
    ids
        Names of the samples; positions by default.
    features
        Names of the features. New samples with feature names must have the same names in the same order.
    n_features
        Number of features of a sample; by default the number of feature names.
    dropped
        Positions of features that were removed before training. New samples may still have them.

    Examples
    --------
    >>> from distkern.kernels.vectors import Linear
    >>> columns = PreparedColumns(Linear(), Linear().prepare(np.array([[1.0, 2.0], [3.0, 4.0]])))
    >>> columns.cross(np.array([[1.0, 1.0]])).to_numpy()
    array([[3., 7.]])
    """

    def __init__(
        self,
        kernel: Kernel,
        prepared: Prepared,
        ids: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        n_features: int | None = None,
        dropped: Sequence[int] = (),
    ) -> None:
        self.kernel, self._prepared = kernel, prepared
        self.features, self.dropped = None if features is None else tuple(features), tuple(dropped)
        self.n_features = len(self.features) if n_features is None and self.features is not None else n_features
        self.col_ids = tuple(map(str, range(len(prepared)))) if ids is None else tuple(ids)
        if len(self.col_ids) != len(prepared):
            raise InputError(f"{len(self.col_ids)} names for {len(prepared)} training samples: give one for each")

    @property
    def shape(self) -> tuple[int, int]:
        """(m, m)."""
        return len(self._prepared), len(self._prepared)

    def prepared_columns(self) -> Prepared:
        """Return the prepared training samples."""
        return self._prepared

    def cross(self, X: Any) -> ArrayGram:
        """Kernel between samples (samples, n) and the training samples, in memory, with k(x, x) of both.

        Raises
        ------
        SampleError
            If the kernel refuses a sample; the message names it.
        InputError
            If the new samples have other features, or the same features in another order.
        """
        source = as_source(X)
        known = source.shape[1] if self.n_features is None else self.n_features
        source = source.like(known, self.dropped, self.features, "X")
        rows = prepare_source(self.kernel, source, like=self._prepared)
        return ArrayGram(
            finite_tile(self.kernel, rows, self._prepared, source.ids, self.col_ids),
            row_diag=self.kernel.diagonal(rows),
            col_diag=self.kernel.diagonal(self._prepared),
            row_ids=source.ids,
            col_ids=self.col_ids,
        )

    def __repr__(self) -> str:
        return f"<PreparedColumns: {len(self._prepared)} samples for {self.kernel!r}>"
